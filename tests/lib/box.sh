# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# box.sh - for tests that look out of the box; source it after world.sh.

: "${KG_WORLD_DIR:=}"

# The modes, for a loop.
# shellcheck disable=SC2034 # for the tests
MODES='off restricted open'

# set_mode MODE [LINE...] - the user's configuration for one of $MODES, with
# more lines if they are given
set_mode() {
	box_mode=$1
	shift
	case $box_mode in
	restricted) set -- 'hosts: [web.test]' "$@" ;;
	esac
	config "network: $box_mode" "$@"
}

# reach_here [DIR] - box_reach and the world's marker in DIR, or in the project
reach_here() {
	cp "$KG_HELPERS/box_reach" "${1:-$PROJECT}/box_reach" &&
		touch "${1:-$PROJECT}/.kg-world" || exit 99
}

# box COMMAND... - run it in a box; as run does
box() { run "$KGATE" run -- "$@"; }

# passwd_home - the home directory that the passwd file gives
passwd_home() { getent passwd "$(id -u)" | cut -d: -f6; }

# kinds_in FILE - the kinds of the audit lines: "launch block "
kinds_in() {
	sed -n 's/^{.*"kind":"\([a-z]*\)".*}$/\1/p' "$1" 2>/dev/null |
		tr '\n' ' '
}

# audit_kinds - the same of the usual audit log
audit_kinds() { kinds_in "$HOME/.kgate/audit.jsonl"; }

# audit_forget - begin a new audit log
audit_forget() { rm -f "$HOME/.kgate/audit.jsonl"; }

# one_sentence TEST - a test that kgate said one line, and said that it was it
# shellcheck disable=SC2154 # run sets it
one_sentence() {
	[ "$(printf '%s\n' "$msg" | wc -l)" -eq 1 ] &&
		case $msg in 'kgate: '*) true ;; *) false ;; esac
	ok $? "$1" || diag "got: $msg"
}

# facts_are PREFIX - tests of facts, from lines "KEY VALUE" of standard input;
# several values, with "|" between them, are alternatives
facts_are() {
	while read -r box_key box_want; do
		[ -n "$box_key" ] || continue
		box_got=$(fact "$box_key")
		case "|$box_want|" in
		*"|$box_got|"*) pass "$1: $box_key is $box_want" ;;
		*)
			fail "$1: $box_key is $box_want" || diag "got: $box_got"
			;;
		esac
	done
}
