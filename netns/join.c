/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/join.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/stat.h>

static bool is_same(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int kg_join_net(int userns_fd, int netns_fd, struct kg_error *err)
{
	if (is_same(netns_fd, "/proc/self/ns/net") ||
	    is_same(userns_fd, "/proc/self/ns/user"))
		return kg_fail(err, KG_E_NETNS, 0,
			       "the box has no network namespace of its own");
	if (setns(userns_fd, CLONE_NEWUSER))
		return kg_fail_system(err, "join the box's user namespace");
	if (setns(netns_fd, CLONE_NEWNET))
		return kg_fail_system(err, "join the box's network namespace");
	if (!is_same(netns_fd, "/proc/self/ns/net"))
		return kg_fail(err, KG_E_NETNS, 0,
			       "joined another network namespace than asked");
	return 0;
}
