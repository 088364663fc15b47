/* SPDX-License-Identifier: MIT */
#ifndef KG_CHILD_BOXFILES_H
#define KG_CHILD_BOXFILES_H

/* The files that the box has of its own, as pure functions. */

#include <stdbool.h>

#include "common/error.h"
#include "common/policy.h"

/* Says to kgate, inside, that this is a box. */
#define KG_BOX_MARKER "/run/.kgate"

/**
 * kg_boxfiles_hosts() - Text of the box's /etc/hosts
 * @hostname:	The host's name, which the box keeps; borrowed
 * @ret:	Receives the text; release with free()
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_boxfiles_hosts(const char *hostname, char **ret,
				    struct kg_error *err);

/**
 * kg_boxfiles_resolv() - Text of the box's /etc/resolv.conf
 * @network_box:	The box has a resolver
 * @ipv6:		The box has IPv6
 *
 * No search domains.  Without a resolver no name server: the C library then
 * asks loopback, where nobody listens, and fails at once.
 *
 * Return: the text, static
 */
const char *kg_boxfiles_resolv(bool network_box, bool ipv6);

/**
 * kg_boxfiles_marker() - Text of KG_BOX_MARKER
 *
 * Return: the text, static
 */
const char *kg_boxfiles_marker(void);

#endif /* KG_CHILD_BOXFILES_H */
