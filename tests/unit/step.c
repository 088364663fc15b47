/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/step.h"

#include <check.h>
#include <string.h>

#define MS UINT64_C(1000000)

Suite *kg_suite(void);

START_TEST(names_each_step_once)
{
	int a, b;

	for (a = 0; a < KG_STEP_COUNT; a++) {
		ck_assert_ptr_nonnull(kg_step_name((enum kg_step)a));
		for (b = 0; b < a; b++)
			ck_assert_str_ne(kg_step_name((enum kg_step)a),
					 kg_step_name((enum kg_step)b));
	}
}
END_TEST

START_TEST(bounds_and_names_each_wait)
{
	int w;

	for (w = 0; w < KG_WAIT_COUNT; w++) {
		ck_assert_int_gt(kg_wait_ms((enum kg_wait)w), 0);
		ck_assert_int_le(kg_wait_ms((enum kg_wait)w), 120000);
		ck_assert_ptr_nonnull(kg_wait_name((enum kg_wait)w));
	}
}
END_TEST

/* The supervisor must not give up before the worker could name the step. */
START_TEST(lets_a_step_time_out_before_the_launch_does)
{
	static const enum kg_wait inner[] = {
		KG_WAIT_INFO, KG_WAIT_ENTRY, KG_WAIT_RULES,  KG_WAIT_SLIRP,
		KG_WAIT_LINK, KG_WAIT_HOSTS, KG_WAIT_COMMIT, KG_WAIT_STARTED,
	};
	size_t i;

	for (i = 0; i < sizeof(inner) / sizeof(inner[0]); i++)
		ck_assert_int_lt(kg_wait_ms(inner[i]),
				 kg_wait_ms(KG_WAIT_LAUNCH));
}
END_TEST

/* A lock that nobody lets go of is told within two seconds. */
START_TEST(gives_the_audit_lock_less_than_two_seconds)
{
	ck_assert_int_lt(kg_wait_ms(KG_WAIT_LOCK), 2000);
}
END_TEST

/* --timeout in README.md: KILL follows TERM after five seconds. */
START_TEST(kills_five_seconds_after_term)
{
	ck_assert_int_eq(kg_wait_ms(KG_WAIT_GRACE), 5000);
}
END_TEST

START_TEST(counts_a_wait_from_its_begin)
{
	int whole = kg_wait_ms(KG_WAIT_INFO);
	uint64_t now_ns = kg_now_ns();
	int left;

	left = kg_deadline_ms(now_ns, KG_WAIT_INFO);
	ck_assert_int_le(left, whole);
	ck_assert_int_gt(left, whole - 1000);

	left = kg_deadline_ms(now_ns - 2000 * MS, KG_WAIT_INFO);
	ck_assert_int_le(left, whole - 2000);
	ck_assert_int_gt(left, whole - 3000);
}
END_TEST

START_TEST(leaves_nothing_of_a_wait_that_is_over)
{
	uint64_t whole_ns = (uint64_t)kg_wait_ms(KG_WAIT_INFO) * MS;
	uint64_t now_ns = kg_now_ns();

	ck_assert_int_eq(kg_deadline_ms(now_ns - whole_ns, KG_WAIT_INFO), 0);
}
END_TEST

START_TEST(has_a_clock_that_never_goes_back)
{
	uint64_t last_ns = kg_now_ns(), now_ns;
	int i;

	for (i = 0; i < 1000; i++) {
		now_ns = kg_now_ns();
		ck_assert_uint_ge(now_ns, last_ns);
		last_ns = now_ns;
	}
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/step");
	TCase *tc = tcase_create("step");

	tcase_add_test(tc, names_each_step_once);
	tcase_add_test(tc, bounds_and_names_each_wait);
	tcase_add_test(tc, lets_a_step_time_out_before_the_launch_does);
	tcase_add_test(tc, gives_the_audit_lock_less_than_two_seconds);
	tcase_add_test(tc, kills_five_seconds_after_term);
	tcase_add_test(tc, counts_a_wait_from_its_begin);
	tcase_add_test(tc, leaves_nothing_of_a_wait_that_is_over);
	tcase_add_test(tc, has_a_clock_that_never_goes_back);
	suite_add_tcase(s, tc);
	return s;
}
