/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/disposition.h"
#include "common/fd.h"
#include "common/role.h"
#include "common/scoped.h"
#include "common/step.h"

/* More than a launch has; the rest comes in the next round. */
#define MANY_CHILDREN 64

/* Between two looks at processes that are dying. */
#define REAP_PAUSE_MS 2

/* fork() that also returns a pidfd, without a gap between the two. */
static pid_t fork_with_pidfd(unsigned long flags, int *ret_pidfd)
{
	int pidfd = -1;
	pid_t pid;

	(void)fflush(NULL);
	pid = (pid_t)syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL,
			     &pidfd, NULL, 0);
	if (pid > 0)
		*ret_pidfd = pidfd;
	return pid;
}

static void reset_signals(void)
{
	sigset_t none;
	int sig;

	for (sig = 1; sig <= KG_DISPOSITION_SIGNALS; sig++)
		kg_disposition_set(sig, false);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * The three may be numbered 0 to 2 themselves, in any order: move them out of
 * the way first.
 */
static int place_stdio(const int stdio[3], struct kg_error *err)
{
	int moved[3], i;

	for (i = 0; i < 3; i++) {
		moved[i] = stdio[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC)
					: stdio[i];
		if (moved[i] >= 0)
			moved[i] = fcntl(moved[i], F_DUPFD_CLOEXEC, 3);
		if (moved[i] < 0)
			return kg_fail_system(err, "open descriptor %d", i);
	}
	for (i = 0; i < 3; i++)
		if (dup2(moved[i], i) < 0)
			return kg_fail_system(err, "place descriptor %d", i);
	return 0;
}

static int become_program(const struct kg_spawn *spec, pid_t parent,
			  struct kg_error *err)
{
	size_t i;

	reset_signals();
	(void)setsid();
	if (place_stdio(spec->stdio, err))
		return -1;
	for (i = 0; i < spec->pass_count; i++)
		if (spec->pass[i] >= 0 && kg_fd_share(spec->pass[i], err))
			return -1;
	if (spec->prepare && spec->prepare(spec->ctx, err))
		return -1;
	if (kg_role_bind_to_parent(SIGKILL, parent, err))
		return -1;
	execve(spec->path, spec->argv, spec->envp);
	return kg_fail_system(err, "execute %s", spec->path);
}

/* Where pidfd_open() is missing (valgrind), clone() has to give the pidfd. */
static bool knows_pidfds(void)
{
	kg_auto_close int fd = kg_fd_open_pid(getpid());

	return fd >= 0;
}

int kg_spawn_program(const struct kg_spawn *spec, struct kg_child *ret,
		     struct kg_error *err)
{
	kg_auto_close int report_in = -1;
	kg_auto_close int report_out = -1;
	struct kg_child child = KG_CHILD_INIT;
	struct kg_error failed = KG_ERROR_INIT;
	pid_t parent = getpid();
	int pipefd[2];
	ssize_t n;

	if (pipe2(pipefd, O_CLOEXEC))
		return kg_fail_system(err, "make a pipe");
	report_in = pipefd[0];
	report_out = pipefd[1];

	/*
	 * vfork(): the caller goes on when exec has decided, and no page table
	 * is copied.  What runs in between shares this memory: it leaves
	 * nothing behind there but @failed.
	 */
	(void)fflush(NULL);
	child.pid = knows_pidfds() ? vfork()
				   : fork_with_pidfd(CLONE_VFORK, &child.pidfd);
	if (child.pid < 0)
		return kg_fail_system(err, "start %s", spec->path);
	if (child.pid == 0) {
		(void)become_program(spec, parent, &failed);
		(void)kg_fd_write_all(report_out, &failed, sizeof(failed));
		_exit(125);
	}
	if (child.pidfd < 0)
		child.pidfd = kg_fd_open_pid(child.pid);
	if (child.pidfd < 0) {
		(void)kg_fail_system(err, "find %s", spec->path);
		kg_child_done(&child);
		return -1;
	}
	kg_scope_close_(&report_out);
	do
		n = read(report_in, &failed, sizeof(failed));
	while (n < 0 && errno == EINTR);
	if (n != 0) {
		kg_child_done(&child);
		kg_error_from_peer(err, &failed);
		return -1;
	}
	*ret = child;
	return 0;
}

int kg_spawn_role(void (*entry)(void *ctx), void *ctx, struct kg_child *ret,
		  struct kg_error *err)
{
	struct kg_child child = KG_CHILD_INIT;

	child.pid = fork_with_pidfd(0, &child.pidfd);
	if (child.pid < 0)
		return kg_fail_system(err, "fork");
	if (child.pid == 0) {
		entry(ctx);
		_exit(125);
	}
	*ret = child;
	return 0;
}

int kg_spawn_find(const char *name, char **ret, struct kg_error *err)
{
	const char *dir = KG_SAFE_PATH, *end;
	int denied = 0;
	char *path;

	for (; dir; dir = end ? end + 1 : NULL) {
		end = strchr(dir, ':');
		if (asprintf(&path, "%.*s/%s",
			     end ? (int)(end - dir) : (int)strlen(dir), dir,
			     name) < 0)
			return kg_fail_system(err, "find %s", name);
		if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0) {
			*ret = path;
			return 0;
		}
		if (errno != ENOENT && errno != ENOTDIR)
			denied = errno;
		free(path);
	}
	if (denied)
		return kg_fail(err, KG_E_NOEXEC, denied, "execute %s", name);
	return kg_fail(err, KG_E_NOENT, 0, "%s is not in %s", name,
		       KG_SAFE_PATH);
}

int kg_spawn_adopt(struct kg_error *err)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		return kg_fail_system(err, "adopt the launch's processes");
	return 0;
}

/* Field 4 of /proc/PID/stat, behind a name that may hold anything: proc(5). */
static pid_t parent_of(const char *pid)
{
	kg_auto_close int fd = -1;
	char path[64], text[512], *end;
	int parent = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	end = strrchr(text, ')');
	if (!end || sscanf(end, ") %*c %d", &parent) != 1)
		return -1;
	return parent;
}

size_t kg_spawn_list_children(pid_t *ret, size_t max)
{
	pid_t self = getpid();
	struct dirent *entry;
	size_t count = 0;
	DIR *proc = opendir("/proc");

	while (proc && (entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    parent_of(entry->d_name) != self)
			continue;
		if (count < max)
			ret[count] = (pid_t)atoi(entry->d_name);
		count++;
	}
	if (proc)
		(void)closedir(proc);
	return count;
}

static bool is_spared(pid_t pid, const pid_t *spare, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (spare[i] == pid)
			return true;
	return false;
}

/* Returns whether there was any. */
static bool kill_children(const pid_t *spare, size_t count)
{
	pid_t children[MANY_CHILDREN];
	size_t n = kg_spawn_list_children(children, MANY_CHILDREN), i;
	bool any = false;

	for (i = 0; i < n && i < MANY_CHILDREN; i++) {
		if (is_spared(children[i], spare, count))
			continue;
		any = true;
		(void)kill(children[i], SIGKILL);
		(void)waitpid(children[i], NULL, WNOHANG);
	}
	return any;
}

/* Each round may bring the orphans of those that the last one killed. */
void kg_spawn_end_children(const pid_t *spare, size_t count, int timeout_ms)
{
	uint64_t end_ns = kg_now_ns() + (uint64_t)timeout_ms * 1000000;

	while (kill_children(spare, count) && kg_now_ns() < end_ns)
		(void)poll(NULL, 0, REAP_PAUSE_MS);
}

bool kg_child_has_ended(const struct kg_child *child)
{
	return child->pidfd >= 0 && kg_fd_is_ready(child->pidfd);
}

int kg_child_wait(struct kg_child *child, int timeout_ms)
{
	int status;
	pid_t pid;

	if (child->pid <= 0 || !kg_fd_wait(child->pidfd, timeout_ms))
		return -1;
	do
		pid = waitpid(child->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	child->pid = -1; /* also when somebody else has reaped it */
	return pid < 0 ? -1 : status;
}

void kg_child_done(struct kg_child *child)
{
	kg_scope_reap_(&child->pid);
	kg_scope_close_(&child->pidfd);
}
