/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/util.h"
#include "netns/dns.h"

Suite *kg_suite(void);

/* A message with its length: most of them hold NUL bytes. */
struct wire {
	const char *what;
	const char *bytes;
	size_t len;
};
#define WIRE(what_, bytes_)                           \
	{                                             \
		(what_), (bytes_), sizeof(bytes_) - 1 \
	}

#define HEADER(flags, counts) "\x12\x34" flags counts
#define COUNTS_Q	      "\0\1\0\0\0\0\0\0"
#define COUNTS_QE	      "\0\1\0\0\0\0\0\1"
#define NAME		      "\7example\3org\0"
#define ASK_A		      "\0\1\0\1"
#define OPT		      "\0\0\x29\x04\xd0\0\0\0\0\0\0"
#define LABEL_64 \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LABEL_65 LABEL_64 "a"
#define POINTER	 "\xc0\x0c"

/* An exact copy on the heap: a read past its end is seen by sanitizers. */
static bool parse_query(const char *bytes, size_t len, struct kg_dns_query *ret)
{
	uint8_t *copy = malloc(len ? len : 1);
	bool ok;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, len);
	ok = kg_dns_parse_query(copy, len, ret);
	free(copy);
	return ok;
}

static const struct kg_dns_question asked = {
	.id = 0x1234,
	.type = KG_DNS_A,
	.edns = true,
	.name = "example.org",
};

START_TEST(builds_a_query_byte_for_byte)
{
	static const char want[] = HEADER("\1\0", COUNTS_QE) NAME ASK_A OPT;
	struct kg_dns_question plain = asked;
	uint8_t buf[KG_DNS_QUERY_BYTES];
	size_t len = kg_dns_build_query(&asked, buf, sizeof(buf));

	ck_assert_uint_eq(len, sizeof(want) - 1);
	ck_assert_mem_eq(buf, want, len);
	for (; len > 0; len--)
		ck_assert_uint_eq(kg_dns_build_query(&asked, buf, len - 1), 0);

	plain.edns = false;
	len = kg_dns_build_query(&plain, buf, sizeof(buf));
	ck_assert_uint_eq(len, sizeof(want) - 1 - KG_DNS_OPT_BYTES);
	ck_assert_uint_eq(buf[11], 0);
}
END_TEST

START_TEST(builds_no_query_for_what_is_not_a_name)
{
	static const char *const names[] = { "",   ".",	     "a..b", "a.",
					     ".a", LABEL_64, "..",   "a.b." };
	struct kg_dns_question question = asked;
	uint8_t buf[KG_DNS_QUERY_BYTES];
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(names); i++) {
		strcpy(question.name, names[i]);
		ck_assert_msg(!kg_dns_build_query(&question, buf, sizeof(buf)),
			      "%s", names[i]);
	}
	strcpy(question.name, &LABEL_64[1]);
	ck_assert_uint_gt(kg_dns_build_query(&question, buf, sizeof(buf)), 0);
}
END_TEST

START_TEST(carries_the_longest_name_there_and_back)
{
	struct kg_dns_question question = asked;
	uint8_t buf[KG_DNS_QUERY_BYTES + 1];
	struct kg_dns_query query;
	size_t i, len;

	/* 126 labels of one byte and one of two: 255 bytes on the wire.
	 */
	for (i = 0; i < 253; i++)
		question.name[i] = i % 2 ? '.' : 'a';
	question.name[253] = '\0';
	len = kg_dns_build_query(&question, buf, sizeof(buf));
	ck_assert_uint_eq(len, KG_DNS_QUERY_BYTES);
	ck_assert(kg_dns_parse_query(buf, len, &query));
	ck_assert_int_eq(query.problem, KG_DNS_NOERROR);
	ck_assert_str_eq(query.name, question.name);
	ck_assert_uint_eq(query.question_bytes, KG_DNS_QUESTION_BYTES);

	/* One byte more in a label, and the same bytes are a name no
	 * more. */
	memmove(buf + 15, buf + 14, len - 14);
	buf[12] = 2;
	len++;
	ck_assert(kg_dns_parse_query(buf, len, &query));
	ck_assert_int_eq(query.problem, KG_DNS_FORMERR);
}
END_TEST

START_TEST(folds_the_case_and_keeps_the_question_as_it_came)
{
	static const char msg[] = HEADER("\1\0",
					 COUNTS_Q) "\7eXaMpLe\3ORG\0\0\x1c\0\1";
	struct kg_dns_query query;

	ck_assert(parse_query(msg, sizeof(msg) - 1, &query));
	ck_assert_int_eq(query.problem, KG_DNS_NOERROR);
	ck_assert_uint_eq(query.id, 0x1234);
	ck_assert_uint_eq(query.type, KG_DNS_AAAA);
	ck_assert_uint_eq(query.class, KG_DNS_CLASS_IN);
	ck_assert(query.recursion);
	ck_assert(!query.edns);
	ck_assert_uint_eq(query.room_bytes, KG_DNS_PLAIN_BYTES);
	ck_assert_str_eq(query.name, "example.org");
	ck_assert_uint_eq(query.question_bytes, sizeof(msg) - 1 - 12);
	ck_assert_mem_eq(query.question, msg + 12, query.question_bytes);
}
END_TEST

START_TEST(takes_the_size_of_edns_within_bounds)
{
	static const struct {
		unsigned size;
		unsigned room;
	} rows[] = {
		{ 0, 512 },	{ 511, 512 },	{ 512, 512 },	{ 900, 900 },
		{ 1232, 1232 }, { 1233, 1232 }, { 4096, 1232 }, { 65535, 1232 },
	};
	char msg[] = HEADER("\1\0", COUNTS_QE) NAME ASK_A OPT;
	struct kg_dns_query query;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		msg[sizeof(msg) - 9] = (char)(rows[i].size >> 8);
		msg[sizeof(msg) - 8] = (char)rows[i].size;
		ck_assert(parse_query(msg, sizeof(msg) - 1, &query));
		ck_assert_int_eq(query.problem, KG_DNS_NOERROR);
		ck_assert(query.edns);
		ck_assert_uint_eq(query.room_bytes, rows[i].room);
	}
}
END_TEST

START_TEST(does_not_answer_what_has_no_header_or_is_a_response)
{
	static const char response[] = HEADER("\x81\0", COUNTS_Q) NAME ASK_A;
	struct kg_dns_query query;
	size_t len;

	for (len = 0; len < KG_DNS_HEADER_BYTES; len++)
		ck_assert(!parse_query(response, len, &query));
	ck_assert(!parse_query(response, sizeof(response) - 1, &query));
}
END_TEST

START_TEST(says_what_is_wrong_with_a_query)
{
	static const struct {
		struct wire msg;
		enum kg_dns_rcode problem;
	} rows[] = {
		{ WIRE("status", HEADER("\x10\0", COUNTS_Q) NAME ASK_A),
		  KG_DNS_NOTIMP },
		{ WIRE("update", HEADER("\x28\0", COUNTS_Q) NAME ASK_A),
		  KG_DNS_NOTIMP },
		{ WIRE("no question", HEADER("\1\0", "\0\0\0\0\0\0\0\0")),
		  KG_DNS_FORMERR },
		{ WIRE("two questions", HEADER("\1\0", "\0\2\0\0\0\0\0\0")
						NAME ASK_A NAME ASK_A),
		  KG_DNS_FORMERR },
		{ WIRE("an answer",
		       HEADER("\1\0", "\0\1\0\1\0\0\0\0") NAME ASK_A OPT),
		  KG_DNS_FORMERR },
		{ WIRE("an authority",
		       HEADER("\1\0", "\0\1\0\0\0\1\0\0") NAME ASK_A OPT),
		  KG_DNS_FORMERR },
		{ WIRE("a missing record",
		       HEADER("\1\0", COUNTS_QE) NAME ASK_A),
		  KG_DNS_FORMERR },
		{ WIRE("two OPT",
		       HEADER("\1\0", "\0\1\0\0\0\0\0\2") NAME ASK_A OPT OPT),
		  KG_DNS_FORMERR },
		{ WIRE("OPT with a name", HEADER("\1\0", COUNTS_QE) NAME ASK_A
		       "\1a\0\0\x29\x04\xd0\0\0\0\0\0\0"),
		  KG_DNS_FORMERR },
		{ WIRE("EDNS 1", HEADER("\1\0", COUNTS_QE) NAME ASK_A
		       "\0\0\x29\x04\xd0\0\1\0\0\0\0"),
		  KG_DNS_BADVERS },
		{ WIRE("a pointer as name",
		       HEADER("\1\0", COUNTS_Q) POINTER ASK_A),
		  KG_DNS_FORMERR },
		{ WIRE("label type 01",
		       HEADER("\1\0", COUNTS_Q) "\x41" LABEL_65 "\0" ASK_A),
		  KG_DNS_FORMERR },
		{ WIRE("label type 10",
		       HEADER("\1\0", COUNTS_Q) "\x81" LABEL_65 LABEL_64
						"\0" ASK_A),
		  KG_DNS_FORMERR },
		{ WIRE("another record", HEADER("\1\0", COUNTS_QE) NAME ASK_A
		       "\1a\0\0\xfa\0\xff\0\0\0\0\0\2xx"),
		  KG_DNS_NOERROR },
		{ WIRE("bytes behind it",
		       HEADER("\1\0", COUNTS_Q) NAME ASK_A "behind"),
		  KG_DNS_NOERROR },
		{ WIRE("the root", HEADER("\1\0", COUNTS_Q) "\0" ASK_A),
		  KG_DNS_NOERROR },
	};
	struct kg_dns_query query;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		ck_assert_msg(
			parse_query(rows[i].msg.bytes, rows[i].msg.len, &query),
			"%s", rows[i].msg.what);
		ck_assert_msg(query.problem == rows[i].problem, "%s: %d",
			      rows[i].msg.what, (int)query.problem);
	}
}
END_TEST

START_TEST(takes_no_prefix_of_a_query_for_a_query)
{
	static const char msg[] = HEADER("\1\0", COUNTS_QE) NAME ASK_A OPT;
	struct kg_dns_query query;
	size_t len;

	for (len = KG_DNS_HEADER_BYTES; len < sizeof(msg) - 1; len++) {
		ck_assert(parse_query(msg, len, &query));
		ck_assert_int_eq(query.problem, KG_DNS_FORMERR);
	}
	ck_assert(parse_query(msg, len, &query));
	ck_assert_int_eq(query.problem, KG_DNS_NOERROR);
}
END_TEST

START_TEST(reads_a_name_that_cannot_be_listed_as_empty)
{
	static const char odd[] = { '\0', '\1', '\t',	'\n',	' ',
				    '.',  '\\', '\x7f', '\x80', '\xff' };
	char msg[] = HEADER("\1\0", COUNTS_Q) "\3a?c\4test\0" ASK_A;
	struct kg_dns_query query;
	int c;

	for (c = 0; c < 256; c++) {
		bool refused = c <= ' ' || c > '~' ||
			       memchr(odd, c, sizeof(odd)) != NULL;

		msg[14] = (char)c;
		ck_assert(parse_query(msg, sizeof(msg) - 1, &query));
		ck_assert_int_eq(query.problem, KG_DNS_NOERROR);
		ck_assert_uint_eq(query.question_bytes, sizeof(msg) - 1 - 12);
		ck_assert_msg((query.name[0] == '\0') == refused, "%d", c);
	}
}
END_TEST

static struct kg_dns_query query_for(const char *bytes, size_t len)
{
	struct kg_dns_query query;

	ck_assert(parse_query(bytes, len, &query));
	return query;
}

static const struct kg_dns_addr two_addrs[] = { { { 192, 0, 2, 1 } },
						{ { 192, 0, 2, 2 } } };

START_TEST(builds_a_response_byte_for_byte)
{
	static const char ask[] = HEADER(
		"\1\0", COUNTS_QE) "\7eXample\3org\0" ASK_A OPT;
	static const char want[] = HEADER(
		"\x81\x80",
		"\0\1\0\2\0\0\0\1") "\7eXample\3org\0" ASK_A POINTER
				    "\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1" POINTER
				    "\0\1\0\1\0\0\0\x3c\0\4"
				    "\xc0\0\2\2" OPT;
	struct kg_dns_query query = query_for(ask, sizeof(ask) - 1);
	struct kg_dns_answer answer = {
		.type = KG_DNS_A, .ttl_s = 60, .addrs = two_addrs, .count = 2
	};
	uint8_t buf[512];
	size_t len = kg_dns_build_response(&query, &answer, buf, sizeof(buf));

	ck_assert_uint_eq(len, sizeof(want) - 1);
	ck_assert_mem_eq(buf, want, len);
}
END_TEST

START_TEST(builds_an_ipv6_response)
{
	static const char ask[] = HEADER("\1\0", COUNTS_Q) NAME "\0\x1c\0\1";
	static const char record[] = POINTER
		"\0\x1c\0\1\0\0\0\1\0\x10"
		"\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\7";
	static const struct kg_dns_addr addr = {
		{ 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7 }
	};
	struct kg_dns_query query = query_for(ask, sizeof(ask) - 1);
	struct kg_dns_answer answer = {
		.type = KG_DNS_AAAA, .ttl_s = 1, .addrs = &addr, .count = 1
	};
	uint8_t buf[512];
	size_t len = kg_dns_build_response(&query, &answer, buf, sizeof(buf));

	ck_assert_uint_eq(len, sizeof(ask) - 1 + sizeof(record) - 1);
	ck_assert_mem_eq(buf + sizeof(ask) - 1, record, sizeof(record) - 1);
}
END_TEST

START_TEST(builds_every_rcode_without_a_record)
{
	static const enum kg_dns_rcode rcodes[] = {
		KG_DNS_NOERROR,	 KG_DNS_FORMERR, KG_DNS_SERVFAIL,
		KG_DNS_NXDOMAIN, KG_DNS_NOTIMP,	 KG_DNS_REFUSED,
		KG_DNS_BADVERS,
	};
	static const char ask[] = HEADER("\0\0", COUNTS_QE) NAME ASK_A OPT;
	struct kg_dns_query query = query_for(ask, sizeof(ask) - 1);
	uint8_t buf[512];
	size_t i, len;

	for (i = 0; i < KG_ARRAY_LEN(rcodes); i++) {
		struct kg_dns_answer answer = { .rcode = rcodes[i] };

		len = kg_dns_build_response(&query, &answer, buf, sizeof(buf));
		ck_assert_uint_eq(len, sizeof(ask) - 1);
		ck_assert_uint_eq(buf[2], 0x80); /* no RD: none was asked for */
		ck_assert_uint_eq(buf[3], 0x80 | (rcodes[i] & 15));
		ck_assert_uint_eq(buf[7], 0);
		ck_assert_uint_eq(buf[len - 6], (unsigned)rcodes[i] >> 4);
	}
}
END_TEST

START_TEST(answers_a_query_it_could_not_read_with_the_header_alone)
{
	static const char ask[] = HEADER("\x29\0", COUNTS_Q) NAME ASK_A;
	struct kg_dns_query query = query_for(ask, sizeof(ask) - 1);
	struct kg_dns_answer answer = { .rcode = query.problem };
	uint8_t buf[512];

	ck_assert_uint_eq(
		kg_dns_build_response(&query, &answer, buf, sizeof(buf)),
		KG_DNS_HEADER_BYTES);
	ck_assert_uint_eq(buf[2], 0xa9); /* opcode and RD are repeated */
	ck_assert_uint_eq(buf[3], 0x84);
	ck_assert_uint_eq(buf[5], 0);
}
END_TEST

START_TEST(marks_an_answer_that_does_not_fit_as_truncated)
{
	static const char ask[] = HEADER("\1\0", COUNTS_QE) NAME ASK_A OPT;
	struct kg_dns_query query = query_for(ask, sizeof(ask) - 1);
	struct kg_dns_answer answer = { .type = KG_DNS_A,
					.addrs = two_addrs,
					.count = 2 };
	const size_t empty = sizeof(ask) - 1, whole = empty + 2 * 16;
	uint8_t *buf;
	size_t room, len;

	for (room = 0; room <= whole; room++) {
		buf = malloc(room ? room : 1);
		ck_assert_ptr_nonnull(buf);
		len = kg_dns_build_response(&query, &answer, buf, room);
		if (room < empty) {
			ck_assert_uint_eq(len, 0);
		} else if (room < whole) {
			ck_assert_uint_eq(len, empty);
			ck_assert_uint_eq(buf[2], 0x83);
			ck_assert_uint_eq(buf[7], 0);
		} else {
			ck_assert_uint_eq(len, whole);
			ck_assert_uint_eq(buf[2], 0x81);
			ck_assert_uint_eq(buf[7], 2);
		}
		free(buf);
	}
}
END_TEST

static bool parse_response(const char *bytes, size_t len,
			   struct kg_dns_response *ret)
{
	return kg_dns_parse_response((const uint8_t *)bytes, len, &asked, ret);
}

START_TEST(takes_only_the_response_to_its_own_question)
{
	static const struct {
		struct wire msg;
		bool mine;
	} rows[] = {
		{ WIRE("it", HEADER("\x81\x80", COUNTS_Q) NAME ASK_A), true },
		{ WIRE("other case",
		       HEADER("\x81\x80", COUNTS_Q) "\7ExamplE\3oRg\0" ASK_A),
		  true },
		{ WIRE("truncated", HEADER("\x83\x80", COUNTS_Q) NAME ASK_A),
		  true },
		{ WIRE("other number", "\x12\x35\x81\x80" COUNTS_Q NAME ASK_A),
		  false },
		{ WIRE("a query", HEADER("\1\0", COUNTS_Q) NAME ASK_A), false },
		{ WIRE("other opcode", HEADER("\x91\x80", COUNTS_Q) NAME ASK_A),
		  false },
		{ WIRE("other name",
		       HEADER("\x81\x80", COUNTS_Q) "\7exampla\3org\0" ASK_A),
		  false },
		{ WIRE("longer name",
		       HEADER("\x81\x80",
			      COUNTS_Q) "\1a\7example\3org\0" ASK_A),
		  false },
		{ WIRE("shorter name",
		       HEADER("\x81\x80", COUNTS_Q) "\7example\0" ASK_A),
		  false },
		{ WIRE("dot in a label",
		       HEADER("\x81\x80", COUNTS_Q) "\x0b"
						    "example.org\0" ASK_A),
		  false },
		{ WIRE("other type",
		       HEADER("\x81\x80", COUNTS_Q) NAME "\0\x1c\0\1"),
		  false },
		{ WIRE("other class",
		       HEADER("\x81\x80", COUNTS_Q) NAME "\0\1\0\3"),
		  false },
		{ WIRE("no question", HEADER("\x81\x80", "\0\0\0\0\0\0\0\0")),
		  false },
		{ WIRE("two questions", HEADER("\x81\x80", "\0\2\0\0\0\0\0\0")
						NAME ASK_A NAME ASK_A),
		  false },
		{ WIRE("FORMERR alone", HEADER("\x81\x81", "\0\0\0\1\0\0\0\0")),
		  true },
		{ WIRE("REFUSED alone", HEADER("\x81\x85", "\0\0\0\0\0\0\0\0")),
		  false },
	};
	struct kg_dns_response response;
	size_t i, len;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++)
		ck_assert_msg(parse_response(rows[i].msg.bytes, rows[i].msg.len,
					     &response) == rows[i].mine,
			      "%s", rows[i].msg.what);
	for (len = 0; len < rows[0].msg.len; len++)
		ck_assert(!parse_response(rows[0].msg.bytes, len, &response));
	ck_assert(
		parse_response(rows[2].msg.bytes, rows[2].msg.len, &response));
	ck_assert(response.truncated);
	ck_assert(parse_response(rows[14].msg.bytes, rows[14].msg.len,
				 &response));
	ck_assert_uint_eq(response.rcode, KG_DNS_FORMERR);
	ck_assert_uint_eq(response.left, 0);
}
END_TEST

/* What a server may well say: an alias, its addresses, and a stranger. */
#define ANSWER                                                      \
	HEADER("\x81\x80", "\0\1\0\5\0\0\0\0")                      \
	NAME ASK_A POINTER "\0\5\0\1\0\0\0\x3c\0\6\3wWw\xc0\x14"    \
			   "\xc0\x29\0\1\0\1\0\0\0\7\0\4\xc0\0\2\1" \
			   "\xc0\x29\0\x1c\0\1\0\0\0\7\0\x10"       \
			   "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\7" \
			   "\xc0\x29\0\x10\0\1\0\0\0\7\0\3\2hi"     \
			   "\xc0\x29\0\1\0\3\0\0\0\7\0\1x"

START_TEST(reads_the_records_of_an_answer)
{
	static const char msg[] = ANSWER;
	struct kg_dns_response response;
	struct kg_dns_record record;
	int round;

	ck_assert(parse_response(msg, sizeof(msg) - 1, &response));
	for (round = 0; round < 2; round++) {
		ck_assert_int_eq(kg_dns_next_record(&response, &record), 1);
		ck_assert_int_eq(record.type, KG_DNS_CNAME);
		ck_assert_uint_eq(record.ttl_s, 60);
		ck_assert_str_eq(record.name, "example.org");
		ck_assert_str_eq(record.target, "www.org");

		ck_assert_int_eq(kg_dns_next_record(&response, &record), 1);
		ck_assert_int_eq(record.type, KG_DNS_A);
		ck_assert_str_eq(record.name, "www.org");
		ck_assert_mem_eq(record.addr.bytes, two_addrs[0].bytes, 16);

		ck_assert_int_eq(kg_dns_next_record(&response, &record), 1);
		ck_assert_int_eq(record.type, KG_DNS_AAAA);
		ck_assert_uint_eq(record.addr.bytes[15], 7);

		/* A text, and an address of another class. */
		ck_assert_int_eq(kg_dns_next_record(&response, &record), 1);
		ck_assert_int_eq(record.type, KG_DNS_OTHER);
		ck_assert_int_eq(kg_dns_next_record(&response, &record), 1);
		ck_assert_int_eq(record.type, KG_DNS_OTHER);
		ck_assert_int_eq(kg_dns_next_record(&response, &record), 0);
		kg_dns_rewind(&response);
	}
}
END_TEST

START_TEST(sees_that_an_answer_was_cut_at_any_byte)
{
	static const char msg[] = ANSWER;
	struct kg_dns_response response;
	struct kg_dns_record record;
	size_t len;
	char *copy;
	int rc;

	for (len = 29; len < sizeof(msg) - 1; len++) {
		copy = malloc(len);
		ck_assert_ptr_nonnull(copy);
		memcpy(copy, msg, len);
		ck_assert(parse_response(copy, len, &response));
		do
			rc = kg_dns_next_record(&response, &record);
		while (rc == 1);
		ck_assert_msg(rc == -1, "%zu bytes", len);
		free(copy);
	}
}
END_TEST

#define FIRST_RECORD HEADER("\x81\x80", "\0\1\0\1\0\0\0\0") NAME ASK_A

/* The record begins at byte 29, the data of the named ones at byte 41. */
START_TEST(refuses_a_broken_record)
{
	static const struct wire rows[] = {
		WIRE("a pointer to itself",
		     FIRST_RECORD "\xc0\x1d\0\1\0\1\0\0\0\0\0\4\1\2\3\4"),
		WIRE("a pointer forward",
		     FIRST_RECORD "\xc0\x29\0\1\0\1\0\0\0\0\0\4\1x\0\4"),
		WIRE("a pointer into the header",
		     FIRST_RECORD "\xc0\x0b\0\1\0\1\0\0\0\0\0\4\1\2\3\4"),
		WIRE("a pointer past the end",
		     FIRST_RECORD "\xff\xff\0\1\0\1\0\0\0\0\0\4\1\2\3\4"),
		WIRE("a label, then a pointer back to it",
		     FIRST_RECORD "\1a\xc0\x1d\0\1\0\1\0\0\0\0\0\4\1\2\3\4"),
		WIRE("two pointers at each other", FIRST_RECORD POINTER
		     "\0\5\0\1\0\0\0\0\0\4\xc0\x2b\xc0\x29"),
		WIRE("an alias in a circle",
		     FIRST_RECORD POINTER "\0\5\0\1\0\0\0\0\0\2\xc0\x29"),
		WIRE("an alias shorter than its data",
		     FIRST_RECORD POINTER "\0\5\0\1\0\0\0\0\0\3\xc0\x0c\0"),
		WIRE("an alias longer than its data",
		     FIRST_RECORD POINTER "\0\5\0\1\0\0\0\0\0\2\3www\0"),
		WIRE("an alias of no bytes",
		     FIRST_RECORD POINTER "\0\5\0\1\0\0\0\0\0\0\xc0\x0c"),
		WIRE("A of three bytes",
		     FIRST_RECORD POINTER "\0\1\0\1\0\0\0\0\0\3\1\2\3"),
		WIRE("A of five bytes",
		     FIRST_RECORD POINTER "\0\1\0\1\0\0\0\0\0\5\1\2\3\4\5"),
		WIRE("AAAA of four bytes",
		     FIRST_RECORD POINTER "\0\x1c\0\1\0\0\0\0\0\4\1\2\3\4"),
		WIRE("data past the end",
		     FIRST_RECORD POINTER "\0\x10\0\1\0\0\0\0\xff\xff\1\2\3\4"),
		WIRE("a long label",
		     FIRST_RECORD "\x40\0\1\0\1\0\0\0\0\0\4\1\2\3\4"),
		WIRE("no record", FIRST_RECORD),
	};
	struct kg_dns_response response;
	struct kg_dns_record record;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		ck_assert_msg(
			parse_response(rows[i].bytes, rows[i].len, &response),
			"%s", rows[i].what);
		ck_assert_msg(kg_dns_next_record(&response, &record) == -1,
			      "%s", rows[i].what);
	}
}
END_TEST

/* Pieces that each point back to the one before: 64 labels, then too many. */
START_TEST(bounds_a_name_that_is_made_of_pointers)
{
	struct kg_dns_response response;
	struct kg_dns_record record;
	uint8_t msg[2048];
	size_t at, i, piece = 12;

	memcpy(msg, HEADER("\x81\x80", "\0\1\0\177\0\0\0\0") NAME ASK_A, 29);
	at = 29;
	for (i = 0; i < 127; i++) {
		memcpy(msg + at, "\1a\xc0", 3);
		msg[at + 2] |= (uint8_t)(piece >> 8);
		msg[at + 3] = (uint8_t)piece;
		memcpy(msg + at + 4, "\0\x10\0\1\0\0\0\0\0\0", 10);
		piece = at;
		at += 14;
	}
	ck_assert(kg_dns_parse_response(msg, at, &asked, &response));
	for (i = 0; i < 121; i++) {
		ck_assert_int_eq(kg_dns_next_record(&response, &record), 1);
		ck_assert_uint_eq(strlen(record.name), 11 + 2 * (i + 1));
	}
	ck_assert_int_eq(kg_dns_next_record(&response, &record), -1);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("netns/dns");
	TCase *queries = tcase_create("queries");
	TCase *responses = tcase_create("responses");

	tcase_add_test(queries, builds_a_query_byte_for_byte);
	tcase_add_test(queries, builds_no_query_for_what_is_not_a_name);
	tcase_add_test(queries, carries_the_longest_name_there_and_back);
	tcase_add_test(queries,
		       folds_the_case_and_keeps_the_question_as_it_came);
	tcase_add_test(queries, takes_the_size_of_edns_within_bounds);
	tcase_add_test(queries,
		       does_not_answer_what_has_no_header_or_is_a_response);
	tcase_add_test(queries, says_what_is_wrong_with_a_query);
	tcase_add_test(queries, takes_no_prefix_of_a_query_for_a_query);
	tcase_add_test(queries, reads_a_name_that_cannot_be_listed_as_empty);
	suite_add_tcase(s, queries);

	tcase_add_test(responses, builds_a_response_byte_for_byte);
	tcase_add_test(responses, builds_an_ipv6_response);
	tcase_add_test(responses, builds_every_rcode_without_a_record);
	tcase_add_test(responses,
		       answers_a_query_it_could_not_read_with_the_header_alone);
	tcase_add_test(responses,
		       marks_an_answer_that_does_not_fit_as_truncated);
	tcase_add_test(responses, takes_only_the_response_to_its_own_question);
	tcase_add_test(responses, reads_the_records_of_an_answer);
	tcase_add_test(responses, sees_that_an_answer_was_cut_at_any_byte);
	tcase_add_test(responses, refuses_a_broken_record);
	tcase_add_test(responses, bounds_a_name_that_is_made_of_pointers);
	suite_add_tcase(s, responses);
	return s;
}
