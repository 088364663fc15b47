/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "child/filter.h"
#include "common/fd.h"
#include "common/frame.h"
#include "common/scoped.h"
#include "common/seccomp.h"

/* What a tmpfs of the box may hold: this part of the machine's memory. */
#define TMPFS_SHARE 4

static size_t tmpfs_bytes(void)
{
	struct sysinfo info;

	if (sysinfo(&info))
		return (size_t)256 << 20;
	return (size_t)info.totalram * info.mem_unit / TMPFS_SHARE;
}

static int build_plan(const struct kg_launch_input *in, const char *hostname,
		      struct kg_launch *l, struct kg_error *err)
{
	const struct kg_plan_input plan = {
		.policy = in->policy,
		.root = "",
		.project = in->project,
		.homes = in->homes,
		.hostname = hostname,
		.ipv6 = in->facts->ipv6,
		.is_root = getuid() == 0,
		.tmpfs_bytes = tmpfs_bytes(),
	};

	return kg_plan_build(&plan, &l->plan, err);
}

/* One descriptor for each text; a covered file's text is empty. */
static int open_texts(struct kg_launch *l, struct kg_error *err)
{
	const char *text;
	size_t i;
	int fd;

	l->data_fds = calloc(l->plan.count, sizeof(*l->data_fds));
	if (!l->data_fds)
		return kg_fail_system(err, "build the box's files");
	for (i = 0; i < l->plan.count; i++) {
		if (!kg_bwrap_needs_data(&l->plan.mounts[i]))
			continue;
		text = l->plan.mounts[i].source;
		fd = kg_fd_from_bytes("boxfile", text ? text : "",
				      text ? strlen(text) : 0, err);
		if (fd < 0)
			return -1;
		l->data_fds[l->data_count++] = fd;
	}
	return 0;
}

static int make_pipe(int flags, int *ret_in, int *ret_out, struct kg_error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | flags))
		return kg_fail_system(err, "make a pipe");
	*ret_in = ends[0];
	*ret_out = ends[1];
	return 0;
}

static int open_channels(struct kg_launch *l, struct kg_error *err)
{
	int ends[2];

	if (make_pipe(O_NONBLOCK, &l->info_in, &l->info_out, err) ||
	    make_pipe(0, &l->seccomp_in, &l->seccomp_out, err))
		return -1;
	if (kg_frame_pair(ends, err))
		return -1;
	l->entry_in = ends[0];
	l->entry_out = ends[1];
	return 0;
}

static int build_args(const struct kg_launch_input *in, const char *hostname,
		      struct kg_launch *l, struct kg_error *err)
{
	const struct kg_bwrap_options options = {
		.share_net = in->policy->network == KG_NETWORK_OPEN,
		.uid = getuid(),
		.gid = getgid(),
		.hostname = hostname,
		.chdir = in->project,
		.info_fd = l->info_out,
		.seccomp_fd = l->seccomp_in,
		.data_fds = l->data_fds,
	};
	struct kg_bwrap_args args = KG_BWRAP_ARGS_INIT;

	if (kg_bwrap_build(&l->plan, &options, &args, err))
		return -1;
	l->args_fd = kg_fd_from_bytes("bwrap-args", args.bytes, args.len, err);
	kg_bwrap_args_done(&args);
	return l->args_fd < 0 ? -1 : 0;
}

static int build(const struct kg_launch_input *in, struct kg_launch *l,
		 struct kg_error *err)
{
	char hostname[HOST_NAME_MAX + 1] = "localhost";

	(void)gethostname(hostname, sizeof(hostname) - 1);
	l->facts = in->facts;
	l->network_box = kg_policy_has_network_box(in->policy);
	l->payload_fd = kg_payload_write(in->argv, in->envp, &in->state, err);
	if (l->payload_fd < 0 || build_plan(in, hostname, l, err) ||
	    open_texts(l, err) || open_channels(l, err))
		return -1;
	if (build_args(in, hostname, l, err))
		return -1;
	if (l->network_box)
		return kg_netplan_build(in->policy, in->facts->ipv6,
					&l->netplan, err);
	return 0;
}

int kg_launch_build(const struct kg_launch_input *input, struct kg_launch *ret,
		    struct kg_error *err)
{
	struct kg_launch launch = KG_LAUNCH_INIT;

	if (build(input, &launch, err)) {
		kg_launch_done(&launch);
		return -1;
	}
	*ret = launch;
	return 0;
}

int kg_launch_write_filter(struct kg_launch *launch, struct kg_error *err)
{
	int rc = kg_seccomp_export(kg_filter_table(), launch->seccomp_out, err);

	kg_scope_close_(&launch->seccomp_out);
	return rc;
}

void kg_launch_done(struct kg_launch *launch)
{
	size_t i;

	for (i = 0; i < launch->data_count; i++)
		kg_scope_close_(&launch->data_fds[i]);
	free(launch->data_fds);
	for (i = 0; i < 3; i++)
		kg_scope_close_(&launch->stdio[i]);
	kg_scope_close_(&launch->args_fd);
	kg_scope_close_(&launch->seccomp_in);
	kg_scope_close_(&launch->seccomp_out);
	kg_scope_close_(&launch->payload_fd);
	kg_scope_close_(&launch->info_in);
	kg_scope_close_(&launch->info_out);
	kg_scope_close_(&launch->entry_in);
	kg_scope_close_(&launch->entry_out);
	kg_netplan_done(&launch->netplan);
	kg_plan_done(&launch->plan);
	*launch = KG_LAUNCH_INIT;
}
