#!/bin/sh
# SPDX-License-Identifier: MIT
# Whom the listed names are asked of, and what happens when one has no address
# that can be opened.

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

# The host says one address, the name server behind 10.0.2.3 another.
run getent ahostsv4 split.test
like "$out" '^192.0.2.20 ' 'the host has one address for the name'
reach --allow-net split.test <<END
address=192.0.2.21 dns 10.0.2.3 udp split.test A
address=192.0.2.21 lookup split.test
open    http split.test 80
open    tcp 192.0.2.21 443
open    udp 192.0.2.21 4444
refused tcp 192.0.2.20 80
refused tcp 192.0.2.20 443
refused udp 192.0.2.20 4444
END
is "$rc:$msg" 0: 'the command ran and kgate said nothing'
is "$(fact r3.body)" 'server 192.0.2.21 port 80' \
	'the name leads to what the name server behind 10.0.2.3 says'
on_wire "src $WORLD_HOST and dst $WORLD_DNS and udp port 53" \
	'the question is on the wire'
heard "^dns $WORLD_DNS udp A split.test $WORLD_HOST" 'the server was asked it'
off_wire 'host 192.0.2.20' 'the host'\''s own answer is never used'
only_wire 'host 192.0.2.21' 'nothing else is on the wire'

# Aliases are followed; what they pass is no entry of the list.
reach --allow-net chain.test <<END
address=$WORLD_WEB dns 10.0.2.3 udp chain.test A
open    http chain.test 80
rcode=5 dns 10.0.2.3 udp web.test A
END
only_wire "host $WORLD_WEB or host $WORLD_WEB6" \
	'an alias: nothing else is on the wire'

# A large answer comes over TCP; a slow one is waited for; case is no matter.
reach --allow-net big.test:80 --allow-net slow.test --allow-net FOUR.Test <<END
open    tcp 192.0.2.101 80
open    tcp 192.0.2.140 80
open    http slow.test 80
open    http four.test 80
refused tcp 192.0.2.221 80
refused tcp 192.0.2.101 443
END
off_wire 'host 192.0.2.221' 'a large answer: its neighbour stays closed'

# audit_field NAME LINE - a string of one line of the audit log
audit_field() {
	sed -n "$2s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" "$HOME/.kgate/audit.jsonl"
}

# never_starts NAME CAUSE - with NAME beside one that resolves
never_starts() {
	rm -f "$HOME/.kgate/audit.jsonl"
	capture_fresh
	run "$KGATE" run --allow-net web.test --allow-net "$1" -- \
		./probe http web.test 80
	capture_stop
	is "$rc:$out" 125: "$1: kgate fails and the command says nothing"
	like "$msg" "^kgate: .*'$1' $2" "$1: the message names it and the cause"
	unlike "$msg" web.test "$1: and not the one that resolves"
	only_wire '' "$1: the command sent nothing"
	is "$(wc -l <"$HOME/.kgate/audit.jsonl")" 2 "$1: the audit log has two lines"
	is "$(audit_field kind 1):$(audit_field kind 2)" launch:block \
		"$1: launch, then block"
	is "$(audit_field stage 2)" box "$1: its stage is box"
	is "$(audit_field id 2)" "$(audit_field id 1)" "$1: their id is the same"
	like "$(audit_field reason 2)" "'$1'" "$1: the reason names the host"
}

while read -r name cause; do
	never_starts "$name" "$cause"
done <<END
six.test has only IPv6 addresses
nowhere.test does not exist
empty.test has no usable address
loop.test has no usable address
link.test has no usable address
guest.test has no usable address
any.test has no usable address
group.test has no usable address
fail.test could not be looked up
END

# The same from the config.
config 'hosts: [nowhere.test]'
run "$KGATE" run -- touch started
is "$rc:$(ls)" "125:$(printf 'probe\ntry')" \
	'a host of the config that does not exist: the command never starts'
like "$msg" "^kgate: .*'nowhere.test' does not exist" 'and is named'

done_testing
