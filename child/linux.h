/* SPDX-License-Identifier: MIT */
#ifndef KG_CHILD_LINUX_H
#define KG_CHILD_LINUX_H

/*
 * The Linux backend's facts: what a policy needs of this machine, looked up
 * cheaply and without starting anything.
 */

#include <stdbool.h>

#include "common/error.h"
#include "common/policy.h"

/**
 * struct kg_linux - What was found
 * @bwrap:	Absolute path; owned
 * @slirp:	Absolute path, NULL when not needed; owned
 * @iptables:	Absolute path, NULL when not needed; owned
 * @ip6tables:	Absolute path, NULL when not needed or not there; owned
 * @entry_fd:	kgate-entry, opened; owned
 * @ipv6:	The box gets IPv6
 */
struct kg_linux {
	char *bwrap;
	char *slirp;
	char *iptables;
	char *ip6tables;
	int entry_fd;
	bool ipv6;
};

#define KG_LINUX_INIT ((struct kg_linux){ .entry_fd = -1 })

/**
 * kg_linux_check_place() - Refuse to start inside a box
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_BACKEND
 */
kg_must_check int kg_linux_check_place(struct kg_error *err);

/**
 * kg_linux_probe() - Look up what a policy needs
 * @policy:	Merged policy; borrowed
 * @ret:	Filled on success; release with kg_linux_done()
 * @err:	Filled on failure
 *
 * A part that the policy doesn't need is not looked for.
 *
 * Return: 0, or -1 with KG_E_BACKEND, KG_E_SYSTEM
 */
kg_must_check int kg_linux_probe(const struct kg_policy *policy,
				 struct kg_linux *ret, struct kg_error *err);

/**
 * kg_linux_done() - Release what was found
 * @facts:	Facts; become empty
 */
void kg_linux_done(struct kg_linux *facts);

#endif /* KG_CHILD_LINUX_H */
