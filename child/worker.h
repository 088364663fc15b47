/* SPDX-License-Identifier: MIT */
#ifndef KG_CHILD_WORKER_H
#define KG_CHILD_WORKER_H

/* The role that builds the chain and attends it until the command's end. */

#include <stdbool.h>
#include <sys/types.h>

#include "child/launch.h"

/**
 * struct kg_worker_context - What the worker is started with
 * @launch:		Built launch; the worker's copy is taken
 * @supervisor_fd:	Channel to the supervisor; taken
 * @parent:		The supervisor's pid
 * @trace:		Tell the supervisor when each step is reached
 */
struct kg_worker_context {
	struct kg_launch *launch;
	int supervisor_fd;
	pid_t parent;
	bool trace;
};

/**
 * kg_worker_main() - Entry function of the worker
 * @ctx:	struct kg_worker_context
 *
 * Role:	KG_ROLE_WORKER
 * Runs as:	the invoking user, in a session of its own
 * Namespaces:	the host's
 * Holds:	what the invoking user holds (bwrap, started by uid 0, needs
 *		capabilities to make a user namespace); no_new_privs
 * Started by:	KG_ROLE_SUPERVISOR, after the audit line is written
 *
 * Must:
 *  - have closed rules in the box before slirp4netns starts
 *  - send GO only when the box is complete and the supervisor has said GO
 *  - leave no process of the box behind when it reports EXITED
 * Mustn't:
 *  - have a descriptor of the audit log, a policy file or the caller
 *
 * Ends: after KG_FRAME_EXITED or KG_FRAME_FAILED; with the supervisor.
 */
void kg_worker_main(void *ctx);

#endif /* KG_CHILD_WORKER_H */
