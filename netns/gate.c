/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/frame.h"
#include "common/role.h"
#include "common/scoped.h"
#include "common/seccomp.h"
#include "common/step.h"
#include "common/util.h"
#include "netns/firewall.h"
#include "netns/join.h"
#include "netns/link.h"
#include "netns/sets.h"

/**
 * struct gate - What the role holds while it runs
 * @ctx:	What it was started with
 * @worker:	Channel to the worker; owned
 * @resolver:	Channel to the resolver, closed once the other end is; owned
 * @sets:	Address sets; owned
 * @link:	Watches tap0, until it stands; owned
 * @rules:	Restore programs until they have ended, or NULL; owned
 * @index:	Index of tap0
 * @ipv6:	The box has IPv6, and rules for it
 * @over:	The worker has ended
 */
struct gate {
	const struct kg_gate *ctx;
	struct kg_frame_link worker;
	struct kg_frame_link resolver;
	struct kg_sets *sets;
	struct kg_link *link;
	struct kg_firewall_run *rules;
	int index;
	bool ipv6;
	bool over;
};

/* A session of its own: the terminal's signals go to its user's command. */
static int shed_descriptors(struct gate *g, struct kg_error *err)
{
	const int keep[] = { g->worker.fd, g->resolver.fd, g->ctx->userns_fd,
			     g->ctx->netns_fd };

	(void)err;
	(void)setsid();
	kg_fd_close_others(keep, KG_ARRAY_LEN(keep));
	return 0;
}

static int join_box(struct gate *g, struct kg_error *err)
{
	kg_auto_close int userns_fd = g->ctx->userns_fd;
	kg_auto_close int netns_fd = g->ctx->netns_fd;

	return kg_join_net(userns_fd, netns_fd, err);
}

static int enter_setup(struct gate *g, struct kg_error *err)
{
	if (kg_role_enter(KG_ROLE_GATE_SETUP, g->ctx->parent, err))
		return -1;
	return kg_role_hide(err);
}

static int write_one(const char *path, struct kg_error *err)
{
	kg_auto_close int fd = -1;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0; /* a kernel without IPv6 */
	if (fd < 0 || write(fd, "1", 1) != 1)
		return kg_fail_system(err, "write %s", path);
	return 0;
}

/*
 * No rules can be loaded for IPv6: it must not exist.  The names mean the
 * network namespace of who opens them, which is the box's since join_box().
 */
static int leave_out_ipv6(struct gate *g, struct kg_error *err)
{
	if (g->ctx->ip6tables)
		return 0;
	if (write_one("/proc/sys/net/ipv6/conf/default/disable_ipv6", err))
		return -1;
	return write_one("/proc/sys/net/ipv6/conf/all/disable_ipv6", err);
}

/* From here on it is heard when the link appears. */
static int watch_links(struct gate *g, struct kg_error *err)
{
	return kg_link_open(&g->link, err);
}

static int make_sets(struct gate *g, struct kg_error *err)
{
	if (kg_sets_open(&g->sets, err) ||
	    kg_sets_create(g->sets, AF_INET, err))
		return -1;
	return g->ipv6 ? kg_sets_create(g->sets, AF_INET6, err) : 0;
}

static int open_blocks(struct gate *g, struct kg_error *err)
{
	const struct kg_netplan *plan = g->ctx->plan;
	const struct kg_netplan_block *b;
	size_t i;

	for (i = 0; i < plan->block_count; i++) {
		b = &plan->blocks[i];
		if (b->block.family == AF_INET6 && !g->ipv6)
			continue;
		if (kg_sets_add(g->sets, &b->block, b->port, 0, err))
			return -1;
	}
	return kg_sets_flush(g->sets, err);
}

static int load_rules(struct gate *g, const char *text4, const char *text6,
		      struct kg_error *err)
{
	const struct kg_firewall_load loads[2] = {
		{ g->ctx->iptables, text4 },
		{ g->ctx->ip6tables, text6 },
	};

	return kg_firewall_apply(loads, kg_wait_ms(KG_WAIT_RULES), &g->rules,
				 err);
}

static int close_firewall(struct gate *g, struct kg_error *err)
{
	const struct kg_firewall_options options = {
		.dns_port = KG_DNS_PORT,
		.dns_mark = KG_DNS_MARK,
		.ipv6 = g->ipv6,
	};
	kg_auto_free char *text4 = NULL;
	kg_auto_free char *text6 = NULL;

	if (kg_firewall_build(AF_INET, &options, &text4, err) ||
	    kg_firewall_build(AF_INET6, &options, &text6, err))
		return -1;
	return load_rules(g, text4, text6, err);
}

static int shed_setup(struct gate *g, struct kg_error *err)
{
	return kg_role_enter(KG_ROLE_GATE, g->ctx->parent, err);
}

static int say_ready(struct gate *g, struct kg_error *err)
{
	kg_frame_send_step(g->worker.fd, KG_STEP_RULES);
	return kg_frame_send_plain(g->worker.fd, KG_FRAME_READY, 0, 0, err);
}

/*
 * The link may appear until slirp4netns has to be ready; whoever hangs is named
 * by the worker, whose deadlines are shorter.
 */
static int wait_for_link(struct gate *g, struct kg_error *err)
{
	int timeout_ms = kg_wait_ms(KG_WAIT_SLIRP) + kg_wait_ms(KG_WAIT_LINK);

	return kg_link_wait_guest(g->link, timeout_ms, &g->index, err);
}

/*
 * They have committed; how they end still counts, and the command isn't there
 * before they have.  slirp4netns has made the link meanwhile.
 */
static int see_rules_through(struct gate *g, struct kg_error *err)
{
	uint64_t since_ns = kg_now_ns();
	int rc;

	while ((rc = kg_firewall_run_check(g->rules, err)) == 0)
		if (!kg_fd_wait(kg_firewall_run_fd(g->rules),
				kg_deadline_ms(since_ns, KG_WAIT_RULES_END)))
			return kg_fail(err, KG_E_TIMEOUT, 0,
				       "gave up after %d ms waiting for %s",
				       kg_wait_ms(KG_WAIT_RULES_END),
				       kg_wait_name(KG_WAIT_RULES_END));
	kg_firewall_run_free(kg_take_ptr(g->rules));
	return rc < 0 ? -1 : 0;
}

/*
 * What no step from here on needs.  A gate that a frame has taken over could
 * still change the rules, its job being next door to that, but start nothing
 * and open nothing.
 */
static const struct kg_seccomp_rule filter_rules[] = {
	/* clang-format off */
	{ .call = "execve",	 .errnum = EPERM, .why = "no program" },
	{ .call = "execveat",	 .errnum = EPERM, .why = "no program" },
	{ .call = "fork",	 .errnum = EPERM, .why = "no process" },
	{ .call = "vfork",	 .errnum = EPERM, .why = "no process" },
	{ .call = "clone",	 .errnum = EPERM, .why = "no process" },
	{ .call = "clone3",	 .errnum = EPERM, .why = "no process" },
	{ .call = "open",	 .errnum = EPERM, .why = "no file" },
	{ .call = "openat",	 .errnum = EPERM, .why = "no file" },
	{ .call = "openat2",	 .errnum = EPERM, .why = "no file" },
	{ .call = "socket",	 .errnum = EPERM, .why = "it has its own" },
	{ .call = "setns",	 .errnum = EPERM, .why = "it is in place" },
	{ .call = "unshare",	 .errnum = EPERM, .why = "it is in place" },
	{ .call = "mount",	 .errnum = EPERM, .why = "no mount" },
	{ .call = "ptrace",	 .errnum = EPERM, .why = "no other process" },
	{ .call = "process_vm_writev", .errnum = EPERM,
	  .why = "no other process" },
	/* clang-format on */
};

static const struct kg_seccomp_table filter = {
	.rules = filter_rules,
	.count = KG_ARRAY_LEN(filter_rules),
};

static int close_filter(struct gate *g, struct kg_error *err)
{
	(void)g;
	return kg_seccomp_load(&filter, err);
}

static int finish_link(struct gate *g, struct kg_error *err)
{
	if (g->ipv6 && kg_link_add_ipv6(g->link, g->index, err))
		return -1;
	kg_link_close(kg_take_ptr(g->link));
	return 0;
}

static int say_linked(struct gate *g, struct kg_error *err)
{
	(void)err;
	kg_frame_send_step(g->worker.fd, KG_STEP_LINK);
	return 0;
}

/* The resolver reads answers from outside: what it asks for is checked here. */
static int open_address(struct gate *g, const struct kg_frame_address *a,
			struct kg_error *err)
{
	struct kg_block block = { .family = a->family };
	bool is6 = a->family == AF_INET6;

	if (!is6 && a->family != AF_INET)
		return kg_fail(err, KG_E_PROTOCOL, 0,
			       "address of unknown family %u from %s",
			       a->family, kg_role_spec(KG_ROLE_RESOLVER)->name);
	if ((is6 && !g->ipv6) || kg_host_is_reserved(a->family, a->addr))
		return 0;
	block.prefix = is6 ? 128 : 32;
	memcpy(block.addr, a->addr, is6 ? 16 : 4);
	return kg_sets_add(g->sets, &block, a->port, a->ttl_s, err);
}

static int obey(struct gate *g, const struct kg_frame *frame,
		struct kg_error *err)
{
	if (frame->type == KG_FRAME_ADDRESS)
		return open_address(g, &frame->address, err);
	if (frame->type != KG_FRAME_SYNC)
		return kg_fail(err, KG_E_PROTOCOL, 0, "%s frame from %s",
			       kg_frame_name((enum kg_frame_type)frame->type),
			       kg_role_spec(KG_ROLE_RESOLVER)->name);
	if (kg_sets_flush(g->sets, err))
		return -1;
	return kg_frame_send_plain(g->resolver.fd, KG_FRAME_SYNCED,
				   frame->value.a, 0, err);
}

static int hear_resolver(struct gate *g, struct kg_error *err)
{
	struct kg_frame frame = KG_FRAME_INIT;
	int rc;

	do {
		rc = kg_frame_recv(&g->resolver, &frame, err);
		if (rc == 1 && obey(g, &frame, err))
			return -1;
	} while (rc == 1);
	if (rc < 0 && err->code != KG_E_SANDBOX)
		return -1;

	/* What was opened stays; whether the run goes on isn't said here. */
	if (rc < 0)
		kg_frame_link_done(&g->resolver);
	return 0;
}

/* The worker has nothing to say to the gate: only its end can be heard. */
static int hear_worker(struct gate *g, struct kg_error *err)
{
	struct kg_frame frame = KG_FRAME_INIT;
	int rc = kg_frame_recv(&g->worker, &frame, err);

	if (rc == 1)
		return kg_fail(err, KG_E_PROTOCOL, 0, "%s frame from %s",
			       kg_frame_name((enum kg_frame_type)frame.type),
			       kg_role_spec(KG_ROLE_WORKER)->name);
	if (rc < 0 && err->code != KG_E_SANDBOX)
		return -1;
	g->over = rc < 0;
	return 0;
}

static const struct {
	int (*run)(struct gate *g, struct kg_error *err);
} handlers[] = { { hear_worker }, { hear_resolver } };

static int serve_once(struct gate *g, struct kg_error *err)
{
	struct pollfd fds[KG_ARRAY_LEN(handlers)] = {
		{ .fd = g->worker.fd, .events = POLLIN },
		{ .fd = g->resolver.fd, .events = POLLIN },
	};
	size_t i;

	if (poll(fds, KG_ARRAY_LEN(fds), -1) < 0)
		return errno == EINTR ? 0 : kg_fail_system(err, "wait");
	for (i = 0; i < KG_ARRAY_LEN(fds) && !g->over; i++)
		if (fds[i].revents && handlers[i].run(g, err))
			return -1;
	return 0;
}

static int serve(struct gate *g, struct kg_error *err)
{
	while (!g->over)
		if (serve_once(g, err))
			return -1;
	return 0;
}

/*
 * The order is the security argument: every packet is refused before a link can
 * exist, nothing is started once the worker hears READY and nothing can be once
 * it hears of the link, and the resolver is heard by a process that holds
 * CAP_NET_ADMIN alone.
 */
static const struct {
	const char *what;
	int (*run)(struct gate *g, struct kg_error *err);
} steps[] = {
	/* clang-format off */
	{ "shed descriptors",		shed_descriptors },
	{ "join the box",		join_box },
	{ "enter the setup role",	enter_setup },
	{ "leave out IPv6",		leave_out_ipv6 },
	{ "watch the box's links",	watch_links },
	{ "make the address sets",	make_sets },
	{ "open the listed blocks",	open_blocks },
	{ "close the firewall",		close_firewall },
	{ "shed the setup role",	shed_setup },
	{ "say that it is ready",	say_ready },
	{ "wait for the link",		wait_for_link },
	{ "finish the firewall",	see_rules_through },
	{ "finish the link",		finish_link },
	{ "close the filter",		close_filter },
	{ "say that the link stands",	say_linked },
	{ "keep the firewall",		serve },
	/* clang-format on */
};

void kg_gate_main(void *ctx)
{
	const struct kg_gate *gate = ctx;
	struct gate g = {
		.ctx = gate,
		.worker = { .fd = gate->worker_fd, .from = KG_ROLE_WORKER },
		.resolver = { .fd = gate->resolver_fd,
			      .from = KG_ROLE_RESOLVER },
		.ipv6 = gate->ip6tables && gate->plan->ipv6,
	};
	struct kg_error err = KG_ERROR_INIT;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(steps); i++) {
		if (steps[i].run(&g, &err) == 0)
			continue;

		(void)kg_fail_while(&err, "%s", steps[i].what);
		kg_frame_send_failed(g.worker.fd, &err);
		_exit(125);
	}
	_exit(0);
}
