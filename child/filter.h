/* SPDX-License-Identifier: MIT */
#ifndef KG_CHILD_FILTER_H
#define KG_CHILD_FILTER_H

/* The seccomp filter of the box. */

#include "common/seccomp.h"

/**
 * kg_filter_table() - The reviewed table
 *
 * Calls without a row are allowed; a row answers an errno, never a kill, so
 * that programs that probe can fall back.
 *
 * Return: the table, static
 */
const struct kg_seccomp_table *kg_filter_table(void);

#endif /* KG_CHILD_FILTER_H */
