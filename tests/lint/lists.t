#!/bin/sh
# SPDX-License-Identifier: MIT
# What lies in the tree is named in a local.mk: a test that nobody runs and a
# source that nobody builds are noticed here.

# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"

# unlisted FILE... - files that no local.mk of their folder tree names
unlisted() {
	for file in "$@"; do
		base=${file##*/}
		case $file in
		# Check programs and fuzz targets are named by their program;
		# what has no suite is a part of each.
		tests/unit/*.c)
			! grep -q '^Suite \*kg_suite(void)$' "$file" ||
				base="${base%.c}[.]t"
			;;
		tests/fuzz/fuzz_*.c) base="${base%.c}[.]t" ;;
		tests/helpers/*.c | tests/faults/*.c | tests/bench/*.c)
			base=${base%.c}
			;;
		esac
		cat ./*/local.mk ./*/*/local.mk 2>/dev/null |
			grep -qE "/$base([^a-z_0-9]|\$)" || echo "$file is in no local.mk"
	done
}

complains 'a source that nobody builds is noticed' 'in no local.mk' \
	unlisted common/nobody.c
complains 'a test that nobody runs is noticed' 'in no local.mk' \
	unlisted tests/unit/nobody.c

# shellcheck disable=SC2046
set -- $(sources '*.c' '*.h' '*.t')
silent 'each source and test is in a local.mk' unlisted "$@"
done_testing
