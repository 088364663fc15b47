/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_DNS_H
#define KG_NETNS_DNS_H

/*
 * The DNS message format: RFC 1035, section 4.1, with EDNS (RFC 6891).
 *
 * Pure: no sockets, no clock, no allocation.  Every read is checked against the
 * end of the message.  Names leave in the one form that the rest of kgate
 * compares: lower case, labels joined by dots, no dot at the end.  A name with
 * a byte that this form can't carry (outside printable ASCII, a dot or a
 * backslash within a label) can't be listed either, and reads as "".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/host.h"

#define KG_DNS_HEADER_BYTES   12
#define KG_DNS_QUESTION_BYTES 259 /* a name of 255, type and class */
#define KG_DNS_OPT_BYTES      11  /* an OPT record without options */
#define KG_DNS_MESSAGE_BYTES  65535

/* A query as kg_dns_build_query() writes it is never larger. */
#define KG_DNS_QUERY_BYTES \
	(KG_DNS_HEADER_BYTES + KG_DNS_QUESTION_BYTES + KG_DNS_OPT_BYTES)

/* What a client without EDNS takes over UDP: RFC 1035, section 4.2.1. */
#define KG_DNS_PLAIN_BYTES 512

/* What fits every path unfragmented: 1280 less the IPv6 and UDP headers. */
#define KG_DNS_UDP_BYTES 1232

#define KG_DNS_CLASS_IN 1

/**
 * enum kg_dns_rcode - Outcome of a query
 * @KG_DNS_NOERROR:	Answered, perhaps with no record
 * @KG_DNS_FORMERR:	The query can't be read
 * @KG_DNS_SERVFAIL:	The server failed
 * @KG_DNS_NXDOMAIN:	The name doesn't exist
 * @KG_DNS_NOTIMP:	The server doesn't know this kind of query
 * @KG_DNS_REFUSED:	The server doesn't want to answer
 * @KG_DNS_BADVERS:	EDNS in a version other than 0
 *
 * RFC 1035, section 4.1.1; RFC 6891, section 9.
 */
enum kg_dns_rcode {
	KG_DNS_NOERROR = 0,
	KG_DNS_FORMERR = 1,
	KG_DNS_SERVFAIL = 2,
	KG_DNS_NXDOMAIN = 3,
	KG_DNS_NOTIMP = 4,
	KG_DNS_REFUSED = 5,
	KG_DNS_BADVERS = 16,
};

/**
 * enum kg_dns_type - Record types that are understood
 * @KG_DNS_OTHER:	Any other type, or another class than IN
 * @KG_DNS_A:		RFC 1035, section 3.4.1
 * @KG_DNS_CNAME:	RFC 1035, section 3.3.1
 * @KG_DNS_AAAA:	RFC 3596, section 2.1
 * @KG_DNS_OPT:		RFC 6891, section 6.1
 */
enum kg_dns_type {
	KG_DNS_OTHER = 0,
	KG_DNS_A = 1,
	KG_DNS_CNAME = 5,
	KG_DNS_AAAA = 28,
	KG_DNS_OPT = 41,
};

/**
 * struct kg_dns_addr - An address
 * @bytes:	Network byte order; 4 bytes used for IPv4, the rest is zero
 */
struct kg_dns_addr {
	uint8_t bytes[16];
};

/**
 * struct kg_dns_query - What a client asks
 * @id:			Its number, to be repeated in the response
 * @opcode:		Kind of query, 0 for a standard one
 * @recursion:		It wants recursion
 * @edns:		It carries an OPT record, and so must the response
 * @problem:		KG_DNS_NOERROR, or what is to be answered at once
 * @type:		Type asked for, as on the wire
 * @class:		Class asked for, as on the wire
 * @room_bytes:		Largest response it takes over UDP,
 *			KG_DNS_PLAIN_BYTES to KG_DNS_UDP_BYTES
 * @question_bytes:	Bytes used of @question, 0 if it can't be read
 * @question:		The question as it came, to be repeated
 * @name:		Its name; "" for the root and for one that can't be
 *			listed
 */
struct kg_dns_query {
	uint16_t id;
	uint8_t opcode;
	bool recursion;
	bool edns;
	enum kg_dns_rcode problem;
	uint16_t type;
	uint16_t class;
	uint16_t room_bytes;
	uint16_t question_bytes;
	uint8_t question[KG_DNS_QUESTION_BYTES];
	char name[KG_HOST_NAME_BYTES];
};

/**
 * struct kg_dns_answer - What a response says
 * @rcode:	Outcome
 * @type:	KG_DNS_A or KG_DNS_AAAA, for @addrs
 * @ttl_s:	Seconds the client may keep it
 * @addrs:	Addresses; borrowed
 * @count:	How many, 0 for an empty answer
 */
struct kg_dns_answer {
	enum kg_dns_rcode rcode;
	enum kg_dns_type type;
	uint32_t ttl_s;
	const struct kg_dns_addr *addrs;
	size_t count;
};

/**
 * struct kg_dns_question - What is asked of a server
 * @id:		Number of the query, not to be guessed
 * @type:	KG_DNS_A or KG_DNS_AAAA
 * @edns:	Send an OPT record; a few old servers choke on it
 * @name:	Canonical name
 */
struct kg_dns_question {
	uint16_t id;
	enum kg_dns_type type;
	bool edns;
	char name[KG_HOST_NAME_BYTES];
};

/**
 * struct kg_dns_response - A server's response that belongs to a question
 * @rcode:	Outcome, 0 to 15
 * @truncated:	It doesn't hold everything: ask again over TCP
 * @msg:	The message; borrowed
 * @len:	Its bytes
 * @first:	Where the answer section begins
 * @count:	Records in the answer section, as the header claims
 * @at:		Where the next record begins
 * @left:	Records that follow
 */
struct kg_dns_response {
	unsigned rcode;
	bool truncated;
	const uint8_t *msg;
	size_t len;
	size_t first;
	unsigned count;
	size_t at;
	unsigned left;
};

/**
 * struct kg_dns_record - One record of an answer
 * @type:	What it is; of an KG_DNS_OTHER only @name and @ttl_s count
 * @ttl_s:	Seconds it may be kept
 * @name:	Its owner; "" if it can't be listed
 * @addr:	For KG_DNS_A and KG_DNS_AAAA
 * @target:	For KG_DNS_CNAME; "" if it can't be listed
 */
struct kg_dns_record {
	enum kg_dns_type type;
	uint32_t ttl_s;
	char name[KG_HOST_NAME_BYTES];
	struct kg_dns_addr addr;
	char target[KG_HOST_NAME_BYTES];
};

/**
 * kg_dns_parse_query() - Read what a client asks
 * @msg:	The message, not trusted; borrowed
 * @len:	Its bytes
 * @ret:	Filled when the result is true
 *
 * Return: true if it is to be answered, perhaps with @ret->problem; false if it
 *	has no header or is a response, and no answer could be right
 */
bool kg_dns_parse_query(const uint8_t *msg, size_t len,
			struct kg_dns_query *ret);

/**
 * kg_dns_build_response() - Write the response to a client's query
 * @query:	Query, as parsed; borrowed
 * @answer:	What to say; borrowed
 * @buf:	Buffer to fill
 * @room:	Bytes that the response may have
 *
 * Addresses that don't all fit are all left out and the response is marked as
 * truncated.
 *
 * Return: bytes written, 0 if @room is too small even for that
 */
size_t kg_dns_build_response(const struct kg_dns_query *query,
			     const struct kg_dns_answer *answer, uint8_t *buf,
			     size_t room);

/**
 * kg_dns_build_query() - Write a query to a server
 * @question:	What to ask; borrowed
 * @buf:	Buffer to fill, KG_DNS_QUERY_BYTES are always enough
 * @room:	Its size in bytes
 *
 * Return: bytes written, 0 if the name isn't one or @room is too small
 */
size_t kg_dns_build_query(const struct kg_dns_question *question, uint8_t *buf,
			  size_t room);

/**
 * kg_dns_parse_response() - Check that a message answers a question
 * @msg:	The message, not trusted; borrowed until the last record is read
 * @len:	Its bytes
 * @question:	What was asked; borrowed
 * @ret:	Filled when the result is true; stands before the first record
 *
 * Number, name, type, class and the response bit must match.  A FORMERR without
 * a question matches by its number alone: a server that couldn't read the query
 * can't repeat it.
 *
 * Return: true if it does
 */
bool kg_dns_parse_response(const uint8_t *msg, size_t len,
			   const struct kg_dns_question *question,
			   struct kg_dns_response *ret);

/**
 * kg_dns_next_record() - Read the next record of the answer section
 * @response:	Response; moves on
 * @ret:	Filled when the result is 1
 *
 * Return: 1 when a record was read, 0 at the end, -1 if the message is broken
 */
int kg_dns_next_record(struct kg_dns_response *response,
		       struct kg_dns_record *ret);

/**
 * kg_dns_rewind() - Go back to the first record of the answer section
 * @response:	Response; moves
 */
void kg_dns_rewind(struct kg_dns_response *response);

#endif /* KG_NETNS_DNS_H */
