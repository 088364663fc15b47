/* SPDX-License-Identifier: MIT */
/*
 * infofd - stand between bwrap and the reader of its --info-fd
 *
 *	infofd HOW FIFO|- BWRAP --args FD [WORD...]
 *
 * BWRAP is started with the same words, but for the number behind --info-fd:
 * what it says there comes here, and goes on to the right descriptor
 *
 *	bytes	one byte a write
 *	cut	without its second half
 *	wrong	as another object, without child-pid
 *	text	as text that isn't JSON
 *	huge	with blanks in front that no reader should take
 *	open	whole, on a descriptor that is never closed
 *	silent	not at all, on a descriptor that is never closed
 *	stuck	not at all, and bwrap can't go on: it waits for room behind its
 *		first word, when its child exists and waits for it
 *
 * That it is stuck is said to FIFO.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define INFO_BYTES 4096

/* Room for bwrap's first write, `{ "child-pid": N`, and not for its second. */
#define ROOM_BYTES 32

struct words {
	char *bytes;
	size_t len;
};

struct info {
	int from;
	int to;
	int events;
	const char *fifo;
	char text[INFO_BYTES];
	size_t len;
};

static void read_all(int fd, struct words *ret)
{
	char *grown;
	ssize_t n;

	for (;;) {
		grown = realloc(ret->bytes, ret->len + INFO_BYTES);
		if (!grown)
			err(99, "realloc");
		ret->bytes = grown;
		n = read(fd, ret->bytes + ret->len, INFO_BYTES);
		if (n < 0)
			err(99, "read the words");
		if (n == 0)
			return;
		ret->len += (size_t)n;
	}
}

/* Where the word behind --info-fd begins. */
static size_t find_number(const struct words *w)
{
	static const char option[] = "--info-fd";
	const char *found;

	found = memmem(w->bytes, w->len, option, sizeof(option));
	if (!found)
		errx(99, "no --info-fd among the words");
	return (size_t)(found - w->bytes) + sizeof(option);
}

/* The words with another number, in a file that bwrap can read. */
static int replace_number(const struct words *w, int number)
{
	size_t at = find_number(w), behind = at + strlen(w->bytes + at);
	int fd = memfd_create("words", 0);

	if (fd < 0 || write(fd, w->bytes, at) != (ssize_t)at ||
	    dprintf(fd, "%d", number) < 0 ||
	    write(fd, w->bytes + behind, w->len - behind) !=
		    (ssize_t)(w->len - behind) ||
	    lseek(fd, 0, SEEK_SET) < 0)
		err(99, "write the words");
	return fd;
}

static void put(const struct info *info, const char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (write(info->to, bytes + i, 1) != 1)
			_exit(0); /* the reader has had enough */
}

static void say_bytes(const struct info *info)
{
	put(info, info->text, info->len);
}

static void say_half(const struct info *info)
{
	put(info, info->text, info->len / 2);
}

static void say_wrong(const struct info *info)
{
	static const char text[] = "{\n    \"child\": 12\n}\n";

	put(info, text, sizeof(text) - 1);
}

static void say_text(const struct info *info)
{
	static const char text[] = "child-pid: 12}\n";

	put(info, text, sizeof(text) - 1);
}

static void say_much(const struct info *info)
{
	size_t i;

	for (i = 0; i < 65536; i++)
		put(info, " ", 1);
	put(info, info->text, info->len);
}

static void say_nothing(const struct info *info)
{
	(void)info;
}

static void say_stuck(const struct info *info)
{
	struct epoll_event event;
	int fd;

	(void)epoll_wait(info->events, &event, 1, -1);
	if (strcmp(info->fifo, "-") == 0)
		return;
	fd = open(info->fifo, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "stuck\n", 6) != 6)
		_exit(99);
	close(fd);
}

/* What @reads waits for the whole of it first; what @stays ends with bwrap. */
static const struct {
	const char *name;
	void (*say)(const struct info *info);
	bool reads;
	bool stays;
} ways[] = {
	/* clang-format off */
	{ "bytes",  say_bytes,	 .reads = true },
	{ "cut",    say_half,	 .reads = true },
	{ "wrong",  say_wrong,	 .reads = true },
	{ "text",   say_text,	 .reads = true },
	{ "huge",   say_much,	 .reads = true },
	{ "open",   say_bytes,	 .reads = true, .stays = true },
	{ "silent", say_nothing, .reads = true, .stays = true },
	{ "stuck",  say_stuck,	 .stays = true },
	/* clang-format on */
};

/* Holds nothing else open, and ends with bwrap at the latest. */
static void relay(size_t way, struct info *info)
{
	ssize_t n;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	for (fd = 0; fd < sysconf(_SC_OPEN_MAX) && fd < 4096; fd++)
		if (fd != info->from && fd != info->to && fd != info->events)
			close(fd);
	while (ways[way].reads &&
	       (n = read(info->from, info->text + info->len,
			 sizeof(info->text) - info->len)) > 0)
		info->len += (size_t)n;
	ways[way].say(info);
	while (ways[way].stays)
		pause();
	_exit(0);
}

/* A pipe of one page, with so much room. */
static void fill(int fd, size_t room)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *blanks = malloc(page);

	if (!blanks || fcntl(fd, F_SETPIPE_SZ, (int)page) != (int)page)
		err(99, "make the pipe small");
	memset(blanks, ' ', page);
	if (write(fd, blanks, page - room) != (ssize_t)(page - room))
		err(99, "fill the pipe");
	free(blanks);
}

/* Each write is an event; the first one is what stands there already. */
static int watch(int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int events = epoll_create1(EPOLL_CLOEXEC);

	if (events < 0 || epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) ||
	    epoll_wait(events, &event, 1, 0) != 1)
		err(99, "watch the pipe");
	return events;
}

static size_t find_way(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(ways[i].name, name) == 0)
			return i;
	errx(99, "%s: no such way", name);
}

int main(int argc, char **argv)
{
	struct words words = { 0 };
	struct info info = { .events = -1 };
	char number[16];
	int ends[2];
	size_t way;
	pid_t pid;

	if (argc < 6 || strcmp(argv[4], "--args") != 0)
		errx(99, "usage: infofd HOW FIFO|- BWRAP --args FD [WORD...]");
	way = find_way(argv[1]);
	read_all(atoi(argv[5]), &words);
	if (pipe(ends))
		err(99, "pipe");
	if (!ways[way].reads) {
		fill(ends[1], ROOM_BYTES);
		info.events = watch(ends[0]);
	}
	info.from = ends[0];
	info.to = atoi(words.bytes + find_number(&words));
	info.fifo = argv[2];
	snprintf(number, sizeof(number), "%d", replace_number(&words, ends[1]));
	argv[5] = number;
	pid = fork();
	if (pid < 0)
		err(99, "fork");
	if (pid == 0)
		relay(way, &info);

	close(info.from);
	close(info.to);
	execv(argv[3], argv + 3);
	err(99, "%s", argv[3]);
}
