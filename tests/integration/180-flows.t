#!/bin/sh
# SPDX-License-Identifier: MIT
# Connection tracking can't be talked into taking a stranger for an answer.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"

world_require
new_home
new_project
probe_here

# A listener on the box's own address is reached over loopback, and others
# aren't through it.
config 'network: restricted' 'hosts: [web.test]'
capture_start
run "$KGATE" run -- sh -c './probe --as listed tcp 192.0.2.10 80
	./probe --as flow flow 2001:db8::11 4444
	./probe --as lo udp 192.0.2.11 4444 lo
	./probe --as lo6 udp 2001:db8::11 4444 lo
	./probe --as lotcp tcp 192.0.2.11 80 lo'
capture_stop
is "$rc" 0 'the probes ran'
is "$(fact listed.result)" connected 'a listed host answers'
for try in flow lo lo6 lotcp; do
	isnt "$(fact $try.result)" answered "$try: no answer"
	isnt "$(fact $try.result)" connected "$try: no connection"
	under "$(fact $try.elapsed_ms)" 1000 "$try: and at once"
done
off_wire 'host 2001:db8::11 or host 192.0.2.11' \
	'nothing of it was on the wire'

done_testing
