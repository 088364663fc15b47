/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/frame.h"
#include "common/role.h"
#include "common/scoped.h"
#include "common/seccomp.h"
#include "common/step.h"
#include "common/util.h"
#include "netns/dns.h"
#include "netns/join.h"
#include "netns/resolve.h"

#define UPSTREAM_PORT 53

/* The number of the one SYNC that is sent. */
#define SYNC_START 1

/* Short, so that no client keeps an address for longer than a change lasts. */
#define ANSWER_TTL_S 60

#define CLIENTS_MAX    16
#define CLIENT_IDLE_MS 10000

/* No query that a client has reason to send is larger. */
#define QUERY_MAX 4096

/* Room for the largest answer: KG_RESOLVE_ADDRS IPv6 addresses. */
#define ANSWER_MAX 4096

/* Datagrams or connections taken from one listener in a row. */
#define BURST 32

/* IPv4 and IPv6 loopback. */
#define FAMILIES 2

/* One TCP connection from inside the box. */
struct client {
	int fd; /* -1 while unused */
	uint64_t due_ns;
	size_t in_at;
	size_t out_at;
	size_t out_bytes;
	uint8_t in[2 + QUERY_MAX];
	uint8_t out[2 + ANSWER_MAX];
};

struct server {
	const struct kg_netplan *plan;
	struct kg_resolver start;
	struct kg_frame_link worker;
	struct kg_frame_link gate;
	bool worker_gone;
	struct kg_resolve *resolve;
	int udp[FAMILIES];
	int tcp[FAMILIES];
	struct client clients[CLIENTS_MAX];
};

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/* clang-format off */
#define ALLOW(call_, why_) { .call = (call_), .why = (why_) }

#ifdef SANITIZED
#define SANITIZER_RULES					\
	ALLOW("write",	     "its report"),		\
	ALLOW("mmap",	     "its own memory"),		\
	ALLOW("munmap",	     "its own memory"),		\
	ALLOW("madvise",     "its own memory"),		\
	ALLOW("getpid",	     "its report"),		\
	ALLOW("gettid",	     "its report"),		\
	ALLOW("sigaltstack", "its end"),		\
	ALLOW("sched_yield", "its locks"),
#else
#define SANITIZER_RULES
#endif

/*
 * What the loop needs and nothing else: a fault in the parser yields neither a
 * file, nor a program, nor a new socket.
 */
static const struct kg_seccomp_rule filter_rules[] = {
	ALLOW("recvfrom",	 "read DNS"),
	ALLOW("recvmsg",	 "read frames"),
	ALLOW("sendto",		 "write DNS and frames"),
	ALLOW("accept4",	 "DNS over TCP from the box"),
	ALLOW("connect",	 "give an upstream socket its server, or none"),
	ALLOW("close",		 "a client that has gone"),
	ALLOW("poll",		 "wait"),
	ALLOW("ppoll",		 "wait, where there is no poll"),
	ALLOW("ppoll_time64",	 "wait, on 32-bit machines"),
	ALLOW("restart_syscall", "a wait goes on after a stop"),
	ALLOW("clock_gettime",	 "deadlines, where the vDSO has no clock"),
	ALLOW("clock_gettime64", "deadlines, on 32-bit machines"),
	ALLOW("getrandom",	 "numbers of queries"),
	ALLOW("exit_group",	 "the end"),
	SANITIZER_RULES
};
/* clang-format on */

static const struct kg_seccomp_table filter = {
	.rules = filter_rules,
	.count = KG_ARRAY_LEN(filter_rules),
	.default_errnum = EPERM,
};

static int shed_descriptors(struct server *s, struct kg_error *err)
{
	const int keep[] = { s->worker.fd, s->gate.fd, s->start.userns_fd,
			     s->start.netns_fd };

	(void)err;
	kg_fd_close_others(keep, KG_ARRAY_LEN(keep));
	return 0;
}

static int join(struct server *s, struct kg_error *err)
{
	if (kg_join_net(s->start.userns_fd, s->start.netns_fd, err))
		return -1;
	kg_scope_close_(&s->start.userns_fd);
	kg_scope_close_(&s->start.netns_fd);
	return 0;
}

static socklen_t loopback(int family, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	ret->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		in->sin_port = htons(KG_DNS_PORT);
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(*in);
	}
	in6->sin6_port = htons(KG_DNS_PORT);
	in6->sin6_addr = in6addr_loopback;
	return sizeof(*in6);
}

static int listen_on(int family, int type, int *ret, struct kg_error *err)
{
	struct sockaddr_storage addr;
	socklen_t len = loopback(family, &addr);

	*ret = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*ret < 0 || bind(*ret, (const struct sockaddr *)&addr, len) ||
	    (type == SOCK_STREAM && listen(*ret, CLIENTS_MAX)))
		return kg_fail_system(err, "listen for the box's DNS");
	return 0;
}

static int make_sockets(struct server *s, struct kg_error *err)
{
	static const int families[FAMILIES] = { AF_INET, AF_INET6 };
	int i, used = s->plan->ipv6 ? FAMILIES : 1;

	for (i = 0; i < used; i++)
		if (listen_on(families[i], SOCK_DGRAM, &s->udp[i], err) ||
		    listen_on(families[i], SOCK_STREAM, &s->tcp[i], err))
			return -1;
	return kg_resolve_open(s->plan, KG_DNS_MARK, &s->resolve, err);
}

static int enter_role(struct server *s, struct kg_error *err)
{
	if (kg_role_enter(KG_ROLE_RESOLVER, s->start.parent, err))
		return -1;
	return kg_role_hide(err);
}

static int close_filter(struct server *s, struct kg_error *err)
{
	(void)s;
	return kg_seccomp_load(&filter, err);
}

static int say_ready(struct server *s, struct kg_error *err)
{
	return kg_frame_send_plain(s->worker.fd, KG_FRAME_READY, 0, 0, err);
}

/* Nothing but GO is ever said, once; and the end. */
static int hear_worker(struct server *s, struct kg_error *err)
{
	struct kg_frame frame;
	int rc = kg_frame_recv(&s->worker, &frame, err);

	if (rc == 1 && frame.type != KG_FRAME_GO)
		return kg_fail(err, KG_E_PROTOCOL, 0, "%s frame from %s",
			       kg_frame_name((enum kg_frame_type)frame.type),
			       kg_role_spec(s->worker.from)->name);
	if (rc < 0 && err->code == KG_E_SANDBOX)
		s->worker_gone = true;
	return rc;
}

/* The worker holds the deadline of this wait, and ends this process. */
static int wait_for_go(struct server *s, struct kg_error *err)
{
	struct pollfd pfd = { .fd = s->worker.fd, .events = POLLIN };
	int rc;

	do {
		if (poll(&pfd, 1, -1) < 0 && errno != EINTR)
			return kg_fail_system(err, "wait for the worker");
		rc = hear_worker(s, err);
	} while (rc == 0);
	return rc < 0 ? -1 : 0;
}

static int resolve_hosts(struct server *s, struct kg_error *err)
{
	struct kg_resolve_options options = {
		.upstream = { .sin_family = AF_INET,
			      .sin_port = htons(UPSTREAM_PORT) },
		.timeout_ms = kg_wait_ms(KG_WAIT_HOSTS),
		.stop_fd = s->worker.fd,
	};

	(void)inet_pton(AF_INET, KG_GUEST_DNS4, &options.upstream.sin_addr);
	if (kg_resolve_run(s->resolve, &options, err)) {
		if (err->code == KG_E_SANDBOX)
			(void)hear_worker(s, err);
		return -1;
	}
	kg_resolve_disarm(s->resolve);
	return 0;
}

static int open_address(const struct server *s,
			const struct kg_netplan_name *name, int family,
			const struct kg_dns_addr *addr, struct kg_error *err)
{
	struct kg_frame frame = KG_FRAME_INIT;
	size_t i = 0;

	frame.type = KG_FRAME_ADDRESS;
	frame.address.family = (uint16_t)family;
	memcpy(frame.address.addr, addr->bytes, sizeof(frame.address.addr));
	do {
		frame.address.port = name->port_count ? name->ports[i] : 0;
		if (kg_frame_send(s->gate.fd, &frame, err))
			return -1;
	} while (++i < name->port_count);
	return 0;
}

static int open_name(const struct server *s, size_t index, int family,
		     struct kg_error *err)
{
	const struct kg_dns_addr *addrs;
	size_t count, i;

	addrs = kg_resolve_addrs(s->resolve, index, family, &count);
	for (i = 0; i < count; i++)
		if (open_address(s, &s->plan->names[index], family, &addrs[i],
				 err))
			return -1;
	return 0;
}

static int wait_for_gate(struct server *s, struct kg_error *err)
{
	uint64_t since_ns = kg_now_ns();
	struct kg_frame frame;
	int rc;

	while (kg_fd_wait(s->gate.fd, kg_deadline_ms(since_ns, KG_WAIT_PEER))) {
		rc = kg_frame_recv(&s->gate, &frame, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			continue;
		if (frame.type != KG_FRAME_SYNCED ||
		    frame.value.a != SYNC_START)
			return kg_fail(err, KG_E_PROTOCOL, 0,
				       "unexpected frame from %s",
				       kg_role_spec(s->gate.from)->name);
		return 0;
	}
	return kg_fail(err, KG_E_TIMEOUT, 0,
		       "%s did not open the addresses in time",
		       kg_role_spec(s->gate.from)->name);
}

static int open_hosts(struct server *s, struct kg_error *err)
{
	size_t i;

	if (s->plan->name_count == 0)
		return 0;
	for (i = 0; i < s->plan->name_count; i++)
		if (open_name(s, i, AF_INET, err) ||
		    open_name(s, i, AF_INET6, err))
			return -1;
	if (kg_frame_send_plain(s->gate.fd, KG_FRAME_SYNC, SYNC_START, 0, err))
		return -1;
	return wait_for_gate(s, err);
}

static int say_open(struct server *s, struct kg_error *err)
{
	(void)err;
	kg_frame_send_step(s->worker.fd, KG_STEP_HOSTS);
	return 0;
}

static struct kg_dns_answer decide(const struct server *s,
				   const struct kg_dns_query *query)
{
	struct kg_dns_answer answer = { .rcode = query->problem,
					.ttl_s = ANSWER_TTL_S };
	const struct kg_netplan_name *name;

	if (answer.rcode != KG_DNS_NOERROR)
		return answer;
	name = kg_netplan_find(s->plan, query->name);
	if (!name || query->class != KG_DNS_CLASS_IN) {
		answer.rcode = KG_DNS_REFUSED;
		return answer;
	}
	if (query->type != KG_DNS_A && query->type != KG_DNS_AAAA)
		return answer;

	answer.type = query->type;
	answer.addrs = kg_resolve_addrs(
		s->resolve, (size_t)(name - s->plan->names),
		query->type == KG_DNS_A ? AF_INET : AF_INET6, &answer.count);
	return answer;
}

/* The length of the response, 0 if there is none. */
static size_t respond(const struct server *s, const struct kg_dns_query *query,
		      uint8_t *buf, size_t room)
{
	struct kg_dns_answer answer = decide(s, query);

	return kg_dns_build_response(query, &answer, buf, room);
}

/*
 * The answer leaves by the socket that the query came to: the kernel turns the
 * redirection back by that flow.  A full socket loses it, as a wire would.
 */
static void serve_udp(const struct server *s, int fd)
{
	uint8_t msg[QUERY_MAX], buf[KG_DNS_UDP_BYTES];
	struct sockaddr_storage peer;
	struct kg_dns_query query;
	socklen_t peer_bytes;
	unsigned burst;
	ssize_t n;
	size_t len;

	for (burst = 0; burst < BURST; burst++) {
		peer_bytes = sizeof(peer);
		n = recvfrom(fd, msg, sizeof(msg), 0, (struct sockaddr *)&peer,
			     &peer_bytes);
		if (n < 0)
			return;
		if (!kg_dns_parse_query(msg, (size_t)n, &query))
			continue;
		len = respond(s, &query, buf, query.room_bytes);
		if (len)
			(void)sendto(fd, buf, len, MSG_NOSIGNAL,
				     (const struct sockaddr *)&peer,
				     peer_bytes);
	}
}

static struct client *free_client(struct server *s)
{
	size_t i;

	for (i = 0; i < CLIENTS_MAX; i++)
		if (s->clients[i].fd < 0)
			return &s->clients[i];
	return NULL;
}

static void touch_client(struct client *c)
{
	c->due_ns = kg_now_ns() + (uint64_t)CLIENT_IDLE_MS * 1000000;
}

static void accept_clients(struct server *s, int fd)
{
	struct client *c;
	unsigned burst;

	for (burst = 0; burst < BURST; burst++) {
		c = free_client(s);
		if (!c)
			return;
		c->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (c->fd < 0)
			return;
		c->in_at = 0;
		c->out_at = 0;
		c->out_bytes = 0;
		touch_client(c);
	}
}

static bool is_writing(const struct client *c)
{
	return c->out_at < c->out_bytes;
}

static bool is_only_waiting(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static int flush_client(struct client *c)
{
	ssize_t n;

	while (is_writing(c)) {
		n = send(c->fd, c->out + c->out_at, c->out_bytes - c->out_at,
			 MSG_NOSIGNAL);
		if (n < 0)
			return is_only_waiting(n) ? 0 : -1;
		c->out_at += (size_t)n;
	}
	return 0;
}

/* Answer the first whole message; 1 if there was one. */
static int answer_client(const struct server *s, struct client *c)
{
	struct kg_dns_query query;
	size_t len, used;

	if (c->in_at < 2)
		return 0;
	len = (size_t)(c->in[0] << 8 | c->in[1]);
	if (len > QUERY_MAX)
		return -1;
	used = 2 + len;
	if (c->in_at < used)
		return 0;
	if (!kg_dns_parse_query(c->in + 2, len, &query))
		return -1;

	len = respond(s, &query, c->out + 2, ANSWER_MAX);
	c->out[0] = (uint8_t)(len >> 8);
	c->out[1] = (uint8_t)len;
	c->out_bytes = 2 + len;
	c->out_at = 0;
	c->in_at -= used;
	memmove(c->in, c->in + used, c->in_at);
	touch_client(c);
	return flush_client(c) ? -1 : 1;
}

static int read_client(struct client *c)
{
	ssize_t n = recv(c->fd, c->in + c->in_at, sizeof(c->in) - c->in_at, 0);

	if (n > 0)
		c->in_at += (size_t)n;
	return n > 0 || is_only_waiting(n) ? 0 : -1;
}

static void serve_client(const struct server *s, struct client *c)
{
	int rc = is_writing(c) ? flush_client(c) : read_client(c);

	if (rc == 0)
		rc = 1;
	while (rc == 1 && !is_writing(c))
		rc = answer_client(s, c);
	if (rc < 0)
		kg_scope_close_(&c->fd);
}

/* Milliseconds until the next client has been idle for too long, -1: none. */
static int drop_idle_clients(struct server *s)
{
	uint64_t now_ns = kg_now_ns();
	int wait_ms = -1, left_ms;
	size_t i;

	for (i = 0; i < CLIENTS_MAX; i++) {
		if (s->clients[i].fd < 0)
			continue;
		if (s->clients[i].due_ns <= now_ns) {
			kg_scope_close_(&s->clients[i].fd);
			continue;
		}
		left_ms = (int)((s->clients[i].due_ns - now_ns) / 1000000) + 1;
		if (wait_ms < 0 || left_ms < wait_ms)
			wait_ms = left_ms;
	}
	return wait_ms;
}

enum {
	POLL_WORKER,
	POLL_UDP,
	POLL_TCP = POLL_UDP + FAMILIES,
	POLL_CLIENT = POLL_TCP + FAMILIES,
	POLL_COUNT = POLL_CLIENT + CLIENTS_MAX,
};

/* Listeners rest while there is no room: clients wait in the backlog. */
static void list_descriptors(struct server *s, struct pollfd *ret)
{
	bool room = free_client(s);
	size_t i;

	ret[POLL_WORKER] = (struct pollfd){ .fd = s->worker.fd,
					    .events = POLLIN };
	for (i = 0; i < FAMILIES; i++) {
		ret[POLL_UDP + i] = (struct pollfd){ .fd = s->udp[i],
						     .events = POLLIN };
		ret[POLL_TCP + i] = (struct pollfd){ .fd = -1,
						     .events = POLLIN };
		if (room)
			ret[POLL_TCP + i].fd = s->tcp[i];
	}
	for (i = 0; i < CLIENTS_MAX; i++)
		ret[POLL_CLIENT + i] = (struct pollfd){
			.fd = s->clients[i].fd,
			.events = is_writing(&s->clients[i]) ? POLLOUT : POLLIN,
		};
}

static void serve_ready(struct server *s, const struct pollfd *pfds)
{
	size_t i;

	for (i = 0; i < FAMILIES; i++)
		if (pfds[POLL_UDP + i].revents)
			serve_udp(s, s->udp[i]);
	for (i = 0; i < CLIENTS_MAX; i++)
		if (pfds[POLL_CLIENT + i].revents)
			serve_client(s, &s->clients[i]);
	for (i = 0; i < FAMILIES; i++)
		if (pfds[POLL_TCP + i].revents)
			accept_clients(s, s->tcp[i]);
}

static int serve(struct server *s, struct kg_error *err)
{
	struct pollfd pfds[POLL_COUNT];
	int wait_ms;

	for (;;) {
		wait_ms = drop_idle_clients(s);
		list_descriptors(s, pfds);
		if (poll(pfds, POLL_COUNT, wait_ms) < 0) {
			if (errno != EINTR)
				return kg_fail_system(err, "wait for DNS");
			continue;
		}
		if (pfds[POLL_WORKER].revents && hear_worker(s, err) < 0)
			return -1;
		serve_ready(s, pfds);
	}
}

/*
 * The order is the security argument: every socket is made before the role is
 * entered, and the filter is closed before the first packet is read.
 */
static int (*const steps[])(struct server *s, struct kg_error *err) = {
	/* clang-format off */
	shed_descriptors,
	join,
	make_sockets,
	enter_role,
	close_filter,
	say_ready,
	wait_for_go,
	resolve_hosts,
	open_hosts,
	say_open,
	serve,
	/* clang-format on */
};

static struct server *make_server(const struct kg_resolver *start)
{
	struct server *s = calloc(1, sizeof(*s));
	size_t i;

	if (!s)
		return NULL;
	s->plan = start->plan;
	s->start = *start;
	s->worker = (struct kg_frame_link){ .fd = start->worker_fd,
					    .from = KG_ROLE_WORKER };
	s->gate = (struct kg_frame_link){ .fd = start->gate_fd,
					  .from = KG_ROLE_GATE };
	for (i = 0; i < FAMILIES; i++)
		s->udp[i] = s->tcp[i] = -1;
	for (i = 0; i < CLIENTS_MAX; i++)
		s->clients[i].fd = -1;
	return s;
}

void kg_resolver_main(void *ctx)
{
	const struct kg_resolver *start = ctx;
	struct server *s = make_server(start);
	struct kg_error err = KG_ERROR_INIT;
	size_t i;
	int rc;

	rc = s ? 0 : kg_fail_system(&err, "start the resolver");
	for (i = 0; rc == 0 && i < KG_ARRAY_LEN(steps); i++)
		rc = steps[i](s, &err);
	if (s && s->worker_gone)
		_exit(0);
	kg_frame_send_failed(start->worker_fd, &err);
	_exit(125);
}
