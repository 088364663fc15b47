/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/lex.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"
#include "common/util.h"

#define auto_cells __attribute__((cleanup(kg_shell_word_done)))

static void read_dollar(struct kg_lex *lex, struct kg_shell_cells *to,
			bool quoted);

void kg_lex_done(struct kg_lex *lex)
{
	while (lex->heredoc_count > 0)
		free(lex->heredocs[--lex->heredoc_count].end);
	free(lex->heredocs);
}

void kg_lex_fail(struct kg_lex *lex, enum kg_errc code, const char *what)
{
	if (!lex->shared->failed)
		(void)kg_fail(lex->shared->err, code, 0, "%s", what);
	lex->shared->failed = true;
}

void kg_lex_fail_memory(struct kg_lex *lex)
{
	kg_lex_fail(lex, KG_E_SYSTEM, "read shell text: out of memory");
}

bool kg_lex_enter(struct kg_lex *lex)
{
	if (++lex->shared->depth > KG_SHELL_MAX_DEPTH)
		kg_lex_fail(lex, KG_E_LIMIT,
			    "shell text is nested too deeply to check");
	return !lex->shared->failed;
}

void kg_lex_leave(struct kg_lex *lex)
{
	lex->shared->depth--;
}

int kg_lex_peek(struct kg_lex *lex)
{
	if (lex->shared->failed)
		lex->pos = lex->len;
	while (lex->pos < lex->len) {
		if (lex->text[lex->pos] == '\0')
			lex->pos++;
		else if (lex->text[lex->pos] == '\\' &&
			 lex->pos + 1 < lex->len &&
			 lex->text[lex->pos + 1] == '\n')
			lex->pos += 2;
		else
			return (unsigned char)lex->text[lex->pos];
	}
	return KG_LEX_END;
}

/* The next byte where a backslash has no meaning. */
static int take_raw(struct kg_lex *lex)
{
	if (lex->shared->failed || lex->pos >= lex->len)
		return KG_LEX_END;
	return (unsigned char)lex->text[lex->pos++];
}

int kg_lex_take(struct kg_lex *lex)
{
	return kg_lex_peek(lex) == KG_LEX_END ? KG_LEX_END : take_raw(lex);
}

bool kg_lex_take_if(struct kg_lex *lex, int c)
{
	if (kg_lex_peek(lex) != c)
		return false;
	lex->pos++;
	return true;
}

bool kg_lex_is_second(struct kg_lex *lex, int c)
{
	size_t pos = lex->pos;
	bool is;

	(void)kg_lex_take(lex);
	is = kg_lex_peek(lex) == c;
	lex->pos = pos;
	return is;
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t';
}

bool kg_lex_ends_word(int c)
{
	return c == KG_LEX_END || strchr(" \t\n;&|<>()", c) != NULL;
}

static bool is_name_byte(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

static void add(struct kg_lex *lex, struct kg_shell_cells *to,
		enum kg_shell_cell_kind kind, int c)
{
	if (c == '\0' && kind <= KG_SHELL_QUOTED)
		return;
	if (!kg_shell_word_add(to, kind, c))
		kg_lex_fail_memory(lex);
}

static void mark(struct kg_lex *lex, struct kg_shell_cells *to,
		 enum kg_shell_cell_kind kind)
{
	if (!kg_shell_word_add(to, kind, 0))
		kg_lex_fail_memory(lex);
}

/*
 * Quotes
 */

static void read_single_quotes(struct kg_lex *lex, struct kg_shell_cells *to)
{
	int c;

	mark(lex, to, KG_SHELL_MARK);
	while ((c = take_raw(lex)) != KG_LEX_END && c != '\'')
		add(lex, to, KG_SHELL_QUOTED, c);
}

static int digit_of(int c, unsigned base)
{
	int value = -1;

	if (c >= '0' && c <= '9')
		value = c - '0';
	else if (c >= 'a' && c <= 'f')
		value = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		value = c - 'A' + 10;
	return value < (int)base ? value : -1;
}

static uint32_t take_number(struct kg_lex *lex, unsigned base, unsigned digits)
{
	uint32_t value = 0;

	while (digits-- && lex->pos < lex->len) {
		int digit = digit_of((unsigned char)lex->text[lex->pos], base);

		if (digit < 0)
			break;
		value = value * base + (uint32_t)digit;
		lex->pos++;
	}
	return value;
}

static void add_character(struct kg_lex *lex, struct kg_shell_cells *to,
			  uint32_t c)
{
	unsigned extra = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t lead[] = { 0, 0xc0, 0xe0, 0xf0 };

	add(lex, to, KG_SHELL_QUOTED, (int)(lead[extra] | c >> 6 * extra));
	while (extra--)
		add(lex, to, KG_SHELL_QUOTED, 0x80 | (c >> 6 * extra & 0x3f));
}

/* Escapes of $'...' that stand for one byte of their own. */
static const char escapes[][2] = {
	{ 'a', '\a' },	 { 'b', '\b' }, { 'e', '\033' },
	{ 'E', '\033' }, { 'f', '\f' }, { 'n', '\n' },
	{ 'r', '\r' },	 { 't', '\t' }, { 'v', '\v' },
};

/* Escapes of $'...' that a number follows. */
static const struct {
	char letter;
	unsigned base, digits;
	bool character;
} numbers[] = {
	{ 'x', 16, 2, false },
	{ 'u', 16, 4, true },
	{ 'U', 16, 8, true },
};

/* Return: false at an escaped NUL, which ends the quoted value. */
static bool read_escape(struct kg_lex *lex, struct kg_shell_cells *to)
{
	int c = take_raw(lex);
	size_t begin = lex->pos, i;
	uint32_t value;

	for (i = 0; i < KG_ARRAY_LEN(escapes); i++) {
		if (c != escapes[i][0])
			continue;
		add(lex, to, KG_SHELL_QUOTED, escapes[i][1]);
		return true;
	}
	if (c == 'c') {
		value = (uint32_t)take_raw(lex) & 0x1f;
		add(lex, to, KG_SHELL_QUOTED, (int)value);
		return value != 0;
	}
	if (digit_of(c, 8) >= 0) {
		lex->pos--;
		value = take_number(lex, 8, 3) & 0xff;
		add(lex, to, KG_SHELL_QUOTED, (int)value);
		return value != 0;
	}
	for (i = 0; i < KG_ARRAY_LEN(numbers); i++) {
		if (c != numbers[i].letter)
			continue;
		value = take_number(lex, numbers[i].base, numbers[i].digits);
		if (lex->pos == begin)
			break;
		if (numbers[i].character && value <= 0x10ffff)
			add_character(lex, to, value);
		else
			add(lex, to, KG_SHELL_QUOTED, (int)(value & 0xff));
		return value != 0;
	}
	if (c != KG_LEX_END && !strchr("\\'\"?", c))
		add(lex, to, KG_SHELL_QUOTED, '\\');
	if (c != KG_LEX_END)
		add(lex, to, KG_SHELL_QUOTED, c);
	return true;
}

static void read_dollar_quotes(struct kg_lex *lex, struct kg_shell_cells *to)
{
	auto_cells struct kg_shell_cells dropped = KG_SHELL_CELLS_INIT;
	int c;

	mark(lex, to, KG_SHELL_MARK);
	while ((c = take_raw(lex)) != KG_LEX_END && c != '\'') {
		if (c != '\\')
			add(lex, to, KG_SHELL_QUOTED, c);
		else if (!read_escape(lex, to))
			to = &dropped;
	}
}

/* Between backquotes a backslash quotes these; double quotes add their own. */
static bool is_escaped_in_backquotes(int c, bool quoted)
{
	return c == '$' || c == '`' || c == '\\' || (quoted && c == '"');
}

static void read_nested(struct kg_lex *lex, const char *text, size_t len)
{
	struct kg_lex inner = { .shared = lex->shared,
				.text = text,
				.len = len };

	if (kg_lex_enter(lex))
		(void)kg_shell_read_list(&inner, KG_LEX_NEVER);
	kg_lex_leave(lex);
	kg_lex_done(&inner);
}

static void read_backquotes(struct kg_lex *lex, struct kg_shell_cells *to,
			    bool quoted)
{
	auto_cells struct kg_shell_cells inside = KG_SHELL_CELLS_INIT;
	kg_auto_free char *text = NULL;
	int c;

	while ((c = take_raw(lex)) != KG_LEX_END && c != '`') {
		if (c == '\\' && lex->pos < lex->len &&
		    is_escaped_in_backquotes((unsigned char)lex->text[lex->pos],
					     quoted))
			c = take_raw(lex);
		add(lex, &inside, KG_SHELL_QUOTED, c);
	}
	mark(lex, to, KG_SHELL_GAP);
	text = kg_shell_word_text(&inside);
	if (!text) {
		kg_lex_fail_memory(lex);
		return;
	}
	read_nested(lex, text, strlen(text));
}

/* The part of a word that double quotes and here-documents treat alike. */
void kg_lex_quoted_byte(struct kg_lex *lex, struct kg_shell_cells *to, int c,
			const char *escaped)
{
	if (c == '$') {
		read_dollar(lex, to, true);
	} else if (c == '`') {
		read_backquotes(lex, to, true);
	} else if (c == '\\') {
		/* Not by peek(): this backslash has joined no lines. */
		if (lex->pos < lex->len && strchr(escaped, lex->text[lex->pos]))
			c = take_raw(lex);
		add(lex, to, KG_SHELL_QUOTED, c);
	} else {
		add(lex, to, KG_SHELL_QUOTED, c);
	}
}

static void read_double_quotes(struct kg_lex *lex, struct kg_shell_cells *to)
{
	int c;

	mark(lex, to, KG_SHELL_MARK);
	while ((c = kg_lex_take(lex)) != KG_LEX_END && c != '"')
		kg_lex_quoted_byte(lex, to, c, "$`\"\\");
}

/* What a quote character or a dollar begins, where words have quotes. */
static void read_unquoted_byte(struct kg_lex *lex, struct kg_shell_cells *to,
			       int c)
{
	switch (c) {
	case '\'':
		read_single_quotes(lex, to);
		break;
	case '"':
		read_double_quotes(lex, to);
		break;
	case '`':
		read_backquotes(lex, to, false);
		break;
	case '$':
		read_dollar(lex, to, false);
		break;
	case '\\':
		c = take_raw(lex);
		if (c != KG_LEX_END)
			add(lex, to, KG_SHELL_QUOTED, c);
		break;
	default:
		add(lex, to, KG_SHELL_PLAIN, c);
	}
}

/*
 * Expansions
 */

/*
 * To the ) of a ( that was taken, over what isn't commands: arithmetic and
 * patterns.  With @twice it has to be )).
 */
static bool skip_parens(struct kg_lex *lex, bool twice)
{
	auto_cells struct kg_shell_cells inside = KG_SHELL_CELLS_INIT;
	size_t depth = 0;
	int c;

	while ((c = kg_lex_take(lex)) != KG_LEX_END) {
		inside.count = 0;
		if (c == '(')
			depth++;
		else if (c != ')')
			read_unquoted_byte(lex, &inside, c);
		else if (depth > 0)
			depth--;
		else
			return !twice || kg_lex_take_if(lex, ')');
	}
	return false;
}

bool kg_lex_arithmetic(struct kg_lex *lex)
{
	struct kg_lex_shared *shared = lex->shared;
	size_t commands = shared->script->count, words = shared->words;
	size_t count = lex->heredoc_count, done = lex->heredoc_done;
	size_t pos = lex->pos, bytes;
	bool is_arithmetic = false;

	if (shared->waste == 0 || !kg_lex_take_if(lex, '('))
		return false;
	if (kg_lex_enter(lex))
		is_arithmetic = skip_parens(lex, true);
	kg_lex_leave(lex);
	if (is_arithmetic || shared->failed)
		return true;

	bytes = lex->pos - pos;
	shared->waste -= bytes < shared->waste ? bytes : shared->waste;
	kg_shell_drop(shared->script, commands);
	shared->words = words;
	while (lex->heredoc_count > count)
		free(lex->heredocs[--lex->heredoc_count].end);
	lex->heredoc_done = done;
	lex->pos = pos;
	return false;
}

void kg_lex_parens(struct kg_lex *lex)
{
	if (kg_lex_enter(lex))
		(void)kg_shell_read_list(lex, KG_LEX_PAREN);
	kg_lex_leave(lex);
}

/* The word in ${NAME:-word}; in double quotes ' is a byte like another. */
static void read_brace_word(struct kg_lex *lex, struct kg_shell_cells *to,
			    bool quoted)
{
	int c;

	while ((c = kg_lex_take(lex)) != KG_LEX_END && c != '}') {
		if (c == '"')
			read_double_quotes(lex, to);
		else if (quoted)
			kg_lex_quoted_byte(lex, to, c, "$`\"\\}");
		else
			read_unquoted_byte(lex, to, c);
	}
}

static void skip_parameter(struct kg_lex *lex)
{
	(void)kg_lex_take_if(lex, '!');
	if (kg_lex_peek(lex) == '#' && !kg_lex_is_second(lex, '}'))
		(void)kg_lex_take(lex);
	if (is_name_byte(kg_lex_peek(lex)))
		while (is_name_byte(kg_lex_peek(lex)))
			(void)kg_lex_take(lex);
	else if (kg_lex_peek(lex) != '}' && kg_lex_peek(lex) != ':')
		(void)kg_lex_take(lex);
	if (kg_lex_peek(lex) != '[')
		return;
	while (kg_lex_peek(lex) != ']' && kg_lex_peek(lex) != '}' &&
	       kg_lex_peek(lex) != KG_LEX_END) {
		auto_cells struct kg_shell_cells inside = KG_SHELL_CELLS_INIT;

		read_unquoted_byte(lex, &inside, kg_lex_take(lex));
	}
	(void)kg_lex_take_if(lex, ']');
}

/*
 * Whether an operator's word is worth a guess: a default often is the value.
 * What + yields is as likely not to be there, and counts only where a word
 * begins with it.
 */
static bool has_value(int op, const struct kg_shell_cells *to)
{
	if (op == '+')
		return to->count == 0 || (to->count == 1 && !to->at[0].byte);
	return op == '-' || op == '=';
}

/* ${...}, and ${ command; } of ksh and newer bash. */
static void read_braces(struct kg_lex *lex, struct kg_shell_cells *to,
			bool quoted)
{
	auto_cells struct kg_shell_cells dropped = KG_SHELL_CELLS_INIT;
	int c = kg_lex_peek(lex);

	if (!kg_lex_enter(lex)) {
		kg_lex_leave(lex);
		return;
	}
	if (is_blank(c) || c == '\n' || c == '|') {
		(void)kg_shell_read_list(lex, KG_LEX_BRACE);
	} else {
		skip_parameter(lex);
		if (kg_lex_peek(lex) == ':' && !kg_lex_is_second(lex, '}'))
			(void)kg_lex_take(lex);
		c = kg_lex_peek(lex);
		if (has_value(c, to)) {
			(void)kg_lex_take(lex);
			read_brace_word(lex, to, quoted);
		} else {
			/* Around a message quotes act as around a value. */
			read_brace_word(lex, &dropped, quoted && c == '?');
		}
	}
	kg_lex_leave(lex);
}

/* Old arithmetic. */
static void skip_brackets(struct kg_lex *lex)
{
	int c;

	while ((c = kg_lex_take(lex)) != KG_LEX_END && c != ']') {
		auto_cells struct kg_shell_cells inside = KG_SHELL_CELLS_INIT;

		read_unquoted_byte(lex, &inside, c);
	}
}

/* What follows $. */
static void read_dollar(struct kg_lex *lex, struct kg_shell_cells *to,
			bool quoted)
{
	int c = kg_lex_peek(lex);

	if (!quoted && (c == '\'' || c == '"')) {
		(void)kg_lex_take(lex);
		if (c == '\'')
			read_dollar_quotes(lex, to);
		else
			read_double_quotes(lex, to);
		return;
	}
	if (c == '(') {
		(void)kg_lex_take(lex);
		if (!kg_lex_arithmetic(lex))
			kg_lex_parens(lex);
	} else if (c == '{') {
		(void)kg_lex_take(lex);
		read_braces(lex, to, quoted);
	} else if (c == '[') {
		(void)kg_lex_take(lex);
		if (kg_lex_enter(lex))
			skip_brackets(lex);
		kg_lex_leave(lex);
	} else if (is_name_byte(c) && !(c >= '0' && c <= '9')) {
		while (is_name_byte(kg_lex_peek(lex)))
			(void)kg_lex_take(lex);
	} else if (c != KG_LEX_END &&
		   (is_name_byte(c) || strchr("@*#?-$!", c))) {
		(void)kg_lex_take(lex);
	} else {
		add(lex, to, quoted ? KG_SHELL_QUOTED : KG_SHELL_PLAIN, '$');
		return;
	}
	mark(lex, to, KG_SHELL_GAP);
}

/*
 * Words
 */

static void skip_comment(struct kg_lex *lex)
{
	while (lex->pos < lex->len && lex->text[lex->pos] != '\n')
		lex->pos++;
}

void kg_lex_blanks(struct kg_lex *lex)
{
	while (is_blank(kg_lex_peek(lex)))
		(void)kg_lex_take(lex);
	if (kg_lex_peek(lex) == '#')
		skip_comment(lex);
}

/* name=(word word): the words are values. */
void kg_lex_array(struct kg_lex *lex)
{
	bool inside = kg_lex_enter(lex);
	int c;

	while (inside && (c = kg_lex_peek(lex)) != KG_LEX_END) {
		auto_cells struct kg_shell_cells word = KG_SHELL_CELLS_INIT;

		kg_lex_blanks(lex);
		if (kg_lex_take_if(lex, ')'))
			break;
		if (kg_lex_ends_word(kg_lex_peek(lex)))
			(void)kg_lex_take(lex);
		else
			kg_lex_word(lex, &word, false);
	}
	kg_lex_leave(lex);
}

static bool is_last(const struct kg_shell_cells *cells, const char *bytes)
{
	const struct kg_shell_cell *last;

	if (cells->count == 0)
		return false;
	last = &cells->at[cells->count - 1];
	return last->kind == KG_SHELL_PLAIN && strchr(bytes, last->byte);
}

/*
 * A parenthesis that touches a word: an array, a pattern of ksh or zsh, =(...)
 * of zsh.  Return: false if it doesn't belong to the word.
 */
static bool read_touching_paren(struct kg_lex *lex, struct kg_shell_cells *to,
				bool first)
{
	bool assigns = kg_shell_word_name_bytes(to) > 0;

	if (to->count == 0)
		return false;
	if (first && !assigns &&
	    (kg_shell_word_is(to, "!") || !is_last(to, "?*+@!=")))
		return false;
	(void)kg_lex_take(lex);
	if (assigns && is_last(to, "=")) {
		kg_lex_array(lex);
	} else if (kg_shell_word_is(to, "=")) {
		kg_lex_parens(lex);
	} else {
		if (kg_lex_enter(lex))
			(void)skip_parens(lex, false);
		kg_lex_leave(lex);
	}
	mark(lex, to, KG_SHELL_GAP);
	return true;
}

/* A word; in command position @first.  Nothing is read where none begins. */
void kg_lex_word(struct kg_lex *lex, struct kg_shell_cells *to, bool first)
{
	for (;;) {
		int c = kg_lex_peek(lex);

		if ((c == '<' || c == '>') && kg_lex_is_second(lex, '(')) {
			(void)kg_lex_take(lex);
			(void)kg_lex_take(lex);
			kg_lex_parens(lex);
			mark(lex, to, KG_SHELL_GAP);
		} else if (c == '(') {
			if (!read_touching_paren(lex, to, first))
				return;
		} else if (kg_lex_ends_word(c)) {
			return;
		} else {
			read_unquoted_byte(lex, to, kg_lex_take(lex));
		}
	}
}
