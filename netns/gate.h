/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_GATE_H
#define KG_NETNS_GATE_H

/* The role that owns the box's firewall and its address sets. */

#include <sys/types.h>

#include "netns/netplan.h"

/**
 * struct kg_gate - What the gate is started with
 * @worker_fd:		Channel to the worker; taken
 * @resolver_fd:	Channel to the resolver, or -1; taken
 * @userns_fd:		User namespace that owns @netns_fd; taken
 * @netns_fd:		The box's network namespace; taken
 * @parent:		The worker's pid
 * @plan:		What is listed; borrowed
 * @iptables:		Absolute path of iptables-restore; borrowed
 * @ip6tables:		Absolute path of ip6tables-restore, or NULL; borrowed
 */
struct kg_gate {
	int worker_fd;
	int resolver_fd;
	int userns_fd;
	int netns_fd;
	pid_t parent;
	const struct kg_netplan *plan;
	const char *iptables;
	const char *ip6tables;
};

/**
 * kg_gate_main() - Entry function of the gate
 * @ctx:	struct kg_gate
 *
 * Role:	KG_ROLE_GATE_SETUP until the rules are in, then KG_ROLE_GATE
 * Runs as:	the invoking user
 * Namespaces:	the box's user and network namespace; the host's others
 * Holds:	CAP_NET_ADMIN over the box's network namespace; CAP_NET_RAW as
 *		well while iptables-restore may be started
 * Started by:	KG_ROLE_WORKER, after kgate-entry is ready
 *
 * Must:
 *  - have loaded closed rules in every family before it says READY: only then
 *    does the worker start slirp4netns
 *  - have an address in force before it says SYNCED
 * Mustn't:
 *  - read anything from the box: it hears fixed-size frames of the resolver
 *  - change a rule, or start a program, after READY; its filter forbids the
 *    latter before the command exists
 *
 * Ends: with the worker, by KG_FRAME_FAILED and status 125 on a failure.
 */
void kg_gate_main(void *ctx);

#endif /* KG_NETNS_GATE_H */
