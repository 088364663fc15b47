/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/fd.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/step.h"

Suite *kg_suite(void);

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

/* Descriptors up to 999: valgrind keeps its own above. */
static int count_low(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void note_descriptors(void)
{
	open_before = count_open();
}

static void expect_no_leak(void)
{
	ck_assert_int_eq(count_open(), open_before);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static bool is_cloexec(int fd)
{
	return fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

static bool is_dev_null(int fd)
{
	struct stat null, st;

	return stat("/dev/null", &null) == 0 && fstat(fd, &st) == 0 &&
	       S_ISCHR(st.st_mode) && st.st_rdev == null.st_rdev;
}

/*
 * Bit n of the loop's number: descriptor n was closed by the caller.  What the
 * test says with a closed descriptor 1 or 2 isn't seen, but its status is.
 */
START_TEST(fills_each_closed_standard_descriptor)
{
	struct kg_error err = KG_ERROR_INIT;
	int saved[3], fd, rc;

	for (fd = 0; fd <= 2; fd++)
		saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
	for (fd = 0; fd <= 2; fd++)
		if (_i & (1 << fd))
			close(fd);

	rc = kg_fd_open_standard(&err);
	for (fd = 0; fd <= 2; fd++)
		if (!is_open(fd) || is_cloexec(fd) ||
		    (_i & (1 << fd) && !is_dev_null(fd)))
			rc = fd + 1;

	for (fd = 0; fd <= 2; fd++) {
		dup2(saved[fd], fd);
		close(saved[fd]);
	}
	ck_assert_int_eq(rc, 0);
}
END_TEST

/* All of them: 3, too, which Check has open. */
START_TEST(seals_what_was_inherited_and_spares_the_standard_ones)
{
	kg_auto_close int low = -1;
	kg_auto_close int high = -1;
	struct kg_error err = KG_ERROR_INIT;
	int fd;

	low = open("/dev/null", O_RDONLY); /* as an unaware caller would */
	high = fcntl(low, F_DUPFD, 900);
	ck_assert(is_open(3));
	ck_assert_int_eq(fcntl(3, F_SETFD, 0), 0);

	ck_assert_int_eq(kg_fd_seal_inherited(&err), 0);
	for (fd = 0; fd < 1000; fd++)
		if (is_open(fd))
			ck_assert_int_eq(is_cloexec(fd), fd > 2);
}
END_TEST

/* Check's own descriptors would be closed as well: a child does it. */
static int closing_child(void (*body)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		body();
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Neither sorted, nor each once, nor all of them descriptors. */
static void keep_two_of_eight(void)
{
	int keep[] = { 205, -1, 203, 205, 2 };
	int i;

	for (i = 0; i < 8; i++)
		(void)fcntl(0, F_DUPFD_CLOEXEC, 200 + i);
	kg_fd_close_others(keep, 5);
	for (i = 0; i < 8; i++)
		if (is_open(200 + i) != (i == 3 || i == 5))
			_exit(1 + i);
	_exit(count_low() == 3 + 2 ? 0 : 50);
}

START_TEST(closes_all_but_the_named_ones)
{
	ck_assert_int_eq(closing_child(keep_two_of_eight), 0);
}
END_TEST

static void keep_none(void)
{
	int none[1];

	(void)fcntl(0, F_DUPFD_CLOEXEC, 50);
	kg_fd_close_others(none, 0);
	_exit(count_low() == 3 ? 0 : 50);
}

START_TEST(closes_all_when_none_is_named)
{
	ck_assert_int_eq(closing_child(keep_none), 0);
}
END_TEST

START_TEST(shares_a_descriptor_on_purpose_only)
{
	kg_auto_close int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct kg_error err = KG_ERROR_INIT;

	ck_assert_int_eq(kg_fd_share(fd, &err), 0);
	ck_assert(!is_cloexec(fd));
	ck_assert_int_eq(kg_fd_share(950, &err), -1);
	ck_assert_int_eq(err.errnum, EBADF);
}
END_TEST

START_TEST(puts_bytes_behind_a_descriptor_for_good)
{
	kg_auto_close int fd = -1;
	kg_auto_free char *back = NULL;
	struct kg_error err = KG_ERROR_INIT;
	size_t len;

	fd = kg_fd_from_bytes("args", "a\0b", 4, &err);
	ck_assert_int_ge(fd, 0);
	ck_assert(is_cloexec(fd));
	ck_assert_int_eq(kg_fd_read_all(fd, 100, &back, &len, &err), 0);
	ck_assert_uint_eq(len, 4);
	ck_assert_mem_eq(back, "a\0b", 4);

	ck_assert_int_eq(pwrite(fd, "x", 1, 0), -1);
	ck_assert_int_eq(pwrite(fd, "x", 1, 4), -1);
	ck_assert_int_eq(ftruncate(fd, 0), -1);
}
END_TEST

static bool write_from_child(int out, const char *data, size_t len)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(kg_fd_write_all(out, data, len) ? 1 : 0);
	return pid > 0;
}

/* More than a pipe holds: both sides meet short counts. */
START_TEST(carries_more_than_a_pipe_holds)
{
	const size_t len = 300001;
	kg_auto_close int in = -1;
	kg_auto_free char *data = malloc(len);
	kg_auto_free char *back = NULL;
	struct kg_error err = KG_ERROR_INIT;
	size_t got, i;
	int ends[2], status;

	for (i = 0; i < len; i++)
		data[i] = (char)(i * 7);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert(write_from_child(ends[1], data, len));
	close(ends[1]);
	in = ends[0];

	ck_assert_int_eq(kg_fd_read_all(in, len, &back, &got, &err), 0);
	ck_assert_uint_eq(got, len);
	ck_assert_int_eq(memcmp(back, data, len), 0);
	ck_assert_int_eq(back[len], '\0');
	ck_assert_int_gt(wait(&status), 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Loop test: bytes around the limit of five. */
START_TEST(refuses_more_than_the_limit)
{
	kg_auto_close int fd = -1;
	kg_auto_free char *back = NULL;
	struct kg_error err = KG_ERROR_INIT;
	size_t len = 0;

	fd = kg_fd_from_bytes("x", "123456789", (size_t)_i, &err);
	ck_assert_int_eq(kg_fd_read_all(fd, 5, &back, &len, &err),
			 _i <= 5 ? 0 : -1);
	if (_i <= 5)
		ck_assert_uint_eq(len, (size_t)_i);
	else
		ck_assert_uint_eq(err.code, KG_E_LIMIT);
}
END_TEST

START_TEST(says_why_it_cannot_read)
{
	kg_auto_close int dir = open("/", O_RDONLY | O_CLOEXEC);
	struct kg_error err = KG_ERROR_INIT;
	char *back = NULL;
	size_t len;

	ck_assert_int_eq(kg_fd_read_all(dir, 5, &back, &len, &err), -1);
	ck_assert_int_eq(err.errnum, EISDIR);
	ck_assert_ptr_null(back);
}
END_TEST

START_TEST(says_why_it_cannot_write)
{
	kg_auto_close int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(kg_fd_write_all(full, "x", 1), -1);
	ck_assert_int_eq(errno, ENOSPC);
}
END_TEST

START_TEST(sees_what_can_be_read_without_waiting)
{
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert(!kg_fd_is_ready(ends[0]));
	ck_assert(!kg_fd_wait(ends[0], 20));
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ck_assert(kg_fd_is_ready(ends[0]));
	ck_assert(kg_fd_wait(ends[0], 1000));
	close(ends[1]);
	close(ends[0]);
}
END_TEST

START_TEST(takes_end_of_file_for_readable)
{
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	close(ends[1]);
	ck_assert(kg_fd_is_ready(ends[0]));
	close(ends[0]);
}
END_TEST

static void on_alarm(int sig)
{
	(void)sig;
}

/* A signal must neither end the wait nor begin it anew. */
START_TEST(keeps_its_deadline_under_signals)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval once = { .it_value.tv_usec = 250000 };
	uint64_t since_ns = kg_now_ns(), gone_ms;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &once, NULL);
	ck_assert(!kg_fd_wait(ends[0], 300));
	gone_ms = (kg_now_ns() - since_ns) / 1000000;
	ck_assert_uint_ge(gone_ms, 295);
	ck_assert_uint_lt(gone_ms, 500);
	close(ends[1]);
	close(ends[0]);
}
END_TEST

START_TEST(signals_a_process_through_its_pidfd)
{
	kg_auto_close int pidfd = -1;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	pidfd = kg_fd_open_pid(pid);
	ck_assert_int_ge(pidfd, 0);
	ck_assert(is_cloexec(pidfd));
	ck_assert(!kg_fd_is_ready(pidfd));

	kg_fd_kill(-1, SIGKILL);
	kg_fd_kill(pidfd, SIGUSR1);
	ck_assert(kg_fd_wait(pidfd, 5000));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
	ck_assert_int_eq(kg_fd_open_pid(pid), -1);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/fd");
	TCase *tc = tcase_create("fd");

	tcase_add_checked_fixture(tc, note_descriptors, expect_no_leak);
	tcase_add_loop_test(tc, fills_each_closed_standard_descriptor, 0, 8);
	tcase_add_test(tc,
		       seals_what_was_inherited_and_spares_the_standard_ones);
	tcase_add_test(tc, closes_all_but_the_named_ones);
	tcase_add_test(tc, closes_all_when_none_is_named);
	tcase_add_test(tc, shares_a_descriptor_on_purpose_only);
	tcase_add_test(tc, puts_bytes_behind_a_descriptor_for_good);
	tcase_add_test(tc, carries_more_than_a_pipe_holds);
	tcase_add_loop_test(tc, refuses_more_than_the_limit, 4, 8);
	tcase_add_test(tc, says_why_it_cannot_read);
	tcase_add_test(tc, says_why_it_cannot_write);
	tcase_add_test(tc, sees_what_can_be_read_without_waiting);
	tcase_add_test(tc, takes_end_of_file_for_readable);
	tcase_add_test(tc, keeps_its_deadline_under_signals);
	if (!getenv("KG_VALGRIND")) /* which has no pidfd_open() */
		tcase_add_test(tc, signals_a_process_through_its_pidfd);
	suite_add_tcase(s, tc);

	return s;
}
