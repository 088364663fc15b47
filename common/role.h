/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_ROLE_H
#define KG_COMMON_ROLE_H

/*
 * Who a process is and what it may hold.
 *
 * A process enters one role after another and never leaves one.  What a role
 * keeps is a row of the table in role.c, the only file that changes privileges;
 * what was set is read back from the kernel.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

/**
 * enum kg_role - Every kind of process a launch is made of
 * @KG_ROLE_SUPERVISOR:	The program the user starts
 * @KG_ROLE_WORKER:	Builds the chain, outside the box
 * @KG_ROLE_ENTRY:	The first program inside the box
 * @KG_ROLE_GATE_SETUP:	The gate while iptables-restore may still be started
 * @KG_ROLE_GATE:	Owns the firewall of the box
 * @KG_ROLE_RESOLVER:	Answers the box's DNS
 * @KG_ROLE_MOUNTER:	Changes the box's mounts from outside
 */
enum kg_role {
	KG_ROLE_SUPERVISOR,
	KG_ROLE_WORKER,
	KG_ROLE_ENTRY,
	KG_ROLE_GATE_SETUP,
	KG_ROLE_GATE,
	KG_ROLE_RESOLVER,
	KG_ROLE_MOUNTER,

	KG_ROLE_COUNT
};

/**
 * struct kg_role_spec - One row of the table
 * @name:	Process name and name in messages about it
 * @caps:	Bits (KG_BIT64(CAP_X)) of the capabilities it keeps
 * @inherits:	Keeps the capabilities its caller had; @caps is 0
 * @inside:	Lives in the box, whose every set must be empty already
 * @pdeathsig:	Signal it gets when its parent ends, 0 for none
 */
struct kg_role_spec {
	const char *name;
	uint64_t caps;
	bool inherits;
	bool inside;
	int pdeathsig;
};

/**
 * kg_role_spec() - Look up the row of a role
 * @role:	Role, below KG_ROLE_COUNT
 *
 * Return: the row, never NULL
 */
const struct kg_role_spec *kg_role_spec(enum kg_role role);

/**
 * kg_role_enter() - Become a role; cannot be undone
 * @role:	Role to enter
 * @parent:	Process that must still be the parent, 0 to not check
 * @err:	Filled on failure
 *
 * Sets the process name, no_new_privs, the capability sets and the signal for
 * the parent's end, in this order, and reads the capabilities back.  Any other
 * set than @caps in permitted and effective, or a bit in inheritable or
 * ambient, is a failure.  Inside the box the bounding set must be empty too.
 *
 * Return: 0, or -1 with
 *	KG_E_SYSTEM	the kernel refused, or holds something else than was set
 *	KG_E_SANDBOX	the parent has gone
 */
kg_must_check int kg_role_enter(enum kg_role role, pid_t parent,
				struct kg_error *err);

/**
 * kg_role_lend() - Let the next exec keep capabilities that the role has
 * @caps:	Bits of the capabilities
 * @err:	Filled on failure
 *
 * For a freshly forked child that is about to exec a helper program: the
 * capabilities become inheritable and ambient.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_role_lend(uint64_t caps, struct kg_error *err);

/**
 * kg_role_bind_to_parent() - Ask for a signal when the parent ends
 * @sig:	Signal
 * @parent:	Process that must still be the parent
 * @err:	Filled on failure
 *
 * For children that are about to exec a program that has no role of its own.
 *
 * Return: 0, or -1 with KG_E_SYSTEM, KG_E_SANDBOX if the parent has gone
 */
kg_must_check int kg_role_bind_to_parent(int sig, pid_t parent,
					 struct kg_error *err);

/**
 * kg_role_hide() - Make the process undumpable: no core, no ptrace by its peers
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_role_hide(struct kg_error *err);

#endif /* KG_COMMON_ROLE_H */
