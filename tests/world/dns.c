/* SPDX-License-Identifier: MIT */
/*
 * Messages as RFC 1035 has them.  A name is looked up as text; a CNAME is
 * followed inside the zone, with its target's records in the same answer, as a
 * recursive server does.
 */
#include "config.h"

#include "tests/world/dns.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADER_BYTES 12
#define NAME_BYTES   256
#define CHAIN_MAX    8
#define TTL_DEFAULT  300

enum { RCODE_OK = 0, RCODE_SERVFAIL = 2, RCODE_NXDOMAIN = 3 };
enum { TYPE_A = 1, TYPE_CNAME = 5, TYPE_AAAA = 28, TYPE_ANY = 255 };

static const struct {
	uint16_t type;
	const char *name;
} types[] = {
	{ TYPE_A, "A" }, { 2, "NS" },	  { TYPE_CNAME, "CNAME" },
	{ 6, "SOA" },	 { 12, "PTR" },	  { 15, "MX" },
	{ 16, "TXT" },	 { 33, "SRV" },	  { TYPE_AAAA, "AAAA" },
	{ 64, "SVCB" },	 { 65, "HTTPS" }, { TYPE_ANY, "ANY" },
};

/* What the zone says of one name. */
struct entry {
	bool found;
	bool silent;
	bool servfail;
	int delay_ms;
	uint32_t ttl;
	char cname[NAME_BYTES];
};

struct lookup {
	FILE *zone;
	uint16_t type;
	unsigned turn;
	size_t limit;
	bool cut;
	uint16_t answers;
	struct dns_reply *reply;
};

const char *dns_type_name(uint16_t type)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == type)
			return types[i].name;
	return "OTHER";
}

static void put_bytes(struct lookup *lk, const void *data, size_t len)
{
	struct dns_reply *r = lk->reply;

	if (r->len + len > lk->limit) {
		lk->cut = true;
		return;
	}
	memcpy(r->data + r->len, data, len);
	r->len += len;
}

static void put_u16(struct lookup *lk, uint16_t v)
{
	uint16_t be = htons(v);

	put_bytes(lk, &be, sizeof(be));
}

static size_t encode_name(const char *text, uint8_t out[NAME_BYTES])
{
	size_t n = 0;

	while (*text) {
		size_t label = strcspn(text, ".");

		if (label == 0 || label > 63 || n + label + 2 > NAME_BYTES)
			break;
		out[n++] = (uint8_t)label;
		memcpy(out + n, text, label);
		n += label;
		text += label;
		if (*text == '.')
			text++;
	}
	out[n++] = 0;
	return n;
}

static void put_record(struct lookup *lk, const char *name, uint16_t type,
		       uint32_t ttl, const void *data, size_t len)
{
	uint8_t owner[NAME_BYTES] = { 0 };
	size_t owner_len = encode_name(name, owner);
	uint32_t ttl_be = htonl(ttl);

	put_bytes(lk, owner, owner_len);
	put_u16(lk, type);
	put_u16(lk, 1);
	put_bytes(lk, &ttl_be, sizeof(ttl_be));
	put_u16(lk, (uint16_t)len);
	put_bytes(lk, data, len);
	lk->answers++;
}

/* ADDRESS or ADDRESS+N; the i-th of them, false past the last. */
static bool nth_address(const char *value, unsigned i, uint8_t out[16],
			size_t *ret_len, unsigned *ret_count)
{
	char text[INET6_ADDRSTRLEN];
	size_t n = strcspn(value, "+");
	bool six = memchr(value, ':', n) != NULL;
	size_t len = six ? 16 : 4;
	unsigned sum;

	*ret_count = 1;
	if (value[n] == '+')
		*ret_count = (unsigned)strtoul(value + n + 1, NULL, 10);
	if (n >= sizeof(text) || i >= *ret_count)
		return false;
	memcpy(text, value, n);
	text[n] = '\0';
	if (inet_pton(six ? AF_INET6 : AF_INET, text, out) != 1)
		return false;

	sum = (unsigned)(out[len - 2] << 8 | out[len - 1]) + i;
	out[len - 2] = (uint8_t)(sum >> 8);
	out[len - 1] = (uint8_t)sum;
	*ret_len = len;
	return true;
}

static void put_addresses(struct lookup *lk, const char *name,
			  const char *value, uint32_t ttl, bool rotate)
{
	unsigned i, count;
	uint8_t addr[16];
	size_t len;

	if (rotate && nth_address(value, 0, addr, &len, &count))
		if (nth_address(value, lk->turn % count, addr, &len, &count))
			put_record(lk, name, TYPE_A, ttl, addr, len);
	if (rotate)
		return;
	for (i = 0; nth_address(value, i, addr, &len, &count); i++)
		put_record(lk, name, len == 4 ? TYPE_A : TYPE_AAAA, ttl, addr,
			   len);
}

static bool owns(const char *pattern, const char *name)
{
	size_t p = strlen(pattern), n = strlen(name);

	if (strncmp(pattern, "*.", 2) != 0)
		return strcasecmp(pattern, name) == 0;
	return n > p - 1 && strcasecmp(name + n - (p - 1), pattern + 1) == 0;
}

/* Calls @use for each line of @name's; the order of the file. */
static void for_each_line(struct lookup *lk, const char *name,
			  void (*use)(struct lookup *, const char *name,
				      const char *type, const char *value,
				      struct entry *),
			  struct entry *entry)
{
	char line[512], owner[NAME_BYTES], type[16], value[NAME_BYTES];

	rewind(lk->zone);
	while (fgets(line, sizeof(line), lk->zone))
		if (line[0] != '#' &&
		    sscanf(line, "%255s %15s %255s", owner, type, value) == 3 &&
		    owns(owner, name))
			use(lk, name, type, value, entry);
}

static void note_entry(struct lookup *lk, const char *name, const char *type,
		       const char *value, struct entry *e)
{
	(void)lk;
	(void)name;
	e->found = true;
	if (strcmp(type, "SILENT") == 0)
		e->silent = true;
	else if (strcmp(type, "SERVFAIL") == 0)
		e->servfail = true;
	else if (strcmp(type, "SLOW") == 0)
		e->delay_ms = atoi(value);
	else if (strcmp(type, "TTL") == 0)
		e->ttl = (uint32_t)strtoul(value, NULL, 10);
	else if (strcmp(type, "CNAME") == 0)
		snprintf(e->cname, sizeof(e->cname), "%s", value);
}

static void use_entry(struct lookup *lk, const char *name, const char *type,
		      const char *value, struct entry *e)
{
	bool four = lk->type == TYPE_A || lk->type == TYPE_ANY;
	bool six = lk->type == TYPE_AAAA || lk->type == TYPE_ANY;

	if (four && strcmp(type, "A") == 0)
		put_addresses(lk, name, value, e->ttl, false);
	else if (six && strcmp(type, "AAAA") == 0)
		put_addresses(lk, name, value, e->ttl, false);
	else if (four && strcmp(type, "ROTATE") == 0)
		put_addresses(lk, name, value, e->ttl, true);
}

/* Fills the answer section; returns the response code, -1 for silence. */
static int fill_answers(struct lookup *lk, const char *name)
{
	char current[NAME_BYTES];
	uint8_t target[NAME_BYTES];
	int i;

	snprintf(current, sizeof(current), "%s", name);
	for (i = 0; i < CHAIN_MAX; i++) {
		struct entry e = { .ttl = TTL_DEFAULT };

		for_each_line(lk, current, note_entry, &e);
		if (e.silent)
			return -1;
		if (e.servfail)
			return RCODE_SERVFAIL;
		if (!e.found)
			return RCODE_NXDOMAIN;
		if (e.delay_ms > lk->reply->delay_ms)
			lk->reply->delay_ms = e.delay_ms;
		for_each_line(lk, current, use_entry, &e);
		if (e.cname[0] == '\0')
			return RCODE_OK;
		put_record(lk, current, TYPE_CNAME, e.ttl, target,
			   encode_name(e.cname, target));
		if (lk->type == TYPE_CNAME)
			return RCODE_OK;
		memcpy(current, e.cname, sizeof(current));
	}
	return RCODE_SERVFAIL;
}

/* The question's name as text; returns the length of the section, or 0. */
static size_t read_question(const uint8_t *msg, size_t len,
			    struct dns_question *q)
{
	size_t at = HEADER_BYTES, n = 0, i;

	while (at < len && msg[at] != 0) {
		size_t label = msg[at++];

		if (label > 63 || at + label >= len ||
		    n + 4 * label + 2 > sizeof(q->name))
			return 0;
		if (n > 0)
			q->name[n++] = '.';
		for (i = 0; i < label; i++) {
			int c = tolower(msg[at + i]);

			if (c > 0x20 && c < 0x7f && c != '\\')
				q->name[n++] = (char)c;
			else
				n += (size_t)sprintf(q->name + n, "\\x%02x", c);
		}
		at += label;
	}
	q->name[n] = '\0';
	if (at + 5 > len)
		return 0;
	q->type = (uint16_t)(msg[at + 1] << 8 | msg[at + 2]);
	return at + 5 - HEADER_BYTES;
}

static void finish_header(struct lookup *lk, const uint8_t *query, int rcode,
			  size_t question_len)
{
	uint8_t *h = lk->reply->data;

	if (lk->cut) {
		lk->answers = 0;
		lk->reply->len = HEADER_BYTES + question_len;
	}
	memset(h, 0, HEADER_BYTES);
	memcpy(h, query, 2);
	h[2] = (uint8_t)(0x80 | (query[2] & 0x79) | (lk->cut ? 0x02 : 0));
	h[3] = (uint8_t)(0x80 | rcode);
	h[5] = 1;
	h[6] = (uint8_t)(lk->answers >> 8);
	h[7] = (uint8_t)lk->answers;
}

int dns_answer(const char *zone, const uint8_t *query, size_t len, size_t limit,
	       unsigned turn, struct dns_question *ret_question,
	       struct dns_reply *ret)
{
	struct lookup lk = { .turn = turn, .limit = limit, .reply = ret };
	size_t question_len;
	int rcode;

	ret->len = 0;
	ret->delay_ms = 0;
	if (len < HEADER_BYTES || (query[2] & 0x80) || query[4] != 0 ||
	    query[5] != 1)
		return -1;
	question_len = read_question(query, len, ret_question);
	if (question_len == 0)
		return -1;
	lk.type = ret_question->type;
	lk.zone = fopen(zone, "re");
	if (!lk.zone)
		return -1;

	memcpy(ret->data, query, HEADER_BYTES + question_len);
	ret->len = HEADER_BYTES + question_len;
	rcode = fill_answers(&lk, ret_question->name);
	fclose(lk.zone);
	if (rcode < 0)
		ret->len = 0;
	else
		finish_header(&lk, query, rcode, question_len);
	return 0;
}
