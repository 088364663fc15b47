#!/bin/sh
# SPDX-License-Identifier: MIT
# What kgate is told by signals, the command is told; and nobody else.

# shellcheck disable=SC2016 # scripts for the box

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"
# shellcheck source=tests/faults/faults.sh
. "$KG_SRCDIR/tests/faults/faults.sh"

world_require
new_home
new_project
probe_here .
up=$(fifo up)
got=$(fifo got)
snapshot_take before

# Traps and says so; its own child has no trap and must not be told.
command='trap "echo told $1; kill -s 0 \$! && echo child lives; exit 7" "$1"
sleep 60 &
echo up >up
wait'

for row in INT:130 TERM:143 HUP:129 QUIT:131 USR1:138 USR2:140; do
	name=${row%:*}
	start "$KGATE" run -- sh -c "$command" sh "$name"
	hear "$up"
	kill -s "$name" "$job"
	finish
	is "$rc:$out:$msg" "7:told $name
child lives:" "SIG$name reaches the command, which decides what comes of it"
	start "$KGATE" run -- sh -c 'echo up >up; exec sleep 60'
	hear "$up"
	kill -s "$name" "$job"
	finish
	is "$rc:$msg" "${row#*:}:" \
		"SIG$name ends a command that has no handler"
done
snapshot_same before 'nothing is left of all that'

# What the caller ignores or blocks.
for mode in open off; do
	config "network: $mode"
	run env --default-signal grep -E '^Sig(Blk|Ign):' /proc/self/status
	outside=$out
	run env --default-signal "$KGATE" run -- \
		grep -E '^Sig(Blk|Ign):' /proc/self/status
	is "$out" "$outside" "$mode: no signal is blocked or ignored by kgate"
	set -- --default-signal --ignore-signal=HUP,USR1,34 \
		--block-signal=USR2,TERM,40
	run env "$@" grep -E '^Sig(Blk|Ign):' /proc/self/status
	outside=$out
	run env "$@" "$KGATE" run -- grep -E '^Sig(Blk|Ign):' /proc/self/status
	is "$out" "$outside" "$mode: what the caller ignores or blocks stays so"
done

start nohup "$KGATE" run -- sh -c 'echo up >up; read -r word <got; echo $word'
hear "$up"
kill -s HUP "$job"
echo heard >"$got"
finish
is "$rc:$out" 0:heard 'with nohup, SIGHUP ends neither kgate nor the command'

# A second request.  Only a handler can tell that the first one has arrived.
for name in INT TERM; do
	start "$KGATE" run -- sh -c 'trap "echo told >got" "$1"; echo up >up
		while :; do sleep 60 & wait; done' sh "$name"
	hear "$up"
	kill -s "$name" "$job"
	hear "$got"
	is "$heard" told "SIG$name is handled by a command that goes on"
	now_cs
	since=$now_cs
	kill -s "$name" "$job"
	finish
	is "$rc" 137 "a second SIG$name ends it"
	now_cs
	under $((now_cs - since)) 100 'at once'
done
start "$KGATE" run -- sh -c 'trap "echo told >got" INT; echo up >up
	while :; do sleep 60 & wait; done'
hear "$up"
kill -s INT "$job"
hear "$got"
sleep 2.2 # the time in which a second one counts
kill -s INT "$job"
hear "$got"
is "$heard" told 'one that comes much later is a first one again'
kill -s INT "$job"
finish
is "$rc" 137 'and the one behind it a second'
start "$KGATE" run -- sh -c 'trap "echo told >got" USR1; echo up >up
	while :; do sleep 60 & wait; done'
hear "$up"
for count in 1 2 3; do
	kill -s USR1 "$job"
	hear "$got"
	is "$heard" told "SIGUSR1 number $count asks for nothing but itself"
done
kill -s TERM "$job"
finish
is "$rc" 143 'until it is asked to end'
snapshot_same before 'nothing is left of all that'

# A limit of time.
run "$KGATE" run --timeout 0.3 -- sleep 60
is "$rc" 124 'at the time-out a command is ended, with status 124'
under "$ms" 2000 'without delay'
run "$KGATE" run --timeout 0.3 -- sh -c 'trap "echo told; exit 3" TERM
	sleep 60 & wait'
is "$rc:$out" 124:told 'it is told by SIGTERM first, and 124 stays 124'
run "$KGATE" run --timeout 0.3 -- sh -c 'trap "" TERM; echo ready; sleep 60'
is "$rc:$out" 124:ready 'one that ignores SIGTERM is killed'
under "$ms" 7500 'not much later than 5 seconds after it'
[ "$ms" -ge 5000 ]
ok $? 'and not before' || show_run
run "$KGATE" run --timeout 60 -- sh -c 'exit 9'
is "$rc" 9 'what ends in time has its own status'
snapshot_same before 'nothing is left of all that'

# Ctrl-C goes to all processes of the terminal's group.
config 'network: restricted' 'hosts: [web.test]'
run "$FAULT_PROGRAMS/terminal" ready "$(printf '\003')" "$KGATE" run -- \
	sh -c 'trap "echo; echo told=yes
		./probe --as listed tcp 192.0.2.10 80
		./probe --as other tcp 192.0.2.11 80; exit 4" INT
		sleep 60 & echo ready; wait'
out=$(printf '%s\n' "$out" | tr -d '\r')
is "$rc:$(fact told)" 4:yes 'a command that handles Ctrl-C goes on'
is "$(fact listed.result)" connected 'its network is still there'
is "$(fact other.result)" ECONNREFUSED 'and as closed as before'
unlike "$out" 'kgate:' 'no helper of kgate ended of it'
run "$FAULT_PROGRAMS/terminal" ready "$(printf '\003')" "$KGATE" run -- \
	sh -c 'echo ready; exec sleep 60'
is "$rc" 130 'a command that does not ends'
run "$FAULT_PROGRAMS/terminal" ready "$(printf '\003')" "$KGATE" run -- \
	sh -c '(trap "" INT; sleep 60) & sleep 60 & echo ready; wait'
is "$rc" 130 'and so does what it has started'
snapshot_same before 'nothing is left of all that'

done_testing
