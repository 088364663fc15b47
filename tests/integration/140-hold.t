#!/bin/sh
# SPDX-License-Identifier: MIT
# The firewall holds against its command: from the first packet on, and whatever
# is done to rules, links, mounts and namespaces.

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

# The command's first act is a packet, in launch after launch.
early() {
	for round in 1 2 3 4 5; do
		run "$KGATE" run --allow-net web.test -- ./probe "$@"
		[ "$rc" -eq 0 ] || diag "round $round" "$msg"
		reach_failed "$(fact result)" "$(fact elapsed_ms)" || return
	done
}
capture_fresh
early udp "$WORLD_OTHER" 4444
ok $? 'a first datagram is refused' || show_run
early tcp "$WORLD_OTHER" 80
ok $? 'a first connection is refused' || show_run
early udp "$WORLD_OTHER6" 4444
ok $? 'a first datagram over IPv6 is refused' || show_run
early dns "$WORLD_OTHER_DNS" udp web.test A
ok $? 'a first question to another name server is refused' || show_run

# A flood of many programs at once, from the start.
cat >flood <<'END'
for n in 1 2 3 4 5 6 7 8 9 10; do
	./probe --as u$n udp 192.0.2.1$n 4444 &
	./probe --as t$n tcp 192.0.2.1$n 80 &
	./probe --as s$n udp 2001:db8::1$n 4444 &
done
wait
END
run "$KGATE" run --allow-net "$WORLD_NOBODY" -- sh ./flood
is "$rc:$(printf '%s\n' "$out" | grep -c 'result=E')" 0:30 \
	'a flood from the start is refused' || show_run
capture_stop
only_wire '' 'nothing of that is on the wire'
unheard '^(tcp|udp) ' 'no server heard of it'

# Commands, one a line, that would open something if they were let.
cat >"$tap_dir/attacks" <<'END'
iptables -F
iptables -P OUTPUT ACCEPT
iptables -t mangle -F
ip6tables -F
nft flush ruleset
ip link set tap0 down
ip link set tap0 name tap1
ip link delete tap0
ip link add dummy0 type dummy
ip address add 192.0.2.1/24 dev tap0
ip address flush dev tap0
ip route replace default via 10.0.2.3
ip rule add from all lookup main
ip netns add other
ip tuntap add tap1 mode tap
ipset flush
umount /etc/resolv.conf
umount -l /proc
mount -t tmpfs none /tmp
mount --bind /tmp /etc
unshare -Urmn true
unshare -Ur true
unshare -n true
unshare -m true
unshare -Urmn iptables -F
unshare -Urmn nft flush ruleset
unshare -Urmn ip link set tap0 down
unshare -Ur umount /etc/resolv.conf
nsenter -t 1 -n ip link set tap0 down
nsenter -t 1 -U -n true
chroot / true
setpriv --ambient-caps=+net_admin --inh-caps=+net_admin iptables -F
END
{
	n=0
	while read -r line; do
		n=$((n + 1))
		echo "run (PATH=\$PATH:/usr/sbin:/sbin; $line) >/dev/null 2>&1;" \
			"echo attack.$n=\$?"
	done <"$tap_dir/attacks"
	cat <<-END
	run     ./probe
	open    http web.test 80
	open    tcp $WORLD_WEB6 80
	refused tcp $WORLD_OTHER 80
	refused udp $WORLD_OTHER 4444
	refused tcp $WORLD_OTHER6 80
	refused udp $WORLD_OTHER6 4444
	refused tcp 127.0.0.1 7777 tap0
	refused udp ::1 7777 tap0
	refused dns $WORLD_DNS udp web.test A
	rcode=5 dns 10.0.2.3 udp other.test A
	run     cut -d: -f1 /proc/net/dev | tail -n +3 | sed 's/ */device=/'
	END
} >"$tap_dir/table"
reach_as='after the attempts'
reach --allow-net web.test <"$tap_dir/table"
reach_as=
is "$rc:$msg" 0: 'the command ran and kgate said nothing'
n=0
while read -r line; do
	n=$((n + 1))
	program=$(echo "$line" | grep -Eo '(iptables|ip6tables|nft|ipset) ' |
		tail -n 1)
	if [ -n "$program" ] && ! PATH=$PATH:/usr/sbin:/sbin command -v \
		"${program% }" >/dev/null; then
		diag "no ${program% } here: $line"
		continue
	fi
	like "$(fact "attack.$n")" '^[1-9]' "refused: $line"
done <"$tap_dir/attacks"
is "$(fact device | sort | tr '\n' ' ')" 'lo tap0 ' 'the links are as they were'
for key in CapEff CapPrm CapBnd CapAmb CapInh; do
	is "$(fact "$key")" 0000000000000000 "$key is empty"
done
is "$(fact NoNewPrivs):$(fact Seccomp)" 1:2 'no new privileges, and a filter'
while read -r key want; do
	is "$(fact "$key")" "$want" "the kernel's way to do it is closed: $key"
done <<END
netlink_netfilter EPROTONOSUPPORT
unshare_user EPERM
unshare_mnt EPERM
unshare_net EPERM
clone_newuser EPERM
clone3 ENOSYS
setns EPERM
umount2 EPERM
move_mount EPERM
bpf EPERM
END
only_wire "host $WORLD_WEB or host $WORLD_WEB6" \
	'nothing but the listed name is on the wire'
unheard_at_home 'nothing reaches the loopback of the host'

# The network's own knobs.
run "$KGATE" run --allow-net web.test -- ./probe open-write \
	/proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/conf/all/route_localnet \
	/proc/sys/net/ipv4/ping_group_range /proc/sys/net/ipv6/conf/tap0/forwarding
is "$rc:$(printf '%s\n' "$out" | grep -Evc '=(EROFS|EACCES|EPERM)$')" 0:0 \
	'no knob of the network opens for writing' || show_run

done_testing
