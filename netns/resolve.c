/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/resolve.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/host.h"
#include "common/scoped.h"
#include "common/step.h"
#include "common/util.h"

/*
 * slirp4netns opens a socket on the host for every source port it sees: few
 * ports, many questions on each.
 */
#define UDP_SOCKETS 16
#define TCP_SOCKETS 4
#define IN_FLIGHT   64

/* Links of one alias chain, over all answers. */
#define HOPS_MAX 16

/* Datagrams taken from one socket before the others are looked at. */
#define BURST 64

/* A server that fails this often means it. */
#define SERVER_FAILURES_MAX 2

/* From this transmission on without EDNS, in case something drops it. */
#define PLAIN_FROM 2

/*
 * IPv6 is a gift: a server that ignores AAAA mustn't hold up a launch when
 * everything else is there.
 */
#define IPV6_TRANSMISSIONS_MAX 2

#define TCP_GIVE_UP_MS 3000

/* Milliseconds between a transmission and the next; the last one repeats. */
static const int gaps_ms[] = { 400, 1000, 2000 };

/* What has become of a question. */
enum outcome {
	OUTCOME_PENDING, /* nothing final */
	OUTCOME_MOVED,	 /* another name is to be asked for */
	OUTCOME_TRUNCATED,
	OUTCOME_PLAIN,	/* the server doesn't take EDNS */
	OUTCOME_FAILED, /* the server failed, this time */
	OUTCOME_FOUND,
	OUTCOME_NXDOMAIN,
	OUTCOME_EMPTY,
	OUTCOME_RESERVED,
	OUTCOME_ONLY_IPV6,
	OUTCOME_CHAIN,
	OUTCOME_SERVER,
	OUTCOME_SILENT,

	OUTCOME_COUNT
};

/* What a user is told about a name without an address. */
static const struct {
	const char *what;
	const char *next;
} reports[OUTCOME_COUNT] = {
	/* clang-format off */
	[OUTCOME_NXDOMAIN] = {
		"does not exist",
		"check its spelling, or take it off the list" },
	[OUTCOME_EMPTY] = {
		"has no usable address: the DNS server knows it without one",
		"check its spelling, or take it off the list" },
	[OUTCOME_RESERVED] = {
		"has no usable address: it leads to loopback, link-local, "
		"multicast or the box's own range, which are never opened",
		"list another name for the service, or take it off the list" },
	[OUTCOME_ONLY_IPV6] = {
		"has only IPv6 addresses, and the box needs an IPv4 address",
		"list another name for the service, or take it off the list" },
	[OUTCOME_CHAIN] = {
		"has no usable address: its aliases (CNAME) go round in a "
		"circle, or are too many",
		"list the name that it should lead to" },
	[OUTCOME_SERVER] = {
		"could not be looked up: the DNS server answers with a failure",
		"try again, or check the DNS server in this machine's "
		"/etc/resolv.conf" },
	[OUTCOME_SILENT] = {
		"could not be looked up: no answer from the DNS server",
		"check the network and the DNS server in this machine's "
		"/etc/resolv.conf" },
	/* clang-format on */
};

enum slot_state {
	SLOT_FREE,
	SLOT_UDP,      /* asked, or to be asked, by UDP */
	SLOT_TCP_WAIT, /* waits for a TCP socket */
	SLOT_TCP,
};

/* One question on its way. */
struct slot {
	enum slot_state state;
	size_t index;	/* of the name in the plan */
	bool diagnosis; /* A is empty: is there AAAA? */
	unsigned socket;
	unsigned sent;
	unsigned hops;
	unsigned failures;
	uint64_t due_ns;
	struct kg_dns_question question;
};

struct stream {
	int fd;
	struct slot *slot; /* NULL while unused */
	uint64_t due_ns;
	size_t out_bytes;
	size_t out_at;
	size_t in_at;
	uint8_t out[2 + KG_DNS_QUERY_BYTES];
	uint8_t in[2 + KG_DNS_MESSAGE_BYTES];
};

struct kg_resolve {
	const struct kg_netplan *plan;
	struct kg_resolve_options options;
	size_t next; /* 2 * index of the next name, + 1 for AAAA */
	enum outcome failed;
	size_t failed_index;
	struct slot slots[IN_FLIGHT];
	int udp[UDP_SOCKETS];
	struct stream tcp[TCP_SOCKETS];
	uint8_t *counts;	   /* two for each name: IPv4, IPv6 */
	struct kg_dns_addr *addrs; /* KG_RESOLVE_ADDRS for each count */
	uint8_t message[KG_DNS_MESSAGE_BYTES];
};

static int make_socket(int type, uint32_t mark, int *ret, struct kg_error *err)
{
	*ret = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*ret < 0 || (mark && setsockopt(*ret, SOL_SOCKET, SO_MARK, &mark,
					    sizeof(mark))))
		return kg_fail_system(err, "make a socket for DNS queries");
	return 0;
}

static int make_sockets(struct kg_resolve *r, uint32_t mark,
			struct kg_error *err)
{
	size_t i;

	for (i = 0; i < UDP_SOCKETS; i++)
		if (make_socket(SOCK_DGRAM, mark, &r->udp[i], err))
			return -1;
	for (i = 0; i < TCP_SOCKETS; i++)
		if (make_socket(SOCK_STREAM, mark, &r->tcp[i].fd, err))
			return -1;
	return 0;
}

static void forget_sockets(struct kg_resolve *r)
{
	size_t i;

	for (i = 0; i < UDP_SOCKETS; i++)
		r->udp[i] = -1;
	for (i = 0; i < TCP_SOCKETS; i++)
		r->tcp[i].fd = -1;
}

int kg_resolve_open(const struct kg_netplan *plan, uint32_t mark,
		    struct kg_resolve **ret, struct kg_error *err)
{
	struct kg_resolve *r = calloc(1, sizeof(*r));

	if (!r)
		return kg_fail_system(err, "resolve the hosts");
	forget_sockets(r);
	r->plan = plan;

	/* Pages of addresses that never come are never touched. */
	r->counts = calloc(plan->name_count + 1, 2);
	r->addrs = calloc(plan->name_count + 1,
			  2 * KG_RESOLVE_ADDRS * sizeof(*r->addrs));
	if (!r->counts || !r->addrs)
		(void)kg_fail_system(err, "resolve the hosts");
	else if (make_sockets(r, mark, err) == 0) {
		*ret = r;
		return 0;
	}
	kg_resolve_close(r);
	return -1;
}

void kg_resolve_disarm(struct kg_resolve *r)
{
	size_t i;

	for (i = 0; i < UDP_SOCKETS; i++)
		kg_scope_close_(&r->udp[i]);
	for (i = 0; i < TCP_SOCKETS; i++)
		kg_scope_close_(&r->tcp[i].fd);
}

void kg_resolve_close(struct kg_resolve *r)
{
	if (!r)
		return;
	kg_resolve_disarm(r);
	free(r->counts);
	free(r->addrs);
	free(r);
}

static size_t group_of(size_t index, bool ipv6)
{
	return 2 * index + (ipv6 ? 1 : 0);
}

const struct kg_dns_addr *kg_resolve_addrs(const struct kg_resolve *r,
					   size_t index, int family,
					   size_t *ret_count)
{
	size_t group = group_of(index, family == AF_INET6);

	*ret_count = r->counts[group];
	return r->addrs + group * KG_RESOLVE_ADDRS;
}

static bool is_optional(const struct slot *slot)
{
	return slot->question.type == KG_DNS_AAAA;
}

/* False if it is one that is never opened. */
static bool keep_address(struct kg_resolve *r, const struct slot *slot,
			 const struct kg_dns_addr *addr)
{
	bool ipv6 = is_optional(slot);
	size_t group = group_of(slot->index, ipv6);
	struct kg_dns_addr *kept = r->addrs + group * KG_RESOLVE_ADDRS;
	size_t i;

	if (kg_host_is_reserved(ipv6 ? AF_INET6 : AF_INET, addr->bytes))
		return false;
	for (i = 0; i < r->counts[group]; i++)
		if (memcmp(&kept[i], addr, sizeof(*addr)) == 0)
			return true;
	if (r->counts[group] < KG_RESOLVE_ADDRS)
		kept[r->counts[group]++] = *addr;
	return true;
}

/* What one name has in an answer section: addresses, or else an alias. */
static enum outcome scan_answer(struct kg_resolve *r, const struct slot *slot,
				struct kg_dns_response *response,
				const char *name, char ret_target[])
{
	size_t group = group_of(slot->index, is_optional(slot));
	enum outcome outcome = OUTCOME_EMPTY;
	uint8_t before = r->counts[group];
	struct kg_dns_record record;
	int rc;

	kg_dns_rewind(response);
	while ((rc = kg_dns_next_record(response, &record)) == 1) {
		if (strcmp(record.name, name) != 0)
			continue;
		if (record.type == slot->question.type) {
			if (keep_address(r, slot, &record.addr))
				outcome = OUTCOME_FOUND;
			else if (outcome != OUTCOME_FOUND)
				outcome = OUTCOME_RESERVED;
		} else if (record.type == KG_DNS_CNAME &&
			   outcome == OUTCOME_EMPTY && record.target[0]) {
			memcpy(ret_target, record.target,
			       sizeof(record.target));
			outcome = OUTCOME_MOVED;
		}
	}
	if (rc == 0)
		return outcome;

	/* Nothing is believed of a message that is broken further on. */
	r->counts[group] = before;
	return OUTCOME_FAILED;
}

/*
 * Follow the aliases.  What the header says holds for the last name of the
 * chain: RFC 2308, section 2.1.
 */
static enum outcome read_chain(struct kg_resolve *r, struct slot *slot,
			       struct kg_dns_response *response)
{
	char name[KG_HOST_NAME_BYTES], target[KG_HOST_NAME_BYTES];
	enum outcome outcome;
	bool moved = false;

	memcpy(name, slot->question.name, sizeof(name));
	for (;;) {
		outcome = scan_answer(r, slot, response, name, target);
		if (outcome != OUTCOME_MOVED)
			break;
		if (++slot->hops > HOPS_MAX)
			return OUTCOME_CHAIN;
		memcpy(name, target, sizeof(name));
		moved = true;
	}
	if (outcome != OUTCOME_EMPTY)
		return outcome;
	if (response->rcode == KG_DNS_NXDOMAIN)
		return OUTCOME_NXDOMAIN;
	if (!moved)
		return OUTCOME_EMPTY;
	memcpy(slot->question.name, name, sizeof(name));
	return OUTCOME_MOVED;
}

static enum outcome read_response(struct kg_resolve *r, struct slot *slot,
				  struct kg_dns_response *response)
{
	if (response->truncated && slot->state == SLOT_UDP)
		return OUTCOME_TRUNCATED;
	switch (response->rcode) {
	case KG_DNS_NOERROR:
	case KG_DNS_NXDOMAIN:
		return read_chain(r, slot, response);
	case KG_DNS_FORMERR:
	case KG_DNS_NOTIMP:
		return slot->question.edns ? OUTCOME_PLAIN : OUTCOME_FAILED;
	default:
		return OUTCOME_FAILED;
	}
}

static bool is_number_taken(const struct kg_resolve *r, unsigned sock,
			    uint16_t id)
{
	size_t i;

	for (i = 0; i < IN_FLIGHT; i++)
		if (r->slots[i].state != SLOT_FREE &&
		    r->slots[i].socket == sock && r->slots[i].question.id == id)
			return true;
	return false;
}

/* A number and a socket that nobody outside can foretell. */
static int draw(struct kg_resolve *r, struct slot *slot, struct kg_error *err)
{
	uint16_t random[2];

	do {
		if (getrandom(random, sizeof(random), 0) !=
		    (ssize_t)sizeof(random))
			return kg_fail_system(err, "get random numbers");
		random[1] %= UDP_SOCKETS;
	} while (is_number_taken(r, random[1], random[0]));

	slot->question.id = random[0];
	slot->socket = random[1];
	return 0;
}

/* Ask for the question's name from the beginning, at once. */
static int ask_anew(struct kg_resolve *r, struct slot *slot,
		    struct kg_error *err)
{
	if (draw(r, slot, err))
		return -1;
	slot->state = SLOT_UDP;
	slot->sent = 0;
	slot->failures = 0;
	slot->due_ns = 0;
	return 0;
}

static int start_slot(struct kg_resolve *r, struct slot *slot, size_t index,
		      enum kg_dns_type type, struct kg_error *err)
{
	*slot = (struct slot){
		.index = index,
		.question = { .type = type, .edns = true },
	};
	memcpy(slot->question.name, r->plan->names[index].name,
	       sizeof(slot->question.name));
	return ask_anew(r, slot, err);
}

/* An empty A alone doesn't say whether the name is there for IPv6 only. */
static int diagnose(struct kg_resolve *r, struct slot *slot,
		    struct kg_error *err)
{
	if (start_slot(r, slot, slot->index, KG_DNS_AAAA, err))
		return -1;
	slot->diagnosis = true;
	return 0;
}

static void fail_name(struct kg_resolve *r, struct slot *slot,
		      enum outcome outcome)
{
	slot->state = SLOT_FREE;
	if (r->failed != OUTCOME_PENDING)
		return;
	r->failed = outcome;
	r->failed_index = slot->index;
}

static int finish_slot(struct kg_resolve *r, struct slot *slot,
		       enum outcome outcome, struct kg_error *err)
{
	bool found = outcome == OUTCOME_FOUND || outcome == OUTCOME_RESERVED;

	if (slot->diagnosis)
		fail_name(r, slot, found ? OUTCOME_ONLY_IPV6 : OUTCOME_EMPTY);
	else if (is_optional(slot) || outcome == OUTCOME_FOUND)
		slot->state = SLOT_FREE;
	else if (outcome == OUTCOME_EMPTY)
		return diagnose(r, slot, err);
	else
		fail_name(r, slot, outcome);
	return 0;
}

static void wait_gap(struct slot *slot)
{
	size_t i = slot->sent ? slot->sent - 1 : 0;

	if (i >= KG_ARRAY_LEN(gaps_ms))
		i = KG_ARRAY_LEN(gaps_ms) - 1;
	slot->due_ns = kg_now_ns() + (uint64_t)gaps_ms[i] * 1000000;
}

static int act_on(struct kg_resolve *r, struct slot *slot, enum outcome outcome,
		  struct kg_error *err)
{
	switch (outcome) {
	case OUTCOME_MOVED:
		return ask_anew(r, slot, err);
	case OUTCOME_TRUNCATED:
		slot->state = SLOT_TCP_WAIT;
		return 0;
	case OUTCOME_PLAIN:
		slot->question.edns = false;
		return ask_anew(r, slot, err);
	case OUTCOME_FAILED:
		slot->state = SLOT_UDP;
		if (++slot->failures >= SERVER_FAILURES_MAX)
			return finish_slot(r, slot, OUTCOME_SERVER, err);
		wait_gap(slot);
		return 0;
	case OUTCOME_PENDING:
		return 0;
	case OUTCOME_FOUND:
	case OUTCOME_NXDOMAIN:
	case OUTCOME_EMPTY:
	case OUTCOME_RESERVED:
	case OUTCOME_ONLY_IPV6:
	case OUTCOME_CHAIN:
	case OUTCOME_SERVER:
	case OUTCOME_SILENT:
	case OUTCOME_COUNT:
	default:
		return finish_slot(r, slot, outcome, err);
	}
}

static struct slot *free_slot(struct kg_resolve *r)
{
	size_t i;

	for (i = 0; i < IN_FLIGHT; i++)
		if (r->slots[i].state == SLOT_FREE)
			return &r->slots[i];
	return NULL;
}

static int fill_slots(struct kg_resolve *r, struct kg_error *err)
{
	struct slot *slot;
	bool ipv6;

	for (; r->next < 2 * r->plan->name_count; r->next++) {
		ipv6 = r->next % 2;
		if (ipv6 && !r->plan->ipv6)
			continue;
		slot = free_slot(r);
		if (!slot)
			return 0;
		if (start_slot(r, slot, r->next / 2,
			       ipv6 ? KG_DNS_AAAA : KG_DNS_A, err))
			return -1;
	}
	return 0;
}

static bool is_any_left(const struct kg_resolve *r, bool required)
{
	const struct slot *slot;
	size_t i;

	if (r->next < 2 * r->plan->name_count)
		return true;
	for (i = 0; i < IN_FLIGHT; i++) {
		slot = &r->slots[i];
		if (slot->state != SLOT_FREE &&
		    (!required || !is_optional(slot)))
			return true;
	}
	return false;
}

static bool is_worth_asking(const struct kg_resolve *r, const struct slot *slot)
{
	if (!is_optional(slot) || slot->sent < IPV6_TRANSMISSIONS_MAX)
		return true;
	return !slot->diagnosis && is_any_left(r, true);
}

/* What isn't sent now is sent again later, whatever the reason. */
static void send_question(struct kg_resolve *r, struct slot *slot)
{
	uint8_t query[KG_DNS_QUERY_BYTES];
	size_t len;

	if (slot->sent >= PLAIN_FROM)
		slot->question.edns = false;
	len = kg_dns_build_query(&slot->question, query, sizeof(query));

	(void)send(r->udp[slot->socket], query, len, MSG_NOSIGNAL);
	slot->sent++;
	wait_gap(slot);
}

static int send_due(struct kg_resolve *r, uint64_t now_ns, struct kg_error *err)
{
	struct slot *slot;
	size_t i;

	for (i = 0; i < IN_FLIGHT; i++) {
		slot = &r->slots[i];
		if (slot->state != SLOT_UDP || slot->due_ns > now_ns)
			continue;
		if (is_worth_asking(r, slot))
			send_question(r, slot);
		else if (finish_slot(r, slot, OUTCOME_SILENT, err))
			return -1;
	}
	return 0;
}

static int take_datagram(struct kg_resolve *r, unsigned sock, size_t len,
			 struct kg_error *err)
{
	struct kg_dns_response response;
	struct slot *slot;
	size_t i;

	for (i = 0; i < IN_FLIGHT; i++) {
		slot = &r->slots[i];
		if (slot->state == SLOT_UDP && slot->sent &&
		    slot->socket == sock &&
		    kg_dns_parse_response(r->message, len, &slot->question,
					  &response))
			return act_on(r, slot,
				      read_response(r, slot, &response), err);
	}
	return 0;
}

static int read_udp(struct kg_resolve *r, unsigned sock, struct kg_error *err)
{
	unsigned burst;
	ssize_t n;

	for (burst = 0; burst < BURST; burst++) {
		n = recv(r->udp[sock], r->message, sizeof(r->message), 0);
		if (n < 0)
			break;
		if (take_datagram(r, sock, (size_t)n, err))
			return -1;
	}
	return 0;
}

/* The socket lives on: no other can be made later. */
static void hang_up(struct stream *s)
{
	struct sockaddr nobody = { .sa_family = AF_UNSPEC };

	(void)connect(s->fd, &nobody, sizeof(nobody));
	s->slot = NULL;
}

static void give_up_stream(struct stream *s)
{
	struct slot *slot = s->slot;

	hang_up(s);
	slot->state = SLOT_UDP;
	wait_gap(slot);
}

static void dial(struct kg_resolve *r, struct stream *s, struct slot *slot)
{
	size_t len = kg_dns_build_query(&slot->question, s->out + 2,
					sizeof(s->out) - 2);

	/* A length before each message: RFC 1035, section 4.2.2. */
	s->out[0] = (uint8_t)(len >> 8);
	s->out[1] = (uint8_t)len;
	s->out_bytes = 2 + len;
	s->out_at = 0;
	s->in_at = 0;
	s->slot = slot;
	s->due_ns = kg_now_ns() + (uint64_t)TCP_GIVE_UP_MS * 1000000;
	slot->state = SLOT_TCP;
	if (connect(s->fd, (const struct sockaddr *)&r->options.upstream,
		    sizeof(r->options.upstream)) &&
	    errno != EINPROGRESS)
		give_up_stream(s);
}

static void start_streams(struct kg_resolve *r)
{
	size_t i, next = 0;

	for (i = 0; i < TCP_SOCKETS; i++) {
		if (r->tcp[i].slot)
			continue;
		while (next < IN_FLIGHT &&
		       r->slots[next].state != SLOT_TCP_WAIT)
			next++;
		if (next == IN_FLIGHT)
			return;
		dial(r, &r->tcp[i], &r->slots[next]);
	}
}

static size_t stream_wants(const struct stream *s)
{
	return s->in_at < 2 ? 2 : 2 + (size_t)(s->in[0] << 8 | s->in[1]);
}

static bool is_only_waiting(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Moves bytes once; -1 when the connection is of no more use. */
static int pump_stream(struct stream *s)
{
	ssize_t n;

	if (s->out_at < s->out_bytes) {
		n = send(s->fd, s->out + s->out_at, s->out_bytes - s->out_at,
			 MSG_NOSIGNAL);
		if (n >= 0)
			s->out_at += (size_t)n;
		return n >= 0 || is_only_waiting(n) ? 0 : -1;
	}
	n = recv(s->fd, s->in + s->in_at, stream_wants(s) - s->in_at, 0);
	if (n > 0)
		s->in_at += (size_t)n;
	return n > 0 || is_only_waiting(n) ? 0 : -1;
}

static int work_stream(struct kg_resolve *r, struct stream *s,
		       struct kg_error *err)
{
	struct slot *slot = s->slot;
	struct kg_dns_response response;
	bool fits;

	if (pump_stream(s)) {
		give_up_stream(s);
		return 0;
	}
	if (s->in_at <= 2 || s->in_at < stream_wants(s))
		return 0;
	fits = kg_dns_parse_response(s->in + 2, s->in_at - 2, &slot->question,
				     &response);
	if (!fits) {
		give_up_stream(s);
		return 0;
	}
	hang_up(s);
	return act_on(r, slot, read_response(r, slot, &response), err);
}

static void drop_late_streams(struct kg_resolve *r, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < TCP_SOCKETS; i++)
		if (r->tcp[i].slot && r->tcp[i].due_ns <= now_ns)
			give_up_stream(&r->tcp[i]);
}

static uint64_t next_due(const struct kg_resolve *r, uint64_t end_ns)
{
	uint64_t due_ns = end_ns;
	size_t i;

	for (i = 0; i < IN_FLIGHT; i++)
		if (r->slots[i].state == SLOT_UDP &&
		    r->slots[i].due_ns < due_ns)
			due_ns = r->slots[i].due_ns;
	for (i = 0; i < TCP_SOCKETS; i++)
		if (r->tcp[i].slot && r->tcp[i].due_ns < due_ns)
			due_ns = r->tcp[i].due_ns;
	return due_ns;
}

enum {
	POLL_STOP,
	POLL_UDP,
	POLL_TCP = POLL_UDP + UDP_SOCKETS,
	POLL_COUNT = POLL_TCP + TCP_SOCKETS,
};

static void list_descriptors(const struct kg_resolve *r, struct pollfd *ret)
{
	const struct stream *s;
	size_t i;

	ret[POLL_STOP] = (struct pollfd){ .fd = r->options.stop_fd,
					  .events = POLLIN };
	for (i = 0; i < UDP_SOCKETS; i++)
		ret[POLL_UDP + i] = (struct pollfd){ .fd = r->udp[i],
						     .events = POLLIN };
	for (i = 0; i < TCP_SOCKETS; i++) {
		s = &r->tcp[i];
		ret[POLL_TCP + i] = (struct pollfd){
			.fd = s->slot ? s->fd : -1,
			.events = s->out_at < s->out_bytes ? POLLOUT : POLLIN,
		};
	}
}

static int wait_and_read(struct kg_resolve *r, uint64_t until_ns,
			 struct kg_error *err)
{
	struct pollfd pfds[POLL_COUNT];
	uint64_t now_ns = kg_now_ns();
	int wait_ms = 0;
	unsigned i;

	if (until_ns > now_ns)
		wait_ms = (int)((until_ns - now_ns + 999999) / 1000000);
	list_descriptors(r, pfds);
	if (poll(pfds, POLL_COUNT, wait_ms) < 0)
		return errno == EINTR ? 0 : kg_fail_system(err, "wait for DNS");
	if (pfds[POLL_STOP].revents)
		return kg_fail(err, KG_E_SANDBOX, 0, "told to stop");
	for (i = 0; i < UDP_SOCKETS; i++)
		if (pfds[POLL_UDP + i].revents && read_udp(r, i, err))
			return -1;
	for (i = 0; i < TCP_SOCKETS; i++)
		if (pfds[POLL_TCP + i].revents && r->tcp[i].slot &&
		    work_stream(r, &r->tcp[i], err))
			return -1;
	return 0;
}

static int connect_udp(struct kg_resolve *r, struct kg_error *err)
{
	size_t i;

	for (i = 0; i < UDP_SOCKETS; i++)
		if (connect(r->udp[i],
			    (const struct sockaddr *)&r->options.upstream,
			    sizeof(r->options.upstream)))
			return kg_fail(err, KG_E_NETNS, errno,
				       "reach the DNS server");
	return 0;
}

static int report(const struct kg_resolve *r, size_t index,
		  enum outcome outcome, struct kg_error *err)
{
	return kg_fail(err, KG_E_RESOLVE, 0, "host '%s' %s; %s",
		       r->plan->names[index].name, reports[outcome].what,
		       reports[outcome].next);
}

/*
 * The deadline has passed: name the first host that is still without an
 * address, if there is one.
 */
static int report_late(const struct kg_resolve *r, struct kg_error *err)
{
	enum outcome outcome = OUTCOME_SILENT;
	size_t first = (r->next + 1) / 2, i;
	const struct slot *slot;

	for (i = 0; i < IN_FLIGHT; i++) {
		slot = &r->slots[i];
		if (slot->state == SLOT_FREE || slot->index >= first ||
		    (is_optional(slot) && !slot->diagnosis))
			continue;
		first = slot->index;
		outcome = slot->diagnosis ? OUTCOME_EMPTY : OUTCOME_SILENT;
	}
	if (first >= r->plan->name_count)
		return 0;
	return report(r, first, outcome, err);
}

int kg_resolve_run(struct kg_resolve *r,
		   const struct kg_resolve_options *options,
		   struct kg_error *err)
{
	uint64_t now_ns = kg_now_ns();
	uint64_t end_ns = now_ns + (uint64_t)options->timeout_ms * 1000000;

	r->options = *options;
	if (r->plan->name_count && connect_udp(r, err))
		return -1;
	for (;;) {
		if (fill_slots(r, err))
			return -1;
		now_ns = kg_now_ns();
		drop_late_streams(r, now_ns);
		start_streams(r);
		if (send_due(r, now_ns, err))
			return -1;
		if (r->failed != OUTCOME_PENDING)
			return report(r, r->failed_index, r->failed, err);
		if (!is_any_left(r, false))
			return 0;
		if (now_ns >= end_ns)
			return report_late(r, err);
		if (wait_and_read(r, next_due(r, end_ns), err))
			return -1;
	}
}
