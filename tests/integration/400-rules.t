#!/bin/sh
# SPDX-License-Identifier: MIT
# A firewall that isn't closed in both families starts nothing.

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
config 'network: restricted' 'hosts: [web.test, 192.0.2.40]'
snapshot_take before "$PROJECT"

for program in iptables-restore ip6tables-restore; do
	for how in refuse half late slow killed; do
		no_faults
		fake iptables-restore "$FAULTS/rules" "$program" "$how"
		fake ip6tables-restore "$FAULTS/rules" "$program" "$how"
		case $how in
		refuse) why="exit status 1.*line 1 failed" ;;
		killed) why='signal 9' ;;
		*) why='exit status 1' ;;
		esac
		audit_mark
		capture_start
		faulty "$KGATE" run -- touch started
		capture_stop
		refused 125 "^kgate: .*firewall.*/$program.*$why" \
			"$program, $how: the launch fails and names it"
		is "$(audit_since)" 'launch block:box' \
			"$program, $how: so says the log"
		off_wire 'net 192.0.2.0/24' \
			"$program, $how: nothing is sent to a listed host"
	done
done

no_faults
fake iptables-restore "$FAULTS/rules" none none
fake ip6tables-restore "$FAULTS/rules" none none
faulty "$KGATE" run -- echo started
is "$rc:$out:$msg" 0:started: 'the same without a failure starts'
snapshot_same before 'nothing else was started, nothing is left'

done_testing
