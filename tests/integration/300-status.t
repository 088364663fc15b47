#!/bin/sh
# SPDX-License-Identifier: MIT
# The exit status is the command's own, and kgate's own ones say what happened.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"
# shellcheck source=tests/faults/faults.sh
. "$KG_SRCDIR/tests/faults/faults.sh"

# shellcheck disable=SC3045 # every sh in use knows it
ulimit -c 0
new_home
new_project

for status in 0 1 2 42 64 99 100 123 124 125 126 127 128 130 137 200 254 255; do
	run "$KGATE" run -- sh -c "exit $status"
	is "$rc:$out:$msg" "$status::" "exit status $status comes back"
done

# What a signal does to a command of sh is asked of sh itself: some end it, some
# don't.
snapshot_take before "$PROJECT"
number=0
wrong=
ended=0
expected=0
while [ "$number" -lt 64 ]; do
	number=$((number + 1))
	case $number in
	19 | 20 | 21 | 22) continue ;; # stop it
	esac
	# shellcheck disable=SC2016 # for the other shell
	script='kill -s "$1" $$; exit 3'
	{ env --default-signal sh -c "$script" sh "$number"; } 2>/dev/null
	want=$?
	[ "$want" -ne $((128 + number)) ] || expected=$((expected + 1))
	run env --default-signal "$KGATE" run -- sh -c "$script" sh "$number"
	[ "$rc" = "$want" ] && [ -z "$msg" ] ||
		wrong="$wrong $number:$rc:$msg"
	[ "$rc" -ne $((128 + number)) ] || ended=$((ended + 1))
done
is "$wrong" '' 'signals 1 to 64 mean the same inside and outside'
[ "$expected" -ge 54 ] # 32 and 33 may come ignored, and then stay so
ok $? 'nearly all of them end a command outside'
is "$ended" "$expected" 'the same end one inside, with 128 and the number'
snapshot_same before 'nothing is left of any of them'

# Whoever doesn't start, and why.
audit_mark
run "$KGATE" run -- no-such-program
refused 127 "'no-such-program'" 'a command that does not exist is 127'
is "$(audit_since)" 'launch block:exec' 'and two lines of one id'
audit_mark
run "$KGATE" run -- ./no-such-file
refused 127 "'./no-such-file'" 'so is a path that does not exist'
is "$(audit_since)" 'launch block:exec' 'with the same lines'
echo 'true' >plain
audit_mark
run "$KGATE" run -- ./plain
refused 126 "'./plain'.*[Pp]ermission" 'a file that is not executable is 126'
is "$(audit_since)" 'launch block:exec' 'with the same lines'
like "$(audit_text reason)" './plain' 'of which the second names the cause'
run "$KGATE" run -- "$PROJECT"
refused 126 '[Pp]ermission' 'so is a directory'
printf '#!/no/such/interpreter\n' >script
chmod +x script
run "$KGATE" run -- ./script
refused 127 "'./script'" 'so is a script without its interpreter, as 127'
printf 'exit 5\n' >script
run "$KGATE" run -- ./script
is "$rc" 5 'a script without a #! line runs, as from a shell'
run "$KGATE" run -- ''
refused 127 "''" 'an empty name does not exist'

# A file outside the box isn't visible, whatever it is.
echo 'exit 0' >"$HOME/tool"
chmod +x "$HOME/tool"
run "$KGATE" run -- "$HOME/tool"
refused 127 "'$HOME/tool'" 'a program of the home directory is not found'

audit_mark
run "$KGATE" run --config /nowhere/config.yaml -- true
refused 125 '/nowhere/config.yaml' 'a failure of kgate is 125'
is "$(audit_since)" 'block:config' 'and one line'
snapshot_take after
run "$KGATE" run -- true
is "$rc" 0 'the next run is well'
snapshot_same after 'and leaves nothing'

done_testing
