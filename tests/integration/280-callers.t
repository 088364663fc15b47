#!/bin/sh
# SPDX-License-Identifier: MIT
# Callers in an odd state, homes in odd places, links where the box has them.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/box.sh
. "$KG_SRCDIR/tests/lib/box.sh"

world_require
new_home
new_project
probe_here .

# ---- SIGCHLD ignored: the kernel reaps children unasked ----

for mode in $MODES; do
	set_mode "$mode"
	run env --ignore-signal=CHLD "$KGATE" run -- \
		grep SigIgn /proc/self/status
	is "$rc" 0 "$mode: it starts with SIGCHLD ignored"
	like "$out" '1....$' "$mode: and the command finds it so"
	is "$msg" '' "$mode: without a word"
done

# ---- a home of the caller's below a folder of the system ----

if [ "$(id -u)" -ne 0 ]; then
	usual=$HOME
	HOME=/usr/src/kgt-home.$$
	mkdir -p "$HOME" && echo secret >"$HOME/file" || exit 99
	for mode in $MODES; do
		set_mode "$mode"
		# shellcheck disable=SC2016 # for the shell inside
		box sh -c 'cat "$HOME/file"; touch "$HOME/new" && echo made'
		is "$out" made "$mode: a home below /usr is empty and writable"
		[ ! -e "$HOME/new" ]
		ok $? "$mode: and stays as it was"
	done
	rm -rf "$HOME"
	HOME=$usual
fi

# ---- files that the box has of its own; a log that it would see ----

set_mode off
for file in /etc/hosts /etc/resolv.conf; do
	run "$KGATE" run --allow-path "$file" -- true
	is "$rc" 126 "--allow-path $file is refused"
	one_sentence 'in one sentence'
done
run "$KGATE" run --audit "$PROJECT/log" -- true
is "$rc" 125 'an audit log in the project is refused'
[ ! -e "$PROJECT/log" ]
ok $? 'and none is made'

mv "$HOME/.kgate/config.yaml" "$PROJECT/config.yaml" &&
	ln -s "$PROJECT/config.yaml" "$HOME/.kgate/config.yaml" || exit 99
run "$KGATE" run -- true
is "$rc" 126 'a config that the command could write is refused'
one_sentence 'in one sentence'
rm "$HOME/.kgate/config.yaml"
mv "$PROJECT/config.yaml" "$HOME/.kgate/config.yaml" || exit 99

# ---- the box's /dev is read-only, for its owner too ----

for mode in $MODES; do
	set_mode "$mode"
	# shellcheck disable=SC2016 # for the shell inside
	box sh -c 'for node in null zero full random urandom tty; do
			chmod "$(stat -c %a /dev/$node)" /dev/$node && echo $node
		done 2>/dev/null
		chmod "$(stat -c %a /dev/null)" /proc/self/fd/0 && echo 0
		echo x >/dev/null && echo works'
	is "$out" works "$mode: no mode in /dev can be changed, and it works"
done

# ---- a reader that has stopped, when the time is over ----

set_mode off
mkfifo stopped || exit 99
run sh -c 'exec 3<>stopped; "$@" >stopped 3>&-' sh \
	"$KGATE" run --timeout 1 -- yes
is "$rc" 124 '--timeout ends a run that nobody reads'
rm stopped

# ---- a limit on the size of files ----

run sh -c 'ulimit -f 0; "$@"' sh "$KGATE" run -- true
is "$rc" 125 'with no room for a file the launch fails'

# ---- links whose own name the box shows already ----

set_mode off
mkdir "$tap_scratch/around" && echo text >"$tap_scratch/around/file" &&
	ln -s file "$tap_scratch/around/link" && ln -s "$PROJECT" self ||
	exit 99
link=$(find /etc -maxdepth 1 -type l -exec test -e {} \; -print | head -n 1)
run "$KGATE" run --allow-path "$link" -- test -e "$link"
is "$rc:$msg" 0: "--allow-path $link, a link in /etc"
run "$KGATE" run --allow-path self:rw -- ls self/probe
is "$rc:$msg" 0: 'a link in the project to the project'
run "$KGATE" run --allow-path "$tap_scratch/around" \
	--allow-path "$tap_scratch/around/link" -- \
	cat "$tap_scratch/around/link"
is "$rc:$out:$msg" 0:text: 'a link inside another listed path'
rm self

done_testing
