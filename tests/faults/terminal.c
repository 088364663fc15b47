/* SPDX-License-Identifier: MIT */
/*
 * terminal - run a command on a terminal of its own and type something
 *
 *	terminal WORD KEYS COMMAND [ARG...]
 *
 * KEYS are typed once, when WORD has been written; \003 in them is Ctrl-C. What
 * is written goes to standard output; the command's exit status comes back.
 * A command that writes nothing for 20 seconds is killed with its terminal.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOUND_MS   20000
#define SEEN_BYTES 4096

struct terminal {
	int fd;
	const char *word;
	const char *keys;
	bool typed;
	char seen[SEEN_BYTES];
	size_t len;
};

static void type_keys(struct terminal *t)
{
	size_t len = strlen(t->keys);

	if (write(t->fd, t->keys, len) != (ssize_t)len)
		err(99, "type");
	t->typed = true;
}

static void note(struct terminal *t, const char *bytes, size_t len)
{
	if (t->typed || len > sizeof(t->seen) - 1 - t->len)
		return;
	memcpy(t->seen + t->len, bytes, len);
	t->len += len;
	t->seen[t->len] = '\0';
	if (strstr(t->seen, t->word))
		type_keys(t);
}

/* Until the last descriptor of the terminal's other end is closed. */
static void attend(struct terminal *t)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	char bytes[1024];
	ssize_t n;

	while (poll(&p, 1, BOUND_MS) == 1) {
		n = read(t->fd, bytes, sizeof(bytes));
		if (n <= 0)
			return;
		if (write(STDOUT_FILENO, bytes, (size_t)n) != n)
			err(99, "write");
		note(t, bytes, (size_t)n);
	}
	warnx("nothing was written for too long");
	close(t->fd);
}

int main(int argc, char **argv)
{
	struct terminal t = { 0 };
	int status;
	pid_t pid;

	if (argc < 4)
		errx(99, "usage: terminal WORD KEYS COMMAND [ARG...]");
	t.word = argv[1];
	t.keys = argv[2];
	pid = forkpty(&t.fd, NULL, NULL, NULL);
	if (pid < 0)
		err(99, "forkpty");
	if (pid == 0) {
		execvp(argv[3], argv + 3);
		err(99, "%s", argv[3]);
	}
	attend(&t);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			err(99, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
