#!/bin/sh
# SPDX-License-Identifier: MIT
# The end of a run is the end of all its processes, whoever ends it.

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
require strace strace -o /dev/null true
new_home
new_project
up=$(fifo up)

# Processes that nobody waits for: in the background, in a session of their own,
# without standard streams, deaf to what can be ignored.
crowd='sleep 60 &
setsid sleep 60 &
sh -c "trap \"\" HUP INT TERM; sleep 60; sleep 60" &
sleep 60 <&- >&- 2>&- &'

# gone_within MS NAME - nothing is left that wasn't there before
gone_within() {
	now_cs
	gone_since=$now_cs
	snapshot_same before "$2"
	now_cs
	under $(((now_cs - gone_since) * 10)) "$1" 'and it was gone soon'
}

for mode in off restricted open; do
	config "network: $mode" 'hosts: [web.test]'
	snapshot_take before

	run sh -c '"$0" run -- sh -c "sleep 60 & exit 3"
		echo "status=$?"' "$KGATE"
	is "$out" status=3 "$mode: a background process holds nothing back"
	run sh -c '"$0" run -- sh -c "sleep 60 & exit 3" | cat' "$KGATE"
	is "$rc:$out:$msg" 0:: "$mode: standard output comes to its end"
	under "$ms" 3000 "$mode: at once"
	gone_within 1000 "$mode: no process is left of it"

	run "$KGATE" run -- sh -c "$crowd
		exit 4"
	is "$rc" 4 "$mode: nor do many of all kinds"
	gone_within 1000 "$mode: no process is left of them"

	start "$KGATE" run -- sh -c "$crowd"'
		echo up >up
		wait'
	hear "$up"
	kill -s KILL "$job"
	wait "$job" 2>/dev/null
	gone_within 1000 "$mode: no process outlives a kgate that is killed"

	# The worker is kgate's only child.
	start "$KGATE" run -- sh -c "$crowd"'
		echo up >up
		wait'
	hear "$up"
	read -r worker _ <"/proc/$job/task/$job/children"
	kill -s KILL "$worker"
	finish
	refused 125 'the command was ended' \
		"$mode: kgate says when the box was lost"
	gone_within 1000 "$mode: no process outlives that"
done

# The word that it has started is held back, kgate-entry's second one: whatever
# is lost meanwhile, the command may have run, and nobody says that it didn't.
config 'network: restricted' 'hosts: [web.test]'
got=$(fifo got)
for lost in worker slirp4netns; do
	audit_mark
	start strace -f -qq -o /dev/null -e trace=sendto \
		-e inject=sendto:delay_enter=500000:when=2 \
		"$KGATE" run -- sh -c 'echo up >up; read -r word <got; exit 7'
	hear "$up"
	case $lost in
	worker)
		read -r supervisor _ <"/proc/$job/task/$job/children"
		read -r pid _ <"/proc/$supervisor/task/$supervisor/children"
		want=125:
		words='kgate: the command was ended'
		;;
	*)
		pid=$(pids_of "$lost")
		want=7:
		words="kgate: $lost, .* ended during the run"
		;;
	esac
	kill -s KILL "$pid"
	"$FAULT_PROGRAMS/await" 5000 "$pid"
	[ "$lost" = worker ] || echo end >"$got"
	finish
	is "$rc:$out" "$want" "without its $lost, a command that may have run"
	like "$msg" "$words" 'is not said not to have run'
	is "$(audit_since)" launch 'in the log either'
	gone_within 1000 'no process is left of it'
done

run "$KGATE" run -- true
is "$rc" 0 'the next run is well'

done_testing
