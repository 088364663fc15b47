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
# The tests are named after the lines, behind $reach_as where that is set; with
# $reach_whole set there is one test of that name for the whole table.

: "${tap_dir:?source tap.sh first}" "${out=}" "${msg=}" \
	"${rc=}" "${now_cs=}"
reach_as=
reach_whole=
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

# reach_tell RC LINE ROW - a test of a line, or a comment where one fails
reach_tell() {
	if [ -n "$reach_whole" ]; then
		[ "$1" -eq 0 ] || diag "not so: $2"
	else
		ok "$1" "${reach_as:+$reach_as: }$2"
	fi
	[ "$1" -eq 0 ] && return
	reach_bad=1
	diag "$(printf '%s\n' "$out" | grep "^$3[.]")"
}

# reach_judge - the tests of the table, after the run
reach_judge() {
	reach_row=0
	reach_bad=0
	while read -r reach_kind reach_words; do
		case $reach_kind in
		'' | '#'* | run) continue ;;
		esac
		reach_row=$((reach_row + 1))
		reach_holds "$reach_kind" "r$reach_row"
		reach_tell $? "$reach_kind: $reach_words" "r$reach_row"
	done <"$tap_dir/reach"
	[ "$reach_row" -gt 0 ] || fail 'the table has lines'
	[ -z "$reach_whole" ] || ok "$reach_bad" "$reach_whole"
	[ "$reach_bad" -eq 0 ] ||
		diag "status $rc" "$(printf '%s\n' "$out" | grep -v '^r[0-9]*[.]' |
			head -n 5)" "$msg"
}

# slirp_left - whether a slirp4netns still runs
slirp_left() {
	for slirp_stat in /proc/[0-9]*/stat; do
		read -r _ slirp_name slirp_state _ 2>/dev/null \
			<"$slirp_stat" || continue
		[ "$slirp_name" = '(slirp4netns)' ] &&
			[ "$slirp_state" != Z ] && return
	done
	return 1
}

# capture_fresh - capture_start, without the last packets of an earlier launch:
# kgate doesn't wait for the end of slirp4netns
capture_fresh() {
	now_cs
	slirp_end=$((now_cs + 300))
	while slirp_left; do
		now_cs
		[ "$now_cs" -lt "$slirp_end" ] || break
	done
	capture_start
}

# reach FLAG... - run the table on standard input and test what it says
reach() {
	reach_write
	capture_fresh
	run "$KGATE" run "$@" -- sh ./try
	capture_stop
	reach_judge
}

# only_wire FILTER NAME - a test that all packets are such, or questions to the
# host's name server, which carries all of the box's; '' stands for none
#
# An answer that comes after the end of the launch has the host's kernel say
# that nobody waits for it.
only_wire() {
	off_wire "not (host $WORLD_DNS and udp port 53) and not
		(icmp[icmptype] == icmp-unreach and src host $WORLD_HOST and
		dst host $WORLD_DNS)${1:+ and not ($1)}" "$2"
}
