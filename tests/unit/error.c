/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/error.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/util.h"

Suite *kg_suite(void);

static struct kg_error err;

static void start_dirty(void)
{
	memset(&err, 0xa5, sizeof(err));
}

/* Text of a length that no message has room for. */
static const char *long_text(void)
{
	static char text[2 * KG_ERROR_MSG_BYTES];

	memset(text, 'x', sizeof(text) - 1);
	return text;
}

static bool is_marked_as_cut(void)
{
	return strlen(err.msg) == KG_ERROR_MSG_BYTES - 1 &&
	       strcmp(err.msg + KG_ERROR_MSG_BYTES - 4, "...") == 0;
}

START_TEST(says_what_was_attempted_and_why_it_failed)
{
	ck_assert_int_eq(kg_fail(&err, KG_E_NETNS, ENOENT, "open %s", "/dev/x"),
			 -1);
	ck_assert_uint_eq(err.code, KG_E_NETNS);
	ck_assert_int_eq(err.errnum, ENOENT);
	ck_assert_str_eq(err.msg, "open /dev/x: No such file or directory");
}
END_TEST

START_TEST(appends_nothing_without_errno)
{
	ck_assert_int_eq(kg_fail(&err, KG_E_USAGE, 0, "no command"), -1);
	ck_assert_int_eq(err.errnum, 0);
	ck_assert_str_eq(err.msg, "no command");
}
END_TEST

START_TEST(takes_errno_of_the_failed_call)
{
	errno = EACCES;
	ck_assert_int_eq(kg_fail_system(&err, "read %d", 7), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_int_eq(err.errnum, EACCES);
	ck_assert_str_eq(err.msg, "read 7: Permission denied");
}
END_TEST

/* Such an error is sent as bytes: nothing old may travel with it. */
START_TEST(leaves_no_old_bytes_behind_the_message)
{
	size_t i;

	(void)kg_fail(&err, KG_E_USAGE, 0, "x");
	for (i = 1; i < sizeof(err.msg); i++)
		ck_assert_int_eq(err.msg[i], 0);
}
END_TEST

START_TEST(shows_that_a_message_was_cut)
{
	(void)kg_fail(&err, KG_E_USAGE, 0, "%s", long_text());
	ck_assert(is_marked_as_cut());
}
END_TEST

START_TEST(shows_that_the_reason_was_cut)
{
	(void)kg_fail(&err, KG_E_USAGE, ENOENT, "%.*s", KG_ERROR_MSG_BYTES - 10,
		      long_text());
	ck_assert(is_marked_as_cut());
}
END_TEST

START_TEST(keeps_a_message_whole_that_just_fits)
{
	(void)kg_fail(&err, KG_E_USAGE, 0, "%.*s", KG_ERROR_MSG_BYTES - 1,
		      long_text());
	ck_assert_uint_eq(strlen(err.msg), KG_ERROR_MSG_BYTES - 1);
	ck_assert_ptr_null(strchr(err.msg, '.'));
}
END_TEST

START_TEST(puts_the_callers_view_in_front)
{
	(void)kg_fail(&err, KG_E_NETNS, EPERM, "set tap0 up");
	ck_assert_int_eq(kg_fail_while(&err, "start %s", "the gate"), -1);
	ck_assert_str_eq(
		err.msg,
		"start the gate: set tap0 up: Operation not permitted");
	ck_assert_uint_eq(err.code, KG_E_NETNS);
	ck_assert_int_eq(err.errnum, EPERM);
}
END_TEST

START_TEST(shows_that_context_was_cut)
{
	(void)kg_fail(&err, KG_E_NETNS, 0, "%.300s", long_text());
	(void)kg_fail_while(&err, "%.300s", long_text());
	ck_assert(is_marked_as_cut());
}
END_TEST

START_TEST(makes_a_peers_bytes_printable)
{
	struct kg_error sent;

	memset(&sent, 0x1b, sizeof(sent));
	sent.code = KG_E_COUNT + 7;
	kg_error_from_peer(&err, &sent);

	ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
	ck_assert_uint_eq(strlen(err.msg), KG_ERROR_MSG_BYTES - 1);
	ck_assert_uint_eq(strspn(err.msg, "?"), KG_ERROR_MSG_BYTES - 1);
}
END_TEST

START_TEST(passes_a_peers_plain_words_on)
{
	struct kg_error sent = KG_ERROR_INIT;

	(void)kg_fail(&sent, KG_E_RESOLVE, 0, "host ~a~ has no address");
	kg_error_from_peer(&err, &sent);
	ck_assert_mem_eq(&err, &sent, sizeof(err));
}
END_TEST

/* A failure that claims to be none must not end in status 0. */
START_TEST(turns_a_peers_success_into_a_failure)
{
	struct kg_error sent = KG_ERROR_INIT;

	kg_error_from_peer(&err, &sent);
	ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
}
END_TEST

/* Second entry of the books for EXIT STATUS in README.md. */
START_TEST(has_the_documented_exit_statuses)
{
	static const int reviewed[KG_E_COUNT] = {
		[KG_E_USAGE] = 125,   [KG_E_CONFIG] = 125,
		[KG_E_POLICY] = 126,  [KG_E_BACKEND] = 125,
		[KG_E_AUDIT] = 125,   [KG_E_LIMIT] = 125,
		[KG_E_TIMEOUT] = 125, [KG_E_PROTOCOL] = 125,
		[KG_E_SANDBOX] = 125, [KG_E_NETNS] = 125,
		[KG_E_RESOLVE] = 125, [KG_E_NOEXEC] = 126,
		[KG_E_NOENT] = 127,   [KG_E_SYSTEM] = 125,
	};
	size_t i;

	for (i = KG_E_NONE + 1; i < KG_ARRAY_LEN(reviewed); i++) {
		err.code = (uint32_t)i;
		ck_assert_int_eq(kg_error_exit_status(&err), reviewed[i]);
	}
	err.code = KG_E_COUNT;
	ck_assert_int_eq(kg_error_exit_status(&err), 125);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/error");
	TCase *tc = tcase_create("error");

	tcase_add_checked_fixture(tc, start_dirty, NULL);
	tcase_add_test(tc, says_what_was_attempted_and_why_it_failed);
	tcase_add_test(tc, appends_nothing_without_errno);
	tcase_add_test(tc, takes_errno_of_the_failed_call);
	tcase_add_test(tc, leaves_no_old_bytes_behind_the_message);
	tcase_add_test(tc, shows_that_a_message_was_cut);
	tcase_add_test(tc, shows_that_the_reason_was_cut);
	tcase_add_test(tc, keeps_a_message_whole_that_just_fits);
	tcase_add_test(tc, puts_the_callers_view_in_front);
	tcase_add_test(tc, shows_that_context_was_cut);
	tcase_add_test(tc, makes_a_peers_bytes_printable);
	tcase_add_test(tc, passes_a_peers_plain_words_on);
	tcase_add_test(tc, turns_a_peers_success_into_a_failure);
	tcase_add_test(tc, has_the_documented_exit_statuses);
	suite_add_tcase(s, tc);
	return s;
}
