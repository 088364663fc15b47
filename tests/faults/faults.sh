# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# faults.sh - programs that fail, runs in the background, lines of the audit
# log; source it after tap.sh and snapshot.sh.
#
#	fake slirp4netns "$FAULTS/hang" "$fifo"
#	start faulty "$KGATE" run -- true
#	hear "$fifo"
#	kill -s INT "$job"
#	finish
#	is "$rc" 130 'a signal ends the launch'
#	is "$(audit_since)" 'launch block:box' 'and the log says so'

: "${tap_dir:?source tap.sh first}"

FAULTS=$KG_SRCDIR/tests/faults
FAULT_PROGRAMS=$KG_BUILDDIR/tests/faults
fault_flags=
fault_number=0
audit_from=0

# fifo NAME [DIR] - a pipe with a name, in the project, where both sides can
# open it, or elsewhere; prints its path
fifo() {
	mkfifo "${2:-$PROJECT}/$1" || exit 99
	echo "${2:-$PROJECT}/$1"
}

# hear FIFO - the first line that somebody writes there, in $heard; who wrote the
# last one may not have closed it yet, and does so without a word
hear() {
	heard=
	while [ -z "$heard" ]; do
		heard=$(timeout 20 head -n 1 "$1") || break
	done
}

# --- background ---------------------------------------------------------------

# start COMMAND... - a program, with the signals of one in the foreground; $job
# is its pid
start() {
	if [ "$1" = faulty ]; then
		shift
		# shellcheck disable=SC2086 # words without blanks
		set -- sh "$FAULTS/with" $fault_flags -- "$@"
	fi
	now_cs
	job_since=${now_cs:?}
	env --default-signal=INT,QUIT "$@" \
		</dev/null >"$tap_dir/job.out" 2>"$tap_dir/job.msg" &
	job=$!
}

# finish - until it has ended, killed after half a minute; $rc, $out, $msg and
# $ms as from run
# shellcheck disable=SC2034
finish() {
	"$FAULT_PROGRAMS/await" 30000 "$job" || kill -s KILL "$job"
	rc=0
	wait "$job" || rc=$?
	now_cs
	ms=$(((now_cs - job_since) * 10))
	run_out=$tap_dir/job.out
	run_msg=$tap_dir/job.msg
	out=$(tr -d '\0' <"$run_out")
	msg=$(tr -d '\0' <"$run_msg")
}

# pids_of COMMAND - of all processes of that name
pids_of() {
	for pids_dir in /proc/[0-9]*; do
		read -r pids_name 2>/dev/null <"$pids_dir/comm" || continue
		[ "$pids_name" != "$1" ] || echo "${pids_dir#/proc/}"
	done
}

# --- faults -------------------------------------------------------------------

# place_of PROGRAM - where it is, links resolved
place_of() { readlink -f "$(command -v "$1" || echo /nowhere)"; }

# fake PROGRAM COMMAND... - what faulty runs will find in PROGRAM's place: the
# command, with the path of the real program and the caller's words behind
fake() {
	scratch
	fault_number=$((fault_number + 1))
	fault_file=${tap_scratch:?}/faults/$fault_number.$1
	fault_real=$tap_scratch/faults/real
	fault_place=$(place_of "$1")
	mkdir -p "$fault_real"
	[ -e "$fault_real/$1" ] ||
		cp "$fault_place" "$fault_real/$1" || exit 99
	shift
	cat >"$fault_file" <<-EOF
		#!/bin/sh
		exec $* "$fault_real/\${0##*/}" "\$@"
	EOF
	chmod 0755 "$fault_file"
	fault "--put $fault_file $fault_place"
}

# fault FLAGS - for tests/faults/with; no_faults takes all back
fault() { fault_flags="$fault_flags $1"; }
no_faults() { fault_flags=; }

# faulty COMMAND... - run it with all faults so far
faulty() {
	# shellcheck disable=SC2086 # words without blanks
	run sh "$FAULTS/with" $fault_flags -- "$@"
}

# --- the audit log ------------------------------------------------------------

# audit_log - where it is by default
audit_log() { echo "${AUDIT:-$HOME/.kgate/audit.jsonl}"; }

# audit_mark - look at the lines from here on
audit_mark() {
	audit_from=0
	[ ! -e "$(audit_log)" ] || audit_from=$(wc -l <"$(audit_log)")
}

# audit_since - the kinds and stages of the lines since then: "launch",
# "launch block:box"; says so when they aren't of one id
audit_since() {
	[ -e "$(audit_log)" ] || return
	"$FAULT_PROGRAMS/jsonl" lines "$(audit_log)" "$audit_from" |
		while read -r kind stage id; do
			: "${first:=$id}"
			[ "$id" = "$first" ] || kind="other id: $kind"
			[ "$stage" = - ] || kind=$kind:$stage
			printf '%s ' "$kind"
		done | sed 's/ $//'
}

# audit_text KEY - a string of the last line
audit_text() {
	"$FAULT_PROGRAMS/jsonl" text "$(audit_log)" \
		"$(wc -l <"$(audit_log)")" "$1"
}

# --- refusals -----------------------------------------------------------------

# refused STATUS REGEX NAME - what the last run said is one clear sentence, and
# nothing else came of it
refused() {
	[ "$rc" = "$1" ] && [ -z "$out" ] && [ -s "$run_msg" ] &&
		[ "$(wc -l <"$run_msg")" -eq 1 ] &&
		printf '%s\n' "$msg" | grep -Eq -e '^kgate: ' &&
		printf '%s\n' "$msg" | grep -Eq -e "$2"
	ok $? "$3" || diag "want: status $1, $2" "got:  status $rc" \
		"stdout: $out" "stderr: $msg"
}
