/* SPDX-License-Identifier: MIT */
/*
 * Shell text.  Whatever the bytes: the bounds hold, every word is a string, and
 * a word whose value is known reads the same again when it is quoted.
 */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"
#include "supervisor/shell.h"
#include "supervisor/shell_word.h"

#define MAX_RETURNS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert() that NDEBUG leaves in. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_failure(const struct kg_error *err)
{
	must(err->code == KG_E_LIMIT);
	must(memchr(err->msg, '\0', sizeof(err->msg)));
}

/* 'text', with each ' in it as '\''. */
static char *quote(const char *text)
{
	char *quoted = malloc(4 * strlen(text) + 3), *to = quoted;

	must(quoted);
	*to++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			to = stpcpy(to, "'\\'");
		*to++ = *text;
	}
	*to++ = '\'';
	*to = '\0';
	return quoted;
}

static void check_returns(const char *text)
{
	struct kg_shell_script script = KG_SHELL_SCRIPT_INIT;
	kg_auto_free char *quoted = quote(text);
	struct kg_error err = KG_ERROR_INIT;

	must(kg_shell_read(quoted, strlen(quoted), &script, &err) == 0);
	must(script.count == 1 && script.commands[0].count == 1);
	must(strcmp(script.commands[0].words[0].text, text) == 0);
	must(script.commands[0].words[0].flags == 0);
	kg_shell_done(&script);
}

static size_t check_word(const struct kg_shell_word *word, size_t *returns)
{
	must(word->text != NULL);
	must(word->flags < 8);
	if (word->flags == 0 && *returns > 0) {
		--*returns;
		check_returns(word->text);
	}
	if (word->flags & KG_SHELL_GLOB)
		(void)kg_shell_word_matches(word->text, "curl");
	return strlen(word->text);
}

static void check_script(const struct kg_shell_script *script, size_t size)
{
	size_t returns = MAX_RETURNS, words = 0, bytes = 0, i, j;

	must(script->count <= KG_SHELL_MAX_COMMANDS);
	for (i = 0; i < script->count; i++) {
		const struct kg_shell_command *command = &script->commands[i];

		must(command->assignments <= command->count);
		words += command->count;
		for (j = 0; j < command->count; j++)
			bytes += check_word(&command->words[j], &returns);
		for (j = 0; j < command->assignments; j++)
			must(strchr(command->words[j].text, '='));
		if (command->input)
			must(strlen(command->input) <= 2 * size);
	}
	must(words <= KG_SHELL_MAX_WORDS);
	/* Braces multiply, all else shrinks or doubles. */
	must(bytes <=
	     2 * KG_SHELL_WORD_BRACE_WORDS * KG_SHELL_MAX_DEPTH * (size + 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kg_shell_script script = KG_SHELL_SCRIPT_INIT;
	struct kg_error err = KG_ERROR_INIT;

	if (kg_shell_read((const char *)data, size, &script, &err)) {
		check_failure(&err);
	} else {
		must(err.code == KG_E_NONE);
		check_script(&script, size);
	}
	kg_shell_done(&script);
	must(script.commands == NULL && script.count == 0);
	return 0;
}
