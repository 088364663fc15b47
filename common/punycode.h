/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_PUNYCODE_H
#define KG_COMMON_PUNYCODE_H

/*
 * Labels that aren't ASCII, in the form DNS carries.
 *
 * The full mapping (UTS 46) needs tables that only a library can keep current.
 * Taken here are the scripts in which it is the identity or plain lower-casing,
 * with no rule of context or direction; all else has to be written as xn--.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define KG_PUNYCODE_LABEL_BYTES 64 /* 63 and the terminating NUL */

/**
 * kg_punycode_encode() - Punycode of some code points
 * @points:	Code points; borrowed
 * @count:	How many, at most 63
 * @ret:	Receives the code, without "xn--"
 * @len:	Size of @ret in bytes
 *
 * RFC 3492, section 6.3.
 *
 * Return: 0, or -1 when the code doesn't fit
 */
kg_must_check int kg_punycode_encode(const uint32_t *points, size_t count,
				     char *ret, size_t len);

/**
 * kg_punycode_label() - A-label of a label that holds other than ASCII
 * @label:	Label as written, UTF-8, without dots; borrowed
 * @len:	Its bytes
 * @ret:	Receives the label, at least KG_PUNYCODE_LABEL_BYTES
 *
 * Letters are folded to lower case.
 *
 * Return: NULL, or what is wrong with the label: a static sentence fragment
 */
const char *kg_punycode_label(const char *label, size_t len, char *ret);

#endif /* KG_COMMON_PUNYCODE_H */
