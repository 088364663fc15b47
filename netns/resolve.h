/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_RESOLVE_H
#define KG_NETNS_RESOLVE_H

/*
 * The resolution of a plan's names at the start: all at once, over a fixed pool
 * of sockets, with all memory taken before the first packet.
 *
 * A name is asked for by UDP, again and again until the deadline, and by TCP
 * when the answer says that it is truncated.  Aliases (CNAME) are followed
 * inside an answer and, where an answer ends with one, by another question.
 * Negative answers are told apart by RFC 2308, section 2.
 */

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "netns/dns.h"
#include "netns/netplan.h"

/* Most addresses that are kept for a name in one family. */
#define KG_RESOLVE_ADDRS 64

struct kg_resolve; /* sockets, questions under way, results; opaque */

/**
 * struct kg_resolve_options - How to run
 * @upstream:	Address and port of the DNS server
 * @timeout_ms:	Longest time for all names together
 * @stop_fd:	Descriptor whose becoming readable ends the run, or -1
 */
struct kg_resolve_options {
	struct sockaddr_in upstream;
	int timeout_ms;
	int stop_fd;
};

/**
 * kg_resolve_open() - Make the sockets and take the memory
 * @plan:	Names, and whether IPv6 addresses are wanted; borrowed until
 *		kg_resolve_close()
 * @mark:	Packet mark of the sockets, 0 for none
 * @ret:	Receives the handle; release with kg_resolve_close()
 * @err:	Filled on failure
 *
 * A mark needs CAP_NET_ADMIN in the user namespace that owns the network
 * namespace.  The sockets are not connected yet: no link needs to exist.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_resolve_open(const struct kg_netplan *plan, uint32_t mark,
				  struct kg_resolve **ret,
				  struct kg_error *err);

/**
 * kg_resolve_run() - Resolve every name of the plan
 * @resolve:	Handle; borrowed
 * @options:	How; borrowed
 * @err:	Filled on failure
 *
 * Addresses that kg_host_is_reserved() are dropped.  Ends at the first name
 * that certainly has no usable IPv4 address; a missing IPv6 address is no
 * failure.  Makes no sockets and allocates nothing.
 *
 * Return: 0, or -1 with
 *	KG_E_RESOLVE	a name has no usable IPv4 address; the message names it
 *	KG_E_NETNS	no route to the DNS server
 *	KG_E_SANDBOX	@stop_fd became readable
 *	KG_E_SYSTEM	no random numbers, or poll() failed
 */
kg_must_check int kg_resolve_run(struct kg_resolve *resolve,
				 const struct kg_resolve_options *options,
				 struct kg_error *err);

/**
 * kg_resolve_addrs() - Addresses of a name
 * @resolve:	Handle; borrowed
 * @index:	Index of the name in the plan
 * @family:	AF_INET or AF_INET6
 * @ret_count:	Receives their number, at most KG_RESOLVE_ADDRS
 *
 * Return: the addresses, each once, borrowed from @resolve
 */
const struct kg_dns_addr *kg_resolve_addrs(const struct kg_resolve *resolve,
					   size_t index, int family,
					   size_t *ret_count);

/**
 * kg_resolve_disarm() - Close the sockets and keep the addresses
 * @resolve:	Handle; borrowed
 *
 * From here on nothing can be asked, whoever gets hold of the process.
 */
void kg_resolve_disarm(struct kg_resolve *resolve);

/**
 * kg_resolve_close() - Close the sockets and free the handle
 * @resolve:	Handle, or NULL
 */
void kg_resolve_close(struct kg_resolve *resolve);

#endif /* KG_NETNS_RESOLVE_H */
