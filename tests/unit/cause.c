/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/cause.h"

#include <check.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

Suite *kg_suite(void);

START_TEST(has_a_sentence_and_a_next_step_for_each_cause)
{
	const struct kg_cause_row *row;
	int c;

	for (c = 0; c < KG_CAUSE_COUNT; c++) {
		row = kg_cause_row((enum kg_cause)c);
		ck_assert_ptr_nonnull(row->sentence);
		ck_assert_ptr_nonnull(row->next);
		ck_assert_uint_gt(strlen(row->sentence), 10);
		ck_assert_uint_gt(strlen(row->next), 10);
	}
}
END_TEST

/* They become parts of one line: see kg_cause_fail(). */
START_TEST(has_no_full_stop_or_newline_in_a_row)
{
	const struct kg_cause_row *row;
	int c;

	for (c = 0; c < KG_CAUSE_COUNT; c++) {
		row = kg_cause_row((enum kg_cause)c);
		ck_assert_ptr_null(strchr(row->sentence, '\n'));
		ck_assert_ptr_null(strchr(row->next, '\n'));
		ck_assert_int_ne(row->sentence[strlen(row->sentence) - 1], '.');
		ck_assert_int_ne(row->next[strlen(row->next) - 1], '.');
		ck_assert(!isupper((unsigned char)row->sentence[0]));
	}
}
END_TEST

START_TEST(tells_no_two_causes_by_one_sentence)
{
	int a, b;

	for (a = 0; a < KG_CAUSE_COUNT; a++)
		for (b = 0; b < a; b++)
			ck_assert_str_ne(
				kg_cause_row((enum kg_cause)a)->sentence,
				kg_cause_row((enum kg_cause)b)->sentence);
}
END_TEST

START_TEST(names_what_was_found_and_why_it_failed)
{
	const struct kg_cause_row *row = kg_cause_row(KG_CAUSE_TUN);
	struct kg_error err = KG_ERROR_INIT;
	char want[KG_ERROR_MSG_BYTES];

	ck_assert_int_eq(kg_cause_fail(&err, KG_CAUSE_TUN, EACCES,
				       "/dev/net/tun, mode 0600"),
			 -1);
	(void)snprintf(want, sizeof(want),
		       "%s (/dev/net/tun, mode 0600): Permission denied; %s",
		       row->sentence, row->next);
	ck_assert_uint_eq(err.code, KG_E_BACKEND);
	ck_assert_str_eq(err.msg, want);
}
END_TEST

START_TEST(leaves_out_what_is_not_known)
{
	const struct kg_cause_row *row = kg_cause_row(KG_CAUSE_NESTED);
	struct kg_error err = KG_ERROR_INIT;
	char want[KG_ERROR_MSG_BYTES];

	(void)kg_cause_fail(&err, KG_CAUSE_NESTED, 0, NULL);
	(void)snprintf(want, sizeof(want), "%s; %s", row->sentence, row->next);
	ck_assert_str_eq(err.msg, want);
}
END_TEST

/* The next step is what a user needs most: it must survive a long path. */
START_TEST(fits_every_row_into_a_message)
{
	struct kg_error err = KG_ERROR_INIT;
	const char *next;
	int c;

	for (c = 0; c < KG_CAUSE_COUNT; c++) {
		next = kg_cause_row((enum kg_cause)c)->next;
		(void)kg_cause_fail(&err, (enum kg_cause)c, EACCES,
				    "/usr/local/libexec/kgate/kgate-entry");
		ck_assert_uint_gt(strlen(err.msg), strlen(next));
		ck_assert_str_eq(err.msg + strlen(err.msg) - strlen(next),
				 next);
	}
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/cause");
	TCase *tc = tcase_create("cause");

	tcase_add_test(tc, has_a_sentence_and_a_next_step_for_each_cause);
	tcase_add_test(tc, has_no_full_stop_or_newline_in_a_row);
	tcase_add_test(tc, tells_no_two_causes_by_one_sentence);
	tcase_add_test(tc, names_what_was_found_and_why_it_failed);
	tcase_add_test(tc, leaves_out_what_is_not_known);
	tcase_add_test(tc, fits_every_row_into_a_message);
	suite_add_tcase(s, tc);
	return s;
}
