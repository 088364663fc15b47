/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_CHECK_H
#define KG_SUPERVISOR_CHECK_H

/*
 * The command check: whether a command line runs a denied program.
 *
 * A fast and clear answer, not the boundary.  It follows the command line
 * through wrappers, shells and one-line scripts as far as they can be read;
 * what only a run can tell is left to the covers in the box.  In doubt a word
 * counts only in command position: a command line may mention a denied name.
 */

#include <stddef.h>

#include "common/error.h"

/**
 * struct kg_check_rule - One entry of `deny_exec`
 * @text:	Name of a program, or a path when it has a slash; borrowed
 * @origin:	Caller's number for where the entry stands
 */
struct kg_check_rule {
	const char *text;
	size_t origin;
};

/**
 * struct kg_check_rules - What is denied
 * @at:		Entries; borrowed
 * @count:	How many
 * @home:	What ~ stands for, or NULL; borrowed
 */
struct kg_check_rules {
	const struct kg_check_rule *at;
	size_t count;
	const char *home;
};

/**
 * struct kg_check_hit - The rule that refused a command line
 * @rule:	Index of the entry
 * @text:	Its text; borrowed from the rules
 * @origin:	Its origin
 */
struct kg_check_hit {
	size_t rule;
	const char *text;
	size_t origin;
};

/**
 * kg_check_command() - Look whether a command line runs a denied program
 * @rules:	What is denied; borrowed
 * @argv:	The command, ended by NULL; borrowed
 * @path_env:	PATH of the caller, or NULL; borrowed
 * @ret_hit:	Filled with KG_E_POLICY
 * @err:	Filled on failure; names the program and the rule's text
 *
 * Reads files that the command line names, and runs nothing.
 *
 * Return: 0, or -1 with
 *	KG_E_POLICY	a rule denies it
 *	KG_E_LIMIT	it is nested deeper, or longer, than is read
 *	KG_E_SYSTEM	out of memory
 */
kg_must_check int kg_check_command(const struct kg_check_rules *rules,
				   char *const *argv, const char *path_env,
				   struct kg_check_hit *ret_hit,
				   struct kg_error *err);

#endif /* KG_SUPERVISOR_CHECK_H */
