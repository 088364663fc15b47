/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_RESOLVER_H
#define KG_NETNS_RESOLVER_H

/* The role that resolves the listed names and answers the box's DNS. */

#include <sys/types.h>

#include "netns/netplan.h"

/**
 * struct kg_resolver - What the resolver is started with
 * @worker_fd:	Channel to the worker; taken
 * @gate_fd:	Channel to the gate; taken
 * @userns_fd:	User namespace that owns @netns_fd; taken
 * @netns_fd:	The box's network namespace; taken
 * @parent:	The worker's pid
 * @plan:	What is listed; borrowed
 */
struct kg_resolver {
	int worker_fd;
	int gate_fd;
	int userns_fd;
	int netns_fd;
	pid_t parent;
	const struct kg_netplan *plan;
};

/**
 * kg_resolver_main() - Entry function of the resolver
 * @ctx:	struct kg_resolver
 *
 * Role:	KG_ROLE_RESOLVER, once its sockets are made
 * Runs as:	the invoking user
 * Namespaces:	the box's user and network namespace; the host's others
 * Holds:	nothing; its upstream sockets carry KG_DNS_MARK, set before it
 *		dropped CAP_NET_ADMIN
 * Started by:	KG_ROLE_WORKER, after kgate-entry is ready
 *
 * Must:
 *  - make every socket, enter its role and load its seccomp filter before READY
 *  - wait for GO before the first query: no link exists before
 *  - have SYNCED from the gate for every address before it reports
 *    KG_STEP_HOSTS
 * Mustn't:
 *  - send a packet for a name that isn't listed
 *
 * Ends: with the worker; by KG_FRAME_FAILED and status 125 when a listed name
 * has no IPv4 address.
 */
void kg_resolver_main(void *ctx);

#endif /* KG_NETNS_RESOLVER_H */
