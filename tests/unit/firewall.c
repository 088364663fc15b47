/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/firewall.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/role.h"
#include "common/scoped.h"
#include "common/spawn.h"
#include "common/step.h"
#include "common/util.h"
#include "netns/commit.h"
#include "netns/link.h"
#include "netns/netplan.h"
#include "netns/sets.h"
#include "tests/unit/golden.h"
#include "tests/unit/ownnet.h"

#define APPLY_MS 10000

static const struct kg_firewall_options usual = {
	.dns_port = KG_DNS_PORT,
	.dns_mark = KG_DNS_MARK,
	.ipv6 = true,
};
static const struct kg_firewall_options other_dns = {
	.dns_port = 5353,
	.dns_mark = 0x1,
	.ipv6 = true,
};
static const struct kg_firewall_options without_ipv6 = {
	.dns_port = KG_DNS_PORT,
	.dns_mark = KG_DNS_MARK,
	.ipv6 = false,
};

static char *build(int family, const struct kg_firewall_options *options)
{
	struct kg_error err = KG_ERROR_INIT;
	char *text = NULL;

	ck_assert_int_eq(kg_firewall_build(family, options, &text, &err), 0);
	return text;
}

START_TEST(writes_the_golden_texts)
{
	static const struct {
		const char *name;
		int family;
		const struct kg_firewall_options *options;
		size_t tables;
	} cases[] = {
		{ "firewall-ipv4.txt", AF_INET, &usual, 3 },
		{ "firewall-ipv4-dns.txt", AF_INET, &other_dns, 3 },
		{ "firewall-ipv6.txt", AF_INET6, &usual, 3 },
		{ "firewall-ipv6-dns.txt", AF_INET6, &other_dns, 3 },
		{ "firewall-ipv6-off.txt", AF_INET6, &without_ipv6, 1 },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(cases); i++) {
		char *text = build(cases[i].family, cases[i].options);

		kg_golden_check(cases[i].name, text);
		ck_assert_uint_eq(kg_firewall_count_tables(text),
				  cases[i].tables);
		free(text);
	}
}
END_TEST

START_TEST(writes_another_text_for_each_option)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct kg_firewall_options flipped[3] = { usual, usual, usual };
	size_t f, i;

	flipped[0].dns_port++;
	flipped[1].dns_mark++;
	flipped[2].ipv6 = false;
	for (f = 0; f < KG_ARRAY_LEN(families); f++)
		for (i = 0; i < KG_ARRAY_LEN(flipped); i++) {
			char *before = build(families[f], &usual);
			char *after = build(families[f], &flipped[i]);
			bool same = families[f] == AF_INET && i == 2;

			ck_assert_int_eq(strcmp(before, after) == 0, same);
			free(before);
			free(after);
		}
}
END_TEST

/* Whether an address lies in a range as the text spells it. */
static bool covers(const char *range, int family, const unsigned char *addr)
{
	unsigned char net[16];
	int prefix = family == AF_INET ? 32 : 128, bit;
	char copy[64], *slash;

	(void)snprintf(copy, sizeof(copy), "%s", range);
	slash = strchr(copy, '/');
	if (slash) {
		prefix = atoi(slash + 1);
		*slash = '\0';
	}
	if (inet_pton(family, copy, net) != 1)
		return false;
	for (bit = 0; bit < prefix; bit++)
		if ((net[bit / 8] ^ addr[bit / 8]) & (0x80 >> bit % 8))
			return false;
	return true;
}

static bool is_refused_before_sets(const char *text, int family,
				   const unsigned char *addr)
{
	kg_auto_free char *copy = strdup(text);
	char *line, *rest = copy, range[64];

	while ((line = strsep(&rest, "\n"))) {
		if (strstr(line, "-j LISTED"))
			return false;
		if (sscanf(line, "-A OUTPUT -d %63s -j REFUSED", range) == 1 &&
		    strstr(line, "-j REFUSED") && covers(range, family, addr))
			return true;
	}
	return false;
}

/* What is never opened for the resolver must not be open through a block. */
START_TEST(refuses_what_is_reserved_before_the_sets)
{
	static const char *const samples[] = {
		"0.0.0.0",
		"0.255.255.255",
		"9.255.255.255",
		"10.0.1.255",
		"10.0.2.0",
		"10.0.2.255",
		"10.0.3.0",
		"126.255.255.255",
		"127.0.0.0",
		"127.0.0.53",
		"127.255.255.255",
		"128.0.0.0",
		"169.253.0.0",
		"169.254.0.0",
		"169.254.169.254",
		"169.255.0.0",
		"192.0.2.1",
		"223.255.255.255",
		"224.0.0.0",
		"239.255.255.255",
		"240.0.0.1",
		"255.255.255.254",
		"255.255.255.255",
		"::",
		"::1",
		"::127.0.0.1",
		"::ffff:127.0.0.1",
		"::ffff:10.0.2.2",
		"64:ff9b::127.0.0.1",
		"64:ff9b::10.0.2.2",
		"64:ff9b::10.0.3.2",
		"64:ff9b::192.0.2.1",
		"64:ff9b::169.254.169.254",
		"64:ff9b::224.0.0.1",
		"64:ff9b::240.0.0.1",
		"64:ff9b::255.255.255.255",
		"64:ff9b::0.0.0.0",
		"64:ff9a::127.0.0.1",
		"2001:db8::1",
		"fcff::1",
		"fd00::",
		"fd00::3",
		"fd00::ffff:ffff:ffff:ffff",
		"fd00:0:0:1::",
		"fe7f::1",
		"fe80::1",
		"febf::1",
		"fec0::1",
		"feff::1",
		"ff02::1",
		"ffff::",
	};
	char *text4 = build(AF_INET, &usual), *text6 = build(AF_INET6, &usual);
	unsigned char addr[16];
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(samples); i++) {
		int family = strchr(samples[i], ':') ? AF_INET6 : AF_INET;

		ck_assert_int_eq(inet_pton(family, samples[i], addr), 1);
		ck_assert_msg(is_refused_before_sets(family == AF_INET ? text4
								       : text6,
						     family, addr) ==
				      kg_host_is_reserved(family, addr),
			      "%s", samples[i]);
	}
	free(text4);
	free(text6);
}
END_TEST

START_TEST(counts_lines_that_commit_and_no_others)
{
	ck_assert_uint_eq(kg_firewall_count_tables(""), 0);
	ck_assert_uint_eq(kg_firewall_count_tables("COMMIT"), 1);
	ck_assert_uint_eq(kg_firewall_count_tables("COMMIT\nCOMMIT\n"), 2);
	ck_assert_uint_eq(kg_firewall_count_tables("# COMMIT\nCOMMITS\n\n"), 0);
}
END_TEST

/**
 * struct setup - A firewall to load in a box
 * @options:	What its text depends on
 * @program4:	Name of the restore program
 * @program6:	The same for IPv6
 */
struct setup {
	const struct kg_firewall_options *options;
	const char *program4;
	const char *program6;
};

static const struct setup plain = { &usual, "iptables-restore",
				    "ip6tables-restore" };

static void check(int rc, const struct kg_error *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s\n", err->msg);
	_exit(255);
}

static void add(struct kg_sets *sets, const char *addr, uint8_t prefix,
		uint16_t port)
{
	struct kg_block block = { .family = AF_INET, .prefix = prefix };
	struct kg_error err = KG_ERROR_INIT;

	if (inet_pton(AF_INET6, addr, block.addr) == 1)
		block.family = AF_INET6;
	else
		(void)inet_pton(AF_INET, addr, block.addr);
	check(kg_sets_add(sets, &block, port, 0, &err), &err);
}

/* Reserved ones too, as if something upstream had failed to notice. */
static void fill_sets(void)
{
	struct kg_error err = KG_ERROR_INIT;
	struct kg_sets *sets = NULL;

	check(kg_sets_open(&sets, &err), &err);
	check(kg_sets_create(sets, AF_INET, &err), &err);
	check(kg_sets_create(sets, AF_INET6, &err), &err);
	add(sets, "198.51.100.7", 32, 0);
	add(sets, "198.51.100.9", 32, 443);
	add(sets, "203.0.113.0", 24, 0);
	add(sets, "2001:db8::7", 128, 0);
	add(sets, "10.0.2.2", 32, 0);
	add(sets, "10.0.2.3", 32, 0);
	add(sets, "127.0.0.0", 8, 0);
	add(sets, "::", 8, 0);
	check(kg_sets_flush(sets, &err), &err);
	kg_sets_close(sets);
}

static void wait_for_exits(struct kg_firewall_run *run)
{
	struct kg_error err = KG_ERROR_INIT;
	int rc;

	while ((rc = kg_firewall_run_check(run, &err)) == 0)
		(void)kg_fd_wait(kg_firewall_run_fd(run), APPLY_MS);
	check(rc, &err);
}

static void time_load(const struct setup *setup,
		      const struct kg_firewall_load *loads)
{
	struct kg_error failed = KG_ERROR_INIT;
	struct kg_firewall_run *run = NULL;
	uint64_t since_ns = kg_now_ns();

	check(kg_firewall_apply(loads, APPLY_MS, &run, &failed), &failed);
	printf("# %s: both families closed in %.1f ms", setup->program4,
	       (double)(kg_now_ns() - since_ns) / 1e6);
	wait_for_exits(run);
	printf(", programs gone after %.1f ms\n",
	       (double)(kg_now_ns() - since_ns) / 1e6);
	(void)fflush(stdout);
	kg_firewall_run_free(run);
}

/* In the box. */
static int load(const void *arg)
{
	const struct setup *setup = arg;
	kg_auto_free char *text4 = build(AF_INET, setup->options);
	kg_auto_free char *text6 = build(AF_INET6, setup->options);
	kg_auto_free char *path4 = NULL;
	kg_auto_free char *path6 = NULL;
	struct kg_error failed = KG_ERROR_INIT;

	fill_sets();
	check(kg_spawn_find(setup->program4, &path4, &failed), &failed);
	check(kg_spawn_find(setup->program6, &path6, &failed), &failed);
	time_load(setup, (struct kg_firewall_load[]){ { path4, text4 },
						      { path6, text6 } });
	return 0;
}

static int add_ipv6(const void *arg)
{
	struct kg_error err = KG_ERROR_INIT;
	struct kg_link *link = NULL;
	int index;

	(void)arg;
	check(kg_link_open(&link, &err), &err);
	check(kg_link_wait_guest(link, 2000, &index, &err), &err);
	check(kg_link_add_ipv6(link, index, &err), &err);
	kg_link_close(link);
	return 0;
}

static struct kg_ownnet net;

static bool start(const struct setup *setup)
{
	if (kg_ownnet_lacks("ip") || kg_ownnet_lacks(setup->program4) ||
	    kg_ownnet_lacks(setup->program6))
		return false;
	net = kg_ownnet_open();
	ck_assert_int_eq(kg_ownnet_in_box(&net, load, setup), 0);
	kg_ownnet_plug(&net);
	ck_assert_int_eq(kg_ownnet_in_box(&net, add_ipv6, NULL), 0);
	return true;
}

/* Refused means told at once: 300 ms are long for a kernel. */
static void expect(const struct kg_probe *p, bool answers)
{
	uint64_t since_ns = kg_now_ns();
	int rc = kg_ownnet_probe(&net, p);
	uint64_t took_ms = (kg_now_ns() - since_ns) / 1000000;

	if (answers)
		ck_assert_msg(rc == 0, "%s port %u type %d: %s", p->addr,
			      p->port, p->type, strerror(rc));
	else
		ck_assert_msg(rc != 0 && rc != ETIMEDOUT && took_ms < 300,
			      "%s port %u type %d: %s after %d ms", p->addr,
			      p->port, p->type, strerror(rc), (int)took_ms);
}

static void expect_both(const char *addr, uint16_t port, bool answers)
{
	struct kg_probe p = { SOCK_STREAM, addr, port, NULL, 0 };

	expect(&p, answers);
	p.type = SOCK_DGRAM;
	expect(&p, answers);
}

static void check_packets(void)
{
	static const struct {
		const char *addr;
		uint16_t port;
		bool answers;
	} cases[] = {
		{ "198.51.100.7", 80, true },  { "198.51.100.7", 443, true },
		{ "198.51.100.7", 53, false }, { "198.51.100.7", 853, false },
		{ "198.51.100.8", 80, false }, { "198.51.100.9", 443, true },
		{ "198.51.100.9", 80, false }, { "203.0.113.5", 80, true },
		{ "203.0.113.5", 853, false }, { "10.0.2.2", 80, false },
		{ "10.0.2.3", 80, false },     { "10.0.2.3", 853, false },
		{ "2001:db8::7", 80, true },   { "2001:db8::7", 53, false },
		{ "2001:db8::7", 853, false }, { "2001:db8::8", 80, false },
		{ "fd00::2", 80, false },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(cases); i++)
		expect_both(cases[i].addr, cases[i].port, cases[i].answers);
}

START_TEST(lets_through_what_is_listed_and_refuses_the_rest_at_once)
{
	if (!start(&plain))
		return;
	check_packets();
	kg_ownnet_close(&net);
}
END_TEST

START_TEST(keeps_what_it_refuses_off_the_wire)
{
	if (!start(&plain))
		return;
	expect_both("198.51.100.8", 80, false);
	expect_both("2001:db8::8", 80, false);
	expect_both("198.51.100.7", 80, true);
	expect_both("2001:db8::7", 80, true);
	ck_assert_int_eq(kg_ownnet_saw(&net, "198.51.100.8"), 0);
	expect_both("198.51.100.8", 80, false);
	expect_both("198.51.100.7", 80, true);
	ck_assert_int_gt(kg_ownnet_saw(&net, "198.51.100.7"), 0);
	expect_both("2001:db8::8", 80, false);
	expect_both("2001:db8::7", 80, true);
	ck_assert_int_eq(kg_ownnet_saw(&net, "2001:db8::8"), 0);
	kg_ownnet_close(&net);
}
END_TEST

START_TEST(works_with_the_legacy_flavour)
{
	static const struct setup legacy = { &usual, "iptables-legacy-restore",
					     "ip6tables-legacy-restore" };

	if (!start(&legacy))
		return;
	check_packets();
	kg_ownnet_close(&net);
}
END_TEST

START_TEST(lets_only_loopback_through_where_ipv6_is_off)
{
	static const struct setup off = { &without_ipv6, "iptables-restore",
					  "ip6tables-restore" };

	if (!start(&off))
		return;
	expect_both("198.51.100.7", 80, true);
	expect_both("2001:db8::7", 80, false);
	expect_both("fd00::3", 53, false);
	ck_assert_int_eq(kg_ownnet_saw(&net, "2001:db8::7"), 0);
	kg_ownnet_close(&net);
}
END_TEST

/* A resolver's stand-in on loopback, and a question to the guest's server. */
struct question {
	int family;
	int type;
	unsigned listen_port;
};

static int make_end(int family, int type, const char *addr, unsigned port,
		    int (*use)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port) };
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	(void)inet_pton(AF_INET6, addr, &in6.sin6_addr);
	(void)inet_pton(AF_INET, addr, &in.sin_addr);
	if (use(fd, family == AF_INET6 ? (void *)&in6 : (void *)&in,
		family == AF_INET6 ? sizeof(in6) : sizeof(in)))
		return -1;
	return fd;
}

static int echo_once(int server, int type)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char buf[16];
	ssize_t n;

	if (!kg_fd_wait(server, 500))
		return -1;
	if (type == SOCK_STREAM)
		return accept4(server, NULL, NULL, SOCK_CLOEXEC) < 0 ? -1 : 0;
	n = recvfrom(server, buf, sizeof(buf), 0, (void *)&from, &len);
	return n == sendto(server, buf, (size_t)n, 0, (void *)&from, len) ? 0
									  : -1;
}

/* 0 when the answer comes from the address that was asked. */
static int ask(const void *arg)
{
	const struct question *q = arg;
	bool is6 = q->family == AF_INET6;
	int server, client;
	char buf[16];

	server = make_end(q->family, q->type, is6 ? "::1" : "127.0.0.1",
			  q->listen_port, bind);
	if (server < 0 || (q->type == SOCK_STREAM && listen(server, 4)))
		return 254;
	client = make_end(q->family, q->type,
			  is6 ? KG_GUEST_DNS6 : KG_GUEST_DNS4, 53, connect);
	if (client < 0)
		return 1;
	if (q->type == SOCK_DGRAM && send(client, "hello", 5, 0) != 5)
		return 2;
	if (echo_once(server, q->type))
		return 3;
	if (q->type == SOCK_DGRAM && (!kg_fd_wait(client, 500) ||
				      recv(client, buf, sizeof(buf), 0) != 5))
		return 4;
	return 0;
}

static void expect_redirect(unsigned port, bool works)
{
	static const struct question cases[] = {
		{ AF_INET, SOCK_STREAM, 0 },
		{ AF_INET, SOCK_DGRAM, 0 },
		{ AF_INET6, SOCK_STREAM, 0 },
		{ AF_INET6, SOCK_DGRAM, 0 },
	};
	struct question q;
	size_t i;
	int rc;

	for (i = 0; i < KG_ARRAY_LEN(cases); i++) {
		q = cases[i];
		q.listen_port = port;
		rc = kg_ownnet_in_box(&net, ask, &q);
		ck_assert_int_ne(rc, 254);
		ck_assert_msg((rc == 0) == works, "case %zu: %d", i, rc);
	}
}

START_TEST(redirects_the_boxs_dns_to_the_resolver)
{
	if (!start(&plain))
		return;
	expect_redirect(KG_DNS_PORT, true);
	expect_redirect(5353, false);
	ck_assert_int_eq(kg_ownnet_saw(&net, KG_GUEST_DNS4), 0);
	kg_ownnet_close(&net);
}
END_TEST

START_TEST(redirects_to_another_port_when_told)
{
	static const struct setup setup = { &other_dns, "iptables-restore",
					    "ip6tables-restore" };

	if (!start(&setup))
		return;
	expect_redirect(5353, true);
	expect_redirect(KG_DNS_PORT, false);
	kg_ownnet_close(&net);
}
END_TEST

START_TEST(lets_out_marked_queries_alone)
{
	static const struct {
		struct kg_probe probe;
		bool answers;
	} cases[] = {
		{ { SOCK_DGRAM, KG_GUEST_DNS4, 53, NULL, KG_DNS_MARK }, true },
		{ { SOCK_STREAM, KG_GUEST_DNS4, 53, NULL, KG_DNS_MARK }, true },
		{ { SOCK_DGRAM, KG_GUEST_DNS4, 53, NULL, 0x1 }, false },
		{ { SOCK_DGRAM, KG_GUEST_DNS4, 53, NULL, 0 }, false },
		{ { SOCK_DGRAM, KG_GUEST_DNS4, 80, NULL, KG_DNS_MARK }, false },
		{ { SOCK_DGRAM, KG_GUEST_DNS4, 853, NULL, KG_DNS_MARK },
		  false },
		{ { SOCK_DGRAM, KG_GUEST_GATEWAY4, 53, NULL, KG_DNS_MARK },
		  false },
		{ { SOCK_DGRAM, "198.51.100.7", 53, NULL, KG_DNS_MARK },
		  false },
		{ { SOCK_DGRAM, KG_GUEST_DNS6, 53, NULL, KG_DNS_MARK }, false },
	};
	size_t i;

	if (!start(&plain))
		return;
	for (i = 0; i < KG_ARRAY_LEN(cases); i++)
		expect(&cases[i].probe, cases[i].answers);
	kg_ownnet_close(&net);
}
END_TEST

START_TEST(lets_out_another_mark_when_told)
{
	static const struct setup setup = { &other_dns, "iptables-restore",
					    "ip6tables-restore" };
	static const struct kg_probe one = { SOCK_DGRAM, KG_GUEST_DNS4, 53,
					     NULL, 0x1 };
	static const struct kg_probe usual_mark = { SOCK_DGRAM, KG_GUEST_DNS4,
						    53, NULL, KG_DNS_MARK };

	if (!start(&setup))
		return;
	expect(&one, true);
	expect(&usual_mark, false);
	kg_ownnet_close(&net);
}
END_TEST

/* Sends from one port, first as the resolver, then as anybody. */
static int reuse_port(const void *arg)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
				    .sin_port = htons(40000) };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(53) };
	unsigned mark = KG_DNS_MARK;
	int i, fd, answers = 0;
	char buf[16];

	(void)arg;
	to.sin_addr.s_addr = inet_addr(KG_GUEST_DNS4);
	for (i = 0; i < 2; i++) {
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (i == 0 &&
		    setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)))
			return 254;
		if (bind(fd, (void *)&from, sizeof(from)) ||
		    connect(fd, (void *)&to, sizeof(to)))
			return 253;
		if (send(fd, "hello", 5, 0) == 5 && kg_fd_wait(fd, 500) &&
		    recv(fd, buf, sizeof(buf), 0) == 5)
			answers++;
		close(fd);
	}
	return answers;
}

START_TEST(gives_nobody_the_resolvers_open_flow)
{
	if (!start(&plain))
		return;
	ck_assert_int_eq(kg_ownnet_in_box(&net, reuse_port, NULL), 1);
	ck_assert_int_eq(kg_ownnet_saw(&net, KG_GUEST_DNS4), 1);
	kg_ownnet_close(&net);
}
END_TEST

/* slirp4netns would take them to the host's loopback. */
START_TEST(keeps_loopback_addresses_off_the_link)
{
	static const struct kg_probe cases[] = {
		{ SOCK_STREAM, "127.0.0.1", 80, "tap0", 0 },
		{ SOCK_DGRAM, "127.0.0.1", 80, "tap0", 0 },
		{ SOCK_DGRAM, "127.0.0.53", 53, "tap0", 0 },
		{ SOCK_DGRAM, "127.0.0.1", KG_DNS_PORT, "tap0", 0 },
		{ SOCK_DGRAM, KG_GUEST_DNS4, 53, "tap0", 0 },
		{ SOCK_DGRAM, "::1", 80, "tap0", 0 },
		{ SOCK_DGRAM, KG_GUEST_DNS6, 53, "tap0", 0 },
	};
	static const char *const addresses[] = { "127.0.0.1", "127.0.0.53",
						 "::1" };
	size_t i, a;

	if (!start(&plain))
		return;
	for (a = 0; a < KG_ARRAY_LEN(addresses); a++) {
		for (i = 0; i < KG_ARRAY_LEN(cases); i++)
			ck_assert_int_ne(kg_ownnet_probe(&net, &cases[i]), 0);
		/* What arrives after them shows that they would have
		 * been seen.
		 */
		expect_both("198.51.100.7", 80, true);
		expect_both("2001:db8::7", 80, true);
		ck_assert_int_eq(kg_ownnet_saw(&net, addresses[a]), 0);
	}
	kg_ownnet_close(&net);
}
END_TEST

/* A flow on loopback is known to conntrack; the socket moves to the link. */
static int rebind(const void *arg)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(7777) };
	int server, client;
	char buf[16];

	(void)arg;
	at.sin_addr.s_addr = inet_addr("127.0.0.1");
	server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bind(server, (void *)&at, sizeof(at)) ||
	    connect(client, (void *)&at, sizeof(at)) ||
	    send(client, "hello", 5, 0) != 5 || echo_once(server, SOCK_DGRAM) ||
	    recv(client, buf, sizeof(buf), 0) != 5)
		return 254;
	if (setsockopt(client, SOL_SOCKET, SO_BINDTODEVICE, "tap0", 4))
		return 253;
	return send(client, "hello", 5, 0) == 5;
}

START_TEST(keeps_an_open_flow_of_loopback_off_the_link)
{
	if (!start(&plain))
		return;
	ck_assert_int_le(kg_ownnet_in_box(&net, rebind, NULL), 1);
	expect_both("198.51.100.7", 80, true);
	ck_assert_int_eq(kg_ownnet_saw(&net, "127.0.0.1"), 0);
	kg_ownnet_close(&net);
}
END_TEST

/* As kgate's own programs are started: also where this isn't root. */
static bool shows(const char *command, const char *word)
{
	struct kg_error failed = KG_ERROR_INIT;
	bool found = false;
	char line[256];
	FILE *f;

	check(kg_role_lend(KG_BIT64(CAP_NET_ADMIN) | KG_BIT64(CAP_NET_RAW),
			   &failed),
	      &failed);
	f = popen(command, "re");
	while (fgets(line, sizeof(line), f))
		found |= strncmp(line, word, strlen(word)) == 0;
	ck_assert_int_eq(pclose(f), 0);
	return found;
}

static char dir[] = "/tmp/kgate-firewall-XXXXXX";
static char script_path[256];
static struct kg_error err;

static void make_dir(void)
{
	err = KG_ERROR_INIT;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(script_path, sizeof(script_path), "%s/restore", dir);
}

static void remove_dir(void)
{
	char command[300];

	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void write_script(const char *body)
{
	FILE *f = fopen(script_path, "we");

	fprintf(f, "#!/bin/sh\n%s\n", body);
	fclose(f);
	ck_assert_int_eq(chmod(script_path, 0755), 0);
}

/* The script for IPv4, the real program for IPv6. */
static int apply(const char *text4, int timeout_ms,
		 struct kg_firewall_run **ret)
{
	kg_auto_free char *path6 = NULL;
	struct kg_firewall_load loads[2] = { { script_path, text4 } };

	ck_assert_int_eq(kg_spawn_find("ip6tables-restore", &path6, &err), 0);
	loads[1].path = path6;
	loads[1].text = "*filter\n-A OUTPUT -j ACCEPT\nCOMMIT\n";
	return kg_firewall_apply(loads, timeout_ms, ret, &err);
}

START_TEST(fails_in_the_programs_own_words)
{
	static const struct {
		const char *body;
		const char *words;
	} cases[] = {
		{ "printf 'no\\033such\\ntable\\n' >&2; exit 3",
		  "failed (exit status 3): no?such table" },
		{ "kill -9 $$", "failed (signal 9)" },
		{ "exit 1", "failed (exit status 1)" },
	};
	struct kg_firewall_run *run = NULL;
	size_t i;

	if (kg_ownnet_lacks("ip6tables-restore"))
		return;
	kg_ownnet_enter();
	for (i = 0; i < KG_ARRAY_LEN(cases); i++) {
		write_script(cases[i].body);
		ck_assert_int_eq(apply("COMMIT\n", APPLY_MS, &run), -1);
		ck_assert_int_eq(err.code, KG_E_NETNS);
		ck_assert_ptr_nonnull(strstr(err.msg, script_path));
		ck_assert_msg(strstr(err.msg, cases[i].words), "%s", err.msg);
		ck_assert_ptr_null(run);
	}
}
END_TEST

START_TEST(fails_when_a_program_stops_halfway)
{
	struct kg_firewall_run *run = NULL;

	if (kg_ownnet_lacks("iptables-restore") ||
	    kg_ownnet_lacks("ip6tables-restore"))
		return;
	kg_ownnet_enter();
	write_script("exec iptables-restore");
	ck_assert_int_eq(apply("*mangle\nCOMMIT\n*nat\nCOMMIT\n"
			       "*filter\n-A OUTPUT -j NOWHERE\nCOMMIT\n",
			       APPLY_MS, &run),
			 -1);
	ck_assert_int_eq(err.code, KG_E_NETNS);
	ck_assert_msg(strstr(err.msg, "NOWHERE"), "%s", err.msg);
}
END_TEST

START_TEST(fails_when_a_program_hangs)
{
	struct kg_firewall_run *run = NULL;

	if (kg_ownnet_lacks("ip6tables-restore"))
		return;
	kg_ownnet_enter();
	write_script("exec tail -f /dev/null");
	ck_assert_int_eq(apply("COMMIT\n", 200, &run), -1);
	ck_assert_int_eq(err.code, KG_E_TIMEOUT);
	ck_assert_ptr_nonnull(strstr(err.msg, "iptables-restore"));
}
END_TEST

START_TEST(fails_when_a_program_isnt_there)
{
	struct kg_firewall_run *run = NULL;

	if (kg_ownnet_lacks("ip6tables-restore"))
		return;
	kg_ownnet_enter();
	ck_assert_int_eq(apply("COMMIT\n", APPLY_MS, &run), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, script_path));
}
END_TEST

START_TEST(notices_a_failure_after_the_commit)
{
	struct kg_firewall_run *run = NULL;
	char fifo[300], body[700];
	int fd, rc;

	if (kg_ownnet_lacks("iptables-restore") ||
	    kg_ownnet_lacks("ip6tables-restore"))
		return;
	kg_ownnet_enter();
	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	(void)snprintf(body, sizeof(body),
		       "iptables-restore; read x <%s; exit 5", fifo);
	write_script(body);
	ck_assert_msg(apply("*nat\n-A OUTPUT -j ACCEPT\nCOMMIT\n", APPLY_MS,
			    &run) == 0,
		      "%s", err.msg);
	ck_assert_int_ge(kg_firewall_run_fd(run), 0);

	fd = open(fifo, O_WRONLY | O_CLOEXEC);
	close(fd);
	while ((rc = kg_firewall_run_check(run, &err)) == 0)
		ck_assert(kg_fd_wait(kg_firewall_run_fd(run), APPLY_MS));
	ck_assert_int_eq(rc, -1);
	ck_assert_int_eq(err.code, KG_E_NETNS);
	ck_assert_ptr_nonnull(strstr(err.msg, "exit status 5"));
	kg_firewall_run_free(run);
}
END_TEST

/* What stands for a policy of DROP, in both flavours. */
START_TEST(ends_each_chain_in_a_rule_that_lets_nothing_pass)
{
	static const char *const chains[] = { "-A INPUT -j DROP",
					      "-A FORWARD -j DROP",
					      "-A OUTPUT -j REFUSED" };
	static const struct setup setups[] = {
		{ &usual, "iptables-nft", "ip6tables-nft" },
		{ &usual, "iptables-legacy", "ip6tables-legacy" },
	};
	size_t i, c, f;

	for (i = 0; i < KG_ARRAY_LEN(setups); i++) {
		const char *programs[2] = { setups[i].program4,
					    setups[i].program6 };
		char name[2][64], command[128];

		for (f = 0; f < 2; f++)
			(void)snprintf(name[f], sizeof(name[f]), "%s-restore",
				       programs[f]);
		if (kg_ownnet_lacks(name[0]) || kg_ownnet_lacks(name[1]))
			continue;
		kg_ownnet_enter();
		load(&(struct setup){ &usual, name[0], name[1] });
		for (f = 0; f < 2; f++)
			for (c = 0; c < KG_ARRAY_LEN(chains); c++) {
				(void)snprintf(command, sizeof(command),
					       "%s-save -t filter",
					       programs[f]);
				ck_assert_msg(shows(command, chains[c]),
					      "%s: %s", command, chains[c]);
			}
	}
}
END_TEST

START_TEST(gives_programs_a_clean_environment)
{
	static const char want[] = "PATH=" KG_SAFE_PATH "\0LC_ALL=C\0"
				   "XTABLES_LOCKFILE=/proc/self/fd/";
	struct kg_firewall_run *run = NULL;
	char body[700], path[300], *text = NULL;
	kg_auto_close int fd = -1;
	size_t len;

	if (kg_ownnet_lacks("ip6tables-restore"))
		return;
	kg_ownnet_enter();
	setenv("LD_PRELOAD", "", 1);
	setenv("BASH_ENV", "/nowhere", 1);
	(void)snprintf(path, sizeof(path), "%s/environ", dir);
	(void)snprintf(body, sizeof(body),
		       "cat /proc/$$/environ >%s; "
		       "echo x >>$XTABLES_LOCKFILE; exit $?",
		       path);
	write_script(body);
	ck_assert_msg(apply("COMMIT\n", APPLY_MS, &run) == 0, "%s", err.msg);
	kg_firewall_run_free(run);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(kg_fd_read_all(fd, 4096, &text, &len, &err), 0);
	ck_assert_uint_gt(len, sizeof(want));
	ck_assert_uint_lt(len, sizeof(want) + 5);
	ck_assert_int_eq(memcmp(text, want, sizeof(want) - 1), 0);
	free(text);
}
END_TEST

/* Otherwise READY would come too late, or, which is worse, too early. */
START_TEST(hears_one_commit_for_each_table)
{
	struct kg_commit *commit = NULL;
	char *text4, *text6;

	if (kg_ownnet_lacks("iptables-nft-restore") ||
	    kg_ownnet_lacks("ip6tables-nft-restore"))
		return;
	kg_ownnet_enter();
	text4 = build(AF_INET, &usual);
	text6 = build(AF_INET6, &usual);
	ck_assert_int_eq(kg_commit_open(&commit, &err), 0);
	ck_assert_int_eq(load(&(struct setup){ &usual, "iptables-nft-restore",
					       "ip6tables-nft-restore" }),
			 0);
	ck_assert_uint_eq(kg_commit_count(commit),
			  kg_firewall_count_tables(text4) +
				  kg_firewall_count_tables(text6));
	kg_commit_close(commit);
	free(text4);
	free(text6);
}
END_TEST

static TCase *new_case(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 60);
	suite_add_tcase(s, tc);
	return tc;
}

Suite *kg_suite(void);

Suite *kg_suite(void)
{
	Suite *s = suite_create("netns/firewall");
	TCase *text = new_case(s, "text");
	TCase *packets = new_case(s, "packets");
	TCase *programs = new_case(s, "programs");

	tcase_add_test(text, writes_the_golden_texts);
	tcase_add_test(text, writes_another_text_for_each_option);
	tcase_add_test(text, refuses_what_is_reserved_before_the_sets);
	tcase_add_test(text, counts_lines_that_commit_and_no_others);
	tcase_add_test(
		packets,
		lets_through_what_is_listed_and_refuses_the_rest_at_once);
	tcase_add_test(packets, keeps_what_it_refuses_off_the_wire);
	tcase_add_test(packets, works_with_the_legacy_flavour);
	tcase_add_test(packets, lets_only_loopback_through_where_ipv6_is_off);
	tcase_add_test(packets, redirects_the_boxs_dns_to_the_resolver);
	tcase_add_test(packets, redirects_to_another_port_when_told);
	tcase_add_test(packets, lets_out_marked_queries_alone);
	tcase_add_test(packets, lets_out_another_mark_when_told);
	tcase_add_test(packets, gives_nobody_the_resolvers_open_flow);
	tcase_add_test(packets, keeps_loopback_addresses_off_the_link);
	tcase_add_test(packets, keeps_an_open_flow_of_loopback_off_the_link);
	tcase_add_checked_fixture(programs, make_dir, remove_dir);
	tcase_add_test(programs, fails_in_the_programs_own_words);
	tcase_add_test(programs, fails_when_a_program_stops_halfway);
	tcase_add_test(programs, fails_when_a_program_hangs);
	tcase_add_test(programs, fails_when_a_program_isnt_there);
	tcase_add_test(programs, notices_a_failure_after_the_commit);
	tcase_add_test(programs,
		       ends_each_chain_in_a_rule_that_lets_nothing_pass);
	tcase_add_test(programs, gives_programs_a_clean_environment);
	tcase_add_test(programs, hears_one_commit_for_each_table);
	return s;
}
