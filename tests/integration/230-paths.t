#!/bin/sh
# SPDX-License-Identifier: MIT
# paths, --allow-path, sockets of the host, and the place of the audit log.

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
reach_here .

# write_is PATH RESULT TEST - whether it opens for writing inside, after `box`
# or a run with flags has printed what `./probe open-write` says
write_is() { is "$(fact "$1")" "$2" "$3"; }

# ---- Entries of the config ----

P=$tap_scratch/p
mkdir -p "$P/ro/rw/ro" "$P/rw/ro/rw" "$P/target" "$P/beside" \
	"$HOME/.cache/ccache" "$PROJECT/in/ro/rw" "$PROJECT/vendor"
for dir in ro ro/rw ro/rw/ro rw rw/ro rw/ro/rw target beside; do
	echo text >"$P/$dir/file"
done
for file in "$HOME/.gitconfig" "$HOME/.secret" "$HOME/.cache/secret" \
	"$HOME/.cache/ccache/file" "$PROJECT/in/file" "$PROJECT/in/ro/file" \
	"$PROJECT/in/ro/rw/file" "$P/single" "$P/single.rw"; do
	echo text >"$file"
done
printf '[alias]\n\tkg = version\n' >"$HOME/.gitconfig"
mkdir "$P/real"
mv "$P/target" "$P/real/target"
ln -s real/target "$P/link"
ln -s "$P/real" "$P/way"
ln -s "$P/beside/file" "$P/ro/out"
ln -s ../beside "$P/rw/out"
ln -s "$P/real/target" "$PROJECT/into"
mkdir "$P/with blank" && echo text >"$P/with blank/a: b"

for mode in $MODES; do
	set_mode "$mode" 'paths:' \
		'  - ~/.gitconfig' \
		'  - {path: ~/.cache/ccache, mode: rw}' \
		"  - {path: $P/rw/ro/rw, mode: rw}" \
		"  - {path: $P/rw, mode: rw}" \
		"  - $P/rw/ro" \
		"  - {path: $P/ro/rw/ro, mode: ro}" \
		"  - {path: $P/ro/rw, mode: rw}" \
		"  - $P/ro" \
		"  - $P/link" \
		"  - $P/single" \
		"  - {path: $P/single.rw, mode: rw}" \
		"  - $PROJECT/in/ro" \
		"  - {path: $PROJECT/in/ro/rw, mode: rw}" \
		"  - '$P/with blank'"
	box ./probe open-write "$HOME/.gitconfig" "$HOME/.cache/ccache/file" \
		"$HOME/.secret" "$HOME/.cache/secret" \
		"$P/ro/file" "$P/ro/rw/file" "$P/ro/rw/ro/file" \
		"$P/rw/file" "$P/rw/ro/file" "$P/rw/ro/rw/file" \
		"$P/link/file" "$P/real/target/file" "$PROJECT/into/file" \
		"$P/way/target/file" "$P/beside/file" "$P/ro/out" \
		"$P/rw/out/file" "$P/single" "$P/single.rw" \
		"$PROJECT/in/file" "$PROJECT/in/ro/file" \
		"$PROJECT/in/ro/rw/file" "$P/with blank/a: b"
	while read -r path want; do
		write_is "$path" "$want" "$mode: ${path#"$tap_scratch/"} $want"
	done <<-END
	$HOME/.gitconfig EROFS
	$HOME/.cache/ccache/file ok
	$HOME/.secret ENOENT
	$HOME/.cache/secret ENOENT
	$P/ro/file EROFS
	$P/ro/rw/file ok
	$P/ro/rw/ro/file EROFS
	$P/rw/file ok
	$P/rw/ro/file EROFS
	$P/rw/ro/rw/file ok
	$P/link/file EROFS
	$P/real/target/file EROFS
	$PROJECT/into/file EROFS
	$P/way/target/file ENOENT
	$P/beside/file ENOENT
	$P/ro/out ENOENT
	$P/rw/out/file ENOENT
	$P/single EROFS
	$P/single.rw ok
	$PROJECT/in/file ok
	$PROJECT/in/ro/file EROFS
	$PROJECT/in/ro/rw/file ok
	END
	box cat "$P/link/file" "$P/real/target/file" into/file "$P/single" \
		"$P/with blank/a: b"
	is "$rc:$(echo "$out" | sort | uniq -c | tr -s ' ')" '0: 5 text' \
		"$mode: a listed link can be read under both names"
	box git kg
	like "$out" '^git version' "$mode: a listed file of home works"
	box ls -A "$HOME" "$HOME/.cache" "$P"
	is "$out" "$HOME:
.cache
.gitconfig

$HOME/.cache:
ccache

$P:
link
real
ro
rw
single
single.rw
with blank" "$mode: nothing else is beside the listed"
	# shellcheck disable=SC2016 # for the shell inside
	box sh -c 'echo inside >"$1/new" && rm "$1/file"' sh \
		"$HOME/.cache/ccache"
	is "$rc:$(cat "$HOME/.cache/ccache/new")" 0:inside \
		"$mode: what is written to a writable path stays"
	[ ! -e "$HOME/.cache/ccache/file" ]
	ok $? "$mode: and what is removed is gone"
	rm "$HOME/.cache/ccache/new" && echo text >"$HOME/.cache/ccache/file"
done
is "$(find "$P/ro" "$P/rw" "$PROJECT/in" -maxdepth 1 | sort)" "$(sort <<END
$P/ro
$P/ro/file
$P/ro/out
$P/ro/rw
$P/rw
$P/rw/file
$P/rw/out
$P/rw/ro
$PROJECT/in
$PROJECT/in/file
$PROJECT/in/ro
END
)" 'the host has nothing new'

# A listed path around the project leaves the project writable, and one that is
# a private folder's shows what it names alone.
mkdir -p "$tap_scratch/around/project" "$tap_scratch/around/other"
cd "$tap_scratch/around/project" || exit 99
cp "$PROJECT/probe" . && touch .kg-world ../other/file
for name in around/project around; do
	set_mode off "paths: [$tap_scratch/$name]"
	box sh -c 'echo made >made'
	is "$rc:$(cat made 2>&1)" 0:made "paths: $name leaves the project writable"
	rm -f made
done
set_mode off "paths: [$tap_scratch/around]"
box sh -c 'echo made >../other/file'
isnt "$rc" 0 'and what is around it is not'
cd "$PROJECT" || exit 99
for parent in /tmp /var/tmp "/run/user/$(id -u)"; do
	mkdir -p "$parent/kg-listed" && echo text >"$parent/kg-listed/file"
	echo text >"$parent/kg-other"
	set_mode off "paths: [$parent/kg-listed]"
	# shellcheck disable=SC2016 # for the shell inside
	box sh -c 'cat "$1/kg-listed/file" "$1/kg-other"' sh "$parent"
	is "$out" text "what is listed below $parent is there alone"
	rm -r "$parent/kg-listed" "$parent/kg-other"
done

# ---- Flags ----

set_mode off
flag() {
	path=$1
	shift
	run "$KGATE" run --allow-path "$path" -- "$@"
}
flag "$P/single" ./probe open-write "$P/single" "$P/single.rw"
write_is "$P/single" EROFS 'a flag is read-only by default'
write_is "$P/single.rw" ENOENT 'and opens what it names alone'
flag "$P/single:ro" ./probe open-write "$P/single"
write_is "$P/single" EROFS ':ro'
flag "$P/single:rw" ./probe open-write "$P/single"
write_is "$P/single" ok ':rw'
flag "$P/ro" ./probe open-write "$P/ro/file"
write_is "$P/ro/file" EROFS 'a directory, read-only'
# shellcheck disable=SC2016 # for the shell inside
flag "$P/rw:rw" sh -c 'echo flag >"$1"' sh "$P/rw/flag"
is "$rc:$(cat "$P/rw/flag")" 0:flag 'a directory, read-write'
flag ../p/link:rw ./probe open-write "$P/link/file" "$P/real/target/file"
is "$(fact "$P/link/file"):$(fact "$P/real/target/file")" ok:ok \
	'a relative link, read-write, under both names'
# shellcheck disable=SC2088 # kgate's to expand
flag '~/.gitconfig' git kg
like "$out" '^git version' 'a file of home'
flag "$P/with blank" cat "$P/with blank/a: b"
is "$out" text 'a name with a blank'
flag "$PROJECT/in" ./probe open-write in/file
write_is in/file EROFS 'a folder of the project becomes read-only'
run "$KGATE" run --allow-path "$P/ro" --allow-path "$P/single:rw" -- \
	./probe open-write "$P/ro/file" "$P/single"
is "$(fact "$P/ro/file"):$(fact "$P/single")" EROFS:ok 'two flags'
flag into:rw ./probe open-write into/file "$P/real/target/file"
is "$(fact into/file):$(fact "$P/real/target/file")" ok:ok \
	'a link in the project that leads out of it'
ln -s "$PROJECT/in/ro" "$HOME/link"
flag "$HOME/link" ./probe open-write "$HOME/link/file" in/ro/file in/file
is "$(fact "$HOME/link/file"):$(fact in/ro/file):$(fact in/file)" \
	EROFS:EROFS:ok 'a link in home that leads into the project'
flag /etc/hostname cat /etc/hostname
is "$rc" 0 'a single file below /etc may be named'
box cat "$P/single"
isnt "$rc" 0 'a flag is for one launch'
like "$(grep -F single "$HOME/.kgate/audit.jsonl")" \
	'"allow":\[[^]]*--allow-path=[^]]*/single:rw' 'the log names the flag'

# ---- Sockets of the host ----

uid=$(id -u)
S="/tmp/.X11-unix/X99 /tmp/tmux-$uid/default /tmp/.kg-agent/sock"
S="$S /run/user/$uid/bus /run/user/$uid/docker.sock /var/tmp/sock"
S="$S /run/lock/sock $HOME/.gnupg/S.gpg-agent /var/lib/ci/sock"
[ "$tap_user" != root ] ||
	S="$S /run/docker.sock /run/dbus/system_bus_socket /run/systemd/private"
for path in $S; do
	mkdir -p "${path%/*}"
done
mkfifo "$tap_dir/stop" "$tap_dir/ready"
names="@/tmp/.X11-unix/X99 @kg-abstract"
# shellcheck disable=SC2086 # several names each
./box_reach serve $S $names <"$tap_dir/stop" >"$tap_dir/ready" &
exec 8>"$tap_dir/stop" 7<"$tap_dir/ready"
read -r line <&7
is "$line" ready 'there are sockets on the host'
run ./box_reach landlock
scopes=$(fact landlock)
diag "Landlock version $scopes"
for mode in $MODES; do
	set_mode "$mode"
	# shellcheck disable=SC2086 # several names
	box ./box_reach connect $S
	for path in $S; do
		is "$(fact "$path")" ENOENT "$mode: no way to $path"
	done
	if [ "$mode" != open ] || [ "$scopes" -ge 6 ]; then
		# shellcheck disable=SC2086 # several names
		box ./box_reach connect $names
		for path in $names; do
			like "$(fact "$path")" '^(EPERM|ECONNREFUSED)$' \
				"$mode: no way to $path"
		done
	fi
	box ./box_reach abstract
	is "$(fact @box_reach)" ok "$mode: an abstract socket of one's own works"
done
set_mode off
for path in "/tmp/tmux-$uid/default" "$HOME/.gnupg/S.gpg-agent"; do
	# shellcheck disable=SC2086 # several names
	run "$KGATE" run --allow-path "$path" -- ./box_reach connect $S
	for other in $S; do
		want=ENOENT
		[ "$other" != "$path" ] || want=ok
		is "$(fact "$other")" $want "--allow-path $path: $other $want"
	done
done
exec 8>&-
counts=$(cat <&7)
exec 7<&-
wait
for path in $S $names; do
	want=0
	case $path in */default | */S.gpg-agent) want=1 ;; esac
	out=$counts
	is "$(fact "$path")" $want "$path heard as much as it should: $want"
done

# ---- The audit log ----

# told_apart PLACE FLAG... - a log there is refused; nothing runs, none is made
told_apart() {
	place=$1
	shift
	run "$KGATE" run --audit "$place" "$@" -- echo ran
	is "$rc:$out" 125: "a log at ${place#"$tap_scratch/"} is refused ($*)"
	one_sentence 'in one sentence'
}

mkdir -p in logs "$tap_scratch/logs" "/opt/runner/kg$$" "/usr/src/kg$$"
told_apart "$PROJECT/a"
told_apart a
told_apart in/a
told_apart ../"${PROJECT##*/}"/a
told_apart "$P/rw/a" --allow-path "$P/rw:rw"
told_apart "$P/ro/a" --allow-path "$P/ro"
told_apart "$P/link/a" --allow-path "$P/link"
told_apart "$P/way/target/a" --allow-path "$P/link:rw"
told_apart "/opt/runner/kg$$/a"
told_apart "/usr/src/kg$$/a"
ln -s "$PROJECT" "$tap_scratch/logs/way"
told_apart "$tap_scratch/logs/way/a"
if [ "$tap_user" = root ]; then
	mkdir "$tap_scratch/bound"
	mount --bind "$PROJECT" "$tap_scratch/bound"
	told_apart "$tap_scratch/bound/a"
	umount "$tap_scratch/bound"
fi
set_mode off "paths: [$tap_scratch/logs]"
told_apart "$tap_scratch/logs/a"
set_mode off

# Elsewhere it works, and the command has no way to it.
for mode in $MODES; do
	set_mode "$mode"
	for log in "$tap_scratch/logs/a" "$HOME/a" "/tmp/kg-a$$" "/var/tmp/a$$"; do
		# shellcheck disable=SC2016 # for the shell inside
		run "$KGATE" run --audit "$log" -- sh -c '
			cat "$1"; echo forged >>"$1"; echo forged >>"$2"
			cat "$2"; ls -l /proc/[0-9]*/fd | grep -e "$1"' sh "$log" "$HOME/.kgate/audit.jsonl"
		is "$(kinds_in "$log")" 'launch ' "$mode: the log is at $log"
		unlike "$out" '"kind"|->' "$mode: the command can't read it"
		unlike "$(cat "$log")" '^forged' "$mode: nor write it"
		rm -f "$log"
	done
done

done_testing
