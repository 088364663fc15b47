#!/bin/sh
# SPDX-License-Identifier: MIT
# Restricted: the listed name answers, in the same run as all else is refused,
# and nothing of what is refused is on the wire.

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

# Listeners that aren't the host's usual ones: the port that the box's DNS is
# redirected to, where a packet would end that leaves by the wrong device.
mkfifo "$tap_dir/ready"
"$KG_BUILDDIR/tests/world/serve" "$tap_dir/redirected.log" \
	"$KG_WORLD_DIR/zone" echo:16053@127.0.0.1 echo:16053@::1 \
	sync:16054@127.0.0.1 >"$tap_dir/ready" &
serve_pid=$!
read -r said <"$tap_dir/ready"
is "$said" ready 'there is a listener on the port of the box'\''s resolver'

# The listed name, its addresses, and everything else.
reach --allow-net web.test <<END
open    http web.test 80
open    http web.test 443
open    tcp $WORLD_WEB 22
open    tcp $WORLD_WEB6 80
open    udp $WORLD_WEB 4444
open    udp $WORLD_WEB6 4444

refused tcp other.test 80
refused http other.test 443
refused lookup other.test
refused tcp $WORLD_OTHER 80
refused tcp $WORLD_OTHER 443
refused tcp $WORLD_OTHER 22
refused tcp $WORLD_OTHER 49152
refused tcp ::ffff:$WORLD_OTHER 80
refused tcp $WORLD_NOBODY 80
refused tcp $WORLD_HOST 7777
refused tcp $WORLD_OTHER 80 tap0
refused udp $WORLD_OTHER 4444
refused udp $WORLD_OTHER 443
refused udp $WORLD_OTHER 49152
refused udp ::ffff:$WORLD_OTHER 4444
refused udp $WORLD_OTHER 4444 tap0
refused udp 224.0.0.251 5353
refused icmp $WORLD_OTHER
refused icmp $WORLD_WEB
refused tcp $WORLD_OTHER6 80
refused tcp $WORLD_OTHER6 443
refused tcp $WORLD_OTHER6 22
refused tcp $WORLD_OTHER6 49152
refused tcp $WORLD_OTHER6 80 tap0
refused udp $WORLD_OTHER6 4444
refused udp $WORLD_OTHER6 4444 tap0
refused udp ff02::fb 5353
refused icmp $WORLD_OTHER6
refused icmp $WORLD_WEB6
run     ./probe
END
is "$rc:$msg" 0: 'the command ran and kgate said nothing'
on_wire "host $WORLD_WEB and tcp port 80" 'the listed name is on the wire'
on_wire "ip6 host $WORLD_WEB6 and tcp port 80" 'its IPv6 address too'
on_wire "host $WORLD_WEB and udp port 4444" 'its UDP too'
only_wire "host $WORLD_WEB or host $WORLD_WEB6" \
	'nothing of what is refused is on the wire'
off_wire 'icmp[icmptype] == icmp-echo or (icmp6 and ip6[40] == 128)' \
	'no echo request is on the wire'
heard "^tcp $WORLD_WEB 80 $WORLD_HOST" 'the server saw the connection'
unheard "^[a-z]+ ($WORLD_OTHER|$WORLD_OTHER6|$WORLD_NOBODY) " \
	'no other server saw anything'
unheard_at_home 'nothing reaches the loopback of the host'
while read -r key want; do
	is "$(fact "$key")" "$want" "a socket of the kind $key is refused"
done <<END
sctp EPROTONOSUPPORT
udplite EPROTONOSUPPORT
mptcp EPROTONOSUPPORT
dccp EPROTONOSUPPORT
raw EPROTONOSUPPORT
raw6 EPROTONOSUPPORT
icmp EPROTONOSUPPORT
icmp6 EPROTONOSUPPORT
packet EAFNOSUPPORT
vsock EAFNOSUPPORT
i386_vsock ENOSYS
x32_vsock ENOSYS
END

# DNS: the box's own server alone, for listed names alone.
reach --allow-net web.test <<END
address=$WORLD_WEB  dns 10.0.2.3 udp web.test A
address=$WORLD_WEB  dns 10.0.2.3 tcp web.test A
address=$WORLD_WEB6 dns 10.0.2.3 udp web.test AAAA
address=$WORLD_WEB6 dns 10.0.2.3 tcp web.test AAAA
address=$WORLD_WEB  dns 10.0.2.3 udp WEB.Test A
address=$WORLD_WEB  dns fd00::3 udp web.test A
address=$WORLD_WEB6 dns fd00::3 tcp web.test AAAA
rcode=0 dns 10.0.2.3 udp web.test TXT
rcode=0 dns 10.0.2.3 udp web.test HTTPS
rcode=5 dns 10.0.2.3 udp secret.not-listed.test A
rcode=5 dns 10.0.2.3 tcp secret.not-listed.test A
rcode=5 dns 10.0.2.3 udp secret.not-listed.test TXT
rcode=5 dns 10.0.2.3 udp secret.web.test A
rcode=5 dns 10.0.2.3 udp other.test A
rcode=5 dns fd00::3 udp secret.not-listed.test AAAA

refused dns $WORLD_DNS udp web.test A
refused dns $WORLD_DNS tcp web.test A
refused dns $WORLD_OTHER_DNS udp web.test A
refused dns $WORLD_OTHER_DNS tcp web.test A
refused dns $WORLD_OTHER6 udp web.test A
refused dns $WORLD_OTHER6 tcp web.test A
refused dns $WORLD_WEB udp web.test A
refused dns $WORLD_WEB tcp web.test A
refused dns $WORLD_WEB6 udp web.test A
refused dns $WORLD_WEB6 tcp web.test A
refused dns 10.0.2.2 udp web.test A
refused dns 10.0.2.2 tcp web.test A
refused dns fd00::2 udp web.test A
refused tcp $WORLD_WEB 853
refused udp $WORLD_WEB 853
refused tcp $WORLD_WEB6 853
refused udp $WORLD_WEB6 853
refused tcp $WORLD_OTHER_DNS 853
refused udp $WORLD_OTHER_DNS 853
refused tcp $WORLD_OTHER_DNS 443
refused tcp 10.0.2.3 80
refused tcp 10.0.2.3 853
refused udp 10.0.2.3 853
refused tcp fd00::3 853
refused udp fd00::3 853
END
is "$rc:$msg" 0: 'the command ran and kgate said nothing'
heard "^dns $WORLD_DNS udp A web.test $WORLD_HOST" \
	'the listed name was asked for, on the wire'
unheard '^dns .*(not-listed|other|secret)' 'no name that is not listed was'
unheard '^dns .* (TXT|HTTPS) ' 'nor another type of the listed one'
unheard "^dns ($WORLD_OTHER_DNS|$WORLD_OTHER6|$WORLD_WEB|$WORLD_WEB6) " \
	'no other name server was asked'
off_wire 'port 853' 'DNS over TLS is not on the wire'
only_wire '' 'nothing but the question to the host'\''s server is'

# The host's loopback, with listeners on 7777 and, on 127.0.0.53, 53.
reach --allow-net web.test <<END
refused tcp 10.0.2.2 7777
refused udp 10.0.2.2 7777
refused tcp fd00::2 7777
refused udp fd00::2 7777
refused tcp 10.0.2.3 7777
refused udp 10.0.2.3 7777
refused tcp 10.0.2.2 7777 tap0
refused udp 10.0.2.2 7777 tap0
refused tcp fd00::2 7777 tap0
refused udp fd00::2 7777 tap0
refused tcp 127.0.0.1 7777
refused udp 127.0.0.1 7777
refused tcp ::1 7777
refused udp ::1 7777
refused tcp ::ffff:127.0.0.1 7777
refused tcp 127.0.0.1 7777 tap0
refused udp 127.0.0.1 7777 tap0
refused tcp ::ffff:127.0.0.1 7777 tap0
refused udp ::ffff:127.0.0.1 7777 tap0
refused tcp 127.0.0.53 53 tap0
refused udp 127.0.0.53 53 tap0
refused tcp ::1 7777 tap0
refused udp ::1 7777 tap0
refused tcp 127.0.0.1 16053 tap0
refused udp 127.0.0.1 16053 tap0
refused tcp ::1 16053 tap0
refused udp ::1 16053 tap0
refused udp 10.0.2.3 53 tap0
refused udp fd00::3 53 tap0
closed  --within 300 tcp 10.0.2.3 53 tap0
closed  --within 300 tcp fd00::3 53 tap0
END
is "$rc:$msg" 0: 'the command ran and kgate said nothing'
unheard_at_home 'nothing reaches the loopback of the host'
"$KG_HELPERS/net" sync 127.0.0.1 16054 || exit 99
is "$(cat "$tap_dir/redirected.log")" '' \
	'nor the port that DNS is redirected to'
only_wire '' 'nothing of it is on the wire'

# The same listeners, from the host: silence has a cause.
run ./probe udp 127.0.0.1 16053
is "$(fact result)" answered 'the redirected port answers on the host'
isnt "$(cat "$tap_dir/redirected.log")" '' 'and its log would tell'

kill "$serve_pid"
wait "$serve_pid" 2>/dev/null
done_testing
