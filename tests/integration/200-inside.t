#!/bin/sh
# SPDX-License-Identifier: MIT
# What the command is and holds, in each mode, as it sees it itself.

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
no_caps=0000000000000000

run ./probe
host=$out
run ./box_reach landlock
landlock=$(fact landlock)
diag "Landlock version $landlock: scopes begin with 6"

# namespaces MODE - all are the box's own, but for the network of open
namespaces() {
	inside=$out
	for ns in user net mnt pid ipc uts cgroup; do
		out=$inside
		inner=$(fact ns_$ns)
		out=$host
		outer=$(fact ns_$ns)
		case $1.$ns in
		open.net) is "$inner" "$outer" "$1: the network is the host's" ;;
		*)
			[ -n "$inner" ] && [ "$inner" != "$outer" ]
			ok $? "$1: the $ns namespace is its own"
			;;
		esac
	done
	out=$inside
}

for mode in $MODES; do
	set_mode "$mode"

	# Descriptors 7 to 9 stand for what a caller forgets to close.
	box ./probe 7</ 8<"$HOME/.kgate/config.yaml" 9>"$tap_scratch/log"
	is "$rc:$msg" 0: "$mode: it starts, and kgate says nothing"
	facts_are "$mode" <<-END
	uid $(id -u)
	euid $(id -u)
	gid $(id -g)
	cwd $PROJECT
	CapInh $no_caps
	CapPrm $no_caps
	CapEff $no_caps
	CapBnd $no_caps
	CapAmb $no_caps
	NoNewPrivs 1
	Seccomp 2
	extra_fds 0
	processes 3
	comms bwrap,kgate-entry,probe
	unix ok
	inet ok
	inet6 ok
	netlink_route ok
	vsock EAFNOSUPPORT
	packet EAFNOSUPPORT
	bluetooth EAFNOSUPPORT
	alg EAFNOSUPPORT
	can EAFNOSUPPORT
	xdp EAFNOSUPPORT
	key EAFNOSUPPORT
	mptcp EPROTONOSUPPORT
	mptcp6 EPROTONOSUPPORT
	udplite EPROTONOSUPPORT
	sctp EPROTONOSUPPORT
	raw EPERM|EPROTONOSUPPORT
	raw6 EPERM|EPROTONOSUPPORT
	icmp EPROTONOSUPPORT
	icmp6 EPROTONOSUPPORT
	dccp EPERM|EPROTONOSUPPORT
	netlink_netfilter EPROTONOSUPPORT
	netlink_audit EPROTONOSUPPORT
	netlink_uevent EPROTONOSUPPORT
	io_uring_setup ENOSYS
	io_uring_enter ENOSYS
	io_uring_register ENOSYS
	keyctl ENOSYS
	add_key ENOSYS
	request_key ENOSYS
	bpf EPERM
	perf_event_open EPERM
	userfaultfd EPERM
	kexec_load EPERM
	init_module EPERM
	finit_module EPERM
	delete_module EPERM
	setns EPERM
	pivot_root EPERM
	open_tree EPERM
	move_mount EPERM
	fsopen EPERM
	umount2 EPERM
	clone3 ENOSYS
	unshare_user EPERM
	unshare_mnt EPERM
	unshare_net EPERM
	clone_newuser EPERM
	END
	for fd in 0 1 2; do
		like "$(fact fd$fd)" '^(pipe|null)$' \
			"$mode: descriptor $fd is none of the caller's"
	done
	namespaces "$mode"

	box uname -n
	is "$out" "$(uname -n)" "$mode: the host's name is kept"

	# Nothing is granted by a file, and nothing is a device but /dev.
	box cat /proc/self/mountinfo
	is "$(printf '%s\n' "$out" | awk '$6 !~ /(^|,)nosuid(,|$)/')" '' \
		"$mode: no mount honours setuid bits"
	is "$(printf '%s\n' "$out" |
		awk '$6 !~ /(^|,)nodev(,|$)/ && $5 !~ "^/dev/"')" '' \
		"$mode: no mount but those of /dev honours devices"
done

# The hosts file and the name servers are the box's own but in open.
set_mode off
box cat /etc/hosts /etc/resolv.conf
is "$out" "127.0.0.1 localhost
::1 localhost ip6-localhost ip6-loopback
127.0.1.1 $(uname -n)
# kgate: this box has no network" 'off: hosts and resolv.conf are its own'
box getent hosts localhost
is "$rc" 0 'off: localhost has an address'
box getent hosts web.test
isnt "$rc" 0 'off: another name has none'
under "$ms" 2000 'off: which is said at once'
set_mode restricted
box cat /etc/resolv.conf
is "$out" 'nameserver 10.0.2.3
nameserver fd00::3' 'restricted: the name server is that of the box'
box getent hosts split.test
isnt "$rc" 0 "restricted: the host's own names are not there"
config 'network: restricted'
box cat /etc/resolv.conf
is "$out" '# kgate: this box has no network' \
	'restricted without hosts: as in off'
set_mode open
for file in hosts resolv.conf; do
	box cat "/etc/$file"
	is "$out" "$(cat "/etc/$file")" "open: $file is the host's"
done

# Not one character of the environment but what the list names.
set_mode off
audit_forget
while IFS='=' read -r name value; do
	export "$name=$value"
done <<END
LANG=C.UTF-8
LC_TIME=C
LC_KG=value with = and blanks
TZ=UTC
TERM=xterm-kg
COLORTERM=truecolor
NO_COLOR=1
CI=true
PWD=/etc
OLDPWD=/etc
AWS_SECRET_ACCESS_KEY=hunter2-a
GITHUB_TOKEN=hunter2-b
SSH_AUTH_SOCK=/tmp/hunter2-c
DBUS_SESSION_BUS_ADDRESS=hunter2-d
XDG_RUNTIME_DIR=/run/hunter2-e
PATHS=hunter2-f
XPATH=hunter2-g
HOMEDIR=hunter2-h
LCX=hunter2-i
path=hunter2-j
TMPDIR=/srv/hunter2-k
BASH_ENV=/srv/hunter2-l
GIT_DIR=hunter2-m
PYTHONPATH=/srv/hunter2-n
NODE_OPTIONS=hunter2-o
END
for mode in $MODES; do
	set_mode "$mode"
	box ./probe env
	is "$(printf '%s\n' "$out" | sort)" "$(sort <<-END
	CI=true
	COLORTERM=truecolor
	HOME=$HOME
	LANG=C.UTF-8
	LC_KG=value with = and blanks
	LC_TIME=C
	LOGNAME=$LOGNAME
	NO_COLOR=1
	PATH=$PATH
	PWD=$PROJECT
	SHELL=$SHELL
	TERM=xterm-kg
	TZ=UTC
	USER=$USER
	END
	)" "$mode: the environment is that of the list"
	box ./probe procs
	is "$rc" 0 "$mode: the processes can be listed"
	unlike "$out" hunter2 "$mode: no secret is in /proc"
	unlike "$(printf '%s\n' "$out" | grep -v '^[a-z]*\.3=')" \
		"$HOME|kgate.yaml|config|web.test|$PROJECT" \
		"$mode: nor is home or policy in the lines of others"
	for pid in 1 2; do
		like "$out" "^environ.$pid=(EACCES)?\$" \
			"$mode: the environment of process $pid is hidden"
	done
done
unlike "$(cat "$HOME/.kgate/audit.jsonl")" hunter2 \
	'no secret is in the audit log'
run env -i "$KGATE" run -- "$PROJECT/probe" env
is "$(printf '%s\n' "$out" | sort)" "HOME=$(passwd_home)
PWD=$PROJECT" 'without an environment there are HOME and PWD'

done_testing
