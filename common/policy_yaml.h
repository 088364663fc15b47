/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_POLICY_YAML_H
#define KG_COMMON_POLICY_YAML_H

/*
 * Policy files.
 *
 * What isn't understood is an error, never skipped: unknown and duplicate keys,
 * tags, anchors, aliases, merge keys, wrong types, a second document, bytes
 * that an editor wouldn't show.  Each message of the text begins
 * FILE:LINE:COL, from 1, columns counted in characters.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/policy.h"

#define KG_POLICY_YAML_MAX_BYTES (1024 * 1024)

/**
 * kg_policy_yaml_load() - Read the user's policy file
 * @policy:	Policy to add to; borrowed
 * @path:	File; borrowed.  Symbolic links are followed
 * @optional:	A missing file is no failure and adds nothing
 * @err:	Filled on failure
 *
 * Opened once, without waiting.  It has to be a regular file of the effective
 * user or of root that nobody else can write, of at most
 * KG_POLICY_YAML_MAX_BYTES.  On failure @policy is as it was before.
 *
 * Return: 0, or -1 with
 *	KG_E_CONFIG	the file can't be read, is not to be trusted, or wrong
 *	KG_E_LIMIT	the file or one of its lists is too long
 *	KG_E_SYSTEM	out of memory
 */
kg_must_check int kg_policy_yaml_load(struct kg_policy *policy,
				      const char *path, bool optional,
				      struct kg_error *err);

/**
 * kg_policy_yaml_parse() - Read the text of a policy file
 * @policy:	Policy to add to; borrowed
 * @file:	Name of the file in origins and messages; borrowed, copied
 * @text:	Bytes, which may hold NUL; borrowed
 * @len:	How many
 * @err:	Filled on failure
 *
 * Touches nothing but its arguments.  On failure @policy is as it was before.
 *
 * Return: 0, or -1 with KG_E_CONFIG, KG_E_LIMIT, KG_E_SYSTEM
 */
kg_must_check int kg_policy_yaml_parse(struct kg_policy *policy,
				       const char *file, const char *text,
				       size_t len, struct kg_error *err);

#endif /* KG_COMMON_POLICY_YAML_H */
