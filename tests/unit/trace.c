/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/trace.h"

#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/scoped.h"

Suite *kg_suite(void);

#define MS UINT64_C(1000000)

static char text[8192];

/* What kg_trace_print() writes to standard error. */
static const char *print(const struct kg_trace *trace)
{
	int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
	struct kg_error err = KG_ERROR_INIT;
	kg_auto_free char *all = NULL;
	size_t len;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	kg_trace_print(trace);
	ck_assert_int_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	ck_assert_int_eq(
		kg_fd_read_all(ends[0], sizeof(text) - 1, &all, &len, &err), 0);
	close(ends[0]);
	memcpy(text, all, len + 1);
	return text;
}

/* Each step with the time since the start and since the step before it. */
START_TEST(prints_the_steps_in_order_of_time)
{
	struct kg_trace trace = KG_TRACE_INIT;

	kg_trace_put(&trace, KG_STEP_START, 1000 * MS);
	kg_trace_put(&trace, KG_STEP_GO, 1020 * MS);
	kg_trace_put(&trace, KG_STEP_POLICY, 1001 * MS + 500);
	kg_trace_put(&trace, KG_STEP_SYNCED, 1012 * MS);
	kg_trace_put(&trace, KG_STEP_ENTRY, 1010 * MS);
	ck_assert_str_eq(print(&trace),
			 "kgate:    1.000 ms  +  1.000  policy merged\n"
			 "kgate:   10.000 ms  +  8.999  box made\n"
			 "kgate:   12.000 ms  +  2.000  audit line on disk\n"
			 "kgate:   20.000 ms  +  8.000  released\n");
}
END_TEST

START_TEST(prints_nothing_where_nothing_was_reached)
{
	struct kg_trace trace = KG_TRACE_INIT;

	ck_assert_str_eq(print(&trace), "");
	kg_trace_put(&trace, KG_STEP_START, 1000 * MS);
	ck_assert_str_eq(print(&trace), "");
}
END_TEST

/* A worker may lie about the time; the supervisor mustn't hang on it. */
START_TEST(is_not_led_astray_by_a_time_before_the_start)
{
	struct kg_trace trace = KG_TRACE_INIT;

	kg_trace_put(&trace, KG_STEP_START, 1000 * MS);
	kg_trace_put(&trace, KG_STEP_ENTRY, 1);
	kg_trace_put(&trace, KG_STEP_RULES, UINT64_MAX);
	(void)print(&trace);
	ck_assert_ptr_null(strstr(text, "box made"));
	ck_assert_ptr_nonnull(strstr(text, "firewall closed"));
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}
END_TEST

START_TEST(prints_two_steps_of_the_same_time)
{
	struct kg_trace trace = KG_TRACE_INIT;

	kg_trace_put(&trace, KG_STEP_START, 1000 * MS);
	kg_trace_put(&trace, KG_STEP_LINK, 1001 * MS);
	kg_trace_put(&trace, KG_STEP_SLIRP, 1001 * MS);
	kg_trace_put(&trace, KG_STEP_POLICY, 1000 * MS);
	ck_assert_str_eq(print(&trace),
			 "kgate:    0.000 ms  +  0.000  policy merged\n"
			 "kgate:    1.000 ms  +  1.000  slirp4netns ready\n"
			 "kgate:    1.000 ms  +  0.000  link up\n");
}
END_TEST

START_TEST(prints_each_step_once)
{
	struct kg_trace trace = KG_TRACE_INIT;
	const char *p;
	int step, lines = 0;

	for (step = 0; step < KG_STEP_COUNT; step++)
		kg_trace_put(&trace, (enum kg_step)step,
			     (1000 + (uint64_t)(KG_STEP_COUNT - step)) * MS);
	kg_trace_put(&trace, KG_STEP_START, 1000 * MS);
	(void)print(&trace);
	for (p = text; (p = strchr(p, '\n')); p++)
		lines++;
	ck_assert_int_eq(lines, KG_STEP_COUNT - 1);
	for (step = 1; step < KG_STEP_COUNT; step++)
		ck_assert_ptr_nonnull(
			strstr(text, kg_step_name((enum kg_step)step)));
}
END_TEST

START_TEST(marks_a_step_with_the_time_of_now)
{
	struct kg_trace trace = KG_TRACE_INIT;
	uint64_t before_ns = kg_now_ns(), after_ns;

	kg_trace_mark(&trace, KG_STEP_LINK);
	after_ns = kg_now_ns();
	ck_assert_uint_ge(trace.at_ns[KG_STEP_LINK], before_ns);
	ck_assert_uint_le(trace.at_ns[KG_STEP_LINK], after_ns);
	ck_assert_uint_eq(trace.at_ns[KG_STEP_HOSTS], 0);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("supervisor/trace");
	TCase *tc = tcase_create("trace");

	tcase_add_test(tc, prints_the_steps_in_order_of_time);
	tcase_add_test(tc, prints_nothing_where_nothing_was_reached);
	tcase_add_test(tc, is_not_led_astray_by_a_time_before_the_start);
	tcase_add_test(tc, prints_two_steps_of_the_same_time);
	tcase_add_test(tc, prints_each_step_once);
	tcase_add_test(tc, marks_a_step_with_the_time_of_now);
	suite_add_tcase(s, tc);
	return s;
}
