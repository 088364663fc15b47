/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/netplan.h"

#include <arpa/inet.h>
#include <check.h>
#include <string.h>

#include "common/util.h"

static struct kg_host_entry entries[16];
static struct kg_policy policy;

static void start(void)
{
	memset(entries, 0, sizeof(entries));
	policy = KG_POLICY_INIT;
	policy.hosts = entries;
}

static void list_name(const char *name, uint16_t port)
{
	struct kg_host *host = &entries[policy.host_count++].host;

	host->kind = KG_HOST_NAME;
	host->port = port;
	strcpy(host->name, name);
}

static void list_block(int family, const char *addr, uint8_t prefix,
		       uint16_t port)
{
	struct kg_host *host = &entries[policy.host_count++].host;

	host->kind = KG_HOST_BLOCK;
	host->port = port;
	host->block.family = (uint16_t)family;
	host->block.prefix = prefix;
	ck_assert_int_eq(inet_pton(family, addr, host->block.addr), 1);
}

static void build(bool ipv6, struct kg_netplan *ret)
{
	struct kg_error err = KG_ERROR_INIT;

	ck_assert_int_eq(kg_netplan_build(&policy, ipv6, ret, &err), 0);
	ck_assert_int_eq(ret->ipv6, ipv6);
}

START_TEST(makes_an_empty_plan_of_an_empty_list)
{
	struct kg_netplan plan;

	build(true, &plan);
	ck_assert_uint_eq(plan.name_count, 0);
	ck_assert_uint_eq(plan.block_count, 0);
	ck_assert_ptr_null(kg_netplan_find(&plan, "example.org"));
	kg_netplan_done(&plan);
	kg_netplan_done(&plan);
}
END_TEST

START_TEST(sorts_names_and_finds_each)
{
	static const char *const names[] = { "b.example.org", "example.org",
					     "a-b.example.org", "z.test",
					     "a.example.org" };
	struct kg_netplan plan;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(names); i++)
		list_name(names[i], 0);
	build(false, &plan);
	ck_assert_uint_eq(plan.name_count, KG_ARRAY_LEN(names));
	for (i = 0; i < KG_ARRAY_LEN(names); i++)
		ck_assert_str_eq(kg_netplan_find(&plan, names[i])->name,
				 names[i]);
	for (i = 1; i < plan.name_count; i++)
		ck_assert_int_lt(
			strcmp(plan.names[i - 1].name, plan.names[i].name), 0);
	ck_assert_ptr_null(kg_netplan_find(&plan, "evilexample.org"));
	ck_assert_ptr_null(kg_netplan_find(&plan, "sub.z.test"));
	ck_assert_ptr_null(kg_netplan_find(&plan, ""));
	kg_netplan_done(&plan);
}
END_TEST

START_TEST(gathers_the_ports_of_a_name_sorted_and_once)
{
	const struct kg_netplan_name *name;
	struct kg_netplan plan;

	list_name("example.org", 8443);
	list_name("example.net", 22);
	list_name("example.org", 443);
	list_name("example.org", 8443);
	list_name("example.org", 80);
	build(false, &plan);
	ck_assert_uint_eq(plan.name_count, 2);
	name = kg_netplan_find(&plan, "example.org");
	ck_assert_uint_eq(name->port_count, 3);
	ck_assert_uint_eq(name->ports[0], 80);
	ck_assert_uint_eq(name->ports[1], 443);
	ck_assert_uint_eq(name->ports[2], 8443);
	kg_netplan_done(&plan);
}
END_TEST

START_TEST(opens_every_port_of_a_name_listed_without_one)
{
	struct kg_netplan plan;

	list_name("example.org", 443);
	list_name("example.org", 0);
	build(false, &plan);
	ck_assert_uint_eq(plan.name_count, 1);
	ck_assert_uint_eq(plan.names[0].port_count, 0);
	kg_netplan_done(&plan);
}
END_TEST

START_TEST(leaves_ipv6_blocks_out_where_there_is_no_ipv6)
{
	struct kg_netplan plan;

	list_block(AF_INET, "192.0.2.0", 24, 0);
	list_block(AF_INET6, "2001:db8::", 32, 443);
	list_block(AF_INET, "192.0.2.10", 32, 5432);

	build(false, &plan);
	ck_assert_uint_eq(plan.block_count, 2);
	ck_assert_uint_eq(plan.blocks[0].block.prefix, 24);
	ck_assert_uint_eq(plan.blocks[0].port, 0);
	ck_assert_uint_eq(plan.blocks[1].block.prefix, 32);
	ck_assert_uint_eq(plan.blocks[1].port, 5432);
	kg_netplan_done(&plan);

	build(true, &plan);
	ck_assert_uint_eq(plan.block_count, 3);
	ck_assert_uint_eq(plan.blocks[1].block.family, AF_INET6);
	ck_assert_uint_eq(plan.blocks[1].port, 443);
	kg_netplan_done(&plan);
}
END_TEST

Suite *kg_suite(void);

Suite *kg_suite(void)
{
	Suite *s = suite_create("netns/netplan");
	TCase *tc = tcase_create("build");

	tcase_add_checked_fixture(tc, start, NULL);
	tcase_add_test(tc, makes_an_empty_plan_of_an_empty_list);
	tcase_add_test(tc, sorts_names_and_finds_each);
	tcase_add_test(tc, gathers_the_ports_of_a_name_sorted_and_once);
	tcase_add_test(tc, opens_every_port_of_a_name_listed_without_one);
	tcase_add_test(tc, leaves_ipv6_blocks_out_where_there_is_no_ipv6);
	suite_add_tcase(s, tc);
	return s;
}
