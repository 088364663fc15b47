/* SPDX-License-Identifier: MIT */
/*
 * A lenient recursive descent over the text.
 *
 * The grammar is kept only as far as it decides which word is in command
 * position: `case` has patterns, `for` has a list, [[ ]] has operands; of the
 * other compound commands only the reserved words matter, which are passed
 * over.  Every function makes progress or has its caller take a byte.
 */
#include "config.h"

#include "supervisor/shell.h"

#include <stdlib.h>
#include <string.h>

#include "common/util.h"
#include "supervisor/lex.h"
#include "supervisor/shell_word.h"

#define MAX_BRACES 4096

#define auto_cells __attribute__((cleanup(kg_shell_word_done)))

static void free_command(struct kg_shell_command *command)
{
	struct kg_shell_words words = { command->words, command->count, 0 };

	kg_shell_word_free(&words);
	free(command->input);
	memset(command, 0, sizeof(*command));
}

void kg_shell_drop(struct kg_shell_script *script, size_t keep)
{
	while (script->count > keep)
		free_command(&script->commands[--script->count]);
}

/*
 * Here-documents
 */

static void set_input(struct kg_lex *lex, size_t owner, char *text)
{
	struct kg_shell_command *command;

	if (!text)
		kg_lex_fail_memory(lex);
	if (lex->shared->failed) {
		free(text);
		return;
	}
	command = &lex->shared->script->commands[owner];
	free(command->input);
	command->input = text;
}

/* One line with its newline; @ret_bytes without it. */
static const char *take_line(struct kg_lex *lex, size_t *ret_bytes)
{
	const char *line = lex->text + lex->pos, *newline;
	size_t left = lex->len - lex->pos;

	newline = memchr(line, '\n', left);
	*ret_bytes = newline ? (size_t)(newline - line) : left;
	lex->pos += *ret_bytes + (newline != NULL);
	return line;
}

static bool is_end(const struct kg_lex_heredoc *doc, const char *line,
		   size_t len)
{
	while (doc->strip && len && *line == '\t') {
		line++;
		len--;
	}
	return len == doc->end_bytes && memcmp(line, doc->end, len) == 0;
}

/* The expansions of a body are read where it is known to end. */
static char *read_body(struct kg_lex *lex, const char *text, size_t len)
{
	auto_cells struct kg_shell_cells cells = KG_SHELL_CELLS_INIT;
	struct kg_lex inner = { .shared = lex->shared,
				.text = text,
				.len = len };
	int c;

	if (kg_lex_enter(lex))
		while ((c = kg_lex_take(&inner)) != KG_LEX_END)
			kg_lex_quoted_byte(&inner, &cells, c, "$`\\");
	kg_lex_leave(lex);
	kg_lex_done(&inner);
	return kg_shell_word_text(&cells);
}

/* At the begin of a line: the bodies of the here-documents before it. */
static void read_bodies(struct kg_lex *lex)
{
	while (lex->heredoc_done < lex->heredoc_count && !lex->shared->failed) {
		struct kg_lex_heredoc *doc =
			&lex->heredocs[lex->heredoc_done++];
		size_t begin = lex->pos, end = lex->len, bytes;

		while (lex->pos < lex->len) {
			size_t at = lex->pos;
			const char *line = take_line(lex, &bytes);

			if (is_end(doc, line, bytes)) {
				end = at;
				break;
			}
		}
		set_input(lex, doc->owner,
			  doc->quoted ? strndup(lex->text + begin, end - begin)
				      : read_body(lex, lex->text + begin,
						  end - begin));
	}
}

static bool has_quotes(const struct kg_shell_cells *cells)
{
	size_t i;

	for (i = 0; i < cells->count; i++)
		if (cells->at[i].kind == KG_SHELL_QUOTED ||
		    cells->at[i].kind == KG_SHELL_MARK)
			return true;
	return false;
}

/* Memory is doubled whenever it may be full. */
static bool has_room(struct kg_lex *lex)
{
	size_t count = lex->heredoc_count;
	struct kg_lex_heredoc *at;

	if (count & (count - 1))
		return true;
	at = reallocarray(lex->heredocs, count ? 2 * count : 1, sizeof(*at));
	if (at)
		lex->heredocs = at;
	return at != NULL;
}

/* Nothing is expanded in the word that ends a here-document. */
static void add_heredoc(struct kg_lex *lex, size_t owner, bool strip)
{
	auto_cells struct kg_shell_cells word = KG_SHELL_CELLS_INIT;
	bool expands = false;
	char *end;
	size_t begin, i;

	kg_lex_blanks(lex);
	begin = lex->pos;
	kg_lex_word(lex, &word, false);
	for (i = 0; i < word.count; i++)
		expands = expands || word.at[i].kind == KG_SHELL_GAP;
	end = expands ? strndup(lex->text + begin, lex->pos - begin)
		      : kg_shell_word_text(&word);
	if (!end || !has_room(lex)) {
		free(end);
		kg_lex_fail_memory(lex);
		return;
	}
	lex->heredocs[lex->heredoc_count++] = (struct kg_lex_heredoc){
		.end = end,
		.end_bytes = strlen(end),
		.quoted = has_quotes(&word),
		.strip = strip,
		.owner = owner,
	};
}

/* A redirection: its target is no command, but can hold some. */
static void read_redirection(struct kg_lex *lex, size_t owner)
{
	auto_cells struct kg_shell_cells target = KG_SHELL_CELLS_INIT;
	bool input;

	(void)kg_lex_take_if(lex, '&');
	input = kg_lex_take(lex) == '<';
	if (input && kg_lex_take_if(lex, '<')) {
		if (!kg_lex_take_if(lex, '<')) {
			add_heredoc(lex, owner, kg_lex_take_if(lex, '-'));
			return;
		}
		kg_lex_blanks(lex);
		kg_lex_word(lex, &target, false);
		set_input(lex, owner, kg_shell_word_text(&target));
		return;
	}
	while (kg_lex_peek(lex) == '>' || kg_lex_peek(lex) == '&' ||
	       kg_lex_peek(lex) == '|')
		(void)kg_lex_take(lex);
	kg_lex_blanks(lex);
	kg_lex_word(lex, &target, false);
}

/*
 * Commands
 */

/* A simple command in the making. */
struct draft {
	size_t index;
	struct kg_shell_words words;
	size_t assignments;
	bool is_coproc;
};

static size_t begin_command(struct kg_lex *lex)
{
	struct kg_lex_shared *all = lex->shared;
	struct kg_shell_script *script = all->script;
	struct kg_shell_command *at;

	if (script->count >= KG_SHELL_MAX_COMMANDS)
		kg_lex_fail(lex, KG_E_LIMIT,
			    "shell text has too many commands to check");
	if (script->count == all->room && !all->failed) {
		size_t room = all->room ? 2 * all->room : 16;

		at = reallocarray(script->commands, room, sizeof(*at));
		if (!at) {
			kg_lex_fail_memory(lex);
		} else {
			script->commands = at;
			all->room = room;
		}
	}
	if (all->failed)
		return 0;
	memset(&script->commands[script->count], 0, sizeof(*at));
	return script->count++;
}

static void end_command(struct kg_lex *lex, struct draft *draft)
{
	struct kg_shell_command *command;

	if (lex->shared->failed) {
		kg_shell_word_free(&draft->words);
		return;
	}
	command = &lex->shared->script->commands[draft->index];
	command->words = draft->words.at;
	command->count = draft->words.count;
	command->assignments = draft->assignments;
}

static void finish_word(struct kg_lex *lex, const struct kg_shell_cells *cells,
			struct draft *draft)
{
	size_t before = draft->words.count;
	bool ok;

	if (draft->assignments == before && kg_shell_word_name_bytes(cells)) {
		ok = kg_shell_word_assign(cells, &draft->words);
		draft->assignments++;
	} else {
		ok = kg_shell_word_finish(cells, &lex->shared->braces,
					  &draft->words);
	}
	if (!ok)
		kg_lex_fail_memory(lex);
	lex->shared->words += draft->words.count - before;
	if (lex->shared->words > KG_SHELL_MAX_WORDS)
		kg_lex_fail(lex, KG_E_LIMIT,
			    "shell text has too many words to check");
}

/* Blanks, newlines and comments, where a newline ends nothing. */
static void skip_space(struct kg_lex *lex)
{
	for (;;) {
		kg_lex_blanks(lex);
		if (!kg_lex_take_if(lex, '\n'))
			return;
		read_bodies(lex);
	}
}

/* A word that is no command; *ret is what was written. */
static void read_passed(struct kg_lex *lex, struct kg_shell_cells *ret)
{
	kg_lex_blanks(lex);
	kg_lex_word(lex, ret, false);
}

/* `for NAME in WORD...`, also `for NAME (WORD...)` and for ((...)). */
static void read_for(struct kg_lex *lex)
{
	auto_cells struct kg_shell_cells name = KG_SHELL_CELLS_INIT;
	auto_cells struct kg_shell_cells in = KG_SHELL_CELLS_INIT;
	size_t pos;

	read_passed(lex, &name);
	skip_space(lex);
	if (kg_lex_peek(lex) == '(' && name.count > 0) {
		(void)kg_lex_take(lex);
		kg_lex_array(lex);
		return;
	}
	pos = lex->pos;
	read_passed(lex, &in);
	if (!kg_shell_word_is(&in, "in")) {
		lex->pos = pos;
		return;
	}
	do {
		auto_cells struct kg_shell_cells word = KG_SHELL_CELLS_INIT;

		read_passed(lex, &word);
		if (word.count == 0)
			return;
	} while (kg_lex_peek(lex) != KG_LEX_END);
}

/* The patterns of one branch, through its ).  Return: false at esac. */
static bool read_patterns(struct kg_lex *lex)
{
	bool first = !kg_lex_take_if(lex, '(');
	int c;

	while ((c = kg_lex_peek(lex)) != KG_LEX_END) {
		auto_cells struct kg_shell_cells word = KG_SHELL_CELLS_INIT;

		skip_space(lex);
		if (kg_lex_take_if(lex, ')'))
			return true;
		if (kg_lex_ends_word(kg_lex_peek(lex))) {
			(void)kg_lex_take(lex);
			continue;
		}
		kg_lex_word(lex, &word, false);
		if (first && kg_shell_word_is(&word, "esac"))
			return false;
		first = false;
	}
	return false;
}

static void read_case(struct kg_lex *lex)
{
	auto_cells struct kg_shell_cells subject = KG_SHELL_CELLS_INIT;
	auto_cells struct kg_shell_cells in = KG_SHELL_CELLS_INIT;
	bool inside = kg_lex_enter(lex);

	read_passed(lex, &subject);
	skip_space(lex);
	read_passed(lex, &in);
	while (inside && kg_lex_peek(lex) != KG_LEX_END) {
		skip_space(lex);
		if (!read_patterns(lex) ||
		    kg_shell_read_list(lex, KG_LEX_CASE) == KG_LEX_ENDED_ESAC)
			break;
	}
	kg_lex_leave(lex);
}

/* [[ ... ]] has operators of its own.  A ; ends what isn't one. */
static void read_test(struct kg_lex *lex)
{
	int c;

	while ((c = kg_lex_peek(lex)) != KG_LEX_END && c != ';') {
		auto_cells struct kg_shell_cells word = KG_SHELL_CELLS_INIT;

		skip_space(lex);
		if (kg_lex_peek(lex) == ';')
			return;
		kg_lex_word(lex, &word, false);
		if (word.count == 0)
			(void)kg_lex_take(lex);
		else if (kg_shell_word_is(&word, "]]"))
			return;
	}
}

static void read_function(struct kg_lex *lex)
{
	auto_cells struct kg_shell_cells name = KG_SHELL_CELLS_INIT;

	kg_lex_blanks(lex);
	kg_lex_word(lex, &name, true);
	kg_lex_blanks(lex);
	if (kg_lex_take_if(lex, '(')) {
		kg_lex_blanks(lex);
		(void)kg_lex_take_if(lex, ')');
	}
}

/* Words that lead to a command, and are none. */
static const char *const leading[] = {
	"!",  "{",  "}",    "if",    "then",  "elif", "else",
	"fi", "do", "done", "while", "until", "esac",
};

static const struct {
	const char *word;
	void (*read)(struct kg_lex *lex);
} compounds[] = {
	{ "for", read_for },	{ "foreach", read_for },
	{ "select", read_for }, { "case", read_case },
	{ "[[", read_test },	{ "function", read_function },
};

/* A reserved word in command position.  Return: false if it isn't one. */
static bool read_reserved(struct kg_lex *lex, const struct kg_shell_cells *word)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(leading); i++)
		if (kg_shell_word_is(word, leading[i]))
			return true;
	for (i = 0; i < KG_ARRAY_LEN(compounds); i++) {
		if (!kg_shell_word_is(word, compounds[i].word))
			continue;
		compounds[i].read(lex);
		return true;
	}
	if (!kg_shell_word_is(word, "time"))
		return false;
	/* With options it may be the program of that name. */
	kg_lex_blanks(lex);
	return kg_lex_peek(lex) != '-';
}

/* A number or {name} before a redirection names a descriptor. */
static bool is_descriptor(struct kg_lex *lex, const struct kg_shell_cells *word)
{
	size_t i, last = word->count ? word->count - 1 : 0;
	bool braces;

	if ((kg_lex_peek(lex) != '<' && kg_lex_peek(lex) != '>') ||
	    word->count == 0)
		return false;
	braces = word->at[0].byte == '{' && word->at[last].byte == '}';
	for (i = 0; i <= last; i++) {
		if (word->at[i].kind != KG_SHELL_PLAIN)
			return false;
		if (!braces &&
		    !(word->at[i].byte >= '0' && word->at[i].byte <= '9'))
			return false;
	}
	return true;
}

/* name ( ): the word was no command, the body follows. */
static bool take_function_parens(struct kg_lex *lex, struct draft *draft)
{
	size_t pos = lex->pos;

	if (draft->words.count == 1 && draft->assignments == 0) {
		(void)kg_lex_take(lex);
		kg_lex_blanks(lex);
		if (kg_lex_take_if(lex, ')')) {
			kg_shell_word_free(&draft->words);
			return true;
		}
	}
	lex->pos = pos;
	return false;
}

/*
 * One word of a simple command.  Return: false if it closes the list that the
 * command is in.
 */
static bool read_command_word(struct kg_lex *lex, struct draft *draft,
			      enum kg_lex_stop stop)
{
	auto_cells struct kg_shell_cells word = KG_SHELL_CELLS_INIT;
	bool first = draft->words.count == 0;

	/* What follows the } of ${ command; } is the outer word's. */
	if (first && stop == KG_LEX_BRACE && kg_lex_take_if(lex, '}'))
		return false;
	kg_lex_word(lex, &word, draft->words.count == draft->assignments);
	if (word.count == 0 || is_descriptor(lex, &word))
		return true;
	if (first && stop == KG_LEX_CASE && kg_shell_word_is(&word, "esac"))
		return false;
	if (first && kg_shell_word_is(&word, "coproc")) {
		draft->is_coproc = true;
		return true;
	}
	if (draft->is_coproc && kg_shell_word_is(&word, "{")) {
		kg_shell_word_free(&draft->words);
		return true;
	}
	if (!first || !read_reserved(lex, &word))
		finish_word(lex, &word, draft);
	return true;
}

/*
 * A simple command, with the reserved words before it, up to the operator
 * behind it.  Return: false if the list that it is in was closed.
 */
static bool read_command(struct kg_lex *lex, enum kg_lex_stop stop)
{
	struct draft draft = { .index = begin_command(lex) };
	bool open = true;

	while (open) {
		int c;

		kg_lex_blanks(lex);
		c = kg_lex_peek(lex);
		if (c == KG_LEX_END || strchr("\n;|)", c) ||
		    (c == '&' && !kg_lex_is_second(lex, '>')))
			break;
		if (c == '&' ||
		    ((c == '<' || c == '>') && !kg_lex_is_second(lex, '(')))
			read_redirection(lex, draft.index);
		else if (c == '(' && !take_function_parens(lex, &draft))
			break;
		else if (c != '(')
			open = read_command_word(lex, &draft, stop);
	}
	end_command(lex, &draft);
	return open;
}

/* ;; and its kin.  Return: true if it was one. */
static bool take_branch_end(struct kg_lex *lex)
{
	if (kg_lex_peek(lex) != ';' && kg_lex_peek(lex) != '&' &&
	    kg_lex_peek(lex) != '|')
		return false;
	(void)kg_lex_take(lex);
	(void)kg_lex_take_if(lex, '&');
	return true;
}

enum kg_lex_ending kg_shell_read_list(struct kg_lex *lex, enum kg_lex_stop stop)
{
	for (;;) {
		kg_lex_blanks(lex);
		switch (kg_lex_peek(lex)) {
		case KG_LEX_END:
			return KG_LEX_ENDED_TEXT;
		case '\n':
			(void)kg_lex_take(lex);
			read_bodies(lex);
			break;
		case ';':
			(void)kg_lex_take(lex);
			if (stop == KG_LEX_CASE && take_branch_end(lex))
				return KG_LEX_ENDED_CLOSED;
			break;
		case '|':
			(void)kg_lex_take(lex);
			break;
		case ')':
			(void)kg_lex_take(lex);
			if (stop == KG_LEX_PAREN)
				return KG_LEX_ENDED_CLOSED;
			break;
		case '(':
			(void)kg_lex_take(lex);
			if (!kg_lex_arithmetic(lex))
				kg_lex_parens(lex);
			break;
		case '&':
			if (!kg_lex_is_second(lex, '>')) {
				(void)kg_lex_take(lex);
				break;
			}
			__attribute__((fallthrough));
		default:
			if (!read_command(lex, stop))
				return stop == KG_LEX_CASE
					       ? KG_LEX_ENDED_ESAC
					       : KG_LEX_ENDED_CLOSED;
		}
	}
}

int kg_shell_read(const char *text, size_t len, struct kg_shell_script *ret,
		  struct kg_error *err)
{
	struct kg_lex_shared all = { .script = ret,
				     .err = err,
				     .braces = MAX_BRACES,
				     .waste = 4 * len + 1 };
	struct kg_lex lex = { .shared = &all, .text = text, .len = len };

	if (len > KG_SHELL_MAX_BYTES)
		return kg_fail(err, KG_E_LIMIT, 0,
			       "shell text of more than %d bytes is too long "
			       "to check",
			       KG_SHELL_MAX_BYTES);
	(void)kg_shell_read_list(&lex, KG_LEX_NEVER);
	kg_lex_done(&lex);
	return all.failed ? -1 : 0;
}

void kg_shell_done(struct kg_shell_script *script)
{
	kg_shell_drop(script, 0);
	free(script->commands);
	*script = KG_SHELL_SCRIPT_INIT;
}
