#!/bin/sh
# SPDX-License-Identifier: MIT
# Each form of an entry opens what it says and nothing else, from the config as
# from --allow-net.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/net.sh
. "$KG_SRCDIR/tests/lib/net.sh"

world_require
new_home
new_project
probe_here .

# A block of eight, from .8 to .15, and one of sixteen, from ::10 to ::1f.
inside=192.0.2.15
beside=192.0.2.16
below=192.0.2.7
inside6=2001:db8::1f
beside6=2001:db8::20

# listed ENTRY WIRE TABLE - the table holds with ENTRY in the config, and then
# with it as a flag; but for packets of the filter WIRE nothing is sent
listed() {
	config 'network: restricted' "hosts: ['$1']"
	holds "$1 in the config" "$2" "$3"
	rm "$HOME/.kgate/config.yaml"
	holds "$1 as a flag" "$2" "$3" --allow-net "$1"
}

# holds WHAT WIRE TABLE FLAG... - one launch of it
holds() {
	what=$1 wire=$2 table=$3
	shift 3
	reach_whole="$what opens what it says and nothing else"
	reach "$@" <<-END
	$table
	END
	reach_whole=
	is "$rc:$msg" 0: "$what: the command ran"
	only_wire "$wire" "$what: nothing else is on the wire"
}

# all_ports ADDRESS - lines of a table: every port but DNS's
all_ports() {
	cat <<-END
	open    http $1 80
	open    http $1 443
	open    tcp $1 22
	open    tcp $1 49152
	open    udp $1 4444
	open    udp $1 49152
	refused dns $1 udp web.test A
	refused dns $1 tcp web.test A
	refused tcp $1 853
	refused udp $1 853
	END
}

# one_port ADDRESS - lines of a table: port 4444 alone
one_port() {
	cat <<-END
	open    tcp $1 4444
	open    udp $1 4444
	refused tcp $1 22
	refused tcp $1 80
	refused tcp $1 443
	refused tcp $1 5353
	refused udp $1 5353
	refused udp $1 443
	refused dns $1 udp web.test A
	refused dns $1 tcp web.test A
	refused tcp $1 853
	refused udp $1 853
	END
}

# closed_at ADDRESS... - lines of a table: nothing
closed_at() {
	for address; do
		cat <<-END
		refused tcp $address 80
		refused tcp $address 4444
		refused udp $address 4444
		END
	done
}

not_dns='not port 53 and not port 853'

listed web.test "(host $WORLD_WEB or host $WORLD_WEB6) and $not_dns" "$(
	all_ports web.test
	all_ports "$WORLD_WEB"
	all_ports "$WORLD_WEB6"
	closed_at "$WORLD_OTHER" "$WORLD_OTHER6" other.test
)"
heard "^udp $WORLD_WEB6 49152 $WORLD_HOST6 probe" 'UDP over IPv6 arrived'

listed web.test:4444 "(host $WORLD_WEB or host $WORLD_WEB6) and port 4444" "$(
	one_port web.test
	one_port "$WORLD_WEB"
	one_port "$WORLD_WEB6"
	closed_at "$WORLD_OTHER" "$WORLD_OTHER6"
)"

listed web.test:443 "(host $WORLD_WEB or host $WORLD_WEB6) and tcp port 443" "
	open    http web.test 443
	open    http $WORLD_WEB 443
	refused tcp web.test 22
	refused tcp $WORLD_WEB 22
	refused tcp $WORLD_WEB 80
	refused udp $WORLD_WEB 4444"

listed "$WORLD_OTHER" "host $WORLD_OTHER and $not_dns" "$(
	all_ports "$WORLD_OTHER"
	closed_at "$WORLD_WEB" "$WORLD_WEB6" "$WORLD_OTHER6" web.test other.test
)"

listed "$WORLD_OTHER:4444" "host $WORLD_OTHER and port 4444" "$(
	one_port "$WORLD_OTHER"
	closed_at "$WORLD_WEB" "$WORLD_OTHER6"
)"

listed 192.0.2.8/29 "net 192.0.2.8/29 and $not_dns" "$(
	all_ports "$inside"
	all_ports 192.0.2.8
	closed_at "$beside" "$below" "$WORLD_OTHER6"
)"

listed 192.0.2.8/29:4444 'net 192.0.2.8/29 and port 4444' "$(
	one_port "$inside"
	one_port 192.0.2.8
	closed_at "$beside" "$below"
)"

listed "[$WORLD_OTHER6]" "host $WORLD_OTHER6 and $not_dns" "$(
	all_ports "$WORLD_OTHER6"
	closed_at "$WORLD_WEB6" "$WORLD_OTHER"
)"

listed "[$WORLD_OTHER6]:4444" "host $WORLD_OTHER6 and port 4444" "$(
	one_port "$WORLD_OTHER6"
	closed_at "$WORLD_WEB6" "$WORLD_OTHER"
)"

listed '[2001:db8::10]/124' "net 2001:db8::10/124 and $not_dns" "$(
	all_ports "$inside6"
	closed_at "$beside6" "$WORLD_OTHER"
)"

listed '[2001:db8::10]/124:4444' 'net 2001:db8::10/124 and port 4444' "$(
	one_port "$inside6"
	closed_at "$beside6"
)"

# Several at once: names and addresses keep their own ports.
config 'hosts: [many.test:4444, "192.0.2.16:80"]'
reach --allow-net "$WORLD_OTHER:22" --allow-net four.test:443 <<END
address=192.0.2.12,192.0.2.13,192.0.2.14,203.0.113.10 dns 10.0.2.3 udp many.test A
address=192.0.2.13 dns 10.0.2.3 udp four.test A
open    tcp 192.0.2.12 4444
open    tcp 192.0.2.14 4444
open    tcp 203.0.113.10 4444
open    udp 2001:db8::13 4444
open    tcp 192.0.2.13 4444
open    tcp 192.0.2.13 443
open    tcp 192.0.2.16 80
open    tcp $WORLD_OTHER 22
refused tcp 192.0.2.12 443
refused tcp 192.0.2.13 80
refused tcp 192.0.2.16 4444
refused tcp 192.0.2.15 4444
refused tcp $WORLD_OTHER 80
rcode=5 dns 10.0.2.3 udp web.test A
END
only_wire "(net 192.0.2.12/30 and port 4444) or
	(host 203.0.113.10 and port 4444) or (ip6 and port 4444) or
	(host 192.0.2.13 and port 443) or (host 192.0.2.16 and port 80) or
	(host $WORLD_OTHER and port 22)" \
	'several entries: nothing else is on the wire'

# An answer that must never be opened is left out of a listed name's addresses.
reach --allow-net mixed.test <<END
address=192.0.2.14 dns 10.0.2.3 udp mixed.test A
open    tcp 192.0.2.14 80
refused tcp 127.0.0.1 7777
refused tcp 127.0.0.1 7777 tap0
END
unheard_at_home 'a name that also leads to 127.0.0.1 does not open it'

done_testing
