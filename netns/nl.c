/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/nl.h"

#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

int kg_nl_fail(struct kg_error *err, int answer, const char *what)
{
	return kg_fail(err, KG_E_NETNS, 0, "%s: %s", what, nl_geterror(answer));
}

int kg_nl_open(int protocol, struct nl_sock **ret, struct kg_error *err)
{
	struct nl_sock *sock = nl_socket_alloc();
	int rc;

	if (!sock)
		return kg_nl_fail(err, -NLE_NOMEM, "open a netlink socket");
	rc = nl_connect(sock, protocol);
	if (rc < 0) {
		kg_nl_close(&sock);
		return kg_nl_fail(err, rc, "open a netlink socket");
	}
	*ret = sock;
	return 0;
}

int kg_nl_listen(struct nl_sock *sock, int group, struct kg_error *err)
{
	int rc;

	nl_socket_disable_seq_check(sock);
	rc = nl_socket_set_nonblocking(sock);
	if (rc == 0)
		rc = nl_socket_add_membership(sock, group);
	return rc < 0 ? kg_nl_fail(err, rc, "listen on a netlink socket") : 0;
}

void kg_nl_close(struct nl_sock **sock)
{
	if (*sock)
		nl_socket_free(*sock);
	*sock = NULL;
}
