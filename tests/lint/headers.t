#!/bin/sh
# SPDX-License-Identifier: MIT
# Each header compiles alone, twice over, and is named by its guard.

# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"

# alone HEADER... - compile each header by itself
alone() {
	for header in "$@"; do
		printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
			${CC:-gcc} -std=gnu11 -fsyntax-only -Wall -Wextra \
				-Wstrict-prototypes -Wundef -Werror -I. -x c - ||
			echo "$header doesn't compile alone"
	done
}

# guards HEADER... - the guard is KG_<FOLDER>_<FILE>_H
guards() {
	for header in "$@"; do
		guard=KG_$(echo "${header%.h}" | tr 'a-z/-' 'A-Z__')_H
		grep -qx "#ifndef $guard" "$header" &&
			grep -qx "#define $guard" "$header" ||
			echo "$header has no guard $guard"
	done
}

no_config() {
	grep -Hn 'include.*config\.h"' "$@"
}

require "${CC%% *}"
cat >"$lint_dir/bad.h" <<'END'
#include "config.h"
size_t kg_bad(void);
END
complains 'a header that needs another one is noticed' "doesn't compile" \
	alone "$lint_dir/bad.h"
complains 'a header without its guard is noticed' 'has no guard' \
	guards "$lint_dir/bad.h"
complains 'a header that includes config.h is noticed' 'config.h' \
	no_config "$lint_dir/bad.h"

# File names of the tree hold no blanks: words.t sees to it.
# shellcheck disable=SC2046
set -- $(sources '*.h' | grep -v '^tests/')
[ $# -gt 5 ]
ok $? "there are headers to look at ($#)"
silent 'each header compiles alone' alone "$@"
silent 'each header has the guard of its path' guards "$@"
silent 'no header includes config.h' no_config "$@"
done_testing
