#!/bin/sh
# SPDX-License-Identifier: MIT
# Without its line in the audit log no command starts.

# shellcheck disable=SC2016 # scripts for the box

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"
# shellcheck source=tests/faults/faults.sh
. "$KG_SRCDIR/tests/faults/faults.sh"

world_require
new_home
new_project
dir=$tap_scratch/log
mkdir "$dir"

# --- a log as it should be ----------------------------------------------------

(umask 0077 && "$KGATE" run -- true)
is "$(stat -c %a "$HOME/.kgate" "$(audit_log)" | tr '\n' ' ')" '700 600 ' \
	'the log and its directory are private'
(umask 0277 && "$KGATE" run --audit "$dir/strict" -- true)
is "$(stat -c %a "$dir/strict")" 600 'whatever the umask is'
AUDIT=$dir/strict
is "$(audit_since)" launch 'and hold the line'
AUDIT=
chmod 0666 "$(audit_log)"
audit_mark
run "$KGATE" run -- true
is "$(stat -c %a "$(audit_log)")" 600 'a log that others can write is closed'
is "$(audit_since)" launch 'a launch is one line'
is "$(audit_text cwd):$(audit_text network)" "$PROJECT:restricted" \
	'which says where and how'
printf '{"v":1,"kind":"laun' >>"$(audit_log)"
audit_mark
run "$KGATE" run -- true
is "$rc" 0 'a torn last line is no hindrance'
is "$("$FAULT_PROGRAMS/jsonl" lines "$(audit_log)" "$audit_from" |
	cut -d ' ' -f 1 | tr '\n' ' ')" 'bad launch ' \
	'the next one stands on a line of its own'
AUDIT=$dir/beside
audit_mark
run "$KGATE" run --audit ../log/beside -- true
is "$rc:$(audit_since)" 0:launch 'the name of a log may be relative'
AUDIT=

# A launch without a block of its id means that it started.
config 'network: restricted' 'hosts: [web.test, nowhere.test]'
audit_mark
run "$KGATE" run -- touch started
refused 125 'nowhere\.test' 'a host that does not resolve is named'
is "$(audit_since)" 'launch block:box' 'in the log the box has failed'
like "$(audit_text reason)" 'nowhere\.test' 'with the reason'
config 'network: restricted' 'hosts: [web.test]'
audit_mark
run "$KGATE" run -- no-such-program
refused 127 no-such-program 'a command that does not exist is named'
is "$(audit_since)" 'launch block:exec' 'in the log the exec has failed'
like "$(audit_text reason)" no-such-program 'with the reason'
[ ! -e started ]
ok $? 'nothing was started'
config 'network: off'

# --- many at once -------------------------------------------------------------

rm -f "$(audit_log)"
launch=0
jobs=
while [ "$launch" -lt 50 ]; do
	launch=$((launch + 1))
	"$KGATE" run -- sh -c 'exit "$1"' sh "$launch" "a
b$(printf '\001\033\377')\"\\" &
	jobs="$jobs $!"
done
launch=0
wrong=
for job in $jobs; do
	launch=$((launch + 1))
	rc=0
	wait "$job" || rc=$?
	[ "$rc" -eq "$launch" ] || wrong="$wrong $launch:$rc"
done
is "$wrong" '' '50 launches at once all end as they should'
"$FAULT_PROGRAMS/jsonl" lines "$(audit_log)" 0 >"$tap_dir/lines"
is "$(grep -c '^launch - ' "$tap_dir/lines"):$(wc -l <"$(audit_log)")" 50:50 \
	'they are 50 whole lines, and nothing else'
is "$(sort -u "$tap_dir/lines" | wc -l)" 50 'with 50 ids'
launch=0
while [ "$launch" -lt 50 ]; do
	launch=$((launch + 1))
	"$FAULT_PROGRAMS/jsonl" argv "$(audit_log)" "$launch" |
		tr '\0\n' '\n?' | sed -n '5p;6p' | tr '\n' ' '
	echo
done | sort -n >"$tap_dir/logged"
launch=0
while [ "$launch" -lt 50 ]; do
	launch=$((launch + 1))
	printf '%d a?b\001\033\377"\\ \n' "$launch"
done >"$tap_dir/want"
cmp "$tap_dir/want" "$tap_dir/logged" >"$tap_dir/cmp" 2>&1
ok $? 'each of them with its own words' || diag "$(cat "$tap_dir/cmp")"

# --- a log that can't be written ----------------------------------------------

# unlogged REGEX NAME - the last run has started nothing, and said why
unlogged() {
	refused 125 "$1" "$2"
	under "$ms" 2000 "$2: within 2 s"
	snapshot_same before "$2: nothing was started, nothing is left"
}

touch "$dir/file" "$dir/target"
chmod 0600 "$dir/file" "$dir/target"
mkfifo "$dir/fifo"
mkdir "$dir/directory" "$dir/disk" "$dir/closed"
ln -s target "$dir/link"
ln -s nowhere "$dir/dangling"
case $tap_user in
root) touch "$dir/other" && chown kgate-test "$dir/other" ;;
*) ln -s "$KG_WORLD_DIR/zone" "$dir/other" ;;
esac
other=$(readlink -f "$dir/other")
snapshot_take before "$PROJECT" "$dir"

for row in "fifo:isn't a regular file" 'directory:directory' \
	'link:symbolic link' 'dangling:symbolic link' \
	'nowhere/file:No such file or directory' 'file/file:Not a directory'
do
	file=${row%%:*}
	run "$KGATE" run --audit "$dir/$file" -- touch started
	unlogged "audit log .*${row#*:}.*--audit" "$file in its place"
done
run "$KGATE" run --audit /dev/null -- touch started
unlogged "isn't a regular file" 'a device in its place'
run "$KGATE" run --audit "$other" -- touch started
unlogged 'belongs to another user' "another user's file"
run "$KGATE" run --audit "$PROJECT/log" -- touch started
refused 125 'visible in the box' 'a log that the command could write is refused'
rm -f "$PROJECT/log"

snapshot_take before "$PROJECT" "$dir"
fault "--ro $dir"
faulty "$KGATE" run --audit "$dir/file" -- touch started
unlogged 'Read-only file system' 'a file that is read-only'
faulty "$KGATE" run --audit "$dir/new" -- touch started
unlogged 'Read-only file system' 'a directory that is read-only'
no_faults
fault "--full $dir/disk"
faulty "$KGATE" run --audit "$dir/disk/log" -- touch started
unlogged 'No space left on device' 'a full disk'
cd / || exit 99
faulty "$KGATE" run --audit "$dir/disk/log" -- true
is "$rc:$out" 126: 'what is refused stays so without a line in the log'
like "$msg" "^kgate: the refusal isn't in the audit log: .*No space" \
	'which is told'
cd "$PROJECT" || exit 99
no_faults
if [ "$tap_user" != root ]; then
	chmod 0400 "$dir/file"
	chmod 0500 "$dir/closed"
	snapshot_take before "$PROJECT" "$dir"
	run "$KGATE" run --audit "$dir/file" -- touch started
	unlogged 'Permission denied' 'a file without permission to write'
	run "$KGATE" run --audit "$dir/closed/log" -- touch started
	unlogged 'Permission denied' 'a directory without it'
fi

# The lock, held by a process that is stopped.
held=$(fifo held "$tap_scratch")
flock "$dir/target" sh -c 'echo held >"$1"; kill -s STOP $$' sh "$held" &
holder=$!
hear "$held"
read -r stopped <"/proc/$holder/task/$holder/children"
snapshot_take before "$PROJECT" "$dir"
run "$KGATE" run --audit "$dir/target" -- touch started
unlogged 'is locked by another process' 'a lock that is held'
kill -s KILL "$stopped"
wait "$holder" 2>/dev/null
AUDIT=$dir/target
audit_mark
run "$KGATE" run --audit "$dir/target" -- true
is "$rc:$(audit_since)" 0:launch 'when it is let go, all is well'

done_testing
