#!/bin/sh
# SPDX-License-Identifier: MIT
# The audit line is on disk before the command exists, as strace sees it.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"
# shellcheck source=tests/faults/faults.sh
. "$KG_SRCDIR/tests/faults/faults.sh"

world_require
require strace strace -f -o /dev/null true
new_home
new_project
trace=$tap_dir/trace

# line_of REGEX - where it is first seen in the trace
line_of() { grep -nEm 1 -e "$1" "$trace" | cut -d : -f 1; }

# A slow disk: the box is complete long before the sync returns, so that nothing
# but waiting can put it first.  A frame begins with its type; GO is 2, and the
# only one that the supervisor sends here.
for mode in off restricted; do
	config "network: $mode" 'hosts: [web.test]'
	rm -f "$(audit_log)"
	run strace -f -qq -o "$trace" \
		-e trace=fdatasync,fsync,sendto,execve \
		-e inject=fdatasync:delay_enter=400000 \
		"$KGATE" run -- echo started
	is "$rc:$out" 0:started "$mode: the command runs under strace"
	read -r supervisor _ <"$trace"
	ready=$(line_of "^[0-9]+ +sendto\([0-9]+, \"(\\\\0){16}\"")
	synced=$(line_of "^$supervisor .*fdatasync.*= 0")
	listed=$(line_of "^$supervisor .*fsync\([0-9]+\) += 0")
	go=$(line_of "^$supervisor +sendto\([0-9]+, \"\\\\2\\\\0")
	started=$(line_of 'execve\(.*\["echo", "started"\]')
	[ "${ready:-0}" -gt 0 ] && [ "$ready" -lt "${synced:-0}" ]
	ok $? "$mode: the box is ready before the sync returns" ||
		diag "$(cat "$trace")"
	[ "${synced:-0}" -gt 0 ] && [ "$synced" -lt "${go:-0}" ]
	ok $? "$mode: the sync has returned before GO is sent" ||
		diag "$(cat "$trace")"
	[ "${listed:-0}" -gt 0 ] && [ "$listed" -lt "${go:-0}" ]
	ok $? "$mode: and so has that of a new log's directory" ||
		diag "$(cat "$trace")"
	[ "${go:-0}" -gt 0 ] && [ "$go" -lt "${started:-0}" ]
	ok $? "$mode: GO is sent before the command is executed" ||
		diag "$(cat "$trace")"
done

# A disk that fails.
snapshot_take before "$PROJECT"
for mode in off restricted; do
	config "network: $mode" 'hosts: [web.test]'
	for call in fdatasync fsync; do
		rm -f "$(audit_log)"
		audit_mark
		run strace -qq -o "$trace" -e trace="$call" \
			-e inject="$call:error=EIO" \
			"$KGATE" run -- touch started
		refused 125 '^kgate: .*audit log.*Input/output error' \
			"$mode: a failing $call starts nothing"
		under "$ms" 2000 "$mode: $call: within 2 s"
		is "$(audit_since)" 'launch block:box' \
			"$mode: $call: and the log says so, if it can"
	done
done
snapshot_same before 'nothing was started, nothing is left'

done_testing
