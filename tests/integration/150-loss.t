#!/bin/sh
# SPDX-License-Identifier: MIT
# A helper that ends while the command runs: the command goes on with less
# network, never with more, and the user is told at the end.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/net.sh
. "$KG_SRCDIR/tests/lib/net.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"

world_require
new_home
new_project
probe_here .
mkfifo running go

# process_below PARENT NAME - in $found, the child of that name
process_below() {
	for stat in /proc/[0-9]*/stat; do
		read -r found name _ parent _ 2>/dev/null <"$stat" || continue
		[ "$parent:$name" = "$1:($2)" ] && return
	done
	found=
	return 1
}

# has_died PID - whether it is a zombie, or gone
has_died() {
	! read -r _ _ state _ 2>/dev/null <"/proc/$1/stat" ||
		[ "$state" = Z ]
}

# await_death PID - two seconds at most
await_death() {
	now_cs
	death_end=$((now_cs + 200))
	until has_died "$1"; do
		now_cs
		[ "$now_cs" -lt "$death_end" ] || return
	done
}

# lose HELPER WORDS - kill it between the parts of the table on standard input, which
# "run pause" separates
lose() {
	sed 's/^run *pause$/run echo >running; read -r x <go/' |
		reach_write
	echo 'exit 3' >>try
	capture_fresh
	"$KGATE" run --timeout 30 --allow-net web.test -- sh ./try \
		<"$tap_dir/nothing" >"$run_out" 2>"$run_msg" &
	kgate_pid=$!
	timeout 20 head -n 1 running >"$tap_dir/line" &&
		process_below "$kgate_pid" kgate-worker &&
		process_below "$found" "$1"
	ok $? "$1 is a process of the run" || diag "$(cat "$run_msg")"
	if [ -n "$found" ]; then
		kill -KILL "$found"
		await_death "$found"
		ok $? "$1 has been killed"
	fi
	timeout 20 sh -c 'echo >go'
	rc=0
	wait "$kgate_pid" || rc=$?
	capture_stop
	out=$(cat "$run_out")
	msg=$(cat "$run_msg")
	reach_judge
	is "$rc" 3 "without $1: the exit status is the command's own"
	like "$msg" "^kgate: .*$2.* ended during the run" \
		"without $1: the end of the run tells of it"
	is "$(printf '%s\n' "$msg" | wc -l)" 1 'in one line'
	only_wire "host $WORLD_WEB or host $WORLD_WEB6" \
		"without $1: nothing that is not listed is on the wire"
	unheard_at_home "without $1: nothing reaches the host's loopback"
}

# What is never open, whoever ends.
never() {
	cat <<-END
	refused tcp $WORLD_OTHER 80
	refused udp $WORLD_OTHER 4444
	refused tcp $WORLD_OTHER6 80
	refused udp $WORLD_OTHER6 4444
	refused tcp other.test 80
	refused dns $WORLD_DNS udp web.test A
	refused dns $WORLD_DNS tcp web.test A
	refused tcp 10.0.2.2 7777
	refused tcp 127.0.0.1 7777
	END
}

: >"$tap_dir/nothing"
run_out=$tap_dir/out
run_msg=$tap_dir/msg
snapshot_take start

reach_as='without slirp4netns'
lose slirp4netns slirp4netns <<END
open    http web.test 80
run     pause
$(never)
refused tcp web.test 80
refused tcp $WORLD_WEB 80
refused udp $WORLD_WEB 4444
refused tcp $WORLD_WEB6 80
refused udp $WORLD_WEB6 4444
refused dns 10.0.2.3 udp web.test A
refused dns 10.0.2.3 tcp web.test A
END

reach_as='without the gate'
lose kgate-gate 'the gate' <<END
open    http web.test 80
run     pause
$(never)
open    http web.test 80
open    tcp $WORLD_WEB6 80
rcode=5 dns 10.0.2.3 udp other.test A
refused tcp 127.0.0.1 7777 tap0
refused udp ::1 7777 tap0
END

reach_as='without the resolver'
lose kgate-resolver 'the resolver' <<END
open    http web.test 80
run     pause
$(never)
refused tcp web.test 80
refused dns 10.0.2.3 udp web.test A
refused dns 10.0.2.3 tcp web.test A
open    tcp $WORLD_WEB 80
open    tcp $WORLD_WEB6 80
refused tcp 127.0.0.1 7777 tap0
refused udp ::1 7777 tap0
END

reach_as=
snapshot_same start 'nothing is left of these runs'
done_testing
