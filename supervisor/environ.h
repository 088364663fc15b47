/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_ENVIRON_H
#define KG_SUPERVISOR_ENVIRON_H

/* The command's environment: a list, and nothing of the caller's beyond it. */

#include "common/error.h"

/**
 * kg_environ_build() - Build the command's environment
 * @from:	The caller's environment, NULL at the end; borrowed
 * @home:	HOME in the box; borrowed
 * @pwd:	PWD in the box; borrowed
 * @ret:	Receives the list, NULL at the end; release with
 *		kg_environ_free()
 * @err:	Filled on failure
 *
 * PATH, USER, LOGNAME, SHELL, LANG, LC_*, TZ, TERM, COLORTERM, NO_COLOR and CI
 * are taken over where they are set; HOME and PWD are given.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_environ_build(char *const *from, const char *home,
				   const char *pwd, char ***ret,
				   struct kg_error *err);

/**
 * kg_environ_free() - Release an environment
 * @list:	List, or NULL
 */
void kg_environ_free(char **list);

#endif /* KG_SUPERVISOR_ENVIRON_H */
