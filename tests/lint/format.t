#!/bin/sh
# SPDX-License-Identifier: MIT
# The code has the form that .clang-format describes.  Versions differ in what
# they make of it: 14 it is.

# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"

tool=clang-format
command -v clang-format-14 >/dev/null && tool=clang-format-14
require "$tool"
if ! "$tool" --version | grep -q 'version 14\.'; then
	echo '1..0 # SKIP clang-format is not version 14'
	exit 0
fi

check() {
	"$tool" --dry-run -Werror --style="file:$PWD/.clang-format" "$@"
}

printf 'int  x( void );\n' >"$lint_dir/bad.h"
complains 'a crooked line is noticed' bad.h check "$lint_dir/bad.h"

# shellcheck disable=SC2046
set -- $(sources '*.c' '*.h')
[ $# -gt 20 ]
ok $? "there is code to look at ($# files)"
silent 'the code is formatted' check "$@"
done_testing
