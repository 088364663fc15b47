# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# net.sh - what a boxed command reaches, as tables; source it after world.sh.
#
#	reach --allow-net web.test <<END
#	open    http web.test 80
#	refused tcp 192.0.2.11 80
#	rcode=5 dns 10.0.2.3 udp other.test A
#	run     iptables -F
#	END
#
# Behind the first word stands a command of the probe.  All of them run in one
# launch with those flags, one after the other; what they sent is then in the
# capture and the logs, which start and stop around that launch.  First words:
#
#	open		it connected, or was answered
#	refused		it failed at once: within a second, by no time-out
#	closed		it failed, or nothing came
#	FIELD=VALUE	what the probe says of it; several values with commas
#	run		no probe and no test: a line of shell between them
#
# The tests are named after the lines, behind $reach_as where that is set.

: "${tap_dir:?source tap.sh first}"
reach_as=
reach_at_once_ms=1000

# reach_write - the table on standard input becomes the script ./try
reach_write() {
	cat >"$tap_dir/reach"
	reach_row=0
	while read -r reach_kind reach_words; do
		case $reach_kind in
		'' | '#'*) ;;
		run) printf '%s\n' "$reach_words" ;;
		*)
			reach_row=$((reach_row + 1))
			echo "./probe --as r$reach_row $reach_words"
			;;
		esac
	done <"$tap_dir/reach" >"$PROJECT/try"
}

# reach_failed RESULT MS - whether a probe says that it failed, in time
reach_failed() {
	case $1 in
	'' | connected | answered | timeout) return 1 ;;
	esac
	[ "$2" -lt "$reach_at_once_ms" ]
}

# reach_holds KIND ROW - whether a line of the table holds
reach_holds() {
	case $1 in
	*=*)
		[ "$(fact "$2.${1%%=*}" | paste -s -d , -)" = "${1#*=}" ]
		return
		;;
	esac
	reach_result=$(fact "$2.result")
	case $1:$reach_result in
	open:connected | open:answered) ;;
	closed:timeout) ;;
	refused:* | closed:*)
		reach_failed "$reach_result" "$(fact "$2.elapsed_ms")"
		;;
	*) return 1 ;;
	esac
}

# reach_judge - the tests of the table, after the run
reach_judge() {
	reach_row=0
	while read -r reach_kind reach_words; do
		case $reach_kind in
		'' | '#'* | run) continue ;;
		esac
		reach_row=$((reach_row + 1))
		reach_holds "$reach_kind" "r$reach_row"
		ok $? "${reach_as:+$reach_as: }$reach_kind: $reach_words" ||
			diag "$(printf '%s\n' "$out" "$msg" |
				grep -v '^r[0-9]*[.]' | head -n 5)" \
				"$(printf '%s\n' "$out" |
					grep "^r$reach_row[.]")"
	done <"$tap_dir/reach"
	[ "$reach_row" -gt 0 ] || fail 'the table has lines'
}

# reach FLAG... - run the table on standard input and test what it says
reach() {
	reach_write
	capture_start
	run "$KGATE" run "$@" -- sh ./try
	capture_stop
	reach_judge
}

# only_wire FILTER NAME - a test that all packets are such or questions to the
# host's name server, which carries all of the box's
only_wire() {
	off_wire "not ($1) and not (host $WORLD_DNS and udp port 53)" "$2"
}
