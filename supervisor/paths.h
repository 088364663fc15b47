/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_PATHS_H
#define KG_SUPERVISOR_PATHS_H

/* Entries of `paths` and --allow-path: from text to places on this machine. */

#include "common/error.h"
#include "common/policy.h"
#include "supervisor/home.h"
#include "supervisor/place.h"

/**
 * kg_paths_resolve() - Resolve and check every path of a policy
 * @policy:	Policy, whose paths are filled in; borrowed
 * @home:	Home directories of the caller, for ~; borrowed
 * @ret_rule:	Filled when a place is refused; borrowed
 * @err:	Filled on failure; begins with where the entry stands
 *
 * A path of a file is absolute or begins with ~/; one of a flag may be relative
 * to the working directory.
 *
 * Return: 0, or -1 with
 *	KG_E_USAGE	a flag's path isn't there
 *	KG_E_CONFIG	a file's path isn't there, or is relative
 *	KG_E_POLICY	no launch gets this place
 *	KG_E_SYSTEM	otherwise
 */
kg_must_check int kg_paths_resolve(struct kg_policy *policy,
				   const struct kg_home *home,
				   struct kg_place_rule *ret_rule,
				   struct kg_error *err);

#endif /* KG_SUPERVISOR_PATHS_H */
