# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# tap.sh - just enough TAP for the integration tests; source it first.
#
# Set by the Makefile: KGATE (program under test), PROBE (helper that reports
# what it sees), KG_SRCDIR, KG_BUILDDIR.  KG_TESTS_MUST_RUN=1, as in CI, turns a
# skip into a failure.  Each file runs once as an ordinary user and once as
# root; every line of output says as whom.

set -u

# LeakSanitizer can't work under strace; the unit tests look for leaks.
if grep -q strace "$0"; then
	export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
fi

tap_n=0
tap_user=$(id -un)
tap_base=${KG_SCRATCH:-${TMPDIR:-/tmp}}
tap_dir=$(mktemp -d) || exit 99
tap_scratch=
tap_timeout=${KG_RUN_TIMEOUT:-60}

# shellcheck disable=SC2317 # the trap calls it
tap_cleanup() {
	cd /
	if [ -n "$tap_scratch" ]; then
		chmod -R u+rwX "$tap_scratch" 2>/dev/null
		rm -rf "$tap_scratch"
	fi
	rm -rf "$tap_dir"
}
trap tap_cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# diag LINE... - comments in the output
diag() { printf '%s\n' "$@" | sed 's/^/# /'; }

diag "as $tap_user"

# ok RC NAME - one result; RC is 0 for a pass
ok() {
	tap_n=$((tap_n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_n - $2 (as $tap_user)"
	else
		echo "not ok $tap_n - $2 (as $tap_user)"
	fi
	return "$1"
}

pass() { ok 0 "$1"; }
fail() { ok 1 "$1"; }

# is GOT WANT NAME - equal strings
is() {
	[ "$1" = "$2" ]
	ok $? "$3" || diag "got:  $1" "want: $2"
}

# isnt GOT OTHER NAME - different strings
isnt() {
	[ "$1" != "$2" ]
	ok $? "$3" || diag "both: $1"
}

# like GOT REGEX NAME - an extended regular expression matches a line of it
like() {
	printf '%s\n' "$1" | grep -Eq -e "$2"
	ok $? "$3" || diag "got:   $1" "regex: $2"
}

# unlike GOT REGEX NAME - no line matches
unlike() {
	! printf '%s\n' "$1" | grep -Eq -e "$2"
	ok $? "$3" || diag "got:   $1" "regex: $2"
}

# under GOT LIMIT NAME - a number below a limit
under() {
	[ -n "$1" ] && [ "$1" -lt "$2" ]
	ok $? "$3" || diag "got:   $1" "limit: $2"
}

# skip_all CAUSE - nothing of this file can run here
skip_all() {
	if [ "${KG_TESTS_MUST_RUN:-0}" = 1 ]; then
		ok 1 "$1, and KG_TESTS_MUST_RUN is set"
		done_testing
	else
		echo "1..0 # SKIP $1"
	fi
	exit 0
}

# skip CAUSE NAME - one test that can't run here
skip() {
	if [ "${KG_TESTS_MUST_RUN:-0}" = 1 ]; then
		ok 1 "$2"
		diag "$1, and KG_TESTS_MUST_RUN is set"
	else
		tap_n=$((tap_n + 1))
		echo "ok $tap_n - $2 (as $tap_user) # SKIP $1"
	fi
}

# require NAME COMMAND... - skip the whole file unless COMMAND succeeds
require() {
	tap_what=$1
	shift
	"$@" >/dev/null 2>&1 || skip_all "needs $tap_what"
}

# now_cs - hundredths of a second since the machine started, in $now_cs
now_cs() {
	read -r now_cs _ </proc/uptime
	now_cs=${now_cs%.*}${now_cs#*.}
}

# run COMMAND... - a program, not a function; its output is then in $out, its
# messages in $msg (files $run_out, $run_msg for the exact bytes), its status in
# $rc, the milliseconds it took, to about ten, in $ms.  Killed after
# KG_RUN_TIMEOUT seconds: $rc is 124 or 137.
run() { run_in /dev/null "$@"; }

# run_in FILE COMMAND... - the same with FILE as standard input
# shellcheck disable=SC2034
run_in() {
	run_out=$tap_dir/out
	run_msg=$tap_dir/msg
	tap_in=$1
	shift
	rc=0
	now_cs
	ms=$now_cs
	timeout -k 5 "$tap_timeout" "$@" \
		<"$tap_in" >"$run_out" 2>"$run_msg" || rc=$?
	now_cs
	ms=$(((now_cs - ms) * 10))
	out=$(tr -d '\0' <"$run_out")
	msg=$(tr -d '\0' <"$run_msg")
}

# show_run - what the last run said, as comments
show_run() { diag "status $rc after $ms ms" "$out" "$msg"; }

# fact KEY - value of "KEY=value" in $out, as the probe prints it; a key that is
# there several times gives several lines
fact() {
	printf '%s\n' "$out" | while IFS= read -r tap_line; do
		case $tap_line in
		"$1="*) printf '%s\n' "${tap_line#*=}" ;;
		esac
	done
}

# scratch - a directory of this file's own that isn't below /tmp in the test
# world, in $tap_scratch; removed at the end
scratch() {
	[ -n "$tap_scratch" ] && return
	tap_scratch=$(mktemp -d "$tap_base/kgt.XXXXXX") || exit 99
}

# new_home - an empty home directory; sets HOME
new_home() {
	scratch
	HOME=$(mktemp -d "$tap_scratch/home.XXXXXX") || exit 99
	export HOME
}

# new_project [PARENT] - an empty project, outside HOME unless PARENT says
# otherwise; sets PROJECT and goes there
new_project() {
	scratch
	PROJECT=$(mktemp -d "${1:-$tap_scratch}/project.XXXXXX") || exit 99
	cd "$PROJECT" || exit 99
}

# new_repo [PARENT] - a project that is a git repository with one commit
new_repo() {
	new_project "$@"
	echo 'hello' >file
	git init -q . && git add file &&
		git -c user.name=test -c user.email=test@example.org \
			commit -q -m 'First' || exit 99
}

# config [LINE...] - the user's configuration; without lines, standard input
config() {
	mkdir -p "$HOME/.kgate" && chmod 0700 "$HOME/.kgate"
	if [ $# -gt 0 ]; then
		printf '%s\n' "$@" >"$HOME/.kgate/config.yaml"
	else
		cat >"$HOME/.kgate/config.yaml"
	fi
	chmod 0600 "$HOME/.kgate/config.yaml"
}

done_testing() { echo "1..$tap_n"; }
