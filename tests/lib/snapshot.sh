# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# snapshot.sh - nothing is left behind; source it after tap.sh.
#
#	snapshot_take start "$PROJECT"
#	run "$KGATE" run -- true
#	snapshot_same start 'a run leaves nothing'
#
# Compared are processes, namespaces, mounts, descriptors of the test itself,
# the names in /tmp, /var/tmp, /run and /dev/shm, and all that is in the given
# directories, to the inode and the nanosecond.  What is about to end gets two
# seconds.

: "${tap_dir:?source tap.sh first}"
snapshot_helper=${KG_HELPERS:-$KG_BUILDDIR/tests/helpers}/snapshot

# snapshot_take NAME [DIR...] - keep the state under NAME
snapshot_take() {
	snapshot_name=$1
	shift
	for snapshot_dir; do
		printf '%s\n' "$snapshot_dir"
	done >"$tap_dir/snapshot.$snapshot_name.dirs"
	"$snapshot_helper" take "$tap_dir/snapshot.$snapshot_name" "$@" ||
		exit 99
}

# snapshot_differs NAME - what is new or gone since then, in $differences;
# succeeds when there is something
snapshot_differs() {
	snapshot_name=$1
	set --
	while IFS= read -r snapshot_dir; do
		set -- "$@" "$snapshot_dir"
	done <"$tap_dir/snapshot.$snapshot_name.dirs"
	snapshot_rc=0
	"$snapshot_helper" same "$tap_dir/snapshot.$snapshot_name" \
		"$tap_dir/snapshot.diff" "$@" || snapshot_rc=$?
	differences=$(cat "$tap_dir/snapshot.diff")
	[ "$snapshot_rc" -le 1 ] || differences="the snapshot failed"
	[ "$snapshot_rc" -ne 0 ]
}

# snapshot_same NAME TEST - a test that nothing is new or gone since then
snapshot_same() {
	! snapshot_differs "$1"
	ok $? "$2" || diag "$differences"
}
