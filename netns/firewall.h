/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_FIREWALL_H
#define KG_NETNS_FIREWALL_H

/*
 * The box's packet filter: its text, built by a pure function, and its loading
 * by iptables-restore and ip6tables-restore, once, before any link exists.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

/**
 * struct kg_firewall_options - What the text depends on
 * @dns_port:	Port on loopback that the guest's DNS is redirected to
 * @dns_mark:	Packet mark of the resolver's own queries
 * @ipv6:	The box has IPv6; else its rules let only loopback through
 */
struct kg_firewall_options {
	unsigned dns_port;
	unsigned dns_mark;
	bool ipv6;
};

/**
 * kg_firewall_build() - Write the rules of one family
 * @family:	AF_INET or AF_INET6
 * @options:	What they depend on; borrowed
 * @ret:	Receives iptables-restore text; release with free()
 * @err:	Filled on failure
 *
 * Pure.  Every built-in filter chain ends in a rule that drops or refuses all;
 * listed addresses are those in the sets of netns/sets.h.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_firewall_build(int family,
				    const struct kg_firewall_options *options,
				    char **ret, struct kg_error *err);

/**
 * kg_firewall_count_tables() - Tables that a text commits
 * @text:	iptables-restore text; borrowed
 *
 * Return: number of its COMMIT lines
 */
size_t kg_firewall_count_tables(const char *text);

/**
 * struct kg_firewall_load - One run of a restore program
 * @path:	Absolute path of iptables-restore or ip6tables-restore, or NULL
 *		to load nothing for this family; borrowed
 * @text:	Rules; borrowed
 */
struct kg_firewall_load {
	const char *path;
	const char *text;
};

struct kg_firewall_run; /* the restore programs that were started; opaque */

/**
 * kg_firewall_apply() - Load the rules of both families at the same time
 * @loads:	Two loads, IPv4 and IPv6; borrowed
 * @timeout_ms:	Longest wait in milliseconds
 * @ret:	Receives the programs; release with kg_firewall_run_free()
 * @err:	Filled on failure; holds the program's own words
 *
 * For a namespace without rules and without links.  Needs CAP_NET_ADMIN and
 * CAP_NET_RAW.  Returns when every table is committed:
 * for the nf_tables flavour when the kernel has said so by netlink (one
 * NFT_MSG_NEWGEN a table), for the legacy flavour when the program has exited
 * with 0.  A program that exits with another status is a failure at once.
 *
 * Return: 0, or -1 with KG_E_NETNS, KG_E_TIMEOUT, KG_E_SYSTEM
 */
kg_must_check int kg_firewall_apply(const struct kg_firewall_load loads[2],
				    int timeout_ms,
				    struct kg_firewall_run **ret,
				    struct kg_error *err);

/**
 * kg_firewall_run_check() - Reap what has exited, without waiting
 * @run:	Programs; borrowed
 * @err:	Filled on failure
 *
 * Return: 1 when none is left, 0 when one still runs, or -1 with KG_E_NETNS
 *		when one has failed after its commit
 */
kg_must_check int kg_firewall_run_check(struct kg_firewall_run *run,
					struct kg_error *err);

/**
 * kg_firewall_run_fd() - What becomes readable when a program exits
 * @run:	Programs; borrowed
 *
 * Return: a pidfd, borrowed, of one that still runs, or -1
 */
int kg_firewall_run_fd(const struct kg_firewall_run *run);

/**
 * kg_firewall_run_free() - Kill what still runs and free the handle
 * @run:	Programs, or NULL
 */
void kg_firewall_run_free(struct kg_firewall_run *run);

#endif /* KG_NETNS_FIREWALL_H */
