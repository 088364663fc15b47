/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_UTIL_H
#define KG_COMMON_UTIL_H

/* Small things that every folder needs and that carry no state. */

#include <stdint.h>

#define KG_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define KG_BIT32(n)	(UINT32_C(1) << (n))
#define KG_BIT64(n)	(UINT64_C(1) << (n))

#endif /* KG_COMMON_UTIL_H */
