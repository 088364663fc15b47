#!/bin/sh
# SPDX-License-Identifier: MIT
# kgate killed on the way: nothing is left, and the next run starts.

# What was left behind would hold strace back.
KG_RUN_TIMEOUT=10
export KG_RUN_TIMEOUT

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"
# shellcheck source=tests/lib/box.sh
. "$KG_SRCDIR/tests/lib/box.sh"

world_require
require strace strace -V
new_home
new_project
mkdir -p "$tap_scratch/log" "$PROJECT/made"

# Taken before any run: a helper of the run before may still be ending.
snapshot_take nothing

# files - everything that could have been changed, to the nanosecond
files() {
	find "$HOME" "$PROJECT" /opt /usr/src /var/lib/ci /etc /home -path \
		"$HOME/.kgate/audit.jsonl" -prune -o -path "$HOME/.kgate" \
		-prune -o -printf '%p %i %m %s %T@ %C@\n' 2>/dev/null | sort
}

# killed CALL WHEN [-f] - run kgate and kill it as it enters its WHENth CALL;
# with -f each process of the run counts its own, and the first to get there
# is killed
killed() {
	call=$1 when=$2
	shift 2
	rm -f made/ran
	files >"$tap_dir/before"
	run strace "$@" -o "$tap_dir/trace" -e "trace=$call" \
		-e "inject=$call:signal=KILL:when=$when" \
		"$KGATE" run --audit "$tap_scratch/log/a" -- \
		sh -c 'echo ran >made/ran'
	like "$(cat "$tap_dir/trace")" 'killed by SIGKILL' \
		"$point: the signal was sent"
}

# nothing_left STATUS - of that
nothing_left() {
	is "$rc" "$1" "$point: the status is $1"
	[ "$1" = 137 ] || like "$msg" '^kgate: ' "$point: it is told"
	[ ! -e made/ran ]
	ok $? "$point: the command didn't run"
	snapshot_same nothing "$point: no process or namespace is left"
	[ -z "$differences" ] || snapshot_take nothing
	is "$(files | diff "$tap_dir/before" -)" '' "$point: no file is new or changed"
	box sh -c 'echo ran'
	is "$rc:$out:$msg" 0:ran: "$point: the next run starts"
	unlike "$(cat "$tap_scratch/log/a" 2>/dev/null)" '^[^{]|[^}]$' \
		"$point: the log has whole lines"
}

for mode in $MODES; do
	set_mode "$mode"

	# Without -f the calls are the supervisor's.
	for spec in reading-config:openat:12 before-audit:write:1 \
		before-worker:clone:1 before-sync:fdatasync:1 \
		before-go:sendto:1 waiting:poll:1; do
		point="$mode, supervisor, ${spec%%:*}"
		spec=${spec#*:}
		killed "${spec%:*}" "${spec#*:}"
		nothing_left 137
	done

	# What the worker is the first to call so often; kgate lives and tells.
	set --
	[ "$mode" != restricted ] ||
		set -- finding-namespaces:ioctl:1 before-gate:socketpair:3 \
			before-resolver:clone:2 after-slirp4netns:pidfd_open:4
	for spec in starting:setsid:1 after-bwrap:pidfd_open:1 "$@"; do
		point="$mode, worker, ${spec%%:*}"
		spec=${spec#*:}
		killed "${spec%:*}" "${spec#*:}" -f
		nothing_left 125
	done
done

done_testing
