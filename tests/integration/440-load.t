#!/bin/sh
# SPDX-License-Identifier: MIT
# Many launches on a busy machine: each has its network, none leaves anything.
#
# KG_LAUNCHES sets how many; by default one user has ten times those of the
# other, so that both together don't take long.

# shellcheck disable=SC2016 # scripts of other shells

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
config 'network: restricted' 'hosts: [web.test:80]'
case $tap_user in
root) launches=${KG_LAUNCHES:-200} ;;
*) launches=${KG_LAUNCHES:-20} ;;
esac

# Bounded, should this test end before it ends them.
up=$(fifo up "$tap_scratch")
busy=
for core in $(seq "$(nproc)"); do
	timeout 300 sh -c 'echo up >"$1"; while :; do :; done' "busy-$core" \
		"$up" &
	busy="$busy $!"
	hear "$up"
done

snapshot_take before "$PROJECT"
number=0
failed=0
slowest=0
while [ "$number" -lt "$launches" ]; do
	number=$((number + 1))
	run "$KGATE" run --trace -- ./probe tcp web.test 80
	[ "$ms" -le "$slowest" ] || slowest=$ms
	# A step that was tried again would be there twice.
	[ "$rc:$(fact result)" = 0:connected ] &&
		[ "$(printf '%s\n' "$msg" | wc -l)" -eq 16 ] && continue
	failed=$((failed + 1))
	diag "launch $number"
	show_run
done
is "$failed" 0 "$launches launches under load have their network"
diag "the slowest took $slowest ms"
under "$slowest" 5000 'none of them was late by a deadline'
"$FAULT_PROGRAMS/jsonl" lines "$(audit_log)" 0 >"$tap_dir/lines"
is "$(cut -d ' ' -f 1,2 "$tap_dir/lines" | sort | uniq -c | tr -s ' ')" \
	" $launches launch -" 'the log has one line of each'
is "$(sort -u "$tap_dir/lines" | wc -l)" "$launches" 'with an id of its own'
snapshot_same before 'no process, namespace or file is left of them'

# shellcheck disable=SC2086 # a list of pids
{
	kill $busy
	wait $busy 2>/dev/null
}

done_testing
