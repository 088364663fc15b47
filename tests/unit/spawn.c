/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/spawn.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/scoped.h"

Suite *kg_suite(void);

static struct kg_error err;
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

static void note_descriptors(void)
{
	open_before = count_open();
}

static void expect_no_leak(void)
{
	ck_assert_int_eq(count_open(), open_before);
}

/* A shell line, with a pipe as its standard output. */
static int spawn_shell(const char *line, struct kg_spawn *spec,
		       struct kg_child *ret, int *ret_out)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, strdup(line),
			 NULL };
	int ends[2], rc;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	spec->path = "/bin/sh";
	spec->argv = argv;
	spec->stdio[0] = -1;
	spec->stdio[1] = ends[1];
	spec->stdio[2] = -1;
	rc = kg_spawn_program(spec, ret, &err);
	free(argv[2]);
	close(ends[1]);
	if (rc)
		close(ends[0]);
	else
		*ret_out = ends[0];
	return rc;
}

/* What the shell line prints, when it is started as @spec says otherwise. */
static const char *output_of(const char *line, struct kg_spawn *spec)
{
	struct kg_child child = KG_CHILD_INIT;
	static char text[65536];
	kg_auto_free char *all = NULL;
	kg_auto_close int out = -1;
	size_t len;

	ck_assert_int_eq(spawn_shell(line, spec, &child, &out), 0);
	ck_assert_int_eq(
		kg_fd_read_all(out, sizeof(text) - 1, &all, &len, &err), 0);
	memcpy(text, all, len + 1);
	kg_child_done(&child);
	return text;
}

static char *no_env[] = { NULL };

START_TEST(gives_the_environment_whole)
{
	char *env[] = { (char[]){ "A=1" }, (char[]){ "B=2" }, NULL };
	struct kg_spawn spec = { .envp = env };
	kg_auto_close int out = -1;
	kg_auto_free char *all = NULL;
	struct kg_child child = KG_CHILD_INIT;
	size_t len;

	setenv("LD_PRELOAD", "/nowhere.so", 1);
	ck_assert_int_eq(
		spawn_shell("cat /proc/$$/environ", &spec, &child, &out), 0);
	ck_assert_int_eq(kg_fd_read_all(out, 4096, &all, &len, &err), 0);
	ck_assert_uint_eq(len, 8);
	ck_assert_mem_eq(all, "A=1\0B=2", 8);
	kg_child_done(&child);
}
END_TEST

START_TEST(passes_named_descriptors_and_no_others)
{
	kg_auto_close int named = fcntl(0, F_DUPFD_CLOEXEC, 77);
	kg_auto_close int other = fcntl(0, F_DUPFD_CLOEXEC, 88);
	int pass[] = { -1, 77 };
	struct kg_spawn spec = { .envp = no_env,
				 .pass = pass,
				 .pass_count = 2 };

	ck_assert_int_eq(named, 77);
	ck_assert_int_eq(other, 88);
	ck_assert_int_eq(kg_fd_seal_inherited(&err), 0);
	ck_assert_str_eq(output_of("ls /proc/$$/fd; :", &spec),
			 "0\n1\n2\n77\n");
	ck_assert(fcntl(77, F_GETFD) & FD_CLOEXEC); /* here it still is */
}
END_TEST

START_TEST(makes_the_missing_ones_of_the_three_dev_null)
{
	struct kg_spawn spec = { .envp = no_env };

	ck_assert_str_eq(
		output_of("readlink /proc/self/fd/0 /proc/self/fd/2", &spec),
		"/dev/null\n/dev/null\n");
}
END_TEST

/* The three are numbered 0 to 2 themselves, crosswise. */
START_TEST(places_descriptors_that_stand_in_each_others_way)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" },
			 (char[]){ "read x; echo $x" }, NULL };
	struct kg_spawn spec = { .path = "/bin/sh",
				 .argv = argv,
				 .envp = no_env,
				 .stdio = { 1, 0, 2 } };
	struct kg_child child = KG_CHILD_INIT;
	int in[2], out[2], rc, saved[2];
	char back[16] = "";

	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	saved[0] = fcntl(0, F_DUPFD_CLOEXEC, 100);
	saved[1] = fcntl(1, F_DUPFD_CLOEXEC, 100);
	dup2(in[0], 1);
	dup2(out[1], 0);
	rc = kg_spawn_program(&spec, &child, &err);
	dup2(saved[0], 0);
	dup2(saved[1], 1);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(write(in[1], "deer\n", 5), 5);
	ck_assert_int_eq(read(out[0], back, sizeof(back) - 1), 5);
	ck_assert_str_eq(back, "deer\n");
	kg_child_done(&child);
	close(in[0]);
	close(in[1]);
	close(out[0]);
	close(out[1]);
	close(saved[0]);
	close(saved[1]);
}
END_TEST

/* 32 and 33 are glibc's own: posix_spawn() leaves them ignored. */
#define OWN_SIGNALS UINT64_C(0x180000000)

START_TEST(starts_with_a_clean_slate_of_signals)
{
	struct kg_spawn spec = { .envp = no_env };
	uint64_t blocked = 0, ignored = 0;
	const char *out;
	sigset_t all;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	out = output_of("grep -E '^Sig(Blk|Ign):' /proc/self/status", &spec);
	ck_assert_int_eq(sscanf(out, "SigBlk: %" SCNx64 " SigIgn: %" SCNx64,
				&blocked, &ignored),
			 2);
	ck_assert_uint_eq(blocked, 0);
	ck_assert_uint_eq(ignored & ~OWN_SIGNALS, 0);
}
END_TEST

START_TEST(makes_the_program_a_session_leader)
{
	struct kg_spawn spec = { .envp = no_env };
	const char *out = output_of("cut -d' ' -f1,5,6 /proc/$$/stat", &spec);
	int pid = 0, pgrp = 0, session = 0;

	ck_assert_int_eq(sscanf(out, "%d %d %d", &pid, &pgrp, &session), 3);
	ck_assert_int_eq(pgrp, pid);
	ck_assert_int_eq(session, pid);
	ck_assert_int_ne(session, getsid(0));
}
END_TEST

START_TEST(names_the_program_it_could_not_start)
{
	char *argv[] = { (char[]){ "x" }, NULL };
	struct kg_spawn spec = { .path = "/nowhere/x",
				 .argv = argv,
				 .envp = no_env,
				 .stdio = { -1, -1, -1 } };
	struct kg_child child = KG_CHILD_INIT;

	ck_assert_int_eq(kg_spawn_program(&spec, &child, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_str_eq(err.msg,
			 "execute /nowhere/x: No such file or directory");
	ck_assert_int_eq(child.pid, -1);
	ck_assert_int_eq(child.pidfd, -1);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no zombie */
}
END_TEST

static int refuse(void *ctx, struct kg_error *ret)
{
	return kg_fail(ret, KG_E_NETNS, 0, "%s", (const char *)ctx);
}

START_TEST(does_not_start_what_could_not_be_prepared)
{
	struct kg_spawn spec = { .envp = no_env,
				 .prepare = refuse,
				 .ctx = (char[]){ "no such namespace" } };
	struct kg_child child = KG_CHILD_INIT;
	int out = -1;

	ck_assert_int_eq(spawn_shell("echo started", &spec, &child, &out), -1);
	ck_assert_uint_eq(err.code, KG_E_NETNS);
	ck_assert_str_eq(err.msg, "no such namespace");
	ck_assert_int_eq(out, -1);
}
END_TEST

/* Loop test: room for so many more descriptors. */
START_TEST(leaks_nothing_when_descriptors_run_out)
{
	struct kg_spawn spec = { .path = "/bin/true",
				 .argv = (char *[]){ (char[]){ "true" }, NULL },
				 .envp = no_env,
				 .stdio = { -1, -1, -1 } };
	struct kg_child child = KG_CHILD_INIT;
	struct rlimit old, tight;
	int rc, next = dup(0);

	close(next);
	getrlimit(RLIMIT_NOFILE, &old);
	tight = old;
	tight.rlim_cur = (rlim_t)(next + _i);
	setrlimit(RLIMIT_NOFILE, &tight);
	rc = kg_spawn_program(&spec, &child, &err);
	setrlimit(RLIMIT_NOFILE, &old);

	if (rc)
		ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_int_eq(rc == 0, child.pid > 0);
	kg_child_done(&child);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

/* The parent is killed; its program must not stay behind. */
START_TEST(takes_the_program_along_when_the_caller_ends)
{
	struct kg_spawn spec = { .envp = no_env };
	struct kg_child child = KG_CHILD_INIT;
	int ends[2], out = -1, status = 0;
	pid_t parent, program = 0;

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	parent = fork();
	if (parent == 0) {
		if (spawn_shell("kill -STOP $$", &spec, &child, &out))
			_exit(1);
		(void)!write(ends[1], &child.pid, sizeof(child.pid));
		pause();
		_exit(0);
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &program, sizeof(program)),
			 (ssize_t)sizeof(program));
	close(ends[0]);
	kill(parent, SIGKILL);
	ck_assert_int_eq(waitpid(parent, NULL, 0), parent);
	ck_assert_int_eq(waitpid(program, &status, 0), program);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST

static void return_at_once(void *ctx)
{
	(void)ctx;
}

static void exit_with(void *ctx)
{
	_exit(*(int *)ctx);
}

static void wait_for_ever(void *ctx)
{
	(void)ctx;
	for (;;)
		pause();
}

START_TEST(runs_a_role_and_tells_its_status)
{
	struct kg_child child = KG_CHILD_INIT;
	int want = 42;

	ck_assert_int_eq(kg_spawn_role(exit_with, &want, &child, &err), 0);
	ck_assert_int_gt(child.pid, 0);
	ck_assert(fcntl(child.pidfd, F_GETFD) & FD_CLOEXEC);
	ck_assert_int_eq(kg_child_wait(&child, 5000), 42 << 8);
	ck_assert_int_eq(child.pid, -1);
	kg_child_done(&child);
	kg_child_done(&child); /* twice is harmless */
}
END_TEST

START_TEST(takes_a_role_that_returns_for_a_failure)
{
	struct kg_child child = KG_CHILD_INIT;

	ck_assert_int_eq(kg_spawn_role(return_at_once, NULL, &child, &err), 0);
	ck_assert_int_eq(kg_child_wait(&child, 5000), 125 << 8);
	kg_child_done(&child);
}
END_TEST

START_TEST(does_not_wait_longer_than_it_was_told)
{
	struct kg_child child = KG_CHILD_INIT;
	pid_t pid;

	ck_assert_int_eq(kg_spawn_role(wait_for_ever, NULL, &child, &err), 0);
	pid = child.pid;
	ck_assert(!kg_child_has_ended(&child));
	ck_assert_int_eq(kg_child_wait(&child, 20), -1);
	ck_assert_int_eq(child.pid, pid);
	kg_child_done(&child);
	ck_assert_int_eq(child.pidfd, -1);
	ck_assert_int_eq(kill(pid, 0), -1); /* killed and reaped */
	ck_assert_int_eq(errno, ESRCH);
}
END_TEST

START_TEST(sees_that_a_child_has_ended_before_it_is_reaped)
{
	struct kg_child child = KG_CHILD_INIT, none = KG_CHILD_INIT;
	int zero = 0;

	ck_assert(!kg_child_has_ended(&none));
	ck_assert_int_eq(kg_spawn_role(exit_with, &zero, &child, &err), 0);
	ck_assert(kg_fd_wait(child.pidfd, 5000));
	ck_assert(kg_child_has_ended(&child));
	ck_assert_int_eq(kg_child_wait(&child, 0), 0);
	kg_child_done(&child);
}
END_TEST

START_TEST(finds_a_program_whatever_path_says)
{
	kg_auto_free char *path = NULL;

	setenv("PATH", "/nowhere", 1);
	ck_assert_int_eq(kg_spawn_find("env", &path, &err), 0);
	ck_assert_int_eq(path[0], '/');
	ck_assert_str_eq(strrchr(path, '/'), "/env");
	ck_assert_int_eq(access(path, X_OK), 0);
}
END_TEST

START_TEST(tells_that_a_program_is_nowhere)
{
	char *path = NULL;

	ck_assert_int_eq(kg_spawn_find("kgate-no-such-program", &path, &err),
			 -1);
	ck_assert_uint_eq(err.code, KG_E_NOENT);
	ck_assert_ptr_null(path);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/spawn");
	TCase *tc = tcase_create("spawn");

	tcase_add_checked_fixture(tc, note_descriptors, expect_no_leak);
	tcase_add_test(tc, gives_the_environment_whole);
	tcase_add_test(tc, passes_named_descriptors_and_no_others);
	tcase_add_test(tc, makes_the_missing_ones_of_the_three_dev_null);
	tcase_add_test(tc, places_descriptors_that_stand_in_each_others_way);
	tcase_add_test(tc, starts_with_a_clean_slate_of_signals);
	tcase_add_test(tc, makes_the_program_a_session_leader);
	tcase_add_test(tc, names_the_program_it_could_not_start);
	tcase_add_test(tc, does_not_start_what_could_not_be_prepared);
	if (!getenv("KG_VALGRIND")) /* which needs descriptors of its own */
		tcase_add_loop_test(tc, leaks_nothing_when_descriptors_run_out,
				    0, 6);
	tcase_add_test(tc, takes_the_program_along_when_the_caller_ends);
	tcase_add_test(tc, runs_a_role_and_tells_its_status);
	tcase_add_test(tc, takes_a_role_that_returns_for_a_failure);
	tcase_add_test(tc, does_not_wait_longer_than_it_was_told);
	tcase_add_test(tc, sees_that_a_child_has_ended_before_it_is_reaped);
	tcase_add_test(tc, finds_a_program_whatever_path_says);
	tcase_add_test(tc, tells_that_a_program_is_nowhere);
	suite_add_tcase(s, tc);
	return s;
}
