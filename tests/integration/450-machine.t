#!/bin/sh
# SPDX-License-Identifier: MIT
# Machines that lack something: what is needed is named, and what isn't needed
# is no hindrance.

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
snapshot_take before "$PROJECT"

# --- the device of the network box ------------------------------------------------

# A file without permissions is what an ordinary user meets in a closed device;
# root needs something that can't be opened by anybody.
tun='/dev/net/tun.*mode 0666'
case $tap_user in
root) fault '--without /dev/net/tun' ;;
*)
	touch "$tap_scratch/closed"
	chmod 0000 "$tap_scratch/closed"
	fault "--put $tap_scratch/closed /dev/net/tun"
	;;
esac
config 'network: restricted' 'hosts: [web.test]'
audit_mark
faulty "$KGATE" run -- touch started
refused 125 "$tun" 'without its device there is no network box'
is "$(audit_since)" block:backend 'so says the log'
for row in 'network: off' 'network: open' 'network: restricted'; do
	config "$row"
	faulty "$KGATE" run -- echo started
	is "$rc:$out:$msg" 0:started: "$row, without hosts, does without it"
done
no_faults

# The device itself with the mode 0600, in a world of its own: an ordinary user
# can't open it, root can.
if [ "$tap_user" = root ]; then
	# A world covers /run, where the trees of this one are.
	src=$tap_scratch/src
	build=$tap_scratch/build
	mkdir "$src" "$build"
	for row in kgate-test:125 root:0; do
		run sh "$FAULTS/with" --put "$KG_SRCDIR" "$src" \
			--put "$KG_BUILDDIR" "$build" -- \
			env KG_SRCDIR="$src" KG_BUILDDIR="$build" KGATE= \
			sh "$src/tests/world/world" --user "${row%:*}" \
			--tun 0600 -- sh -c 'mkdir "$HOME/p" && cd "$HOME/p" &&
			exec "$KGATE" run --allow-net web.test -- true'
		is "$rc:$out" "${row#*:}:" "a device of root's, as ${row%:*}"
		[ "$rc" -eq 0 ] || like "$msg" "^kgate: $tun" 'is named'
	done
fi

# --- other programs ---------------------------------------------------------------

config 'network: restricted' 'hosts: ["192.0.2.10:80"]'
fault '--without /usr/sbin/iptables-restore'
audit_mark
faulty "$KGATE" run -- touch started
refused 125 "iptables-restore isn't installed.*install the package" \
	'without iptables-restore there is no network box'
is "$(audit_since)" block:backend 'so says the log'
no_faults
fault '--without /usr/sbin/ip6tables-restore'
faulty "$KGATE" run -- ./probe --as four tcp 192.0.2.10 80
is "$rc:$(fact four.result):$msg" 0:connected: \
	'without ip6tables-restore there is one without IPv6'
no_faults
config 'network: off'
touch "$tap_scratch/dull"
for program in slirp4netns iptables-restore; do
	fault "--put $tap_scratch/dull $(place_of "$program")"
	faulty "$KGATE" run -- echo started
	is "$rc:$out:$msg" 0:started: "off does without $program"
	no_faults
done

# --- a home that can't be written -------------------------------------------------

fault "--ro $HOME"
mkdir "$tap_scratch/log"
faulty "$KGATE" run -- touch started
refused 125 '--audit' 'a home without a log, and read-only, is refused'
AUDIT=$tap_scratch/log/audit.jsonl
audit_mark
faulty "$KGATE" run --audit "$AUDIT" -- echo started
is "$rc:$out:$msg" 0:started: 'with --audit it works'
is "$(audit_since)" launch 'and the log is there'
AUDIT=
no_faults
if [ "$tap_user" != root ]; then
	rm -rf "$HOME/.kgate"
	chmod 0500 "$HOME"
	run "$KGATE" run -- touch started
	refused 125 '--audit' 'so is a home without permission to write'
	run "$KGATE" run --audit "$tap_scratch/log/audit.jsonl" -- echo started
	is "$rc:$out:$msg" 0:started: 'with --audit it works'
	chmod 0700 "$HOME"
fi

run "$KGATE" run -- echo started
is "$rc:$out" 0:started 'nothing of that stays'
snapshot_same before 'nothing else was started, nothing is left'

done_testing
