/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/run.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child/launch.h"
#include "child/worker.h"
#include "common/cause.h"
#include "common/digest.h"
#include "common/policy_yaml.h"
#include "common/role.h"
#include "common/scoped.h"
#include "common/util.h"
#include "supervisor/audit.h"
#include "supervisor/environ.h"
#include "supervisor/home.h"
#include "supervisor/paths.h"
#include "supervisor/place.h"
#include "supervisor/relay.h"
#include "supervisor/say.h"
#include "supervisor/session.h"
#include "supervisor/signals.h"
#include "supervisor/trace.h"

#define STATUS_TIMEOUT 124
#define STATUS_KGATE   125

struct run {
	const struct kg_options *options;
	struct kg_home home;
	struct kg_policy policy;
	struct kg_signals signals;
	struct kg_audit audit;
	struct kg_linux facts;
	struct kg_launch launch;
	struct kg_relay *relay;
	struct kg_session session;
	struct kg_trace trace;
	struct kg_place_rule rule;
	struct stat project; /* as it was when it was checked */
	int stdio[KG_RELAY_STREAMS];
	char *cwd;
	char *audit_path;
	char **environment;
	char **hosts;
	char **allow;
	char id[KG_AUDIT_ID_BYTES];
	char digest[KG_DIGEST_BYTES];
	bool has_policy;
	bool launched;
	bool audit_failed; /* and that was told */
};

/* --- lists for the audit log -------------------------------------------- */

static void free_list(char **list)
{
	size_t i;

	for (i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

static int list_hosts(struct run *r, struct kg_error *err)
{
	char text[KG_HOST_NAME_BYTES + 8];
	size_t i;

	r->hosts = calloc(r->policy.host_count + 1, sizeof(*r->hosts));
	for (i = 0; r->hosts && i < r->policy.host_count; i++) {
		kg_host_print(&r->policy.hosts[i].host, text, sizeof(text));
		r->hosts[i] = strdup(text);
		if (!r->hosts[i])
			break;
	}
	if (!r->hosts || i < r->policy.host_count)
		return kg_fail_system(err, "list the hosts");
	return 0;
}

/* The exceptions that were typed for this launch. */
static int list_flags(struct run *r, struct kg_error *err)
{
	const struct kg_options *o = r->options;
	size_t n = 0, i;

	r->allow = calloc(o->allow_path_count + o->allow_host_count + 1,
			  sizeof(*r->allow));
	if (!r->allow)
		return kg_fail_system(err, "list the flags");
	for (i = 0; i < o->allow_path_count; i++)
		if (asprintf(&r->allow[n++], "--allow-path=%s:%s",
			     o->allow_paths[i].text,
			     o->allow_paths[i].writable ? "rw" : "ro") < 0)
			goto failed;
	for (i = 0; i < o->allow_host_count; i++)
		if (asprintf(&r->allow[n++], "--allow-net=%s",
			     o->allow_hosts[i].text) < 0)
			goto failed;
	return 0;
failed:
	r->allow[n - 1] = NULL;
	return kg_fail(err, KG_E_SYSTEM, ENOMEM, "list the flags");
}

/* --- steps before anything is started ----------------------------------- */

static int open_relay(struct run *r, struct kg_error *err)
{
	r->relay = kg_relay_open(r->stdio, err);
	return r->relay ? 0 : -1;
}

static int check_nesting(struct run *r, struct kg_error *err)
{
	(void)r;
	return kg_linux_check_place(err);
}

static int find_home(struct run *r, struct kg_error *err)
{
	return kg_home_load(&r->home, err);
}

static int find_project(struct run *r, struct kg_error *err)
{
	r->cwd = realpath(".", NULL);
	if (!r->cwd || stat(".", &r->project))
		return kg_fail_system(err, "find the working directory");
	return 0;
}

static int open_audit(struct run *r, struct kg_error *err)
{
	const char *file = r->options->audit;

	if (kg_audit_id(r->id, err) || list_flags(r, err))
		return -1;
	if (!file)
		return kg_audit_default_path(&r->home, &r->audit_path, err) ||
				       kg_audit_open_default(r->audit_path,
							     &r->audit, err)
			       ? -1
			       : 0;
	if (asprintf(&r->audit_path, "%s%s%s", file[0] == '/' ? "" : r->cwd,
		     file[0] == '/' ? "" : "/", file) < 0)
		return kg_fail_system(err, "find the audit log");
	return kg_audit_open(r->audit_path, &r->audit, err);
}

/* A ceiling that isn't applied must not be passed over. */
static int check_ceiling(struct run *r, struct kg_error *err)
{
	static const char file[] = "/etc/kgate/policy.yaml";

	(void)r;
	if (access(file, F_OK) == 0 || errno != ENOENT)
		return kg_cause_fail(err, KG_CAUSE_CEILING, 0, file);
	return 0;
}

static int load_policy(struct run *r, struct kg_error *err)
{
	const char *file = r->options->config;
	kg_auto_free char *usual = NULL;

	if (!file && r->home.config_dir &&
	    asprintf(&usual, "%s/config.yaml", r->home.config_dir) < 0)
		return kg_fail_system(err, "find the config");
	if ((file || usual) &&
	    kg_policy_yaml_load(&r->policy, file ? file : usual, !file, err))
		return -1;
	if (kg_options_apply(r->options, &r->policy, err))
		return -1;
	r->has_policy = true;
	return list_hosts(r, err);
}

static int check_project(struct run *r, struct kg_error *err)
{
	return kg_place_check(KG_PLACE_WORKDIR, r->cwd, &r->home, &r->rule,
			      err);
}

static bool is_there(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/%s", dir, name) <
		       (int)sizeof(path) &&
	       lstat(path, &st) == 0;
}

/* Cuts the last component off; false at the root. */
static bool go_up(char *dir)
{
	char *slash = strrchr(dir, '/');

	if (!slash || !slash[1])
		return false;
	slash[slash == dir] = '\0';
	return true;
}

static bool is_home(const struct kg_home *home, const char *dir)
{
	return (home->env_dir && strcmp(dir, home->env_dir) == 0) ||
	       (home->passwd_dir && strcmp(dir, home->passwd_dir) == 0);
}

/* How many levels above the working directory its repository's root is. */
static size_t levels_of_repository(const struct run *r)
{
	kg_auto_free char *dir = strdup(r->cwd);
	size_t levels = 0;

	for (; dir && !is_home(&r->home, dir); levels++) {
		if (is_there(dir, ".git"))
			return levels;
		if (!go_up(dir))
			break;
	}
	return 0;
}

/* Up to the repository's root, where a later version will look for them. */
static int check_project_files(struct run *r, struct kg_error *err)
{
	static const char name[] = ".kgate.yaml";
	kg_auto_free char *dir = strdup(r->cwd);
	kg_auto_free char *path = NULL;
	size_t left = levels_of_repository(r);

	while (dir && !is_there(dir, name)) {
		if (left-- == 0)
			return 0;
		(void)go_up(dir);
	}
	if (!dir || asprintf(&path, "%s/%s", dir, name) < 0)
		return kg_fail_system(err, "look for %s", name);
	return kg_cause_fail(err, KG_CAUSE_PROJECT_FILE, 0, path);
}

static int resolve_paths(struct run *r, struct kg_error *err)
{
	if (kg_paths_resolve(&r->policy, &r->home, &r->rule, err))
		return -1;
	return kg_digest_policy(&r->policy, r->digest, err);
}

static int probe(struct run *r, struct kg_error *err)
{
	kg_trace_mark(&r->trace, KG_STEP_POLICY);
	return kg_linux_probe(&r->policy, &r->facts, err);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What is emptied: both homes, and HOME of the box; parents come first. */
static void list_homes(const struct kg_home *home, const char *ret[4])
{
	const char *all[] = {
		home->hides_env ? home->env_dir : NULL,
		home->hides_passwd ? home->passwd_dir : NULL,
		home->box_dir,
	};
	size_t i, j, n = 0;

	for (i = 0; i < KG_ARRAY_LEN(all); i++) {
		for (j = 0; all[i] && j < n; j++)
			if (strcmp(all[i], ret[j]) == 0)
				break;
		if (all[i] && j == n)
			ret[n++] = all[i];
	}
	ret[n] = NULL;
	qsort(ret, n, sizeof(*ret), by_text);
}

static int build_launch(struct run *r, struct kg_error *err)
{
	const char *homes[4];
	const struct kg_launch_input input = {
		.policy = &r->policy,
		.facts = &r->facts,
		.argv = r->options->argv,
		.envp = r->environment,
		.project = r->cwd,
		.homes = homes,
		.state = {
			.blocked = r->signals.blocked,
			.ignored = r->signals.ignored,
			.project_dev = r->project.st_dev,
			.project_ino = r->project.st_ino,
			.null_fds = r->relay->null_fds,
		},
	};

	list_homes(&r->home, homes);
	if (kg_launch_build(&input, &r->launch, err))
		return -1;
	memcpy(r->launch.stdio, r->stdio, sizeof(r->stdio));
	memset(r->stdio, -1, sizeof(r->stdio));
	kg_trace_mark(&r->trace, KG_STEP_PLAN);
	return 0;
}

/* The command must not be able to read or write its own record. */
/* Nor to write what the next launch is allowed. */
static int check_config_place(struct run *r, struct kg_error *err)
{
	size_t i;

	for (i = 0; i < r->policy.file_count; i++) {
		kg_auto_free char *real = realpath(r->policy.files[i], NULL);
		const char *through = real ? kg_plan_writes(&r->launch.plan,
							    real)
					   : NULL;

		if (through)
			return kg_fail(err, KG_E_POLICY, 0,
				       "the command could write the config %s, "
				       "through %s; keep it elsewhere",
				       real, through);
	}
	return 0;
}

static int check_audit_place(struct run *r, struct kg_error *err)
{
	kg_auto_free char *real = realpath(r->audit_path, NULL);
	const char *through;

	if (!real)
		return kg_fail(err, KG_E_AUDIT, errno, "find %s",
			       r->audit_path);
	through = kg_plan_shows(&r->launch.plan, real);
	if (through && r->audit.is_new_file)
		(void)unlink(real); /* made by this launch, and empty */
	if (through)
		return kg_fail(err, KG_E_AUDIT, 0,
			       "the audit log %s would be visible in the box, "
			       "through %s; put it elsewhere with --audit",
			       real, through);
	return 0;
}

static int build_environment(struct run *r, struct kg_error *err)
{
	return kg_environ_build(environ, r->home.box_dir, r->cwd,
				&r->environment, err);
}

/* --- the audit lines ---------------------------------------------------- */

static struct kg_audit_record describe(const struct run *r)
{
	return (struct kg_audit_record){
		.kind = KG_AUDIT_LAUNCH,
		.argv = r->options->argv,
		.cwd = r->cwd,
		.network = r->has_policy ? r->policy.network : KG_NETWORK_COUNT,
		.hosts = r->hosts,
		.allow = r->allow,
		.policy_sha256 = r->digest[0] ? r->digest : NULL,
	};
}

static int write_launch(struct run *r, struct kg_error *err)
{
	struct kg_audit_record record = describe(r);

	if (kg_audit_append(&r->audit, r->id, &record, err))
		return -1;
	r->launched = true;
	kg_trace_mark(&r->trace, KG_STEP_AUDIT);
	return 0;
}

/* Told when it can't be written; the refusal stands all the same. */
static void write_block(struct run *r, enum kg_audit_stage stage,
			const char *reason)
{
	struct kg_audit_record record = describe(r);
	struct kg_error err = KG_ERROR_INIT;

	if (r->audit.fd < 0 || stage == KG_AUDIT_NONE)
		return;
	record.kind = KG_AUDIT_BLOCK;
	record.stage = stage;
	record.reason = reason;
	record.rule = r->rule.text[0] ? r->rule.text : NULL;
	record.rule_origin = r->rule.text[0] ? "built in" : NULL;
	if ((kg_audit_append(&r->audit, r->id, &record, &err) ||
	     kg_audit_sync(&r->audit, &err)) &&
	    !r->audit_failed)
		kg_say("the refusal isn't in the audit log: %s", err.msg);
}

/* Which stage a failure belongs to, before and after the launch line. */
static const struct {
	enum kg_audit_stage before;
	enum kg_audit_stage after;
} stages[] = {
	/* clang-format off */
	[KG_E_NONE]	= { KG_AUDIT_NONE,    KG_AUDIT_BOX },
	[KG_E_USAGE]	= { KG_AUDIT_NONE,    KG_AUDIT_BOX },
	[KG_E_CONFIG]	= { KG_AUDIT_CONFIG,  KG_AUDIT_BOX },
	[KG_E_POLICY]	= { KG_AUDIT_POLICY,  KG_AUDIT_BOX },
	[KG_E_BACKEND]	= { KG_AUDIT_BACKEND, KG_AUDIT_BOX },
	[KG_E_AUDIT]	= { KG_AUDIT_NONE,    KG_AUDIT_BOX },
	[KG_E_LIMIT]	= { KG_AUDIT_CONFIG,  KG_AUDIT_BOX },
	[KG_E_TIMEOUT]	= { KG_AUDIT_BACKEND, KG_AUDIT_BOX },
	[KG_E_PROTOCOL]	= { KG_AUDIT_BACKEND, KG_AUDIT_BOX },
	[KG_E_SANDBOX]	= { KG_AUDIT_BACKEND, KG_AUDIT_BOX },
	[KG_E_NETNS]	= { KG_AUDIT_BACKEND, KG_AUDIT_BOX },
	[KG_E_RESOLVE]	= { KG_AUDIT_BACKEND, KG_AUDIT_BOX },
	[KG_E_NOEXEC]	= { KG_AUDIT_BACKEND, KG_AUDIT_EXEC },
	[KG_E_NOENT]	= { KG_AUDIT_BACKEND, KG_AUDIT_EXEC },
	[KG_E_SYSTEM]	= { KG_AUDIT_BACKEND, KG_AUDIT_BOX },
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(stages) == KG_E_COUNT, "every code has a stage");

static int refuse(struct run *r, const struct kg_error *err)
{
	kg_say("%s", err->msg);
	r->audit_failed = err->code == KG_E_AUDIT;
	write_block(r,
		    r->launched ? stages[err->code].after
				: stages[err->code].before,
		    err->msg);
	return kg_error_exit_status(err);
}

/* --- the launch --------------------------------------------------------- */

static int start_worker(struct run *r, struct kg_error *err)
{
	struct kg_worker_context context = { .launch = &r->launch,
					     .parent = getpid(),
					     .trace = r->options->trace };
	int ends[2], i;

	if (kg_session_adopt(&r->session, err) || kg_frame_pair(ends, err))
		return -1;
	context.supervisor_fd = ends[1];
	r->session.worker = (struct kg_frame_link){ .fd = ends[0],
						    .from = KG_ROLE_WORKER };
	if (kg_spawn_role(kg_worker_main, &context, &r->session.child, err)) {
		(void)close(ends[1]);
		return -1;
	}
	(void)close(ends[1]);

	/* The worker's now: an end of file must mean that the box has ended. */
	for (i = 0; i < KG_RELAY_STREAMS; i++)
		kg_scope_close_(&r->launch.stdio[i]);
	kg_scope_close_(&r->launch.entry_in);
	kg_scope_close_(&r->launch.entry_out);
	kg_scope_close_(&r->launch.info_out);
	kg_scope_close_(&r->launch.seccomp_in);
	kg_scope_close_(&r->launch.seccomp_out);
	return 0;
}

/* While the worker builds; the command waits for this. */
static int sync_audit(struct run *r, struct kg_error *err)
{
	if (kg_audit_sync(&r->audit, err))
		return -1;
	kg_trace_mark(&r->trace, KG_STEP_SYNCED);
	return 0;
}

/*
 * The order is the argument: what is refused is refused before anything starts,
 * and nothing starts before its audit line is written.
 */
static int (*const steps[])(struct run *r, struct kg_error *err) = {
	open_relay,
	check_nesting,
	find_home,
	find_project,
	open_audit,
	check_ceiling,
	load_policy,
	check_project,
	check_project_files,
	resolve_paths,
	probe,
	build_environment,
	build_launch,
	check_config_place,
	check_audit_place,
	write_launch,
	start_worker,
	sync_audit,
};

static const struct {
	unsigned role;
	const char *what;
} helpers[] = {
	{ KG_ROLE_GATE, "the gate, which opens addresses," },
	{ KG_ROLE_RESOLVER, "the resolver, which answers DNS," },
	{ KG_ROLE_COUNT, "slirp4netns, which carries the packets," },
};

static void tell_losses(const struct kg_outcome *outcome)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(helpers); i++)
		if (outcome->lost & KG_BIT32(helpers[i].role))
			kg_say("%s ended during the run; from then on the "
			       "command had less network, never more",
			       helpers[i].what);
}

static int status_of(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	return 128 + WTERMSIG(wait_status);
}

static int end_interrupted(struct run *r, int signo)
{
	char reason[96];

	(void)snprintf(reason, sizeof(reason),
		       "%s ended the launch before the command started",
		       kg_signals_name(signo));
	write_block(r, KG_AUDIT_BOX, reason);
	return 128 + signo;
}

/* A reader that doesn't read has this long when the run's time is over. */
static uint64_t grace_end(void)
{
	return kg_now_ns() + (uint64_t)kg_wait_ms(KG_WAIT_GRACE) * 1000000;
}

/* A signal while the reader takes its time: enough of it. */
static int drain(struct run *r, int status, uint64_t end_ns)
{
	bool to_group;
	int signo;

	while (!kg_relay_drain(r->relay, r->signals.fd, end_ns) &&
	       (end_ns == 0 || kg_now_ns() < end_ns))
		if (kg_signals_next(&r->signals, &signo, &to_group) ==
		    KG_SIGNAL_END)
			return 128 + signo;
	return status;
}

static int end_lost(struct run *r, const struct kg_outcome *outcome)
{
	(void)drain(r, STATUS_KGATE, grace_end());
	kg_say("the command was ended: %s", outcome->err.msg);
	return STATUS_KGATE;
}

static int end_exited(struct run *r, const struct kg_outcome *outcome)
{
	struct kg_error err = KG_ERROR_INIT;
	bool timed_out = outcome->ending == KG_ENDING_TIMEOUT;
	int status = timed_out ? STATUS_TIMEOUT : status_of(outcome->status);

	status = drain(r, status, timed_out ? grace_end() : 0);
	kg_trace_mark(&r->trace, KG_STEP_END);
	tell_losses(outcome);
	if (kg_relay_error(r->relay, &err)) {
		kg_say("%s", err.msg);
		if (status == 0)
			status = STATUS_KGATE;
	}
	return status;
}

static int attend(struct run *r)
{
	struct kg_outcome outcome;

	r->session.relay = r->relay;
	r->session.signals = &r->signals;
	r->session.trace = &r->trace;
	r->session.timeout_ms = r->options->timeout_ms;
	kg_session_run(&r->session, &outcome);
	if (outcome.ending != KG_ENDING_EXITED || outcome.killed)
		kg_session_abort(&r->session);

	switch (outcome.ending) {
	case KG_ENDING_SIGNAL:
		return end_interrupted(r, outcome.signo);
	case KG_ENDING_FAILED:
		return refuse(r, &outcome.err);
	case KG_ENDING_LOST:
		return end_lost(r, &outcome);
	case KG_ENDING_EXITED:
	case KG_ENDING_TIMEOUT:
		break;
	}
	return end_exited(r, &outcome);
}

static int run(struct run *r)
{
	struct kg_error err = KG_ERROR_INIT;
	size_t i;

	if (kg_signals_take(&r->signals, &err) ||
	    kg_role_enter(KG_ROLE_SUPERVISOR, 0, &err))
		return refuse(r, &err);
	for (i = 0; i < KG_ARRAY_LEN(steps); i++) {
		if (steps[i](r, &err) == 0)
			continue;
		kg_session_abort(&r->session);
		return refuse(r, &err);
	}
	return attend(r);
}

static void done(struct run *r)
{
	int i;

	kg_relay_free(r->relay);
	for (i = 0; i < KG_RELAY_STREAMS; i++)
		kg_scope_close_(&r->stdio[i]);
	kg_launch_done(&r->launch);
	kg_linux_done(&r->facts);
	kg_audit_done(&r->audit);
	kg_signals_done(&r->signals);
	kg_policy_done(&r->policy);
	kg_home_done(&r->home);
	kg_environ_free(r->environment);
	free_list(r->hosts);
	free_list(r->allow);
	free(r->cwd);
	free(r->audit_path);

	/* Last: the worker takes itself apart meanwhile. */
	kg_session_reap(&r->session);
	kg_session_done(&r->session);
}

int kg_run_main(const struct kg_options *options, uint64_t start_ns)
{
	struct run r = { .options = options,
			 .home = KG_HOME_INIT,
			 .policy = KG_POLICY_INIT,
			 .signals = KG_SIGNALS_INIT,
			 .audit = KG_AUDIT_INIT,
			 .facts = KG_LINUX_INIT,
			 .launch = KG_LAUNCH_INIT,
			 .session = KG_SESSION_INIT,
			 .trace = KG_TRACE_INIT,
			 .stdio = { -1, -1, -1 } };
	int status;

	kg_trace_put(&r.trace, KG_STEP_START, start_ns);
	status = run(&r);
	if (options->trace)
		kg_trace_print(&r.trace);
	done(&r);
	return status;
}
