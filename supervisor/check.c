/* SPDX-License-Identifier: MIT */
/*
 * A command line is a row of words: argv, a simple command of shell text, or
 * what follows a wrapper's options.  Each is checked by its first word and then
 * by the row of wrapper.c that this word leads to, which finds the rows of
 * words further inside.
 */
#include "config.h"

#include "supervisor/check.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"
#include "common/text.h"
#include "common/util.h"
#include "supervisor/program.h"
#include "supervisor/shell.h"
#include "supervisor/shell_word.h"
#include "supervisor/wrapper.h"

#define MAX_DEPTH   64
#define MAX_SCRIPTS 5 /* how many #! lead from one to the next */
#define MAX_BYTES   (4 * KG_SHELL_MAX_BYTES)
#define BLANKS	    " \t\r"

/* One check on its way through a command line. */
struct check {
	const struct kg_check_rules *rules;
	struct kg_programs programs;
	struct kg_check_hit *ret_hit;
	struct kg_error *err;
	unsigned depth;
	unsigned scripts; /* #! lines on the way here */
	size_t bytes;	  /* of text that may still be read */
};

/* A command and its arguments; borrowed. */
struct line {
	const struct kg_shell_word *words;
	size_t count;
	const char *input; /* of its here-document, or NULL */
};

/* Where a wrapper's options are read. */
struct cursor {
	const struct kg_wrapper *row;
	struct line line;
	size_t at;
	bool done; /* nothing more of the line runs */
};

static int check_line(struct check *check, struct line line);
static int check_row(struct check *check, const struct kg_wrapper *row,
		     struct line line);

static struct line rest_of(struct line line, size_t from)
{
	if (from > 0)
		line.words += from;
	line.count -= from;
	return line;
}

/*
 * Refusals
 */

static int refuse(struct check *check, size_t rule, const char *what,
		  const char *word, const char *how)
{
	const struct kg_check_rule *hit = &check->rules->at[rule];
	char quoted[KG_TEXT_QUOTE_BYTES], text[KG_TEXT_QUOTE_BYTES];

	*check->ret_hit = (struct kg_check_hit){ rule, hit->text, hit->origin };
	return kg_fail(
		check->err, KG_E_POLICY, 0,
		"%s %s%s, which deny_exec %s denies", what,
		kg_text_quote(quoted, sizeof(quoted), word, strlen(word)), how,
		kg_text_quote(text, sizeof(text), hit->text,
			      strlen(hit->text)));
}

static int refuse_program(struct check *check, const struct kg_program *program)
{
	kg_auto_free char *how = NULL;
	const char *verb[] = {
		[KG_PROGRAM_NAME] = "which leads to",
		[KG_PROGRAM_FILE] = "the same file as",
		[KG_PROGRAM_BYTES] = "a copy of",
	};
	const char *like = program->match == KG_PROGRAM_NAME ? program->real
							     : program->like;

	if (asprintf(&how, ", %s %s", verb[program->match], like) < 0)
		return kg_fail_system(check->err, "check the command");
	return refuse(check, program->rule, "the command runs", program->name,
		      how);
}

static int spend(struct check *check, size_t bytes)
{
	if (bytes > check->bytes)
		return kg_fail(check->err, KG_E_LIMIT, 0,
			       "the command line holds more shell text than "
			       "is checked");
	check->bytes -= bytes;
	return 0;
}

static int enter(struct check *check)
{
	if (check->depth == MAX_DEPTH)
		return kg_fail(
			check->err, KG_E_LIMIT, 0,
			"the command line is nested too deeply to check");
	check->depth++;
	return 0;
}

/*
 * Names
 */

static bool is_only_stars(const char *pattern)
{
	return pattern[strspn(pattern, "*")] == '\0';
}

/* A pattern that matches everything names nothing. */
static bool names(const struct kg_shell_word *word, const char *rule)
{
	const char *text = word->text;

	if (!strchr(rule, '/')) {
		/* zsh takes =name for where name is found. */
		text = kg_program_base(text + (text[0] == '='));
		if (is_only_stars(text))
			return false;
	}
	if (!(word->flags & KG_SHELL_GLOB))
		return strcmp(text, rule) == 0;
	return strlen(text) < PATH_MAX && kg_shell_word_matches(text, rule);
}

static int check_name(struct check *check, const struct kg_shell_word *word)
{
	size_t i;

	for (i = 0; i < check->rules->count; i++)
		if (names(word, check->rules->at[i].text))
			return refuse(check, i, "the command runs", word->text,
				      "");
	return 0;
}

/* The file behind a word; NULL when only a run can tell. */
static const struct kg_program *find_file(struct check *check,
					  const struct kg_shell_word *word)
{
	const char *home = check->rules->home;
	kg_auto_free char *path = NULL;

	if (word->flags & (KG_SHELL_EXPANDS | KG_SHELL_GLOB))
		return NULL;
	if (!(word->flags & KG_SHELL_TILDE))
		return kg_program_find(&check->programs, word->text);
	if (!home || word->text[1] != '/' ||
	    asprintf(&path, "%s%s", home, word->text + 1) < 0)
		return NULL;
	return kg_program_find(&check->programs, path);
}

static bool is_word_byte(int c)
{
	return isalnum(c) || c == '_' || c == '-' || c >= 0x80;
}

/*
 * A denied name in a one-line script.  ftp.example.org is no mention of ftp,
 * but sh.curl is one of curl.
 */
static bool mentions(const char *code, const char *name)
{
	size_t len = strlen(name);
	const char *at = code;

	for (; len > 0 && (at = strstr(at, name)); at++) {
		const unsigned char *end = (const unsigned char *)at + len;

		if (at > code && is_word_byte((unsigned char)at[-1]))
			continue;
		if (is_word_byte(end[0]) || (end[0] == '.' && isalnum(end[1])))
			continue;
		return true;
	}
	return false;
}

static int check_code(struct check *check, const char *code)
{
	size_t i;

	if (spend(check, strlen(code)))
		return -1;
	for (i = 0; i < check->rules->count; i++)
		if (mentions(code, check->rules->at[i].text))
			return refuse(check, i, "a one-line script mentions",
				      check->rules->at[i].text, "");
	return 0;
}

/*
 * Shell text
 */

static int check_text(struct check *check, const char *text);

/* NAME=VALUE, where programs run the value. */
static int check_assignment(struct check *check, const char *text)
{
	const char *equals = strchr(text, '=');

	if (!equals || !kg_wrapper_runs_variable(text, (size_t)(equals - text)))
		return 0;
	return check_text(check, equals + 1);
}

static int check_simple(struct check *check,
			const struct kg_shell_command *command)
{
	struct line line = { command->words, command->count, command->input };
	size_t i;

	for (i = 0; i < command->assignments; i++)
		if (check_assignment(check, command->words[i].text))
			return -1;
	return check_line(check, rest_of(line, command->assignments));
}

static int check_text(struct check *check, const char *text)
{
	struct kg_shell_script script = KG_SHELL_SCRIPT_INIT;
	size_t len = strlen(text), i;
	int rc;

	if (spend(check, len) || enter(check))
		return -1;
	rc = kg_shell_read(text, len, &script, check->err);
	for (i = 0; i < script.count && !rc; i++)
		rc = check_simple(check, &script.commands[i]);
	kg_shell_done(&script);
	check->depth--;
	return rc;
}

static char *join(struct line line)
{
	size_t bytes = 1, i;
	char *text, *to;

	for (i = 0; i < line.count; i++)
		bytes += strlen(line.words[i].text) + 1;
	text = to = malloc(bytes);
	for (i = 0; text && i < line.count; i++) {
		to = stpcpy(to, line.words[i].text);
		*to++ = ' ';
	}
	if (text)
		*to = '\0';
	return text;
}

static int check_joined(struct check *check, struct line line)
{
	kg_auto_free char *text = join(line);

	if (!text)
		return kg_fail_system(check->err, "check the command");
	return check_text(check, text);
}

static int check_each(struct check *check, struct line line)
{
	size_t i;

	for (i = 0; i < line.count; i++)
		if (check_text(check, line.words[i].text))
			return -1;
	return 0;
}

/* A command line that other words were put in front of. */
static int check_extended(struct check *check,
			  const struct kg_shell_word *front, size_t count,
			  struct line rest)
{
	kg_auto_free struct kg_shell_word *words = NULL;

	words = calloc(count + rest.count + 1, sizeof(*words));
	if (!words)
		return kg_fail_system(check->err, "check the command");
	if (count > 0)
		memcpy(words, front, count * sizeof(*words));
	if (rest.count > 0)
		memcpy(words + count, rest.words, rest.count * sizeof(*words));
	rest.words = words;
	rest.count += count;
	return check_line(check, rest);
}

/* env -S: the text is split as a shell would, and env's options again. */
static int check_split(struct check *check, const char *text, struct line rest)
{
	struct kg_shell_script script = KG_SHELL_SCRIPT_INIT;
	kg_auto_free char *whole = NULL;
	int rc = -1;

	if (spend(check, strlen(text)))
		return -1;
	if (asprintf(&whole, "env %s", text) < 0)
		return kg_fail_system(check->err, "check the command");
	if (kg_shell_read(whole, strlen(whole), &script, check->err) == 0)
		rc = check_extended(check, script.commands[0].words,
				    script.commands[0].count, rest);
	kg_shell_done(&script);
	return rc;
}

/*
 * Options
 */

/* KEY=VALUE, ssh also KEY VALUE. */
static int check_setting(struct check *check, const char *text)
{
	size_t len = strcspn(text, "= ");
	const char *value = text + len;

	if (!kg_wrapper_runs_key(text, len))
		return 0;
	value += strspn(value, "= ");
	/* git runs what follows ! in a shell, and so it runs the others. */
	return check_text(check, value + (*value == '!'));
}

static int check_argument(struct check *check, struct cursor *cursor,
			  enum kg_wrapper_option option, const char *value)
{
	switch (option) {
	case KG_WRAPPER_SHELL_TEXT:
		return check_text(check, value);
	case KG_WRAPPER_ONE_LINER:
		return check_code(check, value);
	case KG_WRAPPER_SETTING:
		return check_setting(check, value);
	case KG_WRAPPER_SPLIT:
		cursor->done = true;
		return check_split(check, value,
				   rest_of(cursor->line, cursor->at));
	case KG_WRAPPER_PLAIN:
	case KG_WRAPPER_ATTACHED:
	case KG_WRAPPER_VALUE:
	case KG_WRAPPER_QUIET:
	case KG_WRAPPER_REST:
	case KG_WRAPPER_UNTIL:
	default:
		return 0;
	}
}

/* An option's argument: the rest of its word, or the next one. */
static int take_argument(struct check *check, struct cursor *cursor,
			 enum kg_wrapper_option option, const char *attached)
{
	const char *value = attached;

	if (!value) {
		if (cursor->at >= cursor->line.count)
			return 0;
		value = cursor->line.words[cursor->at++].text;
	}
	return check_argument(check, cursor, option, value);
}

static int take_command(struct check *check, struct cursor *cursor, bool until)
{
	struct line inner = rest_of(cursor->line, cursor->at);
	size_t i = 0;

	while (i < inner.count &&
	       !(until && (strcmp(inner.words[i].text, ";") == 0 ||
			   strcmp(inner.words[i].text, "+") == 0)))
		i++;
	inner.count = i;
	cursor->at += i;
	return check_line(check, inner);
}

/* Return: 1 when the rest of the option's word is of no interest */
static int take_meaning(struct check *check, struct cursor *cursor,
			enum kg_wrapper_option option, const char *attached)
{
	switch (option) {
	case KG_WRAPPER_PLAIN:
		return 0;
	case KG_WRAPPER_ATTACHED:
		return 1;
	case KG_WRAPPER_QUIET:
		cursor->done = true;
		return 1;
	case KG_WRAPPER_REST:
	case KG_WRAPPER_UNTIL:
		return take_command(check, cursor, option == KG_WRAPPER_UNTIL)
			       ? -1
			       : 1;
	case KG_WRAPPER_VALUE:
	case KG_WRAPPER_SHELL_TEXT:
	case KG_WRAPPER_ONE_LINER:
	case KG_WRAPPER_SETTING:
	case KG_WRAPPER_SPLIT:
	default:
		return take_argument(check, cursor, option, attached) ? -1 : 1;
	}
}

static int take_long(struct check *check, struct cursor *cursor,
		     const char *name)
{
	size_t len = strcspn(name, "=");

	return take_meaning(check, cursor,
			    kg_wrapper_option(cursor->row, name, len),
			    name[len] ? name + len + 1 : NULL);
}

static int take_short(struct check *check, struct cursor *cursor,
		      const char *letters)
{
	for (; *letters; letters++) {
		enum kg_wrapper_option option = kg_wrapper_option(cursor->row,
								  letters, 1);
		int rc = take_meaning(check, cursor, option,
				      letters[1] ? letters + 1 : NULL);

		if (rc)
			return rc;
	}
	return 0;
}

/* One option, at a word that begins with a dash.  Return: -1 when denied */
static int take_option(struct check *check, struct cursor *cursor)
{
	const char *word = cursor->line.words[cursor->at++].text + 1;

	if (word[0] == '-')
		return take_long(check, cursor, word + 1);
	if (cursor->row->flags & KG_WRAPPER_ONE_DASH)
		return take_long(check, cursor, word);
	return take_short(check, cursor, word);
}

/*
 * Rows
 */

static bool is_option(const struct kg_wrapper *row, const char *word)
{
	if (word[0] != '-')
		return false;
	return word[1] || (row->flags & KG_WRAPPER_DASH);
}

static bool is_assignment(const struct kg_wrapper *row, const char *word)
{
	const char *equals = strchr(word, '=');

	return (row->flags & KG_WRAPPER_ASSIGNS) && equals && equals > word;
}

/*
 * sh: -c may stand among other letters, o and O take a word each, and the text
 * is the first operand.  Without one a shell reads its input.
 */
static int check_shell(struct check *check, struct line line)
{
	bool has_text = false;
	size_t i = 1;

	while (i < line.count) {
		const char *word = line.words[i].text;
		size_t letters;

		if ((word[0] != '-' && word[0] != '+') || !word[1])
			break;
		i++;
		if (strcmp(word, "--") == 0)
			break;
		if (word[1] == '-') {
			i += strcmp(word, "--rcfile") == 0 ||
			     strcmp(word, "--init-file") == 0;
			continue;
		}
		for (letters = 1; word[letters]; letters++) {
			has_text = has_text || word[letters] == 'c';
			i += word[letters] == 'o' || word[letters] == 'O';
		}
	}
	if (i < line.count && strcmp(line.words[i].text, "-") == 0)
		i++;
	if (has_text && i < line.count)
		return check_text(check, line.words[i].text);
	if (i >= line.count && line.input)
		return check_text(check, line.input);
	return 0;
}

static int check_parallel(struct check *check, struct line line)
{
	struct line template = line;
	size_t i = 0;

	while (i < line.count && strncmp(line.words[i].text, ":::", 3) != 0)
		i++;
	template.count = i;
	if (i == 0 && line.count > 0)
		return check_each(check, rest_of(line, 1));
	return check_joined(check, template);
}

static int check_subcommand(struct check *check, struct line line)
{
	const struct kg_wrapper *row;
	char name[64];

	if (line.count == 0)
		return 0;
	(void)snprintf(name, sizeof(name), "git-%s", line.words[0].text);
	row = kg_wrapper_find(name);
	return row ? check_row(check, row, line) : 0;
}

static int check_inner(struct check *check, const struct kg_wrapper *row,
		       struct line line)
{
	switch (row->inner) {
	case KG_WRAPPER_COMMAND:
		return check_line(check, line);
	case KG_WRAPPER_SCRIPT:
		return check_joined(check, line);
	case KG_WRAPPER_SCRIPTS:
		return check_each(check, line);
	case KG_WRAPPER_CODE:
		return line.count ? check_code(check, line.words[0].text) : 0;
	case KG_WRAPPER_PARALLEL:
		return check_parallel(check, line);
	case KG_WRAPPER_GIT:
		return check_subcommand(check, line);
	case KG_WRAPPER_NONE:
	case KG_WRAPPER_SHELL:
	default:
		return 0;
	}
}

/* An operand.  Return: 1 when the inner command begins there */
static int take_operand(struct check *check, struct cursor *cursor,
			const char **first, unsigned *operands)
{
	const char *word = cursor->line.words[cursor->at].text;

	if (is_assignment(cursor->row, word)) {
		cursor->at++;
		return check_assignment(check, word);
	}
	if (*first) {
		cursor->at++;
		cursor->done = !kg_wrapper_expects(cursor->row, word);
		*first = NULL;
		return 0;
	}
	if (*operands > 0) {
		cursor->at++;
		--*operands;
		return 0;
	}
	return 1;
}

static int check_row(struct check *check, const struct kg_wrapper *row,
		     struct line line)
{
	struct cursor cursor = { row, line, 1, false };
	unsigned operands = row->operands;
	const char *first = row->first;
	bool ended = false, inside = false;
	int rc = 0;

	if (row->inner == KG_WRAPPER_SHELL)
		return check_shell(check, line);
	while (cursor.at < line.count && !cursor.done && rc >= 0) {
		const char *word = line.words[cursor.at].text;

		if (!ended && strcmp(word, "--") == 0) {
			cursor.at++;
			ended = !first;
			continue;
		}
		if (!ended && is_option(row, word)) {
			rc = take_option(check, &cursor);
			continue;
		}
		rc = take_operand(check, &cursor, &first, &operands);
		if (rc <= 0)
			continue;
		if (!inside)
			rc = check_inner(check, row, rest_of(line, cursor.at));
		inside = true;
		if (!(row->flags & KG_WRAPPER_PERMUTES))
			return rc;
		cursor.at++;
	}
	return rc < 0 ? -1 : 0;
}

/*
 * #! names a program and gives it one argument.  The kernel goes from one
 * script to the next a few times; so does this.
 */
static int check_first_line(struct check *check, const char *script,
			    struct line line)
{
	kg_auto_free char *program = NULL;
	kg_auto_free char *argument = NULL;
	struct kg_shell_word front[2] = { { NULL, 0 }, { NULL, 0 } };
	size_t count = 1, len;
	int rc;

	if (check->scripts == MAX_SCRIPTS)
		return 0;
	script += strspn(script, BLANKS);
	len = strcspn(script, BLANKS);
	program = strndup(script, len);
	script += len + strspn(script + len, BLANKS);
	argument = strdup(script);
	if (!program || !argument)
		return kg_fail_system(check->err, "check the command");
	for (len = strlen(argument); len > 0; len--)
		if (!strchr(BLANKS, argument[len - 1]))
			break;
	argument[len] = '\0';
	front[0].text = program;
	front[1].text = argument;
	count += len > 0;

	check->scripts++;
	rc = check_extended(check, front, count, line);
	check->scripts--;
	return rc;
}

static int check_words(struct check *check, struct line line)
{
	const struct kg_shell_word *word = &line.words[0];
	const struct kg_program *program;
	const struct kg_wrapper *row;

	if (check_name(check, word))
		return -1;
	program = find_file(check, word);
	if (program && program->match)
		return refuse_program(check, program);
	row = kg_wrapper_find(kg_program_base(word->text));
	if (!row && program && program->real)
		row = kg_wrapper_find(kg_program_base(program->real));
	if (row && check_row(check, row, line))
		return -1;
	if (program && program->script)
		return check_first_line(check, program->script, line);
	return 0;
}

/* A first word that only a run can tell leads nowhere. */
static int check_line(struct check *check, struct line line)
{
	int rc;

	if (line.count == 0 || !line.words[0].text[0])
		return 0;
	if (enter(check))
		return -1;
	rc = check_words(check, line);
	check->depth--;
	return rc;
}

int kg_check_command(const struct kg_check_rules *rules, char *const *argv,
		     const char *path_env, struct kg_check_hit *ret_hit,
		     struct kg_error *err)
{
	kg_auto_free struct kg_shell_word *words = NULL;
	struct check check = { .rules = rules,
			       .programs = KG_PROGRAMS_INIT,
			       .ret_hit = ret_hit,
			       .err = err,
			       .bytes = MAX_BYTES };
	size_t count = 0, i;
	int rc;

	if (rules->count == 0)
		return 0;
	while (argv[count])
		count++;
	words = calloc(count + 1, sizeof(*words));
	if (!words)
		return kg_fail_system(err, "check the command");
	for (i = 0; i < count; i++)
		words[i].text = argv[i];
	rc = kg_program_load(&check.programs, rules, path_env, err);
	if (!rc)
		rc = check_line(&check, (struct line){ words, count, NULL });
	kg_program_done(&check.programs);
	return rc;
}
