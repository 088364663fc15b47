#!/bin/sh
# SPDX-License-Identifier: MIT
# The file box: what of the host is there, what can be written, what remains.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"
# shellcheck source=tests/lib/box.sh
. "$KG_SRCDIR/tests/lib/box.sh"

world_require
new_home
new_project
probe_here .
reach_here .
passwd_home=$(passwd_home)
private="/dev/shm /run /tmp /var/tmp"

# Something to find in each place that the box hides or shows.
mkdir -p "$tap_scratch/beside"
for dir in "$HOME" "$passwd_home" "$tap_scratch/beside" /tmp /var/tmp /dev/shm \
	/opt/runner "/run/user/$(id -u)" /var/lib/ci; do
	echo 'of the host' >"$dir/kg-seen" || exit 99
done

# ---- What is there ----

for mode in $MODES; do
	set_mode "$mode"
	for dir in $HOME $passwd_home /tmp /var/tmp /dev/shm; do
		box ls -A "$dir"
		is "$rc:$out" 0: "$mode: $dir is there and empty"
	done
	box ls -A /run
	is "$rc:$out" 0:.kgate "$mode: /run has the box's marker alone"
	box ls -A "$(dirname "$PROJECT")"
	is "$out" "$(printf '%s\n' "${HOME##*/}" "${PROJECT##*/}" | sort)" \
		"$mode: beside the project there is home alone"
	box ls -A /
	names=$(printf '%s\n' "$out" | grep -vxE \
		'bin|sbin|lib(32|64|x32)?|usr|etc|opt|nix|gnu|var|dev|proc|run|tmp')
	is "$(echo "$names" | sort -u | tr '\n' ' ')" \
		"$(printf '%s\n' "$HOME" "$PROJECT" "$passwd_home" |
			cut -d/ -f2 | sort -u | tr '\n' ' ')" \
		"$mode: / has the system, home and the project's folder"
	box ls -A /dev
	is "$(printf '%s\n' "$out" | grep -vxE 'console' | sort |
		tr '\n' ' ')" \
		"$(printf '%s\n' core fd full null ptmx pts random shm \
			stderr stdin stdout tty urandom zero | sort |
			tr '\n' ' ')" "$mode: /dev is minimal"
	box ls -A /dev/pts
	is "$out" ptmx "$mode: no terminal of the host is in /dev/pts"
	box cat /opt/runner/kg-seen
	is "$out" 'of the host' "$mode: /opt is the host's"
	box ls -d /sys /boot /mnt /media /var/lib/ci /var/log
	is "$out" '' "$mode: what isn't listed isn't there"
	box sh -c 'echo it runs'
	is "$rc:$out" '0:it runs' "$mode: a shell found by name runs"
	box /bin/sh -c 'echo it runs'
	is "$rc:$out" '0:it runs' "$mode: /bin/sh runs"
done

# ---- What can be written: a walk over all of the box ----

pressure=$(find /proc/pressure -type f 2>/dev/null | sort)
# shellcheck disable=SC2086 # four names
want=$(printf '%s\n' /dev/full /dev/null /dev/pts /dev/pts/ptmx /dev/random \
	/dev/urandom /dev/zero "$HOME" "$passwd_home" "$PROJECT" \
	"$PROJECT/.kg-world" "$PROJECT/box_reach" "$PROJECT/probe" $private)

# The pressure files register a wish of the opener, and change nothing; anybody
# may.  The running program's own file is busy.
walk_is() {
	is "$(printf '%s\n' "$out" | sed -n 's/^writable=//p' |
		grep -vxF "${pressure:-/none}" | grep -vxE '/dev/tty' | sort)" \
		"$(printf '%s\n' "$want" | grep -vx "$PROJECT/box_reach" |
			sort -u)" "$1: nothing else opens for writing"
	[ "$(fact looked_at./)" -gt 1000 ]
	ok $? "$1: the walk has seen $(fact looked_at./) files"
}

for mode in $MODES; do
	set_mode "$mode"
	box ./box_reach writable /
	walk_is "$mode"

	# The mounts tell the same; for root, who owns them, the device nodes'
	# own are read-only, which leaves the devices as they are.
	sealed=/none
	[ "$(id -u)" -ne 0 ] || sealed='/dev/(full|null|random|tty|urandom|zero)'
	box cat /proc/self/mountinfo
	is "$(printf '%s\n' "$out" | awk '$6 ~ /(^|,)rw(,|$)/ { print $5 }' |
		grep -vx '/dev/console' | sort)" \
		"$(printf '%s\n' "$want" /proc /dev/tty | grep -vE \
			"^$PROJECT/|^/dev/pts/ptmx$|^$sealed$" | sort -u)" \
		"$mode: no other mount is read-write"

	# New names.
	for dir in / /etc /usr /usr/bin /opt /opt/runner /dev /home /var /srv \
		/proc/sys/kernel "$tap_scratch"; do
		box mkdir "$dir/kg-new"
		isnt "$rc" 0 "$mode: nothing new comes to $dir"
	done
	box sh -c 'echo >>/etc/hosts || echo >>/etc/resolv.conf || exit 7'
	is "$rc" 7 "$mode: hosts and resolv.conf can't be written"
	box sh -c 'rm -f /run/.kgate || mv /run/.kgate /run/x || exit 7'
	is "$rc" 7 "$mode: the marker can't be removed"
	box mknod /tmp/null c 1 3
	isnt "$rc" 0 "$mode: no device can be made"
done

# ---- What remains ----

outside_home() {
	find "$HOME" "$passwd_home" -path '*/.kgate' -prune -o \
		-printf '%p %i %m %T@\n' | sort
}

for mode in $MODES; do
	set_mode "$mode"
	audit_forget
	before=$(outside_home)

	# shellcheck disable=SC2016,SC2086 # for the shell inside; four names
	box sh -c 'for dir; do
			echo inside >"$dir/kg-left" && cat "$dir/kg-left" ||
				exit 1
		done' sh "$HOME" "$passwd_home" $private
	is "$rc:$(echo "$out" | sort -u)" 0:inside \
		"$mode: homes and private folders can be written"
	for dir in "$HOME" "$passwd_home" $private; do
		[ ! -e "$dir/kg-left" ]
		ok $? "$mode: what was written to $dir is gone"
		box test -e "$dir/kg-left"
		is "$rc" 1 "$mode: and isn't there in the next box"
	done
	box stat -c '%a %u %F' "$HOME"
	is "$out" "700 $(id -u) directory" "$mode: home is the caller's"
	box stat -f -c %T "$HOME"
	is "$out" tmpfs "$mode: home is in memory"

	audit_forget
	box touch "$HOME/x"
	is "$rc" 0 "$mode: a write to home looks like success"
	[ ! -e "$HOME/x" ]
	ok $? "$mode: and is lost"
	is "$(audit_kinds)" 'launch ' "$mode: it is one line in the log"
	is "$(outside_home)" "$before" "$mode: the real homes are untouched"

	box sh -c 'echo made >made && mkdir dir && ln -s made dir/link'
	is "$rc:$(cat made)" 0:made "$mode: the project can be written"
	is "$(stat -c %u:%g made dir dir/link | sort -u)" "$(id -u):$(id -g)" \
		"$mode: files made inside are the caller's"
	rm -r made dir
done
box id -u
is "$out" "$(id -u)" 'id tells the uid of the caller'

# Nothing of the box's making on the host: to the inode and the nanosecond.
mkdir -p "$tap_scratch/log"
for mode in $MODES; do
	set_mode "$mode"
	snapshot_take before "$PROJECT" "$HOME" "$tap_scratch/beside" \
		/opt /usr/src /var/lib/ci /etc /home
	run "$KGATE" run --audit "$tap_scratch/log/a" -- true
	is "$rc" 0 "$mode: it starts without any protected file"
	snapshot_same before "$mode: a run leaves nothing anywhere"
done

# ---- Where projects are ----

set_mode off
for parent in /tmp /var/tmp "/run/user/$(id -u)" /dev/shm; do
	mkdir -p "$parent/kg-project/sub" && cd "$parent/kg-project" || exit 99
	echo here >file
	box sh -c 'cat file && echo made >new'
	case $parent in
	/dev/shm)
		is "$rc" 126 'a project in /dev is refused'
		;;
	*)
		is "$rc:$out:$(cat new)" 0:here:made \
			"a project in $parent is visible and writable"
		box ls -A "$parent"
		is "$out" kg-project "nothing else of $parent is"
		;;
	esac
	cd "$PROJECT" || exit 99
	rm -r "$parent/kg-project"
done

# A project that nobody can write, its own and a stranger's.
mkdir locked && echo text >locked/file && chmod 0555 locked
cd locked || exit 99
snapshot_take locked "$PROJECT"
box cat file
is "$rc:$out" 0:text 'a working directory that is not writable starts'
box touch new
is "$rc" 1 'nothing can be made there'
snapshot_same locked 'and nothing was'
cd /var/lib/misc || exit 99
snapshot_take locked /var/lib/misc
box pwd
is "$rc:$out" 0:/var/lib/misc "a stranger's directory starts"
snapshot_same locked 'and stays as it is'
cd "$PROJECT" || exit 99

# A project below home shows the way to it and nothing else.
mkdir -p "$HOME/code/proj/sub" "$HOME/code/other"
echo text >"$HOME/code/proj/file"
cd "$HOME" && git init -q . || exit 99
echo 'version: 1' >"$HOME/.kgate.yaml"
cd code/proj || exit 99
box ls -A "$HOME" "$HOME/code"
is "$out" "$HOME:
code

$HOME/code:
proj" 'of home there is the way to the project alone'
is "$rc:$msg" 0: 'a repository in home, with a .kgate.yaml, is no hindrance'
box sh -c 'cat file; echo made >new; git rev-parse --show-toplevel'
is "$out:$(cat new)" text:made 'the project is there, and writable'
like "$msg" 'not a git repository' 'the repository in home is not'
rm -r "$HOME/.git" "$HOME/.kgate.yaml" "$HOME/code"
cd "$PROJECT" || exit 99

# The working directory's real name is the one inside.
mkdir real && ln -s real link && cd link || exit 99
# shellcheck disable=SC2016
box sh -c 'echo "$PWD"; pwd -P'
is "$out" "$PROJECT/real
$PROJECT/real" 'a link to the working directory is followed'
cd "$PROJECT" || exit 99

# A name with everything in it.
# shellcheck disable=SC2016 # odd, as it says
odd=$PROJECT/'-a b	c"d'\''e\f$g;*
h'
mkdir -- "$odd" && cd -- "$odd" || exit 99
box pwd
is "$rc:$out" "0:$odd" 'a working directory may have an odd name'
cd "$PROJECT" || exit 99

# ---- A root directory of another build: /bin and /lib are directories ----

# split_usr COMMAND... - in a root directory where /usr is split
split_usr() {
	# shellcheck disable=SC2016 # for the shell inside
	run unshare --mount --propagation private sh -eu -c '
		mount -t tmpfs split /mnt
		for path in /*; do
			case $path in
			/mnt | /sys) continue ;;
			/bin | /sbin | /lib*) from=/usr$path ;;
			*) from=$path ;;
			esac
			if [ -d "$from" ]; then
				mkdir "/mnt$path"
				mount --rbind "$from" "/mnt$path"
			fi
		done
		mkdir /mnt/old
		dir=$PWD
		cd /mnt
		pivot_root . old
		umount -l /old
		rmdir /old
		cd "$dir"
		exec "$@"' sh "$@"
}

if [ "$tap_user" = root ]; then
	user=$(id -u kgate-test)
	mkdir -p /home/kgate-test && chown kgate-test: /home/kgate-test
	split_usr stat -c %F /bin /lib
	is "$out" 'directory
directory' '/usr is split there'
	split_usr "$KGATE" run -- /bin/sh -c 'stat -c %F /bin; exit 3'
	is "$rc:$out" 3:directory '/bin/sh runs with a split /usr'
	split=$(mktemp -d /srv/kgt.XXXXXX) && chown kgate-test: "$split" &&
		cd "$split" || exit 99
	split_usr setpriv --reuid="$user" --regid="$user" --clear-groups \
		env -u HOME "$KGATE" run -- /bin/sh -c 'id -u; exit 4'
	is "$rc:$out" "4:$user" '/bin/sh runs there for a user'
	cd "$PROJECT" && rmdir "$split" || exit 99
fi

done_testing
