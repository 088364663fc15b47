#!/bin/sh
# SPDX-License-Identifier: MIT
# A host without IPv6: none in the box either, and nobody waits for it.  Only
# root can take IPv6 from the world's host, so that root's run is for both users.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/net.sh
. "$KG_SRCDIR/tests/lib/net.sh"

world_require
if [ "$tap_user" != root ]; then
	echo '1..0 # SKIP the run as root does it as kgate-test too'
	exit 0
fi

ip -6 route flush default
ip -6 address flush dev wire0
is "$(ip -6 route show default)" '' 'the host has no IPv6 route'

# without_ipv6 COMMAND... - the launch, as the user that COMMAND changes to
without_ipv6() {
	reach_write <<-END
	open    http web.test 80
	open    tcp web.test 443
	open    udp $WORLD_WEB 4444
	address=$WORLD_WEB lookup web.test
	address=$WORLD_WEB dns 10.0.2.3 udp web.test A
	rcode=0   dns 10.0.2.3 udp web.test AAAA
	answers=0 dns 10.0.2.3 udp web.test AAAA
	answers=0 dns 10.0.2.3 tcp web.test AAAA
	refused tcp $WORLD_WEB6 80
	refused udp $WORLD_WEB6 4444
	refused tcp $WORLD_OTHER6 80
	refused dns fd00::3 udp web.test A
	refused tcp fd00::2 7777
	refused tcp ::1 7777 tap0
	refused udp ::1 7777 tap0
	refused tcp $WORLD_OTHER 80
	run     cat /etc/resolv.conf
	run     sed 's/^/if_inet6=/' /proc/net/if_inet6
	END
	chown -R "$1:" "$HOME" "$PROJECT"
	shift
	capture_fresh
	run "$@" "$KGATE" run --allow-net web.test \
		--allow-net "[$WORLD_OTHER6]" -- sh ./try
	capture_stop
	reach_judge
	is "$rc:$msg" 0: "$reach_as: the command ran and kgate said nothing"
	under "$(fact r1.elapsed_ms)" 500 \
		"$reach_as: a client of both families does not wait"
	under "$(fact r4.elapsed_ms)" 500 "$reach_as: nor does a lookup"
	is "$(printf '%s\n' "$out" | grep '^nameserver')" \
		'nameserver 10.0.2.3' \
		"$reach_as: there is one name server in resolv.conf"
	unlike "$(fact if_inet6)" '^(fd00|2001)' \
		"$reach_as: the link has no IPv6 address of the guest's network"
	off_wire ip6 "$reach_as: no IPv6 is on the wire"
	unheard '^dns .* AAAA ' "$reach_as: nobody asked for IPv6 addresses"
	only_wire "host $WORLD_WEB" \
		"$reach_as: and no other packet than to the listed name"
	unheard_at_home "$reach_as: nothing reaches the loopback of the host"
}

# One home and project each: what one user leaves isn't the other's.
for user in root kgate-test; do
	new_home
	new_project
	probe_here .
	chmod 0755 "$tap_scratch"
	reach_as="$user"
	without_ipv6 "$user" setpriv --reuid="$user" \
		--regid="$(id -g "$user")" --init-groups \
		--inh-caps=-all --
done

done_testing
