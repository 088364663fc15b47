# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# lint.sh - what the lint tests share; source it first
#
# Each lint is a function that prints one line a complaint.  It is run on a
# small faulty sample first, which it must complain about: a lint that can't
# fail proves nothing.

set -u
LC_ALL=C.UTF-8
export LC_ALL

: "${KG_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
cd "$KG_SRCDIR" || exit 99

lint_n=0
lint_dir=$(mktemp -d) || exit 99
trap 'rm -rf "$lint_dir"' EXIT

# ok RC NAME - one result; RC is 0 for a pass
ok() {
	lint_n=$((lint_n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $lint_n - $2"
	else
		echo "not ok $lint_n - $2"
	fi
}

# require COMMAND - skip the whole file where COMMAND is missing
require() {
	command -v "$1" >/dev/null 2>&1 && return
	skip_all "$1 is not installed"
}

skip_all() {
	if [ "${KG_TESTS_MUST_RUN:-0}" = 1 ]; then
		echo "Bail out! $1 and KG_TESTS_MUST_RUN is set"
		exit 99
	fi
	echo "1..0 # SKIP $1"
	exit 0
}

# sources PATTERN... - files of the tree by name, one a line, generated ones not
sources() {
	lint_first=1
	for lint_pattern in "$@"; do
		[ "$lint_first" = 1 ] && set --
		lint_first=0
		set -- "$@" -o -name "$lint_pattern"
	done
	shift
	for lint_folder in common netns child supervisor seatbelt tests \
		packaging m4; do
		[ -d "$lint_folder" ] || continue
		find "$lint_folder" -type f \( "$@" \) \
			! -name '*.user.t' ! -name '*.root.t' \
			! -path 'tests/golden/*' ! -path 'tests/fuzz/corpus/*'
	done | while read -r lint_file; do
		is_compiled "$lint_file" || echo "$lint_file"
	done | sort
}

# A build in the tree leaves test programs beside their sources.
is_compiled() {
	case $1 in
	*.t) [ "$(head -c 4 "$1" | tail -c 3)" = ELF ] ;;
	*) false ;;
	esac
}

# silent NAME LINT ARG... - passes when LINT prints nothing
silent() {
	lint_name=$1
	shift
	"$@" >"$lint_dir/out" 2>&1
	[ ! -s "$lint_dir/out" ]
	ok $? "$lint_name"
	sed 's/^/# /' "$lint_dir/out"
}

# complains NAME WORD LINT ARG... - passes when LINT prints WORD
complains() {
	lint_name=$1 lint_word=$2
	shift 2
	"$@" >"$lint_dir/out" 2>&1
	grep -qF -e "$lint_word" "$lint_dir/out"
	ok $? "$lint_name"
}

done_testing() { echo "1..$lint_n"; }
