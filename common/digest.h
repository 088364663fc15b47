/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_DIGEST_H
#define KG_COMMON_DIGEST_H

/* Naming a policy by its SHA-256 (FIPS 180-4); the one door to libmd. */

#include "common/error.h"
#include "common/policy.h"

#define KG_DIGEST_BYTES 65 /* 256 bits in hex and the terminating NUL */

/**
 * kg_digest_text() - SHA-256 of bytes, in hex
 * @data:	Bytes; borrowed
 * @len:	How many
 * @ret:	Buffer of KG_DIGEST_BYTES to fill
 */
void kg_digest_text(const void *data, size_t len, char *ret);

/**
 * kg_digest_policy() - SHA-256 of a merged policy, in hex
 * @policy:	Policy; borrowed
 * @ret:	Buffer of KG_DIGEST_BYTES to fill
 * @err:	Filled on failure
 *
 * Of what it means, not of how it was written: mode, hosts and paths in
 * canonical form, sorted.  Two launches under the same rules have the same.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_digest_policy(const struct kg_policy *policy, char *ret,
				   struct kg_error *err);

#endif /* KG_COMMON_DIGEST_H */
