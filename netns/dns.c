/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/dns.h"

#include <string.h>

#define WIRE_NAME_BYTES 255 /* RFC 1035, section 2.3.4 */
#define LABEL_BYTES	63

/* The header's second word: RFC 1035, section 4.1.1. */
#define FLAG_RESPONSE  0x8000
#define FLAG_TRUNCATED 0x0200
#define FLAG_RD	       0x0100
#define FLAG_RA	       0x0080
#define MASK_RCODE     0x000f
#define OPCODE(flags)  (((flags) >> 11) & 0x0f)

/* A pointer to the name of the first question, right behind the header. */
#define POINTER_TO_QUESTION (0xc000 | KG_DNS_HEADER_BYTES)

/*
 * A failed read or write marks the cursor and yields zeros: one check at the
 * end of a group of fields stands for all of them.
 */
struct reader {
	const uint8_t *msg;
	size_t len;
	size_t at;
	bool bad;
};

struct writer {
	uint8_t *buf;
	size_t room;
	size_t at;
	bool full;
};

struct header {
	uint16_t id;
	uint16_t flags;
	uint16_t questions;
	uint16_t answers;
	uint16_t authorities;
	uint16_t additionals;
};

struct record_head {
	char name[KG_HOST_NAME_BYTES];
	bool root;
	uint16_t type;
	uint16_t class;
	uint32_t ttl;
	size_t data;
	size_t data_bytes;
};

static const uint8_t *get_bytes(struct reader *r, size_t n)
{
	if (r->bad || n > r->len - r->at) {
		r->bad = true;
		return NULL;
	}
	r->at += n;
	return r->msg + r->at - n;
}

static unsigned get8(struct reader *r)
{
	const uint8_t *p = get_bytes(r, 1);

	return p ? p[0] : 0;
}

static uint16_t get16(struct reader *r)
{
	const uint8_t *p = get_bytes(r, 2);

	return p ? (uint16_t)(p[0] << 8 | p[1]) : 0;
}

static uint32_t get32(struct reader *r)
{
	uint32_t high = get16(r);

	return high << 16 | get16(r);
}

static struct header get_header(struct reader *r)
{
	struct header h;

	h.id = get16(r);
	h.flags = get16(r);
	h.questions = get16(r);
	h.answers = get16(r);
	h.authorities = get16(r);
	h.additionals = get16(r);
	return h;
}

/* A name as it is put together; text is NULL when only its end is wanted. */
struct name {
	char *text;
	size_t text_bytes;
	size_t wire_bytes;
	bool unlisted;
};

static void append_label(struct name *name, const uint8_t *label, size_t n)
{
	size_t i;

	if (name->text_bytes)
		name->text[name->text_bytes++] = '.';
	for (i = 0; i < n; i++) {
		uint8_t c = label[i];

		if (c <= ' ' || c > '~' || c == '.' || c == '\\')
			name->unlisted = true;
		if (c >= 'A' && c <= 'Z')
			c = (uint8_t)(c - 'A' + 'a');
		name->text[name->text_bytes++] = (char)c;
	}
}

/*
 * Follow a pointer: only to before where this piece of the name began, so that
 * every jump goes further back and none can come round again; and never into
 * the header.
 */
static bool jump(struct reader *r, unsigned first, size_t *limit)
{
	size_t target = (first & 0x3f) << 8 | get8(r);

	if (r->bad || target < KG_DNS_HEADER_BYTES || target >= *limit)
		return false;
	*limit = target;
	r->at = target;
	return true;
}

/* RFC 1035, sections 3.1 and 4.1.4.  Leaves the reader behind the name. */
static void get_name(struct reader *r, char ret[KG_HOST_NAME_BYTES])
{
	struct name name = { .text = ret };
	size_t limit = r->at, end = 0;
	const uint8_t *label;
	unsigned first;

	ret[0] = '\0';
	for (;;) {
		first = get8(r);
		if (first >= 0xc0) {
			if (!end)
				end = r->at + 1;
			if (!jump(r, first, &limit))
				break;
			continue;
		}
		name.wire_bytes += 1 + first;
		if (r->bad || first > LABEL_BYTES ||
		    name.wire_bytes > WIRE_NAME_BYTES)
			break;
		if (first == 0) {
			if (end)
				r->at = end;
			ret[name.unlisted ? 0 : name.text_bytes] = '\0';
			return;
		}
		label = get_bytes(r, first);
		if (!label)
			break;
		append_label(&name, label, first);
	}
	r->bad = true;
	ret[0] = '\0';
}

/* RFC 1035, section 4.1.3. */
static void get_record(struct reader *r, struct record_head *ret)
{
	size_t start = r->at;

	get_name(r, ret->name);
	ret->root = !r->bad && r->at == start + 1;
	ret->type = get16(r);
	ret->class = get16(r);
	ret->ttl = get32(r);
	ret->data_bytes = get16(r);
	ret->data = r->at;
	(void)get_bytes(r, ret->data_bytes);
}

static void put_bytes(struct writer *w, const void *bytes, size_t n)
{
	if (w->full || n > w->room - w->at) {
		w->full = true;
		return;
	}
	memcpy(w->buf + w->at, bytes, n);
	w->at += n;
}

static void put8(struct writer *w, unsigned value)
{
	uint8_t byte = (uint8_t)value;

	put_bytes(w, &byte, 1);
}

static void put16(struct writer *w, unsigned value)
{
	put8(w, value >> 8);
	put8(w, value);
}

static void put32(struct writer *w, uint32_t value)
{
	put16(w, value >> 16);
	put16(w, value & 0xffff);
}

static void put_header(struct writer *w, const struct header *h)
{
	put16(w, h->id);
	put16(w, h->flags);
	put16(w, h->questions);
	put16(w, h->answers);
	put16(w, h->authorities);
	put16(w, h->additionals);
}

/* False if the text isn't a name: an empty or too long label, or all of it. */
static bool put_name(struct writer *w, const char *text)
{
	size_t start = w->at, n;

	for (;;) {
		n = strcspn(text, ".");
		if (n == 0 || n > LABEL_BYTES)
			return false;
		put8(w, (unsigned)n);
		put_bytes(w, text, n);
		text += n;
		if (!*text)
			break;
		text++;
	}
	put8(w, 0);
	return !w->full && w->at - start <= WIRE_NAME_BYTES;
}

/* RFC 6891, section 6.1.2: our size for the class, the upper rcode bits. */
static void put_opt(struct writer *w, enum kg_dns_rcode rcode)
{
	put8(w, 0);
	put16(w, KG_DNS_OPT);
	put16(w, KG_DNS_UDP_BYTES);
	put32(w, (uint32_t)rcode >> 4 << 24);
	put16(w, 0);
}

/* Requested sizes below 512 count as 512: RFC 6891, section 6.2.3. */
static uint16_t clamp_room(unsigned bytes)
{
	if (bytes < KG_DNS_PLAIN_BYTES)
		return KG_DNS_PLAIN_BYTES;
	return (uint16_t)(bytes < KG_DNS_UDP_BYTES ? bytes : KG_DNS_UDP_BYTES);
}

static enum kg_dns_rcode take_opt(const struct record_head *record,
				  struct kg_dns_query *ret)
{
	if (ret->edns || !record->root)
		return KG_DNS_FORMERR;
	ret->edns = true;
	ret->room_bytes = clamp_room(record->class);
	return (record->ttl >> 16 & 0xff) ? KG_DNS_BADVERS : KG_DNS_NOERROR;
}

static enum kg_dns_rcode read_additionals(struct reader *r, unsigned count,
					  struct kg_dns_query *ret)
{
	enum kg_dns_rcode rcode = KG_DNS_NOERROR;
	struct record_head record;

	while (count--) {
		get_record(r, &record);
		if (r->bad)
			return KG_DNS_FORMERR;
		if (record.type == KG_DNS_OPT && rcode == KG_DNS_NOERROR)
			rcode = take_opt(&record, ret);
	}
	return rcode;
}

static enum kg_dns_rcode read_question(struct reader *r,
				       struct kg_dns_query *ret)
{
	size_t start = r->at;

	get_name(r, ret->name);
	ret->type = get16(r);
	ret->class = get16(r);
	if (r->bad)
		return KG_DNS_FORMERR;

	/* Nothing stands before it that a pointer could lead to. */
	ret->question_bytes = (uint16_t)(r->at - start);
	memcpy(ret->question, r->msg + start, ret->question_bytes);
	return KG_DNS_NOERROR;
}

bool kg_dns_parse_query(const uint8_t *msg, size_t len,
			struct kg_dns_query *ret)
{
	struct reader r = { .msg = msg, .len = len };
	struct header h = get_header(&r);

	if (r.bad || h.flags & FLAG_RESPONSE)
		return false;

	memset(ret, 0, sizeof(*ret));
	ret->id = h.id;
	ret->opcode = OPCODE(h.flags);
	ret->recursion = h.flags & FLAG_RD;
	ret->room_bytes = KG_DNS_PLAIN_BYTES;
	if (ret->opcode != 0)
		ret->problem = KG_DNS_NOTIMP;
	else if (h.questions != 1 || h.answers || h.authorities)
		ret->problem = KG_DNS_FORMERR;
	else
		ret->problem = read_question(&r, ret);
	if (ret->problem == KG_DNS_NOERROR)
		ret->problem = read_additionals(&r, h.additionals, ret);
	return true;
}

static void put_addresses(struct writer *w, const struct kg_dns_answer *answer)
{
	size_t bytes = answer->type == KG_DNS_A ? 4 : 16;
	size_t i;

	for (i = 0; i < answer->count; i++) {
		put16(w, POINTER_TO_QUESTION);
		put16(w, answer->type);
		put16(w, KG_DNS_CLASS_IN);
		put32(w, answer->ttl_s);
		put16(w, (unsigned)bytes);
		put_bytes(w, answer->addrs[i].bytes, bytes);
	}
}

static size_t write_response(const struct kg_dns_query *query,
			     const struct kg_dns_answer *answer, uint8_t *buf,
			     size_t room, unsigned more_flags)
{
	struct writer w = { .buf = buf, .room = room };
	struct header h = {
		.id = query->id,
		.flags = (uint16_t)(FLAG_RESPONSE | FLAG_RA | more_flags |
				    query->opcode << 11 |
				    (query->recursion ? FLAG_RD : 0) |
				    (answer->rcode & MASK_RCODE)),
		.questions = query->question_bytes ? 1 : 0,
		.answers = (uint16_t)answer->count,
		.additionals = query->edns ? 1 : 0,
	};

	put_header(&w, &h);
	put_bytes(&w, query->question, query->question_bytes);
	put_addresses(&w, answer);
	if (query->edns)
		put_opt(&w, answer->rcode);
	return w.full ? 0 : w.at;
}

size_t kg_dns_build_response(const struct kg_dns_query *query,
			     const struct kg_dns_answer *answer, uint8_t *buf,
			     size_t room)
{
	struct kg_dns_answer empty = { .rcode = answer->rcode };
	size_t len = 0;

	if (answer->count <= UINT16_MAX)
		len = write_response(query, answer, buf, room, 0);
	return len ? len
		   : write_response(query, &empty, buf, room, FLAG_TRUNCATED);
}

size_t kg_dns_build_query(const struct kg_dns_question *question, uint8_t *buf,
			  size_t room)
{
	struct writer w = { .buf = buf, .room = room };
	struct header h = {
		.id = question->id,
		.flags = FLAG_RD,
		.questions = 1,
		.additionals = question->edns ? 1 : 0,
	};

	put_header(&w, &h);
	if (!put_name(&w, question->name))
		return 0;
	put16(&w, question->type);
	put16(&w, KG_DNS_CLASS_IN);
	if (question->edns)
		put_opt(&w, KG_DNS_NOERROR);
	return w.full ? 0 : w.at;
}

static bool is_same_question(struct reader *r,
			     const struct kg_dns_question *question)
{
	char name[KG_HOST_NAME_BYTES];
	uint16_t type, class;

	get_name(r, name);
	type = get16(r);
	class = get16(r);
	return !r->bad && type == question->type && class == KG_DNS_CLASS_IN &&
	       strcmp(name, question->name) == 0;
}

bool kg_dns_parse_response(const uint8_t *msg, size_t len,
			   const struct kg_dns_question *question,
			   struct kg_dns_response *ret)
{
	struct reader r = { .msg = msg, .len = len };
	struct header h = get_header(&r);

	if (r.bad || !(h.flags & FLAG_RESPONSE) || OPCODE(h.flags) != 0 ||
	    h.id != question->id)
		return false;
	if (h.questions == 0 && (h.flags & MASK_RCODE) == KG_DNS_FORMERR)
		h.answers = 0;
	else if (h.questions != 1 || !is_same_question(&r, question))
		return false;

	*ret = (struct kg_dns_response){
		.rcode = h.flags & MASK_RCODE,
		.truncated = h.flags & FLAG_TRUNCATED,
		.msg = msg,
		.len = len,
		.first = r.at,
		.count = h.answers,
		.at = r.at,
		.left = h.answers,
	};
	return true;
}

/* False if the data doesn't have the form that its type wants. */
static bool read_data(const struct kg_dns_response *response,
		      const struct record_head *head, struct kg_dns_record *ret)
{
	struct reader data = { .msg = response->msg,
			       .len = head->data + head->data_bytes,
			       .at = head->data };
	size_t bytes = head->type == KG_DNS_A ? 4 : 16;

	ret->type = head->class == KG_DNS_CLASS_IN ? head->type : KG_DNS_OTHER;
	switch (ret->type) {
	case KG_DNS_A:
	case KG_DNS_AAAA:
		if (head->data_bytes != bytes)
			return false;
		memcpy(ret->addr.bytes, data.msg + data.at, bytes);
		return true;
	case KG_DNS_CNAME:
		get_name(&data, ret->target);
		return !data.bad && data.at == data.len;
	case KG_DNS_OTHER:
	case KG_DNS_OPT:
	default:
		ret->type = KG_DNS_OTHER;
		return true;
	}
}

int kg_dns_next_record(struct kg_dns_response *response,
		       struct kg_dns_record *ret)
{
	struct reader r = { .msg = response->msg,
			    .len = response->len,
			    .at = response->at };
	struct record_head head;

	if (response->left == 0)
		return 0;
	memset(ret, 0, sizeof(*ret));
	get_record(&r, &head);
	if (r.bad || !read_data(response, &head, ret))
		return -1;

	memcpy(ret->name, head.name, sizeof(ret->name));
	ret->ttl_s = head.ttl;
	response->at = r.at;
	response->left--;
	return 1;
}

void kg_dns_rewind(struct kg_dns_response *response)
{
	response->at = response->first;
	response->left = response->count;
}
