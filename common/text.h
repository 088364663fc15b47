/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_TEXT_H
#define KG_COMMON_TEXT_H

/*
 * Words of a user: decoded, quoted in messages, compared with what was meant.
 */

#include <stddef.h>
#include <stdint.h>

#define KG_TEXT_QUOTE_BYTES 96 /* enough for a message, terminator included */

/**
 * kg_text_decode() - Take one character off UTF-8 text
 * @text:	Bytes; borrowed
 * @len:	How many
 * @ret:	Receives the code point
 *
 * Overlong forms, surrogates and values above U+10FFFF are not UTF-8: RFC 3629,
 * section 3.
 *
 * Return: bytes used, 1 to 4; 0 when @len is 0 or the bytes aren't UTF-8
 */
size_t kg_text_decode(const char *text, size_t len, uint32_t *ret);

/**
 * kg_text_quote() - Put text from outside in quotes, fit for one line
 * @buf:	Buffer to fill, at least 8 bytes
 * @buf_len:	Its size in bytes
 * @text:	Bytes, which may hold NUL; borrowed
 * @len:	How many
 *
 * Bytes outside printable ASCII are written \xNN; what doesn't fit ends in
 * "...".
 *
 * Return: @buf
 */
const char *kg_text_quote(char *buf, size_t buf_len, const char *text,
			  size_t len);

/**
 * struct kg_text_near - Search for the word that was meant
 * @word:	What was written; borrowed
 * @name:	Nearest candidate so far, NULL while none is near enough
 * @distance:	Its edit distance
 */
struct kg_text_near {
	const char *word;
	const char *name;
	size_t distance;
};

/**
 * kg_text_near_try() - Compare one more candidate
 * @near:	Search, begun with its @word alone set; borrowed
 * @name:	Candidate; borrowed for as long as @near is used
 */
void kg_text_near_try(struct kg_text_near *near, const char *name);

#endif /* KG_COMMON_TEXT_H */
