/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/util.h"

static const char *const names[] = { "standard input", "standard output",
				     "standard error" };

/* linux/Documentation/admin-guide/devices.txt: 1:3 is /dev/null. */
static bool is_null_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static int open_null(struct kg_error *err)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return kg_fail_system(err, "open /dev/null");
	return fd;
}

static int open_stream(struct kg_relay_stream *s, int fd, int *ret_box,
		       struct kg_error *err)
{
	struct stat st;
	int ends[2];

	if (fstat(fd, &st))
		return kg_fail_system(err, "look at %s", names[fd]);
	if (fd == 0 && S_ISDIR(st.st_mode))
		return kg_fail(err, KG_E_USAGE, 0,
			       "standard input is a directory, a way out of "
			       "the box; use `</dev/null`");
	if (fd != 2 && is_null_device(&st)) {
		*ret_box = open_null(err);
		return *ret_box < 0 ? -1 : 0;
	}
	if (pipe2(ends, O_CLOEXEC))
		return kg_fail_system(err, "make a pipe");
	s->from = fd == 0 ? fd : ends[0];
	s->to = fd == 0 ? ends[1] : fd;
	s->owns_from = fd != 0;
	s->owns_to = fd == 0;
	*ret_box = fd == 0 ? ends[0] : ends[1];

	/* The caller's descriptors keep their flags: others share them. */
	if (fcntl(fd == 0 ? s->to : s->from, F_SETFL, O_NONBLOCK))
		return kg_fail_system(err, "set up %s", names[fd]);
	return 0;
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
		if (open_stream(&relay->streams[i], i, &ret_box[i], err)) {
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
				empty(s, PIPE_BUF);
			else if (pfd[2 * i + 1].revents & (POLLERR | POLLHUP))
				break_stream(s, EPIPE);
		}
		settle(s);
	}
}

static bool has_room(const struct kg_relay_stream *s, int stop_fd)
{
	struct pollfd pfd[] = {
		{ .fd = s->to, .events = POLLOUT },
		{ .fd = stop_fd, .events = POLLIN },
	};

	while (poll(pfd, KG_ARRAY_LEN(pfd), -1) < 0 && errno == EINTR)
		;
	return pfd[0].revents || !pfd[1].revents;
}

static bool drain_stream(struct kg_relay_stream *s, int stop_fd)
{
	size_t before;

	while (s->to >= 0) {
		if (has_bytes(s)) {
			if (!has_room(s, stop_fd))
				return false;
			empty(s, PIPE_BUF);
			continue;
		}
		if (s->from < 0)
			break;
		before = s->end;
		fill(s);
		if (!has_bytes(s) && (s->from < 0 || s->end == before))
			break;
	}
	return true;
}

bool kg_relay_drain(struct kg_relay *relay, int stop_fd)
{
	size_t i;

	for (i = 1; i < KG_RELAY_STREAMS; i++)
		if (!drain_stream(&relay->streams[i], stop_fd))
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
