/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_SETS_H
#define KG_NETNS_SETS_H

/*
 * The firewall's address sets, kept in the kernel (ip_set) and filled by
 * netlink, without the ipset program.
 *
 * Everything here acts on the network namespace of the calling process and
 * needs CAP_NET_ADMIN in the user namespace that owns it: the gate's job.
 * Protocol: Linux, include/uapi/linux/netfilter/ipset/ip_set.h.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/host.h"

/**
 * enum kg_set - The sets of one family
 * @KG_SET_ADDR:	hash:ip, every port
 * @KG_SET_ADDR_PORT:	hash:ip,port, one port, TCP and UDP
 * @KG_SET_BLOCK:	hash:net, every port
 * @KG_SET_BLOCK_PORT:	hash:net,port, one port, TCP and UDP
 */
enum kg_set {
	KG_SET_ADDR,
	KG_SET_ADDR_PORT,
	KG_SET_BLOCK,
	KG_SET_BLOCK_PORT,

	KG_SET_COUNT
};

struct kg_sets; /* a netlink socket; opaque */

/**
 * kg_sets_name() - Name of a set in the kernel and in the rule text
 * @family:	AF_INET or AF_INET6
 * @set:	Set, below KG_SET_COUNT
 *
 * Return: at most 31 bytes, never NULL
 */
const char *kg_sets_name(int family, enum kg_set set);

/**
 * kg_sets_open() - Open the netlink socket
 * @ret:	Receives the handle; release with kg_sets_close()
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_NETNS
 */
kg_must_check int kg_sets_open(struct kg_sets **ret, struct kg_error *err);

/**
 * kg_sets_close() - Close the socket; the sets stay
 * @sets:	Handle, or NULL
 */
void kg_sets_close(struct kg_sets *sets);

/**
 * kg_sets_create() - Make the empty sets of one family
 * @sets:	Handle; borrowed
 * @family:	AF_INET or AF_INET6
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_BACKEND (KG_CAUSE_IP_SET) where the kernel has no
 *	ip_set, KG_E_NETNS otherwise
 */
kg_must_check int kg_sets_create(struct kg_sets *sets, int family,
				 struct kg_error *err);

/**
 * kg_sets_add() - Queue one address or block
 * @sets:	Handle; borrowed
 * @block:	Address (prefix 32 or 128) or block; borrowed
 * @port:	Port in host byte order, 0 for every port
 * @ttl_s:	Seconds it stays, 0 for ever, cut by the kernel at some 24 days;
 *		blocks ignore it
 * @err:	Filled on failure
 *
 * An address that is there already is refreshed.  Nothing is in force before
 * kg_sets_flush() has returned.
 *
 * Return: 0, or -1 with KG_E_NETNS
 */
kg_must_check int kg_sets_add(struct kg_sets *sets,
			      const struct kg_block *block, uint16_t port,
			      uint32_t ttl_s, struct kg_error *err);

/**
 * kg_sets_flush() - Send what is queued and wait for the kernel's answers
 * @sets:	Handle; borrowed
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_NETNS
 */
kg_must_check int kg_sets_flush(struct kg_sets *sets, struct kg_error *err);

/**
 * kg_sets_explain_absence() - What a refused question for a type of set means
 * @refusal:	The kernel's answer as a positive number: errno, or enum
 *		ipset_errno
 * @type:	Type that was asked for; borrowed
 * @err:	Error to fill
 *
 * Pure.  KG_E_BACKEND (KG_CAUSE_IP_SET) where the kernel has no ip_set or no
 * such type, KG_E_NETNS for any other answer.
 *
 * Return: -1, always
 */
int kg_sets_explain_absence(int refusal, const char *type,
			    struct kg_error *err);

#endif /* KG_NETNS_SETS_H */
