/* SPDX-License-Identifier: MIT */

/*
 * slirp - a launch by bwrap and slirp4netns: the baseline of restricted
 *
 *	slirp LOG BWRAP ARGS_FD SLIRP4NETNS yes|no CMD [ARG...]
 *
 * One synced line in LOG, bwrap as in bare.c, and slirp4netns as kgate starts
 * it, with IPv6 or without; no firewall, no resolver, no seccomp filter.  The
 * shortest order that still gives CMD a working link: slirp4netns starts as
 * soon as the network namespace exists, while bwrap lays the mounts; bwrap
 * holds CMD back until slirp4netns is ready.  The end is bwrap's end:
 * slirp4netns goes by itself.
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/fd.h"
#include "common/scoped.h"
#include "common/util.h"
#include "netns/slirp.h"
#include "tests/bench/log.h"

enum word {
	WORD_SELF,
	WORD_LOG,
	WORD_BWRAP,
	WORD_ARGS_FD,
	WORD_SLIRP,
	WORD_IPV6,
	WORD_COMMAND,
};

#define BWRAP_WORDS 7 /* in front of the command */
#define MAX_LOOKS   1000000

/**
 * struct box - A running bwrap
 * @pid:	Its process
 * @info_fd:	What it says about its child; owned
 * @block_fd:	A byte here lets the command start; owned
 */
struct box {
	pid_t pid;
	int info_fd;
	int block_fd;
};

static void become_bwrap(int argc, char **argv, int info_fd, int block_fd,
			 struct kg_error *err)
{
	static char *const environment[] = { NULL };
	char info[16], block[16];
	const char *front[BWRAP_WORDS] = {
		argv[WORD_BWRAP],
		"--args",
		argv[WORD_ARGS_FD],
		"--info-fd",
		info,
		"--block-fd",
		block,
	};
	char **words;

	(void)snprintf(info, sizeof(info), "%d", info_fd);
	(void)snprintf(block, sizeof(block), "%d", block_fd);
	words = calloc((size_t)argc + 1, sizeof(*words));
	if (!words || kg_fd_share(info_fd, err) || kg_fd_share(block_fd, err))
		return;
	memcpy(words, front, sizeof(front));
	memcpy(words + BWRAP_WORDS, argv + WORD_COMMAND,
	       (size_t)(argc - WORD_COMMAND) * sizeof(*words));
	execve(argv[WORD_BWRAP], words, environment);
	(void)kg_fail_system(err, "execute %s", argv[WORD_BWRAP]);
}

static int start_box(int argc, char **argv, struct box *ret,
		     struct kg_error *err)
{
	int info[2], block[2];

	if (pipe2(info, O_CLOEXEC) || pipe2(block, O_CLOEXEC))
		return kg_fail_system(err, "make a pipe");
	ret->pid = fork();
	if (ret->pid < 0)
		return kg_fail_system(err, "fork");
	if (ret->pid == 0) {
		become_bwrap(argc, argv, info[1], block[0], err);
		(void)fprintf(stderr, "slirp: %s\n", err->msg);
		_exit(125);
	}
	ret->info_fd = info[0];
	ret->block_fd = block[1];

	/* The box's files are bwrap's alone, not slirp4netns' as well. */
	kg_fd_close_others((const int[]){ info[0], block[1] }, 2);
	return 0;
}

static int read_child_pid(const struct box *box, int *ret, struct kg_error *err)
{
	static const char key[] = "\"child-pid\":";
	char text[512];
	size_t len = 0;
	const char *at;
	ssize_t n;

	do {
		n = read(box->info_fd, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			return kg_fail(err, KG_E_SANDBOX, n < 0 ? errno : 0,
				       "bwrap said nothing of its child");
		len += (size_t)n;
		text[len] = '\0';
	} while (!strchr(text, '}'));
	at = strstr(text, key);
	*ret = at ? atoi(at + strlen(key)) : 0;
	if (*ret <= 1)
		return kg_fail(err, KG_E_SANDBOX, 0, "no child in '%s'", text);
	return 0;
}

/*
 * bwrap names its child before that has mapped its ids, and an unmapped user
 * who joins and executes slirp4netns has lost what it needs.  There is no event
 * to wait for; it is a matter of microseconds.
 */
static int wait_for_ids(int pid, struct kg_error *err)
{
	kg_auto_close int fd = -1;
	char path[64], byte;
	int i;

	(void)snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return kg_fail_system(err, "open %s", path);
	for (i = 0; i < MAX_LOOKS; i++) {
		if (pread(fd, &byte, 1, 0) == 1)
			return 0;
		(void)sched_yield();
	}
	return kg_fail(err, KG_E_TIMEOUT, 0, "%s stays empty", path);
}

static int open_namespaces(const struct box *box, int *ret_userns,
			   int *ret_netns, struct kg_error *err)
{
	char path[64];
	int pid = 0;

	if (read_child_pid(box, &pid, err) || wait_for_ids(pid, err))
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	*ret_netns = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret_netns < 0)
		return kg_fail_system(err, "open %s", path);
	*ret_userns = ioctl(*ret_netns, NS_GET_USERNS);
	if (*ret_userns < 0)
		return kg_fail_system(err, "find the box's user namespace");
	return 0;
}

static int explain_end(const struct kg_slirp *slirp, struct kg_error *err)
{
	char words[256];
	ssize_t n = read(slirp->words_fd, words, sizeof(words));

	return kg_fail(err, KG_E_NETNS, 0,
		       "slirp4netns ended before it was ready: %.*s",
		       n > 0 ? (int)n : 0, words);
}

static int launch(int argc, char **argv, struct kg_slirp *slirp,
		  int *ret_status, struct kg_error *err)
{
	struct box box = { .pid = -1, .info_fd = -1, .block_fd = -1 };
	int userns = -1, netns = -1;
	char word;

	if (kg_log_write(argv[WORD_LOG]))
		return kg_fail_system(err, "write %s", argv[WORD_LOG]);
	if (start_box(argc, argv, &box, err) ||
	    open_namespaces(&box, &userns, &netns, err) ||
	    kg_slirp_start(argv[WORD_SLIRP], userns, netns,
			   strcmp(argv[WORD_IPV6], "yes") == 0, slirp, err))
		return -1;
	if (read(slirp->ready_fd, &word, 1) != 1)
		return explain_end(slirp, err);
	if (write(box.block_fd, "", 1) != 1)
		return kg_fail_system(err, "let the command start");
	if (waitpid(box.pid, ret_status, 0) != box.pid)
		return kg_fail_system(err, "wait for bwrap");
	return 0;
}

int main(int argc, char **argv)
{
	struct kg_slirp slirp = KG_SLIRP_INIT;
	struct kg_error err = KG_ERROR_INIT;
	int status = 0;

	if (argc <= WORD_COMMAND) {
		(void)fprintf(stderr, "usage: slirp LOG BWRAP ARGS_FD "
				      "SLIRP4NETNS yes|no CMD [ARG...]\n");
		return 125;
	}
	if (launch(argc, argv, &slirp, &status, &err)) {
		(void)fprintf(stderr, "slirp: %s\n", err.msg);
		return 125;
	}

	/* slirp4netns ends with exit_fd, which this closes. */
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
