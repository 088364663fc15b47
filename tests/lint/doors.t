#!/bin/sh
# SPDX-License-Identifier: MIT
# Each library has one door, and layers include downwards only.

# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"

# Header (extended regular expression) and the files that may include it.
doors='yaml\.h			common/policy_yaml\.c
jansson\.h		common/json\.c
seccomp\.h		common/seccomp\.c
sha(2|256)\.h		common/digest\.c
sys/capability\.h	common/role\.c
netlink/.*		netns/[a-z_]*\.[ch]
libnl3?/.*		netns/[a-z_]*\.[ch]'

# Folder and the folders whose headers it may include.
layers='common		common
netns		common|netns
seatbelt	common|seatbelt
child		common|netns|child
supervisor	common|netns|child|seatbelt|supervisor'

# outside_doors FOLDER - includes of a library elsewhere than at its door
outside_doors() {
	echo "$doors" | while read -r header door; do
		grep -rnE "#[ ]*include[ ]*[<\"]${header}[>\"]" "$1" \
			--include='*.[ch]' | sed "s|^$1/||" |
			grep -vE "^(tests/.*|$door):"
	done
}

# upwards FOLDER - includes of a layer above one's own
upwards() {
	echo "$layers" | while read -r layer allowed; do
		[ -d "$1/$layer" ] || continue
		grep -rnE '#[ ]*include[ ]*"' "$1/$layer" --include='*.[ch]' |
			grep -vE "include \"(($allowed)/[a-z_0-9]+\.h|config\.h)\"" |
			sed "s|^$1/||"
	done
}

mkdir -p "$lint_dir/common" "$lint_dir/netns" "$lint_dir/child"
printf '#include <jansson.h>\n#include "netns/link.h"\n' \
	>"$lint_dir/common/a.c"
printf '#include <sys/capability.h>\n#include "error.h"\n' \
	>"$lint_dir/netns/b.h"
printf '# include <netlink/netlink.h>\n#include "supervisor/run.h"\n' \
	>"$lint_dir/child/c.c"
for word in common/a.c netns/b.h child/c.c; do
	complains "a library beside its door is noticed in $word" "$word:1:" \
		outside_doors "$lint_dir"
	complains "an include upwards is noticed in $word" "$word:2:" \
		upwards "$lint_dir"
done

silent 'each library is included at its door alone' outside_doors .
silent 'no layer includes one above it' upwards .
done_testing
