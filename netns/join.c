/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/join.h"

#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>

bool kg_join_is_here(int fd, const char *kind)
{
	struct stat a, b;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	return fstat(fd, &a) == 0 && stat(path, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int kg_join_net(int userns_fd, int netns_fd, struct kg_error *err)
{
	if (kg_join_is_here(netns_fd, "net") ||
	    kg_join_is_here(userns_fd, "user"))
		return kg_fail(err, KG_E_NETNS, 0,
			       "the box has no network namespace of its own");
	if (setns(userns_fd, CLONE_NEWUSER))
		return kg_fail_system(err, "join the box's user namespace");
	if (setns(netns_fd, CLONE_NEWNET))
		return kg_fail_system(err, "join the box's network namespace");
	if (!kg_join_is_here(netns_fd, "net"))
		return kg_fail(err, KG_E_NETNS, 0,
			       "joined another network namespace than asked");
	return 0;
}
