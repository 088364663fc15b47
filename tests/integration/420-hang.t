#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever hangs is named within its deadline, and nothing is left of it.

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
cases=$tap_scratch/cases
mkdir "$cases"
printf '%s\n' 'network: restricted' 'hosts: [web.test]' >"$cases/web"
printf '%s\n' 'network: restricted' 'hosts: [web.test, silent.test]' \
	>"$cases/silent"
snapshot_take before "$PROJECT"

# launch NAME MS CONFIG REGEX - with the faults so far, in the background: all
# of them take their time together.  NAME is also that of its directory.
launch() {
	mkdir "$cases/$1"
	printf '%s\n' "$2" "$4" >"$cases/$1/want"
	(
		tap_dir=$cases/$1
		faulty "$KGATE" run --config "$cases/$3" --audit "$cases/$1/log" \
			-- touch started
		echo "$rc $ms" >"$cases/$1/got"
	) &
	jobs="$jobs $!"
	names="$names $1"
	no_faults
}
jobs=
names=

fake bwrap "$FAULTS/hang" -
launch bwrap 5000 web 'waiting for bwrap to make the box'
fake bwrap "$FAULT_PROGRAMS/infofd" stuck -
launch bwrap-stuck 5000 web 'waiting for bwrap to make the box'
fake bwrap "$FAULT_PROGRAMS/infofd" silent -
launch bwrap-silent 5000 web 'waiting for bwrap to make the box'
fake bwrap "$FAULTS/box" idle -
launch bwrap-idle 5000 web 'waiting for bwrap to start kgate-entry'
for program in iptables-restore ip6tables-restore; do
	fake iptables-restore "$FAULTS/rules" "$program" hang
	fake ip6tables-restore "$FAULTS/rules" "$program" hang
	launch "$program" 10000 web 'iptables-restore and ip6tables-restore'
done
fake iptables-restore "$FAULTS/rules" ip6tables-restore stay
fake ip6tables-restore "$FAULTS/rules" ip6tables-restore stay
launch ip6tables-stay 10000 web 'iptables-restore and ip6tables-restore'
fake slirp4netns "$FAULTS/hang" -
launch slirp4netns 5000 web 'waiting for slirp4netns to become ready'
fake slirp4netns "$FAULTS/slirp" idle -
launch slirp4netns-idle 5000 web 'waiting for the address and route on tap0'
launch dns 10000 silent 'the DNS server.*silent\.test|silent\.test.*DNS server'

# shellcheck disable=SC2086 # a list of pids
wait $jobs
for name in $names; do
	{ read -r limit && read -r regex; } <"$cases/$name/want"
	read -r rc ms <"$cases/$name/got"
	run_msg=$cases/$name/msg
	out=$(cat "$cases/$name/out")
	msg=$(cat "$run_msg")
	refused 125 "^kgate: .*$regex" "$name hangs: that is said"
	under "$ms" $((limit + 2500)) "$name hangs: within its deadline"
	AUDIT=$cases/$name/log
	is "$(audit_since)" 'launch block:box' "$name hangs: so says the log"
done
snapshot_same before 'nothing was started, nothing is left of all that'

done_testing
