/* SPDX-License-Identifier: MIT */
#ifndef KG_TESTS_WORLD_DNS_H
#define KG_TESTS_WORLD_DNS_H

/*
 * The name server of the test world: one question in, one answer out, from a
 * zone file that is read anew for each question.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_UDP_BYTES  1232
#define DNS_TCP_BYTES  16384
#define DNS_TEXT_BYTES 1024

/**
 * struct dns_question - What was asked, for the log
 * @name:	Name as text, lower case, unprintable bytes as \xNN
 * @type:	Record type in host byte order
 */
struct dns_question {
	char name[DNS_TEXT_BYTES];
	uint16_t type;
};

/**
 * struct dns_reply - What to send
 * @data:	The message
 * @len:	Its length, 0 for none
 * @delay_ms:	How late to send it
 */
struct dns_reply {
	uint8_t data[DNS_TCP_BYTES];
	size_t len;
	int delay_ms;
};

/**
 * dns_answer() - Answer one query
 * @zone:	Path of the zone file; borrowed
 * @query:	Message as received; borrowed
 * @len:	Its length
 * @limit:	Longest answer; a longer one is cut with the TC bit
 * @turn:	Number that picks the address of rotating names
 * @ret_question: Receives what was asked
 * @ret:	Receives the answer
 *
 * Return: 0, or -1 if @query isn't a query with one question.
 */
int dns_answer(const char *zone, const uint8_t *query, size_t len, size_t limit,
	       unsigned turn, struct dns_question *ret_question,
	       struct dns_reply *ret);

/**
 * dns_type_name() - Name of a record type for the log
 * @type:	Record type in host byte order
 *
 * Return: "A", "AAAA", ... or "OTHER"; never NULL.
 */
const char *dns_type_name(uint16_t type);

#endif
