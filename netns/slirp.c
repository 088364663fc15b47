/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/slirp.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/scoped.h"
#include "common/util.h"
#include "netns/netplan.h"

static int make_pipe(int *ret_in, int *ret_out, int flags, struct kg_error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | flags))
		return kg_fail_system(err, "make a pipe");
	*ret_in = ends[0];
	*ret_out = ends[1];
	return 0;
}

/*
 * With the user namespace joined beforehand its own sandbox works; told the
 * path of that namespace instead it dies at setegid(0).
 */
static int join_user(void *ctx, struct kg_error *err)
{
	if (setns(*(int *)ctx, CLONE_NEWUSER))
		return kg_fail_system(err, "join the box's user namespace");
	return 0;
}

int kg_slirp_start(const char *path, int userns_fd, int netns_fd, bool ipv6,
		   struct kg_slirp *ret, struct kg_error *err)
{
	static char *const environment[] = { NULL };
	kg_auto_close int ready_out = -1;
	kg_auto_close int exit_out = -1;
	kg_auto_close int words_out = -1;
	struct kg_slirp s = KG_SLIRP_INIT;
	char netns[32], ready[16], leave[16];
	const char *argv[] = {
		path,
		"--configure",
		"--mtu",
		"65520",
		"--enable-sandbox",
		"--enable-seccomp",
		"--disable-host-loopback",
		"--ready-fd",
		ready,
		"--exit-fd",
		leave,
		"--netns-type",
		"path",
		netns,
		KG_GUEST_LINK,
		ipv6 ? "--enable-ipv6" : NULL,
		NULL,
	};
	struct kg_spawn spec = { .path = path,
				 .argv = (char *const *)argv,
				 .envp = environment,
				 .prepare = join_user,
				 .ctx = &userns_fd };

	if (make_pipe(&s.ready_fd, &ready_out, 0, err) ||
	    make_pipe(&exit_out, &s.exit_fd, 0, err) ||
	    make_pipe(&s.words_fd, &words_out, O_NONBLOCK, err))
		goto failed;
	(void)snprintf(netns, sizeof(netns), "/proc/self/fd/%d", netns_fd);
	(void)snprintf(ready, sizeof(ready), "%d", ready_out);
	(void)snprintf(leave, sizeof(leave), "%d", exit_out);
	spec.stdio[0] = -1;
	spec.stdio[1] = -1;
	spec.stdio[2] = words_out;
	spec.pass = (const int[]){ netns_fd, ready_out, exit_out };
	spec.pass_count = 3;
	if (kg_spawn_program(&spec, &s.child, err))
		goto failed;
	*ret = s;
	return 0;
failed:
	kg_slirp_done(&s);
	return -1;
}

void kg_slirp_done(struct kg_slirp *slirp)
{
	kg_child_done(&slirp->child);
	kg_scope_close_(&slirp->ready_fd);
	kg_scope_close_(&slirp->exit_fd);
	kg_scope_close_(&slirp->words_fd);
}
