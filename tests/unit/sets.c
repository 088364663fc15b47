/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/sets.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/ipset/ip_set.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include "common/cause.h"
#include "common/step.h"
#include "common/util.h"
#include "tests/unit/ownnet.h"

/**
 * struct content - What the kernel says that a set holds
 * @entries:	How many
 * @ttl_s:	Time-out of the last
 * @tcp:	Entries for TCP
 * @udp:	Entries for UDP
 * @port:	Port of the last
 */
struct content {
	int entries;
	uint32_t ttl_s;
	int tcp;
	int udp;
	uint16_t port;
};

static void note_entry(struct nlattr *entry, struct content *content)
{
	struct nlattr *tb[IPSET_ATTR_ADT_MAX + 1];

	ck_assert_int_eq(nla_parse_nested(tb, IPSET_ATTR_ADT_MAX, entry, NULL),
			 0);
	content->entries++;
	if (tb[IPSET_ATTR_TIMEOUT])
		content->ttl_s = ntohl(nla_get_u32(tb[IPSET_ATTR_TIMEOUT]));
	if (tb[IPSET_ATTR_PORT])
		content->port = ntohs(nla_get_u16(tb[IPSET_ATTR_PORT]));
	if (tb[IPSET_ATTR_PROTO]) {
		content->tcp += nla_get_u8(tb[IPSET_ATTR_PROTO]) == IPPROTO_TCP;
		content->udp += nla_get_u8(tb[IPSET_ATTR_PROTO]) == IPPROTO_UDP;
	}
}

static int note_part(struct nl_msg *msg, void *arg)
{
	struct nlattr *list, *entry;
	int left;

	list = nlmsg_find_attr(nlmsg_hdr(msg), sizeof(struct nfgenmsg),
			       IPSET_ATTR_ADT);
	if (list)
		nla_for_each_nested(entry, list, left) note_entry(entry, arg);
	return NL_OK;
}

static struct content list(int family, enum kg_set set)
{
	struct nfgenmsg gen = { .nfgen_family = (uint8_t)family };
	struct content content = { 0 };
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc_simple(
		NFNL_SUBSYS_IPSET << 8 | IPSET_CMD_LIST, NLM_F_DUMP);

	nl_connect(sock, NETLINK_NETFILTER);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, note_part,
			    &content);
	nlmsg_append(msg, &gen, sizeof(gen), NLMSG_ALIGNTO);
	nla_put_u8(msg, IPSET_ATTR_PROTOCOL, IPSET_PROTOCOL_MIN);
	nla_put_string(msg, IPSET_ATTR_SETNAME, kg_sets_name(family, set));
	ck_assert_int_ge(nl_send_auto(sock, msg), 0);
	ck_assert_int_eq(nl_recvmsgs_default(sock), 0);
	nlmsg_free(msg);
	nl_socket_free(sock);
	return content;
}

static struct kg_error err;
static struct kg_sets *sets;

static void make_sets(void)
{
	kg_ownnet_enter();
	err = KG_ERROR_INIT;
	ck_assert_int_eq(kg_sets_open(&sets, &err), 0);
	ck_assert_msg(kg_sets_create(sets, AF_INET, &err) == 0, "%s", err.msg);
	ck_assert_msg(kg_sets_create(sets, AF_INET6, &err) == 0, "%s", err.msg);
}

static void close_sets(void)
{
	kg_sets_close(sets);
}

static int add(int family, const char *addr, uint8_t prefix, uint16_t port,
	       uint32_t ttl_s)
{
	struct kg_block block = { .family = (uint16_t)family,
				  .prefix = prefix };

	ck_assert_int_eq(inet_pton(family, addr, block.addr), 1);
	return kg_sets_add(sets, &block, port, ttl_s, &err);
}

static void flush(void)
{
	ck_assert_msg(kg_sets_flush(sets, &err) == 0, "%s", err.msg);
}

START_TEST(puts_each_kind_of_entry_into_its_set)
{
	static const struct {
		int family;
		const char *addr;
		uint8_t prefix;
		uint16_t port;
		enum kg_set set;
		int entries;
	} cases[] = {
		{ AF_INET, "192.0.2.1", 32, 0, KG_SET_ADDR, 1 },
		{ AF_INET, "192.0.2.1", 32, 443, KG_SET_ADDR_PORT, 2 },
		{ AF_INET, "192.0.2.0", 24, 0, KG_SET_BLOCK, 1 },
		{ AF_INET, "192.0.2.0", 24, 443, KG_SET_BLOCK_PORT, 2 },
		{ AF_INET6, "2001:db8::1", 128, 0, KG_SET_ADDR, 1 },
		{ AF_INET6, "2001:db8::1", 128, 443, KG_SET_ADDR_PORT, 2 },
		{ AF_INET6, "2001:db8::", 32, 0, KG_SET_BLOCK, 1 },
		{ AF_INET6, "2001:db8::", 32, 443, KG_SET_BLOCK_PORT, 2 },
	};
	struct content c;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(cases); i++)
		ck_assert_int_eq(add(cases[i].family, cases[i].addr,
				     cases[i].prefix, cases[i].port, 0),
				 0);
	ck_assert_int_eq(list(AF_INET, KG_SET_ADDR).entries, 0);
	flush();
	for (i = 0; i < KG_ARRAY_LEN(cases); i++) {
		c = list(cases[i].family, cases[i].set);
		ck_assert_int_eq(c.entries, cases[i].entries);
		ck_assert_uint_eq(c.port, cases[i].port);
		ck_assert_int_eq(c.tcp, cases[i].port ? 1 : 0);
		ck_assert_int_eq(c.udp, cases[i].port ? 1 : 0);
		ck_assert_uint_eq(c.ttl_s, 0);
	}
}
END_TEST

START_TEST(refreshes_an_address_that_is_there)
{
	ck_assert_int_eq(add(AF_INET, "192.0.2.1", 32, 0, 60), 0);
	flush();
	ck_assert_uint_le(list(AF_INET, KG_SET_ADDR).ttl_s, 60);
	ck_assert_int_eq(add(AF_INET, "192.0.2.1", 32, 0, 600), 0);
	flush();
	ck_assert_int_eq(list(AF_INET, KG_SET_ADDR).entries, 1);
	ck_assert_uint_gt(list(AF_INET, KG_SET_ADDR).ttl_s, 500);
	ck_assert_int_eq(add(AF_INET, "192.0.2.1", 32, 0, 0), 0);
	flush();
	ck_assert_uint_eq(list(AF_INET, KG_SET_ADDR).ttl_s, 0);
}
END_TEST

START_TEST(bounds_a_time_to_live_and_ignores_that_of_blocks)
{
	ck_assert_int_eq(add(AF_INET, "192.0.2.1", 32, 0, UINT32_MAX), 0);
	ck_assert_int_eq(add(AF_INET, "192.0.2.0", 24, 0, 1), 0);
	flush();
	ck_assert_uint_gt(list(AF_INET, KG_SET_ADDR).ttl_s, 2000000);
	ck_assert_uint_eq(list(AF_INET, KG_SET_BLOCK).ttl_s, 0);
}
END_TEST

START_TEST(takes_every_prefix_but_zero)
{
	uint8_t prefix;

	for (prefix = 1; prefix <= 32; prefix++)
		ck_assert_int_eq(add(AF_INET, "128.0.0.0", prefix, 0, 0), 0);
	for (prefix = 1; prefix <= 128; prefix++)
		ck_assert_int_eq(add(AF_INET6, "8000::", prefix, 0, 0), 0);
	flush();
	ck_assert_int_eq(list(AF_INET, KG_SET_BLOCK).entries, 31);
	ck_assert_int_eq(list(AF_INET6, KG_SET_BLOCK).entries, 127);

	ck_assert_int_eq(add(AF_INET, "0.0.0.0", 0, 0, 0), -1);
	ck_assert_int_eq(err.code, KG_E_NETNS);
	ck_assert_int_eq(add(AF_INET, "128.0.0.0", 33, 0, 0), -1);
	ck_assert_int_eq(add(AF_INET6, "8000::", 129, 0, 0), -1);
}
END_TEST

/* The time is printed, not judged: machines differ. */
START_TEST(takes_ten_thousand_addresses_in_batches)
{
	uint64_t since_ns = kg_now_ns();
	char addr[32];
	int i;

	for (i = 0; i < 10000; i++) {
		(void)snprintf(addr, sizeof(addr), "198.18.%d.%d", i / 200,
			       1 + i % 200);
		ck_assert_int_eq(add(AF_INET, addr, 32, 0, 300), 0);
	}
	flush();
	printf("# 10000 addresses took %.1f ms\n",
	       (double)(kg_now_ns() - since_ns) / 1e6);
	ck_assert_int_eq(list(AF_INET, KG_SET_ADDR).entries, 10000);
}
END_TEST

START_TEST(says_when_a_set_is_full)
{
	char addr[32];
	int i, rc = 0;

	for (i = 0; i < 200000 && rc == 0; i++) {
		(void)snprintf(addr, sizeof(addr), "198.%d.%d.%d",
			       18 + i / 65536, i / 256 % 256, i % 256);
		rc = add(AF_INET, addr, 32, 0, 0);
	}
	if (rc == 0)
		rc = kg_sets_flush(sets, &err);
	ck_assert_int_eq(rc, -1);
	ck_assert_int_eq(err.code, KG_E_NETNS);
	ck_assert_ptr_nonnull(strstr(err.msg, "full"));
}
END_TEST

START_TEST(doesnt_take_over_sets_that_are_there)
{
	ck_assert_int_eq(kg_sets_create(sets, AF_INET, &err), -1);
	ck_assert_int_eq(err.code, KG_E_NETNS);
	ck_assert_int_eq(err.errnum, EEXIST);
}
END_TEST

START_TEST(says_when_a_set_is_missing)
{
	struct kg_error failed = KG_ERROR_INIT;
	struct kg_sets *other = NULL;
	struct kg_block block = { .family = AF_INET,
				  .prefix = 32,
				  .addr = { 192, 0, 2, 1 } };

	kg_ownnet_enter();
	ck_assert_int_eq(kg_sets_open(&other, &failed), 0);
	ck_assert_int_eq(kg_sets_add(other, &block, 0, 0, &failed), 0);
	ck_assert_int_eq(kg_sets_flush(other, &failed), -1);
	ck_assert_int_eq(failed.code, KG_E_NETNS);
	ck_assert_int_eq(failed.errnum, ENOENT);
	kg_sets_close(other);
}
END_TEST

START_TEST(keeps_its_socket_from_programs_that_are_started)
{
	socklen_t len = sizeof(int);
	int fd, domain, seen = 0;

	for (fd = 3; fd < 64; fd++) {
		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) ||
		    domain != AF_NETLINK)
			continue;
		ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		seen++;
	}
	ck_assert_int_eq(seen, 1);
}
END_TEST

/* What the kernel says to a question to a subsystem that it hasn't got. */
static int ask_absent_subsystem(void)
{
	struct nfgenmsg gen = { .nfgen_family = AF_INET };
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc_simple((NFNL_SUBSYS_COUNT + 7) << 8 |
							IPSET_CMD_TYPE,
						NLM_F_REQUEST | NLM_F_ACK);
	struct sockaddr_nl from;
	unsigned char *buf = NULL;
	int answer;

	nl_connect(sock, NETLINK_NETFILTER);
	nlmsg_append(msg, &gen, sizeof(gen), NLMSG_ALIGNTO);
	ck_assert_int_ge(nl_send_auto(sock, msg), 0);
	ck_assert_int_gt(nl_recv(sock, &from, &buf, NULL), 0);
	answer = ((struct nlmsgerr *)nlmsg_data((void *)buf))->error;
	free(buf);
	nlmsg_free(msg);
	nl_socket_free(sock);
	return -answer;
}

START_TEST(knows_a_kernel_without_ip_set_by_its_answer)
{
	struct kg_error failed = KG_ERROR_INIT;
	int answer;

	kg_ownnet_enter();
	answer = ask_absent_subsystem();
	ck_assert_int_ne(answer, 0);
	ck_assert_int_eq(kg_sets_explain_absence(answer, "hash:ip", &failed),
			 -1);
	ck_assert_int_eq(failed.code, KG_E_BACKEND);
	ck_assert_ptr_nonnull(
		strstr(failed.msg, kg_cause_row(KG_CAUSE_IP_SET)->sentence));

	(void)kg_sets_explain_absence(IPSET_ERR_FIND_TYPE, "hash:ip", &failed);
	ck_assert_int_eq(failed.code, KG_E_BACKEND);
	ck_assert_ptr_nonnull(strstr(failed.msg, "hash:ip"));

	(void)kg_sets_explain_absence(EPERM, "hash:ip", &failed);
	ck_assert_int_eq(failed.code, KG_E_NETNS);
	ck_assert_int_eq(failed.errnum, EPERM);
}
END_TEST

Suite *kg_suite(void);

Suite *kg_suite(void)
{
	Suite *s = suite_create("netns/sets");
	TCase *tc = tcase_create("sets");
	TCase *bare = tcase_create("bare");

	tcase_add_checked_fixture(tc, make_sets, close_sets);
	tcase_add_test(tc, puts_each_kind_of_entry_into_its_set);
	tcase_add_test(tc, refreshes_an_address_that_is_there);
	tcase_add_test(tc, bounds_a_time_to_live_and_ignores_that_of_blocks);
	tcase_add_test(tc, takes_every_prefix_but_zero);
	tcase_add_test(tc, takes_ten_thousand_addresses_in_batches);
	tcase_add_test(tc, says_when_a_set_is_full);
	tcase_add_test(tc, doesnt_take_over_sets_that_are_there);
	tcase_add_test(tc, keeps_its_socket_from_programs_that_are_started);
	suite_add_tcase(s, tc);
	tcase_add_test(bare, says_when_a_set_is_missing);
	tcase_add_test(bare, knows_a_kernel_without_ip_set_by_its_answer);
	suite_add_tcase(s, bare);
	return s;
}
