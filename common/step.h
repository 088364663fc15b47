/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_STEP_H
#define KG_COMMON_STEP_H

/*
 * The steps of a launch and how long each may take: one table for deadlines,
 * for the name of what hangs, and for --trace.
 */

#include <stdbool.h>
#include <stdint.h>

/**
 * enum kg_step - A point that a launch passes, in order
 * @KG_STEP_START:	main() was entered
 * @KG_STEP_POLICY:	Policy is merged, the working directory checked
 * @KG_STEP_PLAN:	Mounts and bwrap's arguments are built
 * @KG_STEP_AUDIT:	The launch line is written (not yet synced)
 * @KG_STEP_SYNCED:	The launch line is on disk
 * @KG_STEP_INFO:	bwrap has said its child's pid
 * @KG_STEP_ENTRY:	kgate-entry is ready inside
 * @KG_STEP_RULES:	The firewall is closed, in both families
 * @KG_STEP_SLIRP:	slirp4netns says that it is ready
 * @KG_STEP_LINK:	tap0 has its address and the default route stands
 * @KG_STEP_HOSTS:	Every listed name is resolved and open
 * @KG_STEP_CHAIN:	The box is complete
 * @KG_STEP_GO:		GO was sent
 * @KG_STEP_STARTED:	The command's exec has succeeded
 * @KG_STEP_EXITED:	The command ended
 * @KG_STEP_BOX_GONE:	No process of the box is left
 * @KG_STEP_END:	Everything it wrote is relayed
 */
enum kg_step {
	KG_STEP_START,
	KG_STEP_POLICY,
	KG_STEP_PLAN,
	KG_STEP_AUDIT,
	KG_STEP_SYNCED,
	KG_STEP_INFO,
	KG_STEP_ENTRY,
	KG_STEP_RULES,
	KG_STEP_SLIRP,
	KG_STEP_LINK,
	KG_STEP_HOSTS,
	KG_STEP_CHAIN,
	KG_STEP_GO,
	KG_STEP_STARTED,
	KG_STEP_EXITED,
	KG_STEP_BOX_GONE,
	KG_STEP_END,

	KG_STEP_COUNT
};

/**
 * enum kg_wait - Everything that a launch waits for, with a deadline each
 * @KG_WAIT_PEER:	Room in a channel to another process of kgate
 * @KG_WAIT_LOCK:	The lock of the audit log
 * @KG_WAIT_INFO:	bwrap's information about its child
 * @KG_WAIT_ENTRY:	kgate-entry's first word
 * @KG_WAIT_RULES:	The firewall's commit, seen from the gate
 * @KG_WAIT_RULES_END:	The end of the restore programs after their commit
 * @KG_WAIT_GATE:	The gate's word that it is closed, seen from the worker
 * @KG_WAIT_RESOLVER:	The resolver's word that its sockets are made
 * @KG_WAIT_SLIRP:	slirp4netns' word that it is ready
 * @KG_WAIT_LINK:	tap0's address and route
 * @KG_WAIT_HOSTS:	The addresses of all listed names, seen from the
 * resolver
 * @KG_WAIT_OPEN:	The same, seen from the worker
 * @KG_WAIT_COMMIT:	The supervisor's word that the audit line is on disk
 * @KG_WAIT_STARTED:	The command's exec after GO
 * @KG_WAIT_LAUNCH:	The launch as a whole, seen from the supervisor
 * @KG_WAIT_END:	The end of the box's processes after the command's
 * @KG_WAIT_LAST_WORDS:	A failed helper's end after its last word
 * @KG_WAIT_GRACE:	A command's end after SIGTERM by --timeout
 * @KG_WAIT_SECOND_SIGNAL: A second SIGINT or SIGTERM within this time kills
 */
enum kg_wait {
	KG_WAIT_PEER,
	KG_WAIT_LOCK,
	KG_WAIT_INFO,
	KG_WAIT_ENTRY,
	KG_WAIT_RULES,
	KG_WAIT_RULES_END,
	KG_WAIT_GATE,
	KG_WAIT_RESOLVER,
	KG_WAIT_SLIRP,
	KG_WAIT_LINK,
	KG_WAIT_HOSTS,
	KG_WAIT_OPEN,
	KG_WAIT_COMMIT,
	KG_WAIT_STARTED,
	KG_WAIT_LAUNCH,
	KG_WAIT_END,
	KG_WAIT_LAST_WORDS,
	KG_WAIT_GRACE,
	KG_WAIT_SECOND_SIGNAL,

	KG_WAIT_COUNT
};

/**
 * kg_step_name() - Name of a step, as --trace prints it
 * @step:	Step, below KG_STEP_COUNT
 *
 * Return: a few words, never NULL
 */
const char *kg_step_name(enum kg_step step);

/**
 * kg_wait_ms() - Deadline of a wait
 * @wait:	Wait, below KG_WAIT_COUNT
 *
 * Return: milliseconds, above 0
 */
int kg_wait_ms(enum kg_wait wait);

/**
 * kg_wait_name() - What is being waited for, for messages
 * @wait:	Wait, below KG_WAIT_COUNT
 *
 * Return: a phrase that follows "waiting for", never NULL
 */
const char *kg_wait_name(enum kg_wait wait);

/**
 * kg_now_ns() - The monotonic clock
 *
 * Return: CLOCK_MONOTONIC in nanoseconds
 */
uint64_t kg_now_ns(void);

/**
 * kg_deadline_ms() - Milliseconds left of a wait that began earlier
 * @since_ns:	kg_now_ns() at its begin
 * @wait:	Which wait
 *
 * Return: 0 to kg_wait_ms(@wait); for poll()
 */
int kg_deadline_ms(uint64_t since_ns, enum kg_wait wait);

#endif /* KG_COMMON_STEP_H */
