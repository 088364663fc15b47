/* SPDX-License-Identifier: MIT */
/*
 * A domain can't be left: each test enters it in a child, and tells by the
 * child's exit status what was possible there.
 */
#include "config.h"

#include "child/landlock.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scoped.h"

Suite *kg_suite(void);

#define NOBODY 65534

/* linux/landlock.h: asks for the version, 6 is the first with scopes. */
#define ASK_VERSION 1u
#define WITH_SCOPES 6

static struct kg_error err;
static struct sockaddr_un address;
static socklen_t address_len;
static int listener = -1;

/* A kernel without scopes can skip; CI may not. */
static bool has_scopes(void)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION) >=
	    WITH_SCOPES)
		return true;
	ck_assert_ptr_null(getenv("KG_TESTS_MUST_RUN"));
	printf("# skipped: this kernel has no Landlock scopes\n");
	return false;
}

/* An abstract socket outside of every domain. */
static void listen_outside(void)
{
	int len;

	address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
		       "kgate-test-%d", (int)getpid());
	address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				  (size_t)len);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(
		bind(listener, (struct sockaddr *)&address, address_len), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
}

static void stop_listening(void)
{
	close(listener);
}

static int exit_status_of(int (*body)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(body());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int enter(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return kg_landlock_scope(&err);
}

/* errno of a connect, 0 if it went well. */
static int dial(void)
{
	kg_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&address, address_len) ? errno
								     : 0;
}

static int signal_parent(void)
{
	return kill(getppid(), 0) ? errno : 0;
}

static int reach_out_freely(void)
{
	return dial() || signal_parent();
}

START_TEST(could_reach_out_before)
{
	ck_assert_int_eq(exit_status_of(reach_out_freely), 0);
}
END_TEST

static int signal_from_inside(void)
{
	return enter() ? 255 : signal_parent();
}

START_TEST(keeps_signals_inside)
{
	if (has_scopes())
		ck_assert_int_eq(exit_status_of(signal_from_inside), EPERM);
}
END_TEST

static int dial_from_inside(void)
{
	return enter() ? 255 : dial();
}

START_TEST(keeps_from_abstract_sockets_outside)
{
	if (has_scopes())
		ck_assert_int_eq(exit_status_of(dial_from_inside), EPERM);
}
END_TEST

static int meet_parent(void)
{
	return kill(getppid(), 0) || dial() ? 1 : 0;
}

/* A shell signals its jobs; programs talk to each other. */
static int live_inside(void)
{
	pid_t pid;
	int status;

	if (enter())
		return 255;
	close(listener);
	listen_outside(); /* under another name: inside by now */
	if (dial() || exit_status_of(meet_parent))
		return 1;
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	if (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid)
		return 2;
	return WIFSIGNALED(status) ? 0 : 3;
}

START_TEST(lets_those_inside_alone)
{
	ck_assert_int_eq(exit_status_of(live_inside), 0);
}
END_TEST

static int signal_from_grandchild(void)
{
	return enter() ? 255 : exit_status_of(signal_parent);
}

/* The grandchild's parent is inside, its parent's parent isn't. */
static int signal_grandparent(void)
{
	static pid_t outside;
	int status;
	pid_t pid;

	outside = getppid();
	if (enter())
		return 255;
	pid = fork();
	if (pid == 0)
		_exit(kill(outside, 0) ? errno : 0);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 254;
	return WEXITSTATUS(status);
}

START_TEST(holds_for_children_too)
{
	ck_assert_int_eq(exit_status_of(signal_from_grandchild), 0);
	if (has_scopes())
		ck_assert_int_eq(exit_status_of(signal_grandparent), EPERM);
}
END_TEST

/* Files, pipes and TCP are the mounts' and the firewall's. */
static int use_files(void)
{
	kg_auto_close int fd = -1;

	if (enter())
		return 255;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return fd < 0 || access("/", R_OK | X_OK) ? 1 : 0;
}

START_TEST(restricts_nothing_else)
{
	ck_assert_int_eq(exit_status_of(use_files), 0);
}
END_TEST

static int enter_twice(void)
{
	return enter() || kg_landlock_scope(&err) ? 1 : 0;
}

START_TEST(can_be_entered_twice)
{
	ck_assert_int_eq(exit_status_of(enter_twice), 0);
}
END_TEST

/* Root can: it gives its capabilities up first. */
static int enter_without_promise(void)
{
	if (getuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) ||
			      setresuid(NOBODY, NOBODY, NOBODY)))
		return 255;
	if (kg_landlock_scope(&err) == 0)
		return 254;
	return err.code == KG_E_SYSTEM ? err.errnum : 253;
}

START_TEST(says_why_a_domain_was_not_entered)
{
	if (has_scopes())
		ck_assert_int_eq(exit_status_of(enter_without_promise), EPERM);
}
END_TEST

static int count_descriptors(void)
{
	int before = dup(0), after;

	close(before);
	if (enter())
		return 255;
	after = dup(0);
	return after == before ? 0 : 1;
}

START_TEST(leaves_no_descriptor_behind)
{
	ck_assert_int_eq(exit_status_of(count_descriptors), 0);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("child/landlock");
	TCase *tc = tcase_create("landlock");

	tcase_add_checked_fixture(tc, listen_outside, stop_listening);
	tcase_add_test(tc, could_reach_out_before);
	tcase_add_test(tc, keeps_signals_inside);
	tcase_add_test(tc, keeps_from_abstract_sockets_outside);
	tcase_add_test(tc, lets_those_inside_alone);
	tcase_add_test(tc, holds_for_children_too);
	tcase_add_test(tc, restricts_nothing_else);
	tcase_add_test(tc, can_be_entered_twice);
	tcase_add_test(tc, says_why_a_domain_was_not_entered);
	tcase_add_test(tc, leaves_no_descriptor_behind);
	suite_add_tcase(s, tc);
	return s;
}
