#!/bin/sh
# SPDX-License-Identifier: MIT
# Where a project may be, what may be listed, and whose home is hidden.

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
set_mode off
passwd_home=$(passwd_home)

# refused STATUS KINDS TEST - the last run ended so, with these audit lines,
# with one sentence, with nothing run
refused() {
	is "$rc:$out" "$1:" "$3"
	one_sentence "$3: one sentence"
	is "$(audit_kinds)" "$2" "$3: the log says so"
}

# starts TEST - the last run was that of `echo ran`
starts() {
	is "$rc:$out:$msg" 0:ran: "$1"
	is "$(audit_kinds)" 'launch ' "$1: the log says so"
}

# ---- Working directories ----

mkdir -p "$HOME/.kgate/sub/sub" "$HOME/proj" "/run/user/$(id -u)/proj"
for dir in /var/lib/ci/ws/x /opt/runner/_work/x /usr/src/app /srv/kg-x \
	/tmp/kg-x /var/tmp/kg-x "/run/user/$(id -u)/proj" "$HOME/proj"; do
	mkdir -p "$dir" && cd "$dir" || exit 99
	audit_forget
	box sh -c 'echo ran; echo made >made'
	starts "$dir"
	is "$(cat made)" made "$dir: it is writable"
	rm -f made
done
if [ "$tap_user" = root ]; then
	mkdir -p /root/kg-x && cd /root/kg-x || exit 99
	audit_forget
	box echo ran
	starts 'a directory below /root'
fi

# Not entered here: what the test's user can't enter.
for dir in / /home /root /opt /srv /tmp /var /var/lib /var/tmp /usr /usr/share \
	/usr/local /usr/src /mnt /media /nix \
	/proc /proc/self /proc/sys /sys /sys/kernel /dev /dev/shm /dev/pts \
	/boot /etc /etc/default /run /run/lock "/run/user/$(id -u)" \
	/bin /sbin /lib /lib64 /usr/bin /usr/sbin /usr/lib /usr/lib/git-core \
	"$HOME" "$passwd_home" "$HOME/.kgate" "$HOME/.kgate/sub/sub" \
	"$(dirname "$HOME")"; do
	cd "$dir" 2>/dev/null || continue
	audit_forget
	box echo ran
	refused 126 'block ' "$dir is no working directory"
done
like "$(cat "$HOME/.kgate/audit.jsonl")" \
	'"stage":"policy".*"rule":\{"text":"working directory: ' \
	'the line names stage and rule'

# Another name for such a place is no way round.
cd "$PROJECT" || exit 99
ln -s /etc etc
ln -s "$HOME" home
ln -s "$HOME/.kgate" kgate
for link in etc home kgate etc/default; do
	cd "$PROJECT/$link" || exit 99
	audit_forget
	box echo ran
	refused 126 'block ' "through the link $link"
done
cd "$PROJECT" || exit 99
rm etc home kgate
if [ "$tap_user" = root ]; then
	mkdir bound
	for dir in /etc "$HOME" "$HOME/.kgate" /usr/bin; do
		mount --bind "$dir" bound && cd bound || exit 99
		audit_forget
		box echo ran
		refused 126 'block ' "a bind mount of $dir"
		cd "$PROJECT" && umount bound || exit 99
	done
	rmdir bound
fi

# The config directory may be a link, and its target holds it then.
mkdir -p "$tap_scratch/dots/kgate/below"
old_home=$HOME
new_home
ln -s "$tap_scratch/dots/kgate" "$HOME/.kgate"
echo 'network: off' >"$HOME/.kgate/config.yaml"
for dir in kgate kgate/below .; do
	cd "$tap_scratch/dots/$dir" || exit 99
	box echo ran
	is "$rc:$out" 126: "the link's target: dots/$dir"
done
HOME=$old_home
cd "$PROJECT" || exit 99

# A directory that is gone.
mkdir gone && cd gone && rmdir ../gone
audit_forget
box echo ran
is "$rc:$out" 125: 'a directory that was removed'
one_sentence 'a directory that was removed: one sentence'
cd "$PROJECT" || exit 99

# ---- A part of a repository ----

new_repo "$tap_scratch"
mkdir sub && echo text >sub/file && cd sub || exit 99
box sh -c 'git status; ls -A; ls -A ..'
is "$out" 'file
sub' 'of a repository there is the working directory alone'
like "$msg" 'not a git repository' 'git finds no repository'
[ ! -e .git ]
ok $? 'and none was made'
run "$KGATE" run --allow-path ..:rw -- git status --short
is "$rc:$out:$msg" '0:?? ./:' '--allow-path ..:rw makes git work'
run "$KGATE" run --allow-path ..:rw -- sh -c 'git add file &&
	git -c user.name=t -c user.email=t@example.org commit -qm Second'
is "$rc" 0 'and commit'
is "$(git log --format=%s)" 'Second
First' 'outside as well'
run "$KGATE" run --allow-path .. -- sh -c 'git log --format=%s && git add file
	echo >file && echo >../file'
is "$out" 'Second
First' '--allow-path .. alone lets git read'
like "$msg" '(../file|sh: ).*Read-only' 'and not write'
cd "$PROJECT" || exit 99

# ---- Paths that are refused ----

audit_forget
run "$KGATE" run --allow-path "$PROJECT/missing" -- echo ran
refused 125 '' '--allow-path of what is missing'
run "$KGATE" run --allow-path missing:rw -- echo ran
refused 125 '' 'a relative one'
ln -s missing dangling
run "$KGATE" run --allow-path dangling -- echo ran
refused 125 '' 'a dangling link'
set_mode off "paths: [$PROJECT/missing]"
box echo ran
is "$rc:$out" 125: 'a missing entry of paths'
like "$msg" "^kgate: .*config.yaml:2:[0-9]*: .*$PROJECT/missing" \
	'is told with its place'
unlike "$(audit_kinds)" launch 'and nothing was launched'
set_mode off

mkdir -p "$tap_scratch/to"
ln -s "$HOME" "$tap_scratch/to/home"
ln -s / "$tap_scratch/to/root"
ln -s "$HOME/.kgate" "$tap_scratch/to/kgate"
# shellcheck disable=SC2088 # kgate's to expand
for path in '~' "$HOME" "$HOME/" "$HOME/." '~/' / // /. "$(dirname "$HOME")" \
	'~/.kgate' "$HOME/.kgate" "$HOME/.kgate/config.yaml" \
	'~/.kgate/sub/sub' "$passwd_home" "$(dirname "$passwd_home")" \
	"$tap_scratch/to/home" "$tap_scratch/to/root" "$tap_scratch/to/kgate" \
	"$HOME/proj/.." /etc /proc /proc/self /sys /dev /run /run/user /tmp \
	/var/lib /usr/bin; do
	[ -e "$path" ] || case $path in '~'*) ;; *) continue ;; esac
	for mode in ro rw; do
		audit_forget
		run "$KGATE" run --allow-path "$path:$mode" -- echo ran
		refused 126 'block ' "--allow-path $path:$mode"
	done
	set_mode off "paths: [{path: '$path', mode: rw}]"
	audit_forget
	box echo ran
	is "$rc:$out" 126: "paths: $path"
	one_sentence "paths: $path: one sentence"
	is "$(audit_kinds)" 'block ' "paths: $path: the log says so"
	set_mode off
done
set_mode off 'paths: [~]'
audit_forget
box echo ran
refused 126 'block ' 'paths: [~] without quotes'
set_mode off

# ---- Homes ----

# The secret lies in the passwd home, the box is started with another one.
cd "$PROJECT" || exit 99
new_home
mkdir -p "$passwd_home/.kgate" && chmod 0700 "$passwd_home/.kgate"
echo 'network: off' >"$passwd_home/.kgate/config.yaml"
chmod 0600 "$passwd_home/.kgate/config.yaml"
echo hunter2 >"$passwd_home/kg-secret"
echo hunter2 >"$HOME/kg-secret"
mkdir -p "$tap_scratch/strange" && echo hunter2 >"$tap_scratch/strange/secret"
chmod 0700 "$tap_scratch/strange"
ln -s "$passwd_home" "$tap_scratch/link"

# with_home VALUE - the passwd home stays hidden whatever HOME says; where it
# starts, HOME is a folder that can be written
with_home() {
	# shellcheck disable=SC2016 # for the shell inside
	run "$@" "$KGATE" run -- sh -c 'cat "$@"
		case $HOME in /?*) ;; *) echo "HOME is $HOME" ;; esac
		touch "$HOME/x" && echo wrote' sh "$passwd_home/kg-secret"
	if [ "$rc" -eq 0 ]; then
		is "$out" wrote "$*: the passwd home is hidden"
	else
		like "$rc:$out" '^12[56]:$' "$*: it is refused"
		one_sentence "$*: one sentence"
	fi
	[ ! -e "$passwd_home/x" ]
	ok $? "$*: nothing was written to it"
}

with_home env -u HOME
is "$rc" 0 'without HOME it starts'
for value in '' home ./home ../home / // /. /nowhere /nowhere/x /dev/null \
	/usr /etc /proc /tmp "$HOME" "$tap_scratch/strange" "$passwd_home" \
	"$passwd_home/" "$passwd_home/.kgate/.." "$tap_scratch/link" /root /home "$PROJECT"; do
	with_home env "HOME=$value"
done
with_home env "HOME=$HOME"
is "$rc" 0 'with another HOME it starts'
run "$KGATE" run -- ls "$HOME/kg-secret" "$passwd_home/kg-secret"
is "$out" '' 'both homes are hidden'
run env "HOME=$tap_scratch/strange" "$KGATE" run --audit "$tap_scratch/a" -- \
	cat "$tap_scratch/strange/secret"
is "$out" '' 'what HOME names is hidden'

# A home that lies where the box shows the system.
mkdir -p /opt/runner/kg-home && echo hunter2 >/opt/runner/kg-home/secret
# shellcheck disable=SC2016 # for the shell inside
run env HOME=/opt/runner/kg-home "$KGATE" run --audit "$tap_scratch/a" -- \
	sh -c 'ls -A ~; cat ~/secret; echo new >~/new && cat ~/new'
is "$out" new 'a home below /opt is hidden, and can be written'
[ ! -e /opt/runner/kg-home/new ]
ok $? 'nothing comes to the real one'
if [ "$tap_user" = root ]; then
	cp /etc/passwd "$tap_dir/passwd"
	mkdir /opt/kg-home && echo hunter2 >/opt/kg-home/secret
	other=$(mktemp -d /srv/kgt.XXXXXX)
	mkdir "$other/home" "$other/project"
	chown -R kgate-test: /opt/kg-home "$other"
	sed '/^kgate-test:/s|:[^:]*:\([^:]*\)$|:/opt/kg-home:\1|' \
		"$tap_dir/passwd" >/etc/passwd
	cd "$other/project" || exit 99
	for how in '-u HOME' "HOME=$other/home" HOME=/opt; do
		# shellcheck disable=SC2086 # an option of env's and its value
		run setpriv --reuid=kgate-test --regid=kgate-test \
			--clear-groups env $how "$KGATE" run -- \
			sh -c 'cat /opt/kg-home/secret; ls -A /opt/kg-home
				echo ran'
		is "$rc:$out" 0:ran "a passwd home below /opt is hidden ($how)"
	done
	cd "$PROJECT" && cat "$tap_dir/passwd" >/etc/passwd
	rm -r "$other" /opt/kg-home
fi

# HOME of somebody else: his files don't decide, neither home is seen.
if [ "$tap_user" = root ]; then
	other=$(mktemp -d /srv/kgt.XXXXXX)
	mkdir "$other/.kgate" && echo hunter2 >"$other/secret"
	echo 'network: open' >"$other/.kgate/config.yaml"
	chown -R kgate-test: "$other"
	audit_forget
	run env "HOME=$other" "$KGATE" run -- sh -c \
		'cat "$@"; tail -n +3 /proc/net/dev' sh \
		"$other/secret" "$passwd_home/kg-secret"
	unlike "$out" hunter2 "another user's home is hidden, as is one's own"
	unlike "$out" wire0 "another user's config doesn't open the network"
	[ ! -e "$other/.kgate/audit.jsonl" ]
	ok $? "another user's home gets no audit log"
	rm -r "$other"
fi

# ---- A box in a box ----

set_mode off
cp "$KGATE" "$(dirname "$KGATE")/kgate-entry" . || exit 99
for mode in $MODES; do
	set_mode "$mode"
	box ./kgate run -- echo ran
	is "$rc:$out" 125: "$mode: no box in a box"
	like "$msg" '^kgate: already inside a kgate box' "$mode: the cause is told"
	one_sentence "$mode: in one sentence"
done
run ./kgate run -- echo ran
is "$rc:$out" 0:ran 'outside the same program works'

done_testing
