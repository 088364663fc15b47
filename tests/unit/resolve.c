/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <arpa/inet.h>
#include <check.h>
#include <dirent.h>
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
#include <unistd.h>

#include "common/role.h"
#include "common/scoped.h"
#include "common/step.h"
#include "common/util.h"
#include "netns/resolve.h"

Suite *kg_suite(void);

/*
 * A DNS server of many faces answers on loopback, in namespaces of the test's
 * own.  The first label of a name says how; what it saw is counted in memory
 * that both processes share.
 */

#define PORTS_MAX 512

struct seen {
	unsigned udp;
	unsigned tcp;
	unsigned aaaa;
	unsigned without_edns;
	unsigned port_count;
	uint16_t ports[PORTS_MAX];
	uint16_t ids[PORTS_MAX];
};

struct packet {
	size_t len;
	uint8_t bytes[KG_DNS_MESSAGE_BYTES];
};

/* One query and where it came from. */
struct visit {
	struct seen *seen;
	struct kg_dns_query query;
	bool tcp;
	unsigned nth; /* queries for this name before this one */
	int fd;
	struct sockaddr_in peer;
	struct packet *out;
};

static struct seen *seen;
static struct sockaddr_in server;
static pid_t server_pid;
static int open_before;

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void put(struct packet *p, const void *bytes, size_t n)
{
	memcpy(p->bytes + p->len, bytes, n);
	p->len += n;
}

static void put16(struct packet *p, unsigned value)
{
	uint8_t b[2] = { (uint8_t)(value >> 8), (uint8_t)value };

	put(p, b, 2);
}

static void put_name(struct packet *p, const char *name)
{
	size_t n;
	uint8_t b;

	for (; *name; name += n + (name[n] == '.')) {
		n = strcspn(name, ".");
		b = (uint8_t)n;
		put(p, &b, 1);
		put(p, name, n);
	}
	put(p, "", 1);
}

/* The beginning of a response, without records yet. */
static void begin(struct visit *v, unsigned rcode, bool truncated)
{
	struct packet *p = v->out;

	p->len = 0;
	put16(p, v->query.id);
	put16(p, 0x8180 | rcode | (truncated ? 0x200 : 0));
	put16(p, 1);
	put16(p, 0);
	put16(p, 0);
	put16(p, 0);
	put(p, v->query.question, v->query.question_bytes);
}

static void add_record(struct visit *v, const char *name, unsigned type,
		       const void *data, size_t len)
{
	struct packet *p = v->out;

	put_name(p, name);
	put16(p, type);
	put16(p, 1);
	put16(p, 0);
	put16(p, 60);
	put16(p, (unsigned)len);
	put(p, data, len);
	if (++p->bytes[7] == 0)
		p->bytes[6]++;
}

static void add_alias(struct visit *v, const char *name, const char *target)
{
	struct packet data = { 0 };

	put_name(&data, target);
	add_record(v, name, KG_DNS_CNAME, data.bytes, data.len);
}

/* Records of another family than asked for stay away, as in a true server. */
static void add_addr(struct visit *v, const char *name, const char *text)
{
	uint8_t addr[16];
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;
	unsigned type = family == AF_INET ? KG_DNS_A : KG_DNS_AAAA;

	ck_assert_int_eq(inet_pton(family, text, addr), 1);
	if (type == v->query.type)
		add_record(v, name, type, addr, family == AF_INET ? 4 : 16);
}

static void add_many(struct visit *v, unsigned count)
{
	uint8_t addr[4] = { 198, 51, 0, 0 };
	unsigned i;

	for (i = 0; i < count; i++) {
		addr[2] = (uint8_t)(i >> 8);
		addr[3] = (uint8_t)i;
		add_record(v, v->query.name, KG_DNS_A, addr, 4);
	}
}

static void transmit(const struct visit *v, int fd)
{
	uint8_t prefix[2] = { (uint8_t)(v->out->len >> 8),
			      (uint8_t)v->out->len };

	if (v->tcp) {
		(void)send(fd, prefix, 2, MSG_NOSIGNAL);
		(void)send(fd, v->out->bytes, v->out->len, MSG_NOSIGNAL);
		return;
	}
	(void)sendto(fd, v->out->bytes, v->out->len, 0,
		     (const struct sockaddr *)&v->peer, sizeof(v->peer));
}

static void answer(struct visit *v)
{
	transmit(v, v->fd);
}

static void plain(struct visit *v)
{
	begin(v, 0, false);
	add_addr(v, v->query.name, "192.0.2.1");
	add_addr(v, v->query.name, "192.0.2.1");
	add_addr(v, v->query.name, "2001:db8::1");
	answer(v);
}

static void many(struct visit *v)
{
	begin(v, 0, false);
	if (v->query.type == KG_DNS_A)
		add_many(v, 512);
	answer(v);
}

static void big(struct visit *v)
{
	begin(v, 0, !v->tcp);
	add_many(v, v->tcp ? 100 : 1);
	answer(v);
}

static void alias(struct visit *v)
{
	begin(v, 0, false);
	add_addr(v, "deeper.test", "192.0.2.5");
	add_alias(v, "deep.test", "deeper.test");
	add_alias(v, v->query.name, "deep.test");
	add_addr(v, "stranger.test", "192.0.2.66");
	answer(v);
}

static void dangling(struct visit *v)
{
	begin(v, 0, false);
	add_alias(v, v->query.name, "plain.test");
	answer(v);
}

static void misled(struct visit *v)
{
	begin(v, KG_DNS_NXDOMAIN, false);
	add_alias(v, v->query.name, "nothing.test");
	answer(v);
}

static void circle(struct visit *v)
{
	begin(v, 0, false);
	add_alias(v, v->query.name, "circle2.test");
	add_alias(v, "circle2.test", v->query.name);
	answer(v);
}

/* stepN.test leads to step(N+1).test, by one answer each. */
static void step(struct visit *v)
{
	char next[32];

	(void)snprintf(next, sizeof(next), "step%d.test",
		       atoi(v->query.name + 4) + 1);
	begin(v, 0, false);
	add_alias(v, v->query.name, next);
	answer(v);
}

/* hopN.test, the same with an end. */
static void hop(struct visit *v)
{
	int n = atoi(v->query.name + 3);
	char next[32];

	if (n == 0) {
		plain(v);
		return;
	}
	(void)snprintf(next, sizeof(next), "hop%d.test", n - 1);
	begin(v, 0, false);
	add_alias(v, v->query.name, next);
	answer(v);
}

static void gone(struct visit *v)
{
	begin(v, KG_DNS_NXDOMAIN, false);
	answer(v);
}

static void empty(struct visit *v)
{
	begin(v, 0, false);
	answer(v);
}

static void six(struct visit *v)
{
	begin(v, 0, false);
	add_addr(v, v->query.name, "2001:db8::6");
	answer(v);
}

static void reserved(struct visit *v)
{
	begin(v, 0, false);
	add_addr(v, v->query.name, "127.0.0.1");
	add_addr(v, v->query.name, "10.0.2.5");
	add_addr(v, v->query.name, "169.254.1.1");
	add_addr(v, v->query.name, "::1");
	answer(v);
}

static void mixed(struct visit *v)
{
	begin(v, 0, false);
	add_addr(v, v->query.name, "127.0.0.1");
	add_addr(v, v->query.name, "10.1.2.3");
	add_addr(v, v->query.name, "0.0.0.0");
	add_addr(v, v->query.name, "224.0.0.1");
	add_addr(v, v->query.name, "::ffff:127.0.0.1");
	add_addr(v, v->query.name, "fe80::1");
	add_addr(v, v->query.name, "2001:db8::9");
	answer(v);
}

static void fails(struct visit *v)
{
	begin(v, KG_DNS_SERVFAIL, false);
	answer(v);
}

static void recovers(struct visit *v)
{
	if (v->nth == 0)
		fails(v);
	else
		plain(v);
}

static void late(struct visit *v)
{
	if (v->nth > 0)
		plain(v);
}

static void silent(struct visit *v)
{
	(void)v;
}

/* The true answer comes last; each of the others would be an address. */
static void liar(struct visit *v)
{
	kg_auto_close int stranger = socket(AF_INET, SOCK_DGRAM, 0);
	size_t at;

	begin(v, 0, false);
	add_addr(v, v->query.name, "192.0.2.66");
	v->out->bytes[1] ^= 1;
	answer(v);
	v->out->bytes[1] ^= 1;
	for (at = 12; at < 12u + v->query.question_bytes; at += 2) {
		v->out->bytes[at] ^= 1;
		answer(v);
		v->out->bytes[at] ^= 1;
	}
	v->out->bytes[2] ^= 0x80;
	answer(v);
	v->out->bytes[2] ^= 0x80;
	transmit(v, stranger);
	(void)sendto(v->fd, "", 0, 0, (struct sockaddr *)&v->peer,
		     sizeof(v->peer));
	plain(v);
}

/* The right number, but to every port that others asked from. */
static void crossed(struct visit *v)
{
	struct visit other = *v;
	unsigned i;

	begin(v, 0, false);
	add_addr(v, v->query.name, "192.0.2.66");
	for (i = 0; i < v->seen->port_count; i++) {
		other.peer.sin_port = v->seen->ports[i];
		if (other.peer.sin_port != v->peer.sin_port)
			transmit(&other, v->fd);
	}
	plain(v);
}

static void old(struct visit *v)
{
	if (!v->query.edns) {
		plain(v);
		return;
	}
	begin(v, KG_DNS_FORMERR, false);
	v->out->bytes[5] = 0;
	v->out->len = 12;
	answer(v);
}

static void mute6(struct visit *v)
{
	if (v->query.type == KG_DNS_A)
		plain(v);
}

static void only6mute(struct visit *v)
{
	if (v->query.type == KG_DNS_A)
		empty(v);
}

static void torn(struct visit *v)
{
	begin(v, 0, false);
	add_addr(v, v->query.name, "192.0.2.66");
	v->out->bytes[7]++;
	answer(v);
}

/* Truncated; and over TCP the end comes in the midst of the answer. */
static void hangs_up(struct visit *v)
{
	begin(v, 0, !v->tcp);
	add_addr(v, v->query.name, "192.0.2.66");
	if (v->tcp) {
		(void)send(v->fd, "\0\x40", 2, MSG_NOSIGNAL);
		(void)send(v->fd, v->out->bytes, 20, MSG_NOSIGNAL);
		return;
	}
	answer(v);
}

static void bulk(struct visit *v)
{
	char text[32];
	int n = atoi(v->query.name + 1);

	(void)snprintf(text, sizeof(text), "192.0.%d.%d", 3 + n / 200, n % 200);
	begin(v, 0, false);
	add_addr(v, v->query.name, text);
	answer(v);
}

static const struct {
	const char *prefix;
	void (*act)(struct visit *v);
} faces[] = {
	/* clang-format off */
	{ "plain", plain },	  { "many", many },
	{ "big", big },		  { "alias", alias },
	{ "dangling", dangling }, { "misled", misled },
	{ "circle", circle },	  { "step", step },
	{ "hop", hop },		  { "gone", gone },
	{ "empty", empty },	  { "six", six },
	{ "reserved", reserved }, { "mixed", mixed },
	{ "fails", fails },	  { "recovers", recovers },
	{ "late", late },	  { "silent", silent },
	{ "liar", liar },	  { "old", old },
	{ "mute6", mute6 },	  { "only6mute", only6mute },
	{ "crossed", crossed },
	{ "torn", torn },	  { "hangs", hangs_up },
	{ "n", bulk },
	/* clang-format on */
};

static void note(struct visit *v)
{
	static char names[PORTS_MAX][KG_HOST_NAME_BYTES];
	static uint16_t types[PORTS_MAX];
	unsigned n = v->seen->port_count, i;

	for (i = 0; i < n; i++)
		if (strcmp(names[i], v->query.name) == 0 &&
		    types[i] == v->query.type)
			v->nth++;
	if (n == PORTS_MAX)
		return;
	memcpy(names[n], v->query.name, sizeof(names[n]));
	types[n] = v->query.type;
	v->seen->ports[n] = v->peer.sin_port;
	v->seen->ids[n] = v->query.id;
	v->seen->port_count++;
}

static void visit(struct visit *v, const uint8_t *msg, size_t len)
{
	size_t i;

	if (!kg_dns_parse_query(msg, len, &v->query) ||
	    v->query.problem != KG_DNS_NOERROR)
		return;
	note(v);
	v->seen->udp += !v->tcp;
	v->seen->tcp += v->tcp;
	v->seen->aaaa += v->query.type == KG_DNS_AAAA;
	v->seen->without_edns += !v->query.edns;
	for (i = 0; i < KG_ARRAY_LEN(faces); i++)
		if (strncmp(v->query.name, faces[i].prefix,
			    strlen(faces[i].prefix)) == 0) {
			faces[i].act(v);
			return;
		}
}

static void serve_stream(int listener)
{
	static struct packet out;
	kg_auto_close int fd = accept(listener, NULL, NULL);
	struct visit v = { .seen = seen, .tcp = true, .fd = fd, .out = &out };
	uint8_t msg[512];
	size_t have = 0;
	ssize_t n = 1;

	while (n > 0 && (have < 2 || have < 2u + msg[1])) {
		n = recv(fd, msg + have, sizeof(msg) - have, 0);
		have += n > 0 ? (size_t)n : 0;
	}
	if (have > 2)
		visit(&v, msg + 2, have - 2);
}

_Noreturn static void serve(int udp, int tcp)
{
	static struct packet out;
	struct pollfd pfds[] = { { .fd = udp, .events = POLLIN },
				 { .fd = tcp, .events = POLLIN } };
	uint8_t msg[512];
	socklen_t len;
	ssize_t n;

	for (;;) {
		struct visit v = { .seen = seen, .fd = udp, .out = &out };

		(void)poll(pfds, 2, -1);
		if (pfds[1].revents)
			serve_stream(tcp);
		if (!pfds[0].revents)
			continue;
		len = sizeof(v.peer);
		n = recvfrom(udp, msg, sizeof(msg), 0,
			     (struct sockaddr *)&v.peer, &len);
		if (n > 0)
			visit(&v, msg, (size_t)n);
	}
}

static void raise_loopback(void)
{
	kg_auto_close int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	ck_assert_int_eq(ioctl(fd, SIOCSIFFLAGS, &req), 0);
}

static int bind_server(int type)
{
	socklen_t len = sizeof(server);
	int fd = socket(AF_INET, type, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&server, len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&server, &len), 0);
	return fd;
}

static void start_server(void)
{
	kg_auto_close int udp = -1;
	kg_auto_close int tcp = -1;

	ck_assert_int_eq(unshare(CLONE_NEWUSER | CLONE_NEWNET), 0);
	raise_loopback();
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(seen, MAP_FAILED);
	server = (struct sockaddr_in){ .sin_family = AF_INET };
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	udp = bind_server(SOCK_DGRAM);
	tcp = bind_server(SOCK_STREAM);
	ck_assert_int_eq(listen(tcp, 16), 0);

	server_pid = fork();
	if (server_pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(udp, tcp);
	}
	kg_scope_close_(&udp);
	kg_scope_close_(&tcp);
	open_before = count_open();
}

static void stop_server(void)
{
	ck_assert_int_eq(count_open(), open_before);
	kg_scope_reap_(&server_pid);
}

#define NAMES_MAX 300

static struct kg_netplan_name names[NAMES_MAX];
static struct kg_netplan plan;
static struct kg_resolve *resolve;
static struct kg_error err;

/* Resolve the names, separated by spaces. */
static int run_with(const char *list, bool ipv6, int timeout_ms, int stop_fd)
{
	struct kg_resolve_options options = { .upstream = server,
					      .timeout_ms = timeout_ms,
					      .stop_fd = stop_fd };
	size_t n;

	kg_resolve_close(resolve);
	plan = (struct kg_netplan){ .names = names, .ipv6 = ipv6 };
	for (; *list; list += n + (list[n] == ' ')) {
		n = strcspn(list, " ");
		(void)snprintf(names[plan.name_count++].name,
			       KG_HOST_NAME_BYTES, "%.*s", (int)n, list);
	}
	err = KG_ERROR_INIT;
	ck_assert_int_eq(kg_resolve_open(&plan, 7, &resolve, &err), 0);
	return kg_resolve_run(resolve, &options, &err);
}

static int run(const char *list)
{
	return run_with(list, false, 8000, -1);
}

static void close_run(void)
{
	kg_resolve_close(resolve);
	resolve = NULL;
}

/* Addresses of a name as text, separated by spaces. */
static const char *addrs(size_t index, int family)
{
	static char text[KG_RESOLVE_ADDRS * INET6_ADDRSTRLEN + 1];
	const struct kg_dns_addr *addr;
	size_t count, i, at = 0;

	text[0] = '\0';
	addr = kg_resolve_addrs(resolve, index, family, &count);
	for (i = 0; i < count; i++) {
		if (at)
			text[at++] = ' ';
		(void)inet_ntop(family, addr[i].bytes, text + at,
				INET6_ADDRSTRLEN);
		at += strlen(text + at);
	}
	return text;
}

static size_t count_of(size_t index, int family)
{
	size_t count;

	(void)kg_resolve_addrs(resolve, index, family, &count);
	return count;
}

START_TEST(resolves_names_in_both_families)
{
	ck_assert_int_eq(run_with("plain.test mixed.test", true, 8000, -1), 0);
	ck_assert_str_eq(addrs(0, AF_INET), "192.0.2.1");
	ck_assert_str_eq(addrs(0, AF_INET6), "2001:db8::1");
	ck_assert_str_eq(addrs(1, AF_INET), "10.1.2.3");
	ck_assert_str_eq(addrs(1, AF_INET6), "2001:db8::9");
	ck_assert_uint_eq(seen->udp, 4);
	close_run();
}
END_TEST

START_TEST(asks_for_ipv4_alone_where_there_is_no_ipv6)
{
	ck_assert_int_eq(run("plain.test"), 0);
	ck_assert_uint_eq(seen->udp, 1);
	ck_assert_uint_eq(seen->aaaa, 0);
	ck_assert_uint_eq(count_of(0, AF_INET6), 0);
	close_run();
}
END_TEST

START_TEST(has_nothing_to_do_without_names)
{
	ck_assert_int_eq(run(""), 0);
	ck_assert_uint_eq(seen->udp, 0);
	close_run();
}
END_TEST

START_TEST(resolves_many_names_over_few_ports)
{
	char list[NAMES_MAX * 10] = "";
	unsigned i, j, ports = 0;
	char want[32];

	for (i = 0; i < NAMES_MAX; i++)
		(void)snprintf(list + strlen(list), 12, "%sn%u.test",
			       i ? " " : "", i);
	ck_assert_int_eq(run(list), 0);
	for (i = 0; i < NAMES_MAX; i++) {
		(void)snprintf(want, sizeof(want), "192.0.%u.%u", 3 + i / 200,
			       i % 200);
		ck_assert_str_eq(addrs(i, AF_INET), want);
	}
	for (i = 0; i < seen->port_count; i++) {
		for (j = 0; j < i && seen->ports[j] != seen->ports[i]; j++)
			;
		ports += i == j;
	}
	ck_assert_uint_ge(ports, 8);
	ck_assert_uint_le(ports, 16);
	close_run();
}
END_TEST

START_TEST(draws_numbers_that_do_not_follow_each_other)
{
	unsigned i, near = 0;

	ck_assert_int_eq(run("n1.test n2.test n3.test n4.test n5.test n6.test "
			     "n7.test n8.test n9.test n10.test n11.test"),
			 0);
	for (i = 1; i < seen->port_count; i++)
		near += (uint16_t)(seen->ids[i] - seen->ids[i - 1] + 8) <= 16;
	ck_assert_uint_le(near, 2);
	close_run();
}
END_TEST

START_TEST(follows_aliases_inside_an_answer)
{
	ck_assert_int_eq(run("alias.test"), 0);
	ck_assert_str_eq(addrs(0, AF_INET), "192.0.2.5");
	ck_assert_uint_eq(seen->udp, 1);
	close_run();
}
END_TEST

START_TEST(asks_for_the_alias_that_an_answer_ends_with)
{
	ck_assert_int_eq(run_with("dangling.test hop16.test", true, 8000, -1),
			 0);
	ck_assert_str_eq(addrs(0, AF_INET), "192.0.2.1");
	ck_assert_str_eq(addrs(0, AF_INET6), "2001:db8::1");
	ck_assert_str_eq(addrs(1, AF_INET), "192.0.2.1");
	close_run();
}
END_TEST

START_TEST(keeps_no_more_addresses_than_there_is_room_for)
{
	ck_assert_int_eq(run("many.test plain.test"), 0);
	ck_assert_uint_eq(count_of(0, AF_INET), KG_RESOLVE_ADDRS);
	ck_assert_str_eq(addrs(1, AF_INET), "192.0.2.1");
	ck_assert_uint_eq(seen->tcp, 0);
	close_run();
}
END_TEST

/* More of them than there are TCP sockets. */
START_TEST(asks_over_tcp_when_an_answer_is_truncated)
{
	size_t i;

	ck_assert_int_eq(run("big1.test big2.test big3.test big4.test "
			     "big5.test big6.test big7.test"),
			 0);
	for (i = 0; i < plan.name_count; i++)
		ck_assert_uint_eq(count_of(i, AF_INET), KG_RESOLVE_ADDRS);
	ck_assert_uint_eq(seen->tcp, 7);
	close_run();
}
END_TEST

START_TEST(asks_again_when_a_query_is_lost)
{
	uint64_t since_ns = kg_now_ns();

	ck_assert_int_eq(run("late.test plain.test"), 0);
	ck_assert_str_eq(addrs(0, AF_INET), "192.0.2.1");
	ck_assert_uint_eq(seen->udp, 3);
	ck_assert_uint_lt(kg_now_ns() - since_ns, UINT64_C(2000000000));
	close_run();
}
END_TEST

START_TEST(asks_again_when_the_server_fails_once)
{
	ck_assert_int_eq(run("recovers.test"), 0);
	ck_assert_str_eq(addrs(0, AF_INET), "192.0.2.1");
	close_run();
}
END_TEST

START_TEST(is_not_misled_by_answers_to_other_questions)
{
	ck_assert_int_eq(run("liar.test"), 0);
	ck_assert_str_eq(addrs(0, AF_INET), "192.0.2.1");
	ck_assert_uint_eq(seen->udp, 1);
	close_run();
}
END_TEST

START_TEST(takes_an_answer_only_where_it_has_asked)
{
	ck_assert_int_eq(run("n1.test n2.test n3.test n4.test n5.test n6.test "
			     "n7.test n8.test n9.test crossed.test"),
			 0);
	ck_assert_str_eq(addrs(9, AF_INET), "192.0.2.1");
	close_run();
}
END_TEST

START_TEST(talks_to_a_server_that_does_not_know_edns)
{
	ck_assert_int_eq(run("old.test"), 0);
	ck_assert_str_eq(addrs(0, AF_INET), "192.0.2.1");
	ck_assert_uint_eq(seen->udp, 2);
	ck_assert_uint_eq(seen->without_edns, 1);
	close_run();
}
END_TEST

START_TEST(does_not_wait_for_ipv6_to_the_deadline)
{
	uint64_t since_ns = kg_now_ns();

	ck_assert_int_eq(run_with("mute6.test", true, 8000, -1), 0);
	ck_assert_str_eq(addrs(0, AF_INET), "192.0.2.1");
	ck_assert_uint_eq(count_of(0, AF_INET6), 0);
	ck_assert_uint_lt(kg_now_ns() - since_ns, UINT64_C(4000000000));
	close_run();
}
END_TEST

/* Each is told by its name and its own reason, whatever else is listed. */
START_TEST(names_the_host_and_says_why_it_has_no_address)
{
	static const struct {
		const char *name;
		const char *why;
	} rows[] = {
		{ "gone.test", "does not exist" },
		{ "misled.test", "does not exist" },
		{ "empty.test", "no usable address" },
		{ "only6mute.test", "no usable address" },
		{ "six.test", "only IPv6 addresses" },
		{ "reserved.test", "no usable address: it leads to loopback" },
		{ "circle.test", "CNAME" },
		{ "step0.test", "CNAME" },
		{ "hop17.test", "CNAME" },
		{ "fails.test", "answers with a failure" },
		{ "torn.test", "answers with a failure" },
	};
	char list[64];
	int ipv6;
	size_t i;

	for (i = 0; i < 2 * KG_ARRAY_LEN(rows); i++) {
		ipv6 = i % 2;
		(void)snprintf(list, sizeof(list), "plain.test %s n1.test",
			       rows[i / 2].name);
		ck_assert_msg(run_with(list, ipv6, 8000, -1) == -1, "%s",
			      rows[i / 2].name);
		ck_assert_int_eq(err.code, KG_E_RESOLVE);
		ck_assert_ptr_nonnull(strstr(err.msg, rows[i / 2].name));
		ck_assert_msg(strstr(err.msg, rows[i / 2].why), "%s", err.msg);
		ck_assert_ptr_nonnull(strchr(err.msg, ';'));
	}
	close_run();
}
END_TEST

START_TEST(keeps_nothing_of_a_broken_answer)
{
	ck_assert_int_eq(run("torn.test"), -1);
	ck_assert_uint_eq(count_of(0, AF_INET), 0);
	close_run();
}
END_TEST

START_TEST(gives_up_at_the_deadline)
{
	static const char *const silent_names[] = { "silent.test",
						    "hangs.test" };
	uint64_t since_ns;
	char list[64];
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(silent_names); i++) {
		since_ns = kg_now_ns();
		(void)snprintf(list, sizeof(list), "plain.test %s",
			       silent_names[i]);
		ck_assert_int_eq(run_with(list, true, 700, -1), -1);
		ck_assert_int_eq(err.code, KG_E_RESOLVE);
		ck_assert_ptr_nonnull(strstr(err.msg, silent_names[i]));
		ck_assert_ptr_nonnull(strstr(err.msg, "no answer"));
		ck_assert_uint_ge(kg_now_ns() - since_ns, 700 * 1000000);
		ck_assert_uint_lt(kg_now_ns() - since_ns, 3000 * 1000000ULL);
	}
	close_run();
}
END_TEST

/* The deadline passes while it is still unknown whether there is IPv6. */
START_TEST(never_takes_a_name_without_an_address_for_resolved)
{
	ck_assert_int_eq(run_with("only6mute.test", true, 500, -1), -1);
	ck_assert_int_eq(err.code, KG_E_RESOLVE);
	close_run();
}
END_TEST

START_TEST(is_content_with_ipv4_when_only_ipv6_is_late)
{
	ck_assert_int_eq(run_with("mute6.test", true, 300, -1), 0);
	ck_assert_str_eq(addrs(0, AF_INET), "192.0.2.1");
	close_run();
}
END_TEST

START_TEST(gives_up_when_nobody_listens)
{
	kg_scope_reap_(&server_pid);
	ck_assert_int_eq(run_with("plain.test", false, 600, -1), -1);
	ck_assert_int_eq(err.code, KG_E_RESOLVE);
	ck_assert_ptr_nonnull(strstr(err.msg, "no answer"));
	close_run();
}
END_TEST

START_TEST(says_that_no_route_leads_to_the_server)
{
	ck_assert_int_eq(inet_pton(AF_INET, "10.0.2.3", &server.sin_addr), 1);
	ck_assert_int_eq(run("plain.test"), -1);
	ck_assert_int_eq(err.code, KG_E_NETNS);
	close_run();
}
END_TEST

START_TEST(stops_when_it_is_told_to)
{
	kg_auto_close int in = -1;
	kg_auto_close int out = -1;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	in = ends[0];
	out = ends[1];
	kg_scope_close_(&out);
	ck_assert_int_eq(run_with("silent.test", false, 8000, in), -1);
	ck_assert_int_eq(err.code, KG_E_SANDBOX);
	close_run();
}
END_TEST

START_TEST(makes_no_sockets_after_it_was_opened_and_closes_them_on_demand)
{
	ck_assert_int_eq(run("plain.test big.test"), 0);
	ck_assert_int_eq(count_open(), open_before + 20);
	kg_resolve_disarm(resolve);
	kg_resolve_disarm(resolve);
	ck_assert_int_eq(count_open(), open_before);
	ck_assert_str_eq(addrs(0, AF_INET), "192.0.2.1");
	close_run();
}
END_TEST

/* SO_MARK wants CAP_NET_ADMIN: without it nothing is opened, or left open. */
START_TEST(does_not_go_without_its_mark)
{
	err = KG_ERROR_INIT;
	ck_assert_int_eq(kg_role_enter(KG_ROLE_RESOLVER, 0, &err), 0);
	ck_assert_int_eq(kg_resolve_open(&plan, 7, &resolve, &err), -1);
	ck_assert_int_eq(err.code, KG_E_SYSTEM);
	ck_assert_int_eq(err.errnum, EPERM);
	ck_assert_ptr_null(resolve);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("netns/resolve");
	TCase *good = tcase_create("found");
	TCase *bad = tcase_create("not found");

	tcase_add_checked_fixture(good, start_server, stop_server);
	tcase_set_timeout(good, 20);
	tcase_add_test(good, resolves_names_in_both_families);
	tcase_add_test(good, asks_for_ipv4_alone_where_there_is_no_ipv6);
	tcase_add_test(good, has_nothing_to_do_without_names);
	tcase_add_test(good, resolves_many_names_over_few_ports);
	tcase_add_test(good, draws_numbers_that_do_not_follow_each_other);
	tcase_add_test(good, follows_aliases_inside_an_answer);
	tcase_add_test(good, asks_for_the_alias_that_an_answer_ends_with);
	tcase_add_test(good, keeps_no_more_addresses_than_there_is_room_for);
	tcase_add_test(good, asks_over_tcp_when_an_answer_is_truncated);
	tcase_add_test(good, asks_again_when_a_query_is_lost);
	tcase_add_test(good, asks_again_when_the_server_fails_once);
	tcase_add_test(good, is_not_misled_by_answers_to_other_questions);
	tcase_add_test(good, takes_an_answer_only_where_it_has_asked);
	tcase_add_test(good, talks_to_a_server_that_does_not_know_edns);
	tcase_add_test(good, does_not_wait_for_ipv6_to_the_deadline);
	suite_add_tcase(s, good);

	tcase_add_checked_fixture(bad, start_server, stop_server);
	tcase_set_timeout(bad, 60);
	tcase_add_test(bad, names_the_host_and_says_why_it_has_no_address);
	tcase_add_test(bad, keeps_nothing_of_a_broken_answer);
	tcase_add_test(bad, gives_up_at_the_deadline);
	tcase_add_test(bad, never_takes_a_name_without_an_address_for_resolved);
	tcase_add_test(bad, is_content_with_ipv4_when_only_ipv6_is_late);
	tcase_add_test(bad, gives_up_when_nobody_listens);
	tcase_add_test(bad, says_that_no_route_leads_to_the_server);
	tcase_add_test(bad, stops_when_it_is_told_to);
	tcase_add_test(
		bad,
		makes_no_sockets_after_it_was_opened_and_closes_them_on_demand);
	tcase_add_test(bad, does_not_go_without_its_mark);
	suite_add_tcase(s, bad);
	return s;
}
