/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/step.h"
#include "common/util.h"

static const char *const names[] = { "standard input", "standard output",
				     "standard error" };

/* linux/Documentation/admin-guide/devices.txt: 1:3 is /dev/null. */
static bool is_null_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

/*
 * A description of one's own for the same pipe or terminal: it can be told not
 * to wait, which the caller's, shared with others, can't.
 */
static int reopen(int fd, const struct stat *st)
{
	char path[32];

	if (!S_ISFIFO(st->st_mode) && !(S_ISCHR(st->st_mode) && isatty(fd)))
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int open_input(struct kg_relay_stream *s, const struct stat *st,
		      const int ends[2], struct kg_error *err)
{
	if (is_null_device(st)) {
		(void)close(ends[1]);
		return 0;
	}
	s->from = 0;
	s->to = ends[1];
	s->owns_to = true;
	if (fcntl(s->to, F_SETFL, O_NONBLOCK))
		return kg_fail_system(err, "set up standard input");
	return 0;
}

/* Standard error is wanted in any case: bwrap speaks there first. */
static int open_output(struct kg_relay_stream *s, int fd, const struct stat *st,
		       const int ends[2], struct kg_error *err)
{
	if (fd == 1 && is_null_device(st)) {
		(void)close(ends[0]);
		return 0;
	}
	s->from = ends[0];
	s->owns_from = true;
	s->to = reopen(fd, st);
	s->owns_to = s->to >= 0;
	if (s->to < 0)
		s->to = fd;
	if (fcntl(s->from, F_SETFL, O_NONBLOCK))
		return kg_fail_system(err, "set up %s", names[fd]);
	return 0;
}

static int open_stream(struct kg_relay *relay, int fd, int *ret_box,
		       struct kg_error *err)
{
	struct kg_relay_stream *s = &relay->streams[fd];
	struct stat st;
	int ends[2];

	if (fstat(fd, &st))
		return kg_fail_system(err, "look at %s", names[fd]);
	if (fd == 0 && S_ISDIR(st.st_mode))
		return kg_fail(err, KG_E_USAGE, 0,
			       "standard input is a directory, a way out of "
			       "the box; use `</dev/null`");
	if (pipe2(ends, O_CLOEXEC))
		return kg_fail_system(err, "make a pipe");
	*ret_box = ends[fd != 0];
	if (fd != 2 && is_null_device(&st))
		relay->null_fds |= KG_BIT32(fd);
	return fd == 0 ? open_input(s, &st, ends, err)
		       : open_output(s, fd, &st, ends, err);
}

struct kg_relay *kg_relay_open(int ret_box[KG_RELAY_STREAMS],
			       struct kg_error *err)
{
	struct kg_relay *relay = calloc(1, sizeof(*relay));
	int i;

	if (!relay) {
		(void)kg_fail_system(err, "set up the relay");
		return NULL;
	}
	for (i = 0; i < KG_RELAY_STREAMS; i++)
		relay->streams[i].from = relay->streams[i].to = -1;
	for (i = 0; i < KG_RELAY_STREAMS; i++)
		if (open_stream(relay, i, &ret_box[i], err)) {
			kg_relay_free(relay);
			return NULL;
		}
	return relay;
}

static void end_from(struct kg_relay_stream *s)
{
	if (s->owns_from)
		kg_scope_close_(&s->from);
	s->from = -1;
}

static void end_to(struct kg_relay_stream *s)
{
	if (s->owns_to)
		kg_scope_close_(&s->to);
	s->to = -1;
	s->start = s->end = 0;
}

/* Nobody reads: the writer is to notice, as it would without kgate. */
static void break_stream(struct kg_relay_stream *s, int errnum)
{
	if (errnum != EPIPE)
		s->failed = errnum;
	end_to(s);
	end_from(s);
}

void kg_relay_take_words(struct kg_relay *relay, char *buf, size_t len)
{
	struct kg_relay_stream *s = &relay->streams[2];
	char spill[512];
	size_t used = 0;
	ssize_t n;

	for (;;) {
		n = read(s->from, used + 1 < len ? buf + used : spill,
			 used + 1 < len ? len - used - 1 : sizeof(spill));
		if (n <= 0)
			break;
		if (used + 1 < len)
			used += (size_t)n;
	}
	buf[used] = '\0';
}

static void fill(struct kg_relay_stream *s)
{
	ssize_t n;

	if (s->start == s->end)
		s->start = s->end = 0;
	n = read(s->from, s->bytes + s->end, sizeof(s->bytes) - s->end);
	if (n > 0)
		s->end += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		end_from(s);
}

/*
 * What poll() promises is room for PIPE_BUF bytes; a longer write to a caller's
 * blocking descriptor could wait.
 */
static void empty(struct kg_relay_stream *s, size_t most)
{
	size_t len = s->end - s->start;
	ssize_t n;

	n = write(s->to, s->bytes + s->start, len < most ? len : most);
	if (n > 0)
		s->start += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		break_stream(s, errno);
}

/* A description of one's own takes what it can and doesn't wait. */
static size_t most_of(const struct kg_relay_stream *s)
{
	return s->owns_to ? sizeof(s->bytes) : PIPE_BUF;
}

static bool has_bytes(const struct kg_relay_stream *s)
{
	return s->end > s->start;
}

/* What has ended and is written out is passed on as an end of file. */
static void settle(struct kg_relay_stream *s)
{
	if (s->from < 0 && !has_bytes(s) && s->to >= 0)
		end_to(s);
}

void kg_relay_prepare(const struct kg_relay *relay, struct pollfd *pfd)
{
	size_t i;

	for (i = 0; i < KG_RELAY_STREAMS; i++) {
		const struct kg_relay_stream *s = &relay->streams[i];

		pfd[2 * i] = (struct pollfd){ .fd = has_bytes(s) ? -1 : s->from,
					      .events = POLLIN };
		pfd[2 * i + 1] = (struct pollfd){ .fd = has_bytes(s) ? s->to
								     : -1,
						  .events = POLLOUT };
		/* The command may close its input before there is any. */
		if (i == 0 && s->to >= 0 && !has_bytes(s))
			pfd[1] = (struct pollfd){ .fd = s->to, .events = 0 };
	}
}

void kg_relay_advance(struct kg_relay *relay, const struct pollfd *pfd)
{
	size_t i;

	for (i = 0; i < KG_RELAY_STREAMS; i++) {
		struct kg_relay_stream *s = &relay->streams[i];

		/* Both may be one pipe, with room for one of them. */
		if (i == 2 && pfd[3].fd >= 0 && pfd[3].revents)
			continue;
		if (pfd[2 * i].fd >= 0 && pfd[2 * i].revents && s->from >= 0)
			fill(s);
		if (pfd[2 * i + 1].fd >= 0 && pfd[2 * i + 1].revents) {
			if (has_bytes(s))
				empty(s, most_of(s));
			else if (pfd[2 * i + 1].revents & (POLLERR | POLLHUP))
				break_stream(s, EPIPE);
		}
		settle(s);
	}
}

static bool has_room(const struct kg_relay_stream *s, int stop_fd,
		     uint64_t end_ns)
{
	uint64_t now_ns = kg_now_ns();
	int left_ms = end_ns == 0	? -1
		      : now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) + 1
					: 0;
	struct pollfd pfd[] = {
		{ .fd = s->to, .events = POLLOUT },
		{ .fd = stop_fd, .events = POLLIN },
	};

	while (poll(pfd, KG_ARRAY_LEN(pfd), left_ms) < 0 && errno == EINTR)
		;
	return pfd[0].revents;
}

static bool drain_stream(struct kg_relay_stream *s, int stop_fd,
			 uint64_t end_ns)
{
	size_t before;

	while (s->to >= 0) {
		if (has_bytes(s)) {
			if (!has_room(s, stop_fd, end_ns))
				return false;
			empty(s, most_of(s));
			continue;
		}
		if (s->from < 0)
			break;
		before = s->end;
		fill(s);
		if (!has_bytes(s) && (s->from < 0 || s->end == before))
			break;
	}
	end_to(s); /* one's own end: the reader is to see the last of it */
	return true;
}

bool kg_relay_drain(struct kg_relay *relay, int stop_fd, uint64_t end_ns)
{
	size_t i;

	for (i = 1; i < KG_RELAY_STREAMS; i++)
		if (!drain_stream(&relay->streams[i], stop_fd, end_ns))
			return false;
	return true;
}

int kg_relay_error(const struct kg_relay *relay, struct kg_error *err)
{
	size_t i;

	for (i = 1; i < KG_RELAY_STREAMS; i++)
		if (relay->streams[i].failed)
			return kg_fail(
				err, KG_E_SYSTEM, relay->streams[i].failed,
				"output was lost: write to %s", names[i]);
	return 0;
}

void kg_relay_free(struct kg_relay *relay)
{
	size_t i;

	for (i = 0; relay && i < KG_RELAY_STREAMS; i++) {
		end_from(&relay->streams[i]);
		end_to(&relay->streams[i]);
	}
	free(relay);
}
