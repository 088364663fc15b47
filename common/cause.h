/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_CAUSE_H
#define KG_COMMON_CAUSE_H

/*
 * Why a policy can't be enforced on this machine: one table of sentences and
 * next steps.  No such sentence stands anywhere else.
 */

#include "common/error.h"

/**
 * enum kg_cause - One reason
 * @KG_CAUSE_BWRAP_MISSING:	bwrap is nowhere in the safe path
 * @KG_CAUSE_BWRAP_UNUSABLE:	bwrap is there, but can't be executed
 * @KG_CAUSE_SLIRP_MISSING:	slirp4netns is nowhere in the safe path
 * @KG_CAUSE_SLIRP_UNUSABLE:	slirp4netns is there, but can't be executed
 * @KG_CAUSE_IPTABLES_MISSING:	iptables-restore is nowhere in the safe path
 * @KG_CAUSE_IPTABLES_UNUSABLE:	iptables-restore is there, but can't be executed
 * @KG_CAUSE_TUN:		/dev/net/tun can't be opened
 * @KG_CAUSE_IP_SET:		The kernel has no ip_set
 * @KG_CAUSE_ENTRY_MISSING:	kgate-entry isn't installed beside kgate
 * @KG_CAUSE_NESTED:		kgate runs inside a box already
 * @KG_CAUSE_CEILING:		/etc/kgate/policy.yaml exists
 * @KG_CAUSE_PROJECT_FILE:	A .kgate.yaml exists
 */
enum kg_cause {
	KG_CAUSE_BWRAP_MISSING,
	KG_CAUSE_BWRAP_UNUSABLE,
	KG_CAUSE_SLIRP_MISSING,
	KG_CAUSE_SLIRP_UNUSABLE,
	KG_CAUSE_IPTABLES_MISSING,
	KG_CAUSE_IPTABLES_UNUSABLE,
	KG_CAUSE_TUN,
	KG_CAUSE_IP_SET,
	KG_CAUSE_ENTRY_MISSING,
	KG_CAUSE_NESTED,
	KG_CAUSE_CEILING,
	KG_CAUSE_PROJECT_FILE,

	KG_CAUSE_COUNT
};

/**
 * struct kg_cause_row - What a user is told
 * @sentence:	What is wrong; lower case, no full stop
 * @next:	What to do about it
 */
struct kg_cause_row {
	const char *sentence;
	const char *next;
};

/**
 * kg_cause_row() - Look up a cause
 * @cause:	Cause, below KG_CAUSE_COUNT
 *
 * Return: its row, never NULL
 */
const struct kg_cause_row *kg_cause_row(enum kg_cause cause);

/**
 * kg_cause_fail() - Turn a cause into an error
 * @err:	Error to fill; code KG_E_BACKEND
 * @cause:	Cause
 * @errnum:	Saved errno, or 0
 * @found:	What was found where (a path, a version), or NULL; borrowed
 *
 * Return: -1, always
 */
int kg_cause_fail(struct kg_error *err, enum kg_cause cause, int errnum,
		  const char *found);

#endif /* KG_COMMON_CAUSE_H */
