/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_LINK_H
#define KG_NETNS_LINK_H

/*
 * The box's interface, address and route, seen and set through rtnetlink
 * (libnl-route-3).  Acts on the network namespace of the calling process.
 */

#include <stdbool.h>

#include "common/error.h"

struct kg_link; /* a netlink socket that hears changes; opaque */

/**
 * kg_link_open() - Open a netlink socket that hears links, addresses and routes
 * @ret:	Receives the handle; release with kg_link_close()
 * @err:	Filled on failure
 *
 * Open it before the interface can appear: what happens from now on is heard.
 *
 * Return: 0, or -1 with KG_E_NETNS
 */
kg_must_check int kg_link_open(struct kg_link **ret, struct kg_error *err);

/**
 * kg_link_close() - Close the socket and free the handle
 * @link:	Handle, or NULL
 */
void kg_link_close(struct kg_link *link);

/**
 * kg_link_wait_guest() - Wait until the guest's IPv4 side stands
 * @link:	Handle; borrowed
 * @timeout_ms:	Longest wait in milliseconds
 * @ret_index:	Receives the kernel's interface index, above 0
 * @err:	Filled on failure
 *
 * KG_GUEST_ADDR4 on KG_GUEST_LINK, the link up, and a default route through it.
 * Waits for the kernel's notifications and does not poll.
 *
 * Return: 0, or -1 with KG_E_TIMEOUT, KG_E_NETNS
 */
kg_must_check int kg_link_wait_guest(struct kg_link *link, int timeout_ms,
				     int *ret_index, struct kg_error *err);

/**
 * kg_link_add_ipv6() - Give the guest its static IPv6 address and default route
 * @link:	Handle; borrowed
 * @index:	Interface index from kg_link_wait_guest()
 * @err:	Filled on failure
 *
 * KG_GUEST_ADDR6/64 without duplicate address detection, default route through
 * KG_GUEST_GATEWAY6.  Needs CAP_NET_ADMIN.  Returns when packets to the address
 * are taken in: at most KG_WAIT_LINK later.
 *
 * Return: 0, or -1 with KG_E_TIMEOUT, KG_E_NETNS
 */
kg_must_check int kg_link_add_ipv6(struct kg_link *link, int index,
				   struct kg_error *err);

/**
 * kg_link_has_ipv6_route() - Whether this namespace has an IPv6 default route
 * @ret:	Filled on success
 * @err:	Filled on failure
 *
 * For the host's namespace: whether a box may get IPv6 at all.
 *
 * Return: 0, or -1 with KG_E_NETNS
 */
kg_must_check int kg_link_has_ipv6_route(bool *ret, struct kg_error *err);

#endif /* KG_NETNS_LINK_H */
