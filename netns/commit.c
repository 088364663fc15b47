/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/commit.h"

#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <netlink/msg.h>
#include <netlink/netlink.h>

#include "netns/nl.h"

#define NEWGEN (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWGEN)

struct kg_commit {
	struct nl_sock *sock;
	size_t count;
	bool lost;
};

int kg_commit_open(struct kg_commit **ret, struct kg_error *err)
{
	struct kg_commit *commit = calloc(1, sizeof(*commit));

	if (!commit)
		return kg_fail(err, KG_E_NETNS, errno, "listen for commits");
	if (kg_nl_open(NETLINK_NETFILTER, &commit->sock, err) ||
	    kg_nl_listen(commit->sock, NFNLGRP_NFTABLES, err)) {
		kg_commit_close(commit);
		return -1;
	}
	*ret = commit;
	return 0;
}

void kg_commit_close(struct kg_commit *commit)
{
	if (commit)
		kg_nl_close(&commit->sock);
	free(commit);
}

int kg_commit_fd(const struct kg_commit *commit)
{
	return commit->lost ? -1 : nl_socket_get_fd(commit->sock);
}

static void count_in(struct kg_commit *commit, void *buf, int len)
{
	struct nlmsghdr *m;

	for (m = buf; nlmsg_ok(m, len); m = nlmsg_next(m, &len))
		if (m->nlmsg_type == NEWGEN)
			commit->count++;
}

size_t kg_commit_count(struct kg_commit *commit)
{
	_Alignas(struct nlmsghdr) char buf[32768];
	ssize_t n;

	while (!commit->lost) {
		n = recv(nl_socket_get_fd(commit->sock), buf, sizeof(buf),
			 MSG_DONTWAIT);
		if (n > 0)
			count_in(commit, buf, (int)n);
		else if (n < 0 && errno == EAGAIN)
			break;
		else if (n == 0 || errno != EINTR)
			commit->lost = true;
	}
	return commit->count;
}
