#!/bin/sh
# SPDX-License-Identifier: MIT
# Arguments arrive as they are, and the audit log keeps them as they are.

# shellcheck disable=SC2016,SC1003 # scripts for the box, a backslash

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"
# shellcheck source=tests/faults/faults.sh
. "$KG_SRCDIR/tests/faults/faults.sh"

new_home
new_project
snapshot_take before "$PROJECT"

# What the box is given, each word with a NUL behind it, is in $tap_dir/args.
args=$tap_dir/args
echo_words='for word; do printf "%s\0" "$word"; done'

# passes NAME - the words come through, and stand in the last line of the log
passes() {
	audit_mark
	run xargs -0 -x -n 200000 -s 2000000 -a "$args" \
		"$KGATE" run -- sh -c "$echo_words" sh
	is "$rc:$msg" 0: "$1: the command runs"
	cmp -s "$args" "$run_out"
	ok $? "$1: every byte arrives" || diag "$(od -c "$run_out" | head)"
	is "$(audit_since)" launch "$1: the log has one whole line"
	{
		printf 'sh\0-c\0%s\0sh\0' "$echo_words"
		cat "$args"
	} >"$tap_dir/want"
	"$FAULT_PROGRAMS/jsonl" argv "$(audit_log)" \
		"$(wc -l <"$(audit_log)")" >"$tap_dir/logged"
	cmp -s "$tap_dir/want" "$tap_dir/logged"
	ok $? "$1: with every byte of them" || diag "$(tail -n 1 "$(audit_log)")"
}

# octal FROM TO [BEHIND] - these bytes, each with something behind it
octal() {
	number=$1
	while [ "$number" -le "$2" ]; do
		# shellcheck disable=SC2059 # an escape
		printf "\\$(printf %03o "$number")${3:-}"
		number=$((number + 1))
	done
}

{ octal 1 255 && printf '\0'; } >"$args"
passes 'each byte from 1 to 255 in one word'
octal 1 255 '\0' >"$args"
passes 'each byte as a word'
octal 128 255 'a\0' >"$args"
passes 'half of a character before a letter'
printf '%s\0' '' ' ' '' '' >"$args"
passes 'empty words'
printf '%s\0' -- --timeout=1 -x '--' '-' '*' '$(touch x)' '`touch x`' ';touch x' \
	'a
{"v":1,"kind":"block"}' '"},{"' '\' '\\x41' '\u0041' '\n' "$(printf '\351')" \
	>"$args"
passes 'words that mean something elsewhere'
snapshot_same before 'nothing came of them'

# 9,000 words are more than bwrap takes.
awk 'BEGIN { for (i = 1; i <= 100000; i++) printf "%d%c", i, 0 }' >"$args"
is "$(tr -cd '\0' <"$args" | wc -c)" 100000 'there are 100,000 words'
passes '100,000 words'
awk 'BEGIN { for (i = 1; i <= 131000; i++) printf "x"; printf "%c", 0 }' \
	>"$args"
passes 'one word of 131,000 bytes'

# The environment too, where it passes.
value=$(octal 2 255)
run env LC_TEST="$value" "$KGATE" run -- sh -c 'printf %s "$LC_TEST"'
printf %s "$value" >"$tap_dir/want"
cmp -s "$tap_dir/want" "$run_out"
ok $? 'a variable arrives byte by byte'

# The name of the command and of the place are such words as well.
odd=$(octal 1 46)$(octal 48 255)
# Shells take newlines off the end; there is none at the end of this.
mkdir "$odd" && cd "$odd" || exit 99
printf '#!/bin/sh\nprintf "%%s\\0" "$0" "$PWD"\n' >"$odd"
chmod +x "$odd"
audit_mark
run "$KGATE" run -- "./$odd"
printf '%s\0' "./$odd" "$PROJECT/$odd" >"$tap_dir/want"
cmp -s "$tap_dir/want" "$run_out"
ok $? 'a command and a directory may have any name' || show_run
is "$(audit_since)" launch 'and the log has one whole line'
printf '%s\0' "./$odd" >"$tap_dir/want"
"$FAULT_PROGRAMS/jsonl" argv "$(audit_log)" "$(wc -l <"$(audit_log)")" \
	>"$tap_dir/logged"
cmp -s "$tap_dir/want" "$tap_dir/logged"
ok $? 'with the same name'
run "$KGATE" run -- "./$(octal 1 46)$(octal 48 127)"
refused 127 '^kgate: ' 'a message stays one line, whatever it names'
is "$(tr -d '\n' <"$run_msg" | tr -cd '\001-\037\177' | wc -c)" 0 \
	'without a byte that a terminal would obey'

done_testing
