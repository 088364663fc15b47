/* SPDX-License-Identifier: MIT */

/*
 * memory - what kgate's own processes hold while a command runs
 *
 *	memory [--json] LAUNCHER [ARG...]
 *
 * Launches, waits for the command's first word on its standard output, adds up
 * the PSS of the launcher and all below it whose name begins with "kgate", and
 * lets the command's input end.  The command is tests/bench/first with "wait".
 * Only root may look at the processes that hide: what can't be read is named.
 */

#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/json.h"
#include "common/scoped.h"

#define LIMIT_S	       30
#define MAX_PROCESSES  65536
#define TARGET_KIB     8192
#define NAME_BYTES     64
#define MAX_GENERATION 16

struct process {
	pid_t pid;
	pid_t parent;
	char name[NAME_BYTES];
	bool is_ours; /* the launcher, or below it */
};

struct list {
	struct process *all;
	size_t count;
};

/* --- processes ---------------------------------------------------------- */

/* proc(5): "pid (name) state ppid ...", and the name may hold anything. */
static bool read_process(const char *pid, struct process *ret)
{
	kg_auto_file FILE *f = NULL;
	char path[64], line[512];
	char *open, *close;

	(void)snprintf(path, sizeof(path), "/proc/%.32s/stat", pid);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f))
		return false;
	open = strchr(line, '(');
	close = strrchr(line, ')');
	if (!open || !close || strlen(close) < 5)
		return false;
	*close = '\0';
	*ret = (struct process){ .pid = (pid_t)atoi(pid),
				 .parent = (pid_t)atoi(close + 4) };
	(void)snprintf(ret->name, sizeof(ret->name), "%.*s", NAME_BYTES - 1,
		       open + 1);
	return true;
}

static int list_processes(struct list *ret, struct kg_error *err)
{
	struct process *grown;
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	if (!dir)
		return kg_fail_system(err, "open /proc");
	while (ret->count < MAX_PROCESSES && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		grown = reallocarray(ret->all, ret->count + 1, sizeof(*grown));
		if (!grown)
			break;
		ret->all = grown;
		ret->count += read_process(entry->d_name, &grown[ret->count]);
	}
	(void)closedir(dir);
	return 0;
}

static bool has_our_parent(const struct list *list, const struct process *p)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (list->all[i].is_ours && list->all[i].pid == p->parent)
			return true;
	return false;
}

static void mark_ours(struct list *list, pid_t launcher)
{
	size_t i;
	int round;

	for (round = 0; round < MAX_GENERATION; round++)
		for (i = 0; i < list->count; i++)
			if (list->all[i].pid == launcher ||
			    has_our_parent(list, &list->all[i]))
				list->all[i].is_ours = true;
}

/* Returns -1 when it can't be read. */
static long read_pss_kib(pid_t pid)
{
	kg_auto_file FILE *f = NULL;
	char path[64], line[256];
	long kib;

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Pss: %ld kB", &kib) == 1)
			return kib;
	return -1;
}

/* --- the report --------------------------------------------------------- */

static void print_json(const char *name, long kib)
{
	kg_auto_free char *text = NULL;
	struct kg_error err = KG_ERROR_INIT;
	struct kg_json *obj = kg_json_new();

	kg_json_put_text(obj, "kind", "memory");
	kg_json_put_text(obj, "process", name);
	kg_json_put_int(obj, "pss_kib", kib);
	if (kg_json_print(obj, &text, &err) == 0)
		(void)printf("%s\n", text);
	kg_json_free(obj);
}

static void print_line(bool json, const char *name, long kib)
{
	if (json)
		print_json(name, kib);
	else if (kib < 0)
		(void)printf("%-16s not readable\n", name);
	else
		(void)printf("%-16s%6.2f MiB\n", name, (double)kib / 1024);
}

static int report(bool json, pid_t launcher, struct kg_error *err)
{
	struct list list = { 0 };
	bool partly = false;
	long kib, sum = 0;
	size_t i;

	if (list_processes(&list, err))
		return -1;
	mark_ours(&list, launcher);
	if (!json)
		(void)printf("memory (PSS) while a command runs\n\n");
	for (i = 0; i < list.count; i++) {
		const struct process *p = &list.all[i];

		if (!p->is_ours || strncmp(p->name, "kgate", 5) != 0)
			continue;
		kib = read_pss_kib(p->pid);
		print_line(json, p->name, kib);
		partly |= kib < 0;
		sum += kib > 0 ? kib : 0;
	}
	free(list.all);
	print_line(json, partly ? "at least" : "together", sum);
	if (!json)
		(void)printf("%-16s%6.2f MiB\n", "target: under",
			     (double)TARGET_KIB / 1024);
	return 0;
}

/* --- the launch --------------------------------------------------------- */

static void interrupt_wait(int signo)
{
	(void)signo;
}

static int start(char **argv, pid_t *ret_pid, int *ret_in, int *ret_out,
		 struct kg_error *err)
{
	posix_spawn_file_actions_t actions;
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return kg_fail_system(err, "make a pipe");
	if (posix_spawn_file_actions_init(&actions) ||
	    posix_spawn_file_actions_adddup2(&actions, in[0], 0) ||
	    posix_spawn_file_actions_adddup2(&actions, out[1], 1))
		return kg_fail(err, KG_E_SYSTEM, ENOMEM, "plan the launch");
	errno = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
	if (errno)
		return kg_fail_system(err, "execute %s", argv[0]);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(in[0]);
	(void)close(out[1]);
	*ret_in = in[1];
	*ret_out = out[0];
	return 0;
}

static int measure(bool json, char **argv, struct kg_error *err)
{
	kg_auto_close int in = -1;
	kg_auto_close int out = -1;
	kg_auto_reap pid_t pid = -1;
	int status = 0;
	char word[64];

	if (start(argv, &pid, &in, &out, err))
		return -1;
	if (read(out, word, sizeof(word)) <= 0)
		return kg_fail(err, KG_E_SANDBOX, 0,
			       "the command didn't start");
	if (report(json, pid, err))
		return -1;
	kg_scope_close_(&in);
	if (waitpid(pid, &status, 0) != pid)
		return kg_fail_system(err, "wait for the launch's end");
	(void)kg_take_pid(&pid);
	if (status)
		return kg_fail(err, KG_E_SANDBOX, 0, "the launch failed");
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = interrupt_wait };
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
	struct kg_error err = KG_ERROR_INIT;

	if (argc < 2 + json) {
		(void)fprintf(stderr,
			      "usage: memory [--json] LAUNCHER [ARG...]\n");
		return 1;
	}
	(void)sigaction(SIGALRM, &action, NULL);
	(void)alarm(LIMIT_S);
	if (measure(json, argv + 1 + json, &err)) {
		(void)fprintf(stderr, "memory: %s\n", err.msg);
		return 1;
	}
	return fflush(stdout) ? 1 : 0;
}
