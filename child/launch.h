/* SPDX-License-Identifier: MIT */
#ifndef KG_CHILD_LAUNCH_H
#define KG_CHILD_LAUNCH_H

/*
 * Everything that one launch needs, built before anything is started: mounts,
 * bwrap's arguments, the command, the filter, and the descriptors they are
 * passed by.  The worker only carries it out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "child/bwrap.h"
#include "child/linux.h"
#include "child/payload.h"
#include "child/plan.h"
#include "common/error.h"
#include "common/policy.h"
#include "netns/netplan.h"

/**
 * struct kg_launch_input - What a launch is built from
 * @policy:	Merged policy, paths resolved; borrowed
 * @facts:	What was found on this machine; borrowed
 * @argv:	The command, NULL at the end; borrowed
 * @envp:	Its environment, NULL at the end; borrowed
 * @project:	Working directory, real path; borrowed
 * @homes:	Directories to hide, real paths, sorted, NULL at the
 *		end; borrowed
 * @state:	Signals, streams and project, for the payload
 */
struct kg_launch_input {
	const struct kg_policy *policy;
	const struct kg_linux *facts;
	char *const *argv;
	char *const *envp;
	const char *project;
	const char *const *homes;
	struct kg_payload_head state;
};

/**
 * struct kg_launch - A launch, built
 * @facts:		Borrowed from the input
 * @plan:		Mounts; owned
 * @netplan:		What gate and resolver know; owned
 * @network_box:	The launch has gate, resolver and slirp4netns
 * @args_fd:		bwrap's arguments; owned
 * @seccomp_in:		Where bwrap reads the box's filter; owned
 * @seccomp_out:	Where kg_launch_write_filter() writes it; owned
 * @payload_fd:		The command; owned
 * @info_in:		Where bwrap's words about its child arrive; owned
 * @info_out:		Where bwrap writes them; owned
 * @entry_in:		The worker's end of the channel to kgate-entry; owned
 * @entry_out:		kgate-entry's end; owned
 * @data_fds:		Texts of the plan's rows; owned
 * @data_count:		How many
 * @stdio:		Descriptors 0 to 2 of bwrap and the command; owned
 */
struct kg_launch {
	const struct kg_linux *facts;
	struct kg_plan plan;
	struct kg_netplan netplan;
	bool network_box;
	int args_fd;
	int seccomp_in;
	int seccomp_out;
	int payload_fd;
	int info_in;
	int info_out;
	int entry_in;
	int entry_out;
	int *data_fds;
	size_t data_count;
	int stdio[3];
};

#define KG_LAUNCH_INIT                          \
	((struct kg_launch){ .args_fd = -1,     \
			     .seccomp_in = -1,  \
			     .seccomp_out = -1, \
			     .payload_fd = -1,  \
			     .info_in = -1,     \
			     .info_out = -1,    \
			     .entry_in = -1,    \
			     .entry_out = -1,   \
			     .stdio = { -1, -1, -1 } })

/**
 * kg_launch_build() - Build a launch
 * @input:	What it depends on; borrowed
 * @ret:	Filled on success; release with kg_launch_done()
 * @err:	Filled on failure
 *
 * The caller fills @ret->stdio afterwards.
 *
 * Return: 0, or -1 with KG_E_SYSTEM, KG_E_LIMIT
 */
kg_must_check int kg_launch_build(const struct kg_launch_input *input,
				  struct kg_launch *ret, struct kg_error *err);

/**
 * kg_launch_write_filter() - Give bwrap the box's filter
 * @launch:	Launch, whose write end is closed; borrowed
 * @err:	Filled on failure
 *
 * For the time while bwrap starts, which waits for it.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_launch_write_filter(struct kg_launch *launch,
					 struct kg_error *err);

/**
 * kg_launch_done() - Release what a launch owns
 * @launch:	Launch; becomes empty
 */
void kg_launch_done(struct kg_launch *launch);

#endif /* KG_CHILD_LAUNCH_H */
