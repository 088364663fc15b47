/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/util.h"

#define NEAR_BYTES 32 /* longer words are no misspelling of a name of ours */

/* First byte, and the smallest value that may be written in so many bytes. */
static const struct {
	uint8_t mask, lead;
	uint32_t least;
} forms[] = {
	/* clang-format off */
	{ 0x80, 0x00, 0x0 },
	{ 0xe0, 0xc0, 0x80 },
	{ 0xf0, 0xe0, 0x800 },
	{ 0xf8, 0xf0, 0x10000 },
	/* clang-format on */
};

static bool is_character(uint32_t value)
{
	return value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
}

size_t kg_text_decode(const char *text, size_t len, uint32_t *ret)
{
	uint8_t first = len ? (uint8_t)text[0] : 0xff;
	uint32_t value;
	size_t extra, i;

	for (extra = 0; extra < KG_ARRAY_LEN(forms); extra++)
		if ((first & forms[extra].mask) == forms[extra].lead)
			break;
	if (extra == KG_ARRAY_LEN(forms) || extra >= len)
		return 0;

	value = first & (uint8_t)~forms[extra].mask;
	for (i = 1; i <= extra; i++) {
		uint8_t byte = (uint8_t)text[i];

		if ((byte & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (byte & 0x3f);
	}
	if (value < forms[extra].least || !is_character(value))
		return 0;

	*ret = value;
	return extra + 1;
}

const char *kg_text_quote(char *buf, size_t buf_len, const char *text,
			  size_t len)
{
	static const char cut[] = "...'";
	char piece[8];
	size_t used = 1, i;

	buf[0] = '\'';
	for (i = 0; i < len; i++) {
		unsigned byte = (uint8_t)text[i];
		bool plain = byte >= ' ' && byte <= '~';
		size_t n;

		(void)snprintf(piece, sizeof(piece), plain ? "%c" : "\\x%02x",
			       byte);
		n = strlen(piece);
		if (used + n + sizeof(cut) > buf_len) {
			memcpy(buf + used, cut, sizeof(cut));
			return buf;
		}
		memcpy(buf + used, piece, n);
		used += n;
	}
	memcpy(buf + used, "'", 2);
	return buf;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Edit distance in which two neighbours that changed places count once.  Three
 * rows of the matrix are kept: row i, the one before, and the one before that.
 */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][NEAR_BYTES + 1];
	size_t a_len = strlen(a), b_len = strlen(b);
	size_t i, j;

	for (j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (i = 1; i <= a_len; i++) {
		const size_t *up = rows[(i - 1) % 3];
		const size_t *up2 = rows[(i + 1) % 3];
		size_t *row = rows[i % 3];

		row[0] = i;
		for (j = 1; j <= b_len; j++) {
			row[j] = least(up[j - 1] + (a[i - 1] != b[j - 1]),
				       least(up[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				row[j] = least(row[j], up2[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

void kg_text_near_try(struct kg_text_near *near, const char *name)
{
	size_t d;

	if (strlen(near->word) > NEAR_BYTES || strlen(name) > NEAR_BYTES)
		return;
	d = distance(near->word, name);
	if (d > 1 + strlen(name) / 4 || d >= strlen(name) ||
	    (near->name && d >= near->distance))
		return;
	near->name = name;
	near->distance = d;
}
