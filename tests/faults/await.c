/* SPDX-License-Identifier: MIT */
/*
 * await - wait for the end of a process that may be anybody's, not for long
 *
 *	await MS PID...
 *
 * Exits 0 when all have ended within that many milliseconds, 1 otherwise.  A
 * process that its parent hasn't reaped yet has ended.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int await_one(const char *pid, int64_t end_ms)
{
	struct pollfd p = { .events = POLLIN };
	int64_t left = end_ms - now_ms();
	int rc;

	p.fd = (int)syscall(SYS_pidfd_open, atoi(pid), 0);
	if (p.fd < 0 && errno == ESRCH)
		return 0;
	if (p.fd < 0)
		err(2, "pidfd_open %s", pid);
	rc = poll(&p, 1, left > 0 ? (int)left : 0);
	close(p.fd);
	return rc == 1 ? 0 : 1;
}

int main(int argc, char **argv)
{
	int64_t end_ms;
	int rc = 0, i;

	if (argc < 3)
		errx(2, "usage: await MS PID...");
	end_ms = now_ms() + atoi(argv[1]);
	for (i = 2; i < argc; i++)
		rc |= await_one(argv[i], end_ms);
	return rc;
}
