/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/punycode.h"

#include <stdbool.h>
#include <string.h>

#include "common/text.h"
#include "common/util.h"

#define LABEL_MAX 63

/* Parameters of RFC 3492, section 5. */
enum {
	BASE = 36,
	TMIN = 1,
	TMAX = 26,
	SKEW = 38,
	DAMP = 700,
	INITIAL_BIAS = 72,
	INITIAL_N = 128,
};

struct code {
	char *bytes;
	size_t used, size;
	bool full;
};

static void put(struct code *code, char c)
{
	if (code->used + 1 >= code->size) {
		code->full = true;
		return;
	}
	code->bytes[code->used++] = c;
	code->bytes[code->used] = '\0';
}

static uint32_t adapt(uint32_t delta, uint32_t count, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / DAMP : delta / 2;
	delta += delta / count;
	for (; delta > ((BASE - TMIN) * TMAX) / 2; k += BASE)
		delta /= BASE - TMIN;
	return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

static void put_delta(struct code *code, uint32_t delta, uint32_t bias)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	uint32_t k, t;

	for (k = BASE;; k += BASE) {
		t = k <= bias ? TMIN : k >= bias + TMAX ? TMAX : k - bias;
		if (delta < t)
			break;
		put(code, digits[t + (delta - t) % (BASE - t)]);
		delta = (delta - t) / (BASE - t);
	}
	put(code, digits[delta]);
}

static uint32_t next_point(const uint32_t *points, size_t count, uint32_t from)
{
	uint32_t next = UINT32_MAX;
	size_t i;

	for (i = 0; i < count; i++)
		if (points[i] >= from && points[i] < next)
			next = points[i];
	return next;
}

static uint32_t put_basic(struct code *code, const uint32_t *points,
			  size_t count)
{
	uint32_t basic = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		if (points[i] >= INITIAL_N)
			continue;
		put(code, (char)points[i]);
		basic++;
	}
	if (basic)
		put(code, '-');
	return basic;
}

int kg_punycode_encode(const uint32_t *points, size_t count, char *ret,
		       size_t len)
{
	struct code code = { .bytes = ret, .size = len };
	uint32_t n = INITIAL_N, delta = 0, bias = INITIAL_BIAS;
	uint32_t basic, done;
	size_t i;

	/* With so few points no delta can overflow 32 bits. */
	if (!len || count > LABEL_MAX)
		return -1;
	ret[0] = '\0';
	basic = done = put_basic(&code, points, count);
	while (done < count && !code.full) {
		uint32_t next = next_point(points, count, n);

		delta += (next - n) * (done + 1);
		n = next;
		for (i = 0; i < count; i++) {
			if (points[i] < n)
				delta++;
			if (points[i] != n)
				continue;
			put_delta(&code, delta, bias);
			bias = adapt(delta, done + 1, done == basic);
			delta = 0;
			done++;
		}
		delta++;
		n++;
	}
	return code.full ? -1 : 0;
}

/*
 * @fold is added to reach lower case.  Every point of the result is PVALID in
 * RFC 5892 without context rules, stable under NFC, and written left to right.
 * Left out on purpose: sharp s and final sigma, on which versions of IDNA
 * differ, and the Latin letters past U+00FF.
 */
static const struct {
	uint32_t first, last, fold;
} scripts[] = {
	/* clang-format off */
	{ 0x00c0, 0x00d6, 32 },	/* Latin-1 capitals */
	{ 0x00d8, 0x00de, 32 },
	{ 0x00e0, 0x00f6, 0 },	/* Latin-1 */
	{ 0x00f8, 0x00ff, 0 },
	{ 0x0391, 0x03a1, 32 },	/* Greek capitals */
	{ 0x03a3, 0x03a9, 32 },
	{ 0x03ac, 0x03af, 0 },	/* Greek */
	{ 0x03b1, 0x03c1, 0 },
	{ 0x03c3, 0x03ce, 0 },
	{ 0x0400, 0x040f, 80 },	/* Cyrillic capitals */
	{ 0x0410, 0x042f, 32 },
	{ 0x0430, 0x045f, 0 },	/* Cyrillic */
	{ 0x3041, 0x3096, 0 },	/* Hiragana */
	{ 0x30a1, 0x30fa, 0 },	/* Katakana */
	{ 0x30fc, 0x30fc, 0 },	/* its length mark */
	{ 0x4e00, 0x9fa5, 0 },	/* Han */
	{ 0xac00, 0xd7a3, 0 },	/* Hangul syllables */
	/* clang-format on */
};

static bool fold_point(uint32_t *point)
{
	size_t i;

	if (*point < 0x80) {
		if (*point >= 'A' && *point <= 'Z')
			*point += 'a' - 'A';
		return (*point >= 'a' && *point <= 'z') ||
		       (*point >= '0' && *point <= '9') || *point == '-';
	}
	for (i = 0; i < KG_ARRAY_LEN(scripts); i++) {
		if (*point < scripts[i].first || *point > scripts[i].last)
			continue;
		*point += scripts[i].fold;
		return true;
	}
	return false;
}

const char *kg_punycode_label(const char *label, size_t len, char *ret)
{
	static const char prefix[] = "xn--";
	static const char too_long[] = "a label over 63 bytes in its xn-- form";
	uint32_t points[LABEL_MAX];
	size_t count = 0, n;

	for (; len; label += n, len -= n) {
		if (count == LABEL_MAX)
			return too_long;
		n = kg_text_decode(label, len, &points[count]);
		if (!n)
			return "bytes that aren't UTF-8";
		if (!fold_point(&points[count]))
			return "a character that this version can't map: write "
			       "the name in its xn-- form";
		count++;
	}
	/* A hyphen here would make it look like an A-label, or not a label. */
	if (count && (points[0] == '-' || points[count - 1] == '-'))
		return "a label with a hyphen at its begin or end";
	if (count > 3 && points[2] == '-' && points[3] == '-')
		return "a label with hyphens in third and fourth place";

	memcpy(ret, prefix, sizeof(prefix));
	n = sizeof(prefix) - 1;
	if (kg_punycode_encode(points, count, ret + n,
			       KG_PUNYCODE_LABEL_BYTES - n))
		return too_long;
	return NULL;
}
