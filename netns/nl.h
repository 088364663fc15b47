/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_NL_H
#define KG_NETNS_NL_H

/*
 * Netlink sockets, through libnl.  They stay in the network namespace in which
 * they were opened.
 */

#include "common/error.h"

struct nl_sock; /* libnl's */

/**
 * kg_nl_open() - Open and bind a netlink socket
 * @protocol:	NETLINK_ROUTE or NETLINK_NETFILTER
 * @ret:	Receives the socket, close-on-exec; release with kg_nl_close()
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_NETNS
 */
kg_must_check int kg_nl_open(int protocol, struct nl_sock **ret,
			     struct kg_error *err);

/**
 * kg_nl_listen() - Hear a group, without ever waiting in a read
 * @sock:	Socket; borrowed
 * @group:	Group number
 * @err:	Filled on failure
 *
 * Sequence numbers aren't checked from now on: nobody has asked for what is
 * heard.
 *
 * Return: 0, or -1 with KG_E_NETNS
 */
kg_must_check int kg_nl_listen(struct nl_sock *sock, int group,
			       struct kg_error *err);

/**
 * kg_nl_close() - Close a socket
 * @sock:	Socket; becomes NULL
 */
void kg_nl_close(struct nl_sock **sock);

/**
 * kg_nl_fail() - Turn one of libnl's errors into ours
 * @err:	Error to fill; code KG_E_NETNS
 * @answer:	Negative libnl error
 * @what:	What was being attempted; borrowed
 *
 * Return: -1, always
 */
int kg_nl_fail(struct kg_error *err, int answer, const char *what);

#endif /* KG_NETNS_NL_H */
