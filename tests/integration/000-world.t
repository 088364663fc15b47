#!/bin/sh
# SPDX-License-Identifier: MIT
# The test world itself: what the other tests take for granted.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"

world_require
new_home
new_project
probe_here .

# Names.
while read -r name want; do
	run ./probe dns "$WORLD_DNS" udp "${name%/*}" "${name#*/}"
	is "$(fact address | tr '\n' ' ')" "${want:+$want }" \
		"$name is as it should be"
done <<END
web.test/A 192.0.2.10
web.test/AAAA 2001:db8::10
WEB.Test/A 192.0.2.10
six.test/A
six.test/AAAA 2001:db8::6
chain.test/A 192.0.2.10
many.test/A 192.0.2.12 192.0.2.13 192.0.2.14 203.0.113.10
many.test/AAAA 2001:db8::12 2001:db8::13
loop.test/A 127.0.0.1
link.test/A 169.254.1.1
guest.test/A 10.0.2.15
deep.er.wild.test/A 192.0.2.17
split.test/A 192.0.2.21
END
for pair in web.test:0 empty.test:0 nowhere.test:3 fail.test:2 wild.test:3; do
	run ./probe dns "$WORLD_DNS" udp "${pair%:*}" A
	is "$(fact rcode)" "${pair#*:}" \
		"${pair%:*} has response code ${pair#*:}"
done
run ./probe dns "$WORLD_DNS" udp big.test A
is "$(fact truncated):$(fact answers)" 1:0 'a large answer is cut over UDP'
run ./probe dns "$WORLD_DNS" tcp big.test A
is "$(fact truncated):$(fact answers)" 0:120 'and whole over TCP'
run ./probe --within 200 dns "$WORLD_DNS" udp silent.test A
is "$(fact result)" timeout 'a silent name has no answer'
run ./probe dns "$WORLD_DNS" udp slow.test A
like "$(fact elapsed_ms)" '^([4-9]|1.)..$' 'a slow name takes its time'
run ./probe dns "$WORLD_DNS" udp rotate.test A
first=$(fact address)
run ./probe dns "$WORLD_DNS" udp rotate.test A
isnt "$(fact address)" "$first" 'a rotating name has another address each time'
run getent hosts split.test
like "$out" '^192.0.2.20 ' 'the hosts file says otherwise than the name server'
zone_add 'fresh.test A 192.0.2.98'
run ./probe lookup fresh.test
is "$(fact address)" 192.0.2.98 'a test can add a name'

# Servers, and what they and the capture say of it.
for address in "$WORLD_WEB" "$WORLD_WEB6" "$WORLD_OTHER" 192.0.2.200; do
	for port in 80 443 8080; do
		run ./probe http "$address" "$port"
		is "$(fact body)" "server $address port $port" \
			"a web server is at $address port $port"
	done
done
capture_start
run ./probe http web.test 80
like "$(fact body)" "^server ($WORLD_WEB|$WORLD_WEB6) port 80" \
	'a web server is at its name'
for port in 22 853 4444 5353 49152; do
	run ./probe tcp "$WORLD_OTHER" "$port"
	is "$(fact result)" connected "TCP port $port is open"
done
for port in 4444 5353; do
	run ./probe udp "$WORLD_OTHER" "$port"
	is "$(fact result)" answered "UDP port $port echoes"
	run ./probe udp "$WORLD_OTHER6" "$port"
	is "$(fact result)" answered "UDP port $port echoes over IPv6"
done
run ./probe icmp "$WORLD_OTHER"
is "$(fact result)" answered 'an echo request is answered'
run ./probe icmp "$WORLD_OTHER6"
is "$(fact result)" answered 'an echo request is answered over IPv6'
run ./probe dns "$WORLD_OTHER_DNS" udp web.test A
is "$(fact address)" 192.0.2.10 'another name server answers'
capture_stop
on_wire "host $WORLD_OTHER and tcp port 4444" 'the capture sees TCP'
on_wire "src $WORLD_HOST and dst $WORLD_OTHER and udp port 5353" \
	'the capture sees UDP'
on_wire "ip6 host $WORLD_OTHER6 and udp port 4444" 'the capture sees IPv6'
on_wire "icmp and dst $WORLD_OTHER" 'the capture sees ICMP'
on_wire "dst $WORLD_OTHER_DNS and udp port 53" 'the capture sees DNS'
off_wire "host $WORLD_OTHER and port 8080" \
	'the capture does not see what came before it'
off_wire 'host 192.0.2.99' 'the capture does not see what was never sent'
heard "^tcp $WORLD_OTHER 22 $WORLD_HOST" 'the servers log a connection'
heard "^udp $WORLD_OTHER6 5353 $WORLD_HOST6 probe" 'the servers log a datagram'
heard "^dns $WORLD_DNS udp A web.test $WORLD_HOST" 'the servers log a question'
unheard '8080' 'the log does not show what came before'
unheard_at_home 'nothing came to the loopback'

# Each test of what is absent, seen to fail; ok() is made to tell.
capture_start
capture_stop
off_wire '' 'nobody else speaks on the wire'
capture_start
run ./probe udp 192.0.2.99 4444
run ./probe udp 127.0.0.1 7777
is "$(fact result)" answered 'the loopback listener answers'
run ./probe tcp ::1 7777
is "$(fact result)" connected 'the loopback listener takes IPv6'
capture_stop
said=$(off_wire 'host 192.0.2.99' 'x'; unheard 'udp 192.0.2.99' 'x'
	unheard_at_home 'x')
is "$(echo "$said" | grep -c '^not ok')" 3 'the tests of absence can fail'
like "$said" '^# udp 127.0.0.1 7777 127.0.0.1 probe' 'and show a datagram'
like "$said" '^# tcp ::1 7777 ::1' 'and show a connection'

# No way out.
run ./probe --within 300 tcp "$WORLD_NOBODY" 80
is "$(fact result)" timeout 'an address that nobody has answers nothing'
capture_start
run ./probe --within 300 udp 198.18.0.1 4444
is "$(fact result)" timeout 'nor does one of another network'
capture_stop
on_wire 'host 198.18.0.1' 'it ends on the wire'
off_wire 'src 198.18.0.1' 'and nothing comes back'
devices=$(tail -n +3 /proc/net/dev | sed 's/:.*//; s/ //g' | sort | tr '\n' ' ')
is "$devices" 'lo wire0 ' 'the host side has the wire alone'
if [ "$tap_user" = root ]; then
	run nsenter --net="$KG_WORLD_DIR/internet.ns" -- ip route show default
	is "$rc:$out" 0: 'the internet side has no default route'
	run nsenter --net="$KG_WORLD_DIR/internet.ns" -- \
		ip -6 route show default
	is "$rc:$out" 0: 'nor one of IPv6'
	run nsenter --net="$KG_WORLD_DIR/internet.ns" -- \
		./probe tcp 198.18.0.1 80
	is "$(fact result)" ENETUNREACH 'from there nothing leaves'
fi

# What kgate needs.
run bwrap --unshare-user --unshare-all --ro-bind / / --proc /proc --dev /dev \
	true
is "$rc:$msg" 0: 'bwrap works'
run ./probe open-write /dev/net/tun
is "$(fact /dev/net/tun)" ok 'anybody can open /dev/net/tun'
run ./probe
is "$(fact uid)" "$(id -u)" 'the probe tells the uid'
is "$(fact extra_fds)" 0 'the world leaks no descriptor into tests'
run "$PROBE" tcp "$WORLD_WEB" 80
is "$rc:$out" 99: 'the probe refuses to send without the marker'

# Left-overs.
snapshot_take here "$PROJECT"
run true
snapshot_same here 'nothing is left of a run that leaves nothing'
left() {
	snapshot_differs here || differences=nothing
	like "$differences" "$1" "a $2 that is left is seen"
}
touch new
left '^new:  file .*/project[^/]*/new ' file
rm new
left '^gone: file .*/project' 'change of a directory'
snapshot_take here "$PROJECT"
touch /tmp/left
left '^new:  name /tmp/left' 'file in /tmp'
rm /tmp/left
exec 8<probe
left '^new:  descriptor 8 ' descriptor
exec 8<&-
mkfifo "$tap_dir/go"
snapshot_take here "$PROJECT"
# shellcheck disable=SC2016 # the argument of that shell
unshare --user --map-current-user --net sh -c 'read -r x <"$1"' sh \
	"$tap_dir/go" &
left "^new:  proc $! " process
like "$differences" '^new:  namespace net:' 'a namespace that is left is seen'
echo >"$tap_dir/go"
wait
snapshot_same here 'nothing is left of it later'
./probe --within 300 tcp "$WORLD_NOBODY" 80 >/dev/null &
snapshot_same here 'what is about to end is waited for'
wait
if [ "$tap_user" = root ]; then
	mkdir m
	snapshot_take here
	mount -t tmpfs left m
	left '^new:  mount ' mount
	umount m
	snapshot_same here 'and gone when it is gone'
fi

done_testing
