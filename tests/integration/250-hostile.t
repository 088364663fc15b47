#!/bin/sh
# SPDX-License-Identifier: MIT
# A command that wants out: other processes, terminals, namespaces, other ABIs,
# the kernel's knobs, root's secrets, and the programs that kgate starts.

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
run ./box_reach landlock
scopes=$(fact landlock)
diag "Landlock version $scopes: $([ "$scopes" -ge 6 ] ||
	echo 'no ')scopes for abstract sockets and signals"

# ---- Other processes ----

# nothing_of TEST PID... - no part of these processes could be taken
nothing_of() {
	nothing_name=$1
	shift
	for pid; do
		facts_are "$nothing_name" <<-END
		ptrace.$pid EPERM
		vm_read.$pid EPERM
		getfd.$pid EPERM
		mem.$pid EACCES
		environ.$pid EACCES
		maps.$pid EACCES
		auxv.$pid EACCES
		fd/0.$pid EACCES
		fd/1.$pid EACCES
		fd/2.$pid EACCES
		exe.$pid EACCES
		root.$pid EACCES
		cwd.$pid EACCES
		stack.$pid EACCES|EPERM
		syscall.$pid EACCES|EPERM
		END
	done
}

for mode in $MODES; do
	set_mode "$mode"
	box ./box_reach process 1 2
	if [ "$scopes" -ge 1 ]; then
		nothing_of "$mode" 1 2
	else
		nothing_of "$mode" 2
	fi
	[ "$scopes" -ge 6 ] && facts_are "$mode" <<-END
	kill0.1 EPERM
	kill.1 EPERM
	kill0.2 EPERM
	kill.2 EPERM
	END
	box sh -c 'kill -9 -1; kill -9 1; kill -9 0; exit 5'
	is "$rc" 137 "$mode: a command can end itself"

	# Its own children are its own.
	# shellcheck disable=SC2016 # for the shell inside
	box sh -c './box_reach process $$ && exit 0'
	like "$out" '^kill0\.[0-9]+=ok' "$mode: its own processes are its own"
done

# A kernel without Landlock lets the command take process 1 apart, which is one
# of bwrap's: it must hold nothing of worth, and what it says must count for
# nothing.  kgate-entry hides in any case, and its end must not look like
# success.  The injected failure stands for such a kernel.
no_landlock() {
	run strace -f -o /dev/null -e trace=landlock_create_ruleset \
		-e inject=landlock_create_ruleset:error=EOPNOTSUPP \
		"$KGATE" run -- "$@"
}
require_strace() {
	command -v strace >/dev/null && return
	skip 'needs strace' "$1"
	return 1
}
set_mode off
if require_strace 'without Landlock'; then
	no_landlock ./box_reach process 1 2
	nothing_of 'without Landlock' 2
	is "$(fact kill0.2)" ok 'without Landlock: signals can be sent'
	for status in 0 1 3; do
		no_landlock sh -c "kill -9 2; exit $status"
		is "$rc" 125 "kgate-entry killed from inside: not status $status"
		one_sentence 'kgate-entry killed from inside: it is told'
	done
	no_landlock sh -c 'find /proc/1/fd -type l -printf "%l\n"'
	is "$(echo "$out" | grep -vE \
		'^(/dev/null|pipe:.*|anon_inode:\[eventfd\])$')" '' \
		'process 1 has pipes and its eventfd'
	for status in 0 1 0 1 0; do
		no_landlock ./box_reach forge 1 $status
		like "$out" '^forging=[0-9]+$' "status $status was forged"
		like "$rc" '^(7|125)$' "and isn't taken for the command's"
	done
	no_landlock sh -c 'kill -9 1; kill -TERM 1; exit 3'
	is "$rc" 3 'process 1 takes no signal from inside'
fi

# in_box N - the pid outside of process N of the one box there is
in_box() {
	awk -v n="$1" '/^Pid:/ { pid = $2 }
		/^NSpid:/ && NF == 3 && $3 == n { print pid }' \
		/proc/[0-9]*/status 2>/dev/null
}

# Ended from outside, in the middle of a run: told, and no status forged.
mkfifo up go
for mode in $MODES; do
	set_mode "$mode"
	for process in 1 2; do
		snapshot_take killed
		"$KGATE" run -- sh -c 'echo up >up; read -r line <go; exit 0' \
			>"$tap_dir/words" 2>&1 &
		kgate=$!
		read -r _ <up
		kill -KILL "$(in_box $process)"
		rc=0
		wait "$kgate" || rc=$?
		is "$rc" 125 "$mode: process $process killed from outside"
		msg=$(cat "$tap_dir/words")
		one_sentence "$mode: process $process: it is told"
		snapshot_same killed "$mode: process $process: nothing is left"
	done
done

# ---- Terminals, namespaces, other ABIs ----

for mode in $MODES; do
	set_mode "$mode"
	box ./box_reach terminal
	facts_are "$mode" <<-END
	own_terminal ok
	pty.tiocsti EPERM
	pty.tiocsti_high EPERM
	pty.tioclinux EPERM
	pty.tioclinux_high EPERM
	tty.tiocsti EPERM
	tty.tiocsti_high EPERM
	tty.tioclinux EPERM
	tty.tioclinux_high EPERM
	END
	is "$(printf '%s\n' "$out" | grep '\.tioc' | grep -vc '=EPERM$')" 0 \
		"$mode: nor can anything be pushed into another descriptor"
	is "$(printf '%s\n' "$out" | grep -c '^fd[012]\.')" 12 \
		"$mode: all three were tried"

	box ./box_reach namespaces
	is "$(printf '%s\n' "$out" | grep -cE \
		'^(unshare|unshare_user|clone)\..*=EPERM$')" 23 \
		"$mode: no call makes a namespace"
	unlike "$(printf '%s\n' "$out" | grep -v '^clone.time=')" \
		'=(ok|signal)' "$mode: none looks like success"
	is "$(printf '%s\n' "$out" | grep -c '^clone3\..*=ENOSYS$')" 8 \
		"$mode: clone3 sends programs back to clone"
	facts_are "$mode" <<-END
	setns EPERM
	END
	box unshare -Urmn true
	isnt "$rc" 0 "$mode: unshare -Urmn is refused"
	box sh -c 'bwrap --ro-bind / / true'
	isnt "$rc" 0 "$mode: a nested bwrap is refused"

	box ./box_reach foreign
	unlike "$out" '=(ok|signal|E[^N]|EN[^O])' \
		"$mode: no call of another ABI"
	case $(uname -m) in
	x86_64)
		is "$(printf '%s\n' "$out" | grep -c 'i386.*=ENOSYS')" 10 \
			"$mode: int 0x80 has no call at all"
		is "$(printf '%s\n' "$out" | grep -c 'x32.*=ENOSYS')" 10 \
			"$mode: nor has x32"
		;;
	esac

	box ./probe attack
	facts_are "$mode" <<-END
	mount EPERM
	remount EPERM
	umount_proc EPERM
	ptrace EPERM
	sethostname EPERM
	END
done

# ---- Knobs, rules, secrets ----

if [ "$tap_user" = root ]; then
	mkdir -p /etc/sudoers.d /etc/ssl/private /etc/ssh
	for file in /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers \
		/etc/sudoers.d/kg /etc/ssh/ssh_host_kg_key \
		/etc/ssl/private/kg.key /etc/krb5.keytab \
		/etc/security/opasswd; do
		[ -s "$file" ] || echo hunter2 >"$file"
		chmod 0600 "$file"
	done
	echo public >/etc/ssh/ssh_host_kg_key.pub
fi

for mode in $MODES; do
	set_mode "$mode"
	box ./box_reach writable /proc/sys
	is "$(printf '%s\n' "$out" | grep '^writable=')" '' \
		"$mode: nothing of /proc/sys opens for writing"
	[ "$(fact looked_at./proc/sys)" -gt 100 ]
	ok $? "$mode: $(fact looked_at./proc/sys) of its files were tried"
	box ./probe open-write /proc/sysrq-trigger /proc/kcore /proc/kmsg \
		/proc/acpi/wakeup /proc/mtrr /proc/irq/default_smp_affinity \
		/proc/fs /proc/bus /proc/scsi/scsi
	unlike "$out" '=ok' "$mode: nor does another knob of /proc"
	for file in /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- \
		/etc/sudoers /etc/sudoers.d/kg /etc/ssl/private/kg.key \
		/etc/ssh/ssh_host_kg_key /etc/krb5.keytab \
		/etc/security/opasswd; do
		[ -e "$file" ] || [ "$tap_user" != root ] || continue
		box ./probe read "$file"
		like "$(fact "$file")" '^(EACCES|ENOENT)$' \
			"$mode: $file can't be read"
		# shellcheck disable=SC2016 # for the shell inside
		box sh -c 'chmod 0777 "$1" "${1%/*}"; umount "$1"
			rm -f "$1"; cp "$1" copy; cat "$1"' sh "$file"
		is "$out" '' "$mode: $file can't be uncovered"
	done
	[ "$tap_user" = root ] && {
		box cat /etc/ssh/ssh_host_kg_key.pub
		is "$out" public "$mode: a public key can be read"
		box sh -c 'chmod 0700 /etc/ssl/private
			echo x >/etc/ssl/private/x'
		isnt "$rc" 0 "$mode: a cover can't be written to"
	}
done
if [ "$tap_user" = root ]; then
	is "$(cat /etc/ssl/private/kg.key)" hunter2 'the real one is untouched'
fi

# The filter of the network box is out of reach of a root that kgate started.
set_mode restricted
# shellcheck disable=SC2016 # for the shell inside
box sh -c 'for tool in "iptables -F" "iptables -P OUTPUT ACCEPT" \
		"ip6tables -F" "nft flush ruleset" "ip link set tap0 down" \
		"ip addr add 192.0.2.1/24 dev tap0" "ip route flush all" \
		"umount /proc" "mount -t tmpfs x /tmp" "unshare -Urmn true" \
		"ipset flush" "ipset list"; do
		command -v "${tool%% *}" >/dev/null || continue
		$tool >/dev/null 2>&1 && echo "$tool works"
	done
	./probe tcp 192.0.2.11 80
	./probe --as web http web.test 80'
unlike "$out" works 'nothing of the network can be changed'
unlike "$(fact result)" '^connected$' 'the filter stands after that'
is "$(fact web.result)" answered 'and lets through what is listed'

# ---- The programs that kgate starts ----

# Named like the real ones, in PATH, the project and beside it, they leave a
# mark if they run.
fake=$tap_scratch/fake
mkdir -p "$fake"
for name in bwrap slirp4netns iptables-restore ip6tables-restore iptables \
	iptables-nft-restore nft kgate-entry sh env mount newuidmap; do
	printf '#!/bin/sh\necho "%s $*" >>"%s/ran"\nexit 0\n' "$name" "$fake" \
		>"$fake/$name"
	chmod 0755 "$fake/$name"
	cp "$fake/$name" .
done
echo "echo bash_env >>'$fake/ran'" >"$fake/env.sh"
for mode in $MODES; do
	set_mode "$mode"
	run env PATH="$fake:.:$PATH" BASH_ENV="$fake/env.sh" ENV="$fake/env.sh" \
		LD_PRELOAD="$fake/none.so" LD_LIBRARY_PATH="$fake" \
		BWRAP="$fake/bwrap" XTABLES_LIBDIR="$fake" \
		XTABLES_LOCKFILE="$fake/lock" "$KGATE" run -- /bin/true
	is "$rc:$out" 0: "$mode: it starts among false programs"
	[ ! -e "$fake/ran" ] && [ ! -e "$fake/lock" ]
	ok $? "$mode: none of them ran" || diag "$(cat "$fake/ran")"
	is "$(printf '%s\n' "$msg" | grep -c none.so)" "$(run env \
		LD_PRELOAD="$fake/none.so" "$KGATE" --version
		printf '%s\n' "$msg" | grep -c none.so)" \
		"$mode: what the loader was told reaches kgate alone"
done
if require_strace 'what is started, and how'; then
	set_mode restricted
	run env KG_HUNTER=hunter2 PATH="$fake:$PATH" BASH_ENV="$fake/env.sh" \
		strace -f -v -s 4000 -e trace=execve -e signal=none \
		-o "$tap_dir/execs" "$KGATE" run -- /bin/true
	is "$rc" 0 'it starts under strace'
	# Without the first, kgate's own, and the last, the command's.
	execs=$(grep -E 'execve\(.*(= 0|unfinished)' "$tap_dir/execs" |
		sed '1d;$d')
	unlike "$execs" 'hunter2|BASH_ENV|fake|HOME=' \
		'no helper has anything of the environment'
	unlike "$(printf '%s\n' "$execs" | grep -v 'proc/self/fd')" \
		'execve\("[^/]' 'each is started by its whole path'
	for name in bwrap slirp4netns; do
		like "$execs" "execve\\(\"/(usr/)?(s?bin)/$name\"" \
			"$name is the real one"
	done
	# What the gate starts can be read by root alone.
	[ "$tap_user" != root ] ||
		like "$execs" 'execve\("/(usr/)?s?bin/[a-z]*tables[a-z-]*"' \
			'the rule programs are the real ones'
fi

done_testing
