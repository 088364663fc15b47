/* SPDX-License-Identifier: MIT */
/*
 * What a process does with signals is for good: Check runs each test in a
 * process of its own.
 */
#include "config.h"

#include "supervisor/signals.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/disposition.h"
#include "common/fd.h"
#include "common/scoped.h"
#include "common/util.h"

Suite *kg_suite(void);

#define BIT(sig) KG_BIT64((sig)-1)

static struct kg_error err;
static struct kg_signals signals;

/* What the manual says, once more. */
static const struct {
	int signo;
	enum kg_signal_use use;
	const char *name;
} heard[] = {
	{ SIGINT, KG_SIGNAL_END, "SIGINT" },
	{ SIGTERM, KG_SIGNAL_END, "SIGTERM" },
	{ SIGHUP, KG_SIGNAL_END, "SIGHUP" },
	{ SIGQUIT, KG_SIGNAL_END, "SIGQUIT" },
	{ SIGUSR1, KG_SIGNAL_PASS, "SIGUSR1" },
	{ SIGUSR2, KG_SIGNAL_PASS, "SIGUSR2" },
	{ SIGCONT, KG_SIGNAL_PASS, "SIGCONT" },
	{ SIGTSTP, KG_SIGNAL_STOP, "SIGTSTP" },
};

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A caller's state: everything as it is by default. */
static void start_clean(void)
{
	sigset_t none;
	int sig;

	for (sig = 1; sig <= KG_DISPOSITION_SIGNALS; sig++)
		kg_disposition_set(sig, false);
	(void)sigemptyset(&none);
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, &none, NULL), 0);
	signals = KG_SIGNALS_INIT;
}

static void take(void)
{
	ck_assert_int_eq(kg_signals_take(&signals, &err), 0);
	ck_assert_int_ge(signals.fd, 0);
}

static void expect_next(enum kg_signal_use use, int signo, bool to_group)
{
	bool got_group = !to_group;
	int got = 0;

	ck_assert_int_eq(kg_signals_next(&signals, &got, &got_group), use);
	ck_assert_int_eq(got, signo);
	ck_assert_int_eq(got_group, to_group);
}

static void expect_silence(void)
{
	bool to_group;
	int signo;

	ck_assert_int_eq(kg_signals_next(&signals, &signo, &to_group),
			 KG_SIGNAL_NONE);
}

static bool is_ignored(int sig)
{
	struct sigaction sa;

	ck_assert_int_eq(sigaction(sig, NULL, &sa), 0);
	return sa.sa_handler == SIG_IGN;
}

START_TEST(hears_each_signal_of_the_list)
{
	size_t i;

	take();
	expect_silence();
	for (i = 0; i < KG_ARRAY_LEN(heard); i++) {
		ck_assert_int_eq(kill(getpid(), heard[i].signo), 0);
		ck_assert(kg_fd_is_ready(signals.fd));
		expect_next(heard[i].use, heard[i].signo,
			    heard[i].signo == SIGCONT);
		expect_silence();
		ck_assert_str_eq(kg_signals_name(heard[i].signo),
				 heard[i].name);
	}
	kg_signals_done(&signals);
}
END_TEST

START_TEST(leaves_all_others_as_they_are)
{
	sigset_t mask;
	int sig, on_list;
	size_t i;

	take();
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
	for (sig = 1; sig < NSIG; sig++) {
		on_list = 0;
		for (i = 0; i < KG_ARRAY_LEN(heard); i++)
			on_list |= heard[i].signo == sig;
		ck_assert_msg(sigismember(&mask, sig) == on_list || sig == 32 ||
				      sig == 33,
			      "signal %d", sig);
	}
	ck_assert_str_eq(kg_signals_name(SIGWINCH), "a signal");
	kg_signals_done(&signals);
}
END_TEST

START_TEST(remembers_nothing_where_nothing_was_set)
{
	take();
	ck_assert_uint_eq(signals.blocked, 0);
	ck_assert_uint_eq(signals.ignored, 0);
	kg_signals_done(&signals);
}
END_TEST

/* nohup and the like: the command ignores it as well, and kgate lives on. */
START_TEST(neither_hears_nor_restores_an_ignored_signal)
{
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	take();
	ck_assert_uint_eq(signals.ignored, BIT(SIGHUP) | BIT(SIGINT));
	ck_assert_int_eq(raise(SIGHUP), 0);
	ck_assert_int_eq(raise(SIGINT), 0);
	expect_silence();
	ck_assert_int_eq(raise(SIGTERM), 0);
	expect_next(KG_SIGNAL_END, SIGTERM, false);
	ck_assert(is_ignored(SIGHUP) && is_ignored(SIGINT));
	kg_signals_done(&signals);
	ck_assert(is_ignored(SIGHUP) && is_ignored(SIGINT));
}
END_TEST

START_TEST(remembers_what_was_blocked)
{
	sigset_t mask;

	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGUSR1);
	(void)sigaddset(&mask, SIGWINCH);
	(void)sigaddset(&mask, 1);
	(void)sigaddset(&mask, 64);
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, &mask, NULL), 0);
	take();
	ck_assert_uint_eq(signals.blocked,
			  BIT(SIGUSR1) | BIT(SIGWINCH) | BIT(1) | BIT(64));
	ck_assert_uint_eq(signals.ignored, 0);
	ck_assert_int_eq(raise(SIGUSR1), 0); /* heard all the same */
	expect_next(KG_SIGNAL_PASS, SIGUSR1, false);
	kg_signals_done(&signals);
}
END_TEST

START_TEST(remembers_every_ignored_signal)
{
	uint64_t want = 0;
	int sig;

	for (sig = 1; sig <= 64; sig++)
		if (signal(sig, SIG_IGN) != SIG_ERR)
			want |= BIT(sig);
	ck_assert_uint_ne(want & BIT(64), 0);
	take();
	ck_assert_uint_eq(signals.ignored, want);
	kg_signals_done(&signals);
}
END_TEST

/* The command is to get SIGPIPE as the caller has it. */
START_TEST(ignores_sigpipe_for_itself_alone)
{
	int ends[2];

	take();
	ck_assert_uint_eq(signals.ignored & BIT(SIGPIPE), 0);
	ck_assert(is_ignored(SIGPIPE));
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	close(ends[0]);
	ck_assert_int_eq(write(ends[1], "x", 1), -1);
	close(ends[1]);
	kg_signals_done(&signals);
}
END_TEST

START_TEST(keeps_its_descriptor_to_itself)
{
	int before = count_open();

	take();
	ck_assert_int_eq(count_open(), before + 1);
	ck_assert(fcntl(signals.fd, F_GETFD) & FD_CLOEXEC);
	kg_signals_done(&signals);
	kg_signals_done(&signals); /* twice is harmless */
	ck_assert_int_eq(signals.fd, -1);
	ck_assert_int_eq(count_open(), before);
	expect_silence(); /* of a closed one */
}
END_TEST

/* SIGINT comes from a terminal's line discipline, to the foreground group. */
static void hear_terminal(const char *slave)
{
	int fd, signo;
	bool to_group;

	(void)setsid();
	fd = open(slave, O_RDWR | O_CLOEXEC);
	if (fd < 0 || kg_signals_take(&signals, &err))
		_exit(1);
	if (write(fd, "r", 1) != 1 || !kg_fd_wait(signals.fd, 5000))
		_exit(2);
	if (kg_signals_next(&signals, &signo, &to_group) != KG_SIGNAL_END)
		_exit(3);
	_exit(signo == SIGINT && to_group ? 0 : 4);
}

START_TEST(tells_a_terminals_signal_from_a_process)
{
	kg_auto_close int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char slave[64], ready;
	int status = -1;
	pid_t pid;

	ck_assert_int_eq(grantpt(master) | unlockpt(master), 0);
	ck_assert_int_eq(ptsname_r(master, slave, sizeof(slave)), 0);
	pid = fork();
	if (pid == 0)
		hear_terminal(slave);
	ck_assert(kg_fd_wait(master, 5000));
	ck_assert_int_eq(read(master, &ready, 1), 1);
	ck_assert_int_eq(write(master, "\003", 1), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(says_that_descriptors_have_run_out)
{
	struct rlimit old, tight;
	int rc, next = dup(0);

	close(next);
	getrlimit(RLIMIT_NOFILE, &old);
	tight = old;
	tight.rlim_cur = (rlim_t)next;
	setrlimit(RLIMIT_NOFILE, &tight);
	rc = kg_signals_take(&signals, &err);
	setrlimit(RLIMIT_NOFILE, &old);
	ck_assert_int_eq(rc, -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_int_eq(signals.fd, -1);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("supervisor/signals");
	TCase *tc = tcase_create("signals");

	tcase_add_checked_fixture(tc, start_clean, NULL);
	tcase_add_test(tc, hears_each_signal_of_the_list);
	tcase_add_test(tc, leaves_all_others_as_they_are);
	tcase_add_test(tc, remembers_nothing_where_nothing_was_set);
	tcase_add_test(tc, neither_hears_nor_restores_an_ignored_signal);
	tcase_add_test(tc, remembers_what_was_blocked);
	tcase_add_test(tc, remembers_every_ignored_signal);
	tcase_add_test(tc, ignores_sigpipe_for_itself_alone);
	tcase_add_test(tc, keeps_its_descriptor_to_itself);
	tcase_add_test(tc, tells_a_terminals_signal_from_a_process);
	if (!getenv("KG_VALGRIND")) /* which needs descriptors of its own */
		tcase_add_test(tc, says_that_descriptors_have_run_out);
	suite_add_tcase(s, tc);
	return s;
}
