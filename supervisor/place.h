/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_PLACE_H
#define KG_SUPERVISOR_PLACE_H

/*
 * Which directories no launch gets: as its working directory, from `paths` or
 * from --allow-path.
 *
 * Directories are compared by device and inode, the place itself and each of
 * its parents: another name for one of them (a symbolic link, a bind mount) is
 * refused like the first.  What root mounts elsewhere from *inside* such a
 * directory has parents of its own and is taken as root's word.
 */

#include "common/error.h"
#include "supervisor/home.h"

#define KG_PLACE_RULE_BYTES 96

/**
 * enum kg_place_use - What a place is wanted for
 * @KG_PLACE_WORKDIR:	Working directory, which is the project
 * @KG_PLACE_PATHS:	Entry of `paths`
 * @KG_PLACE_FLAG:	Argument of --allow-path, which may name a single file
 *			or socket below a directory that is refused
 */
enum kg_place_use {
	KG_PLACE_WORKDIR,
	KG_PLACE_PATHS,
	KG_PLACE_FLAG,

	KG_PLACE_COUNT
};

/**
 * struct kg_place_rule - The built-in rule that refused a place
 * @text:	A few words for the audit log ("working directory: /etc and
 *		below")
 */
struct kg_place_rule {
	char text[KG_PLACE_RULE_BYTES];
};

/**
 * kg_place_check() - Look whether a place may be given to a command
 * @use:	What it is wanted for, below KG_PLACE_COUNT
 * @path:	Absolute path of something that exists; borrowed
 * @home:	Home directories of the caller; borrowed
 * @ret_rule:	Filled when the place is refused, empty after other failures
 * @err:	Filled on failure; says which place, why, and what to do
 *
 * Return: 0, or -1 with
 *	KG_E_POLICY	the place is refused
 *	KG_E_SYSTEM	it isn't there, or can't be looked at
 */
kg_must_check int kg_place_check(enum kg_place_use use, const char *path,
				 const struct kg_home *home,
				 struct kg_place_rule *ret_rule,
				 struct kg_error *err);

#endif /* KG_SUPERVISOR_PLACE_H */
