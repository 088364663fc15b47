/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/shell_word.h"

#include <stdlib.h>
#include <string.h>

#define BRACE_DEPTH 16
#define NAME_CELLS  256 /* longer names are none, to bound the search */

bool kg_shell_word_add(struct kg_shell_cells *cells,
		       enum kg_shell_cell_kind kind, int byte)
{
	bool has_byte = kind == KG_SHELL_PLAIN || kind == KG_SHELL_QUOTED;

	if (cells->count == cells->room) {
		size_t room = cells->room ? 2 * cells->room : 32;
		struct kg_shell_cell *at;

		at = reallocarray(cells->at, room, sizeof(*at));
		if (!at)
			return false;
		cells->at = at;
		cells->room = room;
	}
	cells->at[cells->count].byte = has_byte ? (char)byte : '\0';
	cells->at[cells->count++].kind = (uint8_t)kind;
	return true;
}

void kg_shell_word_done(struct kg_shell_cells *cells)
{
	free(cells->at);
	*cells = KG_SHELL_CELLS_INIT;
}
#define auto_cells __attribute__((cleanup(kg_shell_word_done)))

static bool is_plain(const struct kg_shell_cell *cell, int byte)
{
	return cell->kind == KG_SHELL_PLAIN && cell->byte == byte;
}

static bool is_any_plain(const struct kg_shell_cell *cell, const char *bytes)
{
	return cell->kind == KG_SHELL_PLAIN && cell->byte &&
	       strchr(bytes, cell->byte);
}

bool kg_shell_word_is(const struct kg_shell_cells *cells, const char *text)
{
	size_t i;

	for (i = 0; i < cells->count; i++)
		if (!text[i] || !is_plain(&cells->at[i], text[i]))
			return false;
	return !text[i];
}

static bool is_name_byte(const struct kg_shell_cell *cell, bool first)
{
	char c = cell->byte;

	if (cell->kind != KG_SHELL_PLAIN)
		return false;
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

size_t kg_shell_word_name_bytes(const struct kg_shell_cells *cells)
{
	const struct kg_shell_cell *at = cells->at;
	size_t n = cells->count < NAME_CELLS ? cells->count : NAME_CELLS;
	size_t i = 0;

	while (i < n && is_name_byte(&at[i], i == 0))
		i++;
	if (i == 0)
		return 0;
	if (i < n && is_plain(&at[i], '[')) {
		while (i < n && !is_plain(&at[i], ']'))
			i++;
		i++;
	}
	if (i < n && is_plain(&at[i], '+'))
		i++;
	return i < n && is_plain(&at[i], '=') ? i + 1 : 0;
}

/* A slice of a row, borrowed from it. */
struct slice {
	const struct kg_shell_cell *at;
	size_t count;
};

static struct slice slice_of(const struct kg_shell_cells *cells)
{
	return (struct slice){ cells->at, cells->count };
}

/*
 * [ alone is no pattern: it is the name of a program.  The slash ends what a
 * bracket expression can hold.
 */
static bool has_pattern(struct slice cells)
{
	bool open = false;
	size_t i;

	for (i = 0; i < cells.count; i++) {
		if (is_any_plain(&cells.at[i], "*?"))
			return true;
		if (open && is_plain(&cells.at[i], ']'))
			return true;
		if (is_plain(&cells.at[i], '/'))
			open = false;
		open = open || is_plain(&cells.at[i], '[');
	}
	return false;
}

static bool has_gap(struct slice cells)
{
	size_t i;

	for (i = 0; i < cells.count; i++)
		if (cells.at[i].kind == KG_SHELL_GAP)
			return true;
	return false;
}

/* In a pattern what was quoted stays quoted. */
static char *text_of(struct slice cells, bool pattern)
{
	char *text = malloc(2 * cells.count + 1), *to = text;
	size_t i;

	if (!text)
		return NULL;
	for (i = 0; i < cells.count; i++) {
		const struct kg_shell_cell *cell = &cells.at[i];

		if (!cell->byte)
			continue;
		if (pattern && cell->kind == KG_SHELL_QUOTED &&
		    strchr("*?[]!^-\\", cell->byte))
			*to++ = '\\';
		*to++ = cell->byte;
	}
	*to = '\0';
	return text;
}

char *kg_shell_word_text(const struct kg_shell_cells *cells)
{
	return text_of(slice_of(cells), false);
}

static bool append(struct kg_shell_words *words, char *text, unsigned flags)
{
	if (!text)
		return false;
	if (words->count == words->room) {
		size_t room = words->room ? 2 * words->room : 8;
		struct kg_shell_word *at;

		at = reallocarray(words->at, room, sizeof(*at));
		if (!at) {
			free(text);
			return false;
		}
		words->at = at;
		words->room = room;
	}
	words->at[words->count++] = (struct kg_shell_word){ text, flags };
	return true;
}

void kg_shell_word_free(struct kg_shell_words *words)
{
	size_t i;

	for (i = 0; i < words->count; i++)
		free(words->at[i].text);
	free(words->at);
	*words = (struct kg_shell_words){ 0 };
}

bool kg_shell_word_assign(const struct kg_shell_cells *cells,
			  struct kg_shell_words *words)
{
	return append(words, kg_shell_word_text(cells),
		      has_gap(slice_of(cells)) ? KG_SHELL_EXPANDS : 0);
}

static bool emit_word(struct slice cells, struct kg_shell_words *words)
{
	unsigned flags = 0;

	if (has_gap(cells))
		flags |= KG_SHELL_EXPANDS;
	if (has_pattern(cells))
		flags |= KG_SHELL_GLOB;
	if (is_plain(&cells.at[0], '~'))
		flags |= KG_SHELL_TILDE;
	return append(words, text_of(cells, flags & KG_SHELL_GLOB), flags);
}

static bool emit_fields(struct slice cells, struct kg_shell_words *words)
{
	size_t begin = 0, i;

	for (i = 0; i <= cells.count; i++) {
		if (i < cells.count &&
		    (!is_any_plain(&cells.at[i], " \t\n") || !cells.at[i].byte))
			continue;
		if (i > begin &&
		    !emit_word((struct slice){ cells.at + begin, i - begin },
			       words))
			return false;
		begin = i + 1;
	}
	return true;
}

/* {one,two} in a row: the places of its braces. */
struct group {
	size_t open, close;
};

/*
 * The leftmost group, which is the outermost.  A brace without a partner, or a
 * pair without a comma, is text.
 */
static bool find_group(const struct kg_shell_cells *cells, struct group *ret)
{
	size_t open[BRACE_DEPTH], depth = 0, i;
	bool comma[BRACE_DEPTH], found = false;

	for (i = 0; i < cells->count; i++) {
		if (is_plain(&cells->at[i], '{')) {
			if (depth == BRACE_DEPTH)
				return false;
			comma[depth] = false;
			open[depth++] = i;
		} else if (depth && is_plain(&cells->at[i], ',')) {
			comma[depth - 1] = true;
		} else if (depth && is_plain(&cells->at[i], '}')) {
			depth--;
			if (!comma[depth] || (found && open[depth] > ret->open))
				continue;
			*ret = (struct group){ open[depth], i };
			found = true;
		}
	}
	return found;
}

static bool copy(struct kg_shell_cells *to, const struct kg_shell_cells *from,
		 size_t begin, size_t end)
{
	for (; begin < end; begin++)
		if (!kg_shell_word_add(to, from->at[begin].kind,
				       from->at[begin].byte))
			return false;
	return true;
}

/* Where the alternative that begins at @at ends: at a comma or the brace. */
static size_t find_end(const struct kg_shell_cells *cells, size_t at,
		       size_t close)
{
	size_t depth = 0;

	for (; at < close; at++) {
		if (is_plain(&cells->at[at], '{'))
			depth++;
		else if (is_plain(&cells->at[at], '}') && depth)
			depth--;
		else if (is_plain(&cells->at[at], ',') && !depth)
			break;
	}
	return at;
}

/* One word's expansion: what may still be done, and where words go. */
struct expansion {
	size_t *braces;
	size_t limit;
	struct kg_shell_words *words;
};

static bool expand(const struct kg_shell_cells *cells, unsigned depth,
		   struct expansion *to)
{
	struct group group = { 0, 0 };
	size_t begin, end;
	bool more;

	if (to->words->count >= to->limit)
		return true;
	if (depth == BRACE_DEPTH || *to->braces == 0 ||
	    !find_group(cells, &group))
		return emit_fields(slice_of(cells), to->words);

	--*to->braces;
	begin = group.open + 1;
	do {
		auto_cells struct kg_shell_cells one = KG_SHELL_CELLS_INIT;

		end = find_end(cells, begin, group.close);
		if (!copy(&one, cells, 0, group.open) ||
		    !copy(&one, cells, begin, end) ||
		    !copy(&one, cells, group.close + 1, cells->count) ||
		    !expand(&one, depth + 1, to))
			return false;
		more = end < group.close && to->words->count < to->limit;
		begin = end + 1;
	} while (more);
	return true;
}

bool kg_shell_word_finish(const struct kg_shell_cells *cells, size_t *braces,
			  struct kg_shell_words *words)
{
	struct expansion to = { braces,
				words->count + KG_SHELL_WORD_BRACE_WORDS,
				words };

	if (cells->count > KG_SHELL_WORD_BRACE_CELLS)
		return emit_fields(slice_of(cells), words);
	return expand(cells, 0, &to);
}

/*
 * The bracket expression at @pattern, which begins with [.  Without its ] it is
 * an ordinary character: then *ret_end is NULL.
 */
static bool matches_bracket(const char *pattern, char c, const char **ret_end)
{
	const char *p = pattern + 1;
	bool negated = *p == '!' || *p == '^', found = false, first = true;
	unsigned char byte = (unsigned char)c;

	*ret_end = NULL;
	p += negated;
	for (; *p && *p != '/' && (first || *p != ']'); first = false) {
		unsigned char low, high;

		p += *p == '\\' && p[1];
		low = high = (unsigned char)*p++;
		if (*p == '-' && p[1] && p[1] != ']') {
			p++;
			p += *p == '\\' && p[1];
			high = (unsigned char)*p++;
		}
		found = found || (byte >= low && byte <= high);
	}
	if (*p == ']')
		*ret_end = p + 1;
	return found != negated;
}

/* One character against the pattern's next item, which isn't *. */
static bool matches_one(const char *pattern, char c, const char **ret_next)
{
	bool matches;

	*ret_next = pattern + 1;
	switch (*pattern) {
	case '\0':
		return false;
	case '?':
		return c != '/';
	case '[':
		matches = matches_bracket(pattern, c, ret_next);
		if (*ret_next)
			return matches && c != '/';
		*ret_next = pattern + 1;
		return c == '[';
	case '\\':
		if (pattern[1]) {
			*ret_next = pattern + 2;
			return c == pattern[1];
		}
		return c == '\\';
	default:
		return c == *pattern;
	}
}

/* The last * alone is ever tried again: no exponential search. */
bool kg_shell_word_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *again = NULL, *next;

	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			again = name;
		} else if (matches_one(pattern, *name, &next)) {
			pattern = next;
			name++;
		} else if (star && *again != '/') {
			pattern = star;
			name = ++again;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
