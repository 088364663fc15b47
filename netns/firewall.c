/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/firewall.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/role.h"
#include "common/scoped.h"
#include "common/spawn.h"
#include "common/step.h"
#include "common/util.h"
#include "netns/commit.h"
#include "netns/netplan.h"
#include "netns/sets.h"

#define LINK KG_GUEST_LINK

/*
 * What differs between the families.
 *
 * @reserved holds what kg_host_is_reserved() says of addresses, as ranges: a
 * listed block may span them.  The guest's own range is among them, so that of
 * its network nothing but the DNS server's port is ever reached.
 */
static const struct family {
	int af;
	const char *dns;
	const char *guest;
	const char *loopback;	    /* where a REDIRECT leads */
	const char *loopback_range; /* never leaves by the link */
	const char *too_big;
	const char *unreachable;
	bool has_upstream; /* the resolver's own queries go to @dns */
	bool has_neighbours;
	const char *const *reserved;
} families[] = {
	{
		.af = AF_INET,
		.dns = KG_GUEST_DNS4,
		.guest = KG_GUEST_ADDR4,
		.loopback = "127.0.0.1",
		.loopback_range = "127.0.0.0/8",
		.too_big = "-p icmp --icmp-type fragmentation-needed",
		.unreachable = "icmp-port-unreachable",
		.has_upstream = true,
		.reserved =
			(const char *const[]){
				"0.0.0.0/8",
				"10.0.2.0/24",
				"127.0.0.0/8",
				"169.254.0.0/16",
				"224.0.0.0/4",
				"255.255.255.255",
				NULL,
			},
	},
	{
		.af = AF_INET6,
		.dns = KG_GUEST_DNS6,
		.guest = KG_GUEST_ADDR6,
		.loopback = "::1",
		.loopback_range = "::1",
		.too_big = "-p icmpv6 --icmpv6-type packet-too-big",
		.unreachable = "icmp6-port-unreachable",
		.has_neighbours = true,
		.reserved =
			(const char *const[]){
				"::/96",
				"::ffff:0:0/96",
				"64:ff9b::0.0.0.0/104",
				"64:ff9b::10.0.2.0/120",
				"64:ff9b::127.0.0.0/104",
				"64:ff9b::169.254.0.0/112",
				"64:ff9b::224.0.0.0/100",
				"64:ff9b::255.255.255.255",
				"fd00::/64",
				"fe80::/10",
				"ff00::/8",
				NULL,
			},
	},
};

static const char *const protocols[] = { "udp", "tcp" };

static void write_nat(FILE *f, const struct family *fam,
		      const struct kg_firewall_options *o)
{
	size_t i;

	(void)fprintf(f, "*nat\n");
	for (i = 0; i < KG_ARRAY_LEN(protocols); i++)
		(void)fprintf(f,
			      "-A OUTPUT -d %s -p %s --dport 53 -m mark ! "
			      "--mark %#x -j REDIRECT --to-ports %u\n",
			      fam->dns, protocols[i], o->dns_mark, o->dns_port);
	(void)fprintf(f, "COMMIT\n");
}

/*
 * A socket bound to the link takes loopback addresses out through it,
 * redirected DNS included, and slirp4netns would dial the host's loopback.  The
 * device that a packet really leaves by is known in POSTROUTING only.
 */
static void write_mangle(FILE *f, const struct family *fam)
{
	(void)fprintf(f,
		      "*mangle\n"
		      "-A POSTROUTING -o " LINK " -d %s -j DROP\n"
		      "COMMIT\n",
		      fam->loopback_range);
}

/*
 * No policies: with one in a text, the kernel makes the next close of a netlink
 * socket in this namespace wait for some 20 ms, and the link's birth as well.
 * The last rule of each chain does what DROP would, in the same commit.
 */
static void write_chains(FILE *f)
{
	(void)fprintf(f, "*filter\n"
			 ":REFUSED - [0:0]\n");
}

/* tcp-reset first: an ICMPv6 error costs each connect() a second. */
static void write_basis(FILE *f, const struct family *fam)
{
	(void)fprintf(f,
		      "-A REFUSED -p tcp -j REJECT --reject-with tcp-reset\n"
		      "-A REFUSED -j REJECT --reject-with %s\n"
		      "-A INPUT -i lo -j ACCEPT\n"
		      "-A OUTPUT -o lo -d %s -j ACCEPT\n"
		      "-A OUTPUT -o lo -d %s -j ACCEPT\n",
		      fam->unreachable, fam->loopback_range, fam->guest);
}

/*
 * Without these no packet finds the gateway's hardware address.  Solicitations
 * go to the range itself or to its solicited-node groups, advertisements back
 * to who asked; no program without a raw socket can send either.
 */
static void write_neighbours(FILE *f)
{
	static const char *const rules[] = {
		"-A INPUT -i " LINK " -s fd00::/64 -p icmpv6 "
		"--icmpv6-type neighbour-solicitation",
		"-A INPUT -i " LINK " -s fd00::/64 -p icmpv6 "
		"--icmpv6-type neighbour-advertisement",
		"-A OUTPUT -o " LINK " -s fd00::/64 -d fd00::/64 -p icmpv6 "
		"--icmpv6-type neighbour-solicitation",
		"-A OUTPUT -o " LINK " -s fd00::/64 -d ff02::1:ff00:0/104 "
		"-p icmpv6 --icmpv6-type neighbour-solicitation",
		"-A OUTPUT -o " LINK " -s fd00::/64 -d fd00::/64 -p icmpv6 "
		"--icmpv6-type neighbour-advertisement",
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rules); i++)
		(void)fprintf(f, "%s -j ACCEPT\n", rules[i]);
}

/*
 * A redirected packet still reads "-o tap0" here, with its new destination.  By
 * --ctorigdst alone packets to other ports of the DNS server would pass.
 */
static void write_dns(FILE *f, const struct family *fam,
		      const struct kg_firewall_options *o)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(protocols); i++)
		(void)fprintf(f,
			      "-A OUTPUT -d %s -p %s --dport %u -m conntrack "
			      "--ctstate DNAT --ctorigdst %s "
			      "--ctorigdstport 53 -j ACCEPT\n",
			      fam->loopback, protocols[i], o->dns_port,
			      fam->dns);
	for (i = 0; fam->has_upstream && i < KG_ARRAY_LEN(protocols); i++)
		(void)fprintf(f,
			      "-A OUTPUT -o " LINK " -d %s -p %s --dport 53 "
			      "-m mark --mark %#x -j ACCEPT\n",
			      fam->dns, protocols[i], o->dns_mark);
}

/*
 * Before the open flows: one of the resolver's to the DNS server stays known
 * for a while after its port is free again, and whoever binds that port would
 * speak to the server past the REDIRECT, which is asked for new flows only.
 */
static void write_refusals(FILE *f, const struct family *fam)
{
	static const unsigned ports[] = { 53, 853 };
	const char *const *range;
	size_t i, p;

	for (p = 0; p < KG_ARRAY_LEN(ports); p++)
		for (i = 0; i < KG_ARRAY_LEN(protocols); i++)
			(void)fprintf(f,
				      "-A OUTPUT -p %s --dport %u -j REFUSED\n",
				      protocols[i], ports[p]);
	for (range = fam->reserved; *range; range++)
		(void)fprintf(f, "-A OUTPUT -d %s -j REFUSED\n", *range);
}

/*
 * A flow outlives the entry that let it begin.  Of the errors that belong to
 * one only the one that path MTU discovery lives on comes in.
 */
static void write_flows(FILE *f, const struct family *fam)
{
	(void)fprintf(
		f,
		"-A INPUT -i " LINK
		" -m conntrack --ctstate ESTABLISHED --ctdir REPLY -j ACCEPT\n"
		"-A INPUT -i " LINK
		" %s -m conntrack --ctstate RELATED -j ACCEPT\n"
		"-A OUTPUT -o " LINK " -m conntrack --ctstate ESTABLISHED "
		"--ctdir ORIGINAL -j ACCEPT\n",
		fam->too_big);
}

static void write_listed(FILE *f, const struct family *fam)
{
	static const char *const directions[KG_SET_COUNT] = {
		[KG_SET_ADDR] = "dst",
		[KG_SET_ADDR_PORT] = "dst,dst",
		[KG_SET_BLOCK] = "dst",
		[KG_SET_BLOCK_PORT] = "dst,dst",
	};
	enum kg_set set;
	size_t i;

	for (set = 0; set < KG_SET_COUNT; set++)
		(void)fprintf(f,
			      "-A LISTED -m set --match-set %s %s -j ACCEPT\n",
			      kg_sets_name(fam->af, set), directions[set]);
	for (i = 0; i < KG_ARRAY_LEN(protocols); i++)
		(void)fprintf(f, "-A OUTPUT -o " LINK " -p %s -j LISTED\n",
			      protocols[i]);
}

static void write_filter_tail(FILE *f)
{
	(void)fprintf(f, "-A INPUT -j DROP\n"
			 "-A FORWARD -j DROP\n"
			 "-A OUTPUT -j REFUSED\n"
			 "COMMIT\n");
}

static void write_open(FILE *f, const struct family *fam,
		       const struct kg_firewall_options *o)
{
	write_nat(f, fam, o);
	write_mangle(f, fam);
	write_chains(f);
	(void)fprintf(f, ":LISTED - [0:0]\n");
	write_basis(f, fam);
	if (fam->has_neighbours)
		write_neighbours(f);
	write_dns(f, fam, o);
	write_refusals(f, fam);
	write_flows(f, fam);
	write_listed(f, fam);
	write_filter_tail(f);
}

/* Nothing is open but loopback: there is nothing to redirect or to mangle. */
static void write_closed(FILE *f, const struct family *fam)
{
	write_chains(f);
	write_basis(f, fam);
	write_filter_tail(f);
}

int kg_firewall_build(int family, const struct kg_firewall_options *options,
		      char **ret, struct kg_error *err)
{
	const struct family *fam = &families[family == AF_INET6];
	kg_auto_free char *text = NULL;
	size_t len = 0;
	bool failed;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return kg_fail_system(err, "write the firewall's rules");
	if (family == AF_INET6 && !options->ipv6)
		write_closed(f, fam);
	else
		write_open(f, fam, options);
	failed = ferror(f);
	if (fclose(f) || failed)
		return kg_fail_system(err, "write the firewall's rules");
	*ret = kg_take_ptr(text);
	return 0;
}

size_t kg_firewall_count_tables(const char *text)
{
	static const char word[] = "COMMIT";
	size_t count = 0, len;

	while (*text) {
		len = strcspn(text, "\n");
		if (len == strlen(word) && memcmp(text, word, len) == 0)
			count++;
		text += len + (text[len] == '\n');
	}
	return count;
}

/**
 * struct program - One restore program
 * @path:	As it was started, owned; NULL for none
 * @child:	The process; its pid is -1 when it has been reaped
 * @words_fd:	What it writes to its standard error, or -1; owned
 */
struct program {
	char *path;
	struct kg_child child;
	int words_fd;
};

struct kg_firewall_run {
	struct program programs[2];
	struct kg_commit *commit;
};

static int lend_capabilities(void *ctx, struct kg_error *err)
{
	(void)ctx;
	return kg_role_lend(KG_BIT64(CAP_NET_ADMIN) | KG_BIT64(CAP_NET_RAW),
			    err);
}

/*
 * The legacy flavour takes a lock in /run, which an ordinary user can't write.
 * Nobody else is in this namespace: a file of this launch, for each program its
 * own, will do.
 */
static int exec_program(struct program *p, int text_fd, int lock_fd,
			struct kg_error *err)
{
	char lock[64];
	char *argv[] = { p->path, NULL };
	char *envp[] = { (char[]){ "PATH=" KG_SAFE_PATH },
			 (char[]){ "LC_ALL=C" }, lock, NULL };
	struct kg_spawn spec = {
		.path = p->path,
		.argv = argv,
		.envp = envp,
		.stdio = { text_fd, -1, p->words_fd },
		.pass = &lock_fd,
		.pass_count = 1,
		.prepare = lend_capabilities,
	};

	(void)snprintf(lock, sizeof(lock), "XTABLES_LOCKFILE=/proc/self/fd/%d",
		       lock_fd);
	return kg_spawn_program(&spec, &p->child, err);
}

static int start(const struct kg_firewall_load *load, struct program *p,
		 struct kg_error *err)
{
	kg_auto_close int text_fd = -1;
	kg_auto_close int lock_fd = -1;

	if (!load->path)
		return 0;
	text_fd = kg_fd_from_bytes("rules", load->text, strlen(load->text),
				   err);
	if (text_fd < 0)
		return -1;
	p->path = strdup(load->path);
	lock_fd = memfd_create("xtables-lock", MFD_CLOEXEC);
	p->words_fd = memfd_create("words", MFD_CLOEXEC);
	if (!p->path || lock_fd < 0 || p->words_fd < 0)
		return kg_fail_system(err, "start %s", load->path);
	return exec_program(p, text_fd, lock_fd, err);
}

/* The programs spread one sentence over lines; what they say is one here. */
static void read_words(int fd, char *ret, size_t size)
{
	ssize_t n = pread(fd, ret, size - 1, 0);
	size_t i;

	ret[n > 0 ? n : 0] = '\0';
	for (i = 0; ret[i]; i++)
		if (ret[i] == '\n' || ret[i] == '\t')
			ret[i] = ' ';
		else if (ret[i] < ' ' || ret[i] > '~')
			ret[i] = '?';
	while (i > 0 && ret[i - 1] == ' ')
		ret[--i] = '\0';
}

static int fail_program(const struct program *p, int status,
			struct kg_error *err)
{
	char words[256];

	read_words(p->words_fd, words, sizeof(words));
	return kg_fail(err, KG_E_NETNS, 0, "%s failed (%s %d)%s%s", p->path,
		       WIFSIGNALED(status) ? "signal" : "exit status",
		       WIFSIGNALED(status) ? WTERMSIG(status)
					   : WEXITSTATUS(status),
		       *words ? ": " : "", words);
}

int kg_firewall_run_check(struct kg_firewall_run *run, struct kg_error *err)
{
	struct program *p;
	int status, left = 0;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(run->programs); i++) {
		p = &run->programs[i];
		if (p->child.pid < 0)
			continue;
		status = kg_child_wait(&p->child, 0);
		if (p->child.pid > 0) {
			left++;
			continue;
		}
		if (status != 0)
			return fail_program(p, status, err);
	}
	return left == 0;
}

int kg_firewall_run_fd(const struct kg_firewall_run *run)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(run->programs); i++)
		if (run->programs[i].child.pid > 0)
			return run->programs[i].child.pidfd;
	return -1;
}

void kg_firewall_run_free(struct kg_firewall_run *run)
{
	size_t i;

	if (!run)
		return;
	for (i = 0; i < KG_ARRAY_LEN(run->programs); i++) {
		struct program *p = &run->programs[i];

		kg_child_done(&p->child);
		kg_scope_close_(&p->words_fd);
		free(p->path);
	}
	kg_commit_close(run->commit);
	free(run);
}

static int pidfd_of(const struct program *p)
{
	return p->child.pid > 0 ? p->child.pidfd : -1;
}

static int wait_once(struct kg_firewall_run *run, int timeout_ms,
		     struct kg_error *err)
{
	struct pollfd fds[] = {
		{ .fd = pidfd_of(&run->programs[0]), .events = POLLIN },
		{ .fd = pidfd_of(&run->programs[1]), .events = POLLIN },
		{ .fd = kg_commit_fd(run->commit), .events = POLLIN },
	};

	if (poll(fds, KG_ARRAY_LEN(fds), timeout_ms) < 0 && errno != EINTR)
		return kg_fail_system(err, "wait");
	return 0;
}

/*
 * The events don't say whose they are, so all tables of both families have to
 * be heard of; or both programs have ended well.
 */
static int wait_for_tables(struct kg_firewall_run *run, size_t tables,
			   int timeout_ms, struct kg_error *err)
{
	uint64_t now_ns = kg_now_ns();
	uint64_t end_ns = now_ns + (uint64_t)timeout_ms * 1000000;
	int rc;

	for (; now_ns < end_ns; now_ns = kg_now_ns()) {
		if (wait_once(run, (int)((end_ns - now_ns) / 1000000) + 1, err))
			return -1;

		/* Ends before counts: a failure is never overlooked. */
		rc = kg_firewall_run_check(run, err);
		if (rc < 0)
			return -1;
		if (rc == 1 || kg_commit_count(run->commit) >= tables)
			return 0;
	}
	return kg_fail(err, KG_E_TIMEOUT, 0, "no answer from %s",
		       kg_wait_name(KG_WAIT_RULES));
}

static int run_programs(const struct kg_firewall_load loads[2], int timeout_ms,
			struct kg_firewall_run *run, struct kg_error *err)
{
	size_t i, tables = 0;

	for (i = 0; i < KG_ARRAY_LEN(run->programs); i++) {
		if (start(&loads[i], &run->programs[i], err))
			return -1;
		if (loads[i].path)
			tables += kg_firewall_count_tables(loads[i].text);
	}
	return wait_for_tables(run, tables, timeout_ms, err);
}

int kg_firewall_apply(const struct kg_firewall_load loads[2], int timeout_ms,
		      struct kg_firewall_run **ret, struct kg_error *err)
{
	struct kg_firewall_run *run = calloc(1, sizeof(*run));
	size_t i;

	if (!run)
		return kg_fail_system(err, "load the firewall's rules");
	for (i = 0; i < KG_ARRAY_LEN(run->programs); i++)
		run->programs[i] = (struct program){ .child = KG_CHILD_INIT,
						     .words_fd = -1 };

	/* Opened before a program runs: no commit can go unheard. */
	if (kg_commit_open(&run->commit, err) ||
	    run_programs(loads, timeout_ms, run, err)) {
		kg_firewall_run_free(run);
		return -1;
	}
	*ret = run;
	return 0;
}
