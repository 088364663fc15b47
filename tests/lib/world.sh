# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# world.sh - for tests that run in the test world; source it after tap.sh.
# tests/world/world describes the addresses, tests/world/zone the names.
#
#	world_require
#	new_home; new_project; probe_here
#	capture_start
#	run "$KGATE" run -- ./probe tcp 192.0.2.11 80
#	capture_stop
#	off_wire 'host 192.0.2.11' 'an address that is not listed stays inside'
#	unheard_at_home 'nothing reaches the loopback of the host'
#
# What is between start and stop is exact: marks in the capture and syncs of the
# servers say when all is in, no time has to pass.  Filters are tcpdump's; the
# packets of the marks and syncs themselves don't count.  Regular expressions
# are extended ones over the lines that tests/world/serve.c describes, such as
# "tcp 192.0.2.10 80 198.51.100.2" or
# "dns 203.0.113.53 udp A web.test 198.51.100.2".

# shellcheck disable=SC2034 # for the tests
{
	WORLD_HOST=198.51.100.2
	WORLD_HOST6=2001:db8:ffff::2
	WORLD_DNS=203.0.113.53
	WORLD_OTHER_DNS=192.0.2.53
	WORLD_WEB=192.0.2.10
	WORLD_WEB6=2001:db8::10
	WORLD_OTHER=192.0.2.11
	WORLD_OTHER6=2001:db8::11
	WORLD_NOBODY=203.0.113.250
}

world_control=203.0.113.254
world_marks=0
: "${tap_dir:?source tap.sh first}"

# world_require - skip the file outside the test world
world_require() {
	[ "${KG_WORLD:-}" = 1 ] ||
		skip_all 'needs the test world: tests/integration/run USER TEST'
}

# probe_here [DIR] - the probe and the world's marker in DIR, or in the project
probe_here() {
	cp "$PROBE" "${1:-$PROJECT}/probe" &&
		touch "${1:-$PROJECT}/.kg-world" || exit 99
}

# zone_add LINE... - more names: 'new.test A 192.0.2.99'
zone_add() { printf '%s\n' "$@" >>"$KG_WORLD_DIR/zone"; }

world_mark() {
	world_marks=$((world_marks + 1))
	"$KG_HELPERS/net" mark "$$-$world_marks" || exit 99
}

world_sync() {
	"$KG_HELPERS/net" sync "$world_control" 7 &&
		"$KG_HELPERS/net" sync 127.0.0.1 7778 || exit 99
}

world_lines() { wc -l <"$KG_WORLD_DIR/$1.log"; }

# world_log NAME FROM - lines of a log from number FROM on, without our own
world_log() {
	tail -n "+$(($2 + 1))" "$KG_WORLD_DIR/$1.log" |
		grep -v "^udp $world_control " >"$tap_dir/$1.log"
}

# capture_start - look at the wire and the logs from here on
capture_start() {
	world_sync
	world_internet=$(world_lines internet)
	world_loopback=$(world_lines loopback)
	world_mark
	world_from=$$-$world_marks
}

# capture_stop - and up to here
capture_stop() {
	world_mark
	"$KG_HELPERS/net" slice "$KG_WORLD_DIR/wire.pcap" "$world_from" \
		"$$-$world_marks" "$tap_dir/slice.pcap" || exit 99
	world_sync
	world_log internet "$world_internet"
	world_log loopback "$world_loopback"
}

# capture_show [FILTER] - the packets as text
capture_show() {
	tcpdump -n -t -r "$tap_dir/slice.pcap" \
		"not host $world_control${1:+ and ($1)}" 2>"$tap_dir/tcpdump" &&
		return
	cat "$tap_dir/tcpdump" >&2
	exit 99
}

# capture_has [FILTER] - whether there are such packets, in $packets
capture_has() {
	packets=$(capture_show "${1:-}") || exit 99
	[ -n "$packets" ]
}

# on_wire FILTER NAME - a test that such a packet was on the wire
on_wire() {
	capture_has "$1"
	ok $? "$2" || diag "no packet of: $1" "all packets:" "$(capture_show)"
}

# off_wire FILTER NAME - a test that none was; '' stands for any packet
off_wire() {
	! capture_has "$1"
	ok $? "$2" || diag "$packets"
}

# internet_has REGEX, loopback_has REGEX - whether a server was told so
internet_has() { grep -E -e "$1" "$tap_dir/internet.log"; }
loopback_has() { grep -E -e "$1" "$tap_dir/loopback.log"; }

# heard REGEX NAME - a test that a server of the internet was told so
heard() {
	internet_has "$1" >"$tap_dir/heard"
	ok $? "$2" || diag "no line of: $1" "$(cat "$tap_dir/internet.log")"
}

# unheard REGEX NAME - a test that none was
unheard() {
	! internet_has "$1" >"$tap_dir/heard"
	ok $? "$2" || diag "$(cat "$tap_dir/heard")"
}

# unheard_at_home NAME - a test that nothing came to the host's loopback
unheard_at_home() {
	! loopback_has . >"$tap_dir/heard"
	ok $? "$1" || diag "$(cat "$tap_dir/heard")"
}
