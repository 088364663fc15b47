/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/disposition.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* rt_sigaction(2) as the kernel has it: linux/signal.h, struct sigaction. */
struct action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

void kg_disposition_set(int signo, bool ignored)
{
	struct action action = { .handler = ignored ? SIG_IGN : SIG_DFL };

	(void)syscall(SYS_rt_sigaction, signo, &action, NULL,
		      sizeof(action.mask));
}

bool kg_disposition_is_ignored(int signo)
{
	struct action action = { .handler = SIG_DFL };

	return syscall(SYS_rt_sigaction, signo, NULL, &action,
		       sizeof(action.mask)) == 0 &&
	       action.handler == SIG_IGN;
}
