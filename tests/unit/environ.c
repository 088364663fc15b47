/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/environ.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/util.h"

Suite *kg_suite(void);

#define HOME	"/home/ann"
#define PROJECT "/home/ann/project"

static struct kg_error err;
static char **list;

static void forget_list(void)
{
	kg_environ_free(list);
	list = NULL;
}

static void build(const char *const *from)
{
	ck_assert_int_eq(kg_environ_build((char *const *)from, HOME, PROJECT,
					  &list, &err),
			 0);
}

static size_t count(const char *entry)
{
	size_t i, n = 0;

	for (i = 0; list[i]; i++)
		n += strcmp(list[i], entry) == 0;
	return n;
}

static size_t length(void)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

/* The list of the manual, once more: a wider one shows up twice. */
static const char *const passed[] = {
	"PATH=/usr/bin:/bin",
	"USER=ann",
	"LOGNAME=ann",
	"SHELL=/bin/sh",
	"LANG=de_DE.UTF-8",
	"LC_ALL=C",
	"LC_CTYPE=C.UTF-8",
	"LC_X=",
	"TZ=Europe/Berlin",
	"TERM=xterm",
	"COLORTERM=truecolor",
	"NO_COLOR=1",
	"CI=true",
	NULL,
};

START_TEST(passes_what_is_on_the_list)
{
	size_t i;

	build(passed);
	for (i = 0; passed[i]; i++)
		ck_assert_msg(count(passed[i]) == 1, "%s", passed[i]);
	ck_assert_uint_eq(count("HOME=" HOME), 1);
	ck_assert_uint_eq(count("PWD=" PROJECT), 1);
	ck_assert_uint_eq(length(), KG_ARRAY_LEN(passed) - 1 + 2);
}
END_TEST

START_TEST(passes_nothing_else)
{
	static const char *const others[] = {
		"LD_PRELOAD=/x.so",
		"LD_LIBRARY_PATH=/x",
		"BASH_ENV=/x",
		"ENV=/x",
		"IFS=x",
		"GITHUB_TOKEN=secret",
		"AWS_SECRET_ACCESS_KEY=secret",
		"SSH_AUTH_SOCK=/x",
		"DBUS_SESSION_BUS_ADDRESS=unix:path=/x",
		"XDG_RUNTIME_DIR=/x",
		"DISPLAY=:0",
		"OLDPWD=/x",
		"MAIL=/x",
		"EDITOR=vi",
		"PATHS=/x",
		"MYPATH=/x",
		"path=/x",
		"Path=/x",
		"LANGUAGE=de",
		"LC=x",
		"LCALL=x",
		"lc_all=C",
		"USERNAME=ann",
		"TERMCAP=x",
		"TERMINFO=/x",
		"TZDIR=/x",
		"CI_JOB_TOKEN=secret",
		"NO_COLORS=1",
		"SHELLOPTS=xtrace",
		" PATH=/x",
		"=PATH=/x",
		NULL,
	};

	build(others);
	ck_assert_uint_eq(length(), 2);
	ck_assert_str_eq(list[0], "HOME=" HOME);
	ck_assert_str_eq(list[1], "PWD=" PROJECT);
}
END_TEST

START_TEST(passes_no_word_without_a_value)
{
	static const char *const words[] = { "PATH",   "LC_ALL", "LC_",	 "TERM",
					     "",       "=",	 "HOME", "PWD",
					     "secret", NULL };

	build(words);
	ck_assert_uint_eq(length(), 2);
}
END_TEST

START_TEST(passes_an_empty_value_and_one_with_signs)
{
	static const char *const odd[] = { "LANG=", "TERM==", "LC_A==B",
					   "PATH=\x01\xff\n", NULL };
	size_t i;

	build(odd);
	for (i = 0; odd[i]; i++)
		ck_assert_uint_eq(count(odd[i]), 1);
	ck_assert_uint_eq(length(), 6);
}
END_TEST

/* HOME and PWD are given, whatever the caller's say and how often. */
START_TEST(gives_home_and_pwd_once)
{
	static const char *const twice[] = { "HOME=/root", "PWD=/root",
					     "HOME=/x", "PWD=/x", NULL };

	build(twice);
	ck_assert_uint_eq(length(), 2);
	ck_assert_uint_eq(count("HOME=" HOME), 1);
	ck_assert_uint_eq(count("PWD=" PROJECT), 1);
}
END_TEST

/* Which of two counts is the reader's choice, in the box as outside. */
START_TEST(keeps_duplicates_in_their_order)
{
	static const char *const twice[] = { "TERM=a", "LC_ALL=x", "TERM=b",
					     NULL };

	build(twice);
	ck_assert_uint_eq(length(), 5);
	ck_assert_str_eq(list[2], "TERM=a");
	ck_assert_str_eq(list[3], "LC_ALL=x");
	ck_assert_str_eq(list[4], "TERM=b");
}
END_TEST

START_TEST(copes_with_an_empty_environment)
{
	static const char *const none[] = { NULL };

	build(none);
	ck_assert_uint_eq(length(), 2);
	kg_environ_free(NULL);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("supervisor/environ");
	TCase *tc = tcase_create("environ");

	tcase_add_checked_fixture(tc, NULL, forget_list);
	tcase_add_test(tc, passes_what_is_on_the_list);
	tcase_add_test(tc, passes_nothing_else);
	tcase_add_test(tc, passes_no_word_without_a_value);
	tcase_add_test(tc, passes_an_empty_value_and_one_with_signs);
	tcase_add_test(tc, gives_home_and_pwd_once);
	tcase_add_test(tc, keeps_duplicates_in_their_order);
	tcase_add_test(tc, copes_with_an_empty_environment);
	suite_add_tcase(s, tc);
	return s;
}
