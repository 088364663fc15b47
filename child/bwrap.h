/* SPDX-License-Identifier: MIT */
#ifndef KG_CHILD_BWRAP_H
#define KG_CHILD_BWRAP_H

/*
 * bwrap's arguments, built by a pure function, and what it says of its child.
 *
 * Options: bwrap(1) of bubblewrap 0.8.0, the oldest that kgate takes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "child/plan.h"
#include "common/error.h"

/**
 * struct kg_bwrap_options - What the arguments depend on besides the mounts
 * @share_net:	The box keeps the host's network
 * @uid:	User inside, the caller's
 * @gid:	Group inside, the caller's
 * @hostname:	Host name inside; borrowed
 * @chdir:	Working directory inside; borrowed
 * @info_fd:	Where bwrap writes about its child
 * @seccomp_fd:	Where it reads the filter
 * @data_fds:	One for each row of the plan that has a text or is a covered
 *		file, in order; borrowed
 */
struct kg_bwrap_options {
	bool share_net;
	uid_t uid;
	gid_t gid;
	const char *hostname;
	const char *chdir;
	int info_fd;
	int seccomp_fd;
	const int *data_fds;
};

/**
 * struct kg_bwrap_args - Words for --args
 * @bytes:	Words, each with its terminating NUL; owned
 * @len:	Bytes in all
 */
struct kg_bwrap_args {
	char *bytes;
	size_t len;
};

#define KG_BWRAP_ARGS_INIT ((struct kg_bwrap_args){ 0 })

/**
 * kg_bwrap_needs_data() - Whether a row takes a descriptor
 * @mount:	Row; borrowed
 *
 * Return: true for texts and covered files
 */
bool kg_bwrap_needs_data(const struct kg_mount *mount);

/**
 * kg_bwrap_build() - Write the arguments
 * @plan:	Mounts; borrowed
 * @options:	The rest; borrowed
 * @ret:	Filled on success; release with kg_bwrap_args_done()
 * @err:	Filled on failure
 *
 * Everything that goes behind --args; the command isn't part of it.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_bwrap_build(const struct kg_plan *plan,
				 const struct kg_bwrap_options *options,
				 struct kg_bwrap_args *ret,
				 struct kg_error *err);

/**
 * kg_bwrap_args_done() - Release the words
 * @args:	Words; become empty
 */
void kg_bwrap_args_done(struct kg_bwrap_args *args);

/**
 * kg_bwrap_read_info() - Take the child's pid out of what bwrap has written
 * @text:	What has arrived so far; borrowed
 * @len:	Its bytes
 * @ret:	Receives the pid when it is complete
 * @err:	Filled on failure
 *
 * Return: 1 when @ret was filled, 0 when more must come, or -1 with
 *	KG_E_SANDBOX when it can't become right any more
 */
kg_must_check int kg_bwrap_read_info(const char *text, size_t len, pid_t *ret,
				     struct kg_error *err);

#endif /* KG_CHILD_BWRAP_H */
