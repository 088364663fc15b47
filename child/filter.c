/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/filter.h"

#include <errno.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/util.h"

/* Bits of socket()'s second argument that are the type: linux/net.h. */
#define TYPE_MASK 0xf

/* linux/sched.h; missing from older headers. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* clang-format off */
#define IS(index_, value_) \
	{ .op = KG_SECCOMP_EQ, .index = (index_), .value = (value_) }
#define HAS(index_, mask_, value_) \
	{ .op = KG_SECCOMP_EQ, .index = (index_), .mask = (mask_), \
	  .value = (value_) }
#define FROM(index_, value_) \
	{ .op = KG_SECCOMP_GE, .index = (index_), .value = (value_) }
#define ISNT(index_, value_) \
	{ .op = KG_SECCOMP_NE, .index = (index_), .value = (value_) }

#define DENY(call_, errnum_, why_) \
	{ .call = (call_), .errnum = (errnum_), .why = (why_) }
#define DENY_IF(call_, errnum_, why_, ...) \
	{ .call = (call_), .errnum = (errnum_), .args = { __VA_ARGS__ }, \
	  .why = (why_) }

#define NO_FAMILY(n_) \
	DENY_IF("socket", EAFNOSUPPORT, "family that isn't needed", IS(0, n_))
#define NO_PROTOCOL(family_, n_) \
	DENY_IF("socket", EPROTONOSUPPORT, "neither TCP nor UDP", \
		IS(0, family_), IS(2, n_))
#define NO_TYPE(family_, n_) \
	DENY_IF("socket", EPERM, "neither stream nor datagram", \
		IS(0, family_), HAS(1, TYPE_MASK, n_))
#define NO_PROTOCOLS(family_) \
	NO_PROTOCOL(family_, 1), NO_PROTOCOL(family_, 2), \
	NO_PROTOCOL(family_, 3), NO_PROTOCOL(family_, 4), \
	NO_PROTOCOL(family_, 5), NO_PROTOCOL(family_, 7), \
	NO_PROTOCOL(family_, 8), NO_PROTOCOL(family_, 9), \
	NO_PROTOCOL(family_, 10), NO_PROTOCOL(family_, 11), \
	NO_PROTOCOL(family_, 12), NO_PROTOCOL(family_, 13), \
	NO_PROTOCOL(family_, 14), NO_PROTOCOL(family_, 15), \
	NO_PROTOCOL(family_, 16), \
	DENY_IF("socket", EPROTONOSUPPORT, "neither TCP nor UDP", \
		IS(0, family_), FROM(2, 18))
#define NO_TYPES(family_) \
	NO_TYPE(family_, 3), NO_TYPE(family_, 4), NO_TYPE(family_, 5), \
	NO_TYPE(family_, 6), NO_TYPE(family_, 10)
#define NO_NAMESPACE(call_, flag_) \
	DENY_IF(call_, EPERM, "no namespaces inside", HAS(0, flag_, flag_))
#define NO_NAMESPACES(call_) \
	NO_NAMESPACE(call_, CLONE_NEWUSER), NO_NAMESPACE(call_, CLONE_NEWNS), \
	NO_NAMESPACE(call_, CLONE_NEWNET), NO_NAMESPACE(call_, CLONE_NEWPID), \
	NO_NAMESPACE(call_, CLONE_NEWIPC), NO_NAMESPACE(call_, CLONE_NEWUTS), \
	NO_NAMESPACE(call_, CLONE_NEWCGROUP)

/*
 * Numbers of families and protocols: linux/socket.h and linux/in.h.  libseccomp
 * takes one condition an argument, hence the rows for what lies between the
 * allowed ones.
 */
static const struct kg_seccomp_rule rules[] = {
	NO_FAMILY(0), NO_FAMILY(3), NO_FAMILY(4), NO_FAMILY(5), NO_FAMILY(6),
	NO_FAMILY(7), NO_FAMILY(8), NO_FAMILY(9), NO_FAMILY(11),
	NO_FAMILY(12), NO_FAMILY(13), NO_FAMILY(14), NO_FAMILY(15),
	DENY_IF("socket", EAFNOSUPPORT, "packet, vsock and all newer families",
		FROM(0, AF_NETLINK + 1)),
	DENY_IF("socket", EPROTONOSUPPORT, "netlink but for routes",
		IS(0, AF_NETLINK), ISNT(2, 0)),
	DENY_IF("socketpair", EAFNOSUPPORT, "pairs are UNIX",
		ISNT(0, AF_UNIX)),
	NO_TYPES(AF_INET), NO_TYPES(AF_INET6),
	NO_PROTOCOLS(AF_INET), NO_PROTOCOLS(AF_INET6),

	DENY_IF("ioctl", EPERM, "types into the terminal", IS(1, TIOCSTI)),
	DENY_IF("ioctl", EPERM, "pastes into the console", IS(1, TIOCLINUX)),

	NO_NAMESPACES("unshare"),
	DENY_IF("unshare", EPERM, "no namespaces inside",
		HAS(0, CLONE_NEWTIME, CLONE_NEWTIME)),
	NO_NAMESPACES("clone"),
	DENY("clone3", ENOSYS, "flags are behind a pointer; clone stands in"),
	DENY("setns", EPERM, "no other namespaces"),
	DENY("mount", EPERM, "the mounts are the box"),
	DENY("umount2", EPERM, "the mounts are the box"),
	DENY("pivot_root", EPERM, "the mounts are the box"),
	DENY("move_mount", EPERM, "the mounts are the box"),
	DENY("open_tree", EPERM, "the mounts are the box"),
	DENY("fsopen", EPERM, "the mounts are the box"),
	DENY("fsconfig", EPERM, "the mounts are the box"),
	DENY("fsmount", EPERM, "the mounts are the box"),
	DENY("fspick", EPERM, "the mounts are the box"),
	DENY("mount_setattr", EPERM, "the mounts are the box"),

	DENY("io_uring_setup", ENOSYS, "makes calls past this filter"),
	DENY("io_uring_enter", ENOSYS, "makes calls past this filter"),
	DENY("io_uring_register", ENOSYS, "makes calls past this filter"),
	DENY("keyctl", ENOSYS, "keyrings are shared with the host"),
	DENY("add_key", ENOSYS, "keyrings are shared with the host"),
	DENY("request_key", ENOSYS, "keyrings are shared with the host"),
	DENY("bpf", EPERM, "kernel code"),
	DENY("perf_event_open", EPERM, "kernel attack surface"),
	DENY("userfaultfd", EPERM, "kernel attack surface"),
	DENY("syslog", EPERM, "the host's messages"),
	DENY("kexec_load", EPERM, "another kernel"),
	DENY("kexec_file_load", EPERM, "another kernel"),
	DENY("init_module", EPERM, "kernel code"),
	DENY("finit_module", EPERM, "kernel code"),
	DENY("delete_module", EPERM, "kernel code"),
};
/* clang-format on */

static const struct kg_seccomp_table table = {
	.rules = rules,
	.count = KG_ARRAY_LEN(rules),
};

const struct kg_seccomp_table *kg_filter_table(void)
{
	return &table;
}
