/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/check.h"

#include <check.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/scoped.h"
#include "common/util.h"
#include "supervisor/program.h"
#include "supervisor/wrapper.h"

Suite *kg_suite(void);

#define MAX_WORDS 32
#define MAX_BYTES (1 << 20)

static const struct kg_check_rule denied[] = {
	{ "curl", 10 },	  { "wget", 20 },  { "nc", 30 },     { "ncat", 40 },
	{ "netcat", 50 }, { "socat", 60 }, { "telnet", 70 }, { "ftp", 80 },
};

static char dir[] = "/tmp/kg-check-XXXXXX";

static void write_file(const char *path, const char *text)
{
	kg_auto_close int fd = -1;

	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ck_assert_msg(fd >= 0, "write %s", path);
	ck_assert_int_eq(kg_fd_write_all(fd, text, strlen(text)), 0);
}

/* What the head of tests/golden/spellings.txt says. */
static void set_up(void)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{ "bin/curl", "\177ELF what is denied" },
		{ "bin/busybox", "\177ELF a multi-call binary of sorts" },
		{ "copy", "\177ELF what is denied" },
		{ "same-size", "\177ELF what is allowed" },
		{ "bin/plain", "#!/bin/sh\necho curl\n" },
		{ "script", "#!bin/curl -s\n" },
		{ "script-env", "#!/usr/bin/env curl\n" },
		{ "script-split", "#! /usr/bin/env -S A=b curl -s \r\n" },
		{ "script-script", "#!./script-env\n" },
		{ "script-busybox", "#!./box wget\n" },
		{ "script-loop", "#!./script-loop\n" },
		{ "script-long", "#!/bin/sh -c" },
	};
	static const struct {
		const char *path, *target;
	} links[] = {
		{ "soft", "bin/curl" },	      { "softer", "soft" },
		{ "bin/tool", "curl" },	      { "link", "bin" },
		{ "box", "bin/busybox" },     { "bin/wget", "busybox" },
		{ "my-env", "/usr/bin/env" }, { "dangling", "nowhere" },
	};
	size_t i;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(mkdir("bin", 0755), 0);
	for (i = 0; i < KG_ARRAY_LEN(files); i++)
		write_file(files[i].path, files[i].text);
	for (i = 0; i < KG_ARRAY_LEN(links); i++)
		ck_assert_int_eq(symlink(links[i].target, links[i].path), 0);
	ck_assert_int_eq(link("bin/curl", "hard"), 0);
	ck_assert_int_eq(mkfifo("fifo", 0755), 0);
}

static void tear_down(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

static int check_with(const struct kg_check_rule *rules, size_t count,
		      const char *const *argv, struct kg_check_hit *hit,
		      struct kg_error *err)
{
	struct kg_check_rules all = { rules, count, dir };
	char path[64];

	*hit = (struct kg_check_hit){ .rule = SIZE_MAX };
	(void)snprintf(path, sizeof(path), "%s/bin", dir);
	return kg_check_command(&all, (char *const *)(uintptr_t)argv, path, hit,
				err);
}

static int check_argv(const char *const *argv, struct kg_check_hit *hit,
		      struct kg_error *err)
{
	return check_with(denied, KG_ARRAY_LEN(denied), argv, hit, err);
}

static int check_text(const char *text, struct kg_check_hit *hit,
		      struct kg_error *err)
{
	const char *argv[] = { "bash", "-c", text, NULL };

	return check_argv(argv, hit, err);
}

static char *load_table(const char *name)
{
	const char *top = getenv("KG_SRCDIR");
	struct kg_error err = KG_ERROR_INIT;
	kg_auto_close int fd = -1;
	char path[512], *text;
	size_t len;

	(void)snprintf(path, sizeof(path), "%s/tests/golden/%s",
		       top ? top : ".", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s is missing", path);
	ck_assert_int_eq(kg_fd_read_all(fd, MAX_BYTES, &text, &len, &err), 0);
	return text;
}

/* The next line that isn't empty or a comment, with its newlines back. */
static char *next_line(char **table)
{
	char *line, *mark;

	do {
		line = strsep(table, "\n");
	} while (line &&
		 (!*line || strncmp(line, "# ", 2) == 0 ||
		  strcmp(line, "#") == 0 || strncmp(line, "#\t", 2) == 0));
	while (line && (mark = strstr(line, "<NL>"))) {
		*mark = '\n';
		memmove(mark + 1, mark + 4, strlen(mark + 4) + 1);
	}
	return line;
}

START_TEST(stops_at_the_check_what_the_table_says_and_nothing_else)
{
	kg_auto_free char *text = load_table("spellings.txt");
	size_t counts[3] = { 0 };
	char *table = text, *line;

	while ((line = next_line(&table))) {
		static const char *const places[] = { "check", "box", "limit" };
		const char *where = strsep(&line, "\t");
		const char *argv[MAX_WORDS] = { NULL };
		struct kg_error err = KG_ERROR_INIT;
		struct kg_check_hit hit;
		size_t n = 0, place = 0;
		int rc;

		while (place < 3 && strcmp(where, places[place]) != 0)
			place++;
		ck_assert_msg(place < 3, "%s", where);
		counts[place]++;
		while (line && n < MAX_WORDS - 1)
			argv[n++] = strsep(&line, "\t");
		ck_assert_ptr_null(line);
		rc = check_argv(argv, &hit, &err);
		ck_assert_msg((rc != 0) == (place == 0), "%s: %s %s %s: %s",
			      where, argv[0], n > 1 ? argv[1] : "",
			      n > 2 ? argv[n - 1] : "", err.msg);
		if (!rc)
			continue;
		ck_assert_uint_eq(err.code, KG_E_POLICY);
		ck_assert_uint_lt(hit.rule, KG_ARRAY_LEN(denied));
		ck_assert_uint_eq(hit.origin, denied[hit.rule].origin);
		ck_assert_str_eq(hit.text, denied[hit.rule].text);
		ck_assert_ptr_nonnull(strstr(err.msg, hit.text));
	}
	ck_assert_uint_ge(counts[0], 100);
	ck_assert_uint_ge(counts[1], 20);
	ck_assert_uint_ge(counts[2], 4);
}
END_TEST

START_TEST(has_nothing_against_text_that_mentions_a_name)
{
	kg_auto_free char *text = load_table("ordinary.txt");
	char *table = text, *line;
	size_t count = 0;

	while ((line = next_line(&table))) {
		struct kg_error err = KG_ERROR_INIT;
		struct kg_check_hit hit;
		int rc = check_text(line, &hit, &err);

		ck_assert_msg(rc == 0, "%s: %s", line, err.msg);
		ck_assert_uint_eq(err.code, KG_E_NONE);
		ck_assert_uint_eq(hit.rule, SIZE_MAX);
		count++;
	}
	ck_assert_uint_ge(count, 100);
}
END_TEST

/* The same lines with the name where a command stands. */
START_TEST(would_stop_each_of_those_lines_for_a_command_behind_it)
{
	kg_auto_free char *text = load_table("ordinary.txt");
	char *table = text, *line;

	while ((line = next_line(&table))) {
		kg_auto_free char *longer = NULL;
		struct kg_error err = KG_ERROR_INIT;
		struct kg_check_hit hit;

		ck_assert_int_gt(asprintf(&longer, "%s\nsocat x", line), 0);
		ck_assert_msg(check_text(longer, &hit, &err) == -1, "%s",
			      longer);
		ck_assert_str_eq(hit.text, "socat");
	}
}
END_TEST

START_TEST(says_which_program_and_which_rule)
{
	static const struct {
		const char *text, *message;
		size_t rule;
	} rows[] = {
		{ "/usr/bin/wget x",
		  "the command runs '/usr/bin/wget', which deny_exec "
		  "'wget' denies",
		  1 },
		{ "env ./soft",
		  "the command runs './soft', which leads to %s/bin/"
		  "curl, which deny_exec 'curl' denies",
		  0 },
		{ "./hard",
		  "the command runs './hard', the same file as %s/bin/"
		  "curl, which deny_exec 'curl' denies",
		  0 },
		{ "./copy",
		  "the command runs './copy', a copy of %s/bin/curl, "
		  "which deny_exec 'curl' denies",
		  0 },
		{ "perl -e 'exec qw(nc -l)'",
		  "a one-line script mentions 'nc', which deny_exec "
		  "'nc' denies",
		  2 },
		{ "$'cu\\x72l\\1'; n?",
		  "the command runs 'n?', which deny_exec 'nc' denies", 2 },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		struct kg_error err = KG_ERROR_INIT;
		struct kg_check_hit hit;
		char want[256];

		(void)snprintf(want, sizeof(want), "%s", rows[i].message);
		if (strstr(rows[i].message, "%s")) {
			const char *at = strstr(rows[i].message, "%s");

			(void)snprintf(want, sizeof(want), "%.*s%s%s",
				       (int)(at - rows[i].message),
				       rows[i].message, dir, at + 2);
		}
		ck_assert_int_eq(check_text(rows[i].text, &hit, &err), -1);
		ck_assert_str_eq(err.msg, want);
		ck_assert_uint_eq(hit.rule, rows[i].rule);
	}
}
END_TEST

START_TEST(lets_other_files_run)
{
	static const char *const lines[][4] = {
		{ "./same-size" },
		{ "./fifo" },
		{ "./dangling" },
		{ "./nowhere" },
		{ "./box", "ls" },
		{ "plain", "curl" },
		{ "bin" },
		{ "." },
		{ "" },
		{ "./script-loop" },
		{ "./script-long" },
		{ "busybox" },
		{ "-" },
		{ "/" },
		{ "env" },
		{ "sh", "-c" },
		{ "./bin/busybox" },
		{ "sh", "-c", "bin/* curl" },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(lines); i++) {
		const char *argv[] = { lines[i][0], lines[i][1], lines[i][2],
				       NULL };
		struct kg_error err = KG_ERROR_INIT;
		struct kg_check_hit hit;

		ck_assert_msg(check_argv(argv, &hit, &err) == 0, "%s: %s",
			      argv[0], err.msg);
	}
}
END_TEST

START_TEST(follows_a_wrapper_under_another_name)
{
	struct kg_error err = KG_ERROR_INIT;
	struct kg_check_hit hit;
	const char *argv[] = { "./my-env", "-i", "curl", NULL };

	ck_assert_int_eq(check_argv(argv, &hit, &err), -1);
	ck_assert_str_eq(hit.text, "curl");
}
END_TEST

START_TEST(takes_a_rule_with_a_slash_for_a_path)
{
	static const struct {
		const char *rule, *argv0;
		bool denied;
	} rows[] = {
		{ "/opt/x/tool", "/opt/x/tool", true },
		{ "/opt/x/tool", "tool", false },
		{ "/opt/x/tool", "/opt/y/tool", false },
		{ "~/bin/curl", "bin/curl", true },
		{ "~/bin/curl", "./copy", true },
		{ "~/bin/curl", "./same-size", false },
		{ "~/bin/plain", "plain", true },
		{ "~/bin/busybox", "./box", false },
		{ "plain", "bin/plain", true },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		struct kg_check_rule rule = { rows[i].rule, 1 };
		const char *argv[] = { (char *)(uintptr_t)rows[i].argv0, NULL };
		struct kg_error err = KG_ERROR_INIT;
		struct kg_check_hit hit;
		int rc = check_with(&rule, 1, argv, &hit, &err);

		ck_assert_msg((rc == -1) == rows[i].denied, "%s %s",
			      rows[i].rule, rows[i].argv0);
	}
}
END_TEST

START_TEST(denies_nothing_without_rules)
{
	struct kg_error err = KG_ERROR_INIT;
	struct kg_check_hit hit;
	const char *argv[] = { "curl", NULL };

	ck_assert_int_eq(check_with(NULL, 0, argv, &hit, &err), 0);
}
END_TEST

/* @times before, then @tail. */
static char *repeat(const char *before, size_t times, const char *tail)
{
	size_t len = strlen(before);
	char *text = malloc(len * times + strlen(tail) + 1);

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < times; i++)
		memcpy(text + len * i, before, len);
	(void)strcpy(text + len * times, tail);
	return text;
}

START_TEST(refuses_what_is_nested_beyond_reading)
{
	static const struct {
		const char *before, *tail;
		size_t fine, much;
	} rows[] = {
		{ "env ", "true", 50, 100 },
		{ "eval ", "true", 20, 100 },
		{ "$(", "true", 60, 70 },
		{ "PAGER=", "true", 60, 2000 },
		{ "eval PAGER=", "true", 20, 200000 },
		{ ":;", "true", 1000, 70000 },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		kg_auto_free char *fine = NULL;
		kg_auto_free char *much = NULL;
		struct kg_error err = KG_ERROR_INIT;
		struct kg_check_hit hit;

		fine = repeat(rows[i].before, rows[i].fine, rows[i].tail);
		much = repeat(rows[i].before, rows[i].much, rows[i].tail);
		ck_assert_msg(check_text(fine, &hit, &err) == 0, "%s: %s",
			      rows[i].before, err.msg);
		ck_assert_msg(check_text(much, &hit, &err) == -1, "%s",
			      rows[i].before);
		ck_assert_uint_eq(err.code, KG_E_LIMIT);
	}
}
END_TEST

START_TEST(counts_depth_and_bytes_and_not_commands)
{
	kg_auto_free char *many = repeat("eval :; env true; ", 200, "");
	kg_auto_free char *long_word = repeat("x", 300000, "");
	kg_auto_free char *heavy = repeat("eval ", 20, long_word);
	struct kg_error err = KG_ERROR_INIT;
	struct kg_check_hit hit;

	ck_assert_msg(check_text(many, &hit, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(check_text(heavy, &hit, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_LIMIT);
}
END_TEST

START_TEST(knows_a_multi_call_binary_by_name_and_by_what_it_says)
{
	kg_auto_free char *big = NULL;
	size_t i;

	ck_assert(kg_program_is_multicall("box"));
	ck_assert(kg_program_is_multicall("bin/wget"));
	ck_assert(!kg_program_is_multicall("bin/curl"));
	ck_assert(!kg_program_is_multicall("fifo"));
	ck_assert(!kg_program_is_multicall("nowhere"));
	ck_assert_int_eq(rename("bin/busybox", "other"), 0);
	ck_assert(kg_program_is_multicall("other"));
	/* Wherever a chunk ends. */
	for (i = 65536 - 40; i < 65536 + 4; i++) {
		free(kg_take_ptr(big));
		big = repeat("x", i, "multicall binary");
		write_file("big", big);
		ck_assert_msg(kg_program_is_multicall("big"), "%zu", i);
	}
}
END_TEST

START_TEST(compares_whole_files)
{
	static const struct kg_check_rule rule = { "~/big", 1 };
	kg_auto_free char *big = repeat("x", 200000, "y");
	const char *argv[] = { "./other", NULL };
	struct kg_error err = KG_ERROR_INIT;
	struct kg_check_hit hit;

	write_file("big", big);
	write_file("other", big);
	ck_assert_int_eq(check_with(&rule, 1, argv, &hit, &err), -1);
	big[200000] = 'z';
	write_file("other", big);
	ck_assert_int_eq(check_with(&rule, 1, argv, &hit, &err), 0);
}
END_TEST

START_TEST(finds_rows_by_name_pattern_and_version)
{
	static const struct {
		const char *name, *same;
	} rows[] = {
		{ "python3.12", "python" },
		{ "perl5.36.0", "perl" },
		{ "guile-3.0", "guile" },
		{ "lua5.4", "lua" },
		{ "busybox.static", "busybox" },
		{ "ld-linux-x86-64.so.2", "ld.so" },
		{ "x86_64", "setarch" },
		{ "zsh-5.9", "bash" },
	};
	static const char *const none[] = { "",	  "pythonic", "envy", "3",
					    "x-", "--",	      "*",    "?" };
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		ck_assert_ptr_nonnull(kg_wrapper_find(rows[i].name));
		ck_assert_ptr_eq(kg_wrapper_find(rows[i].name),
				 kg_wrapper_find(rows[i].same));
	}
	for (i = 0; i < KG_ARRAY_LEN(none); i++)
		ck_assert_msg(!kg_wrapper_find(none[i]), "%s", none[i]);
}
END_TEST

START_TEST(reads_options_whole_or_abbreviated)
{
	const struct kg_wrapper *env = kg_wrapper_find("env");
	const struct kg_wrapper *find = kg_wrapper_find("find");

	ck_assert_int_eq(kg_wrapper_option(env, "S", 1), KG_WRAPPER_SPLIT);
	ck_assert_int_eq(kg_wrapper_option(env, "split-string", 12),
			 KG_WRAPPER_SPLIT);
	ck_assert_int_eq(kg_wrapper_option(env, "spl", 3), KG_WRAPPER_SPLIT);
	ck_assert_int_eq(kg_wrapper_option(env, "i", 1), KG_WRAPPER_PLAIN);
	ck_assert_int_eq(kg_wrapper_option(env, "unsettle", 8),
			 KG_WRAPPER_PLAIN);
	ck_assert_int_eq(kg_wrapper_option(find, "execdir", 7),
			 KG_WRAPPER_UNTIL);
	ck_assert_int_eq(kg_wrapper_option(find, "name", 4), KG_WRAPPER_PLAIN);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *suite = suite_create("check");
	TCase *table = tcase_create("table");
	TCase *pure = tcase_create("pure");

	tcase_add_checked_fixture(table, set_up, tear_down);
	tcase_add_test(table,
		       stops_at_the_check_what_the_table_says_and_nothing_else);
	tcase_add_test(table, has_nothing_against_text_that_mentions_a_name);
	tcase_add_test(table,
		       would_stop_each_of_those_lines_for_a_command_behind_it);
	tcase_add_test(table, says_which_program_and_which_rule);
	tcase_add_test(table, lets_other_files_run);
	tcase_add_test(table, follows_a_wrapper_under_another_name);
	tcase_add_test(table, takes_a_rule_with_a_slash_for_a_path);
	tcase_add_test(table, denies_nothing_without_rules);
	tcase_add_test(table, refuses_what_is_nested_beyond_reading);
	tcase_add_test(table, counts_depth_and_bytes_and_not_commands);
	tcase_add_test(table,
		       knows_a_multi_call_binary_by_name_and_by_what_it_says);
	tcase_add_test(table, compares_whole_files);
	suite_add_tcase(suite, table);
	tcase_add_test(pure, finds_rows_by_name_pattern_and_version);
	tcase_add_test(pure, reads_options_whole_or_abbreviated);
	suite_add_tcase(suite, pure);
	return suite;
}
