/* SPDX-License-Identifier: MIT */
/*
 * box_reach - what of the world outside its box a command can take hold of
 *
 *	box_reach serve ADDRESS...	listen outside: says "ready", and at the
 *					end of standard input ADDRESS=COUNT
 *	box_reach connect ADDRESS...	connect; "@NAME" is an abstract address
 *	box_reach abstract		an abstract socket of one's own, both
 *ends box_reach writable DIR...	what below opens for writing box_reach
 *process PID...	trace, read, signal, take descriptors box_reach terminal
 *push into a terminal of one's own
 *	box_reach namespaces		every way to a namespace
 *	box_reach foreign		calls of other ABIs
 *	box_reach landlock		the kernel's Landlock version
 *
 * One "key=value" a line, as probe does, and nothing of kgate is linked.
 * "writable" opens files and asks access() of directories; it never writes.
 *
 * Refuses (exit 99) unless a file .kg-world lies beside this program: tests
 * copy it into a project of the test world and put the marker there.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

#define EXIT_REFUSED 99
#define MAX_ADDRS    16
#define MAX_BACKLOG  16
#define MAX_FD	     64
#define X32_BIT	     0x40000000L
#define LOW_PATH     256

static const struct {
	int number;
	const char *name;
} errors[] = {
	{ 0, "ok" },	      { EACCES, "EACCES" },
	{ EBADF, "EBADF" },   { ECONNREFUSED, "ECONNREFUSED" },
	{ EFAULT, "EFAULT" }, { EINVAL, "EINVAL" },
	{ EIO, "EIO" },	      { ENOENT, "ENOENT" },
	{ ENOSYS, "ENOSYS" }, { ENOTTY, "ENOTTY" },
	{ ENXIO, "ENXIO" },   { EPERM, "EPERM" },
	{ EROFS, "EROFS" },   { ESRCH, "ESRCH" },
};

static void say(const char *key, long rc)
{
	int number = rc < 0 ? errno : 0;
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].number == number) {
			printf("%s=%s\n", key, errors[i].name);
			return;
		}
	printf("%s=errno%d\n", key, number);
}

/* For a call that a child makes: what it changes ends with it. */
static void say_child(const char *key, long (*call)(void *arg), void *arg)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		say(key, call(arg));
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
		printf("%s=signal%d\n", key, WTERMSIG(status));
}

/* ---- UNIX sockets ---- */

static socklen_t fill_address(const char *text, struct sockaddr_un *ret)
{
	size_t len = strlen(text);

	if (len >= sizeof(ret->sun_path))
		return 0;
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	memcpy(ret->sun_path, text, len);
	if (text[0] != '@')
		return sizeof(*ret);
	ret->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static int listen_at(const char *text)
{
	struct sockaddr_un address;
	socklen_t len = fill_address(text, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || len == 0 || bind(fd, (struct sockaddr *)&address, len) ||
	    listen(fd, MAX_BACKLOG)) {
		perror(text);
		exit(2);
	}
	return fd;
}

static int serve(int argc, char **argv)
{
	int fds[MAX_ADDRS], i, count;
	char c;

	if (argc > MAX_ADDRS)
		return 2;
	for (i = 0; i < argc; i++)
		fds[i] = listen_at(argv[i]);
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	for (i = 0; i < argc; i++) {
		for (count = 0; accept(fds[i], NULL, NULL) >= 0; count++)
			;
		printf("%s=%d\n", argv[i], count);
	}
	return 0;
}

static int connect_all(int argc, char **argv)
{
	struct sockaddr_un address;
	socklen_t len;
	int fd, i;

	for (i = 0; i < argc; i++) {
		len = fill_address(argv[i], &address);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		say(argv[i],
		    fd < 0 ? -1
			   : connect(fd, (struct sockaddr *)&address, len));
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

static int own_abstract(int argc, char **argv)
{
	char name[] = "@box_reach";
	char *list[] = { name };
	int fd = listen_at(name);

	(void)argc;
	(void)argv;
	connect_all(1, list);
	close(fd);
	return 0;
}

/* ---- Files ---- */

/* nftw() has no argument of its own for its callback. */
static unsigned long looked_at;

static void look_at_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW |
				    O_CLOEXEC);

	if (fd < 0)
		return;
	printf("writable=%s\n", path);
	close(fd);
}

/* Processes come and go, and their files are those of the owner. */
static bool is_process(const char *path)
{
	static const char proc[] = "/proc/";

	if (strncmp(path, proc, sizeof(proc) - 1) != 0)
		return false;
	path += sizeof(proc) - 1;
	return strtol(path, NULL, 10) > 0 && !strchr(path, '/');
}

static int look_at(const char *path, const struct stat *st, int type,
		   struct FTW *ftw)
{
	(void)ftw;
	looked_at++;
	if (is_process(path))
		return FTW_SKIP_SUBTREE;
	if (type == FTW_D || type == FTW_DNR) {
		if (access(path, W_OK) == 0)
			printf("writable=%s\n", path);
	} else if (type == FTW_F && !S_ISSOCK(st->st_mode)) {
		look_at_file(path);
	}
	return FTW_CONTINUE;
}

static int list_writable(int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		looked_at = 0;
		nftw(argv[i], look_at, 32, FTW_PHYS | FTW_ACTIONRETVAL);
		printf("looked_at.%s=%lu\n", argv[i], looked_at);
	}
	return 0;
}

/* ---- Descriptors ---- */

/* To a file of its own, as any of the standard ones may be closed. */
static int list_descriptors(int argc, char **argv)
{
	char targets[MAX_FD][128], link[64];
	FILE *f;
	ssize_t n;
	int fd;

	(void)argc;
	for (fd = 0; fd < MAX_FD; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, targets[fd], sizeof(targets[fd]) - 1);
		targets[fd][n > 0 ? n : 0] = '\0';
	}
	f = fopen(argv[0], "we");
	if (!f)
		return 2;
	for (fd = 0; fd < MAX_FD; fd++)
		if (targets[fd][0])
			fprintf(f, "%d=%s\n", fd, targets[fd]);
	return fclose(f) ? 2 : 0;
}

/* ---- Other processes ---- */

/* Some of these files open for anybody and refuse to be read. */
static long open_of(pid_t pid, const char *name, int flags)
{
	char path[LOW_PATH], c;
	long rc;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = flags == O_RDONLY ? read(fd, &c, 1) : 0;
	if (rc < 0 && errno == EISDIR)
		rc = 0;
	close(fd);
	return rc;
}

static long seize(void *arg)
{
	return ptrace(PTRACE_SEIZE, *(pid_t *)arg, NULL, NULL);
}

static long read_memory(void *arg)
{
	char c;
	struct iovec here = { &c, 1 }, there = { (void *)0x400000, 1 };

	return process_vm_readv(*(pid_t *)arg, &here, 1, &there, 1, 0);
}

/* Any one descriptor is one too many. */
static long take_descriptor(void *arg)
{
	int pidfd = (int)syscall(SYS_pidfd_open, *(pid_t *)arg, 0);
	int fd;

	if (pidfd < 0)
		return -1;
	for (fd = 0; fd < MAX_FD; fd++)
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
			return 0;
		else if (errno != EBADF)
			return -1;
	return -1;
}

static long null_signal(void *arg)
{
	return kill(*(pid_t *)arg, 0);
}

static long stop_signal(void *arg)
{
	return kill(*(pid_t *)arg, SIGURG);
}

static int reach_processes(int argc, char **argv)
{
	static const struct {
		const char *key;
		long (*call)(void *arg);
	} calls[] = {
		{ "ptrace", seize },	      { "vm_read", read_memory },
		{ "getfd", take_descriptor }, { "kill0", null_signal },
		{ "kill", stop_signal },
	};
	static const struct {
		const char *name;
		int flags;
	} files[] = {
		{ "mem", O_RDWR },	 { "environ", O_RDONLY },
		{ "maps", O_RDONLY },	 { "auxv", O_RDONLY },
		{ "fd/0", O_RDONLY },	 { "fd/1", O_WRONLY },
		{ "fd/2", O_WRONLY },	 { "exe", O_RDONLY },
		{ "root", O_RDONLY },	 { "cwd", O_RDONLY },
		{ "syscall", O_RDONLY }, { "stack", O_RDONLY },
	};
	char key[64];
	pid_t pid;
	size_t i;

	for (; argc > 0; argc--, argv++) {
		pid = (pid_t)atoi(*argv);
		for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
			snprintf(key, sizeof(key), "%s.%d", calls[i].key,
				 (int)pid);
			say_child(key, calls[i].call, &pid);
		}
		for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			snprintf(key, sizeof(key), "%s.%d", files[i].name,
				 (int)pid);
			say(key, open_of(pid, files[i].name, files[i].flags));
		}
	}
	return 0;
}

static bool is_eventfd(int fd)
{
	char link[64], target[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	return strstr(target, "eventfd") != NULL;
}

/*
 * bwrap's process 1 tells the one outside by an eventfd: one more than the
 * status.  The box may be gone with the write, so the words come first.
 */
static int forge(int argc, char **argv)
{
	int pidfd = (int)syscall(SYS_pidfd_open, atoi(argv[0]), 0);
	uint64_t value = (uint64_t)atoi(argv[1]) + 1;
	int fd, taken;

	(void)argc;
	for (fd = 0; fd < MAX_FD; fd++) {
		taken = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
		if (taken < 0 || !is_eventfd(taken))
			continue;
		printf("forging=%d\n", fd);
		fflush(stdout);
		if (write(taken, &value, sizeof(value)) != sizeof(value))
			perror("forge");
	}
	return 7;
}

/* ---- Terminals ---- */

static void push(const char *who, int fd)
{
	static const struct {
		const char *name;
		unsigned long number;
	} ops[] = {
		{ "tiocsti", TIOCSTI },
		{ "tiocsti_high", TIOCSTI | 1UL << 32 },
		{ "tioclinux", TIOCLINUX },
		{ "tioclinux_high", TIOCLINUX | 1UL << 32 },
	};
	unsigned char byte = 2;
	char key[64];
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		snprintf(key, sizeof(key), "%s.%s", who, ops[i].name);
		say(key, syscall(SYS_ioctl, fd, ops[i].number, &byte));
	}
}

/* A controlling terminal of one's own is where the kernel would allow it. */
static long push_into_own(void *arg)
{
	int main_fd, fd;

	(void)arg;
	setsid();
	main_fd = posix_openpt(O_RDWR | O_NOCTTY);
	if (main_fd < 0 || grantpt(main_fd) || unlockpt(main_fd))
		return -1;
	fd = open(ptsname(main_fd), O_RDWR);
	if (fd < 0)
		return -1;
	push("pty", main_fd);
	push("tty", fd);
	return ioctl(fd, TIOCSCTTY, 0);
}

static int reach_terminals(int argc, char **argv)
{
	char who[16];
	int fd;

	(void)argc;
	(void)argv;
	say("dev_tty", open("/dev/tty", O_RDWR | O_CLOEXEC));
	for (fd = 0; fd < MAX_FD; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		snprintf(who, sizeof(who), "fd%d", fd);
		push(who, fd);
	}
	say_child("own_terminal", push_into_own, NULL);
	return 0;
}

/* ---- Namespaces ---- */

static const struct {
	const char *name;
	unsigned flag;
} kinds[] = {
	{ "user", CLONE_NEWUSER },     { "mnt", CLONE_NEWNS },
	{ "net", CLONE_NEWNET },       { "pid", CLONE_NEWPID },
	{ "ipc", CLONE_NEWIPC },       { "uts", CLONE_NEWUTS },
	{ "cgroup", CLONE_NEWCGROUP }, { "time", CLONE_NEWTIME },
};

static long try_unshare(void *arg)
{
	return unshare((int)*(const unsigned *)arg);
}

/* With NEWUSER beside it, the kernel would need no privilege. */
static long try_unshare_user(void *arg)
{
	return unshare((int)*(const unsigned *)arg | CLONE_NEWUSER);
}

static long reap(long pid)
{
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

/* The bit of NEWTIME is one of the exit signal here. */
static long try_clone(void *arg)
{
	return reap(syscall(SYS_clone, *(const unsigned *)arg | SIGCHLD, 0, 0,
			    0, 0));
}

static long try_clone3(void *arg)
{
	struct clone_args args = { .flags = *(const unsigned *)arg,
				   .exit_signal = SIGCHLD };

	return reap(syscall(SYS_clone3, &args, sizeof(args)));
}

static long try_setns(void *arg)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	(void)arg;
	return fd < 0 ? -1 : setns(fd, 0);
}

static int reach_namespaces(int argc, char **argv)
{
	static const struct {
		const char *name;
		long (*call)(void *arg);
	} ways[] = {
		{ "unshare", try_unshare },
		{ "unshare_user", try_unshare_user },
		{ "clone", try_clone },
		{ "clone3", try_clone3 },
	};
	char key[64];
	size_t i, k;

	(void)argc;
	(void)argv;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			unsigned flag = kinds[k].flag;

			snprintf(key, sizeof(key), "%s.%s", ways[i].name,
				 kinds[k].name);
			say_child(key, ways[i].call, &flag);
		}
	say_child("setns", try_setns, NULL);
	return 0;
}

/* ---- Other ABIs ---- */

#ifdef __x86_64__
struct foreign {
	const char *name;
	long i386;
	long x32;
	long args[3];
};

static long call_i386(void *arg)
{
	const struct foreign *f = arg;
	long rc = f->i386;

	__asm__ volatile("int $0x80"
			 : "+a"(rc)
			 : "b"(f->args[0]), "c"(f->args[1]), "d"(f->args[2])
			 : "memory", "r8", "r9", "r10", "r11");
	if ((int)rc >= 0)
		return 0;
	errno = (int)-rc;
	return -1;
}

static long call_x32(void *arg)
{
	const struct foreign *f = arg;

	return syscall(X32_BIT | f->x32, f->args[0], f->args[1], f->args[2]);
}

static int reach_foreign(int argc, char **argv)
{
	static const struct foreign calls[] = {
		{ "getpid", 20, SYS_getpid, { 0 } },
		{ "vsock", 359, SYS_socket, { AF_VSOCK, SOCK_STREAM, 0 } },
		{ "unshare", 310, SYS_unshare, { CLONE_NEWUSER } },
		{ "mount", 21, SYS_mount, { 0 } },
		{ "keyctl", 288, SYS_keyctl, { 9999 } },
		{ "bpf", 357, SYS_bpf, { 9999 } },
		{ "io_uring", 425, SYS_io_uring_setup, { 0 } },
		{ "perf", 336, SYS_perf_event_open, { 0 } },
		{ "userfaultfd", 374, SYS_userfaultfd, { -1 } },
		{ "ioctl", 54, 514, { 0, TIOCSTI, 0 } },
	};
	char key[64];
	size_t i;

	(void)argc;
	(void)argv;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct foreign f = calls[i];

		snprintf(key, sizeof(key), "i386.%s", f.name);
		say_child(key, call_i386, &f);
		snprintf(key, sizeof(key), "x32.%s", f.name);
		say_child(key, call_x32, &f);
	}
	return 0;
}
#else
static int reach_foreign(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("foreign=none\n");
	return 0;
}
#endif

static int tell_landlock(int argc, char **argv)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

	(void)argc;
	(void)argv;
	printf("landlock=%ld\n", version > 0 ? version : 0);
	return 0;
}

/* ---- Command line ---- */

static bool is_in_world(void)
{
	static const char marker[] = ".kg-world";
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path,
			     sizeof(path) - sizeof(marker));
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	strcpy(slash + 1, marker);
	return access(path, F_OK) == 0;
}

static const struct {
	const char *name;
	int min_args;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "serve", 1, serve },
	{ "connect", 1, connect_all },
	{ "abstract", 0, own_abstract },
	{ "descriptors", 1, list_descriptors },
	{ "writable", 1, list_writable },
	{ "process", 1, reach_processes },
	{ "forge", 2, forge },
	{ "terminal", 0, reach_terminals },
	{ "namespaces", 0, reach_namespaces },
	{ "foreign", 0, reach_foreign },
	{ "landlock", 0, tell_landlock },
};

int main(int argc, char **argv)
{
	size_t i;

	if (!is_in_world()) {
		fprintf(stderr, "box_reach: only in the test world\n");
		return EXIT_REFUSED;
	}
	for (i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, argv[1]) == 0 &&
		    argc - 2 >= commands[i].min_args)
			return commands[i].run(argc - 2, argv + 2);
	fprintf(stderr, "box_reach: no such command, or too few arguments\n");
	return 2;
}
