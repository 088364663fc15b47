/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child/mounter.h"
#include "common/fd.h"
#include "common/frame.h"
#include "common/scoped.h"
#include "common/spawn.h"
#include "common/util.h"
#include "netns/gate.h"
#include "netns/join.h"
#include "netns/resolver.h"
#include "netns/slirp.h"

/* What of slirp4netns' words is kept for a message: the last of them. */
#define WORDS_BYTES 256

/* What has happened so far; each step of the launch waits for one of these. */
enum fact {
	FACT_INFO,	/* bwrap has said its child's pid */
	FACT_ENTRY,	/* kgate-entry is ready */
	FACT_GATE,	/* the firewall is closed */
	FACT_RESOLVER,	/* the resolver has its sockets */
	FACT_SLIRP,	/* slirp4netns has attached */
	FACT_LINK,	/* address and route stand */
	FACT_HOSTS,	/* the listed names are open */
	FACT_PERMITTED, /* the audit line is on disk */
	FACT_RELEASED,	/* GO was sent */
	FACT_STARTED,	/* the command's exec has succeeded */
	FACT_EXITED,	/* the command has ended */
};

struct worker {
	struct kg_launch *launch;
	struct kg_frame_link supervisor;
	struct kg_frame_link entry;
	struct kg_frame_link gate;
	struct kg_frame_link resolver;
	struct kg_child bwrap;
	struct kg_child gate_child;
	struct kg_child resolver_child;
	struct kg_slirp slirp;
	bool trace;
	pid_t parent;
	pid_t pid1;
	pid_t entry_pid;
	int pid1_fd;
	int netns_fd;
	int userns_fd;
	int status;
	uint32_t facts;
	char info[512];
	size_t info_len;
	char words[WORDS_BYTES];
	size_t words_len;
};

static bool has(const struct worker *w, enum fact fact)
{
	return w->facts & KG_BIT32(fact);
}

static void note(struct worker *w, enum fact fact)
{
	w->facts |= KG_BIT32(fact);
}

static void tell_step(struct worker *w, enum kg_step step)
{
	if (w->trace)
		kg_frame_send_step(w->supervisor.fd, step);
}

/* A helper's end is fatal while the box is being made, and told afterwards. */
static int lose(struct worker *w, enum kg_role role, struct kg_error *err)
{
	if (!has(w, FACT_RELEASED))
		return -1;
	*err = KG_ERROR_INIT;
	return kg_frame_send_plain(w->supervisor.fd, KG_FRAME_LOST, (int)role,
				   0, err);
}

/* --- what arrives ------------------------------------------------------- */

/* What a bwrap that failed leaves half done: its own end says more. */
static int explain_end(struct worker *w, struct kg_error *err)
{
	if (kg_fd_wait(w->bwrap.pidfd, kg_wait_ms(KG_WAIT_LAST_WORDS)))
		(void)kg_fail(err, KG_E_SANDBOX, 0, "bwrap has ended");
	return -1;
}

static int hear_info(struct worker *w, struct kg_error *err)
{
	ssize_t n;
	int rc;

	n = read(w->launch->info_in, w->info + w->info_len,
		 sizeof(w->info) - w->info_len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		(void)kg_fail(err, KG_E_SANDBOX, 0,
			      "bwrap didn't say all about its child");
		return explain_end(w, err);
	}
	w->info_len += (size_t)n;
	rc = kg_bwrap_read_info(w->info, w->info_len, &w->pid1, err);
	if (rc < 0)
		return -1;
	if (rc == 0 && w->info_len == sizeof(w->info))
		return kg_fail(
			err, KG_E_SANDBOX, 0,
			"bwrap wrote more about its child than expected");
	if (rc == 0)
		return 0;
	w->pid1_fd = kg_fd_open_pid(w->pid1);
	if (w->pid1_fd < 0)
		return kg_fail(err, KG_E_SANDBOX, errno, "find bwrap's child");
	kg_scope_close_(&w->launch->info_in);
	note(w, FACT_INFO);
	tell_step(w, KG_STEP_INFO);
	return 0;
}

static int obey(struct worker *w, const struct kg_frame *frame,
		struct kg_error *err)
{
	if (frame->type == KG_FRAME_GO)
		note(w, FACT_PERMITTED);
	if (frame->type == KG_FRAME_SIGNAL && has(w, FACT_RELEASED) &&
	    w->entry.fd >= 0)
		return kg_frame_send(w->entry.fd, frame, err);
	return 0;
}

/*
 * Its end is heard here and not by a signal: bwrap's child isn't bound to
 * bwrap's life from its first moment on, and somebody has to end it.
 */
static int hear_supervisor(struct worker *w, struct kg_error *err)
{
	struct kg_frame frame;
	int rc;

	while ((rc = kg_frame_recv(&w->supervisor, &frame, err)) == 1) {
		if (obey(w, &frame, err))
			return -1;

		/* A signal behind it is for a command that is released. */
		if (frame.type == KG_FRAME_GO)
			return 0;
	}
	return rc;
}

static int take_entry_frame(struct worker *w, const struct kg_frame *frame,
			    struct kg_error *err)
{
	switch ((enum kg_frame_type)frame->type) {
	case KG_FRAME_READY:
		note(w, FACT_ENTRY);
		return 0;
	case KG_FRAME_FAILED:
		*err = frame->error;
		return -1;
	case KG_FRAME_EXITED:
		note(w, FACT_EXITED);
		w->status = frame->value.a;
		tell_step(w, KG_STEP_EXITED);
		return 0;
	case KG_FRAME_STARTED:
		note(w, FACT_STARTED);
		tell_step(w, KG_STEP_STARTED);
		return kg_frame_send(w->supervisor.fd, frame, err);
	case KG_FRAME_STOPPED:
	case KG_FRAME_CONTINUED:
		return kg_frame_send(w->supervisor.fd, frame, err);
	case KG_FRAME_GO:
	case KG_FRAME_SIGNAL:
	case KG_FRAME_STEP:
	case KG_FRAME_LOST:
	case KG_FRAME_ADDRESS:
	case KG_FRAME_SYNC:
	case KG_FRAME_SYNCED:
	case KG_FRAME_COUNT:
		break;
	}
	return kg_fail(err, KG_E_PROTOCOL, 0, "unexpected frame in the box");
}

/* The first word carries the pid: the kernel's, not the sender's claim. */
static int hear_entry(struct worker *w, struct kg_error *err)
{
	struct kg_frame frame;
	int rc;

	for (;;) {
		rc = has(w, FACT_ENTRY)
			     ? kg_frame_recv(&w->entry, &frame, err)
			     : kg_frame_recv_cred(&w->entry, &frame,
						  &w->entry_pid, err);
		if (rc != 1)
			break;
		if (take_entry_frame(w, &frame, err))
			return -1;
	}
	/* Before its first word, and after its last, bwrap's end says more. */
	if (rc < 0 && err->code == KG_E_SANDBOX &&
	    has(w, FACT_ENTRY) == has(w, FACT_EXITED)) {
		kg_frame_link_done(&w->entry);
		return 0;
	}
	return rc;
}

/* Gate and resolver alike: READY, steps, or FAILED. */
static int hear_helper(struct worker *w, struct kg_frame_link *link,
		       enum fact ready, struct kg_error *err)
{
	struct kg_frame frame;
	int rc;

	while ((rc = kg_frame_recv(link, &frame, err)) == 1) {
		if (frame.type == KG_FRAME_FAILED) {
			*err = frame.error;
			rc = -1;
			break;
		}
		if (frame.type == KG_FRAME_READY)
			note(w, ready);
		if (frame.type != KG_FRAME_STEP)
			continue;
		if (link == &w->gate && frame.step.step == KG_STEP_LINK)
			note(w, FACT_LINK);
		if (link == &w->resolver && frame.step.step == KG_STEP_HOSTS)
			note(w, FACT_HOSTS);
		if (w->trace && kg_frame_send(w->supervisor.fd, &frame, err))
			return -1;
	}
	if (rc == 0)
		return 0;
	kg_frame_link_done(link);
	return lose(w, link->from, err);
}

static int hear_gate(struct worker *w, struct kg_error *err)
{
	return hear_helper(w, &w->gate, FACT_GATE, err);
}

static int hear_resolver(struct worker *w, struct kg_error *err)
{
	return hear_helper(w, &w->resolver, FACT_RESOLVER, err);
}

/* Keep the newest words: the reason of an end comes last. */
static int hear_slirp_words(struct worker *w, struct kg_error *err)
{
	char got[WORDS_BYTES];
	size_t drop, len;
	ssize_t n;

	(void)err;
	n = read(w->slirp.words_fd, got, sizeof(got));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		kg_scope_close_(&w->slirp.words_fd);
		return 0;
	}
	len = (size_t)n;
	drop = w->words_len + len > sizeof(w->words)
		       ? w->words_len + len - sizeof(w->words)
		       : 0;
	memmove(w->words, w->words + drop, w->words_len - drop);
	memcpy(w->words + w->words_len - drop, got, len);
	w->words_len += len - drop;
	return 0;
}

/* With its last words: they are the cause. */
static int fail_slirp(struct worker *w, const char *what, struct kg_error *err)
{
	if (w->slirp.words_fd >= 0)
		(void)hear_slirp_words(w, err);
	while (w->words_len && w->words[w->words_len - 1] == '\n')
		w->words_len--;
	return kg_fail(err, KG_E_NETNS, 0, "slirp4netns %s%s%.*s", what,
		       w->words_len ? ": " : "", (int)w->words_len, w->words);
}

static int hear_slirp_ready(struct worker *w, struct kg_error *err)
{
	char word;

	if (read(w->slirp.ready_fd, &word, 1) != 1)
		return fail_slirp(w, "ended before it was ready", err);
	kg_scope_close_(&w->slirp.ready_fd);
	note(w, FACT_SLIRP);
	tell_step(w, KG_STEP_SLIRP);
	return 0;
}

static int hear_slirp_end(struct worker *w, struct kg_error *err)
{
	(void)fail_slirp(w, "has ended", err);
	kg_slirp_done(&w->slirp);
	return lose(w, KG_ROLE_COUNT, err);
}

static int hear_bwrap_end(struct worker *w, struct kg_error *err)
{
	if (has(w, FACT_EXITED))
		return 0;
	/* What kgate-entry still has to say is more exact. */
	if (w->entry.fd >= 0 && hear_entry(w, err))
		return -1;
	if (has(w, FACT_EXITED))
		return 0;
	return kg_fail(err, KG_E_SANDBOX, 0,
		       has(w, FACT_STARTED)
			       ? "the box ended before its command did"
			       : "bwrap has ended");
}

/* --- waiting ------------------------------------------------------------ */

/*
 * Where words can come from, in the order in which they are heard: an end is
 * looked at after what was said before it.
 */
static const struct source {
	size_t fd_offset;
	int (*hear)(struct worker *w, struct kg_error *err);
} sources[] = {
	/* clang-format off */
	{ offsetof(struct worker, supervisor.fd),	hear_supervisor },
	{ offsetof(struct worker, entry.fd),		hear_entry },
	{ offsetof(struct worker, gate.fd),		hear_gate },
	{ offsetof(struct worker, resolver.fd),		hear_resolver },
	{ offsetof(struct worker, slirp.words_fd),	hear_slirp_words },
	{ offsetof(struct worker, slirp.ready_fd),	hear_slirp_ready },
	{ offsetof(struct worker, slirp.child.pidfd),	hear_slirp_end },
	{ offsetof(struct worker, bwrap.pidfd),		hear_bwrap_end },
	/* clang-format on */
};

static int fd_of(struct worker *w, const struct source *s)
{
	int fd;

	memcpy(&fd, (const char *)w + s->fd_offset, sizeof(fd));
	return fd;
}

/* One round.  Returns 0 also at the time-out. */
static int hear(struct worker *w, int timeout_ms, struct kg_error *err)
{
	struct pollfd pfd[KG_ARRAY_LEN(sources) + 1];
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(sources); i++)
		pfd[i] = (struct pollfd){ .fd = fd_of(w, &sources[i]),
					  .events = POLLIN };
	pfd[i] = (struct pollfd){ .fd = w->launch->info_in, .events = POLLIN };
	if (poll(pfd, KG_ARRAY_LEN(pfd), timeout_ms) < 0)
		return errno == EINTR ? 0 : kg_fail_system(err, "wait");
	if (pfd[i].revents && hear_info(w, err))
		return -1;
	for (i = 0; i < KG_ARRAY_LEN(sources); i++)
		if (pfd[i].revents && pfd[i].fd == fd_of(w, &sources[i]) &&
		    sources[i].hear(w, err))
			return -1;
	return 0;
}

static int await(struct worker *w, enum fact fact, enum kg_wait wait,
		 struct kg_error *err)
{
	uint64_t since_ns = kg_now_ns();
	int left_ms;

	while (!has(w, fact)) {
		left_ms = kg_deadline_ms(since_ns, wait);
		if (left_ms == 0)
			return kg_fail(err, KG_E_TIMEOUT, 0,
				       "gave up after %d ms waiting for %s",
				       kg_wait_ms(wait), kg_wait_name(wait));
		if (hear(w, left_ms, err))
			return -1;
	}
	return 0;
}

/* --- the steps ---------------------------------------------------------- */

static int start_bwrap(struct worker *w, struct kg_error *err)
{
	static char *const environment[] = { NULL };
	struct kg_launch *l = w->launch;
	kg_auto_free int *pass = NULL;
	char args[16], program[32], channel[16], payload[16];
	char *const argv[] = { l->facts->bwrap, (char *)"--args", args, program,
			       channel,		payload,	  NULL };
	struct kg_spawn spec = { .path = l->facts->bwrap,
				 .argv = argv,
				 .envp = environment };
	size_t n = 0;

	(void)snprintf(args, sizeof(args), "%d", l->args_fd);
	(void)snprintf(program, sizeof(program), "/proc/self/fd/%d",
		       l->facts->entry_fd);
	(void)snprintf(channel, sizeof(channel), "%d", l->entry_out);
	(void)snprintf(payload, sizeof(payload), "%d", l->payload_fd);
	pass = calloc(l->data_count + 6, sizeof(*pass));
	if (!pass)
		return kg_fail_system(err, "start bwrap");
	memcpy(pass, l->data_fds, l->data_count * sizeof(*pass));
	n = l->data_count;
	pass[n++] = l->args_fd;
	pass[n++] = l->seccomp_in;
	pass[n++] = l->info_out;
	pass[n++] = l->facts->entry_fd;
	pass[n++] = l->entry_out;
	pass[n++] = l->payload_fd;
	spec.pass = pass;
	spec.pass_count = n;
	memcpy(spec.stdio, l->stdio, sizeof(spec.stdio));
	return kg_spawn_program(&spec, &w->bwrap, err);
}

/* What bwrap has now; an end of file must mean that the box has ended. */
static void forget_passed(struct worker *w)
{
	struct kg_launch *l = w->launch;
	size_t i;

	for (i = 0; i < l->data_count; i++)
		kg_scope_close_(&l->data_fds[i]);
	for (i = 0; i < 3; i++)
		kg_scope_close_(&l->stdio[i]);
	kg_scope_close_(&l->args_fd);
	kg_scope_close_(&l->seccomp_in);
	kg_scope_close_(&l->payload_fd);
	kg_scope_close_(&l->info_out);
	kg_scope_close_(&l->entry_out);
}

static int make_box(struct worker *w, struct kg_error *err)
{
	int on = 1;

	if (setsockopt(w->entry.fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return kg_fail_system(err, "ask for credentials");
	if (start_bwrap(w, err))
		return -1;
	forget_passed(w);
	if (kg_launch_write_filter(w->launch, err))
		return explain_end(w, err);
	if (await(w, FACT_INFO, KG_WAIT_INFO, err) ||
	    await(w, FACT_ENTRY, KG_WAIT_ENTRY, err))
		return -1;
	tell_step(w, KG_STEP_ENTRY);
	return 0;
}

/*
 * The handles are opened between two looks at a pidfd: while its process lives
 * the number can't be another's.
 */
static int open_namespaces(struct worker *w, struct kg_error *err)
{
	kg_auto_close int pidfd = -1;
	char path[64];
	int failed = 0;

	if (!w->launch->network_box)
		return 0;
	pidfd = kg_fd_open_pid(w->entry_pid);
	if (pidfd < 0)
		return kg_fail(err, KG_E_SANDBOX, errno, "find kgate-entry");
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net",
		       (int)w->entry_pid);
	w->netns_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (w->netns_fd < 0)
		failed = errno;
	if (kg_fd_is_ready(pidfd))
		return kg_fail(err, KG_E_SANDBOX, 0, "kgate-entry has ended");
	if (failed)
		return kg_fail(err, KG_E_SYSTEM, failed, "open %s", path);
	if (kg_join_is_here(w->netns_fd, "net"))
		return kg_fail(err, KG_E_SANDBOX, 0,
			       "the box has no network namespace of its own");

	/* The one that owns it, and not the nested one that bwrap may make. */
	w->userns_fd = ioctl(w->netns_fd, NS_GET_USERNS);
	if (w->userns_fd < 0)
		return kg_fail_system(err, "find the box's user namespace");
	return 0;
}

/* uid 0 owns the device nodes that the box shows. */
static int seal_devices(struct worker *w, struct kg_error *err)
{
	struct kg_mounter mounter = { .parent = getpid() };
	kg_auto_close int mntns_fd = -1;
	kg_auto_close int userns_fd = -1;
	struct kg_child child = KG_CHILD_INIT;
	char path[64];
	int status;

	if (getuid() != 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt",
		       (int)w->entry_pid);
	mntns_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (mntns_fd >= 0)
		userns_fd = ioctl(mntns_fd, NS_GET_USERNS);
	if (userns_fd < 0 || kg_join_is_here(mntns_fd, "mnt"))
		return kg_fail_system(err, "find the box's mounts");
	mounter.mntns_fd = mntns_fd;
	mounter.userns_fd = userns_fd;
	if (kg_spawn_role(kg_mounter_main, &mounter, &child, err))
		return -1;
	status = kg_child_wait(&child, kg_wait_ms(KG_WAIT_ENTRY));
	kg_child_done(&child);
	if (status != 0)
		return kg_fail(err, KG_E_SANDBOX,
			       WIFEXITED(status) ? WEXITSTATUS(status) : 0,
			       "make the box's devices read-only");
	return 0;
}

static void run_gate(void *ctx)
{
	kg_gate_main(ctx);
}

static void run_resolver(void *ctx)
{
	kg_resolver_main(ctx);
}

static int start_gate(struct worker *w, int channel, int resolver_end,
		      struct kg_error *err)
{
	struct kg_gate gate = {
		.worker_fd = channel,
		.resolver_fd = resolver_end,
		.userns_fd = w->userns_fd,
		.netns_fd = w->netns_fd,
		.parent = getpid(),
		.plan = &w->launch->netplan,
		.iptables = w->launch->facts->iptables,
		.ip6tables = w->launch->facts->ip6tables,
	};

	return kg_spawn_role(run_gate, &gate, &w->gate_child, err);
}

static int start_resolver(struct worker *w, int channel, int gate_end,
			  struct kg_error *err)
{
	struct kg_resolver resolver = {
		.worker_fd = channel,
		.gate_fd = gate_end,
		.userns_fd = w->userns_fd,
		.netns_fd = w->netns_fd,
		.parent = getpid(),
		.plan = &w->launch->netplan,
	};

	return kg_spawn_role(run_resolver, &resolver, &w->resolver_child, err);
}

static int start_helpers(struct worker *w, struct kg_error *err)
{
	int gate[2] = { -1, -1 }, resolver[2] = { -1, -1 };
	int between[2] = { -1, -1 };
	int rc = -1;
	size_t i;

	if (kg_frame_pair(gate, err) == 0 &&
	    kg_frame_pair(resolver, err) == 0 &&
	    kg_frame_pair(between, err) == 0 &&
	    start_gate(w, gate[1], between[0], err) == 0)
		rc = start_resolver(w, resolver[1], between[1], err);
	w->gate = (struct kg_frame_link){ .fd = kg_take_fd(&gate[0]),
					  .from = KG_ROLE_GATE };
	w->resolver = (struct kg_frame_link){ .fd = kg_take_fd(&resolver[0]),
					      .from = KG_ROLE_RESOLVER };
	for (i = 0; i < 2; i++) {
		kg_scope_close_(&gate[i]);
		kg_scope_close_(&resolver[i]);
		kg_scope_close_(&between[i]);
	}
	return rc;
}

static int close_firewall(struct worker *w, struct kg_error *err)
{
	if (!w->launch->network_box)
		return 0;
	if (start_helpers(w, err) || await(w, FACT_GATE, KG_WAIT_GATE, err))
		return -1;
	return await(w, FACT_RESOLVER, KG_WAIT_RESOLVER, err);
}

static int attach_link(struct worker *w, struct kg_error *err)
{
	if (!w->launch->network_box)
		return 0;
	if (kg_slirp_start(w->launch->facts->slirp, w->userns_fd, w->netns_fd,
			   w->launch->netplan.ipv6, &w->slirp, err) ||
	    await(w, FACT_SLIRP, KG_WAIT_SLIRP, err))
		return -1;
	kg_scope_close_(&w->userns_fd);
	kg_scope_close_(&w->netns_fd);
	return await(w, FACT_LINK, KG_WAIT_LINK, err);
}

static int open_hosts(struct worker *w, struct kg_error *err)
{
	if (!w->launch->network_box)
		return 0;
	if (kg_frame_send_plain(w->resolver.fd, KG_FRAME_GO, 0, 0, err))
		return -1;
	return await(w, FACT_HOSTS, KG_WAIT_OPEN, err);
}

/* Two locks: the box is complete, and its audit line is on disk. */
static int release(struct worker *w, struct kg_error *err)
{
	tell_step(w, KG_STEP_CHAIN);
	if (kg_frame_send_plain(w->supervisor.fd, KG_FRAME_READY, 0, 0, err) ||
	    await(w, FACT_PERMITTED, KG_WAIT_COMMIT, err))
		return -1;
	tell_step(w, KG_STEP_GO);
	note(w, FACT_RELEASED);
	if (kg_frame_send_plain(w->entry.fd, KG_FRAME_GO, 0, 0, err))
		return -1;
	return await(w, FACT_STARTED, KG_WAIT_STARTED, err);
}

static int attend(struct worker *w, struct kg_error *err)
{
	while (!has(w, FACT_EXITED))
		if (hear(w, -1, err))
			return -1;
	return 0;
}

/*
 * The order is the argument: closed rules before a link, a link before a query,
 * and the command last.
 */
static const struct {
	const char *what;
	int (*run)(struct worker *w, struct kg_error *err);
} steps[] = {
	/* clang-format off */
	{ "make the box",	   make_box },
	{ "find the box",	   open_namespaces },
	{ "seal the devices",	   seal_devices },
	{ "close the firewall",	   close_firewall },
	{ "attach the network",	   attach_link },
	{ "open the listed hosts", open_hosts },
	{ "start the command",	   release },
	{ "attend the command",	   attend },
	/* clang-format on */
};

static int become_worker(struct worker *w, struct kg_error *err)
{
	sigset_t all;

	/* Terminal signals are the supervisor's to pass on. */
	(void)setsid();
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	return kg_role_enter(KG_ROLE_WORKER, w->parent, err);
}

/* Everything but what the launch owns: audit log and config among it. */
static void close_foreign(struct worker *w)
{
	struct kg_launch *l = w->launch;
	int keep[KG_FD_KEEP_MAX];
	size_t n = 0, i;

	keep[n++] = w->supervisor.fd;
	keep[n++] = l->facts->entry_fd;
	keep[n++] = l->args_fd;
	keep[n++] = l->seccomp_in;
	keep[n++] = l->seccomp_out;
	keep[n++] = l->payload_fd;
	keep[n++] = l->info_in;
	keep[n++] = l->info_out;
	keep[n++] = l->entry_in;
	keep[n++] = l->entry_out;
	for (i = 0; i < 3; i++)
		keep[n++] = l->stdio[i];
	for (i = 0; i < l->data_count && n < KG_ARRAY_LEN(keep); i++)
		keep[n++] = l->data_fds[i];
	kg_fd_close_others(keep, n);
}

/* Nothing of the caller's stays; nothing opened later lands on these. */
static int empty_stdio(struct kg_error *err)
{
	kg_auto_close int fd = -1;
	int i;

	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (i = 0; fd >= 0 && i <= 2; i++)
		if (dup2(fd, i) < 0)
			kg_scope_close_(&fd);
	if (fd < 0)
		return kg_fail_system(err, "open /dev/null");
	return 0;
}

/* The end of pid 1 is the end of every process in its namespace. */
static void end_box(struct worker *w)
{
	const int doomed[] = { w->pid1_fd, w->bwrap.pidfd, w->gate_child.pidfd,
			       w->resolver_child.pidfd, w->slirp.child.pidfd };
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(doomed); i++)
		kg_fd_kill(doomed[i], SIGKILL);
	if (w->pid1_fd < 0)
		kg_child_done(&w->bwrap);
	else
		(void)kg_fd_wait(w->pid1_fd, kg_wait_ms(KG_WAIT_END));
	tell_step(w, KG_STEP_BOX_GONE);
}

/*
 * They have been killed, or have nothing left to wait for.  slirp4netns isn't
 * reaped: the kernel takes its time to take the link apart.
 */
static void reap(struct worker *w)
{
	struct kg_child *children[] = { &w->bwrap, &w->gate_child,
					&w->resolver_child };
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(children); i++)
		(void)kg_child_wait(children[i],
				    kg_wait_ms(KG_WAIT_LAST_WORDS));
}

/*
 * The caller's environment may hold secrets, and the roles that are forked from
 * here, one of which parses DNS, have no use for it.
 */
static void forget_environment(void)
{
	char **entry;

	for (entry = environ; *entry; entry++)
		explicit_bzero(*entry, strlen(*entry));
}

static int build_and_attend(struct worker *w, struct kg_error *err)
{
	size_t i;

	close_foreign(w);
	forget_environment();
	if (empty_stdio(err) || become_worker(w, err) || kg_spawn_adopt(err))
		return -1;
	for (i = 0; i < KG_ARRAY_LEN(steps); i++) {
		if (steps[i].run(w, err) == 0)
			continue;
		if (err->code != KG_E_NOENT && err->code != KG_E_NOEXEC)
			(void)kg_fail_while(err, "%s", steps[i].what);
		return -1;
	}
	return 0;
}

void kg_worker_main(void *ctx)
{
	const struct kg_worker_context *c = ctx;
	struct worker w = {
		.launch = c->launch,
		.trace = c->trace,
		.parent = c->parent,
		.supervisor = { .fd = c->supervisor_fd,
				.from = KG_ROLE_SUPERVISOR },
		.entry = { .fd = c->launch->entry_in, .from = KG_ROLE_ENTRY },
		.gate = KG_FRAME_LINK_INIT,
		.resolver = KG_FRAME_LINK_INIT,
		.bwrap = KG_CHILD_INIT,
		.gate_child = KG_CHILD_INIT,
		.resolver_child = KG_CHILD_INIT,
		.slirp = KG_SLIRP_INIT,
		.pid1_fd = -1,
		.netns_fd = -1,
		.userns_fd = -1,
	};
	struct kg_error err = KG_ERROR_INIT;
	int rc = build_and_attend(&w, &err);

	end_box(&w);
	if (rc == 0) {
		rc = kg_frame_send_plain(w.supervisor.fd, KG_FRAME_EXITED,
					 w.status, 0, &err);
		reap(&w);
	} else {
		kg_spawn_end_children(NULL, 0, kg_wait_ms(KG_WAIT_END));
		kg_frame_send_failed(w.supervisor.fd, &err);
	}
	_exit(rc ? 125 : 0);
}
