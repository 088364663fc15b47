#!/bin/sh
# SPDX-License-Identifier: MIT
# Words, blanks, widths: what no file of the tree may hold.

# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"

# In two halves, so that this file passes itself.
unfinished='TO''DO|FIX''ME|X''XX'

no_unfinished() {
	grep -HnwE "$unfinished" "$@"
}

no_sleep() {
	grep -HnE '(^|[^a-z_0-9])(sleep|usleep|(clock_)?nanosleep)[ ]*\(' "$@"
}

has_license() {
	for file in "$@"; do
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
			echo "$file has no SPDX line"
	done
}

no_trailing_blanks() {
	grep -HnE '[[:blank:]]+$' "$@"
}

ends_in_newline() {
	for file in "$@"; do
		[ -z "$(tail -c 1 "$file")" ] || echo "$file ends without a newline"
	done
}

# A tab is eight columns, a character of UTF-8 one.
no_long_line() {
	for file in "$@"; do
		expand "$file" | grep -nE '.{81}' | sed "s|^|$file:|"
	done
}

# Tests and scripts rely on it.
no_odd_name() {
	printf '%s\n' "$@" | grep -vE '^[A-Za-z0-9_./-]+$'
}

printf 'x(); /* %s: later */  \n%0100d\nusleep (10);' "${unfinished%%|*}" 1 \
	>"$lint_dir/bad.c"
bad=$lint_dir/bad.c
complains 'an unfinished place is noticed' later no_unfinished "$bad"
complains 'a sleep is noticed' usleep no_sleep "$bad"
complains 'a missing license is noticed' SPDX has_license "$bad"
complains 'a trailing blank is noticed' later no_trailing_blanks "$bad"
complains 'a missing newline is noticed' newline ends_in_newline "$bad"
complains 'a long line is noticed' 0001 no_long_line "$bad"
complains 'a blank in a name is noticed' 'a b' no_odd_name 'a b'

# shellcheck disable=SC2046
set -- $(sources '*.c' '*.h')
[ $# -gt 20 ]
ok $? "there is code to look at ($# files)"
silent 'lines of C have 80 columns at most' no_long_line "$@"
# shellcheck disable=SC2046
silent 'nothing sleeps outside the tests' \
	no_sleep $(sources '*.c' | grep -v '^tests/')

top='configure.ac Makefile.am bootstrap .ci/run'
# shellcheck disable=SC2046,SC2086
set -- "$@" $top $(sources '*.t' '*.sh' '*.mk' '*.m4' '*.py' '*.awk')
silent 'each file has an SPDX line' has_license "$@"
# shellcheck disable=SC2046
set -- "$@" $(sources '*.yaml' '*.md') README.md HACKING.md SECURITY.md NEWS
silent 'nothing is marked as unfinished' no_unfinished "$@"
silent 'no line ends in blanks' no_trailing_blanks "$@"
silent 'each file ends in a newline' ends_in_newline "$@"
# shellcheck disable=SC2046
silent 'file names are plain' no_odd_name $(sources '*')
done_testing
