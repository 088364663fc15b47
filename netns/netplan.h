/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_NETPLAN_H
#define KG_NETNS_NETPLAN_H

/*
 * What gate and resolver know of the policy: names with ports, address blocks,
 * and the constants of the guest's network.  Built once from the policy before
 * the box exists; nothing else reaches these roles.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/host.h"
#include "common/policy.h"

/*
 * The guest's network, as slirp4netns lays it out: slirp4netns(1), "--cidr" and
 * "--enable-ipv6".
 */
#define KG_GUEST_LINK	  "tap0"
#define KG_GUEST_ADDR4	  "10.0.2.100"
#define KG_GUEST_GATEWAY4 "10.0.2.2"
#define KG_GUEST_DNS4	  "10.0.2.3"
#define KG_GUEST_ADDR6	  "fd00::100"
#define KG_GUEST_GATEWAY6 "fd00::2"
#define KG_GUEST_DNS6	  "fd00::3"

/* Packet mark of the resolver's own queries: "kgd" in ASCII. */
#define KG_DNS_MARK 0x6b6764

/* Port on the guest's loopback that the guest's DNS is redirected to. */
#define KG_DNS_PORT 16053

/**
 * struct kg_netplan_name - One listed name with its ports
 * @name:	Canonical name
 * @ports:	Ports in host byte order, sorted; owned.  Empty: all but 53, 853
 * @port_count:	How many
 */
struct kg_netplan_name {
	char name[KG_HOST_NAME_BYTES];
	uint16_t *ports;
	size_t port_count;
};

/**
 * struct kg_netplan_block - One listed address or block
 * @block:	Range
 * @port:	Port in host byte order, 0 for all but 53 and 853
 */
struct kg_netplan_block {
	struct kg_block block;
	uint16_t port;
};

/**
 * struct kg_netplan - All of it
 * @names:	Names, sorted, each once; owned
 * @name_count:	How many
 * @blocks:	Blocks; owned
 * @block_count: How many
 * @ipv6:	The box gets IPv6
 */
struct kg_netplan {
	struct kg_netplan_name *names;
	size_t name_count;
	struct kg_netplan_block *blocks;
	size_t block_count;
	bool ipv6;
};

#define KG_NETPLAN_INIT ((struct kg_netplan){ 0 })

/**
 * kg_netplan_build() - Take what the network roles need out of a policy
 * @policy:	Policy; borrowed
 * @ipv6:	Whether the box gets IPv6
 * @ret:	Filled on success; release with kg_netplan_done()
 * @err:	Filled on failure
 *
 * A name listed with and without a port is open on all.  IPv6 blocks are left
 * out when @ipv6 is false.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_netplan_build(const struct kg_policy *policy, bool ipv6,
				   struct kg_netplan *ret,
				   struct kg_error *err);

/**
 * kg_netplan_find() - Look up a name
 * @plan:	Plan; borrowed
 * @name:	Canonical name; borrowed
 *
 * Return: the entry, borrowed from @plan, or NULL
 */
const struct kg_netplan_name *kg_netplan_find(const struct kg_netplan *plan,
					      const char *name);

/**
 * kg_netplan_done() - Release what a plan owns
 * @plan:	Plan; becomes empty
 */
void kg_netplan_done(struct kg_netplan *plan);

#endif /* KG_NETNS_NETPLAN_H */
