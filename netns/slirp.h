/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_SLIRP_H
#define KG_NETNS_SLIRP_H

/* Starting slirp4netns against the box's network namespace. */

#include <stdbool.h>

#include "common/error.h"
#include "common/spawn.h"

/**
 * struct kg_slirp - A running slirp4netns
 * @child:	Its process
 * @ready_fd:	Becomes readable with "1" when it has attached; owned
 * @exit_fd:	It ends when this is closed; owned
 * @words_fd:	What it says on standard error; owned, non-blocking
 */
struct kg_slirp {
	struct kg_child child;
	int ready_fd;
	int exit_fd;
	int words_fd;
};

#define KG_SLIRP_INIT                                            \
	((struct kg_slirp){ .child = { .pid = -1, .pidfd = -1 }, \
			    .ready_fd = -1,                      \
			    .exit_fd = -1,                       \
			    .words_fd = -1 })

/**
 * kg_slirp_start() - Start it
 * @path:	Absolute path; borrowed
 * @userns_fd:	User namespace that owns @netns_fd; borrowed
 * @netns_fd:	The box's network namespace; borrowed
 * @ipv6:	Give the box IPv6
 * @ret:	Filled on success; release with kg_slirp_done()
 * @err:	Filled on failure
 *
 * The firewall must be closed already: this makes the link.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_slirp_start(const char *path, int userns_fd, int netns_fd,
				 bool ipv6, struct kg_slirp *ret,
				 struct kg_error *err);

/**
 * kg_slirp_done() - End it and close its descriptors
 * @slirp:	slirp4netns; becomes empty
 */
void kg_slirp_done(struct kg_slirp *slirp);

#endif /* KG_NETNS_SLIRP_H */
