#!/bin/sh
# SPDX-License-Identifier: MIT
# Descriptors 0 to 2 of the command are kgate's own, whatever the caller's are.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/box.sh
. "$KG_SRCDIR/tests/lib/box.sh"

world_require
new_home
new_project
probe_here .
reach_here .
F=$tap_scratch/f
mkdir "$F"

# with REDIRECTION COMMAND... - run kgate with such redirections, of the shell
with() {
	redirection=$1
	shift
	# shellcheck disable=SC2016 # for that shell
	run sh -c 'redirection=$1 && shift && eval "exec $redirection" &&
		exec "$KGATE" run -- "$@"' sh "$redirection" "$@"
}

# ---- A directory, a file, a log ----

for mode in $MODES; do
	set_mode "$mode"
	audit_forget
	with '</' sh -c 'echo ran; ls /proc/self/fd/0/'
	is "$rc:$out" 125: "$mode: a directory on standard input is refused"
	one_sentence "$mode: in one sentence"
	unlike "$(audit_kinds)" launch "$mode: nothing was launched"

	echo 'text of the file' >"$F/in"
	before=$(stat -c '%i %y %z %s' "$F/in")
	# shellcheck disable=SC2016 # for the shell inside
	with "<$F/in" sh -c 'cat; echo evil >/proc/self/fd/0
		for n in 0 1 2; do echo evil >/proc/$$/fd/$n; done
		exec ./box_reach descriptors kind'
	is "$rc:$(echo "$out" | head -n 1)" '0:text of the file' \
		"$mode: a file on standard input is relayed"
	like "$(cat kind)" '^0=(pipe:|/dev/null)' \
		"$mode: it isn't itself there"
	is "$(cat "$F/in")" 'text of the file' "$mode: the file is untouched"
	is "$(stat -c '%i %y %z %s' "$F/in")" "$before" "$mode: so is its time"

	# Opened for both by the caller: still read only.
	with "<>$F/in" sh -c 'cat; echo evil >&0'
	is "$(cat "$F/in")" 'text of the file' \
		"$mode: nor is one that was opened read-write"

	echo 'line of the log' >"$F/log"
	for n in 1 2; do
		# shellcheck disable=SC2016 # for the shell inside
		with "$n>>$F/log" sh -c 'exec 5>&"$1"
			dd if=/proc/self/fd/5 iflag=nonblock bs=100 count=1 \
				>got 2>/dev/null
			echo said >&5
			exec ./box_reach descriptors kind 5>&-' sh $n
		is "$rc" 0 "$mode: a log on descriptor $n"
		unlike "$(cat got)" 'line of' "$mode: none of it can be read"
		like "$(cat kind)" "^$n=pipe:" "$mode: it isn't itself there"
		is "$(sed -n '$p' "$F/log")" said "$mode: what is said is relayed"
	done
	is "$(head -n 1 "$F/log")" 'line of the log' "$mode: the log is whole"
	with "1<>$F/log" sh -c 'exec 5>&1; cat <&5 >got'
	is "$(cat got)" '' "$mode: nor of one that is open for both"
done
set_mode off

with '1</' echo ran
is "$out" '' 'a directory on standard output gives nothing'
with '2</' sh -c 'echo told >&2; ls /proc/self/fd/2/; echo out'
is "$out" out 'nor on standard error'
with "9</ 8<$F/in 7>$F/seven 6<>$F/in" sh -c 'ls /proc/self/fd'
is "$(echo "$out" | grep -vx 3 | tr '\n' ' ')" '0 1 2 ' \
	'no other descriptor of the caller is there'

# ---- Closed ones ----

# Each subset; config and log must stay what they are, also when the command and
# kgate itself write to what was closed.
for mode in $MODES; do
	set_mode "$mode"
	cp "$HOME/.kgate/config.yaml" "$tap_dir/config"
	for closed in 0 1 2 01 02 12 012; do
		audit_forget
		how=
		case $closed in *0*) how="$how <&-" ;; esac
		case $closed in *1*) how="$how >&-" ;; esac
		case $closed in *2*) how="$how 2>&-" ;; esac
		rm -f got
		with "$how" sh -c 'cat >in; echo forged; echo forged >&2
			./box_reach descriptors got; exit 3'
		is "$rc" 3 "$mode, $closed closed: the command runs"
		is "$(sed 's/=.*//' got | tr '\n' ' ')" '0 1 2 ' \
			"$mode, $closed closed: it has three descriptors"
		for n in 0 1; do
			case $closed in *$n*) ;; *) continue ;; esac
			like "$(cat got)" "^$n=/dev/null\$" \
				"$mode, $closed closed: $n is /dev/null"
		done
		case $closed in
		*2*)
			# Its words go nowhere, through a pipe or at once.
			like "$(cat got)" '^2=(/dev/null$|pipe:)' \
				"$mode, $closed closed: 2 is nobody's"
			;;
		esac
		is "$(cat in)" '' "$mode, $closed closed: nothing can be read"
		is "$(audit_kinds)" 'launch ' \
			"$mode, $closed closed: the log is one whole line"
		unlike "$(cat "$HOME/.kgate/audit.jsonl")" '^forged' \
			"$mode, $closed closed: nothing else is in it"

		audit_forget
		with "$how" ./missing
		is "$rc:$(audit_kinds)" '127:launch block ' \
			"$mode, $closed closed: nor are kgate's words"
		is "$(wc -l <"$HOME/.kgate/audit.jsonl")" 2 \
			"$mode, $closed closed: two lines are all"
		cmp -s "$HOME/.kgate/config.yaml" "$tap_dir/config"
		ok $? "$mode, $closed closed: the config is untouched"
	done
done
set_mode off
with '2>&-' sh -c 'head -c 300000 /dev/zero >&2; exit 4'
is "$rc" 4 'a closed standard error takes whatever is said'
with '>&-' sh -c 'head -c 300000 /dev/zero; exit 4'
is "$rc" 4 'so does a closed standard output'
# shellcheck disable=SC2016 # for that shell
run sh -c '"$KGATE" run --no-such <&- >&- 2>&-'
is "$rc" 125 'wrong usage with everything closed'

# With the standard ones closed nothing of kgate's own lands there.
if command -v strace >/dev/null; then
	# shellcheck disable=SC2016 # for that shell
	run sh -c 'exec strace -o "$1" -e trace=openat,socket,pipe2,dup,dup2 \
		"$KGATE" run -- true <&- >&- 2>&-' sh "$tap_dir/trace"
	is "$rc" 0 'under strace it runs as well'
	like "$(cat "$tap_dir/trace")" 'audit\.jsonl.* = ([3-9]|[0-9]{2,})$' \
		'the log is opened above the standard descriptors'
	like "$(cat "$tap_dir/trace")" 'config\.yaml.* = ([3-9]|[0-9]{2,})$' \
		'so is the config'
fi

# ---- A terminal ----

# Whatever the command gets, the caller's terminal it isn't.
if command -v script >/dev/null; then
	for mode in $MODES; do
		set_mode "$mode"
		# shellcheck disable=SC2016 # for the shell inside
		run script -qfec '"$KGATE" run -- sh -c "
			for n in 0 1 2; do readlink /proc/self/fd/\$n; done >got
			(readlink /proc/self/fd/3 3<>/dev/tty >>got) 2>/dev/null
			ls /dev/pts >>got"; tty >outer' /dev/null
		is "$rc" 0 "$mode: it runs in a terminal"
		unlike "$(cat got)" "^$(cat outer)\$" \
			"$mode: the caller's terminal isn't there"
		# shellcheck disable=SC2016 # for that shell
		run script -qfec '"$KGATE" run -- ./probe attack >got' /dev/null
		out=$(cat got)
		facts_are "$mode, in a terminal" <<-END
		tiocsti0 EPERM
		tiocsti1 EPERM
		tiocsti2 EPERM
		tiocsti_high0 EPERM
		tiocsti_high1 EPERM
		tiocsti_high2 EPERM
		tioclinux0 EPERM
		tioclinux1 EPERM
		tioclinux2 EPERM
		END
	done
fi

done_testing
