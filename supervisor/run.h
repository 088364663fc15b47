/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_RUN_H
#define KG_SUPERVISOR_RUN_H

/* `kgate run`. */

#include <stdint.h>

#include "supervisor/options.h"

/**
 * kg_run_main() - Launch one command in a box
 * @options:	Command line; borrowed
 * @start_ns:	kg_now_ns() when kgate was entered
 *
 * Role:	KG_ROLE_SUPERVISOR
 * Runs as:	the invoking user
 * Namespaces:	the host's
 * Holds:	what the invoking user holds; no_new_privs
 * Started by:	the user
 *
 * Must:
 *  - have the audit line on disk before it says GO
 *  - end everything it started when a launch fails
 * Mustn't:
 *  - read anything that the box wrote but frames and the streams it relays
 *  - write to standard output
 *
 * Ends: with the command's exit status, or one of its own.
 *
 * Return: the exit status
 */
int kg_run_main(const struct kg_options *options, uint64_t start_ns);

#endif /* KG_SUPERVISOR_RUN_H */
