/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/policy.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "common/util.h"

Suite *kg_suite(void);

static const struct kg_origin flag = {
	.kind = KG_ORIGIN_FLAG,
	.file = "--allow-path",
};

static struct kg_host host_of(const char *text)
{
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host host;

	ck_assert_int_eq(kg_host_parse(text, strlen(text), &host, &err), 0);
	return host;
}

START_TEST(begins_restricted_without_hosts)
{
	struct kg_policy policy = KG_POLICY_INIT;

	ck_assert_int_eq(policy.network, KG_NETWORK_RESTRICTED);
	ck_assert_int_eq(policy.network_origin.kind, KG_ORIGIN_DEFAULT);
	ck_assert(!kg_policy_has_network_box(&policy));
	kg_policy_done(&policy);
	kg_policy_done(&policy); /* twice is harmless */
}
END_TEST

START_TEST(keeps_entries_in_order_with_their_origins)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;
	struct kg_origin origin = { KG_ORIGIN_FILE, NULL, 0, 3 };
	struct kg_host host;
	char text[32];
	unsigned i;

	for (i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "h%u.test", i);
		host = host_of(text);
		origin.line = i + 1;
		origin.file = kg_policy_add_file(&policy, text, &err);
		ck_assert_pstr_eq(origin.file, text);
		ck_assert_int_eq(
			kg_policy_add_host(&policy, &host, &origin, &err), 0);
		ck_assert_int_eq(
			kg_policy_add_path(&policy, text, i & 1, &flag, &err),
			0);
	}
	ck_assert_uint_eq(policy.host_count, 100);
	ck_assert_uint_eq(policy.path_count, 100);
	ck_assert_uint_eq(policy.file_count, 100);
	for (i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "h%u.test", i);
		ck_assert_str_eq(policy.hosts[i].host.name, text);
		ck_assert_uint_eq(policy.hosts[i].origin.line, i + 1);
		ck_assert_str_eq(policy.hosts[i].origin.file, text);
		ck_assert_str_eq(policy.paths[i].text, text);
		ck_assert_ptr_null(policy.paths[i].real);
		ck_assert_int_eq(policy.paths[i].writable, i & 1);
		ck_assert_str_eq(policy.files[i], text);
	}
	ck_assert(kg_policy_has_network_box(&policy));
	kg_policy_done(&policy);
	ck_assert_uint_eq(policy.host_count, 0);
	ck_assert_ptr_null(policy.hosts);
}
END_TEST

START_TEST(refuses_one_entry_too_many)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host host = host_of("a.test");
	size_t i;

	for (i = 0; i < 20000; i++)
		ck_assert_int_eq(
			kg_policy_add_host(&policy, &host, &flag, &err), 0);
	ck_assert_int_eq(kg_policy_add_host(&policy, &host, &flag, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_LIMIT);
	ck_assert_str_eq(err.msg, "more than 20000 hosts");
	ck_assert_uint_eq(policy.host_count, 20000);

	for (i = 0; i < 1000; i++)
		ck_assert_int_eq(
			kg_policy_add_path(&policy, "/a", false, &flag, &err),
			0);
	ck_assert_int_eq(kg_policy_add_path(&policy, "/a", false, &flag, &err),
			 -1);
	ck_assert_uint_eq(err.code, KG_E_LIMIT);
	ck_assert_str_eq(err.msg, "more than 1000 paths");
	ck_assert_uint_eq(policy.path_count, 1000);
	kg_policy_done(&policy);
}
END_TEST

START_TEST(rewinds_to_a_mark_and_grows_again)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host host = host_of("a.test");
	struct kg_policy_mark mark;
	size_t i;

	ck_assert_int_eq(
		kg_policy_add_path(&policy, "/kept", true, &flag, &err), 0);
	mark = kg_policy_mark(&policy);
	for (i = 0; i < 40; i++) {
		policy.network = KG_NETWORK_OPEN;
		ck_assert_int_eq(
			kg_policy_add_host(&policy, &host, &flag, &err), 0);
		ck_assert_int_eq(kg_policy_add_path(&policy, "/gone", false,
						    &flag, &err),
				 0);
		ck_assert_ptr_nonnull(
			kg_policy_add_file(&policy, "file", &err));
		if (i % 9 == 8)
			kg_policy_rewind(&policy, &mark);
	}
	kg_policy_rewind(&policy, &mark);
	ck_assert_int_eq(policy.network, KG_NETWORK_RESTRICTED);
	ck_assert_uint_eq(policy.host_count, 0);
	ck_assert_uint_eq(policy.path_count, 1);
	ck_assert_uint_eq(policy.file_count, 0);
	ck_assert_str_eq(policy.paths[0].text, "/kept");
	kg_policy_done(&policy);
}
END_TEST

START_TEST(needs_the_network_box_in_restricted_with_hosts_alone)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host host = host_of("a.test");

	ck_assert_int_eq(kg_policy_add_host(&policy, &host, &flag, &err), 0);
	ck_assert(kg_policy_has_network_box(&policy));
	policy.network = KG_NETWORK_OFF;
	ck_assert(!kg_policy_has_network_box(&policy));
	policy.network = KG_NETWORK_OPEN;
	ck_assert(!kg_policy_has_network_box(&policy));
	kg_policy_done(&policy);
}
END_TEST

START_TEST(has_one_word_for_each_mode)
{
	static const char *const words[] = { "off", "restricted", "open" };
	static const char *const others[] = { "", "Off", "of", "false", "no" };
	enum kg_network mode = KG_NETWORK_COUNT;
	size_t i;

	for (i = 0; i < KG_NETWORK_COUNT; i++) {
		ck_assert_str_eq(kg_network_name((enum kg_network)i), words[i]);
		ck_assert(kg_network_parse(words[i], &mode));
		ck_assert_uint_eq(mode, i);
	}
	for (i = 0; i < KG_ARRAY_LEN(others); i++)
		ck_assert(!kg_network_parse(others[i], &mode));
}
END_TEST

START_TEST(prints_origins_as_a_user_reads_them)
{
	struct kg_origin origin = { KG_ORIGIN_FILE, "/etc/a.yaml", 12, 5 };
	char buf[64];

	kg_origin_print(&origin, buf, sizeof(buf));
	ck_assert_str_eq(buf, "/etc/a.yaml:12:5");
	origin.line = 0;
	kg_origin_print(&origin, buf, sizeof(buf));
	ck_assert_str_eq(buf, "/etc/a.yaml");
	kg_origin_print(&flag, buf, sizeof(buf));
	ck_assert_str_eq(buf, "--allow-path");
	kg_origin_print(&KG_POLICY_INIT.network_origin, buf, sizeof(buf));
	ck_assert_str_eq(buf, "default");
	kg_origin_print(&flag, buf, 4);
	ck_assert_str_eq(buf, "--a");
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/policy");
	TCase *tc = tcase_create("policy");

	tcase_add_test(tc, begins_restricted_without_hosts);
	tcase_add_test(tc, keeps_entries_in_order_with_their_origins);
	tcase_add_test(tc, refuses_one_entry_too_many);
	tcase_add_test(tc, rewinds_to_a_mark_and_grows_again);
	tcase_add_test(tc,
		       needs_the_network_box_in_restricted_with_hosts_alone);
	tcase_add_test(tc, has_one_word_for_each_mode);
	tcase_add_test(tc, prints_origins_as_a_user_reads_them);
	suite_add_tcase(s, tc);

	return s;
}
