/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/host.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/punycode.h"
#include "common/text.h"
#include "common/util.h"

#define LABEL_MAX   63
#define TEXT_MAX    1024 /* no name of 253 bytes takes more, in UTF-8 either */
#define NUMBER_MAX  5	 /* digits of the longest port */
#define ADDR4_BYTES 4
#define ADDR6_BYTES 16

/* A stretch of the pattern. */
struct part {
	const char *at;
	size_t len;
};

/* The pattern taken apart; a part that isn't there has no @at. */
struct pieces {
	struct part host, prefix, port;
	bool bracketed;
};

/* clang-format off */
#define V4(a, b, c, d, n)				\
	{						\
		.family = AF_INET, .prefix = (n),	\
		.addr = { (a), (b), (c), (d) }		\
	}
#define V6(n, ...)					\
	{						\
		.family = AF_INET6, .prefix = (n),	\
		.addr = { __VA_ARGS__ }			\
	}
/* clang-format on */

static const struct kg_block reserved[] = {
	/* clang-format off */
	V4(0, 0, 0, 0, 8),		/* this host: RFC 1122, 3.2.1.3 */
	V4(10, 0, 2, 0, 24),		/* the guest's own */
	V4(127, 0, 0, 0, 8),		/* loopback: RFC 1122, 3.2.1.3 */
	V4(169, 254, 0, 0, 16),		/* link-local: RFC 3927 */
	V4(224, 0, 0, 0, 4),		/* multicast: RFC 5771 */
	V4(255, 255, 255, 255, 32),	/* broadcast: RFC 919 */
	V6(128, 0),			/* unspecified: RFC 4291, 2.5.2 */
	V6(128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), /* loopback */
	V6(64, 0xfd, 0),		/* the guest's own */
	V6(10, 0xfe, 0x80),		/* link-local: RFC 4291, 2.5.6 */
	V6(8, 0xff),			/* multicast: RFC 4291, 2.7 */
	/* clang-format on */
};

static const struct kg_block privates[] = {
	/* clang-format off */
	V4(10, 0, 0, 0, 8),
	V4(100, 64, 0, 0, 10),
	V4(172, 16, 0, 0, 12),
	V4(192, 168, 0, 0, 16),
	V6(7, 0xfc),
	/* clang-format on */
};

/* Where an IPv4 address is the last 32 bits of an IPv6 one. */
static const struct kg_block clothes[] = {
	/* clang-format off */
	V6(96, 0),			/* compatible: RFC 4291, 2.5.5.1 */
	V6(96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff), /* mapped: 2.5.5.2 */
	V6(96, 0, 0x64, 0xff, 0x9b),	/* NAT64: RFC 6052 */
	/* clang-format on */
};

static const struct kg_block mapped = V6(96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff,
					 0xff);

static uint8_t full_prefix(int family)
{
	return family == AF_INET ? 8 * ADDR4_BYTES : 8 * ADDR6_BYTES;
}

/* The bits of byte @i that lie within @prefix. */
static uint8_t prefix_mask(size_t i, unsigned prefix)
{
	if (prefix >= 8 * (i + 1))
		return 0xff;
	if (prefix <= 8 * i)
		return 0;
	return (uint8_t)(0xff << (8 - (prefix - 8 * i)));
}

static bool lies_within(const struct kg_block *block,
			const struct kg_block *range)
{
	size_t i;

	if (block->family != range->family || block->prefix < range->prefix)
		return false;
	for (i = 0; i < ADDR6_BYTES; i++)
		if ((block->addr[i] ^ range->addr[i]) &
		    prefix_mask(i, range->prefix))
			return false;
	return true;
}

static bool lies_within_any(const struct kg_block *block,
			    const struct kg_block *ranges, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (lies_within(block, &ranges[i]))
			return true;
	return false;
}

/* The IPv4 block that an IPv6 one stands for, if it stands for one. */
static bool undress(const struct kg_block *block, struct kg_block *ret)
{
	if (!lies_within_any(block, clothes, KG_ARRAY_LEN(clothes)))
		return false;
	*ret = (struct kg_block){
		.family = AF_INET,
		.prefix = (uint8_t)(block->prefix - 96),
	};
	memcpy(ret->addr, block->addr + ADDR6_BYTES - ADDR4_BYTES, ADDR4_BYTES);
	return true;
}

/* In its own form, or as the IPv4 block that it stands for. */
static bool belongs_to(const struct kg_block *block,
		       const struct kg_block *ranges, size_t count)
{
	struct kg_block inner;

	return lies_within_any(block, ranges, count) ||
	       (undress(block, &inner) &&
		lies_within_any(&inner, ranges, count));
}

static bool is_reserved_block(const struct kg_block *block)
{
	return belongs_to(block, reserved, KG_ARRAY_LEN(reserved));
}

static struct kg_block single(int family, const uint8_t *addr)
{
	struct kg_block block = {
		.family = (uint16_t)family,
		.prefix = full_prefix(family),
	};

	memcpy(block.addr, addr, block.prefix / 8);
	return block;
}

bool kg_host_is_reserved(int family, const uint8_t *addr)
{
	struct kg_block block = single(family, addr);

	return is_reserved_block(&block);
}

bool kg_host_is_private(int family, const uint8_t *addr)
{
	struct kg_block block = single(family, addr);

	return belongs_to(&block, privates, KG_ARRAY_LEN(privates));
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Plain decimal: no sign, no leading zero. */
static bool read_number(struct part part, unsigned max, unsigned *ret)
{
	unsigned value = 0;
	size_t i;

	if (!part.len || part.len > NUMBER_MAX ||
	    (part.len > 1 && part.at[0] == '0'))
		return false;
	for (i = 0; i < part.len; i++) {
		if (!is_digit(part.at[i]))
			return false;
		value = value * 10 + (unsigned)(part.at[i] - '0');
	}
	*ret = value;
	return value <= max;
}

static const char *read_port(struct part part, struct kg_host *host)
{
	unsigned port;

	if (!part.at)
		return NULL;
	if (!read_number(part, UINT16_MAX, &port) || port == 0)
		return "a port that isn't a number from 1 to 65535";
	if (port == 53 || port == 853)
		return "a DNS port: 53 and 853 stay closed, the box has a "
		       "resolver of its own";
	host->port = (uint16_t)port;
	return NULL;
}

/* ---- addresses ---- */

static bool copy_part(struct part part, char *buf, size_t len)
{
	if (part.len >= len)
		return false;
	memcpy(buf, part.at, part.len);
	buf[part.len] = '\0';
	return true;
}

static bool read_address(struct part part, struct kg_block *ret)
{
	bool is_v6 = memchr(part.at, ':', part.len) != NULL;
	char text[INET6_ADDRSTRLEN];

	*ret = (struct kg_block){ .family = is_v6 ? AF_INET6 : AF_INET };
	ret->prefix = full_prefix(ret->family);
	return copy_part(part, text, sizeof(text)) &&
	       inet_pton(ret->family, text, ret->addr) == 1;
}

static const char *check_block(const struct kg_block *block)
{
	size_t i;

	for (i = 0; i < ADDR6_BYTES; i++)
		if (block->addr[i] & (uint8_t)~prefix_mask(i, block->prefix))
			return "bits set behind the prefix: write the "
			       "network's own address";
	if (is_reserved_block(block))
		return "a range that is never opened (loopback, link-local, "
		       "multicast or the box's own)";
	if (lies_within(block, &mapped))
		return "an IPv4 address in IPv6 form: write it as A.B.C.D";
	return NULL;
}

static const char *read_block(const struct pieces *pieces, struct kg_host *host)
{
	struct kg_block *block = &host->block;
	unsigned prefix;

	host->kind = KG_HOST_BLOCK;
	if (pieces->prefix.at) {
		if (!read_number(pieces->prefix, block->prefix, &prefix))
			return block->family == AF_INET ? "a prefix that isn't "
							  "a number from 1 to "
							  "32"
							: "a prefix that isn't "
							  "a number from 1 to "
							  "128";
		if (prefix == 0)
			return "a prefix of 0 is every address: use `network: "
			       "open` if that is meant";
		block->prefix = (uint8_t)prefix;
	}
	return check_block(block);
}

/* ---- names ---- */

/* What other programs read as a number: URL Standard, "ends in a number". */
static bool is_number_like(struct part label)
{
	static const char hex[] = "0123456789abcdef";
	size_t i = 0, set = 10;

	if (label.len >= 2 && label.at[0] == '0' && label.at[1] == 'x') {
		i = 2;
		set = 16;
	}
	for (; i < label.len; i++)
		if (!memchr(hex, label.at[i], set))
			return false;
	return true;
}

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

static const char *fold_label(struct part label, char *ret)
{
	size_t i;

	if (label.len > LABEL_MAX)
		return "a label over 63 bytes";
	for (i = 0; i < label.len; i++) {
		char c = label.at[i];

		ret[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
		if (!is_label_char(ret[i]))
			return "a character that no host name has";
	}
	ret[i] = '\0';
	if (ret[0] == '-' || ret[i - 1] == '-')
		return "a label with a hyphen at its begin or end";
	return NULL;
}

static bool is_ascii(struct part part)
{
	size_t i;

	for (i = 0; i < part.len; i++)
		if ((uint8_t)part.at[i] >= 0x80)
			return false;
	return true;
}

static const char *add_label(struct part label, char *name, struct part *folded)
{
	char buf[KG_PUNYCODE_LABEL_BYTES];
	size_t used = strlen(name);
	size_t len;
	const char *wrong;

	if (!label.len)
		return "an empty label: two dots in a row, or one in front";
	wrong = is_ascii(label) ? fold_label(label, buf)
				: kg_punycode_label(label.at, label.len, buf);
	if (wrong)
		return wrong;
	len = strlen(buf);
	if (used + (used > 0) + len >= KG_HOST_NAME_BYTES)
		return "a name over 253 bytes";
	if (used)
		name[used++] = '.';
	memcpy(name + used, buf, len + 1);
	*folded = (struct part){ name + used, len };
	return NULL;
}

/* Names that mean the machine itself: RFC 6761, section 6.3. */
static bool is_localhost(const char *name)
{
	static const char local[] = "localhost";
	size_t len = strlen(name), n = sizeof(local) - 1;

	return len >= n && strcmp(name + len - n, local) == 0 &&
	       (len == n || name[len - n - 1] == '.');
}

static const char *read_name(struct part text, struct kg_host *host)
{
	struct part last = { NULL, 0 };
	const char *wrong;

	host->kind = KG_HOST_NAME;
	if (text.len > 1 && text.at[text.len - 1] == '.')
		text.len--;
	for (;;) {
		const char *dot = memchr(text.at, '.', text.len);
		size_t len = dot ? (size_t)(dot - text.at) : text.len;

		wrong = add_label((struct part){ text.at, len }, host->name,
				  &last);
		if (wrong)
			return wrong;
		if (!dot)
			break;
		text.at += len + 1;
		text.len -= len + 1;
	}
	if (is_number_like(last))
		return "an odd form of a number: write an address as A.B.C.D";
	if (is_localhost(host->name))
		return "the host's loopback, which is never opened";
	return NULL;
}

/* ---- the pattern ---- */

static const char *check_text(struct part text)
{
	size_t i;

	if (!text.len)
		return "nothing";
	if (text.len > TEXT_MAX)
		return "a name over 253 bytes";
	for (i = 0; i < text.len; i++) {
		if (text.at[i] == '\0')
			return "a NUL byte";
		if ((uint8_t)text.at[i] <= ' ' || text.at[i] == 0x7f)
			return "a space or control character";
	}
	if (memchr(text.at, '*', text.len))
		return "a wildcard: this version takes exact names only";
	if (text.at[0] == '-')
		return "a flag, it seems: no host begins with a hyphen";
	if (memmem(text.at, text.len, "://", 3))
		return "a URL: write its host alone";
	return NULL;
}

/* Cuts @text at the first @c; what follows it is returned. */
static struct part split(struct part *text, char c)
{
	const char *at = memchr(text->at, c, text->len);
	struct part rest = { NULL, 0 };

	if (!at)
		return rest;
	rest.at = at + 1;
	rest.len = text->len - (size_t)(rest.at - text->at);
	text->len = (size_t)(at - text->at);
	return rest;
}

static const char *take_bracketed(struct part text, struct pieces *ret)
{
	struct part inner = { text.at + 1, text.len - 1 };
	struct part rest = split(&inner, ']');

	if (!rest.at)
		return "a bracket that isn't closed";
	ret->bracketed = true;
	ret->host = inner;
	ret->port = split(&rest, ':');
	ret->prefix = split(&rest, '/');
	return rest.len ? "text behind the bracket" : NULL;
}

static size_t count_of(struct part text, char c)
{
	size_t n = 0, i;

	for (i = 0; i < text.len; i++)
		n += text.at[i] == c;
	return n;
}

static const char *take_apart(struct part text, struct pieces *ret)
{
	if (text.at[0] == '[')
		return take_bracketed(text, ret);
	if (count_of(text, ':') == 1)
		ret->port = split(&text, ':');
	ret->prefix = split(&text, '/');
	ret->host = text;
	return NULL;
}

static const char *read_pieces(const struct pieces *pieces,
			       struct kg_host *host)
{
	bool is_v6 = memchr(pieces->host.at, ':', pieces->host.len) != NULL;
	const char *wrong = read_port(pieces->port, host);

	if (wrong)
		return wrong;
	if (!pieces->host.len)
		return "no name or address in it";
	if (pieces->prefix.at &&
	    memchr(pieces->prefix.at, ':', pieces->prefix.len))
		return "a port behind an IPv6 address without brackets: write "
		       "[ADDR]:PORT or [ADDR]/N:PORT";
	if (read_address(pieces->host, &host->block)) {
		if (pieces->bracketed && !is_v6)
			return "brackets around what isn't an IPv6 address";
		return read_block(pieces, host);
	}
	if (pieces->bracketed)
		return "brackets around what isn't an IPv6 address";
	if (is_v6)
		return "more than one colon, but not an IPv6 address: with a "
		       "port it is [ADDR]:PORT";
	if (pieces->prefix.at)
		return "a slash behind a name: only an address takes a prefix";
	memset(&host->block, 0, sizeof(host->block));
	return read_name(pieces->host, host);
}

int kg_host_parse(const char *text, size_t len, struct kg_host *ret,
		  struct kg_error *err)
{
	char quoted[KG_TEXT_QUOTE_BYTES];
	struct part whole = { text, len };
	struct pieces pieces = { 0 };
	struct kg_host host;
	const char *wrong;

	/* All of it, padding too: entries are compared and hashed as bytes. */
	memset(&host, 0, sizeof(host));
	wrong = check_text(whole);
	if (!wrong)
		wrong = take_apart(whole, &pieces);
	if (!wrong)
		wrong = read_pieces(&pieces, &host);
	if (wrong)
		return kg_fail(err, KG_E_CONFIG, 0,
			       "%s: %s; expected a host: NAME, ADDRESS or "
			       "ADDRESS/PREFIX, with :PORT if need be",
			       kg_text_quote(quoted, sizeof(quoted), text, len),
			       wrong);
	memcpy(ret, &host, sizeof(host));
	return 0;
}

void kg_host_print(const struct kg_host *host, char *buf, size_t len)
{
	const struct kg_block *block = &host->block;
	bool wrap = host->port && block->family == AF_INET6;
	char addr[INET6_ADDRSTRLEN] = "";
	char prefix[sizeof("/128")] = "";
	char port[sizeof(":65535")] = "";

	if (host->port)
		(void)snprintf(port, sizeof(port), ":%u", (unsigned)host->port);
	if (host->kind == KG_HOST_NAME) {
		(void)snprintf(buf, len, "%s%s", host->name, port);
		return;
	}
	if (block->prefix != full_prefix(block->family))
		(void)snprintf(prefix, sizeof(prefix), "/%u",
			       (unsigned)block->prefix);
	(void)inet_ntop(block->family, block->addr, addr, sizeof(addr));
	(void)snprintf(buf, len, "%s%s%s%s%s", wrap ? "[" : "", addr,
		       wrap ? "]" : "", prefix, port);
}
