/* SPDX-License-Identifier: MIT */

/*
 * first - say when a launched command begins; the benchmark's command
 *
 *	first [wait]
 *
 * The first thing main() does is read the clock that the launcher's parent
 * reads.  Linked statically, so that no search for libraries lies before it.
 * With an argument it stays until its input ends.
 */

#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct timespec now;
	char line[48];
	int len;

	(void)argv;
	if (clock_gettime(CLOCK_MONOTONIC, &now))
		return 1;
	len = snprintf(line, sizeof(line), "%lld\n",
		       (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	if (write(1, line, (size_t)len) != len)
		return 1;
	while (argc > 1 && read(0, line, sizeof(line)) > 0)
		;
	return 0;
}
