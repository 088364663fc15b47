/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/linux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child/boxfiles.h"
#include "common/cause.h"
#include "common/scoped.h"
#include "common/spawn.h"
#include "netns/link.h"

#define TUN "/dev/net/tun"

int kg_linux_check_place(struct kg_error *err)
{
	if (access(KG_BOX_MARKER, F_OK) == 0)
		return kg_cause_fail(err, KG_CAUSE_NESTED, 0, KG_BOX_MARKER);
	return 0;
}

static int find(const char *name, enum kg_cause missing, enum kg_cause unusable,
		char **ret, struct kg_error *err)
{
	struct kg_error why = KG_ERROR_INIT;

	if (kg_spawn_find(name, ret, &why) == 0)
		return 0;
	if (why.code == KG_E_NOENT)
		return kg_cause_fail(err, missing, 0,
				     "looked in " KG_SAFE_PATH);
	return kg_cause_fail(err, unusable, why.errnum, name);
}

/*
 * Beside kgate first: whoever can write there can replace kgate as well.  Then
 * where it was installed.
 */
static int open_entry(struct kg_error *err)
{
	static const char name[] = "/kgate-entry";
	char path[PATH_MAX];
	ssize_t n;
	char *slash;
	int fd;

	n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(name));
	if (n > 0) {
		path[n] = '\0';
		slash = strrchr(path, '/');
		memcpy(slash, name, sizeof(name));
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	fd = open(KG_LIBEXECDIR "/kgate-entry", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return kg_cause_fail(err, KG_CAUSE_ENTRY_MISSING, errno,
				     KG_LIBEXECDIR "/kgate-entry");
	return fd;
}

static int check_tun(struct kg_error *err)
{
	kg_auto_close int fd = -1;

	fd = open(TUN, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return kg_cause_fail(err, KG_CAUSE_TUN, errno, NULL);
	return 0;
}

/* No ip6tables-restore is no failure: the box has no IPv6 then. */
static int probe_ipv6(struct kg_linux *facts, struct kg_error *err)
{
	struct kg_error ignored = KG_ERROR_INIT;

	if (kg_spawn_find("ip6tables-restore", &facts->ip6tables, &ignored))
		return 0;
	return kg_link_has_ipv6_route(&facts->ipv6, err);
}

static int probe_network_box(struct kg_linux *facts, struct kg_error *err)
{
	if (find("slirp4netns", KG_CAUSE_SLIRP_MISSING, KG_CAUSE_SLIRP_UNUSABLE,
		 &facts->slirp, err) ||
	    find("iptables-restore", KG_CAUSE_IPTABLES_MISSING,
		 KG_CAUSE_IPTABLES_UNUSABLE, &facts->iptables, err) ||
	    check_tun(err))
		return -1;
	return probe_ipv6(facts, err);
}

int kg_linux_probe(const struct kg_policy *policy, struct kg_linux *ret,
		   struct kg_error *err)
{
	struct kg_linux facts = KG_LINUX_INIT;

	if (find("bwrap", KG_CAUSE_BWRAP_MISSING, KG_CAUSE_BWRAP_UNUSABLE,
		 &facts.bwrap, err))
		goto failed;
	facts.entry_fd = open_entry(err);
	if (facts.entry_fd < 0)
		goto failed;
	if (kg_policy_has_network_box(policy) && probe_network_box(&facts, err))
		goto failed;
	*ret = facts;
	return 0;
failed:
	kg_linux_done(&facts);
	return -1;
}

void kg_linux_done(struct kg_linux *facts)
{
	free(facts->bwrap);
	free(facts->slirp);
	free(facts->iptables);
	free(facts->ip6tables);
	kg_scope_close_(&facts->entry_fd);
	*facts = KG_LINUX_INIT;
}
