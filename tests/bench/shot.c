/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tests/bench/shot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/step.h"

/* Far above any launch; a launcher that hangs is killed. */
#define LIMIT_S 30

static void interrupt_wait(int signo)
{
	(void)signo;
}

int kg_shot_init(struct kg_error *err)
{
	struct sigaction action = { .sa_handler = interrupt_wait };

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) ||
	    sigaction(SIGALRM, &action, NULL))
		return kg_fail_system(err, "get ready to launch");
	return 0;
}

static int plan_descriptors(posix_spawn_file_actions_t *actions, int out,
			    const int *pass, size_t pass_count)
{
	size_t i;

	if (posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY,
					     0) ||
	    posix_spawn_file_actions_adddup2(actions, out, 1))
		return -1;

	/* Onto itself: takes close-on-exec off. */
	for (i = 0; i < pass_count; i++)
		if (posix_spawn_file_actions_adddup2(actions, pass[i], pass[i]))
			return -1;
	return 0;
}

/* Whatever was left behind is a child of this process by now. */
static int wait_for_rest(struct kg_error *err)
{
	while (waitpid(-1, NULL, 0) > 0)
		;
	if (errno == ECHILD)
		return 0;
	return kg_fail(err, KG_E_TIMEOUT, 0,
		       "a process was left after its launch's end");
}

static int read_first(int fd, uint64_t begin_ns, struct kg_shot *ret,
		      struct kg_error *err)
{
	char line[64];
	ssize_t n = read(fd, line, sizeof(line) - 1);
	uint64_t at_ns;

	line[n > 0 ? n : 0] = '\0';
	at_ns = strtoull(line, NULL, 10);
	if (at_ns <= begin_ns || at_ns >= begin_ns + ret->exit_ns)
		return kg_fail(err, KG_E_SANDBOX, 0,
			       "the command didn't say when it began");
	ret->first_ns = at_ns - begin_ns;
	return 0;
}

static int judge(const char *name, int status, struct kg_error *err)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return kg_fail(err, KG_E_SANDBOX, 0, "%s failed (%s %d)", name,
		       WIFSIGNALED(status) ? "signal" : "exit status",
		       WIFSIGNALED(status) ? WTERMSIG(status)
					   : WEXITSTATUS(status));
}

static int time_launch(char *const *argv,
		       const posix_spawn_file_actions_t *actions,
		       uint64_t *ret_begin_ns, struct kg_shot *ret,
		       struct kg_error *err)
{
	int status = 0;
	pid_t pid;

	(void)alarm(LIMIT_S);
	*ret_begin_ns = kg_now_ns();
	errno = posix_spawn(&pid, argv[0], actions, NULL, argv, environ);
	if (errno)
		return kg_fail_system(err, "execute %s", argv[0]);
	if (waitpid(pid, &status, 0) != pid) {
		(void)kill(pid, SIGKILL);
		return kg_fail(err, KG_E_TIMEOUT, 0, "%s took over %d s",
			       argv[0], LIMIT_S);
	}
	ret->exit_ns = kg_now_ns() - *ret_begin_ns;
	if (wait_for_rest(err))
		return -1;
	(void)alarm(0);
	return judge(argv[0], status, err);
}

int kg_shot_fire(char *const *argv, const int *pass, size_t pass_count,
		 struct kg_shot *ret, struct kg_error *err)
{
	kg_auto_close int in = -1;
	kg_auto_close int out = -1;
	posix_spawn_file_actions_t actions;
	struct kg_shot shot = { 0 };
	uint64_t begin_ns = 0;
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC))
		return kg_fail_system(err, "make a pipe");
	in = ends[0];
	out = ends[1];
	if (posix_spawn_file_actions_init(&actions))
		return kg_fail(err, KG_E_SYSTEM, ENOMEM, "plan a launch");
	if (plan_descriptors(&actions, out, pass, pass_count))
		rc = kg_fail(err, KG_E_SYSTEM, ENOMEM, "plan a launch");
	else
		rc = time_launch(argv, &actions, &begin_ns, &shot, err);
	(void)posix_spawn_file_actions_destroy(&actions);
	kg_scope_close_(&out);
	if (rc || read_first(in, begin_ns, &shot, err))
		return -1;
	*ret = shot;
	return 0;
}
