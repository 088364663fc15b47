#!/bin/sh
# SPDX-License-Identifier: MIT
# A signal before the command starts ends the launch, wherever it is, and leaves
# nothing; so does the end of kgate itself.

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
config 'network: restricted' 'hosts: [web.test]'
at=$(fifo at "$tap_scratch")

# hold STEP - what makes launches stay there, and say so to $at
hold() {
	no_faults
	case $1 in
	'bwrap starts') fake bwrap "$FAULTS/hang" "$at" ;;
	'the box is half made')
		fake bwrap "$FAULT_PROGRAMS/infofd" stuck "$at"
		;;
	'kgate-entry is to start') fake bwrap "$FAULTS/box" idle "$at" ;;
	'the firewall is to be closed')
		fake iptables-restore "$FAULTS/hang" "$at"
		fake ip6tables-restore "$FAULTS/hang" "$at"
		;;
	'slirp4netns starts') fake slirp4netns "$FAULTS/hang" "$at" ;;
	'the link is to come') fake slirp4netns "$FAULTS/slirp" idle "$at" ;;
	'the log is being synced') fake bwrap "$FAULTS/say" "$at" ;;
	esac
}

# ask_for NAME [COMMAND...] - start a launch with this host, by that command,
# and return when it asks for it
ask_for() {
	lines=$(wc -l <"$KG_WORLD_DIR/internet.log")
	timeout 20 tail -n "+$((lines + 1))" -f "$KG_WORLD_DIR/internet.log" \
		>"$at" &
	watch=$!
	exec 6<"$at"
	asked_for=$1
	shift
	start "$@" "$KGATE" run --allow-net "$asked_for" -- touch started
	while read -r line <&6; do
		case $line in *" $asked_for "*) break ;; esac
	done
	exec 6<&-
	kill "$watch"
	wait "$watch" 2>/dev/null
}

# caught STEP SIGNAL - a launch, and the signal when it has come so far
caught() {
	audit_mark
	case $1 in
	'hosts are being resolved') ask_for silent.test ;;
	'the log is being synced')
		start faulty strace -qq -o "$tap_dir/trace" -e trace=fdatasync \
			-e inject=fdatasync:delay_enter=1000000:when=1 \
			"$KGATE" run -- touch started
		hear "$at"
		;;
	*)
		start faulty "$KGATE" run -- touch started
		hear "$at"
		;;
	esac
	caught_pid=$job
	case $1 in
	*synced) read -r caught_pid _ <"/proc/$job/task/$job/children" ;;
	esac
	kill -s "$2" "$caught_pid"
	finish 2>/dev/null
}

for step in 'bwrap starts' 'the box is half made' 'kgate-entry is to start' \
	'the firewall is to be closed' 'slirp4netns starts' \
	'the link is to come' 'hosts are being resolved' \
	'the log is being synced'
do
	hold "$step"
	snapshot_take before "$PROJECT"
	for row in INT:130 TERM:143; do
		name=SIG${row%:*}
		caught "$step" "${row%:*}"
		is "$rc:$out" "${row#*:}:" "when $step, $name ends the launch"
		is "$(audit_since)" 'launch block:box' \
			"when $step, the log says so of $name"
		like "$(audit_text reason)" "$name" "with its name"
		under "$ms" 3000 'and it happens at once'
	done
	caught "$step" KILL
	is "$(audit_since)" launch "when $step, SIGKILL leaves the launch alone"
	snapshot_same before "when $step, nothing was started, nothing is left"
done
hold 'slirp4netns starts'
snapshot_take before "$PROJECT"
for row in HUP:129 QUIT:131; do
	caught 'slirp4netns starts' "${row%:*}"
	is "$rc:$out:$(audit_since)" "${row#*:}::launch block:box" \
		"SIG${row%:*} ends a launch as well"
done
no_faults
snapshot_same before 'nothing was started, nothing is left'

# What isn't meant to end anything doesn't.
for name in USR1 USR2 CONT; do
	ask_for slow.test
	kill -s "$name" "$job"
	finish
	is "$rc:$msg" 0: "SIG$name ends no launch"
done
for name in HUP INT TERM; do
	ask_for slow.test env "--ignore-signal=$name"
	kill -s "$name" "$job"
	finish
	is "$rc:$msg" 0: "nor does SIG$name, where the caller ignores it"
done
[ -e started ]
ok $? 'the command has run'

done_testing
