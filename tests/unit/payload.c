/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/payload.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/scoped.h"
#include "common/util.h"

Suite *kg_suite(void);

#define MANY  100000
#define WIDTH 12 /* of a number with its end */

static const struct kg_payload_head plain;

static struct kg_error err;
static int open_before;

static char *few_args[] = { (char[]){ "git" }, (char[]){ "" },
			    (char[]){ "-m a" }, NULL };
static char *few_env[] = { (char[]){ "A=1" }, (char[]){ "" }, NULL };
static char *none[] = { NULL };

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
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

static void expect_list(char *const *got, char *const *want, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		ck_assert_str_eq(got[i], want[i]);
	ck_assert_ptr_null(want[count]);
	ck_assert_ptr_null(got[count]);
}

/* There and back. */
static void carry(char *const *argv, char *const *envp, struct kg_payload *ret)
{
	kg_auto_close int fd = kg_payload_write(argv, envp, &plain, &err);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(kg_payload_read(fd, ret, &err), 0);
	expect_list(ret->argv, argv, ret->head.argc);
	expect_list(ret->envp, envp, ret->head.envc);
}

/* The bytes that a descriptor from kg_payload_write() stands for. */
static char *bytes_of(char *const *argv, char *const *envp, size_t *ret_len)
{
	kg_auto_close int fd = kg_payload_write(argv, envp, &plain, &err);
	char *bytes = NULL;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(kg_fd_read_all(fd, 4096, &bytes, ret_len, &err), 0);
	return bytes;
}

static int read_bytes(const void *bytes, size_t len, struct kg_payload *ret)
{
	kg_auto_close int fd = kg_fd_from_bytes("test", bytes, len, &err);

	ck_assert_int_ge(fd, 0);
	err = KG_ERROR_INIT;
	return kg_payload_read(fd, ret, &err);
}

static void expect_refused(const void *bytes, size_t len, const char *what)
{
	struct kg_payload got = { .head = { .argc = 4711 } };

	ck_assert_msg(read_bytes(bytes, len, &got) == -1, "%s, %zu bytes", what,
		      len);
	ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
	ck_assert_uint_eq(got.head.argc, 4711); /* untouched on failure */
	ck_assert_ptr_null(got.bytes);
}

START_TEST(carries_arguments_and_environment)
{
	struct kg_payload got = KG_PAYLOAD_INIT;

	carry(few_args, few_env, &got);
	ck_assert_uint_eq(got.head.argc, 3);
	ck_assert_uint_eq(got.head.envc, 2);
	kg_payload_done(&got);
	carry(few_args, none, &got);
	ck_assert_uint_eq(got.head.envc, 0);
	kg_payload_done(&got);
	kg_payload_done(&got); /* twice is harmless */
	ck_assert_ptr_null(got.argv);
}
END_TEST

START_TEST(carries_the_state_of_the_signals)
{
	const uint64_t blocked = UINT64_C(0x8000000000000001);
	const uint64_t ignored = UINT64_C(0x4000000000001002);
	const struct kg_payload_head state = { .blocked = blocked,
					       .ignored = ignored,
					       .project_dev = 7,
					       .project_ino = 11,
					       .null_fds = 3 };
	kg_auto_close int fd = kg_payload_write(few_args, none, &state, &err);
	struct kg_payload got = KG_PAYLOAD_INIT;

	ck_assert_int_eq(kg_payload_read(fd, &got, &err), 0);
	ck_assert_uint_eq(got.head.blocked, blocked);
	ck_assert_uint_eq(got.head.ignored, ignored);
	ck_assert_uint_eq(got.head.project_dev, 7);
	ck_assert_uint_eq(got.head.project_ino, 11);
	ck_assert_uint_eq(got.head.null_fds, 3);
	kg_payload_done(&got);
}
END_TEST

START_TEST(carries_every_byte_that_an_argument_can_hold)
{
	struct kg_payload got = KG_PAYLOAD_INIT;
	char all[256], each[255][2];
	char *argv[1 + 255 + 1] = { all }, *envp[] = { all, NULL };
	int i;

	for (i = 0; i < 255; i++) {
		all[i] = (char)(i + 1);
		each[i][0] = (char)(i + 1);
		each[i][1] = '\0';
		argv[i + 1] = each[i];
	}
	all[255] = '\0';
	carry(argv, envp, &got);
	ck_assert_uint_eq(got.head.argc, 256);
	ck_assert_uint_eq(strlen(got.argv[0]), 255);
	kg_payload_done(&got);
}
END_TEST

/* Every second one is empty. */
START_TEST(carries_a_hundred_thousand_arguments)
{
	kg_auto_free char **argv = calloc(MANY + 1, sizeof(*argv));
	kg_auto_free char *text = calloc(MANY, WIDTH);
	struct kg_payload got = KG_PAYLOAD_INIT;
	int i;

	for (i = 0; i < MANY; i++) {
		argv[i] = text + WIDTH * i;
		if (i % 2)
			(void)snprintf(argv[i], WIDTH, "%d", i);
	}
	carry(argv, argv, &got);
	ck_assert_uint_eq(got.head.argc, MANY);
	ck_assert_uint_eq(got.head.envc, MANY);
	kg_payload_done(&got);
}
END_TEST

START_TEST(stands_behind_a_sealed_descriptor)
{
	kg_auto_close int fd = kg_payload_write(few_args, few_env, &plain,
						&err);

	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 0);
	ck_assert_int_eq(write(fd, "x", 1), -1);
	ck_assert_int_eq(ftruncate(fd, 0), -1);
}
END_TEST

START_TEST(refuses_every_truncation)
{
	kg_auto_free char *bytes = NULL;
	struct kg_payload got = KG_PAYLOAD_INIT;
	size_t len, i;

	bytes = bytes_of(few_args, few_env, &len);
	for (i = 0; i < len; i++)
		expect_refused(bytes, i, "a truncation");
	ck_assert_int_eq(read_bytes(bytes, len, &got), 0);
	kg_payload_done(&got);
}
END_TEST

/* Three arguments and two entries are there. */
static const struct {
	uint32_t argc;
	uint32_t envc;
} lies[] = {
	{ 2, 2 },	   { 3, 1 },	      { 1, 0 },
	{ 3, 0 },	   { 0, 0 },	      { 0, 2 },
	{ 0, 5 },	   { 3, 3 },	      { 4, 2 },
	{ 6, 0 },	   { 3, 1000 },	      { 1000, 2 },
	{ 3, UINT32_MAX }, { UINT32_MAX, 2 }, { UINT32_MAX, UINT32_MAX },
	{ 3, 0x80000000 }, { 0x80000000, 2 },
};

START_TEST(refuses_counts_that_lie)
{
	kg_auto_free char *bytes = NULL;
	struct kg_payload_head head;
	size_t len, i;

	bytes = bytes_of(few_args, few_env, &len);
	memcpy(&head, bytes, sizeof(head));
	for (i = 0; i < KG_ARRAY_LEN(lies); i++) {
		head.argc = lies[i].argc;
		head.envc = lies[i].envc;
		memcpy(bytes, &head, sizeof(head));
		expect_refused(bytes, len, "a lie");
	}
}
END_TEST

START_TEST(refuses_a_string_without_its_end)
{
	kg_auto_free char *bytes = NULL;
	size_t len;

	bytes = bytes_of(few_args, few_env, &len);
	bytes[len - 1] = 'x';
	expect_refused(bytes, len, "an open end");
}
END_TEST

START_TEST(refuses_a_command_that_no_kernel_takes)
{
	kg_auto_free char *big = malloc(KG_PAYLOAD_MAX_BYTES);
	char *argv[] = { big, NULL };

	memset(big, 'x', KG_PAYLOAD_MAX_BYTES - 1);
	big[KG_PAYLOAD_MAX_BYTES - 1] = '\0';
	ck_assert_int_eq(kg_payload_write(argv, none, &plain, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_LIMIT);
	err = KG_ERROR_INIT;
	ck_assert_int_eq(kg_payload_write(few_args, argv, &plain, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_LIMIT);
}
END_TEST

START_TEST(reads_no_more_than_the_limit)
{
	struct kg_payload got = KG_PAYLOAD_INIT;
	kg_auto_close int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(kg_payload_read(fd, &got, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_LIMIT);
	ck_assert_ptr_null(got.bytes);
}
END_TEST

START_TEST(says_that_descriptors_have_run_out)
{
	struct rlimit old, tight;
	int fd;

	getrlimit(RLIMIT_NOFILE, &old);
	tight = old;
	fd = dup(0);
	close(fd);
	tight.rlim_cur = (rlim_t)fd;
	setrlimit(RLIMIT_NOFILE, &tight);
	fd = kg_payload_write(few_args, few_env, &plain, &err);
	setrlimit(RLIMIT_NOFILE, &old);
	ck_assert_int_eq(fd, -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
}
END_TEST

START_TEST(says_that_there_is_nothing_to_read)
{
	struct kg_payload got = KG_PAYLOAD_INIT;

	ck_assert_int_eq(kg_payload_read(950, &got, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("child/payload");
	TCase *tc = tcase_create("payload");

	tcase_add_checked_fixture(tc, note_descriptors, expect_no_leak);
	tcase_set_timeout(tc, 20);
	tcase_add_test(tc, carries_arguments_and_environment);
	tcase_add_test(tc, carries_the_state_of_the_signals);
	tcase_add_test(tc, carries_every_byte_that_an_argument_can_hold);
	tcase_add_test(tc, carries_a_hundred_thousand_arguments);
	tcase_add_test(tc, stands_behind_a_sealed_descriptor);
	tcase_add_test(tc, refuses_every_truncation);
	tcase_add_test(tc, refuses_counts_that_lie);
	tcase_add_test(tc, refuses_a_string_without_its_end);
	tcase_add_test(tc, refuses_a_command_that_no_kernel_takes);
	tcase_add_test(tc, reads_no_more_than_the_limit);
	if (!getenv("KG_VALGRIND")) /* which needs descriptors of its own */
		tcase_add_test(tc, says_that_descriptors_have_run_out);
	tcase_add_test(tc, says_that_there_is_nothing_to_read);
	suite_add_tcase(s, tc);
	return s;
}
