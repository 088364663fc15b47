/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_JOIN_H
#define KG_NETNS_JOIN_H

/* Entering the box's namespaces from outside, by descriptor. */

#include <stdbool.h>

#include "common/error.h"

/**
 * kg_join_is_here() - Whether a namespace is the one of this process
 * @fd:		Namespace; borrowed
 * @kind:	"net", "user" and so on, as in /proc/self/ns; borrowed
 *
 * Return: true if it is
 */
bool kg_join_is_here(int fd, const char *kind);

/**
 * kg_join_net() - Enter a network namespace and the user namespace owning it
 * @userns_fd:	User namespace that owns @netns_fd; borrowed
 * @netns_fd:	Network namespace; borrowed
 * @err:	Filled on failure
 *
 * Afterwards the process holds every capability in that user namespace, until
 * it enters a role.  Cannot be undone.  Proves that the namespaces are the ones
 * of the descriptors, and not the ones the process came from.
 *
 * Return: 0, or -1 with KG_E_NETNS
 */
kg_must_check int kg_join_net(int userns_fd, int netns_fd,
			      struct kg_error *err);

#endif /* KG_NETNS_JOIN_H */
