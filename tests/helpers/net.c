/* SPDX-License-Identifier: MIT */
/*
 * net - markers in the capture and in the logs of the test world
 *
 *	net mark TEXT			one datagram on the wire that says TEXT
 *	net slice PCAP FROM TO OUT	the packets between two marks
 *	net sync ADDRESS PORT		all that arrived before is in the log
 *	net clean COMMAND...		run it without stray descriptors
 *
 * A mark is a packet like all others: once it is in the capture, so is all that
 * went before it.  That takes the place of waiting for a while.
 */
#include "config.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARK_ADDRESS "203.0.113.254"
#define MARK_PORT    9
#define MARK_PREFIX  "kgate-world-mark "
#define BOUND_MS     5000

#define PCAP_HEADER_BYTES 24
#define PCAP_RECORD_BYTES 16
#define PCAP_MAGIC	  0xa1b2c3d4U

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int connect_to(const char *addr, int port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	bool six = strchr(addr, ':') != NULL;
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	v4.sin_port = v6.sin6_port = htons((uint16_t)port);
	if (fd < 0)
		err(1, "socket");
	if (inet_pton(six ? AF_INET6 : AF_INET, addr,
		      six ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr) != 1)
		errx(2, "%s: not an address", addr);
	if (six ? connect(fd, (struct sockaddr *)&v6, sizeof(v6))
		: connect(fd, (struct sockaddr *)&v4, sizeof(v4)))
		err(1, "connect %s", addr);
	return fd;
}

static int do_mark(char **argv)
{
	char text[128];
	int n = snprintf(text, sizeof(text), MARK_PREFIX "%s.", argv[0]);
	int fd = connect_to(MARK_ADDRESS, MARK_PORT);

	if (n < 0 || (size_t)n >= sizeof(text))
		errx(2, "mark too long");
	if (send(fd, text, (size_t)n, 0) != n)
		err(1, "send");
	return 0;
}

static int do_sync(char **argv)
{
	int fd = connect_to(argv[0], atoi(argv[1]));
	struct pollfd p = { fd, POLLIN, 0 };
	char buf[16];

	if (send(fd, "sync", 4, 0) != 4)
		err(1, "send");
	if (poll(&p, 1, BOUND_MS) != 1)
		errx(1, "no answer from %s", argv[0]);
	if (recv(fd, buf, sizeof(buf), 0) != 4)
		err(1, "recv");
	return 0;
}

struct capture {
	int fd;
	uint8_t *data;
	size_t len;
};

static void read_more(struct capture *c)
{
	struct stat st;
	ssize_t n;

	if (fstat(c->fd, &st) < 0)
		err(1, "capture");
	if ((size_t)st.st_size <= c->len)
		return;
	c->data = realloc(c->data, (size_t)st.st_size);
	if (!c->data)
		err(1, "realloc");
	n = pread(c->fd, c->data + c->len, (size_t)st.st_size - c->len,
		  (off_t)c->len);
	if (n < 0)
		err(1, "capture");
	c->len += (size_t)n;
}

static uint32_t u32_at(const struct capture *c, size_t at)
{
	uint32_t v;

	memcpy(&v, c->data + at, sizeof(v));
	return v;
}

/*
 * The first whole record from @at on that holds the mark.  Returns false when
 * the file ends before.
 */
static bool find_mark(const struct capture *c, const char *mark, size_t at,
		      size_t *ret_start, size_t *ret_end)
{
	char text[128];
	int n = snprintf(text, sizeof(text), MARK_PREFIX "%s.", mark);

	while (at + PCAP_RECORD_BYTES <= c->len) {
		size_t len = u32_at(c, at + 8);
		const uint8_t *packet = c->data + at + PCAP_RECORD_BYTES;

		if (at + PCAP_RECORD_BYTES + len > c->len)
			return false;
		*ret_start = at;
		*ret_end = at + PCAP_RECORD_BYTES + len;
		if (memmem(packet, len, text, (size_t)n))
			return true;
		at = *ret_end;
	}
	return false;
}

static bool find_slice(const struct capture *c, char **argv, size_t *ret_from,
		       size_t *ret_to)
{
	size_t start, end;

	if (c->len < PCAP_HEADER_BYTES)
		return false;
	if (u32_at(c, 0) != PCAP_MAGIC)
		errx(1, "not a capture file of this machine");
	if (!find_mark(c, argv[1], PCAP_HEADER_BYTES, &start, ret_from))
		return false;
	return find_mark(c, argv[2], *ret_from, ret_to, &end);
}

static void write_slice(const struct capture *c, const char *path, size_t from,
			size_t to)
{
	FILE *out = fopen(path, "we");

	if (!out || fwrite(c->data, PCAP_HEADER_BYTES, 1, out) != 1 ||
	    (to > from && fwrite(c->data + from, to - from, 1, out) != 1) ||
	    fclose(out) != 0)
		err(1, "%s", path);
}

static int do_slice(char **argv)
{
	struct capture c = { .fd = open(argv[0], O_RDONLY | O_CLOEXEC) };
	int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd p = { watch, POLLIN, 0 };
	int64_t end = now_ms() + BOUND_MS;
	char events[4096];
	size_t from, to;

	if (c.fd < 0 || inotify_add_watch(watch, argv[0], IN_MODIFY) < 0)
		err(1, "%s", argv[0]);
	for (;;) {
		int64_t left = end - now_ms();

		read_more(&c);
		if (find_slice(&c, argv, &from, &to))
			break;
		if (left <= 0 || poll(&p, 1, (int)left) < 0)
			errx(1, "no mark '%s' in the capture", argv[2]);
		while (read(watch, events, sizeof(events)) > 0)
			;
	}
	write_slice(&c, argv[3], from, to);
	free(c.data);
	return 0;
}

/* make's job server, for one, is open in all that make starts. */
static int do_clean(char **argv)
{
	int fd, end = (int)sysconf(_SC_OPEN_MAX);

	if (close_range(3, ~0U, 0) < 0)
		for (fd = 3; fd < end; fd++)
			close(fd);
	execvp(argv[0], argv);
	err(99, "%s", argv[0]);
}

static const struct {
	const char *name;
	int min_args;
	int max_args;
	int (*run)(char **argv);
} commands[] = {
	{ "clean", 1, INT_MAX, do_clean },
	{ "mark", 1, 1, do_mark },
	{ "slice", 4, 4, do_slice },
	{ "sync", 2, 2, do_sync },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (argc > 1 && strcmp(argv[1], commands[i].name) == 0 &&
		    argc - 2 >= commands[i].min_args &&
		    argc - 2 <= commands[i].max_args)
			return commands[i].run(argv + 2);
	errx(2, "usage: net mark TEXT | slice PCAP FROM TO OUT | "
		"sync ADDRESS PORT | clean COMMAND...");
}
