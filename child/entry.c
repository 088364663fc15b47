/* SPDX-License-Identifier: MIT */

/*
 * kgate-entry - the first program inside the box
 *
 * Role:	KG_ROLE_ENTRY
 * Runs as:	the invoking user
 * Namespaces:	the box's own
 * Holds:	nothing: every capability set is empty, no_new_privs and the
 *		seccomp filter are in force before it starts
 * Started by:	bwrap, on behalf of KG_ROLE_WORKER
 *
 * Must:
 *  - check that it holds nothing before it says READY
 *  - wait for GO before it forks the command
 *  - report the command's exec, stops and end exactly
 * Mustn't:
 *  - let the command have its channel or the payload
 *  - run the command when the channel ends instead of saying GO
 *
 * Ends: with the command, or with status 125 when it failed.
 *
 * It forks and stays: as session leader and parent it sees stops, and the
 * command's process group is one of its own, so that Ctrl-C and Ctrl-Z do what
 * they do outside.
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child/landlock.h"
#include "child/payload.h"
#include "common/disposition.h"
#include "common/fd.h"
#include "common/frame.h"
#include "common/role.h"
#include "common/scoped.h"
#include "common/util.h"

struct entry {
	struct kg_frame_link worker;
	struct kg_payload payload;
	int payload_fd;
	int signal_fd;
	pid_t command;
};

static int take_arguments(struct entry *e, char **argv, struct kg_error *err)
{
	if (!argv[0] || !argv[1] || !argv[2])
		return kg_fail(err, KG_E_USAGE, 0,
			       "kgate-entry is started by kgate alone");
	e->worker.fd = atoi(argv[1]);
	e->worker.from = KG_ROLE_WORKER;
	e->payload_fd = atoi(argv[2]);
	return kg_fd_seal_inherited(err);
}

static int check_confinement(struct entry *e, struct kg_error *err)
{
	(void)e;
	if (prctl(PR_GET_SECCOMP) != 2)
		return kg_fail(err, KG_E_SANDBOX, 0,
			       "the box has no seccomp filter");
	return kg_role_enter(KG_ROLE_ENTRY, 0, err);
}

static int hide(struct entry *e, struct kg_error *err)
{
	(void)e;
	return kg_role_hide(err);
}

static int lead_session(struct entry *e, struct kg_error *err)
{
	sigset_t chld;

	(void)setsid();
	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_SETMASK, &chld, NULL);
	e->signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (e->signal_fd < 0)
		return kg_fail_system(err, "listen for the command's end");
	return 0;
}

static int read_payload(struct entry *e, struct kg_error *err)
{
	if (kg_payload_read(e->payload_fd, &e->payload, err))
		return -1;
	kg_scope_close_(&e->payload_fd);
	return 0;
}

/*
 * The folder was checked by its name, and mounted by its name: whoever could
 * swap it meanwhile is found out here.
 */
static int check_project(struct entry *e, struct kg_error *err)
{
	const struct kg_payload_head *head = &e->payload.head;
	struct stat st;

	if (head->project_ino == 0)
		return 0;
	if (stat(".", &st))
		return kg_fail_system(err, "look at the working directory");
	if (st.st_dev != head->project_dev || st.st_ino != head->project_ino)
		return kg_fail(err, KG_E_SANDBOX, 0,
			       "the working directory was replaced while kgate "
			       "started");
	return 0;
}

/* The box's own: the host's would be within reach of its owner's chmod. */
static int open_null(struct entry *e, struct kg_error *err)
{
	kg_auto_close int fd = -1;
	int i;

	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return kg_fail_system(err, "open /dev/null");
	for (i = 0; i <= 2; i++)
		if (e->payload.head.null_fds & KG_BIT64(i) && dup2(fd, i) < 0)
			return kg_fail_system(err, "place /dev/null");
	return 0;
}

static int say_ready(struct entry *e, struct kg_error *err)
{
	return kg_frame_send_plain(e->worker.fd, KG_FRAME_READY, 0, 0, err);
}

/* No deadline: the worker has them, and its end is an end of file here. */
static int wait_for_go(struct entry *e, struct kg_error *err)
{
	struct kg_frame frame;
	int rc;

	do {
		(void)kg_fd_wait(e->worker.fd, 1000);
		rc = kg_frame_recv(&e->worker, &frame, err);
	} while (rc == 0);
	if (rc < 0)
		return -1;
	if (frame.type != KG_FRAME_GO)
		return kg_fail(err, KG_E_PROTOCOL, 0, "%s frame before GO",
			       kg_frame_name((enum kg_frame_type)frame.type));
	return 0;
}

static void set_signals(const struct kg_payload_head *head)
{
	sigset_t mask;
	int sig;

	(void)sigemptyset(&mask);
	for (sig = 1; sig <= KG_DISPOSITION_SIGNALS; sig++) {
		kg_disposition_set(sig, head->ignored & KG_BIT64(sig - 1));
		if (head->blocked & KG_BIT64(sig - 1))
			(void)sigaddset(&mask, sig);
	}
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
}

static int execute(struct entry *e, struct kg_error *err)
{
	char **argv = e->payload.argv;

	(void)setpgid(0, 0);
	if (kg_landlock_scope(err))
		return -1;
	set_signals(&e->payload.head);
	environ = e->payload.envp;
	execvp(argv[0], argv);
	if (errno != ENOENT && errno != ENOTDIR)
		return kg_fail(err, KG_E_NOEXEC, errno, "execute '%s'",
			       argv[0]);
	return kg_fail(err, KG_E_NOENT, 0,
		       "execute '%s': %s in the box, which shows the system "
		       "and the working directory; --allow-path shows more",
		       argv[0], strerror(errno));
}

/* Success of exec is the end of file on a close-on-exec descriptor. */
static int start_command(struct entry *e, struct kg_error *err)
{
	kg_auto_close int in = -1;
	kg_auto_close int out = -1;
	struct kg_error failed = KG_ERROR_INIT;
	int ends[2];
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC))
		return kg_fail_system(err, "make a pipe");
	in = ends[0];
	out = ends[1];
	e->command = fork();
	if (e->command < 0)
		return kg_fail_system(err, "fork the command");
	if (e->command == 0) {
		(void)execute(e, &failed);
		(void)kg_fd_write_all(out, &failed, sizeof(failed));
		_exit(125);
	}
	(void)setpgid(e->command, e->command);
	kg_scope_close_(&out);
	do
		n = read(in, &failed, sizeof(failed));
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(failed)) {
		kg_error_from_peer(err, &failed);
		return -1;
	}
	return kg_frame_send_plain(e->worker.fd, KG_FRAME_STARTED, 0, 0, err);
}

/* Tell one change of the command's state.  Returns whether it has ended. */
static bool tell_change(struct entry *e, int status)
{
	enum kg_frame_type type = KG_FRAME_EXITED;
	struct kg_error ignored = KG_ERROR_INIT;
	int value = status;

	if (WIFSTOPPED(status)) {
		type = KG_FRAME_STOPPED;
		value = WSTOPSIG(status);
	} else if (WIFCONTINUED(status)) {
		type = KG_FRAME_CONTINUED;
		value = 0;
	}
	if (kg_frame_send_plain(e->worker.fd, type, value, 0, &ignored))
		return true;
	return type == KG_FRAME_EXITED;
}

/* Orphans of the command come to bwrap's pid 1, not here. */
static bool reap(struct entry *e)
{
	struct signalfd_siginfo info;
	int status;

	while (read(e->signal_fd, &info, sizeof(info)) > 0)
		;
	while (waitpid(e->command, &status, WNOHANG | WUNTRACED | WCONTINUED) >
	       0)
		if (tell_change(e, status))
			return true;
	return false;
}

static int pass_signal(struct entry *e, struct kg_error *err)
{
	struct kg_frame frame;
	int rc;

	while ((rc = kg_frame_recv(&e->worker, &frame, err)) == 1)
		if (frame.type == KG_FRAME_SIGNAL && frame.value.a > 0)
			(void)kill(frame.value.b ? -e->command : e->command,
				   frame.value.a);
	return rc;
}

static int attend(struct entry *e, struct kg_error *err)
{
	struct pollfd pfd[2] = {
		{ .fd = e->signal_fd, .events = POLLIN },
		{ .fd = e->worker.fd, .events = POLLIN },
	};

	for (;;) {
		if (reap(e))
			return 0;
		if (poll(pfd, KG_ARRAY_LEN(pfd), -1) < 0 && errno != EINTR)
			return kg_fail_system(err, "attend the command");
		if (pfd[1].revents && pass_signal(e, err))
			return -1;
	}
}

/*
 * The order is the argument: nothing of the caller's is read before the
 * confinement is checked, and the command doesn't exist before GO.
 */
static const struct {
	const char *what;
	int (*run)(struct entry *e, struct kg_error *err);
} steps[] = {
	/* clang-format off */
	{ "check the box",	    check_confinement },
	{ "hide kgate-entry",	    hide },
	{ "lead the session",	    lead_session },
	{ "read the command line",  read_payload },
	{ "check the project",	    check_project },
	{ "open the null device",   open_null },
	{ "report to the worker",   say_ready },
	{ "wait for the release",   wait_for_go },
	{ "start the command",	    start_command },
	{ "attend the command",	    attend },
	/* clang-format on */
};

int main(int argc, char **argv)
{
	struct entry e = { .worker = KG_FRAME_LINK_INIT,
			   .payload_fd = -1,
			   .signal_fd = -1 };
	struct kg_error err = KG_ERROR_INIT;
	size_t i;

	(void)argc;
	if (take_arguments(&e, argv, &err))
		return 125;
	for (i = 0; i < KG_ARRAY_LEN(steps); i++) {
		if (steps[i].run(&e, &err) == 0)
			continue;
		if (err.code != KG_E_NOENT && err.code != KG_E_NOEXEC)
			(void)kg_fail_while(&err, "%s", steps[i].what);
		kg_frame_send_failed(e.worker.fd, &err);
		_exit(125);
	}
	_exit(0);
}
