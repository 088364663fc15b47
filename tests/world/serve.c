/* SPDX-License-Identifier: MIT */
/*
 * serve - the servers of the test world, one process for each of its sides
 *
 *	serve LOG ZONE KIND:PORT[@ADDRESS]...
 *
 * Says "ready" on standard output once every socket listens, then serves until
 * it is killed.  What arrives is a line in LOG, written before any answer:
 *
 *	tcp LOCAL PORT PEER		a connection
 *	udp LOCAL PORT PEER TEXT	a datagram
 *	data LOCAL PORT PEER TEXT	bytes on a connection
 *	dns LOCAL udp|tcp TYPE NAME PEER
 *
 * Kinds: http answers with one line that names the local address; echo sends
 * back what it gets, on TCP and UDP; dns answers from ZONE, on TCP and UDP;
 * discard only listens on UDP; sync answers a datagram once all that arrived
 * before it, on any socket, is in the log.
 *
 * Sockets are of IPv6 and take IPv4 too.  Where no address is given they take
 * every address, assigned or routed to the loopback device.
 */
#include "config.h"

#include "tests/world/dns.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

#define SOCKETS_MAX 512
#define LATER_MAX   64
#define ROUNDS_MAX  16
#define BUF_BYTES   4096

enum kind { KIND_HTTP, KIND_ECHO, KIND_DNS, KIND_SYNC, KIND_DISCARD };
enum role { ROLE_LISTENER, ROLE_DATAGRAM, ROLE_CONN };

struct sock {
	int fd;
	enum role role;
	enum kind kind;
	uint16_t port;
	struct in6_addr local;
	struct sockaddr_in6 peer;
	size_t len;
	uint8_t buf[BUF_BYTES];
};

/* An answer that waits for its time. */
struct later {
	int fd;
	int64_t due_ms;
	struct in6_addr local;
	struct sockaddr_in6 peer;
	size_t len;
	uint8_t data[DNS_UDP_BYTES];
};

struct server {
	const char *zone;
	int log_fd;
	unsigned turn;
	size_t count;
	struct sock *socks[SOCKETS_MAX];
	size_t later_count;
	struct later later[LATER_MAX];
	struct dns_reply reply;
};

static const struct {
	const char *name;
	enum kind kind;
	bool tcp;
	bool udp;
} kinds[] = {
	{ "http", KIND_HTTP, true, false },
	{ "echo", KIND_ECHO, true, true },
	{ "dns", KIND_DNS, true, true },
	{ "sync", KIND_SYNC, false, true },
	{ "discard", KIND_DISCARD, false, true },
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static const char *addr_text(const struct in6_addr *addr,
			     char buf[INET6_ADDRSTRLEN])
{
	if (IN6_IS_ADDR_V4MAPPED(addr))
		return inet_ntop(AF_INET, &addr->s6_addr[12], buf,
				 INET6_ADDRSTRLEN);
	return inet_ntop(AF_INET6, addr, buf, INET6_ADDRSTRLEN);
}

/* Strangers' bytes in a log line: printable, and not too many. */
static const char *safe_text(const uint8_t *data, size_t len, char buf[256])
{
	size_t i, n = 0;

	for (i = 0; i < len && n < 250; i++)
		if (data[i] >= 0x20 && data[i] < 0x7f && data[i] != '\\')
			buf[n++] = (char)data[i];
		else
			n += (size_t)sprintf(buf + n, "\\x%02x", data[i]);
	buf[n] = '\0';
	return buf;
}

__attribute__((format(printf, 2, 3))) static void log_line(struct server *s,
							   const char *format,
							   ...)
{
	char line[2048];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof(line) - 1, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n > sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	if (write(s->log_fd, line, (size_t)n) != n)
		err(1, "log");
}

static struct sock *add_sock(struct server *s, int fd, enum role role,
			     enum kind kind, uint16_t port)
{
	struct sock *k;

	if (s->count == SOCKETS_MAX) {
		close(fd);
		return NULL;
	}
	k = calloc(1, sizeof(*k));
	if (!k)
		err(1, "calloc");
	k->fd = fd;
	k->role = role;
	k->kind = kind;
	k->port = port;
	s->socks[s->count++] = k;
	return k;
}

static void drop_sock(struct server *s, size_t i)
{
	close(s->socks[i]->fd);
	free(s->socks[i]);
	s->socks[i] = s->socks[--s->count];
}

static void open_sock(struct server *s, int type, enum kind kind,
		      const struct sockaddr_in6 *at)
{
	int fd = socket(AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, off = 0;

	if (fd < 0)
		err(1, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0 ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)) < 0)
		err(1, "setsockopt");
	if (bind(fd, (const struct sockaddr *)at, sizeof(*at)) < 0)
		err(1, "bind port %d", ntohs(at->sin6_port));
	if (type == SOCK_STREAM && listen(fd, 128) < 0)
		err(1, "listen");
	add_sock(s, fd, type == SOCK_STREAM ? ROLE_LISTENER : ROLE_DATAGRAM,
		 kind, ntohs(at->sin6_port));
}

/* KIND:PORT[@ADDRESS] */
static void open_service(struct server *s, const char *text)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6 };
	char kind[16], addr[64] = "::", mapped[80];
	unsigned port;
	size_t i;

	if (sscanf(text, "%15[a-z]:%u@%63s", kind, &port, addr) < 2)
		errx(2, "%s: KIND:PORT[@ADDRESS] expected", text);
	snprintf(mapped, sizeof(mapped), "%s%s",
		 strchr(addr, ':') ? "" : "::ffff:", addr);
	if (inet_pton(AF_INET6, mapped, &at.sin6_addr) != 1)
		errx(2, "%s: not an address", addr);
	at.sin6_port = htons((uint16_t)port);

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, kind) != 0)
			continue;
		if (kinds[i].tcp)
			open_sock(s, SOCK_STREAM, kinds[i].kind, &at);
		if (kinds[i].udp)
			open_sock(s, SOCK_DGRAM, kinds[i].kind, &at);
		return;
	}
	errx(2, "%s: no such kind", kind);
}

/* The answer leaves from the address that was asked. */
static void send_datagram(int fd, const struct in6_addr *local,
			  const struct sockaddr_in6 *peer, const void *data,
			  size_t len)
{
	union {
		char buf[CMSG_SPACE(sizeof(struct in6_pktinfo))];
		struct cmsghdr align;
	} control = { .buf = { 0 } };
	struct sockaddr_in6 to = *peer;
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct msghdr msg = {
		.msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	struct in6_pktinfo info = { .ipi6_addr = *local };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = IPPROTO_IPV6;
	c->cmsg_type = IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	if (sendmsg(fd, &msg, 0) < 0)
		warn("sendmsg");
}

static ssize_t receive_datagram(struct sock *k)
{
	union {
		char buf[256];
		struct cmsghdr align;
	} control;
	struct iovec iov = { k->buf, sizeof(k->buf) };
	struct msghdr msg = {
		.msg_name = &k->peer,
		.msg_namelen = sizeof(k->peer),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n = recvmsg(k->fd, &msg, 0);
	struct cmsghdr *c;
	struct in6_pktinfo info;

	if (n < 0)
		return n;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != IPPROTO_IPV6 ||
		    c->cmsg_type != IPV6_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(c), sizeof(info));
		k->local = info.ipi6_addr;
	}
	return n;
}

/* Fills s->reply; returns false when there is nothing to send. */
static bool ask_zone(struct server *s, struct sock *k, const char *proto,
		     const uint8_t *query, size_t len, size_t limit)
{
	char local[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN];
	struct dns_question q;

	if (dns_answer(s->zone, query, len, limit, s->turn++, &q, &s->reply))
		return false;
	log_line(s, "dns %s %s %s %s %s", addr_text(&k->local, local), proto,
		 dns_type_name(q.type), q.name,
		 addr_text(&k->peer.sin6_addr, peer));
	return s->reply.len > 0;
}

static void answer_dns_datagram(struct server *s, struct sock *k, size_t len)
{
	struct later *l;

	if (!ask_zone(s, k, "udp", k->buf, len, DNS_UDP_BYTES))
		return;
	if (s->reply.delay_ms == 0 || s->later_count == LATER_MAX) {
		send_datagram(k->fd, &k->local, &k->peer, s->reply.data,
			      s->reply.len);
		return;
	}
	l = &s->later[s->later_count++];
	l->fd = k->fd;
	l->due_ms = now_ms() + s->reply.delay_ms;
	l->local = k->local;
	l->peer = k->peer;
	l->len = s->reply.len;
	memcpy(l->data, s->reply.data, l->len);
}

/* Returns the time to the next one that isn't due yet, -1 for none. */
static int send_due(struct server *s)
{
	int64_t now = now_ms(), wait = -1;
	size_t i = 0;

	while (i < s->later_count) {
		struct later *l = &s->later[i];

		if (l->due_ms > now) {
			if (wait < 0 || l->due_ms - now < wait)
				wait = l->due_ms - now;
			i++;
			continue;
		}
		send_datagram(l->fd, &l->local, &l->peer, l->data, l->len);
		*l = s->later[--s->later_count];
	}
	return (int)wait;
}

static void on_datagram(struct server *s, struct sock *k)
{
	char local[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN], text[256];
	ssize_t n;

	while ((n = receive_datagram(k)) >= 0) {
		if (k->kind == KIND_DNS) {
			answer_dns_datagram(s, k, (size_t)n);
			continue;
		}
		log_line(s, "udp %s %u %s %s", addr_text(&k->local, local),
			 k->port, addr_text(&k->peer.sin6_addr, peer),
			 safe_text(k->buf, (size_t)n, text));
		if (k->kind == KIND_ECHO)
			send_datagram(k->fd, &k->local, &k->peer, k->buf,
				      (size_t)n);
	}
}

static void on_listener(struct server *s, struct sock *k)
{
	char local[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN];
	struct sockaddr_in6 name;
	struct sock *conn;
	socklen_t len;
	int fd;

	while ((fd = accept4(k->fd, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		conn = add_sock(s, fd, ROLE_CONN, k->kind, k->port);
		if (!conn)
			return;
		len = sizeof(name);
		if (getsockname(fd, (struct sockaddr *)&name, &len) == 0)
			conn->local = name.sin6_addr;
		len = sizeof(conn->peer);
		getpeername(fd, (struct sockaddr *)&conn->peer, &len);
		log_line(s, "tcp %s %u %s", addr_text(&conn->local, local),
			 conn->port, addr_text(&conn->peer.sin6_addr, peer));
	}
}

static void send_bytes(struct sock *k, const void *data, size_t len)
{
	if (send(k->fd, data, len, MSG_NOSIGNAL) < 0)
		warn("send");
}

static bool answer_http(struct sock *k)
{
	char local[INET6_ADDRSTRLEN], body[128], head[256];
	int n, m;

	if (!memmem(k->buf, k->len, "\r\n\r\n", 4) &&
	    !memmem(k->buf, k->len, "\n\n", 2))
		return k->len < sizeof(k->buf);
	n = snprintf(body, sizeof(body), "server %s port %u\n",
		     addr_text(&k->local, local), k->port);
	m = snprintf(head, sizeof(head),
		     "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
		     "Content-Length: %d\r\nConnection: close\r\n\r\n",
		     n);
	send_bytes(k, head, (size_t)m);
	send_bytes(k, body, (size_t)n);
	shutdown(k->fd, SHUT_WR);
	k->len = 0;
	return true;
}

static bool answer_dns_stream(struct server *s, struct sock *k)
{
	uint8_t prefix[2];
	size_t want;

	while (k->len >= 2) {
		want = (size_t)(k->buf[0] << 8 | k->buf[1]) + 2;
		if (want > sizeof(k->buf))
			return false;
		if (k->len < want)
			return true;
		if (ask_zone(s, k, "tcp", k->buf + 2, want - 2,
			     DNS_TCP_BYTES)) {
			prefix[0] = (uint8_t)(s->reply.len >> 8);
			prefix[1] = (uint8_t)s->reply.len;
			send_bytes(k, prefix, sizeof(prefix));
			send_bytes(k, s->reply.data, s->reply.len);
		}
		k->len -= want;
		memmove(k->buf, k->buf + want, k->len);
	}
	return true;
}

/* Returns false when the connection is over. */
static bool on_conn(struct server *s, struct sock *k)
{
	char local[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN], text[256];
	ssize_t n = recv(k->fd, k->buf + k->len, sizeof(k->buf) - k->len, 0);

	if (n < 0)
		return errno == EAGAIN;
	if (n == 0)
		return false;
	if (k->kind != KIND_DNS)
		log_line(s, "data %s %u %s %s", addr_text(&k->local, local),
			 k->port, addr_text(&k->peer.sin6_addr, peer),
			 safe_text(k->buf + k->len, (size_t)n, text));
	k->len += (size_t)n;
	if (k->kind == KIND_HTTP)
		return answer_http(k);
	if (k->kind == KIND_DNS)
		return answer_dns_stream(s, k);
	send_bytes(k, k->buf, k->len);
	k->len = 0;
	return true;
}

static bool handle(struct server *s, struct sock *k)
{
	if (k->role == ROLE_LISTENER)
		on_listener(s, k);
	else if (k->role == ROLE_DATAGRAM)
		on_datagram(s, k);
	else
		return on_conn(s, k);
	return true;
}

/*
 * One poll over all sockets but those of kind sync, which are only reported.
 * Returns how many sockets had something.
 */
static int serve_round(struct server *s, int timeout_ms, bool *ret_sync)
{
	struct pollfd fds[SOCKETS_MAX];
	size_t i, count = s->count;
	int ready;

	for (i = 0; i < count; i++)
		fds[i] = (struct pollfd){ s->socks[i]->fd, POLLIN, 0 };
	ready = poll(fds, count, timeout_ms);

	/* Backwards: drop_sock() moves the last one down. */
	for (i = count; i-- > 0;) {
		if (ready <= 0 || fds[i].revents == 0)
			continue;
		if (s->socks[i]->kind == KIND_SYNC) {
			*ret_sync = true;
			ready--;
		} else if (!handle(s, s->socks[i])) {
			drop_sock(s, i);
		}
	}
	return ready;
}

/*
 * The poll that saw the sync may have looked at another socket before its
 * packet came: only a later poll that finds nothing else proves that all is
 * written.
 */
static void answer_syncs(struct server *s)
{
	bool sync = false;
	ssize_t n;
	size_t i;
	int round;

	for (round = 0; round < ROUNDS_MAX; round++)
		if (serve_round(s, 0, &sync) <= 0)
			break;
	for (i = 0; i < s->count; i++) {
		struct sock *k = s->socks[i];

		if (k->kind == KIND_SYNC && (n = receive_datagram(k)) >= 0)
			send_datagram(k->fd, &k->local, &k->peer, k->buf,
				      (size_t)n);
	}
}

int main(int argc, char **argv)
{
	static struct server s;
	bool sync;
	int i;

	if (argc < 4)
		errx(2, "usage: serve LOG ZONE KIND:PORT[@ADDRESS]...");
	s.zone = argv[2];
	s.log_fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			0644);
	if (s.log_fd < 0)
		err(1, "%s", argv[1]);
	for (i = 3; i < argc; i++)
		open_service(&s, argv[i]);
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		err(1, "standard output");
	close(STDOUT_FILENO);

	for (;;) {
		sync = false;
		serve_round(&s, send_due(&s), &sync);
		if (sync)
			answer_syncs(&s);
	}
}
