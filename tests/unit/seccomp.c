/* SPDX-License-Identifier: MIT */
/*
 * Filters are loaded for good.  Check runs every test in a process of its own,
 * and the rules below answer errno values that no kernel gives for these calls.
 */
#include "config.h"

#include "common/seccomp.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/scoped.h"
#include "common/util.h"

Suite *kg_suite(void);

#define HIGH (UINT64_C(1) << 32)

static struct kg_error err;

static const struct kg_seccomp_rule rules[] = {
	/* clang-format off */
	{ "getsid", EXDEV, .why = "whatever its arguments" },
	{ "ioctl", EL2NSYNC, { { KG_SECCOMP_EQ, 1, 0, TIOCSTI } },
	  .why = "one number" },
	{ "socket", ECHRNG, { { KG_SECCOMP_NE, 0, 0, AF_UNIX } },
	  .why = "all but one number" },
	{ "lseek", ENOANO, { { KG_SECCOMP_EQ, 1, 0, 7 },
			     { KG_SECCOMP_EQ, 2, 0xf, SEEK_CUR } },
	  .why = "two conditions, one of them masked" },
	{ "getpgid", EBFONT, { { KG_SECCOMP_GE, 0, 0, 1000000 } },
	  .why = "an upper bound" },
	{ "no_such_call_anywhere", EPERM, .why = "is passed over" },
	/* clang-format on */
};
static const struct kg_seccomp_table table = { rules, KG_ARRAY_LEN(rules), 0 };

static void load(const struct kg_seccomp_table *which)
{
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(kg_seccomp_load(which, &err), 0);
}

/* errno of a raw call, 0 if it went well. */
static int answer(long nr, uint64_t a, uint64_t b, uint64_t c)
{
	long rc = syscall(nr, a, b, c);

	if (rc < 0)
		return errno;
	if (nr == SYS_socket)
		close((int)rc);
	return 0;
}

static void expect_filtered(void)
{
	ck_assert_int_eq(answer(SYS_getsid, 0, 0, 0), EXDEV);
	ck_assert_int_eq(answer(SYS_getpid, 0, 0, 0), 0);
}

START_TEST(answers_with_the_errno_of_the_row)
{
	load(&table);
	expect_filtered();
}
END_TEST

/* The kernel reads an int from the low half; so must the filter. */
START_TEST(compares_the_low_half_alone)
{
	load(&table);
	ck_assert_int_eq(answer(SYS_ioctl, 0, TIOCSTI, 0), EL2NSYNC);
	ck_assert_int_eq(answer(SYS_ioctl, 0, HIGH | TIOCSTI, 0), EL2NSYNC);
	ck_assert_int_ne(answer(SYS_ioctl, 0, TIOCSTI + 1, 0), EL2NSYNC);
}
END_TEST

/* Bits above an int's half can only refuse more. */
START_TEST(lets_one_value_through)
{
	load(&table);
	ck_assert_int_eq(answer(SYS_socket, AF_UNIX, SOCK_STREAM, 0), 0);
	ck_assert_int_eq(answer(SYS_socket, AF_INET, SOCK_STREAM, 0), ECHRNG);
	ck_assert_int_eq(answer(SYS_socket, HIGH | AF_INET, SOCK_STREAM, 0),
			 ECHRNG);
	ck_assert_int_eq(answer(SYS_socket, HIGH | AF_UNIX, SOCK_STREAM, 0),
			 ECHRNG);
}
END_TEST

START_TEST(refuses_from_a_bound_on)
{
	load(&table);
	ck_assert_int_eq(answer(SYS_getpgid, 0, 0, 0), 0);
	ck_assert_int_ne(answer(SYS_getpgid, 999999, 0, 0), EBFONT);
	ck_assert_int_eq(answer(SYS_getpgid, 1000000, 0, 0), EBFONT);
	ck_assert_int_eq(answer(SYS_getpgid, UINT64_MAX, 0, 0), EBFONT);
}
END_TEST

START_TEST(wants_all_conditions_of_a_row)
{
	load(&table);
	ck_assert_int_eq(answer(SYS_lseek, 950, 7, SEEK_CUR), ENOANO);
	ck_assert_int_eq(answer(SYS_lseek, 950, 8, SEEK_CUR), EBADF);
	ck_assert_int_eq(answer(SYS_lseek, 950, 7, SEEK_SET), EBADF);
}
END_TEST

START_TEST(counts_the_bits_under_the_mask_only)
{
	load(&table);
	ck_assert_int_eq(answer(SYS_lseek, 950, 7, SEEK_CUR | 0x10), ENOANO);
}
END_TEST

/* With a default, what has no row is refused; in a child, which then exits. */
static void try_what_has_no_row(void)
{
	static const struct kg_seccomp_rule allow[] = {
		{ .call = "getpid" },
		{ .call = "exit_group" },
	};
	static const struct kg_seccomp_table closed = { allow,
							KG_ARRAY_LEN(allow),
							EUCLEAN };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    kg_seccomp_load(&closed, &err))
		syscall(SYS_exit_group, 1);
	if (syscall(SYS_getuid) != -1 || errno != EUCLEAN)
		syscall(SYS_exit_group, 2);
	if (syscall(SYS_getpid) < 0)
		syscall(SYS_exit_group, 3);
	syscall(SYS_exit_group, 0);
}

START_TEST(refuses_what_has_no_row_where_that_is_the_default)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		try_what_has_no_row();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

#ifdef __x86_64__
/* getsid of i386: 147, getpid: 20. */
static int int80(int nr)
{
	int rc;

	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(nr) : "memory");
	return rc;
}

START_TEST(answers_enosys_to_another_architecture)
{
	load(&table);
	ck_assert_int_eq(answer(0x40000000 | SYS_getsid, 0, 0, 0), ENOSYS);
	ck_assert_int_eq(answer(0x40000000 | SYS_getpid, 0, 0, 0), ENOSYS);
	ck_assert_int_eq(int80(147), -ENOSYS);
	ck_assert_int_eq(int80(20), -ENOSYS);
}
END_TEST
#endif

START_TEST(exports_the_program_that_it_would_load)
{
	kg_auto_close int fd = memfd_create("filter", MFD_CLOEXEC);
	struct sock_filter code[4096];
	struct sock_fprog prog = { .filter = code };
	ssize_t n;

	ck_assert_int_eq(kg_seccomp_export(&table, fd, &err), 0);
	n = pread(fd, code, sizeof(code), 0);
	ck_assert_int_gt(n, 0);
	ck_assert_int_eq(n % (ssize_t)sizeof(code[0]), 0);
	prog.len = (unsigned short)((size_t)n / sizeof(code[0]));

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
	expect_filtered();
}
END_TEST

START_TEST(prints_each_call_of_the_table)
{
	static const char *const calls[] = { "getsid", "ioctl", "socket",
					     "lseek", "getpgid" };
	kg_auto_free char *text = NULL;
	kg_auto_close int in = -1;
	kg_auto_close int out = -1;
	int ends[2];
	size_t len, i;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	in = ends[0];
	out = ends[1];
	ck_assert_int_eq(kg_seccomp_print(&table, out, &err), 0);
	kg_scope_close_(&out);
	ck_assert_int_eq(kg_fd_read_all(in, 65536, &text, &len, &err), 0);
	for (i = 0; i < KG_ARRAY_LEN(calls); i++)
		ck_assert_ptr_nonnull(strstr(text, calls[i]));
	ck_assert_ptr_null(strstr(text, "no_such_call_anywhere"));
}
END_TEST

/* No call has a tenth argument. */
START_TEST(says_that_a_filter_was_not_loaded)
{
	static const struct kg_seccomp_rule bad[] = {
		{ "ioctl", EPERM, { { KG_SECCOMP_EQ, 9, 0, 1 } }, .why = "" },
	};
	static const struct kg_seccomp_table wrong = { bad, 1, 0 };

	ck_assert_int_eq(kg_seccomp_load(&wrong, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_ptr_nonnull(strstr(err.msg, "ioctl"));
	ck_assert_int_eq(kg_seccomp_export(&wrong, 1, &err), -1);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/seccomp");
	TCase *tc = tcase_create("seccomp");

	tcase_add_test(tc, answers_with_the_errno_of_the_row);
	tcase_add_test(tc, compares_the_low_half_alone);
	tcase_add_test(tc, lets_one_value_through);
	tcase_add_test(tc, refuses_from_a_bound_on);
	tcase_add_test(tc, wants_all_conditions_of_a_row);
	tcase_add_test(tc, counts_the_bits_under_the_mask_only);
	tcase_add_test(tc, refuses_what_has_no_row_where_that_is_the_default);
#ifdef __x86_64__
	tcase_add_test(tc, answers_enosys_to_another_architecture);
#endif
	tcase_add_test(tc, exports_the_program_that_it_would_load);
	tcase_add_test(tc, prints_each_call_of_the_table);
	tcase_add_test(tc, says_that_a_filter_was_not_loaded);
	suite_add_tcase(s, tc);
	return s;
}
