/* SPDX-License-Identifier: MIT */
/*
 * How slirp4netns is started, told by a script that stands in for it: it says
 * on standard error what it was given, and ends as the real one does.
 */
#include "config.h"

#include "netns/slirp.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/scoped.h"

Suite *kg_suite(void);

#define LONG_MS 10000

static const char script[] = "#!/bin/sh\n"
			     "user=$(readlink /proc/self/ns/user)\n"
			     "net=$(readlink ${13})\n"
			     "bytes=$(wc -c </proc/$$/environ)\n"
			     "echo \"$* $user $net env=$bytes\" >&2\n"
			     "[ -e /proc/$$/fd/77 ] && echo 'a stranger' >&2\n"
			     "exec 2>&-\n"
			     "echo 1 >/proc/self/fd/$8\n"
			     "exec cat /proc/self/fd/${10}\n";

static struct kg_error err;
static struct kg_slirp slirp;
static char program[64];
static pid_t holder = -1;
static int userns = -1, netns = -1;
static int open_before;

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void write_program(void)
{
	kg_auto_close int fd = -1;

	(void)snprintf(program, sizeof(program), "/tmp/kgate-slirp-XXXXXX");
	fd = mkostemp(program, O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(kg_fd_write_all(fd, script, sizeof(script) - 1), 0);
	ck_assert_int_eq(fchmod(fd, 0755), 0);
}

static int open_namespace(const char *kind)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)holder, kind);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* A process that keeps a user and a network namespace. */
static bool make_namespaces(void)
{
	int ends[2];
	char up = 0;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	holder = fork();
	if (holder == 0) {
		up = unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
		if (write(ends[1], &up, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(ends[0], &up, 1), 1);
	close(ends[0]);
	close(ends[1]);
	if (!up)
		return false;
	userns = open_namespace("user");
	netns = open_namespace("net");
	return userns >= 0 && netns >= 0;
}

/* A machine that refuses user namespaces can skip; CI may not. */
static bool has_namespaces(void)
{
	if (make_namespaces())
		return true;
	ck_assert_ptr_null(getenv("KG_TESTS_MUST_RUN"));
	printf("# skipped: user namespaces are refused\n");
	return false;
}

static void begin(void)
{
	open_before = count_open();
	slirp = KG_SLIRP_INIT;
	write_program();
}

static void finish(void)
{
	kg_slirp_done(&slirp);
	kg_slirp_done(&slirp); /* twice is harmless */
	kg_scope_reap_(&holder);
	kg_scope_close_(&userns);
	kg_scope_close_(&netns);
	ck_assert_int_eq(unlink(program), 0);
	ck_assert_int_eq(count_open(), open_before);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no child left */
}

static void start(bool ipv6)
{
	ck_assert_msg(
		kg_slirp_start(program, userns, netns, ipv6, &slirp, &err) == 0,
		"%s", err.msg);
}

static const char *hear(void)
{
	static char words[1024];
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < sizeof(words) - 1) {
		ck_assert(kg_fd_wait(slirp.words_fd, LONG_MS));
		n = read(slirp.words_fd, words + len, sizeof(words) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	words[len] = '\0';
	return words;
}

static void name_namespace(const char *kind, char *ret, size_t len)
{
	char path[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)holder, kind);
	n = readlink(path, ret, len - 1);
	ck_assert_int_gt(n, 0);
	ret[n] = '\0';
}

/* Descriptors are as the script was told; the rest must be exactly this. */
static void expect_words(const char *words, const char *more)
{
	char user[64], net[64], want[512];
	int ready, leave, ns;
	const char *p;

	p = strstr(words, "--ready-fd");
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(sscanf(p,
				"--ready-fd %d --exit-fd %d --netns-type path "
				"/proc/self/fd/%d",
				&ready, &leave, &ns),
			 3);
	ck_assert_int_eq(ns, netns);
	name_namespace("user", user, sizeof(user));
	name_namespace("net", net, sizeof(net));
	(void)snprintf(want, sizeof(want),
		       "--configure --mtu 65520 --enable-sandbox "
		       "--enable-seccomp --disable-host-loopback "
		       "--ready-fd %d --exit-fd %d --netns-type path "
		       "/proc/self/fd/%d tap0%s %s %s env=0\n",
		       ready, leave, ns, more, user, net);
	ck_assert_str_eq(words, want);
}

/* In the namespace that owns the network, without an environment. */
START_TEST(starts_it_with_the_reviewed_arguments)
{
	kg_auto_close int stranger = fcntl(0, F_DUPFD_CLOEXEC, 77);
	bool ipv6 = _i;

	ck_assert_int_eq(stranger, 77);
	if (!has_namespaces())
		return;
	start(ipv6);
	expect_words(hear(), ipv6 ? " --enable-ipv6" : "");
}
END_TEST

START_TEST(hears_that_it_is_ready_and_lets_it_go)
{
	char said = 0;

	if (!has_namespaces())
		return;
	start(false);
	ck_assert(kg_fd_wait(slirp.ready_fd, LONG_MS));
	ck_assert_int_eq(read(slirp.ready_fd, &said, 1), 1);
	ck_assert_int_eq(said, '1');
	ck_assert(!kg_child_has_ended(&slirp.child));

	kg_scope_close_(&slirp.exit_fd);
	ck_assert_int_eq(kg_child_wait(&slirp.child, LONG_MS), 0);
}
END_TEST

/* Its own ends are closed here: an end of file tells of its end. */
START_TEST(hears_that_it_ended)
{
	char said;

	if (!has_namespaces())
		return;
	start(false);
	(void)hear();
	ck_assert_int_eq(kill(slirp.child.pid, SIGKILL), 0);
	ck_assert(kg_fd_wait(slirp.child.pidfd, LONG_MS));
	while (read(slirp.ready_fd, &said, 1) == 1)
		;
	ck_assert_int_eq(read(slirp.words_fd, &said, 1), 0);
}
END_TEST

START_TEST(keeps_its_descriptors_to_itself)
{
	if (!has_namespaces())
		return;
	start(false);
	ck_assert(fcntl(slirp.ready_fd, F_GETFD) & FD_CLOEXEC);
	ck_assert(fcntl(slirp.exit_fd, F_GETFD) & FD_CLOEXEC);
	ck_assert(fcntl(slirp.words_fd, F_GETFD) & FD_CLOEXEC);
	ck_assert(fcntl(slirp.words_fd, F_GETFL) & O_NONBLOCK);
}
END_TEST

START_TEST(names_a_program_that_is_not_there)
{
	if (!has_namespaces())
		return;
	ck_assert_int_eq(kg_slirp_start("/nowhere/slirp4netns", userns, netns,
					false, &slirp, &err),
			 -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_str_eq(err.msg, "execute /nowhere/slirp4netns: No "
				  "such file or directory");
	ck_assert_int_eq(slirp.ready_fd, -1);
}
END_TEST

START_TEST(starts_nothing_outside_of_the_user_namespace)
{
	kg_auto_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(
		kg_slirp_start(program, null, null, false, &slirp, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_ptr_nonnull(strstr(err.msg, "join the box's user namespace"));
	ck_assert_int_eq(slirp.child.pid, -1);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("netns/slirp");
	TCase *tc = tcase_create("slirp");

	tcase_add_checked_fixture(tc, begin, finish);
	tcase_set_timeout(tc, 20);
	tcase_add_loop_test(tc, starts_it_with_the_reviewed_arguments, 0, 2);
	tcase_add_test(tc, hears_that_it_is_ready_and_lets_it_go);
	tcase_add_test(tc, hears_that_it_ended);
	tcase_add_test(tc, keeps_its_descriptors_to_itself);
	tcase_add_test(tc, names_a_program_that_is_not_there);
	tcase_add_test(tc, starts_nothing_outside_of_the_user_namespace);
	suite_add_tcase(s, tc);
	return s;
}
