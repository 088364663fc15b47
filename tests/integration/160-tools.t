#!/bin/sh
# SPDX-License-Identifier: MIT
# A machine that lacks a part of the network box, or has one that fails: refused
# with the cause where the policy needs it, no matter where it doesn't.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/net.sh
. "$KG_SRCDIR/tests/lib/net.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"

world_require
new_home
new_project
probe_here .

# A mount namespace in which some programs are others.  A folder of links takes
# the place of the programs' own, which moves to /usr/src: that lies below /usr,
# so that the links hold in a box too.
farm=$(mktemp -d /usr/src/kgt.XXXXXX) || exit 99
chmod 0755 "$farm"
cat >"$tap_dir/swapped" <<'END'
set -e
farm=$1 swaps=$2
shift 2
for swap in $swaps; do
	name=${swap%%=*}
	path=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v "$name")
	dir=$(cd "${path%/*}" && pwd -P)
	key=$farm/$(echo "$dir" | tr / -)
	if ! [ -d "$key.links" ]; then
		mkdir "$key" "$key.links"
		mount --bind "$dir" "$key"
		ln -s -t "$key.links" "$key"/*
		mounts="${mounts:-} $key.links:$dir"
	fi
	rm "$key.links/$name"
	[ -z "${swap#*=}" ] || cp "${swap#*=}" "$key.links/$name"
done
for mount in ${mounts:-}; do
	mount --bind "${mount%%:*}" "${mount#*:}"
done
[ -n "${KG_UID:-}" ] || exec "$@"
exec unshare --user --map-user="$KG_UID" --map-group="$KG_GID" -- "$@"
END
if [ "$tap_user" = root ]; then
	unset KG_UID
	alone='unshare --mount --propagation private'
else
	KG_UID=$(id -u)
	KG_GID=$(id -g)
	export KG_UID KG_GID
	alone='unshare --user --map-root-user --mount --propagation private'
fi

# swapped "NAME=[FILE]..." COMMAND... - run it where NAME is FILE, or missing;
# $what says so without a path
swapped() {
	what=$(echo "$1" | sed "s|=$tap_dir/| |g; s|=| missing|g")
	swaps=$1
	shift
	rm -rf "${farm:?}"/*
	# shellcheck disable=SC2086 # words of a command
	run $alone sh "$tap_dir/swapped" "$farm" "$swaps" "$@"
}

# kind_and_stage - of the lines of the audit log, which starts again here
kind_and_stage() {
	sed 's/.*"kind":"\([a-z]*\)".*"stage":"\([a-z]*\)".*/\1-\2/
		s/.*"kind":"\([a-z]*\)".*/\1/' "$HOME/.kgate/audit.jsonl" |
		paste -s -d ' ' -
	rm -f "$HOME/.kgate/audit.jsonl"
}

# A file that can't be executed, and programs that fail.
touch "$tap_dir/unusable"
cat >"$tap_dir/failing" <<'END'
#!/bin/sh
echo 'the program says why' >&2
exit 1
END
cat >"$tap_dir/ready-and-gone" <<'END'
#!/bin/sh
while [ "$1" != --ready-fd ]; do shift; done
echo 1 >"/proc/self/fd/$2"
END
chmod +x "$tap_dir/failing" "$tap_dir/ready-and-gone"

snapshot_take start
for name in slirp4netns iptables-restore ip6tables-restore; do
	same="${same:-} $name=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		command -v "$name")"
done
swapped "$same" "$KGATE" run --allow-net web.test -- ./probe http web.test 80
is "$rc:$msg:$(fact result)" 0::answered \
	'with copies of all parts the launch works' || show_run
kind_and_stage >/dev/null

# refused SWAPS MESSAGE LINES - a restricted launch, and its audit lines
refused() {
	capture_fresh
	swapped "$1" "$KGATE" run --allow-net web.test -- touch started
	capture_stop
	is "$rc:$out" 125: "restricted, $what: fails"
	like "$msg" "^kgate: .*$2" "$what: the message says why"
	is "$(printf '%s\n' "$msg" | grep -vc '^kgate: ')" 0 \
		"$what: in lines of kgate alone"
	is "$(ls started 2>/dev/null)" '' "$what: the command never starts"
	only_wire '' "$what: nothing of it is on the wire"
	is "$(kind_and_stage)" "$3" "$what: the audit log has the refusal"
}

# works SWAPS - off, open and an empty list need none of it
works() {
	for mode in off open restricted; do
		config "network: $mode"
		swapped "$1" "$KGATE" run -- echo hello
		is "$rc:$out:$msg" 0:hello: "$mode, $what: works" || show_run
	done
	rm -f "$HOME/.kgate/config.yaml" "$HOME/.kgate/audit.jsonl"
}

while read -r name package; do
	refused "$name=" \
		"$name isn't installed.*install the package $package" \
		block-backend
	works "$name="
	refused "$name=$tap_dir/unusable" "$name can't be executed" \
		block-backend
	unlike "$msg" "isn't installed" "$what: it is not called missing"
	works "$name=$tap_dir/unusable"
done <<END
slirp4netns slirp4netns
iptables-restore iptables
END
works 'slirp4netns= iptables-restore= ip6tables-restore='

refused "slirp4netns=$tap_dir/failing" \
	'slirp4netns .*the program says why' 'launch block-box'
works "slirp4netns=$tap_dir/failing"
refused "slirp4netns=$tap_dir/ready-and-gone" 'slirp4netns has ended' \
	'launch block-box'
for name in iptables-restore ip6tables-restore; do
	refused "$name=$tap_dir/failing" "$name.*the program says why" \
		'launch block-box'
	works "$name=$tap_dir/failing"
done

# Without ip6tables alone there is no IPv6, and all else is as before.
# no_ipv6 SWAPS - such a box
no_ipv6() {
	reach_write <<-END
	open    http web.test 80
	open    udp $WORLD_WEB 4444
	address=$WORLD_WEB dns 10.0.2.3 udp web.test A
	answers=0 dns 10.0.2.3 udp web.test AAAA
	address=$WORLD_WEB lookup web.test
	refused tcp $WORLD_WEB6 80
	refused udp $WORLD_WEB6 4444
	refused tcp fd00::2 7777
	refused tcp ::1 7777 tap0
	refused udp ::1 7777 tap0
	refused tcp $WORLD_OTHER 80
	run     cat /etc/resolv.conf
	run     sed 's/^/if_inet6=/' /proc/net/if_inet6
	END
	capture_fresh
	swapped "$1" "$KGATE" run --allow-net web.test -- sh ./try
	capture_stop
	reach_as=$what
	reach_judge
	reach_as=
	is "$rc:$msg" 0: "$what: kgate says nothing"
	is "$(printf '%s\n' "$out" | grep '^nameserver')" 'nameserver 10.0.2.3' \
		"$what: there is one name server in resolv.conf"
	unlike "$(fact if_inet6)" 'tap0' "$what: the link has no IPv6 address"
	off_wire ip6 "$what: no IPv6 is on the wire"
	only_wire "host $WORLD_WEB" \
		"$what: no other packet than to the listed name is"
	unheard_at_home "$what: nothing reaches the host's loopback"
	is "$(kind_and_stage)" launch "$what: it is a launch"
}
no_ipv6 ip6tables-restore=
no_ipv6 "ip6tables-restore=$tap_dir/unusable"
works ip6tables-restore=

rm -rf "$farm"
snapshot_same start 'nothing is left of all this'
done_testing
