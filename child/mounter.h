/* SPDX-License-Identifier: MIT */
#ifndef KG_CHILD_MOUNTER_H
#define KG_CHILD_MOUNTER_H

/* The role that changes the box's mounts from outside, where bwrap can't. */

#include <sys/types.h>

/**
 * struct kg_mounter - What the mounter is started with
 * @userns_fd:	User namespace that owns @mntns_fd; taken
 * @mntns_fd:	The box's mount namespace; taken
 * @parent:	The worker's pid
 */
struct kg_mounter {
	int userns_fd;
	int mntns_fd;
	pid_t parent;
};

/**
 * kg_mounter_main() - Entry function of the mounter
 * @ctx:	struct kg_mounter
 *
 * The device nodes in the box are the host's own, and uid 0 is their owner:
 * with their mounts read-only they still work, but their modes can't be
 * changed.
 *
 * Role:	KG_ROLE_MOUNTER
 * Runs as:	uid 0, the invoking user; for nobody else is it started
 * Namespaces:	the box's user and mount namespace; the host's others
 * Holds:	CAP_SYS_ADMIN over the box's mounts
 * Started by:	KG_ROLE_WORKER, after kgate-entry is ready
 *
 * Must:
 *  - have ended before the worker sends GO
 * Mustn't:
 *  - read anything that the box could have written
 *
 * Ends: with status 0 when all is sealed, or with an errno.
 */
void kg_mounter_main(void *ctx);

#endif /* KG_CHILD_MOUNTER_H */
