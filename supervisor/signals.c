/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/disposition.h"
#include "common/scoped.h"
#include "common/util.h"

static const struct {
	int signo;
	const char *name;
	enum kg_signal_use use;
} heard[] = {
	/* clang-format off */
	{ SIGINT,  "SIGINT",  KG_SIGNAL_END },
	{ SIGTERM, "SIGTERM", KG_SIGNAL_END },
	{ SIGHUP,  "SIGHUP",  KG_SIGNAL_END },
	{ SIGQUIT, "SIGQUIT", KG_SIGNAL_END },
	{ SIGUSR1, "SIGUSR1", KG_SIGNAL_PASS },
	{ SIGUSR2, "SIGUSR2", KG_SIGNAL_PASS },
	{ SIGCONT, "SIGCONT", KG_SIGNAL_PASS },
	{ SIGTSTP, "SIGTSTP", KG_SIGNAL_STOP },
	/* clang-format on */
};

static void remember(struct kg_signals *s)
{
	sigset_t mask;
	int sig;

	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	for (sig = 1; sig <= KG_DISPOSITION_SIGNALS; sig++) {
		if (sigismember(&mask, sig) == 1)
			s->blocked |= KG_BIT64(sig - 1);
		if (kg_disposition_is_ignored(sig))
			s->ignored |= KG_BIT64(sig - 1);
	}
}

int kg_signals_take(struct kg_signals *ret, struct kg_error *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct kg_signals s = KG_SIGNALS_INIT;
	sigset_t mask;
	size_t i;

	remember(&s);
	(void)sigemptyset(&mask);
	for (i = 0; i < KG_ARRAY_LEN(heard); i++)
		if (!(s.ignored & KG_BIT64(heard[i].signo - 1)))
			(void)sigaddset(&mask, heard[i].signo);

	/* Children of who ignores it are reaped by the kernel, unasked. */
	kg_disposition_set(SIGCHLD, false);
	if (sigaction(SIGPIPE, &ignore, NULL) ||
	    sigaction(SIGXFSZ, &ignore, NULL) ||
	    sigprocmask(SIG_BLOCK, &mask, NULL))
		return kg_fail_system(err, "set up signals");
	s.fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s.fd < 0)
		return kg_fail_system(err, "listen for signals");
	*ret = s;
	return 0;
}

enum kg_signal_use kg_signals_next(struct kg_signals *signals, int *ret_signo,
				   bool *ret_to_group)
{
	struct signalfd_siginfo info;
	size_t i;

	if (read(signals->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return KG_SIGNAL_NONE;
	for (i = 0; i < KG_ARRAY_LEN(heard); i++) {
		if ((uint32_t)heard[i].signo != info.ssi_signo)
			continue;
		*ret_signo = heard[i].signo;

		/* What Ctrl-Z has stopped goes on as a whole: fg sends it. */
		*ret_to_group = info.ssi_code == SI_KERNEL ||
				heard[i].signo == SIGCONT;
		return heard[i].use;
	}
	return KG_SIGNAL_NONE;
}

const char *kg_signals_name(int signo)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(heard); i++)
		if (heard[i].signo == signo)
			return heard[i].name;
	return "a signal";
}

void kg_signals_done(struct kg_signals *signals)
{
	kg_scope_close_(&signals->fd);
	*signals = KG_SIGNALS_INIT;
}
