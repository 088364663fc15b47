/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_PROGRAM_H
#define KG_SUPERVISOR_PROGRAM_H

/*
 * Programs as files: where a name leads, and whether that is a denied program
 * under another name.
 *
 * A denied program's files are looked for in the caller's PATH and in the
 * standard directories.  A file that serves many names (busybox, a version
 * manager's shim) is never one of them: denying one name mustn't take the
 * others away.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "supervisor/check.h"

/**
 * enum kg_program_match - How a file was recognised
 * @KG_PROGRAM_OTHER:	It is no denied program
 * @KG_PROGRAM_NAME:	Its name without links is denied
 * @KG_PROGRAM_FILE:	It is the same file
 * @KG_PROGRAM_BYTES:	It is a copy
 */
enum kg_program_match {
	KG_PROGRAM_OTHER,
	KG_PROGRAM_NAME,
	KG_PROGRAM_FILE,
	KG_PROGRAM_BYTES,
};

/**
 * struct kg_program_denied - One file of a denied program
 * @path:	Where it was found; owned
 * @rule:	Index of the rule
 * @dev:	Device
 * @ino:	Inode
 * @size:	Bytes
 */
struct kg_program_denied {
	char *path;
	size_t rule;
	dev_t dev;
	ino_t ino;
	off_t size;
};

/**
 * struct kg_program - Where a name leads
 * @name:	As it was looked for; owned
 * @real:	Path without links, or NULL when there is no such file; owned
 * @script:	What follows #! in its first line, or NULL; owned
 * @match:	Whether it is a denied program
 * @rule:	Index of the rule, when it is
 * @like:	Path of the denied program that it is, or NULL; borrowed
 */
struct kg_program {
	char *name;
	char *real;
	char *script;
	enum kg_program_match match;
	size_t rule;
	const char *like;
};

/**
 * struct kg_programs - What was looked up for one command line
 * @rules:	What is denied; borrowed
 * @path_env:	PATH; borrowed
 * @denied:	Files of denied programs, also those that serve many names;
 *		owned
 * @count:	How many
 * @seen:	Names that were looked up, a tree of tsearch(3); owned
 * @left:	How many more names are looked up
 */
struct kg_programs {
	const struct kg_check_rules *rules;
	const char *path_env;
	struct kg_program_denied *denied;
	size_t count;
	void *seen;
	size_t left;
};

#define KG_PROGRAMS_INIT ((struct kg_programs){ 0 })

/**
 * kg_program_load() - Find the files of the denied programs
 * @programs:	Empty; release with kg_program_done(), also after a failure
 * @rules:	What is denied; borrowed for as long as @programs is used
 * @path_env:	PATH, or NULL; borrowed likewise
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_program_load(struct kg_programs *programs,
				  const struct kg_check_rules *rules,
				  const char *path_env, struct kg_error *err);

/**
 * kg_program_find() - Look a name up
 * @programs:	Loaded; borrowed
 * @name:	Name, looked for in PATH, or a path when it has a slash;
 *		borrowed
 *
 * Return: what was found, borrowed from @programs; NULL when memory, or the
 *	number of names that are looked up, ran out
 */
const struct kg_program *kg_program_find(struct kg_programs *programs,
					 const char *name);

/**
 * kg_program_is_multicall() - Whether a file serves many names
 * @path:	File; borrowed
 *
 * Told by its own name, or by the words that such programs say of themselves.
 *
 * Return: true if it does
 */
bool kg_program_is_multicall(const char *path);

/**
 * kg_program_base() - Last component of a path
 * @path:	Path; borrowed
 *
 * Return: what follows the last slash, borrowed from @path
 */
const char *kg_program_base(const char *path);

/**
 * kg_program_done() - Release what was looked up
 * @programs:	Becomes empty
 */
void kg_program_done(struct kg_programs *programs);

#endif /* KG_SUPERVISOR_PROGRAM_H */
