/* SPDX-License-Identifier: MIT */
/*
 * probe - run as the sandboxed command, print what the sandbox lets it see
 *
 *	probe				facts that cost nothing
 *	probe attack			mount, trace, push into terminals
 *	probe env			the environment, one variable a line
 *	probe procs			command lines and environments in /proc
 *	probe read|open-write|write|list PATH...
 *	probe lookup NAME		addresses from getaddrinfo()
 *	probe dns SERVER udp|tcp NAME TYPE [PORT]
 *	probe tcp|http|udp ADDRESS PORT [DEVICE]
 *	probe icmp ADDRESS
 *	probe flow ADDRESS PORT		make a flow look as if ADDRESS began it
 *
 * One "key=value" a line, so that a test states a fact and not a regex.
 * "--as NAME" before the command turns the keys into NAME.key, for several in
 * one run; "--within MS" bounds the waits (1500).  Links nothing of kgate: it
 * must report the truth even when kgate's code is wrong.
 *
 * What sends, mounts or traces refuses (exit 99) unless a file .kg-world lies
 * beside this program: tests copy it into a project of the test world and put
 * the marker there.  The environment would be no proof, a box clears it.
 *
 * Exits 0 when the facts are told, whatever they are.
 */
#include "config.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <netinet/icmp6.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* linux/in6.h, which glibc's netinet/in.h stands in the way of. */
#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#define X32_BIT	     0x40000000L
#define I386_SOCKET  359
#define EXIT_REFUSED 99
#define BUF_BYTES    4096

struct probe {
	const char *prefix;
	int within_ms;
	int argc;
	char **argv;
};

static const struct {
	int number;
	const char *name;
} errors[] = {
	{ 0, "ok" },
	{ E2BIG, "E2BIG" },
	{ EACCES, "EACCES" },
	{ EADDRINUSE, "EADDRINUSE" },
	{ EADDRNOTAVAIL, "EADDRNOTAVAIL" },
	{ EAFNOSUPPORT, "EAFNOSUPPORT" },
	{ EAGAIN, "EAGAIN" },
	{ EBADF, "EBADF" },
	{ EBUSY, "EBUSY" },
	{ ECONNREFUSED, "ECONNREFUSED" },
	{ ECONNRESET, "ECONNRESET" },
	{ EEXIST, "EEXIST" },
	{ EFAULT, "EFAULT" },
	{ EHOSTUNREACH, "EHOSTUNREACH" },
	{ EINVAL, "EINVAL" },
	{ EIO, "EIO" },
	{ EISDIR, "EISDIR" },
	{ ELOOP, "ELOOP" },
	{ EMFILE, "EMFILE" },
	{ ENETUNREACH, "ENETUNREACH" },
	{ ENODEV, "ENODEV" },
	{ ENOENT, "ENOENT" },
	{ ENOSPC, "ENOSPC" },
	{ ENOSYS, "ENOSYS" },
	{ ENOTDIR, "ENOTDIR" },
	{ ENOTTY, "ENOTTY" },
	{ ENXIO, "ENXIO" },
	{ EOPNOTSUPP, "EOPNOTSUPP" },
	{ EPERM, "EPERM" },
	{ EPIPE, "EPIPE" },
	{ EPROTONOSUPPORT, "EPROTONOSUPPORT" },
	{ EPROTOTYPE, "EPROTOTYPE" },
	{ EROFS, "EROFS" },
	{ ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT" },
	{ ESRCH, "ESRCH" },
	{ ETIMEDOUT, "timeout" },
	{ ETXTBSY, "ETXTBSY" },
	{ EXDEV, "EXDEV" },
};

static const char *error_name(int number)
{
	static char unknown[32];
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].number == number)
			return errors[i].name;
	snprintf(unknown, sizeof(unknown), "errno%d", number);
	return unknown;
}

/* A value is one line, whatever it holds. */
__attribute__((format(printf, 3, 4))) static void say(const struct probe *p,
						      const char *key,
						      const char *format, ...)
{
	char value[BUF_BYTES];
	va_list ap;
	char *c;

	va_start(ap, format);
	vsnprintf(value, sizeof(value), format, ap);
	va_end(ap);
	for (c = value; *c; c++)
		if (*c == '\n')
			*c = ' ';
	if (p->prefix)
		printf("%s.", p->prefix);
	printf("%s=%s\n", key, value);
}

static void say_result(const struct probe *p, const char *key, long rc)
{
	say(p, key, "%s", error_name(rc < 0 ? errno : 0));
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- Facts ---- */

static void say_ids(const struct probe *p)
{
	char cwd[PATH_MAX];

	say(p, "uid", "%d", (int)getuid());
	say(p, "euid", "%d", (int)geteuid());
	say(p, "gid", "%d", (int)getgid());
	say(p, "pid", "%d", (int)getpid());
	say(p, "ppid", "%d", (int)getppid());
	say(p, "pgid", "%d", (int)getpgrp());
	say(p, "sid", "%d", (int)getsid(0));
	say(p, "cwd", "%s", getcwd(cwd, sizeof(cwd)) ? cwd : "");
}

static void say_status(const struct probe *p)
{
	static const char *const keys[] = {
		"CapInh", "CapPrm",	"CapEff",  "CapBnd",
		"CapAmb", "NoNewPrivs", "Seccomp", "NSpid",
	};
	FILE *f = fopen("/proc/self/status", "re");
	char line[512];
	size_t i;

	while (f && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (!value)
			continue;
		*value++ = '\0';
		value[strcspn(value, "\n")] = '\0';
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (strcmp(line, keys[i]) == 0)
				say(p, line, "%s",
				    value + strspn(value, " \t"));
	}
	if (f)
		fclose(f);
}

static void describe_fd(int fd, char *buf, size_t size)
{
	char path[64];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0) {
		snprintf(buf, size, "closed");
	} else if (S_ISFIFO(st.st_mode)) {
		snprintf(buf, size, "pipe");
	} else if (S_ISSOCK(st.st_mode)) {
		snprintf(buf, size, "socket");
	} else if (isatty(fd)) {
		snprintf(buf, size, "tty");
	} else if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) {
		snprintf(buf, size, "null");
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, buf, size - 1);
		buf[n > 0 ? n : 0] = '\0';
	}
}

static void say_fds(const struct probe *p)
{
	DIR *d = opendir("/proc/self/fd");
	char key[32], kind[PATH_MAX];
	struct dirent *e;
	int fd, extra = 0;

	for (fd = 0; fd <= 2; fd++) {
		describe_fd(fd, kind, sizeof(kind));
		snprintf(key, sizeof(key), "fd%d", fd);
		say(p, key, "%s", kind);
	}
	while (d && (e = readdir(d))) {
		fd = (int)strtol(e->d_name, NULL, 10);
		if (fd <= 2 || fd == dirfd(d))
			continue;
		extra++;
		describe_fd(fd, kind, sizeof(kind));
		snprintf(key, sizeof(key), "fd%d", fd);
		say(p, key, "%s", kind);
	}
	if (d)
		closedir(d);
	say(p, "extra_fds", "%d", d ? extra : -1);
}

static void say_namespaces(const struct probe *p)
{
	static const char *const names[] = { "user", "net", "mnt",    "pid",
					     "ipc",  "uts", "cgroup", "time" };
	char key[32], path[64], target[64];
	ssize_t n;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		snprintf(key, sizeof(key), "ns_%s", names[i]);
		say(p, key, "%s", target);
	}
}

static void say_processes(const struct probe *p)
{
	char path[PATH_MAX], comm[64], all[BUF_BYTES] = "";
	DIR *d = opendir("/proc");
	struct dirent *e;
	int count = 0;
	size_t n = 0;
	FILE *f;

	while (d && (e = readdir(d))) {
		if (strtol(e->d_name, NULL, 10) <= 0)
			continue;
		count++;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "re");
		if (f && fgets(comm, sizeof(comm), f) &&
		    n + sizeof(comm) < sizeof(all)) {
			comm[strcspn(comm, "\n")] = '\0';
			n += (size_t)sprintf(all + n, "%s%s", n ? "," : "",
					     comm);
		}
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	say(p, "processes", "%d", count);
	say(p, "comms", "%s", all);
}

static const struct {
	const char *key;
	int family;
	int type;
	int proto;
} sockets[] = {
	{ "unix", AF_UNIX, SOCK_STREAM, 0 },
	{ "inet", AF_INET, SOCK_STREAM, 0 },
	{ "inet6", AF_INET6, SOCK_STREAM, 0 },
	{ "netlink_route", AF_NETLINK, SOCK_RAW, 0 },
	{ "vsock", AF_VSOCK, SOCK_STREAM, 0 },
	{ "packet", AF_PACKET, SOCK_RAW, 0 },
	{ "raw", AF_INET, SOCK_RAW, IPPROTO_ICMP },
	{ "raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 },
	{ "icmp", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
	{ "icmp6", AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6 },
	{ "netlink_netfilter", AF_NETLINK, SOCK_RAW, 12 },
	{ "netlink_audit", AF_NETLINK, SOCK_RAW, 9 },
	{ "netlink_uevent", AF_NETLINK, SOCK_RAW, 15 },
	{ "mptcp", AF_INET, SOCK_STREAM, IPPROTO_MPTCP },
	{ "mptcp6", AF_INET6, SOCK_STREAM, IPPROTO_MPTCP },
	{ "sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP },
	{ "udplite", AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE },
	{ "dccp", AF_INET, SOCK_DCCP, IPPROTO_DCCP },
	{ "bluetooth", AF_BLUETOOTH, SOCK_RAW, 0 },
	{ "alg", AF_ALG, SOCK_SEQPACKET, 0 },
	{ "can", AF_CAN, SOCK_RAW, 1 },
	{ "xdp", AF_XDP, SOCK_RAW, 0 },
	{ "key", AF_KEY, SOCK_RAW, 2 },
};

static void say_sockets(const struct probe *p)
{
	size_t i;
	int fd;

	for (i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++) {
		fd = socket(sockets[i].family, sockets[i].type | SOCK_CLOEXEC,
			    sockets[i].proto);
		say_result(p, sockets[i].key, fd);
		if (fd >= 0)
			close(fd);
	}
}

/*
 * Calls whose arguments no kernel accepts: EPERM or ENOSYS is the filter's
 * word, EFAULT, EINVAL or EBADF the kernel's, so that the call was reached.
 */
static const struct {
	const char *key;
	long number;
	long args[5];
} calls[] = {
	{ "io_uring_setup", SYS_io_uring_setup, { 0, 0 } },
	{ "io_uring_enter", SYS_io_uring_enter, { -1, 0, 0, 0, 0 } },
	{ "io_uring_register", SYS_io_uring_register, { -1, 0, 0, 0 } },
	{ "keyctl", SYS_keyctl, { 9999 } },
	{ "add_key", SYS_add_key, { 0, 0, 0, 0, 0 } },
	{ "request_key", SYS_request_key, { 0, 0, 0, 0 } },
	{ "bpf", SYS_bpf, { 9999, 0, 0 } },
	{ "perf_event_open", SYS_perf_event_open, { 0, 0, -1, -1, 0 } },
	{ "userfaultfd", SYS_userfaultfd, { -1 } },
	{ "kexec_load", SYS_kexec_load, { 0, 999, 0, -1 } },
	{ "init_module", SYS_init_module, { 0, 0, 0 } },
	{ "finit_module", SYS_finit_module, { -1, 0, -1 } },
	{ "delete_module", SYS_delete_module, { 0, 0 } },
	{ "setns", SYS_setns, { -1, 0 } },
	{ "pivot_root", SYS_pivot_root, { 0, 0 } },
	{ "open_tree", SYS_open_tree, { -1, 0, -1 } },
	{ "move_mount", SYS_move_mount, { -1, 0, -1, 0, -1 } },
	{ "fsopen", SYS_fsopen, { 0, -1 } },
	{ "umount2", SYS_umount2, { 0, -1 } },
	{ "clone3", SYS_clone3, { 0, 0 } },
};

static void say_calls(const struct probe *p)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const long *a = calls[i].args;
		long rc = syscall(calls[i].number, a[0], a[1], a[2], a[3],
				  a[4]);

		say_result(p, calls[i].key, rc);
		if (rc >= 0 && strcmp(calls[i].key, "userfaultfd") == 0)
			close((int)rc);
	}
}

/* In a child: what it tries can end it, or succeed. */
static void say_child(const struct probe *p, const char *key, int (*try)(void))
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(try());
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		say(p, key, "fork");
	else if (WIFSIGNALED(status))
		say(p, key, "signal%d", WTERMSIG(status));
	else
		say(p, key, "%s", error_name(WEXITSTATUS(status)));
}

static int try_newuser(void)
{
	return unshare(CLONE_NEWUSER) < 0 ? errno : 0;
}

static int try_newns(void)
{
	return unshare(CLONE_NEWNS) < 0 ? errno : 0;
}

static int try_newnet(void)
{
	return unshare(CLONE_NEWNET) < 0 ? errno : 0;
}

static int try_clone_newuser(void)
{
	long rc = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (rc == 0)
		_exit(0);
	return rc < 0 ? errno : 0;
}

#ifdef __x86_64__
static int try_i386_vsock(void)
{
	long rc = I386_SOCKET;

	__asm__ volatile("int $0x80"
			 : "+a"(rc)
			 : "b"((long)AF_VSOCK), "c"((long)SOCK_STREAM), "d"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)rc < 0 ? (int)-rc : 0;
}

static int try_x32_vsock(void)
{
	return syscall(X32_BIT | SYS_socket, AF_VSOCK, SOCK_STREAM, 0) < 0
		       ? errno
		       : 0;
}
#endif

static int show_facts(const struct probe *p)
{
	say_ids(p);
	say_status(p);
	say_fds(p);
	say_namespaces(p);
	say_processes(p);
	say_sockets(p);
	say_calls(p);
	say_child(p, "unshare_user", try_newuser);
	say_child(p, "unshare_mnt", try_newns);
	say_child(p, "unshare_net", try_newnet);
	say_child(p, "clone_newuser", try_clone_newuser);
#ifdef __x86_64__
	say_child(p, "i386_vsock", try_i386_vsock);
	say_child(p, "x32_vsock", try_x32_vsock);
#endif
	return 0;
}

/* ---- What only a test world may see ---- */

static int show_attacks(const struct probe *p)
{
	unsigned char linux_op[2] = { 2, 0 };
	char key[32], c = '\n';
	int fd;

	say_result(p, "mount",
		   mount("none", "/proc/self/cwd", "tmpfs", 0, NULL));
	say_result(p, "remount",
		   mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	say_result(p, "umount_proc", umount2("/proc", MNT_DETACH));
	say_result(p, "ptrace", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
	say_result(p, "sethostname", sethostname("probe", 5));
	say_result(p, "signal_init", kill(1, 0));
	for (fd = 0; fd <= 2; fd++) {
		snprintf(key, sizeof(key), "tiocsti%d", fd);
		say_result(p, key, ioctl(fd, TIOCSTI, &c));
		/* The kernel looks at 32 bits of the number, so must a filter.
		 */
		snprintf(key, sizeof(key), "tiocsti_high%d", fd);
		say_result(p, key,
			   syscall(SYS_ioctl, fd, TIOCSTI | 1L << 32, &c));
		snprintf(key, sizeof(key), "tioclinux%d", fd);
		say_result(p, key, ioctl(fd, TIOCLINUX, linux_op));
	}
	return 0;
}

/* ---- Environment, processes, files ---- */

static int show_env(const struct probe *p)
{
	extern char **environ;
	char name[256];
	char **e;

	for (e = environ; *e; e++) {
		size_t n = strcspn(*e, "=");

		snprintf(name, sizeof(name), "%.*s", (int)n, *e);
		say(p, name, "%s", (*e)[n] ? *e + n + 1 : "");
	}
	return 0;
}

static void say_proc_file(const struct probe *p, const char *pid,
			  const char *file)
{
	char key[64], path[PATH_MAX], buf[BUF_BYTES];
	FILE *f;
	size_t n, i;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
	snprintf(key, sizeof(key), "%s.%.20s", file, pid);
	f = fopen(path, "re");
	if (!f) {
		say(p, key, "%s", error_name(errno));
		return;
	}
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	for (i = 0; i < n; i++)
		if (buf[i] == '\0')
			buf[i] = ' ';
	buf[n] = '\0';
	say(p, key, "%s", buf);
}

static int show_procs(const struct probe *p)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (strtol(e->d_name, NULL, 10) <= 0)
			continue;
		say_proc_file(p, e->d_name, "cmdline");
		say_proc_file(p, e->d_name, "environ");
	}
	if (d)
		closedir(d);
	return 0;
}

static int show_read(const struct probe *p)
{
	char c;
	int i, fd;

	for (i = 0; i < p->argc; i++) {
		fd = open(p->argv[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		say_result(p, p->argv[i], fd < 0 ? -1 : read(fd, &c, 1));
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

/* Opens and closes: a write would tell no more, and could do harm. */
static int show_open_write(const struct probe *p)
{
	int i, fd;

	for (i = 0; i < p->argc; i++) {
		fd = open(p->argv[i],
			  O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		say_result(p, p->argv[i], fd);
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

static int show_write(const struct probe *p)
{
	int i, fd;

	for (i = 0; i < p->argc; i++) {
		fd = open(p->argv[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			  0644);
		say_result(p, p->argv[i],
			   fd < 0 ? -1 : write(fd, "probe\n", 6));
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

static int show_list(const struct probe *p)
{
	struct dirent *e;
	DIR *d;
	int i;

	for (i = 0; i < p->argc; i++) {
		d = opendir(p->argv[i]);
		if (!d) {
			say_result(p, p->argv[i], -1);
			continue;
		}
		while ((e = readdir(d)))
			if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
				say(p, p->argv[i], "%s", e->d_name);
		closedir(d);
	}
	return 0;
}

/* ---- Network ---- */

static bool parse_address(const char *text, int port,
			  struct sockaddr_storage *ret, socklen_t *ret_len)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		*ret_len = sizeof(*v4);
		return true;
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		*ret_len = sizeof(*v6);
		return true;
	}
	return false;
}

/* A name takes the first address that getaddrinfo() gives. */
static bool find_address(const char *host, int port,
			 struct sockaddr_storage *ret, socklen_t *ret_len)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	char service[16];

	if (parse_address(host, port, ret, ret_len))
		return true;
	snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(host, service, &hints, &list) != 0)
		return false;
	memcpy(ret, list->ai_addr, list->ai_addrlen);
	*ret_len = list->ai_addrlen;
	freeaddrinfo(list);
	return true;
}

/* Waits for @events; returns 0 or -1 with errno, ETIMEDOUT at the bound. */
static int await_fd(int fd, short events, int64_t end_ms)
{
	struct pollfd pfd = { fd, events, 0 };
	int64_t left = end_ms - now_ms();
	int rc = poll(&pfd, 1, left > 0 ? (int)left : 0);

	if (rc == 0)
		errno = ETIMEDOUT;
	return rc > 0 ? 0 : -1;
}

/* A connected socket, or -1 with errno. */
static int dial(const char *host, int port, int type, int proto,
		const char *device, int64_t end_ms)
{
	struct sockaddr_storage to;
	socklen_t len, err_len = sizeof(int);
	int fd, error = 0;

	if (!find_address(host, port, &to, &len)) {
		errno = ENOENT;
		return -1;
	}
	fd = socket(to.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, proto);
	if (fd < 0)
		return -1;
	if (device && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device,
				 (socklen_t)strlen(device) + 1) < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&to, len) == 0)
		return fd;
	if (errno != EINPROGRESS || await_fd(fd, POLLOUT, end_ms) < 0)
		return -1;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &err_len);
	errno = error;
	return error ? -1 : fd;
}

static const char *device_arg(const struct probe *p)
{
	return p->argc > 2 ? p->argv[2] : NULL;
}

static void say_end(const struct probe *p, const char *good, int rc,
		    int64_t start_ms)
{
	int number = errno;

	say(p, "result", "%s", rc < 0 ? error_name(number) : good);
	say(p, "elapsed_ms", "%lld", (long long)(now_ms() - start_ms));
}

static int show_tcp(const struct probe *p)
{
	int64_t start = now_ms();
	int fd = dial(p->argv[0], atoi(p->argv[1]), SOCK_STREAM, 0,
		      device_arg(p), start + p->within_ms);

	say_end(p, "connected", fd, start);
	return 0;
}

static int show_http(const struct probe *p)
{
	static const char request[] = "GET / HTTP/1.0\r\n\r\n";
	int64_t start = now_ms(), end = start + p->within_ms;
	char buf[BUF_BYTES] = "", *body;
	size_t len = 0;
	ssize_t n = -1;
	int fd = dial(p->argv[0], atoi(p->argv[1]), SOCK_STREAM, 0,
		      device_arg(p), end);

	if (fd >= 0 && send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) > 0)
		while (len < sizeof(buf) - 1 &&
		       await_fd(fd, POLLIN, end) == 0) {
			n = recv(fd, buf + len, sizeof(buf) - 1 - len, 0);
			if (n <= 0)
				break;
			len += (size_t)n;
		}
	say_end(p, "answered", n == 0 ? 0 : -1, start);
	body = strstr(buf, "\r\n\r\n");
	if (body) {
		body[4 + strcspn(body + 4, "\n")] = '\0';
		say(p, "body", "%s", body + 4);
	}
	return 0;
}

/*
 * A refusal comes back as an error of the socket: from send(), or, as ICMP
 * does, a moment later.
 */
static ssize_t ask(int fd, const void *data, size_t len, void *answer,
		   size_t size, int64_t end_ms)
{
	if (fd < 0 || send(fd, data, len, MSG_NOSIGNAL) < 0)
		return -1;
	if (await_fd(fd, POLLIN, end_ms) < 0)
		return -1;
	return recv(fd, answer, size, 0);
}

static int show_udp(const struct probe *p)
{
	int64_t start = now_ms(), end = start + p->within_ms;
	char answer[64];
	int fd = dial(p->argv[0], atoi(p->argv[1]), SOCK_DGRAM, 0,
		      device_arg(p), end);
	ssize_t n = ask(fd, "probe", 5, answer, sizeof(answer), end);

	say_end(p, "answered", (int)n, start);
	return 0;
}

static int bound_socket(const char *address, int port, int option)
{
	struct sockaddr_storage addr;
	socklen_t len;
	int on = 1, fd;

	if (!parse_address(address, port, &addr, &len))
		return -1;
	fd = socket(addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (option)
		(void)setsockopt(fd, IPPROTO_IPV6, option, &on, sizeof(on));
	if (fd >= 0 && bind(fd, (struct sockaddr *)&addr, len) == 0)
		return fd;
	return -1;
}

/*
 * A datagram from the address of a stranger to oneself, over the loopback
 * device, then one's own to the stranger: if connection tracking takes the
 * first for the beginning of a flow, the second is an answer.
 */
static int show_flow(const struct probe *p)
{
	static const char own[] = "fd00::100";
	int port = atoi(p->argv[1]);
	int64_t start = now_ms(), end = start + p->within_ms;
	struct sockaddr_storage self, far;
	socklen_t self_len, far_len;
	char answer[64];
	ssize_t n = -1;
	int here = bound_socket(own, 40000, 0);
	int there = bound_socket(p->argv[0], port, IPV6_FREEBIND);

	if (here < 0 || there < 0 ||
	    !parse_address(own, 40000, &self, &self_len) ||
	    !parse_address(p->argv[0], port, &far, &far_len)) {
		say_end(p, "", -1, start);
		return 0;
	}
	(void)sendto(there, "begin", 5, 0, (struct sockaddr *)&self, self_len);
	close(there);
	if (connect(here, (struct sockaddr *)&far, far_len) == 0)
		n = ask(here, "probe", 5, answer, sizeof(answer), end);
	say_end(p, "answered", (int)n, start);
	return 0;
}

static int show_icmp(const struct probe *p)
{
	bool six = strchr(p->argv[0], ':') != NULL;
	struct icmphdr echo = { .type = six ? ICMP6_ECHO_REQUEST : ICMP_ECHO };
	int64_t start = now_ms(), end = start + p->within_ms;
	char answer[256];
	int fd = dial(p->argv[0], 0, SOCK_DGRAM,
		      six ? IPPROTO_ICMPV6 : IPPROTO_ICMP, NULL, end);
	ssize_t n = ask(fd, &echo, sizeof(echo), answer, sizeof(answer), end);

	say_end(p, "answered", (int)n, start);
	return 0;
}

static int show_lookup(const struct probe *p)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL, *a;
	int64_t start = now_ms();
	char text[NI_MAXHOST];
	int rc = getaddrinfo(p->argv[0], NULL, &hints, &list);

	say(p, "result", "%s", rc ? gai_strerror(rc) : "ok");
	for (a = list; a; a = a->ai_next)
		if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof(text),
				NULL, 0, NI_NUMERICHOST) == 0)
			say(p, "address", "%s", text);
	say(p, "elapsed_ms", "%lld", (long long)(now_ms() - start));
	if (list)
		freeaddrinfo(list);
	return 0;
}

static int type_number(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} types[] = {
		{ "A", 1 },	 { "AAAA", 28 }, { "TXT", 16 },	 { "CNAME", 5 },
		{ "HTTPS", 65 }, { "MX", 15 },	 { "ANY", 255 },
	};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, name) == 0)
			return types[i].number;
	return atoi(name);
}

static size_t build_query(const char *name, int type, uint8_t msg[512])
{
	static const uint8_t header[12] = { 0x4b, 0x47, 1, 0, 0, 1 };
	size_t n = sizeof(header), label;

	memcpy(msg, header, sizeof(header));
	while (*name && n < 400) {
		label = strcspn(name, ".");
		if (label > 63)
			label = 63;
		msg[n++] = (uint8_t)label;
		memcpy(msg + n, name, label);
		n += label;
		name += label + (name[label] == '.');
	}
	msg[n++] = 0;
	msg[n++] = (uint8_t)(type >> 8);
	msg[n++] = (uint8_t)type;
	msg[n++] = 0;
	msg[n++] = 1;
	return n;
}

static size_t skip_name(const uint8_t *msg, size_t len, size_t at)
{
	while (at < len && msg[at] != 0 && msg[at] < 0xc0)
		at += 1u + msg[at];
	return at + (at < len && msg[at] >= 0xc0 ? 2 : 1);
}

static void say_answers(const struct probe *p, const uint8_t *msg, size_t len)
{
	size_t count = (size_t)(msg[6] << 8 | msg[7]), data, at;
	char text[INET6_ADDRSTRLEN];
	int type;

	say(p, "rcode", "%d", msg[3] & 0x0f);
	say(p, "truncated", "%d", msg[2] >> 1 & 1);
	say(p, "answers", "%zu", count);
	at = skip_name(msg, len, 12) + 4;
	while (count-- > 0) {
		at = skip_name(msg, len, at);
		if (at + 10 > len)
			return;
		type = msg[at] << 8 | msg[at + 1];
		data = (size_t)(msg[at + 8] << 8 | msg[at + 9]);
		at += 10;
		if (at + data > len)
			return;
		if ((type == 1 && data == 4) || (type == 28 && data == 16))
			say(p, "address", "%s",
			    inet_ntop(type == 1 ? AF_INET : AF_INET6, msg + at,
				      text, sizeof(text)));
		at += data;
	}
}

/* Reads one message with its length before it. */
static ssize_t ask_stream(int fd, const uint8_t *query, size_t len,
			  uint8_t *answer, size_t size, int64_t end_ms)
{
	uint8_t framed[600];
	size_t got = 0;
	ssize_t n;

	framed[0] = (uint8_t)(len >> 8);
	framed[1] = (uint8_t)len;
	memcpy(framed + 2, query, len);
	if (fd < 0 || send(fd, framed, len + 2, MSG_NOSIGNAL) < 0)
		return -1;
	do {
		if (await_fd(fd, POLLIN, end_ms) < 0)
			return -1;
		n = recv(fd, answer + got, size - got, 0);
		if (n == 0)
			errno = ECONNRESET;
		if (n <= 0)
			return -1;
		got += (size_t)n;
	} while (got < 2 || got - 2 < (size_t)(answer[0] << 8 | answer[1]));
	memmove(answer, answer + 2, got - 2);
	return (ssize_t)got - 2;
}

static int show_dns(const struct probe *p)
{
	int64_t start = now_ms(), end = start + p->within_ms;
	bool tcp = strcmp(p->argv[1], "tcp") == 0;
	uint8_t query[512], answer[20000];
	size_t len = build_query(p->argv[2], type_number(p->argv[3]), query);
	int fd = dial(p->argv[0], p->argc > 4 ? atoi(p->argv[4]) : 53,
		      tcp ? SOCK_STREAM : SOCK_DGRAM, 0, NULL, end);
	ssize_t n = tcp ? ask_stream(fd, query, len, answer, sizeof(answer),
				     end)
			: ask(fd, query, len, answer, sizeof(answer), end);

	say_end(p, "answered", n < 12 ? -1 : 0, start);
	if (n >= 12)
		say_answers(p, answer, (size_t)n);
	return 0;
}

/* ---- Command line ---- */

static const struct {
	const char *name;
	int min_args;
	bool world_only;
	int (*show)(const struct probe *p);
} commands[] = {
	{ "facts", 0, false, show_facts },
	{ "attack", 0, true, show_attacks },
	{ "env", 0, false, show_env },
	{ "procs", 0, false, show_procs },
	{ "read", 1, false, show_read },
	{ "open-write", 1, false, show_open_write },
	{ "write", 1, false, show_write },
	{ "list", 1, false, show_list },
	{ "lookup", 1, true, show_lookup },
	{ "dns", 4, true, show_dns },
	{ "tcp", 2, true, show_tcp },
	{ "http", 2, true, show_http },
	{ "udp", 2, true, show_udp },
	{ "flow", 2, true, show_flow },
	{ "icmp", 1, true, show_icmp },
};

static bool is_in_world(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, ".kg-world");
	return access(path, F_OK) == 0;
}

static bool take_option(struct probe *p, const char *name, const char **ret)
{
	if (p->argc < 2 || strcmp(p->argv[0], name) != 0)
		return false;
	*ret = p->argv[1];
	p->argc -= 2;
	p->argv += 2;
	return true;
}

int main(int argc, char **argv)
{
	struct probe p = { .within_ms = 1500 };
	const char *command = "facts", *value;
	size_t i;

	p.argc = argc - 1;
	p.argv = argv + 1;
	while (take_option(&p, "--as", &p.prefix) ||
	       (take_option(&p, "--within", &value) &&
		(p.within_ms = atoi(value)) > 0))
		;
	if (p.argc > 0) {
		command = p.argv[0];
		p.argc--;
		p.argv++;
	}
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, command) != 0 ||
		    p.argc < commands[i].min_args)
			continue;
		if (commands[i].world_only && !is_in_world()) {
			fprintf(stderr, "probe: %s is for the test world\n",
				command);
			return EXIT_REFUSED;
		}
		return commands[i].show(&p);
	}
	fprintf(stderr, "probe: '%s': no such command, or too few arguments\n",
		command);
	return 2;
}
