/* SPDX-License-Identifier: MIT */
/*
 * jsonl - read an audit log as a stranger would
 *
 *	jsonl lines FILE FROM	"KIND STAGE ID" of each line behind the first
 *				FROM, "bad" for one that isn't an object of
 *				printable ASCII; STAGE is - where there is none
 *	jsonl text FILE N KEY	the string of line N (from 1), as it is
 *	jsonl argv FILE N	argv of line N as bytes, each word with a NUL
 *
 * Strings of the log stand for bytes: \xHH is one, \\ is a backslash.
 */
#include "config.h"

#include <ctype.h>
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

struct log {
	FILE *file;
	char *line;
	size_t room;
	ssize_t len;
};

static bool read_line(struct log *log)
{
	log->len = getline(&log->line, &log->room, log->file);
	return log->len > 0;
}

/* The line as an object, or NULL. */
static json_t *parse_line(const struct log *log)
{
	json_t *obj;
	ssize_t i;

	if (log->line[log->len - 1] != '\n')
		return NULL;
	for (i = 0; i < log->len - 1; i++)
		if (log->line[i] < ' ' || log->line[i] > '~')
			return NULL;
	obj = json_loadb(log->line, (size_t)log->len, JSON_REJECT_DUPLICATES,
			 NULL);
	if (obj && !json_is_object(obj)) {
		json_decref(obj);
		return NULL;
	}
	return obj;
}

static const char *text_of(const json_t *obj, const char *key)
{
	const char *text = json_string_value(json_object_get(obj, key));

	return text ? text : "-";
}

static int print_lines(struct log *log, char **argv)
{
	int skip = atoi(argv[0]);
	json_t *obj;

	while (read_line(log)) {
		if (skip-- > 0)
			continue;
		obj = parse_line(log);
		if (obj)
			printf("%s %s %s\n", text_of(obj, "kind"),
			       text_of(obj, "stage"), text_of(obj, "id"));
		else
			printf("bad\n");
		json_decref(obj);
	}
	return 0;
}

static json_t *load_line(struct log *log, int number)
{
	json_t *obj;
	int i;

	for (i = 0; i < number; i++)
		if (!read_line(log))
			errx(1, "there is no line %d", number);
	obj = parse_line(log);
	if (!obj)
		errx(1, "line %d isn't a JSON object", number);
	return obj;
}

static int print_text(struct log *log, char **argv)
{
	json_t *obj = load_line(log, atoi(argv[0]));

	printf("%s\n", text_of(obj, argv[1]));
	json_decref(obj);
	return 0;
}

static int hex_byte(const char *digits)
{
	const char text[3] = { digits[0], digits[1], '\0' };

	if (!isxdigit((unsigned char)text[0]) ||
	    !isxdigit((unsigned char)text[1]))
		errx(1, "a backslash that nothing is meant by");
	return (int)strtol(text, NULL, 16);
}

static void print_bytes(const char *text)
{
	for (; *text; text++) {
		if (text[0] != '\\') {
			putchar(text[0]);
		} else if (text[1] == '\\') {
			putchar('\\');
			text++;
		} else if (text[1] == 'x') {
			putchar(hex_byte(text + 2));
			text += 3;
		} else {
			errx(1, "a backslash that nothing is meant by");
		}
	}
	putchar('\0');
}

static int print_argv(struct log *log, char **argv)
{
	json_t *obj = load_line(log, atoi(argv[0])), *word;
	size_t i;

	json_array_foreach(json_object_get(obj, "argv"), i, word)
		print_bytes(json_string_value(word));
	json_decref(obj);
	return 0;
}

static const struct {
	const char *name;
	int args;
	int (*run)(struct log *log, char **argv);
} commands[] = {
	{ "lines", 1, print_lines },
	{ "text", 2, print_text },
	{ "argv", 1, print_argv },
};

int main(int argc, char **argv)
{
	struct log log = { 0 };
	int rc = 2;
	size_t i;

	if (argc > 2)
		log.file = fopen(argv[2], "re");
	if (argc > 2 && !log.file)
		err(1, "%s", argv[2]);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (argc - 3 == commands[i].args &&
		    strcmp(argv[1], commands[i].name) == 0)
			rc = commands[i].run(&log, argv + 3);
	if (log.file)
		fclose(log.file);
	free(log.line);
	if (rc == 2)
		warnx("usage: jsonl lines FILE FROM | text FILE N KEY | "
		      "argv FILE N");
	return rc;
}
