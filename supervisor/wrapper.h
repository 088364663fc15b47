/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_WRAPPER_H
#define KG_SUPERVISOR_WRAPPER_H

/*
 * Programs that run what their command line says: a table of how each takes
 * its options and where the inner command begins.  Pure data.
 */

#include <stdbool.h>
#include <stddef.h>

/**
 * enum kg_wrapper_inner - What the operands of a program are
 * @KG_WRAPPER_NONE:	Nothing that runs
 * @KG_WRAPPER_COMMAND:	A command and its arguments
 * @KG_WRAPPER_SCRIPT:	Shell text once they are joined
 * @KG_WRAPPER_SCRIPTS:	Shell text each
 * @KG_WRAPPER_SHELL:	Those of a POSIX shell: shell text first, with -c
 * @KG_WRAPPER_CODE:	A one-line script first, in a language of its own
 * @KG_WRAPPER_PARALLEL: Shell text up to ::: when they are joined
 * @KG_WRAPPER_GIT:	A subcommand, which has a row of its own: git-NAME
 */
enum kg_wrapper_inner {
	KG_WRAPPER_NONE,
	KG_WRAPPER_COMMAND,
	KG_WRAPPER_SCRIPT,
	KG_WRAPPER_SCRIPTS,
	KG_WRAPPER_SHELL,
	KG_WRAPPER_CODE,
	KG_WRAPPER_PARALLEL,
	KG_WRAPPER_GIT,
};

/**
 * enum kg_wrapper_flag - How a program reads its command line; a set
 * @KG_WRAPPER_ASSIGNS:	Operands NAME=VALUE are variables
 * @KG_WRAPPER_PERMUTES: Options may follow operands
 * @KG_WRAPPER_ONE_DASH: Long options have one dash
 * @KG_WRAPPER_DASH:	A lone dash is an option
 */
enum kg_wrapper_flag {
	KG_WRAPPER_ASSIGNS = 1 << 0,
	KG_WRAPPER_PERMUTES = 1 << 1,
	KG_WRAPPER_ONE_DASH = 1 << 2,
	KG_WRAPPER_DASH = 1 << 3,
};

/**
 * enum kg_wrapper_option - What an option of a program means here
 * @KG_WRAPPER_PLAIN:	It has no argument, or one that never stands alone
 * @KG_WRAPPER_ATTACHED: The rest of its word is its argument
 * @KG_WRAPPER_VALUE:	It has an argument, which nothing runs
 * @KG_WRAPPER_SHELL_TEXT: Its argument is shell text, or names a program
 * @KG_WRAPPER_ONE_LINER: Its argument is a script in the program's language
 * @KG_WRAPPER_SETTING:	Its argument is KEY=VALUE; see kg_wrapper_runs_key()
 * @KG_WRAPPER_SPLIT:	Its argument is more of the command line
 * @KG_WRAPPER_QUIET:	With it nothing on the command line runs
 * @KG_WRAPPER_REST:	All that follows is a command
 * @KG_WRAPPER_UNTIL:	What follows is a command, up to ; or +
 */
enum kg_wrapper_option {
	KG_WRAPPER_PLAIN = 0,
	KG_WRAPPER_ATTACHED = '?',
	KG_WRAPPER_VALUE = ':',
	KG_WRAPPER_SHELL_TEXT = '$',
	KG_WRAPPER_ONE_LINER = '=',
	KG_WRAPPER_SETTING = '@',
	KG_WRAPPER_SPLIT = '%',
	KG_WRAPPER_QUIET = '!',
	KG_WRAPPER_REST = '>',
	KG_WRAPPER_UNTIL = '&',
};

/**
 * struct kg_wrapper - One program, or several that read alike
 * @names:	Their names, separated by blanks; patterns are allowed
 * @options:	Options other than plain ones, each a name and the character of
 *		enum kg_wrapper_option, separated by blanks
 * @inner:	What its operands are
 * @flags:	Set of enum kg_wrapper_flag
 * @operands:	How many operands come before the inner command
 * @first:	Words, separated by blanks, one of which comes before anything
 *		runs; NULL for none
 */
struct kg_wrapper {
	const char *names;
	const char *options;
	enum kg_wrapper_inner inner;
	unsigned flags;
	unsigned operands;
	const char *first;
};

/**
 * kg_wrapper_find() - Look a program up
 * @name:	Name without a path; borrowed.  A version behind it doesn't
 *		matter
 *
 * Return: its row, or NULL
 */
const struct kg_wrapper *kg_wrapper_find(const char *name);

/**
 * kg_wrapper_option() - Look an option up
 * @row:	Row; borrowed
 * @name:	Name without dashes; a long one may be abbreviated; borrowed
 * @len:	Its length
 *
 * Return: what it means
 */
enum kg_wrapper_option kg_wrapper_option(const struct kg_wrapper *row,
					 const char *name, size_t len);

/**
 * kg_wrapper_expects() - Whether a word is one that has to come first
 * @row:	Row with such words; borrowed
 * @word:	Word; borrowed
 *
 * Return: true if it is
 */
bool kg_wrapper_expects(const struct kg_wrapper *row, const char *word);

/**
 * kg_wrapper_runs_key() - Whether a setting's value is run
 * @key:	Name of the setting, in any case; borrowed
 * @len:	Its length
 *
 * Return: true if it is
 */
bool kg_wrapper_runs_key(const char *key, size_t len);

/**
 * kg_wrapper_runs_variable() - Whether a variable's value is run
 * @name:	Name of the variable; borrowed
 * @len:	Its length
 *
 * Return: true if common programs run it
 */
bool kg_wrapper_runs_variable(const char *name, size_t len);

#endif /* KG_SUPERVISOR_WRAPPER_H */
