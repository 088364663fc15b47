#!/bin/sh
# SPDX-License-Identifier: MIT
# No script gives shellcheck anything to say.

# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
require shellcheck

# Whatever starts with a shell's #! line, and what is sourced by such a file.
scripts() {
	sources '*' | while read -r file; do
		head -n 1 "$file" | tr -d '\000' |
			grep -qE '^#!.*[/ ](sh|bash)$|^# shellcheck shell=' &&
			echo "$file"
	done
	echo bootstrap
	echo .ci/run
}

# A parameter may be optional (SC2119, SC2120); what is sourced shares variables
# with the file that does it (SC2034, SC2154).
check() {
	case $1 in
	*.sh) set -- -e SC2034,SC2154 "$@" ;;
	esac
	shellcheck -x -f gcc -e SC2119,SC2120 "$@"
}

# shellcheck disable=SC2016
printf '#!/bin/sh\necho $1\n' >"$lint_dir/bad.sh"
complains 'an unquoted variable is noticed' SC2086 check "$lint_dir/bad.sh"

# shellcheck disable=SC2046
set -- $(scripts)
[ $# -gt 8 ]
ok $? "there are scripts to look at ($#)"
for script in "$@"; do
	silent "$script" check "$script"
done
done_testing
