/* SPDX-License-Identifier: MIT */
#ifndef KG_CHILD_LANDLOCK_H
#define KG_CHILD_LANDLOCK_H

/*
 * Landlock scopes: no abstract UNIX socket and no signal across the border.
 * Source: Linux, Documentation/userspace-api/landlock.rst, "IPC scoping" (ABI
 * 6, Linux 6.12).
 */

#include "common/error.h"

/**
 * kg_landlock_scope() - Put this process and its children into a domain
 * @err:	Filled on failure
 *
 * The domain can't send a signal to a process outside of it, nor connect to an
 * abstract UNIX socket that one of those made.  Needs no_new_privs.  A kernel
 * without these scopes is no failure: nothing is changed.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_landlock_scope(struct kg_error *err);

#endif /* KG_CHILD_LANDLOCK_H */
