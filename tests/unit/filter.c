/* SPDX-License-Identifier: MIT */
/*
 * Every row of the box's filter, provoked.
 *
 * What is refused and what isn't stands here a second time, as calls with their
 * arguments.  They are made by a child that has entered the filter; should one
 * of them not be refused, its arguments are such that the kernel does nothing
 * with it.  An errno may be the kernel's own: hence a second run, under the
 * same filter with an errno that no kernel gives for these calls.
 */
#include "config.h"

#include "child/filter.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/scoped.h"
#include "common/util.h"
#include "tests/unit/golden.h"

Suite *kg_suite(void);

#define HIGH	     (UINT64_C(1) << 32)
#define MINUS	     UINT64_MAX
#define MARK	     EHWPOISON
#define MAX_ATTEMPTS 1024
#define MAX_RULES    512
#define NO_SOCKET    0x7fffffff

/* linux/sched.h; missing from older headers. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

struct attempt {
	const char *call;
	long nr;
	uint64_t args[6];
	int want; /* errno, 0: as without a filter */
	int also; /* of a second row that matches, 0: none */
};

static struct kg_error err;
static struct attempt attempts[MAX_ATTEMPTS];
static size_t count;
static int *answers; /* shared with the child that makes the calls */
static int pty = -1;

static void add(struct attempt a)
{
	ck_assert_uint_lt(count, MAX_ATTEMPTS);
	attempts[count++] = a;
}

/* --- what is refused, and what isn't ------------------------------------- */

static void add_socket(uint64_t family, uint64_t type, uint64_t protocol,
		       int want, int also)
{
	add((struct attempt){
		"socket", SYS_socket, { family, type, protocol }, want, also });
}

static bool is_allowed_family(int family)
{
	return family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
	       family == AF_NETLINK;
}

static void add_families(void)
{
	static const uint64_t odd[] = { AF_PACKET, AF_VSOCK, AF_ALG, 255,
					NO_SOCKET, 0x80000000, 0xffffffff,
					MINUS, HIGH | AF_VSOCK,
					HIGH | AF_PACKET, HIGH | AF_APPLETALK,
					MINUS << 32 | AF_VSOCK,
					/* no program does this */
					HIGH | AF_UNIX, HIGH | AF_INET };
	int family;
	size_t i;

	for (family = 0; family <= 64; family++)
		if (!is_allowed_family(family))
			add_socket((uint64_t)family, SOCK_DGRAM, 0,
				   EAFNOSUPPORT, 0);
	for (i = 0; i < KG_ARRAY_LEN(odd); i++)
		add_socket(odd[i], SOCK_STREAM, 0, EAFNOSUPPORT, 0);
	add_socket(AF_VSOCK, HIGH | SOCK_STREAM, HIGH, EAFNOSUPPORT, 0);
	for (i = 1; i <= 33; i++)
		add_socket(AF_NETLINK, SOCK_RAW, i, EPROTONOSUPPORT, 0);
	add_socket(AF_NETLINK, SOCK_DGRAM, MINUS, EPROTONOSUPPORT, 0);
	add_socket(AF_NETLINK, SOCK_DGRAM, HIGH | 16, EPROTONOSUPPORT, 0);
}

/* ICMP, IGMP, SCTP (132), UDP-Lite (136), raw (255), MPTCP (262). */
static void add_internet(uint64_t family)
{
	static const uint64_t odd[] = { 132,	    136,	255,
					262,	    0x7fffffff, 0xffffffff,
					MINUS,	    HIGH | 1,	HIGH | 58,
					HIGH | 132, HIGH | 262, HIGH | 6 };
	static const uint64_t types[] = { SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET,
					  SOCK_DCCP, SOCK_PACKET };
	size_t i;

	for (i = 0; i <= 64; i++)
		if (i != 0 && i != 6 && i != 17) {
			add_socket(family, SOCK_STREAM, i, EPROTONOSUPPORT, 0);
			add_socket(family, SOCK_DGRAM, i, EPROTONOSUPPORT, 0);
		}
	for (i = 0; i < KG_ARRAY_LEN(odd); i++)
		add_socket(family, SOCK_STREAM | SOCK_CLOEXEC, odd[i],
			   EPROTONOSUPPORT, 0);
	for (i = 0; i < KG_ARRAY_LEN(types); i++) {
		add_socket(family, types[i], 0, EPERM, 0);
		add_socket(family, types[i] | SOCK_NONBLOCK, 6, EPERM, 0);
		add_socket(family, types[i] | SOCK_CLOEXEC, 17, EPERM, 0);
		add_socket(family, HIGH | types[i], 0, EPERM, 0);
		add_socket(family, types[i], 132, EPERM, EPROTONOSUPPORT);
	}
	add_socket(family, SOCK_RAW, 1, EPERM, EPROTONOSUPPORT);
	add_socket(family, SOCK_RAW, 255, EPERM, EPROTONOSUPPORT);
	add_socket(HIGH | family, SOCK_RAW, 0, EAFNOSUPPORT, EPERM);
}

static void add_allowed_sockets(void)
{
	static const uint64_t allowed[][3] = {
		{ AF_UNIX, SOCK_STREAM, 0 },
		{ AF_UNIX, SOCK_DGRAM, 0 },
		{ AF_UNIX, SOCK_SEQPACKET, 0 },
		{ AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0 },
		{ AF_INET, SOCK_STREAM, 0 },
		{ AF_INET, SOCK_STREAM, 6 },
		{ AF_INET, SOCK_DGRAM, 0 },
		{ AF_INET, SOCK_DGRAM, 17 },
		{ AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 17 },
		{ AF_INET, HIGH | SOCK_STREAM, 6 },
		{ AF_INET, SOCK_DGRAM, 6 }, /* the kernel's to refuse */
		{ AF_INET, 0, 0 },
		{ AF_INET, 15, 0 },
		{ AF_INET6, SOCK_STREAM, 0 },
		{ AF_INET6, SOCK_STREAM, 6 },
		{ AF_INET6, SOCK_DGRAM, 0 },
		{ AF_INET6, SOCK_DGRAM, 17 },
		{ AF_NETLINK, SOCK_RAW, 0 },
		{ AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, 0 },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(allowed); i++)
		add_socket(allowed[i][0], allowed[i][1], allowed[i][2], 0, 0);
}

static const uint64_t namespaces[] = {
	CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWNET,    CLONE_NEWPID,
	CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP,
};

static void add_unshare(uint64_t flags, int want)
{
	add((struct attempt){ "unshare", SYS_unshare, { flags }, want, 0 });
}

static void add_clone(uint64_t flags, int want)
{
	add((struct attempt){
		"clone", SYS_clone, { flags | SIGCHLD }, want, 0 });
}

static void add_namespaces(void)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(namespaces); i++) {
		add_unshare(namespaces[i], EPERM);
		add_unshare(HIGH | namespaces[i], EPERM);
		add_unshare(CLONE_FS | CLONE_FILES | namespaces[i], EPERM);
		add_clone(namespaces[i], EPERM);
		add_clone(HIGH | namespaces[i], EPERM);
		add_clone(CLONE_FILES | namespaces[i], EPERM);
	}
	add_unshare(CLONE_NEWTIME, EPERM);
	add_unshare(HIGH | CLONE_NEWTIME, EPERM);
	add_unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME, EPERM);
	add_clone(CLONE_NEWUSER | CLONE_NEWNET, EPERM);
	add_unshare(0, 0);
	add_unshare(CLONE_FS | CLONE_FILES, 0);
	add_clone(0, 0);
	add_clone(CLONE_FS | CLONE_FILES, 0);
}

static void add_ioctl(uint64_t number, int want)
{
	static int winsize[16];

	add((struct attempt){
		"ioctl",
		SYS_ioctl,
		{ (uint64_t)pty, number, (uint64_t)(uintptr_t)winsize },
		want,
		0 });
}

static void add_ioctls(void)
{
	add_ioctl(TIOCSTI, EPERM);
	add_ioctl(HIGH | TIOCSTI, EPERM);
	add_ioctl(MINUS << 32 | TIOCSTI, EPERM);
	add_ioctl(TIOCLINUX, EPERM);
	add_ioctl(HIGH | TIOCLINUX, EPERM);
	add_ioctl(UINT64_C(0xdeadbeef) << 32 | TIOCLINUX, EPERM);
	add_ioctl(TIOCGWINSZ, 0);
	add_ioctl(TIOCGPGRP, 0);
	add_ioctl(FIONREAD, 0);
}

/* Refused whatever the arguments: these mean nothing to the kernel. */
static const struct attempt whole_calls[] = {
/* clang-format off */
#define CALL(name_, errnum_, ...) \
	{ #name_, SYS_##name_, { __VA_ARGS__ }, errnum_, 0 }
	CALL(clone3, ENOSYS, 0, 0),
	CALL(setns, EPERM, MINUS, 0),
	CALL(mount, EPERM, 0, 0, 0, 0, 0),
	CALL(umount2, EPERM, 0, 0),
	CALL(pivot_root, EPERM, 0, 0),
	CALL(move_mount, EPERM, MINUS, 0, MINUS, 0, MINUS),
	CALL(open_tree, EPERM, MINUS, 0, MINUS),
	CALL(fsopen, EPERM, 0, MINUS),
	CALL(fsconfig, EPERM, MINUS, MINUS, 0, 0, 0),
	CALL(fsmount, EPERM, MINUS, MINUS, MINUS),
	CALL(fspick, EPERM, MINUS, 0, MINUS),
	CALL(mount_setattr, EPERM, MINUS, 0, MINUS, 0, 0),
	CALL(io_uring_setup, ENOSYS, 0, 0),
	CALL(io_uring_enter, ENOSYS, MINUS, 0, 0, MINUS, 0, 0),
	CALL(io_uring_register, ENOSYS, MINUS, MINUS, 0, 0),
	CALL(socketpair, EAFNOSUPPORT, AF_VSOCK, SOCK_STREAM, 0, 0),
	CALL(socketpair, EAFNOSUPPORT, AF_TIPC, SOCK_SEQPACKET, 0, 0),
	CALL(socketpair, EAFNOSUPPORT, AF_PACKET, SOCK_RAW, 0, 0),
	CALL(keyctl, ENOSYS, MINUS, 0, 0, 0, 0),
	CALL(add_key, ENOSYS, 0, 0, 0, 0, 0),
	CALL(request_key, ENOSYS, 0, 0, 0, 0),
	CALL(bpf, EPERM, MINUS, 0, 0),
	CALL(perf_event_open, EPERM, 0, 0, MINUS, MINUS, MINUS),
	CALL(userfaultfd, EPERM, MINUS),
	CALL(syslog, EPERM, MINUS, 0, 0),
	CALL(kexec_load, EPERM, 0, MINUS, 0, MINUS),
#ifdef SYS_kexec_file_load
	CALL(kexec_file_load, EPERM, MINUS, MINUS, 0, 0, MINUS),
#endif
	CALL(init_module, EPERM, 0, 0, 0),
	CALL(finit_module, EPERM, MINUS, 0, MINUS),
	CALL(delete_module, EPERM, 0, 0),
	CALL(getpid, 0, 0),
	CALL(getppid, 0, 0),
	/* clang-format on */
};

static void open_pty(void)
{
	kg_auto_close int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char slave[64];

	ck_assert_int_eq(grantpt(master) | unlockpt(master), 0);
	ck_assert_int_eq(ptsname_r(master, slave, sizeof(slave)), 0);
	pty = open(slave, O_RDWR | O_NOCTTY | O_CLOEXEC);
	ck_assert_int_ge(pty, 0);
	(void)kg_take_fd(&master); /* the slave lives as long as it does */
}

static void list_attempts(void)
{
	size_t i;

	open_pty();
	add_families();
	add_internet(AF_INET);
	add_internet(AF_INET6);
	add_allowed_sockets();
	add_namespaces();
	add_ioctls();
	for (i = 0; i < KG_ARRAY_LEN(whole_calls); i++)
		add(whole_calls[i]);
	answers = mmap(NULL, sizeof(*answers) * MAX_ATTEMPTS,
		       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		       0);
	ck_assert_ptr_ne(answers, MAP_FAILED);
}

static void name_attempt(const struct attempt *a, char *buf, size_t len)
{
	(void)snprintf(buf, len, "%s(%#llx, %#llx, %#llx)", a->call,
		       (unsigned long long)a->args[0],
		       (unsigned long long)a->args[1],
		       (unsigned long long)a->args[2]);
}

/* --- making the calls ---------------------------------------------------- */

static int make_call(const struct attempt *a)
{
	const uint64_t *x = a->args;
	long rc;

	errno = 0;
	rc = syscall(a->nr, x[0], x[1], x[2], x[3], x[4], x[5]);
	if (a->nr == SYS_clone && rc == 0)
		_exit(0);
	if (rc < 0)
		return errno;
	if (a->nr == SYS_clone)
		while (waitpid((pid_t)rc, NULL, 0) < 0 && errno == EINTR)
			;
	if (a->nr == SYS_socket)
		close((int)rc);
	return 0;
}

/* What succeeds is to change this process alone. */
static int make_call_apart(const struct attempt *a)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(make_call(a));
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int enter(const struct kg_seccomp_table *table)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return kg_seccomp_load(table, &err);
}

/* Without a table: only what the table allows. */
static void make_calls(const struct kg_seccomp_table *table)
{
	size_t i;

	if (table && enter(table))
		_exit(1);
	for (i = 0; i < count; i++)
		if (table || !attempts[i].want)
			answers[i] = attempts[i].nr == SYS_unshare
					     ? make_call_apart(&attempts[i])
					     : make_call(&attempts[i]);
	_exit(0);
}

/* A process that ends by a signal was killed by the filter. */
static void expect_alive(pid_t pid)
{
	int status = -1;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

static void let_child_try(const struct kg_seccomp_table *table)
{
	pid_t pid;

	memset(answers, -1, sizeof(*answers) * MAX_ATTEMPTS);
	pid = fork();
	if (pid == 0)
		make_calls(table);
	expect_alive(pid);
}

START_TEST(answers_exactly_the_errno_of_the_row)
{
	char name[128];
	size_t i;

	let_child_try(kg_filter_table());
	for (i = 0; i < count; i++) {
		const struct attempt *a = &attempts[i];

		if (!a->want)
			continue;
		name_attempt(a, name, sizeof(name));
		ck_assert_msg(answers[i] == a->want ||
				      (a->also && answers[i] == a->also),
			      "%s: %d, want %d", name, answers[i], a->want);
	}
}
END_TEST

/* The filter as it is, but for the errno of its rows. */
static void mark_rules(struct kg_seccomp_rule *rules,
		       struct kg_seccomp_table *ret)
{
	const struct kg_seccomp_table *table = kg_filter_table();
	size_t i;

	ck_assert_uint_le(table->count, MAX_RULES);
	for (i = 0; i < table->count; i++) {
		rules[i] = table->rules[i];
		rules[i].errnum = MARK;
	}
	*ret = *table;
	ret->rules = rules;
}

START_TEST(answers_before_the_kernel_does)
{
	static struct kg_seccomp_rule rules[MAX_RULES];
	struct kg_seccomp_table marked;
	char name[128];
	size_t i;

	mark_rules(rules, &marked);
	let_child_try(&marked);
	for (i = 0; i < count; i++) {
		name_attempt(&attempts[i], name, sizeof(name));
		ck_assert_msg((answers[i] == MARK) == (attempts[i].want != 0),
			      "%s: %d", name, answers[i]);
	}
}
END_TEST

START_TEST(changes_nothing_of_what_is_allowed)
{
	int plain[MAX_ATTEMPTS];
	char name[128];
	size_t i;

	let_child_try(NULL);
	memcpy(plain, answers, sizeof(plain));
	let_child_try(kg_filter_table());
	for (i = 0; i < count; i++) {
		if (attempts[i].want)
			continue;
		name_attempt(&attempts[i], name, sizeof(name));
		ck_assert_msg(plain[i] == answers[i], "%s: %d, without %d",
			      name, answers[i], plain[i]);
	}
}
END_TEST

/* --- the rows ------------------------------------------------------------ */

static bool holds(const struct kg_seccomp_arg *arg, const uint64_t *args)
{
	uint32_t mask = arg->mask ? arg->mask : UINT32_MAX;

	switch (arg->op) {
	case KG_SECCOMP_ANY:
		return true;
	case KG_SECCOMP_EQ:
		return ((uint32_t)args[arg->index] & mask) == arg->value;
	case KG_SECCOMP_NE:
		return args[arg->index] != arg->value;
	case KG_SECCOMP_GE:
		return args[arg->index] >= arg->value;
	}
	return false;
}

static bool matches(const struct kg_seccomp_rule *rule, const struct attempt *a)
{
	size_t i;

	if (strcmp(rule->call, a->call) != 0)
		return false;
	for (i = 0; i < KG_ARRAY_LEN(rule->args); i++)
		if (!holds(&rule->args[i], a->args))
			return false;
	return true;
}

START_TEST(has_no_row_that_is_not_tried)
{
	const struct kg_seccomp_table *table = kg_filter_table();
	size_t i, j;

	for (i = 0; i < table->count; i++) {
		for (j = 0; j < count; j++)
			if (attempts[j].want &&
			    matches(&table->rules[i], &attempts[j]))
				break;
		ck_assert_msg(j < count, "row %zu, %s: %s", i,
			      table->rules[i].call, table->rules[i].why);
	}
}
END_TEST

START_TEST(gives_a_reason_and_an_errno_in_each_row)
{
	const struct kg_seccomp_table *table = kg_filter_table();
	size_t i;

	ck_assert_int_eq(table->default_errnum, 0);
	for (i = 0; i < table->count; i++) {
		ck_assert_int_gt(table->rules[i].errnum, 0);
		ck_assert_ptr_nonnull(table->rules[i].why);
		ck_assert_str_ne(table->rules[i].why, "");
	}
}
END_TEST

#ifdef __x86_64__
START_TEST(writes_the_golden_filter)
{
	kg_auto_close int fd = memfd_create("filter", MFD_CLOEXEC);
	kg_auto_free char *text = NULL;
	size_t len;

	ck_assert_int_eq(kg_seccomp_print(kg_filter_table(), fd, &err), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(kg_fd_read_all(fd, 1 << 20, &text, &len, &err), 0);
	kg_golden_check("filter-x86_64.txt", text);
}
END_TEST

/* i386: 20 is getpid, 359 socket, 310 unshare, 21 mount. */
static int int80(int nr, int a, int b, int c)
{
	int rc;

	__asm__ volatile("int $0x80"
			 : "=a"(rc)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory");
	return rc;
}

static void try_foreign_calls(void)
{
	static const struct {
		int nr, a, b, c;
	} i386[] = {
		{ 20, 0, 0, 0 },
		{ 359, AF_VSOCK, SOCK_STREAM, 0 },
		{ 359, AF_UNIX, SOCK_STREAM, 0 },
		{ 310, CLONE_NEWUSER, 0, 0 },
		{ 21, 0, 0, 0 },
		{ 425, 0, 0, 0 },
	};
	static const long x32[] = { SYS_getpid,		SYS_socket, SYS_unshare,
				    SYS_io_uring_setup, 512,	    547 };
	size_t i;

	if (enter(kg_filter_table()))
		_exit(1);
	for (i = 0; i < KG_ARRAY_LEN(i386); i++)
		if (int80(i386[i].nr, i386[i].a, i386[i].b, i386[i].c) !=
		    -ENOSYS)
			_exit(10 + (int)i);
	for (i = 0; i < KG_ARRAY_LEN(x32); i++)
		if (syscall(0x40000000 | x32[i], AF_UNIX, SOCK_STREAM, 0) !=
			    -1 ||
		    errno != ENOSYS)
			_exit(20 + (int)i);
	_exit(0);
}

START_TEST(answers_enosys_to_foreign_calls)
{
	pid_t pid = fork();

	if (pid == 0)
		try_foreign_calls();
	expect_alive(pid);
}
END_TEST
#endif

/* --- programs ------------------------------------------------------------ */

static void *add_one(void *number)
{
	(*(int *)number)++;
	return NULL;
}

static bool threads_work(void)
{
	pthread_t thread;
	int number = 41;

	return pthread_create(&thread, NULL, add_one, &number) == 0 &&
	       pthread_join(thread, NULL) == 0 && number == 42;
}

static bool forks_work(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(7);
	return waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7;
}

/* posix_spawn() in the shell's parent, fork and exec in the shell. */
static bool programs_work(void)
{
	int status = system("x=$(echo a | tr a b) && test \"$x\" = b; exit 5");

	return WIFEXITED(status) && WEXITSTATUS(status) == 5;
}

static bool pairs_work(void)
{
	int ends[2];
	char c = 0;

	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 &&
	       write(ends[0], "x", 1) == 1 && read(ends[1], &c, 1) == 1 &&
	       c == 'x';
}

static void live_under_the_filter(void)
{
	if (enter(kg_filter_table()))
		_exit(1);
	if (!threads_work())
		_exit(2);
	if (!forks_work())
		_exit(3);
	if (!programs_work())
		_exit(4);
	if (!pairs_work())
		_exit(5);
	_exit(0);
}

START_TEST(lets_ordinary_programs_live)
{
	pid_t pid = fork();

	if (pid == 0)
		live_under_the_filter();
	expect_alive(pid);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("child/filter");
	TCase *tc = tcase_create("filter");

	tcase_add_checked_fixture(tc, list_attempts, NULL);
	tcase_set_timeout(tc, 20);
	tcase_add_test(tc, answers_exactly_the_errno_of_the_row);
	tcase_add_test(tc, answers_before_the_kernel_does);
	tcase_add_test(tc, changes_nothing_of_what_is_allowed);
	tcase_add_test(tc, has_no_row_that_is_not_tried);
	tcase_add_test(tc, gives_a_reason_and_an_errno_in_each_row);
#ifdef __x86_64__
	tcase_add_test(tc, writes_the_golden_filter);
	tcase_add_test(tc, answers_enosys_to_foreign_calls);
#endif
	tcase_add_test(tc, lets_ordinary_programs_live);
	suite_add_tcase(s, tc);
	return s;
}
