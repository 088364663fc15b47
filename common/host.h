/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_HOST_H
#define KG_COMMON_HOST_H

/*
 * Host patterns: exact names, addresses and CIDR blocks, each with an optional
 * port.
 *
 * Names are in canonical form: lower case, no trailing dot, IDN as A-labels.
 * Label and name lengths: RFC 1035, section 2.3.4.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

#define KG_HOST_NAME_BYTES 254 /* 253 and the terminating NUL */

/**
 * enum kg_host_kind - What a pattern stands for
 * @KG_HOST_NAME:	One name
 * @KG_HOST_BLOCK:	One address, or a CIDR block
 */
enum kg_host_kind {
	KG_HOST_NAME,
	KG_HOST_BLOCK,
};

/**
 * struct kg_block - An address range
 * @family:	AF_INET or AF_INET6
 * @prefix:	Length of the prefix in bits
 * @addr:	Network address, network byte order, host bits zero; 4 bytes
 *		used for AF_INET, the rest is zero
 */
struct kg_block {
	uint16_t family;
	uint8_t prefix;
	uint8_t addr[16];
};

/**
 * struct kg_host - One pattern
 * @kind:	Which member counts
 * @port:	Port in host byte order (TCP and UDP), 0 for all but 53 and 853
 * @name:	For KG_HOST_NAME: canonical name
 * @block:	For KG_HOST_BLOCK
 */
struct kg_host {
	enum kg_host_kind kind;
	uint16_t port;
	char name[KG_HOST_NAME_BYTES];
	struct kg_block block;
};

/**
 * kg_host_parse() - Read a pattern as a user writes it
 * @text:	NAME, NAME:PORT, A.B.C.D[/N][:PORT], ADDR6[/N],
 *[ADDR6][/N][:PORT]; borrowed
 * @len:	Its bytes, which may hold NUL
 * @ret:	Filled on success
 * @err:	Filled on failure; says what is wrong and what was expected
 *
 * Refuses "*", a leading "-", port 0, 53 and 853, a prefix of 0, host bits set
 * behind the prefix, numbers in any but dotted-quad form (127.1, 0x7f.1,
 * 1.2.3), control characters, labels over 63 and names over 253 bytes, and
 * blocks that lie wholly in a range that is never opened
 * (kg_host_is_reserved()).
 *
 * Return: 0, or -1 with KG_E_CONFIG
 */
kg_must_check int kg_host_parse(const char *text, size_t len,
				struct kg_host *ret, struct kg_error *err);

/**
 * kg_host_print() - Write a pattern in canonical form
 * @host:	Pattern; borrowed
 * @buf:	Buffer to fill, at least KG_HOST_NAME_BYTES + 8 bytes
 * @len:	Its size in bytes
 */
void kg_host_print(const struct kg_host *host, char *buf, size_t len);

/**
 * kg_host_is_reserved() - Whether an address is never opened, whoever names it
 * @family:	AF_INET or AF_INET6
 * @addr:	4 or 16 bytes in network byte order; borrowed
 *
 * Loopback, unspecified, link-local, multicast, broadcast, the guest's own
 * ranges (10.0.2.0/24, fd00::/64), and IPv4 ones of these in IPv6 clothes
 * (mapped, compatible, NAT64).
 *
 * Return: true if it is
 */
bool kg_host_is_reserved(int family, const uint8_t *addr);

/**
 * kg_host_is_private() - Whether an address belongs to a private range
 * @family:	AF_INET or AF_INET6
 * @addr:	4 or 16 bytes in network byte order; borrowed
 *
 * RFC 1918, RFC 6598, RFC 4193.
 *
 * Return: true if it does
 */
bool kg_host_is_private(int family, const uint8_t *addr);

#endif /* KG_COMMON_HOST_H */
