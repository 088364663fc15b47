#!/bin/sh
# SPDX-License-Identifier: MIT
# Standard input, output and error: every byte, its end, and nothing of kgate's.

# shellcheck disable=SC2016 # scripts for the box

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"
# shellcheck source=tests/faults/faults.sh
. "$KG_SRCDIR/tests/faults/faults.sh"

new_home
new_project
scratch
big=$tap_scratch/big
head -c 50000000 /dev/urandom >"$big"
printf 'a line\0and a byte without a newline' >"$tap_dir/small"
snapshot_take before

# same NAME - the last run's output is the file $want, byte for byte
same() {
	cmp "$want" "$run_out" >"$tap_dir/cmp" 2>&1
	ok $? "$1" || diag "$(cat "$tap_dir/cmp")" "status $rc" "$msg"
}

# Input.
want=$tap_dir/small
run_in "$want" "$KGATE" run -- cat
same 'input from a file arrives'
run sh -c 'cat "$2" | "$1" run -- cat' sh "$KGATE" "$want"
same 'input from a pipe arrives'
run sh -c '"$1" run -- wc -c </dev/null' sh "$KGATE"
is "$rc:$out" 0:0 'input from /dev/null is at its end'
run sh -c '"$1" run -- wc -c <&-' sh "$KGATE"
is "$rc:$out" 0:0 'a closed input is at its end'
fifo=$(fifo lines "$tap_scratch")
exec 7<>"$fifo"
run sh -c '"$1" run -- true <&7' sh "$KGATE"
is "$rc:$out:$msg" 0:: 'an input that never ends holds nothing back'
exec 7>&-
run_in "$tap_dir/small" sh -c '"$1" run -- true; cat' sh "$KGATE"
is "$rc:$msg" 0: 'who reads no input may leave it'
start sh -c '"$1" run -- sh -c "read -r a; echo \$a; read -r b; echo \$b" <"$2"' \
	sh "$KGATE" "$fifo"
exec 7>"$fifo"
echo one >&7
"$FAULT_PROGRAMS/await" 0 "$job"
is $? 1 'a command waits for its input'
echo two >&7
exec 7>&-
finish
is "$rc:$out" "0:one
two" 'and goes on with each line that comes'

# Much of it.
want=$big
run_in "$big" "$KGATE" run -- cat
same '50 MB go in and out as they are'
is "$rc:$msg" 0: 'and all is well'
run sh -c 'cat "$2" | "$1" run -- cat | cat' sh "$KGATE" "$big"
same 'through pipes too'
cp "$big" .
run "$KGATE" run -- sh -c 'cat big & cat big >&2; wait'
same '50 MB on standard output'
cmp -s "$big" "$run_msg"
ok $? 'and at once as much on standard error'
run_in "$big" "$KGATE" run -- sh -c 'cat >copy; cat copy >&2'
cmp -s "$big" "$run_msg"
ok $? 'standard error takes as much, last'
rm -f big copy
run "$KGATE" run -- sh -c 'printf a >&2; printf b; printf c >&2; printf d'
is "$rc:$out:$msg" 0:bd:ac 'each goes its own way'
run sh -c '"$1" run -- sh -c "echo a; echo b >&2" 2>&1' sh "$KGATE"
is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" 'a b ' 'or both the same'

# Who stops reading.
run sh -c 'yes | "$1" run -- head -n 1' sh "$KGATE"
is "$rc:$out:$msg" 0:y: 'an endless input ends with the command'
under "$ms" 3000 'at once'
run sh -c '{ "$1" run -- yes; echo "$?" >"$2"; } | head -n 1' sh "$KGATE" \
	"$tap_dir/status"
is "$out:$msg:$(cat "$tap_dir/status")" y::141 \
	'a reader that leaves ends the command by SIGPIPE'
under "$ms" 3000 'at once'
run sh -c '{ "$1" run -- sh -c "trap \"\" PIPE; yes; exit 5"
	echo "$?" >"$2"; } 2>&1 | head -n 1' sh "$KGATE" "$tap_dir/status"
is "$out:$(cat "$tap_dir/status")" y:5 'or it sees the error, as outside'
run sh -c '{ "$1" run -- sh -c "yes >&2"; echo "$?" >"$2"; } 2>&1 >/dev/null |
	head -n 1' sh "$KGATE" "$tap_dir/status"
is "$out:$(cat "$tap_dir/status")" y:141 'on standard error as well'
run sh -c '"$1" run -- sh -c "exec <&-; echo up; sleep 0.1; exit 6" <"$2"' sh \
	"$KGATE" "$big"
is "$rc:$out" 6:up 'a command may close its input with much to come'

# Its last words.
lost=0
round=0
want=102400
while [ "$round" -lt 200 ]; do
	round=$((round + 1))
	got=$("$KGATE" run -- head -c "$want" /dev/zero 2>&1 | wc -c)
	[ "$got" -eq "$want" ] || lost=$((lost + 1))
done
is "$lost" 0 'of 200 outputs written just before the end none is cut'
run "$KGATE" run -- sh -c 'sh -c "head -c 60000 /dev/zero" & wait; printf x >&2'
is "$rc:$(wc -c <"$run_out"):$msg" 0:60000:x 'a child writes as well'

# Nowhere to write.
run sh -c '"$1" run -- echo text >/dev/full' sh "$KGATE"
like "$rc:$msg" '^125:kgate: .*standard output.*No space left' \
	'output that a full disk does not take is told, and is no success'
run sh -c '"$1" run -- sh -c "echo text; exit 9" >/dev/full' sh "$KGATE"
like "$rc:$msg" '^9:kgate: .*No space left' 'a status of failure stays'
run sh -c '"$1" run -- sh -c "yes | head -c 1000000; exit 0" >/dev/full' \
	sh "$KGATE"
like "$rc:$msg" '^125:(.*\n)?kgate: .*No space left' 'with much output too'
run sh -c '"$1" run -- sh -c "echo text >&2" 2>/dev/full' sh "$KGATE"
is "$rc:$out" 125: 'nor is standard error on a full disk'
run sh -c '"$1" run -- echo text >/dev/null' sh "$KGATE"
is "$rc:$msg" 0: '/dev/null takes all'
snapshot_same before 'nothing is left of all that'

done_testing
