/* SPDX-License-Identifier: MIT */

/*
 * bare - a launch by bwrap alone: the baseline of off and open
 *
 *	bare LOG BWRAP ARGS_FD CMD [ARG...]
 *
 * One synced line in LOG, then bwrap takes this process over.  ARGS_FD holds
 * the arguments that kgate gives to bwrap, but for the seccomp filter; CMD is
 * bwrap's own child, with no kgate-entry before it.  Links nothing of kgate.
 */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/log.h"

int main(int argc, char **argv)
{
	static char *const environment[] = { NULL };
	static char option[] = "--args";
	char *bwrap;

	if (argc < 5) {
		(void)fprintf(stderr,
			      "usage: bare LOG BWRAP ARGS_FD CMD [ARG...]\n");
		return 125;
	}
	if (kg_log_write(argv[1])) {
		perror(argv[1]);
		return 125;
	}
	bwrap = argv[2];
	argv[1] = bwrap;
	argv[2] = option;
	execve(bwrap, argv + 1, environment);
	perror(bwrap);
	return 125;
}
