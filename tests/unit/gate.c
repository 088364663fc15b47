/* SPDX-License-Identifier: MIT */
/*
 * The test is the worker and the resolver of a real gate, in a box that it made
 * itself.
 */
#include "config.h"

#include "netns/gate.h"

#include <arpa/inet.h>
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netfilter/ipset/ip_set.h>
#include <linux/netfilter/nfnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include "common/fd.h"
#include "common/frame.h"
#include "common/role.h"
#include "common/scoped.h"
#include "common/spawn.h"
#include "common/step.h"
#include "common/util.h"
#include "netns/sets.h"
#include "tests/unit/ownnet.h"

#define FRAME_MS 5000

static struct kg_netplan_block blocks[] = {
	{ { AF_INET, 24, { 203, 0, 113 } }, 0 },
	{ { AF_INET, 32, { 198, 51, 100, 9 } }, 443 },
	{ { AF_INET6, 128, { 0x20, 1, 0xd, 0xb8, [15] = 7 } }, 0 },
};

/**
 * struct scene - A gate and what it is surrounded by
 * @net:	Box and outside
 * @plan:	What is listed
 * @iptables:	Path, owned
 * @ip6tables:	Path, or NULL; owned
 * @child:	The gate
 * @worker:	The worker's end
 * @resolver:	The resolver's end
 */
struct scene {
	struct kg_ownnet net;
	struct kg_netplan plan;
	char *iptables;
	char *ip6tables;
	struct kg_child child;
	struct kg_frame_link worker;
	struct kg_frame_link resolver;
};

static struct scene scene;
static struct kg_error err;
static struct kg_frame frame;
static char dir[] = "/tmp/kgate-gate-XXXXXX";
static char script_path[256];

static void set_up(void)
{
	err = KG_ERROR_INIT;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(script_path, sizeof(script_path), "%s/restore", dir);
	scene = (struct scene){
		.child = KG_CHILD_INIT,
		.plan = { .blocks = blocks,
			  .block_count = KG_ARRAY_LEN(blocks),
			  .ipv6 = true },
	};
}

static void tear_down(void)
{
	char command[300];

	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static bool lacks_programs(void)
{
	if (kg_ownnet_lacks("ip") || kg_ownnet_lacks("iptables-restore") ||
	    kg_ownnet_lacks("ip6tables-restore"))
		return true;
	ck_assert_int_eq(
		kg_spawn_find("iptables-restore", &scene.iptables, &err), 0);
	ck_assert_int_eq(
		kg_spawn_find("ip6tables-restore", &scene.ip6tables, &err), 0);
	scene.net = kg_ownnet_open();
	return false;
}

static void use_script(const char *body)
{
	FILE *f = fopen(script_path, "we");

	fprintf(f, "#!/bin/sh\n%s\n", body);
	fclose(f);
	ck_assert_int_eq(chmod(script_path, 0755), 0);
	free(scene.iptables);
	scene.iptables = strdup(script_path);
}

static void start_in(int userns_fd, int netns_fd)
{
	struct kg_gate gate = {
		.userns_fd = userns_fd,
		.netns_fd = netns_fd,
		.parent = getpid(),
		.plan = &scene.plan,
		.iptables = scene.iptables,
		.ip6tables = scene.ip6tables,
	};
	int worker[2], resolver[2];

	ck_assert_int_eq(kg_frame_pair(worker, &err), 0);
	ck_assert_int_eq(kg_frame_pair(resolver, &err), 0);
	gate.worker_fd = worker[1];
	gate.resolver_fd = resolver[1];
	ck_assert_int_eq(kg_spawn_role(kg_gate_main, &gate, &scene.child, &err),
			 0);
	close(worker[1]);
	close(resolver[1]);
	scene.worker = (struct kg_frame_link){ .fd = worker[0],
					       .from = KG_ROLE_GATE };
	scene.resolver = (struct kg_frame_link){ .fd = resolver[0],
						 .from = KG_ROLE_GATE };
}

static void start_gate(void)
{
	start_in(scene.net.userns_fd, scene.net.box_fd);
}

static void end_scene(void)
{
	kg_child_done(&scene.child);
	kg_frame_link_done(&scene.worker);
	kg_frame_link_done(&scene.resolver);
	kg_ownnet_close(&scene.net);
	free(scene.iptables);
	free(scene.ip6tables);
}

static void expect_frame(struct kg_frame_link *link, enum kg_frame_type type)
{
	ck_assert_msg(kg_fd_wait(link->fd, FRAME_MS), "no %s came",
		      kg_frame_name(type));
	ck_assert_msg(kg_frame_recv(link, &frame, &err) == 1, "%s", err.msg);
	ck_assert_msg(frame.type == type, "%s came instead of %s: %s",
		      kg_frame_name((enum kg_frame_type)frame.type),
		      kg_frame_name(type),
		      frame.type == KG_FRAME_FAILED ? frame.error.msg : "");
}

static void expect_step(enum kg_step step)
{
	expect_frame(&scene.worker, KG_FRAME_STEP);
	ck_assert_uint_eq(frame.step.step, step);
}

static void expect_end(int status)
{
	int ended = kg_child_wait(&scene.child, FRAME_MS);

	ck_assert(WIFEXITED(ended));
	ck_assert_int_eq(WEXITSTATUS(ended), status);
}

static void expect_failure(enum kg_errc code, const char *words)
{
	expect_frame(&scene.worker, KG_FRAME_FAILED);
	ck_assert_msg(frame.error.code == code &&
			      strstr(frame.error.msg, words),
		      "%u: %s", frame.error.code, frame.error.msg);
	expect_end(125);
}

static void expect_ready(void)
{
	expect_step(KG_STEP_RULES);
	expect_frame(&scene.worker, KG_FRAME_READY);
}

static void start_whole(void)
{
	start_gate();
	expect_ready();
	kg_ownnet_plug(&scene.net);
	expect_step(KG_STEP_LINK);
}

static void open_address(const char *addr, uint16_t port, uint32_t ttl_s)
{
	struct kg_frame f = KG_FRAME_INIT;

	f.type = KG_FRAME_ADDRESS;
	f.address.family = strchr(addr, ':') ? AF_INET6 : AF_INET;
	f.address.port = port;
	f.address.ttl_s = ttl_s;
	ck_assert_int_eq(inet_pton(f.address.family, addr, f.address.addr), 1);
	ck_assert_int_eq(kg_frame_send(scene.resolver.fd, &f, &err), 0);
}

static void sync_addresses(int number)
{
	ck_assert_int_eq(kg_frame_send_plain(scene.resolver.fd, KG_FRAME_SYNC,
					     number, 0, &err),
			 0);
	expect_frame(&scene.resolver, KG_FRAME_SYNCED);
	ck_assert_int_eq(frame.value.a, number);
}

/* Both protocols; refused means told at once. */
static void expect(const char *addr, uint16_t port, bool answers)
{
	struct kg_probe p = { SOCK_STREAM, addr, port, NULL, 0 };
	int tcp = kg_ownnet_probe(&scene.net, &p), udp;

	p.type = SOCK_DGRAM;
	udp = kg_ownnet_probe(&scene.net, &p);
	ck_assert_msg((tcp == 0) == answers && (udp == 0) == answers &&
			      tcp != ETIMEDOUT && udp != ETIMEDOUT,
		      "%s port %u: TCP %s, UDP %s", addr, port,
		      strerrorname_np(tcp), strerrorname_np(udp));
}

START_TEST(opens_listed_blocks_and_nothing_else)
{
	if (lacks_programs())
		return;
	start_whole();
	expect("203.0.113.5", 80, true);
	expect("198.51.100.9", 443, true);
	expect("2001:db8::7", 80, true);
	expect("198.51.100.9", 80, false);
	expect("198.51.100.8", 80, false);
	expect("2001:db8::8", 80, false);
	expect("203.0.113.5", 53, false);
	expect("203.0.113.5", 853, false);
	expect("10.0.2.2", 80, false);
	ck_assert_int_eq(kg_ownnet_saw(&scene.net, "198.51.100.8"), 0);
	end_scene();
}
END_TEST

/* 0 if every chain of a family ends in a rule that lets nothing pass. */
static int is_open(const void *arg)
{
	static const char *const last[] = { "-A INPUT -j DROP\n",
					    "-A FORWARD -j DROP\n",
					    "-A OUTPUT -j REFUSED\n" };
	struct kg_error failed = KG_ERROR_INIT;
	char line[256];
	size_t i, closed = 0;
	FILE *f;

	if (kg_role_lend(KG_BIT64(CAP_NET_ADMIN) | KG_BIT64(CAP_NET_RAW),
			 &failed))
		return 254;
	f = popen(arg, "re");
	while (fgets(line, sizeof(line), f))
		for (i = 0; i < KG_ARRAY_LEN(last); i++)
			closed += strcmp(line, last[i]) == 0;
	return pclose(f) != 0 || closed != KG_ARRAY_LEN(last);
}

static int has_link(const void *arg)
{
	(void)arg;
	return if_nametoindex("tap0") != 0;
}

START_TEST(has_closed_the_box_before_a_link_exists)
{
	if (lacks_programs())
		return;
	start_gate();
	expect_ready();
	ck_assert_int_eq(kg_ownnet_in_box(&scene.net, is_open,
					  "iptables-save -t filter"),
			 0);
	ck_assert_int_eq(kg_ownnet_in_box(&scene.net, is_open,
					  "ip6tables-save -t filter"),
			 0);
	ck_assert_int_eq(kg_ownnet_in_box(&scene.net, has_link, NULL), 0);
	ck_assert(!kg_fd_is_ready(scene.worker.fd));
	end_scene();
}
END_TEST

START_TEST(has_addresses_in_force_when_it_says_so)
{
	if (lacks_programs())
		return;
	start_whole();
	expect("198.51.100.7", 80, false);
	open_address("198.51.100.7", 0, 0);
	open_address("198.51.100.8", 443, 300);
	open_address("2001:db8::8", 80, 300);
	sync_addresses(1);
	expect("198.51.100.7", 80, true);
	expect("198.51.100.8", 443, true);
	expect("198.51.100.8", 80, false);
	expect("2001:db8::8", 80, true);
	expect("2001:db8::8", 443, false);
	open_address("198.51.100.7", 0, 60);
	sync_addresses(INT32_MAX);
	expect("198.51.100.7", 80, true);
	end_scene();
}
END_TEST

/* 1 if an address is in the set for every port of its family, else 0. */
static int is_in_set(const void *arg)
{
	const char *addr = arg;
	int family = strchr(addr, ':') ? AF_INET6 : AF_INET, answer;
	struct nfgenmsg gen = { .nfgen_family = (uint8_t)family };
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc_simple(
		NFNL_SUBSYS_IPSET << 8 | IPSET_CMD_TEST, NLM_F_REQUEST);
	unsigned char raw[16];
	struct nlattr *data, *ip;

	(void)inet_pton(family, addr, raw);
	nl_connect(sock, NETLINK_NETFILTER);
	nlmsg_append(msg, &gen, sizeof(gen), NLMSG_ALIGNTO);
	nla_put_u8(msg, IPSET_ATTR_PROTOCOL, IPSET_PROTOCOL_MIN);
	nla_put_string(msg, IPSET_ATTR_SETNAME,
		       kg_sets_name(family, KG_SET_ADDR));
	data = nla_nest_start(msg, IPSET_ATTR_DATA | NLA_F_NESTED);
	ip = nla_nest_start(msg, IPSET_ATTR_IP | NLA_F_NESTED);
	nla_put(msg,
		(family == AF_INET ? IPSET_ATTR_IPADDR_IPV4
				   : IPSET_ATTR_IPADDR_IPV6) |
			NLA_F_NET_BYTEORDER,
		family == AF_INET ? 4 : 16, raw);
	nla_nest_end(msg, ip);
	nla_nest_end(msg, data);
	answer = nl_send_sync(sock, msg);
	nl_socket_free(sock);
	return answer == 0;
}

START_TEST(passes_over_reserved_addresses)
{
	static const char *const addresses[] = {
		"127.0.0.1", "169.254.169.254",	 "10.0.2.2", "224.0.0.1",
		"::1",	     "::ffff:127.0.0.1", "fe80::1",  "fd00::2",
	};
	size_t i;

	if (lacks_programs())
		return;
	start_whole();
	for (i = 0; i < KG_ARRAY_LEN(addresses); i++)
		open_address(addresses[i], 0, 0);
	open_address("198.51.100.7", 0, 0);
	open_address("2001:db8::8", 0, 0);
	sync_addresses(2);
	for (i = 0; i < KG_ARRAY_LEN(addresses); i++)
		ck_assert_int_eq(
			kg_ownnet_in_box(&scene.net, is_in_set, addresses[i]),
			0);
	ck_assert_int_eq(
		kg_ownnet_in_box(&scene.net, is_in_set, "198.51.100.7"), 1);
	ck_assert_int_eq(kg_ownnet_in_box(&scene.net, is_in_set, "2001:db8::8"),
			 1);
	end_scene();
}
END_TEST

static uint64_t status_field(pid_t pid, const char *name)
{
	char path[64], line[256];
	uint64_t value = UINT64_MAX;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoull(line + strlen(name) + 1, NULL, 16);
	if (f)
		fclose(f);
	return value;
}

START_TEST(holds_one_capability_from_ready_on)
{
	static const char *const empty[] = { "CapInh", "CapAmb" };
	uint64_t one = KG_BIT64(CAP_NET_ADMIN);
	size_t i;

	if (lacks_programs())
		return;
	start_gate();
	expect_ready();
	ck_assert_uint_eq(status_field(scene.child.pid, "CapPrm"), one);
	ck_assert_uint_eq(status_field(scene.child.pid, "CapEff"), one);
	ck_assert_uint_eq(status_field(scene.child.pid, "NoNewPrivs"), 1);
	for (i = 0; i < KG_ARRAY_LEN(empty); i++)
		ck_assert_uint_eq(status_field(scene.child.pid, empty[i]), 0);
	ck_assert_int_eq(getsid(scene.child.pid), scene.child.pid);
	end_scene();
}
END_TEST

/* Only root may look into a process that hides. */
static bool holds(pid_t pid, const char *path)
{
	struct stat want, got;
	struct dirent *entry;
	char name[300];
	bool found = false;
	DIR *d;

	ck_assert_int_eq(stat(path, &want), 0);
	(void)snprintf(name, sizeof(name), "/proc/%d/fd", (int)pid);
	d = opendir(name);
	ck_assert_ptr_nonnull(d);
	while ((entry = readdir(d))) {
		(void)snprintf(name, sizeof(name), "/proc/%d/fd/%.20s",
			       (int)pid, entry->d_name);
		found |= stat(name, &got) == 0 && got.st_ino == want.st_ino &&
			 got.st_dev == want.st_dev;
	}
	closedir(d);
	return found;
}

START_TEST(keeps_no_descriptor_of_its_parent)
{
	int fd;

	if (geteuid() != 0 || lacks_programs())
		return;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert(holds(getpid(), dir));
	start_gate();
	expect_ready();
	ck_assert(!holds(scene.child.pid, dir));
	close(fd);
	end_scene();
}
END_TEST

static int ipv6_is_off(const void *arg)
{
	static const char *const names[] = { "all", "default", "lo" };
	size_t i;

	(void)arg;
	for (i = 0; i < KG_ARRAY_LEN(names); i++) {
		char path[128], c = '?';
		int fd;

		(void)snprintf(path, sizeof(path),
			       "/proc/sys/net/ipv6/conf/%s/disable_ipv6",
			       names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, &c, 1) != 1 || c != '1')
			return 0;
	}
	return 1;
}

START_TEST(leaves_no_ipv6_where_ip6tables_is_missing)
{
	if (lacks_programs())
		return;
	free(kg_take_ptr(scene.ip6tables));
	start_whole();
	ck_assert_int_eq(kg_ownnet_in_box(&scene.net, ipv6_is_off, NULL), 1);
	ck_assert_int_eq(ipv6_is_off(NULL), 0);
	expect("203.0.113.5", 80, true);
	expect("2001:db8::7", 80, false);
	open_address("2001:db8::8", 0, 0);
	sync_addresses(3);
	expect("2001:db8::8", 80, false);
	end_scene();
}
END_TEST

START_TEST(refuses_ipv6_where_the_plan_has_none)
{
	if (lacks_programs())
		return;
	scene.plan.ipv6 = false;
	start_whole();
	expect("203.0.113.5", 80, true);
	expect("2001:db8::7", 80, false);
	end_scene();
}
END_TEST

START_TEST(ends_with_the_worker)
{
	if (lacks_programs())
		return;
	start_whole();
	kg_frame_link_done(&scene.worker);
	expect_end(0);
	end_scene();
}
END_TEST

START_TEST(goes_on_without_the_resolver)
{
	if (lacks_programs())
		return;
	start_whole();
	open_address("198.51.100.7", 0, 0);
	sync_addresses(4);
	kg_frame_link_done(&scene.resolver);
	expect("198.51.100.7", 80, true);
	ck_assert(!kg_child_has_ended(&scene.child));
	kg_frame_link_done(&scene.worker);
	expect_end(0);
	end_scene();
}
END_TEST

START_TEST(reports_a_program_that_fails)
{
	if (lacks_programs())
		return;
	use_script("echo 'out of order' >&2; exit 3");
	start_gate();
	expect_failure(KG_E_NETNS, "out of order");
	end_scene();
}
END_TEST

START_TEST(reports_a_program_that_fails_after_its_commit)
{
	char fifo[300], body[700];
	int fd;

	if (lacks_programs())
		return;
	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	(void)snprintf(body, sizeof(body),
		       "iptables-restore -n; read x <%s; exit 5", fifo);
	use_script(body);
	start_gate();
	expect_ready();
	kg_ownnet_plug(&scene.net);
	fd = open(fifo, O_WRONLY | O_CLOEXEC);
	close(fd);
	expect_failure(KG_E_NETNS, "exit status 5");
	end_scene();
}
END_TEST

START_TEST(refuses_frames_that_arent_the_resolvers)
{
	if (lacks_programs())
		return;
	start_whole();
	ck_assert_int_eq(
		kg_frame_send_plain(scene.resolver.fd, KG_FRAME_GO, 0, 0, &err),
		0);
	expect_failure(KG_E_PROTOCOL, "GO");
	end_scene();
}
END_TEST

START_TEST(refuses_addresses_of_no_family)
{
	struct kg_frame f = KG_FRAME_INIT;

	if (lacks_programs())
		return;
	start_whole();
	f.type = KG_FRAME_ADDRESS;
	f.address.family = AF_UNIX;
	ck_assert_int_eq(kg_frame_send(scene.resolver.fd, &f, &err), 0);
	expect_failure(KG_E_PROTOCOL, "family");
	end_scene();
}
END_TEST

START_TEST(refuses_to_work_where_it_came_from)
{
	int userns_fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	int netns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (lacks_programs())
		return;
	start_in(userns_fd, netns_fd);
	expect_failure(KG_E_NETNS, "join the box");
	close(userns_fd);
	close(netns_fd);
	end_scene();
}
END_TEST

Suite *kg_suite(void);

Suite *kg_suite(void)
{
	Suite *s = suite_create("netns/gate");
	TCase *tc = tcase_create("gate");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, opens_listed_blocks_and_nothing_else);
	tcase_add_test(tc, has_closed_the_box_before_a_link_exists);
	tcase_add_test(tc, has_addresses_in_force_when_it_says_so);
	tcase_add_test(tc, passes_over_reserved_addresses);
	tcase_add_test(tc, holds_one_capability_from_ready_on);
	tcase_add_test(tc, keeps_no_descriptor_of_its_parent);
	tcase_add_test(tc, leaves_no_ipv6_where_ip6tables_is_missing);
	tcase_add_test(tc, refuses_ipv6_where_the_plan_has_none);
	tcase_add_test(tc, ends_with_the_worker);
	tcase_add_test(tc, goes_on_without_the_resolver);
	tcase_add_test(tc, reports_a_program_that_fails);
	tcase_add_test(tc, reports_a_program_that_fails_after_its_commit);
	tcase_add_test(tc, refuses_frames_that_arent_the_resolvers);
	tcase_add_test(tc, refuses_addresses_of_no_family);
	tcase_add_test(tc, refuses_to_work_where_it_came_from);
	suite_add_tcase(s, tc);
	return s;
}
