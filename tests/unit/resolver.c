/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/resolver.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/frame.h"
#include "common/scoped.h"
#include "common/spawn.h"
#include "common/util.h"
#include "netns/dns.h"

Suite *kg_suite(void);

/*
 * The test plays the worker, the gate and the clients inside the box.  A child
 * makes the box's namespaces, with 10.0.2.3 on their loopback, and is the DNS
 * server there.
 */

#define WAIT_MS 5000

/* Linux 5.19: the packet mark as ancillary data. */
#ifndef SO_RCVMARK
#define SO_RCVMARK 75
#endif

struct upstream {
	unsigned queries;
	unsigned marked;
	bool sees_marks;
};

static pid_t world_pid = -1;
static int userns_fd;
static int netns_fd;
static struct upstream *upstream;   /* shared with the server */
static struct kg_frame_link worker; /* the resolver as the worker sees it */
static struct kg_frame_link gate;   /* the resolver as the gate sees it */
static struct kg_child resolver;
static struct kg_error err;

static uint16_t web_ports[] = { 80, 443 };
static struct kg_netplan_name listed[] = {
	{ .name = "many.test" },
	{ .name = "one.test", .ports = web_ports, .port_count = 2 },
	{ .name = "two.test" },
};
static struct kg_netplan_name gone[] = { { .name = "gone.test" } };
static struct kg_netplan_name mute[] = { { .name = "mute.test" } };
static struct kg_netplan plan;

static const struct kg_dns_addr server_addrs[] = { { { 192, 0, 2, 1 } },
						   { { 192, 0, 2, 2 } } };

/* one: an address; two: two; gone: NXDOMAIN; mute: nothing at all. */
static size_t answer_upstream(const struct kg_dns_query *q, uint8_t *buf,
			      size_t room)
{
	struct kg_dns_addr many[64];
	struct kg_dns_answer answer = { .type = KG_DNS_A,
					.ttl_s = 1,
					.addrs = server_addrs };
	size_t i;

	if (strcmp(q->name, "mute.test") == 0)
		return 0;
	if (strcmp(q->name, "gone.test") == 0)
		answer.rcode = KG_DNS_NXDOMAIN;
	else if (q->type == KG_DNS_A)
		answer.count = strcmp(q->name, "one.test") == 0 ? 1 : 2;
	if (strcmp(q->name, "many.test") == 0) {
		memset(many, 0, sizeof(many));
		for (i = 0; i < KG_ARRAY_LEN(many); i++) {
			many[i].bytes[0] = q->type == KG_DNS_A ? 198 : 0x20;
			many[i].bytes[1] = q->type == KG_DNS_A ? 51 : 1;
			many[i].bytes[2] = 0x0d;
			many[i].bytes[3] = (uint8_t)i;
		}
		answer.addrs = many;
		answer.count = KG_ARRAY_LEN(many);
		answer.type = q->type;
	}
	return kg_dns_build_response(q, &answer, buf, room);
}

static void configure_loopback(void)
{
	kg_auto_close int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct sockaddr_in *addr = (struct sockaddr_in *)&req.ifr_addr;

	if (ioctl(fd, SIOCSIFFLAGS, &req))
		_exit(1);
	strcpy(req.ifr_name, "lo:1");
	*addr = (struct sockaddr_in){ .sin_family = AF_INET };
	(void)inet_pton(AF_INET, KG_GUEST_DNS4, &addr->sin_addr);
	if (ioctl(fd, SIOCSIFADDR, &req))
		_exit(1);
}

static ssize_t take_query(int fd, uint8_t *msg, size_t len,
			  struct sockaddr_in *peer)
{
	struct iovec iov = { .iov_base = msg, .iov_len = len };
	char control[CMSG_SPACE(sizeof(uint32_t))];
	struct msghdr hdr = { .msg_name = peer,
			      .msg_namelen = sizeof(*peer),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &hdr, 0);
	struct cmsghdr *c = CMSG_FIRSTHDR(&hdr);
	uint32_t mark = 0;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_MARK)
		memcpy(&mark, CMSG_DATA(c), sizeof(mark));
	upstream->queries++;
	upstream->marked += mark == KG_DNS_MARK;
	return n;
}

_Noreturn static void be_world(int ready_fd)
{
	uint8_t msg[KG_DNS_MESSAGE_BYTES];
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(53) };
	socklen_t len = sizeof(addr);
	struct kg_dns_query query;
	int fd, on = 1;
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		_exit(1);
	configure_loopback();
	(void)inet_pton(AF_INET, KG_GUEST_DNS4, &addr.sin_addr);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	upstream->sees_marks = setsockopt(fd, SOL_SOCKET, SO_RCVMARK, &on,
					  sizeof(on)) == 0;
	if (bind(fd, (struct sockaddr *)&addr, len) ||
	    write(ready_fd, "", 1) != 1)
		_exit(1);
	for (;;) {
		n = take_query(fd, msg, 512, &addr);
		if (n < 0 || !kg_dns_parse_query(msg, (size_t)n, &query))
			continue;
		n = (ssize_t)answer_upstream(&query, msg, sizeof(msg));
		if (n)
			(void)sendto(fd, msg, (size_t)n, 0,
				     (struct sockaddr *)&addr, len);
	}
}

static int open_ns(const char *name)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)world_pid,
		       name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static void make_world(void)
{
	kg_auto_close int ready = -1;
	int ends[2];
	char byte;

	upstream = mmap(NULL, sizeof(*upstream), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ready = ends[0];
	world_pid = fork();
	if (world_pid == 0)
		be_world(ends[1]);
	(void)close(ends[1]);
	ck_assert_int_eq(read(ready, &byte, 1), 1);
	userns_fd = open_ns("user");
	netns_fd = open_ns("net");
}

/* The resolver starts outside, as a worker's child does. */
static void start_resolver(bool ipv6, struct kg_netplan_name *names,
			   size_t name_count)
{
	struct kg_resolver start = { .parent = getpid(), .plan = &plan };
	int to_worker[2], to_gate[2];

	plan = (struct kg_netplan){ .names = names,
				    .name_count = name_count,
				    .ipv6 = ipv6 };
	ck_assert_int_eq(kg_frame_pair(to_worker, &err), 0);
	ck_assert_int_eq(kg_frame_pair(to_gate, &err), 0);
	start.worker_fd = to_worker[1];
	start.gate_fd = to_gate[1];
	start.userns_fd = userns_fd;
	start.netns_fd = netns_fd;
	ck_assert_int_eq(
		kg_spawn_role(kg_resolver_main, &start, &resolver, &err), 0);
	(void)close(to_worker[1]);
	(void)close(to_gate[1]);
	worker = (struct kg_frame_link){ .fd = to_worker[0],
					 .from = KG_ROLE_RESOLVER };
	gate = (struct kg_frame_link){ .fd = to_gate[0],
				       .from = KG_ROLE_RESOLVER };
}

static void enter_world(void)
{
	ck_assert_int_eq(setns(userns_fd, CLONE_NEWUSER), 0);
	ck_assert_int_eq(setns(netns_fd, CLONE_NEWNET), 0);
}

static void end_all(void)
{
	kg_frame_link_done(&worker);
	kg_frame_link_done(&gate);
	kg_child_done(&resolver);
	kg_scope_reap_(&world_pid);
}

static struct kg_frame expect(struct kg_frame_link *link, unsigned type)
{
	struct kg_frame frame = KG_FRAME_INIT;
	int rc;

	do {
		ck_assert(kg_fd_wait(link->fd, 3 * WAIT_MS));
		rc = kg_frame_recv(link, &frame, &err);
		ck_assert_msg(rc >= 0, "%s", err.msg);
	} while (rc == 0);
	ck_assert_msg(frame.type == type, "%s: %s",
		      kg_frame_name((enum kg_frame_type)frame.type),
		      frame.type == KG_FRAME_FAILED ? frame.error.msg : "");
	return frame;
}

static void say_go(void)
{
	(void)expect(&worker, KG_FRAME_READY);
	ck_assert_int_eq(
		kg_frame_send_plain(worker.fd, KG_FRAME_GO, 0, 0, &err), 0);
}

/* Play the gate: swallow the addresses, say that they are open. */
static unsigned play_gate(void)
{
	struct kg_frame frame = KG_FRAME_INIT;
	unsigned addresses = 0;

	for (;;) {
		ck_assert(kg_fd_wait(gate.fd, WAIT_MS));
		ck_assert_int_ge(kg_frame_recv(&gate, &frame, &err), 0);
		if (frame.type == KG_FRAME_SYNC)
			break;
		ck_assert_uint_eq(frame.type, KG_FRAME_ADDRESS);
		addresses++;
	}
	ck_assert_int_eq(kg_frame_send_plain(gate.fd, KG_FRAME_SYNCED,
					     frame.value.a, 0, &err),
			 0);
	return addresses;
}

static void start_serving(bool ipv6)
{
	start_resolver(ipv6, listed, KG_ARRAY_LEN(listed));
	enter_world();
	say_go();
	(void)play_gate();
	(void)expect(&worker, KG_FRAME_STEP);
}

static int dial(int family, int type)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(KG_DNS_PORT) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(KG_DNS_PORT),
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	bool v4 = family == AF_INET;
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, v4 ? (struct sockaddr *)&in : (struct sockaddr *)&in6,
		    v4 ? sizeof(in) : sizeof(in6))) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static size_t receive(int fd, void *buf, size_t len, bool whole)
{
	size_t have = 0;
	ssize_t n;

	do {
		ck_assert(kg_fd_wait(fd, WAIT_MS));
		n = recv(fd, (uint8_t *)buf + have, len - have, 0);
		ck_assert_int_ge(n, 0);
		have += (size_t)n;
	} while (whole && n > 0 && have < len);
	return have;
}

static size_t ask_raw(int fd, bool tcp, const void *query, size_t len,
		      uint8_t *buf)
{
	uint8_t prefix[2] = { (uint8_t)(len >> 8), (uint8_t)len };

	if (!tcp) {
		ck_assert_int_eq(send(fd, query, len, 0), (ssize_t)len);
		return receive(fd, buf, KG_DNS_MESSAGE_BYTES, false);
	}
	ck_assert_int_eq(send(fd, prefix, 2, MSG_NOSIGNAL), 2);
	ck_assert_int_eq(send(fd, query, len, MSG_NOSIGNAL), (ssize_t)len);
	ck_assert_uint_eq(receive(fd, prefix, 2, true), 2);
	return receive(fd, buf, (size_t)(prefix[0] << 8 | prefix[1]), true);
}

static uint8_t answer_bytes[KG_DNS_MESSAGE_BYTES];

static struct kg_dns_response ask_on(int fd, bool tcp, const char *name,
				     unsigned type, bool edns)
{
	struct kg_dns_question question = { .id = 4711, .edns = edns };
	uint8_t query[KG_DNS_QUERY_BYTES];
	struct kg_dns_response response;
	size_t len;

	question.type = type;
	(void)snprintf(question.name, sizeof(question.name), "%s", name);
	len = kg_dns_build_query(&question, query, sizeof(query));
	ck_assert_uint_gt(len, 0);
	len = ask_raw(fd, tcp, query, len, answer_bytes);
	ck_assert(
		kg_dns_parse_response(answer_bytes, len, &question, &response));
	return response;
}

static struct kg_dns_response ask(const char *name, unsigned type)
{
	kg_auto_close int fd = dial(AF_INET, SOCK_DGRAM);

	return ask_on(fd, false, name, type, true);
}

START_TEST(reports_every_address_for_every_port_before_it_is_done)
{
	unsigned ports = 0, i;
	struct kg_frame frame;

	start_resolver(false, listed, KG_ARRAY_LEN(listed));
	enter_world();
	say_go();
	for (i = 0; i < 64 + 2 + 2; i++) {
		frame = expect(&gate, KG_FRAME_ADDRESS);
		ck_assert_uint_eq(frame.address.family, AF_INET);
		ck_assert_uint_eq(frame.address.ttl_s, 0);
		if (i == 64 || i == 65) {
			ck_assert_mem_eq(frame.address.addr,
					 server_addrs[0].bytes, 16);
			ports += frame.address.port;
		} else {
			ck_assert_uint_eq(frame.address.port, 0);
		}
	}
	ck_assert_uint_eq(ports, 80 + 443);
	frame = expect(&gate, KG_FRAME_SYNC);
	ck_assert_int_eq(frame.value.a, 1);

	/* Not before the gate has said so. */
	ck_assert(!kg_fd_is_ready(worker.fd));
	ck_assert_int_eq(
		kg_frame_send_plain(gate.fd, KG_FRAME_SYNCED, 1, 0, &err), 0);
	frame = expect(&worker, KG_FRAME_STEP);
	ck_assert_uint_eq(frame.step.step, KG_STEP_HOSTS);
}
END_TEST

START_TEST(marks_its_own_queries)
{
	start_serving(true);
	ck_assert_uint_eq(upstream->queries, 6);
	if (upstream->sees_marks)
		ck_assert_uint_eq(upstream->marked, 6);
}
END_TEST

START_TEST(sends_no_query_before_it_is_told_to_go)
{
	start_resolver(false, listed, KG_ARRAY_LEN(listed));
	(void)expect(&worker, KG_FRAME_READY);
	ck_assert(!kg_fd_wait(gate.fd, 100));
	ck_assert_uint_eq(upstream->queries, 0);
}
END_TEST

START_TEST(serves_without_a_name_and_refuses_everything)
{
	start_resolver(false, NULL, 0);
	enter_world();
	say_go();
	(void)expect(&worker, KG_FRAME_STEP);
	ck_assert(!kg_fd_is_ready(gate.fd));
	ck_assert_uint_eq(ask("one.test", KG_DNS_A).rcode, KG_DNS_REFUSED);
	ck_assert_uint_eq(upstream->queries, 0);
}
END_TEST

START_TEST(answers_listed_names_and_refuses_the_rest_without_a_packet)
{
	static const struct {
		const char *name;
		unsigned type;
		unsigned rcode;
		unsigned count;
	} rows[] = {
		{ "one.test", KG_DNS_A, KG_DNS_NOERROR, 1 },
		{ "two.test", KG_DNS_A, KG_DNS_NOERROR, 2 },
		{ "two.test", KG_DNS_AAAA, KG_DNS_NOERROR, 0 },
		{ "two.test", 16, KG_DNS_NOERROR, 0 },
		{ "two.test", 255, KG_DNS_NOERROR, 0 },
		{ "secret.not-listed.test", KG_DNS_A, KG_DNS_REFUSED, 0 },
		{ "secret.one.test", KG_DNS_A, KG_DNS_REFUSED, 0 },
		{ "one.test.test", KG_DNS_A, KG_DNS_REFUSED, 0 },
		{ "test", KG_DNS_A, KG_DNS_REFUSED, 0 },
		{ "3.2.0.10.in-addr.arpa", 12, KG_DNS_REFUSED, 0 },
	};
	struct kg_dns_response response;
	struct kg_dns_record record;
	unsigned before;
	size_t i;

	start_serving(false);
	before = upstream->queries;
	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		response = ask(rows[i].name, rows[i].type);
		ck_assert_uint_eq(response.rcode, rows[i].rcode);
		ck_assert_uint_eq(response.count, rows[i].count);
		while (kg_dns_next_record(&response, &record) == 1) {
			ck_assert_str_eq(record.name, rows[i].name);
			ck_assert_uint_eq(record.ttl_s, 60);
		}
	}
	ck_assert_uint_eq(upstream->queries, before);
}
END_TEST

/* Number 1, RD, one question. */
#define ASK(flags) "\0\1" flags "\0\0\1\0\0\0\0\0\0"

START_TEST(answers_what_is_odd_as_the_protocol_wants)
{
	static const struct {
		const char *what;
		const char *query;
		size_t len;
		unsigned rcode;
		unsigned count;
	} rows[] = {
#define ROW(what_, query_, rcode_, count_) \
	{ what_, query_, sizeof(query_) - 1, rcode_, count_ }
		/* clang-format off */
		ROW("other case", ASK("\1") "\3oNe\4TEST\0\0\1\0\1", 0, 1),
		ROW("class CH", ASK("\1") "\3one\4test\0\0\1\0\3", 5, 0),
		ROW("the root", ASK("\1") "\0\0\2\0\1", 5, 0),
		ROW("a dot in a label",
		    ASK("\1") "\x8one.test\0\0\1\0\1", 5, 0),
		ROW("a NUL in a label", ASK("\1") "\4one\0\4test\0\0\1\0\1", 5,
		    0),
		ROW("cut short", ASK("\1") "\3one\4te", 1, 0),
		ROW("the header alone", ASK("\1"), 1, 0),
		ROW("an update", ASK("\x29") "\3one\4test\0\0\1\0\1", 4, 0),
		/* clang-format on */
	};
	kg_auto_close int fd = -1;
	size_t i, len;

	start_serving(false);
	fd = dial(AF_INET, SOCK_DGRAM);
	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		/* To these there is no answer: the next one is for the
		 * row. */
		ck_assert_int_eq(send(fd, "", 0, 0), 0);
		ck_assert_int_eq(send(fd, rows[i].query, 11, 0), 11);
		ck_assert_int_eq(send(fd, "\0\1\x81\0\0\1\0\0\0\0\0\0", 12, 0),
				 12);
		len = ask_raw(fd, false, rows[i].query, rows[i].len,
			      answer_bytes);
		ck_assert_uint_ge(len, KG_DNS_HEADER_BYTES);
		ck_assert_msg((answer_bytes[3] & 15) == (int)rows[i].rcode,
			      "%s", rows[i].what);
		ck_assert_msg(answer_bytes[7] == (int)rows[i].count, "%s",
			      rows[i].what);
	}
}
END_TEST

START_TEST(gives_the_whole_answer_over_tcp_alone)
{
	kg_auto_close int udp = -1;
	kg_auto_close int tcp = -1;
	struct kg_dns_response response;

	start_serving(true);
	udp = dial(AF_INET, SOCK_DGRAM);
	tcp = dial(AF_INET, SOCK_STREAM);

	response = ask_on(udp, false, "many.test", KG_DNS_A, false);
	ck_assert(response.truncated);
	ck_assert_uint_eq(response.count, 0);
	response = ask_on(udp, false, "many.test", KG_DNS_A, true);
	ck_assert(!response.truncated);
	ck_assert_uint_eq(response.count, 64);
	response = ask_on(udp, false, "many.test", KG_DNS_AAAA, true);
	ck_assert(response.truncated);
	response = ask_on(tcp, true, "many.test", KG_DNS_AAAA, false);
	ck_assert(!response.truncated);
	ck_assert_uint_eq(response.count, 64);
	response = ask_on(tcp, true, "many.test", KG_DNS_A, false);
	ck_assert_uint_eq(response.count, 64);
}
END_TEST

START_TEST(listens_on_ipv6_only_where_the_box_has_it)
{
	static const int types[] = { SOCK_DGRAM, SOCK_STREAM };
	struct kg_dns_response response;
	size_t i;

	start_serving(_i);
	for (i = 0; i < KG_ARRAY_LEN(types); i++) {
		bool tcp = types[i] == SOCK_STREAM;
		kg_auto_close int fd = dial(AF_INET6, types[i]);

		if (!_i && tcp)
			ck_assert_int_lt(fd, 0);
		if (!_i)
			continue;
		ck_assert_int_ge(fd, 0);
		response = ask_on(fd, tcp, "one.test", KG_DNS_A, true);
		ck_assert_uint_eq(response.count, 1);
	}
}
END_TEST

START_TEST(takes_tcp_messages_however_they_are_cut)
{
	static const char two[] = "\0\x1a" ASK(
		"\1") "\3one\4test\0\0\1\0\1"
		      "\0\x1a" ASK("\1") "\3two\4test\0\0\1\0\1";
	kg_auto_close int slow = -1;
	kg_auto_close int fast = -1;
	uint8_t buf[2 * 26 + 4 + 3 * 16];
	size_t i;

	start_serving(false);
	slow = dial(AF_INET, SOCK_STREAM);
	for (i = 0; i < sizeof(two) - 1; i++) {
		ck_assert_int_eq(send(slow, two + i, 1, MSG_NOSIGNAL), 1);
		ck_assert_uint_eq(ask("two.test", KG_DNS_A).count, 2);
	}
	ck_assert_uint_eq(receive(slow, buf, sizeof(buf), true), sizeof(buf));
	ck_assert_uint_eq(buf[1], 26 + 16);
	ck_assert_uint_eq(buf[2 + 26 + 16 + 1], 26 + 32);

	fast = dial(AF_INET, SOCK_STREAM);
	ck_assert_int_eq(send(fast, two, sizeof(two) - 1, MSG_NOSIGNAL),
			 sizeof(two) - 1);
	ck_assert_uint_eq(receive(fast, buf, sizeof(buf), true), sizeof(buf));
	ck_assert_uint_eq(buf[1], 26 + 16);
}
END_TEST

START_TEST(hangs_up_on_a_client_that_does_not_speak_dns)
{
	static const char *const greetings[] = { "GET / HTTP/1.1\r\n\r\n",
						 "\0\5hello and more" };
	uint8_t byte;
	size_t i;

	start_serving(false);
	for (i = 0; i < KG_ARRAY_LEN(greetings); i++) {
		kg_auto_close int fd = dial(AF_INET, SOCK_STREAM);

		ck_assert_int_eq(send(fd, greetings[i], 16, MSG_NOSIGNAL), 16);
		ck_assert(kg_fd_wait(fd, WAIT_MS));
		ck_assert_int_le(recv(fd, &byte, 1, 0), 0);
	}
	ck_assert_uint_eq(ask("one.test", KG_DNS_A).count, 1);
}
END_TEST

/*
 * A client that asks and asks and doesn't read costs one place and no more, and
 * gets every answer whole when it reads after all.
 */
START_TEST(serves_others_while_a_client_does_not_read)
{
	static const char query[] = "\0\x1b" ASK("\1") "\4many\4test\0\0\1\0\1";
	enum { QUERY = sizeof(query) - 1, ANSWER = 2 + 27 + 64 * 16 };
	static char burst[100 * QUERY];
	kg_auto_close int deaf = -1;
	kg_auto_close int other = -1;
	struct pollfd pfd;
	size_t sent = 0, i;
	ssize_t n = 0;
	int small = 4096;

	for (i = 0; i < sizeof(burst); i += QUERY)
		memcpy(burst + i, query, QUERY);
	start_serving(false);
	deaf = dial(AF_INET, SOCK_STREAM);
	ck_assert_int_eq(
		setsockopt(deaf, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)),
		0);
	pfd = (struct pollfd){ .fd = deaf, .events = POLLOUT };
	/* Nothing moves any more: the resolver waits for this client.
	 */
	while (n >= 0 && sent < 10000 * sizeof(burst) &&
	       poll(&pfd, 1, 300) == 1) {
		i = sent % sizeof(burst);
		n = send(deaf, burst + i, sizeof(burst) - i,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		sent += n > 0 ? (size_t)n : 0;
	}
	ck_assert_uint_lt(sent, 10000 * sizeof(burst));
	other = dial(AF_INET, SOCK_STREAM);
	ck_assert_uint_eq(ask_on(other, true, "one.test", KG_DNS_A, true).count,
			  1);
	ck_assert_uint_eq(ask("one.test", KG_DNS_A).count, 1);

	for (i = 0; i < sent / QUERY; i++) {
		ck_assert_uint_eq(receive(deaf, answer_bytes, ANSWER, true),
				  ANSWER);
		ck_assert_mem_eq(answer_bytes, "\4\x1b\0\1\x81\x80", 6);
	}
	ck_assert(!kg_fd_is_ready(deaf));
}
END_TEST

/* Sixteen idle clients are served nothing, and are gone after ten seconds. */
START_TEST(bounds_its_clients_and_drops_the_idle_ones)
{
	kg_auto_close int late = -1;
	int idle[16];
	uint8_t byte;
	size_t i;

	start_serving(false);
	for (i = 0; i < KG_ARRAY_LEN(idle); i++) {
		idle[i] = dial(AF_INET, SOCK_STREAM);
		ck_assert_int_ge(idle[i], 0);
	}
	late = dial(AF_INET, SOCK_STREAM);
	ck_assert_int_eq(send(late, "\0\x1a" ASK("\1") "\3one\4test\0\0\1\0\1",
			      28, MSG_NOSIGNAL),
			 28);
	ck_assert_uint_eq(ask("one.test", KG_DNS_A).count, 1);
	ck_assert(!kg_fd_wait(late, 300));
	ck_assert(kg_fd_wait(late, 15000));
	ck_assert_int_gt(recv(late, &byte, 1, 0), 0);
	for (i = 0; i < KG_ARRAY_LEN(idle); i++) {
		ck_assert(kg_fd_wait(idle[i], WAIT_MS));
		ck_assert_int_eq(recv(idle[i], &byte, 1, 0), 0);
		(void)close(idle[i]);
	}
}
END_TEST

static uint64_t status_field(const char *name, int base)
{
	kg_auto_file FILE *f = NULL;
	char line[256], path[64];
	uint64_t value = UINT64_MAX;

	(void)snprintf(path, sizeof(path), "/proc/%d/status",
		       (int)resolver.pid);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoull(line + strlen(name), NULL, base);
	return value;
}

START_TEST(holds_no_capability_and_is_filtered_before_it_is_ready)
{
	static const char *const sets[] = { "CapPrm:", "CapEff:", "CapInh:",
					    "CapAmb:" };
	size_t i;

	start_resolver(true, listed, KG_ARRAY_LEN(listed));
	(void)expect(&worker, KG_FRAME_READY);
	for (i = 0; i < KG_ARRAY_LEN(sets); i++)
		ck_assert_uint_eq(status_field(sets[i], 16), 0);
	ck_assert_uint_eq(status_field("NoNewPrivs:", 10), 1);
	ck_assert_uint_eq(status_field("Seccomp:", 10), 2);
}
END_TEST

/*
 * Three standard ones, two channels, two listeners, and nothing upstream.  (To
 * an ordinary user none of them shows: the process isn't dumpable.)
 */
START_TEST(keeps_no_way_out_while_it_serves)
{
	char path[64];
	int i, open_fds = 0;
	struct stat st;

	start_serving(false);
	ck_assert_uint_eq(ask("one.test", KG_DNS_A).count, 1);
	for (i = 0; i < 64; i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d",
			       (int)resolver.pid, i);
		open_fds += lstat(path, &st) == 0;
	}
	ck_assert_int_le(open_fds, 3 + 2 + 2);
}
END_TEST

static int status_of_resolver(void)
{
	int status = kg_child_wait(&resolver, WAIT_MS);

	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(ends_with_its_worker)
{
	switch (_i) {
	case 0:
		start_resolver(false, listed, KG_ARRAY_LEN(listed));
		(void)expect(&worker, KG_FRAME_READY);
		break;
	case 1:
		start_resolver(false, mute, 1);
		say_go();
		break;
	default:
		start_serving(false);
		break;
	}
	kg_frame_link_done(&worker);
	ck_assert_int_eq(status_of_resolver(), 0);
}
END_TEST

static void expect_failure(enum kg_errc code, const char *words)
{
	struct kg_frame frame = expect(&worker, KG_FRAME_FAILED);

	ck_assert_uint_eq(frame.error.code, code);
	ck_assert_msg(strstr(frame.error.msg, words), "%s", frame.error.msg);
	ck_assert_int_eq(status_of_resolver(), 125);
}

START_TEST(names_a_host_that_does_not_exist)
{
	start_resolver(false, gone, 1);
	say_go();
	expect_failure(KG_E_RESOLVE, "'gone.test' does not exist");
	ck_assert_int_eq(kg_frame_recv(&gate, &(struct kg_frame){ 0 }, &err),
			 -1);
}
END_TEST

START_TEST(fails_when_the_gate_breaks_the_rules)
{
	static const struct {
		enum kg_frame_type type;
		int number;
		enum kg_errc code;
		const char *words;
	} rows[] = {
		{ KG_FRAME_SYNCED, 2, KG_E_PROTOCOL, "kgate-gate" },
		{ KG_FRAME_READY, 0, KG_E_PROTOCOL, "kgate-gate" },
		{ KG_FRAME_GO, 0, KG_E_PROTOCOL, "kgate-gate" },
		{ KG_FRAME_COUNT, 0, KG_E_SANDBOX, "kgate-gate has ended" },
	};
	unsigned i;

	start_resolver(false, listed, KG_ARRAY_LEN(listed));
	say_go();
	for (i = 0; i < 64 + 2 + 2; i++)
		(void)expect(&gate, KG_FRAME_ADDRESS);
	(void)expect(&gate, KG_FRAME_SYNC);
	if (rows[_i].type == KG_FRAME_COUNT)
		kg_frame_link_done(&gate);
	else
		ck_assert_int_eq(kg_frame_send_plain(gate.fd, rows[_i].type,
						     rows[_i].number, 0, &err),
				 0);
	expect_failure(rows[_i].code, rows[_i].words);
}
END_TEST

START_TEST(names_a_gate_that_hangs)
{
	start_resolver(false, listed, KG_ARRAY_LEN(listed));
	say_go();
	expect_failure(KG_E_TIMEOUT, "kgate-gate did not open");
}
END_TEST

START_TEST(hears_nothing_but_go_and_only_once)
{
	if (_i == 0) {
		start_resolver(false, listed, KG_ARRAY_LEN(listed));
		(void)expect(&worker, KG_FRAME_READY);
		ck_assert_int_eq(kg_frame_send_plain(worker.fd, KG_FRAME_SIGNAL,
						     1, 0, &err),
				 0);
	} else {
		start_serving(false);
		ck_assert_int_eq(
			kg_frame_send_plain(worker.fd, KG_FRAME_GO, 0, 0, &err),
			0);
	}
	expect_failure(KG_E_PROTOCOL, "frame");
}
END_TEST

START_TEST(refuses_to_run_in_the_namespaces_it_came_from)
{
	(void)close(netns_fd);
	netns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	start_resolver(false, listed, KG_ARRAY_LEN(listed));
	expect_failure(KG_E_NETNS, "no network namespace of its own");
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("netns/resolver");
	TCase *start = tcase_create("start");
	TCase *serving = tcase_create("serving");
	TCase *end = tcase_create("end");

	tcase_add_checked_fixture(start, make_world, end_all);
	tcase_set_timeout(start, 30);
	tcase_add_test(start,
		       reports_every_address_for_every_port_before_it_is_done);
	tcase_add_test(start, marks_its_own_queries);
	tcase_add_test(start, sends_no_query_before_it_is_told_to_go);
	tcase_add_test(start, serves_without_a_name_and_refuses_everything);
	tcase_add_test(start,
		       holds_no_capability_and_is_filtered_before_it_is_ready);
	suite_add_tcase(s, start);

	tcase_add_checked_fixture(serving, make_world, end_all);
	tcase_set_timeout(serving, 60);
	tcase_add_test(
		serving,
		answers_listed_names_and_refuses_the_rest_without_a_packet);
	tcase_add_test(serving, answers_what_is_odd_as_the_protocol_wants);
	tcase_add_test(serving, gives_the_whole_answer_over_tcp_alone);
	tcase_add_loop_test(serving, listens_on_ipv6_only_where_the_box_has_it,
			    0, 2);
	tcase_add_test(serving, takes_tcp_messages_however_they_are_cut);
	tcase_add_test(serving, hangs_up_on_a_client_that_does_not_speak_dns);
	tcase_add_test(serving, serves_others_while_a_client_does_not_read);
	tcase_add_test(serving, bounds_its_clients_and_drops_the_idle_ones);
	tcase_add_test(serving, keeps_no_way_out_while_it_serves);
	suite_add_tcase(s, serving);

	tcase_add_checked_fixture(end, make_world, end_all);
	tcase_set_timeout(end, 30);
	tcase_add_loop_test(end, ends_with_its_worker, 0, 3);
	tcase_add_test(end, names_a_host_that_does_not_exist);
	tcase_add_loop_test(end, fails_when_the_gate_breaks_the_rules, 0, 4);
	tcase_add_test(end, names_a_gate_that_hangs);
	tcase_add_loop_test(end, hears_nothing_but_go_and_only_once, 0, 2);
	tcase_add_test(end, refuses_to_run_in_the_namespaces_it_came_from);
	suite_add_tcase(s, end);
	return s;
}
