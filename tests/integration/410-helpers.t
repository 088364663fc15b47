#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs of others that end, lie or are missing: nothing starts without them.

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
config 'network: restricted' 'hosts: [web.test, slow.test]'
snapshot_take before "$PROJECT"

# fails REGEX LINES NAME - a faulty launch ends with this sentence, soon
fails() {
	audit_mark
	faulty "$KGATE" run -- touch started
	refused 125 "^kgate: .*$1" "$3"
	is "$(audit_since)" "$2" "$3: $2 in the log"
	under "$ms" 8000 "$3: within its deadline"
}

# --- bwrap ----------------------------------------------------------------------

for mode in restricted off open; do
	config "network: $mode" 'hosts: [web.test]'
	fault '--without /usr/bin/bwrap'
	fails "bwrap isn't installed.*install the package" block:backend \
		"$mode: without bwrap"
	no_faults
	touch "$tap_scratch/dull"
	fault "--put $tap_scratch/dull /usr/bin/bwrap"
	fails "bwrap can't be executed" block:backend \
		"$mode: a bwrap that is no program"
	no_faults
	fake bwrap "$FAULTS/box" dies -
	fails 'bwrap.*setting up uid map: Permission denied$' \
		'launch block:box' "$mode: a bwrap that says why it ends"
	no_faults
done
config 'network: restricted' 'hosts: [web.test]'

# Whoever shares the folder above swaps the project while kgate starts.
config 'network: off'
mkdir "$tap_scratch/victim" "$tap_scratch/swapped" &&
	cd "$tap_scratch/swapped" || exit 99
fake bwrap "$FAULTS/box" swap "$tap_scratch/victim"
faulty "$KGATE" run -- touch file
is "$rc" 125 'a working directory that is swapped is no project'
like "$msg" '^kgate: .*was replaced while kgate started' 'and that is said'
is "$(ls "$tap_scratch/victim")" '' 'nothing is written where it leads'
no_faults
cd "$PROJECT" || exit 99
config 'network: restricted' 'hosts: [web.test]'

# What it says of its child: whole in any number of pieces, or not.
for way in bytes open; do
	fake bwrap "$FAULT_PROGRAMS/infofd" "$way" -
	faulty "$KGATE" run -- echo started
	is "$rc:$out:$msg" 0:started: "the information of bwrap, $way"
	no_faults
done
while IFS='|' read -r way regex; do
	fake bwrap "$FAULT_PROGRAMS/infofd" "$way" -
	fails "$regex" 'launch block:box' "the information of bwrap, $way"
	no_faults
done <<END_OF_WAYS
cut|bwrap
wrong|makes no sense
text|makes no sense
huge|more about its child than expected
END_OF_WAYS

# --- slirp4netns ----------------------------------------------------------------

fault '--without /usr/bin/slirp4netns'
fails "slirp4netns isn't installed.*install the package" block:backend \
	'without slirp4netns'
no_faults
fake slirp4netns "$FAULTS/slirp" dies -
fails 'slirp4netns .*ended.*no tap for you$' 'launch block:box' \
	'a slirp4netns that says why it ends'
no_faults
fake slirp4netns "$FAULTS/slirp" ready -
fails 'slirp4netns has ended' 'launch block:box' \
	'a slirp4netns that ends when it is ready'
no_faults

# The real one, while the names are being resolved.
config 'network: restricted' 'hosts: [slow.test]'
audit_mark
asked=$(fifo asked "$tap_scratch")
tail -n 0 -f "$KG_WORLD_DIR/internet.log" >"$asked" &
watch=$!
exec 6<"$asked"
start "$KGATE" run -- touch started
while read -r line <&6; do
	case $line in *slow.test*) break ;; esac
done
kill -s KILL "$(pids_of slirp4netns)"
finish
kill "$watch"
wait "$watch" 2>/dev/null
exec 6<&-
refused 125 'slirp4netns has ended' \
	'a slirp4netns that ends before the command starts'
is "$(audit_since)" 'launch block:box' 'so says the log'
under "$ms" 2000 'at once'

# --- kgate's own ----------------------------------------------------------------

mkdir "$tap_scratch/alone"
cp "$KGATE" "$tap_scratch/alone/kgate"
for dir in /usr/libexec /usr/local/libexec /usr/lib/kgate; do
	fault "--empty $dir"
done
audit_mark
faulty "$tap_scratch/alone/kgate" run -- touch started
refused 125 "kgate-entry can't be opened.*install kgate whole" \
	'a kgate without its kgate-entry'
is "$(audit_since)" block:backend 'so says the log'
no_faults
cp /bin/false "$tap_scratch/alone/kgate-entry"
audit_mark
run "$tap_scratch/alone/kgate" run -- touch started
refused 125 '^kgate: ' 'a kgate-entry that says nothing'
is "$(audit_since)" 'launch block:box' 'so says the log'

run "$KGATE" run -- echo started
is "$rc:$out" 0:started 'the real ones start'
snapshot_same before 'nothing else was started, nothing is left'

done_testing
