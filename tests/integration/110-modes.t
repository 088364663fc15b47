#!/bin/sh
# SPDX-License-Identifier: MIT
# Off and an empty list have no network; open has the host's, in the same box.

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

# no_network FLAG... - every way out, in a box without one
no_network() {
	reach "$@" <<-END
	refused tcp web.test 80
	refused lookup web.test
	refused tcp $WORLD_WEB 80
	refused tcp $WORLD_WEB6 80
	refused udp $WORLD_WEB 4444
	refused udp $WORLD_WEB6 4444
	refused icmp $WORLD_WEB
	refused dns $WORLD_DNS udp web.test A
	refused dns $WORLD_DNS tcp web.test A
	refused dns 10.0.2.3 udp web.test A
	refused tcp 10.0.2.2 7777
	refused tcp fd00::2 7777
	refused tcp $WORLD_HOST 7777
	refused tcp 127.0.0.1 7777
	refused udp 127.0.0.1 7777
	refused tcp ::1 7777
	refused udp 127.0.0.53 53
	refused tcp 127.0.0.1 7777 tap0
	refused udp 127.0.0.1 7777 wire0
	run     cut -d: -f1 /proc/net/dev | tail -n +3 | sed 's/ */device=/'
	END
	is "$rc:$msg" 0: "$reach_as: the command ran"
	is "$(fact device)" lo "$reach_as: there is no link"
	off_wire '' "$reach_as: no packet is on the wire"
	unheard . "$reach_as: no server of the internet saw anything"
	unheard_at_home "$reach_as: nothing reaches the host's loopback"
}

reach_as='no config'
no_network
reach_as='an empty config'
: >"$HOME/empty"
no_network --config "$HOME/empty"
rm "$HOME/empty"
reach_as='network: off'
config 'network: off' 'hosts: [web.test]'
no_network
reach_as='network: restricted without hosts'
config 'network: restricted' 'hosts: []'
no_network
reach_as=

# What a box shows of itself, but for what names the launch or its network.
facts_of_box() {
	printf '%s\n' "$out" |
		grep -Ev '^(ns_.*|NSpid|pid|ppid|pgid|sid)='
}

config 'network: off'
run "$KGATE" run -- ./probe
is "$rc" 0 'off: the probe ran'
off=$(facts_of_box)
off_net=$(fact ns_net)
run "$KGATE" run -- ./probe list "$HOME"
off_home=$out
config 'network: open'
run "$KGATE" run -- ./probe
is "$rc" 0 'open: the probe ran'
is "$(facts_of_box)" "$off" \
	'open: uid, capabilities, descriptors, seccomp, sockets are as in off'
host_net=$(readlink /proc/self/ns/net)
is "$(fact ns_net)" "$host_net" 'open: the network namespace is the host'\''s'
isnt "$off_net" "$host_net" 'off: it is another one'
for key in CapInh CapPrm CapEff CapBnd CapAmb; do
	is "$(fact "$key")" 0000000000000000 "open: $key is empty"
done
is "$(fact NoNewPrivs):$(fact Seccomp):$(fact vsock)" 1:2:EAFNOSUPPORT \
	'open: no new privileges, a filter, no AF_VSOCK'
run "$KGATE" run -- ./probe list "$HOME"
is "$out" "$off_home" 'open: home is empty, as in off'
run "$KGATE" run -- cat /etc/resolv.conf
is "$out" "$(cat /etc/resolv.conf)" 'open: resolv.conf is the host'\''s'
# shellcheck disable=SC2016 # for the shell in the box
run "$KGATE" run -- sh -c 'echo x >"$HOME/x" && echo x >/usr/x'
is "$rc:$(ls -A "$HOME")" 2:.kgate \
	'open: home is a tmpfs and the system read-only'

reach --config "$HOME/.kgate/config.yaml" <<END
open    http web.test 80
open    tcp other.test 443
open    tcp $WORLD_OTHER 22
open    udp $WORLD_OTHER 4444
open    tcp $WORLD_OTHER6 80
open    udp $WORLD_OTHER6 4444
address=$WORLD_OTHER dns $WORLD_DNS udp other.test A
address=$WORLD_OTHER dns $WORLD_OTHER_DNS tcp other.test A
open    tcp 127.0.0.1 7777
open    udp ::1 7777
refused icmp $WORLD_OTHER
END
is "$rc:$msg" 0: 'open: the command ran and kgate said nothing'
on_wire "src $WORLD_HOST and dst $WORLD_OTHER and udp port 4444" \
	'open: the host'\''s network is there'
heard "^tcp $WORLD_OTHER6 80 $WORLD_HOST6" 'open: over IPv6 too'

done_testing
