/* SPDX-License-Identifier: MIT */
/*
 * DNS messages.  First byte: even for a query of a client, odd for a server's
 * response to a fixed question.  The rest: the message.
 */
#include "config.h"

#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "netns/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name)
{
	size_t len = strnlen(name, KG_HOST_NAME_BYTES), i;

	assert(len < KG_HOST_NAME_BYTES);
	for (i = 0; i < len; i++)
		assert(name[i] > ' ' && name[i] <= '~' && name[i] != '\\' &&
		       !(name[i] >= 'A' && name[i] <= 'Z'));
	assert(len == 0 || (name[0] != '.' && name[len - 1] != '.'));
	assert(!strstr(name, ".."));
}

/* What was read as a name can be asked for, and reads the same again. */
static void check_name_returns(const char *name)
{
	struct kg_dns_question question = { .type = KG_DNS_A };
	uint8_t buf[KG_DNS_QUERY_BYTES];
	struct kg_dns_query query;
	size_t len;

	memcpy(question.name, name, sizeof(question.name));
	len = kg_dns_build_query(&question, buf, sizeof(buf));
	assert(len > 0);
	assert(kg_dns_parse_query(buf, len, &query));
	assert(query.problem == KG_DNS_NOERROR);
	assert(strcmp(query.name, name) == 0);
}

/* The answer belongs to the question, and holds all addresses or none. */
static void check_answer(const struct kg_dns_query *query, const uint8_t *msg,
			 size_t len, size_t wanted)
{
	struct kg_dns_question question = { .id = query->id,
					    .type = query->type };
	struct kg_dns_response response;
	struct kg_dns_record record;
	size_t count = 0;

	memcpy(question.name, query->name, sizeof(question.name));
	assert(kg_dns_parse_response(msg, len, &question, &response));
	while (kg_dns_next_record(&response, &record) == 1)
		count++;
	assert(count == (response.truncated ? 0 : wanted));
}

static void fuzz_query(const uint8_t *data, size_t size)
{
	static const struct kg_dns_addr addrs[40];
	uint8_t buf[KG_DNS_UDP_BYTES];
	struct kg_dns_query query;
	struct kg_dns_answer answer = { .ttl_s = 60, .addrs = addrs };
	size_t len;

	if (!kg_dns_parse_query(data, size, &query))
		return;
	check_name(query.name);
	assert(query.question_bytes <= KG_DNS_QUESTION_BYTES);
	assert(query.room_bytes >= KG_DNS_PLAIN_BYTES);
	assert(query.room_bytes <= sizeof(buf));
	answer.rcode = query.problem;
	if (query.problem == KG_DNS_NOERROR &&
	    (query.type == KG_DNS_A || query.type == KG_DNS_AAAA)) {
		answer.type = query.type;
		answer.count = size % 41;
	}
	len = kg_dns_build_response(&query, &answer, buf, query.room_bytes);
	assert(len >= KG_DNS_HEADER_BYTES && len <= query.room_bytes);
	if (!query.name[0])
		return;
	check_name_returns(query.name);
	if (query.problem == KG_DNS_NOERROR && query.class == KG_DNS_CLASS_IN)
		check_answer(&query, buf, len, answer.count);
}

static void fuzz_response(const uint8_t *data, size_t size)
{
	static const struct kg_dns_question question = {
		.id = 0x1234, .type = KG_DNS_A, .name = "example.org"
	};
	struct kg_dns_response response;
	struct kg_dns_record record;
	size_t before;

	if (!kg_dns_parse_response(data, size, &question, &response))
		return;
	for (;;) {
		before = response.at;
		if (kg_dns_next_record(&response, &record) != 1)
			return;
		assert(response.at > before && response.at <= size);
		check_name(record.name);
		check_name(record.target);
		if (record.target[0])
			check_name_returns(record.target);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] & 1)
		fuzz_response(data + 1, size - 1);
	else
		fuzz_query(data + 1, size - 1);
	return 0;
}
