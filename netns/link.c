/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/link.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include "common/step.h"
#include "common/util.h"
#include "netns/netplan.h"
#include "netns/nl.h"

/*
 * One socket hears that something has changed, the other asks what is.  The
 * notifications' content doesn't matter, so that one that gets lost (ENOBUFS)
 * costs a look and nothing else.
 */
struct kg_link {
	struct nl_sock *events;
	struct nl_sock *ask;
};

int kg_link_open(struct kg_link **ret, struct kg_error *err)
{
	static const int groups[] = { RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR,
				      RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE };
	struct kg_link *link = calloc(1, sizeof(*link));
	size_t i;

	if (!link)
		return kg_fail(err, KG_E_NETNS, errno, "watch the network");
	if (kg_nl_open(NETLINK_ROUTE, &link->events, err) ||
	    kg_nl_open(NETLINK_ROUTE, &link->ask, err)) {
		kg_link_close(link);
		return -1;
	}
	for (i = 0; i < KG_ARRAY_LEN(groups); i++)
		if (kg_nl_listen(link->events, groups[i], err)) {
			kg_link_close(link);
			return -1;
		}
	*ret = link;
	return 0;
}

void kg_link_close(struct kg_link *link)
{
	if (!link)
		return;
	kg_nl_close(&link->events);
	kg_nl_close(&link->ask);
	free(link);
}

static void free_cache(struct nl_cache **cache)
{
	nl_cache_free(*cache);
}
#define auto_cache __attribute__((cleanup(free_cache)))

static void put_addr(struct nl_addr **addr)
{
	nl_addr_put(*addr);
}
#define auto_addr __attribute__((cleanup(put_addr)))

/* Index of the guest's link if it is up, else 0. */
static int find_link(struct kg_link *link, int *ret, struct kg_error *err)
{
	struct rtnl_link *found = NULL;
	int rc;

	*ret = 0;
	rc = rtnl_link_get_kernel(link->ask, 0, KG_GUEST_LINK, &found);
	if (rc == -NLE_OBJ_NOTFOUND || rc == -NLE_NODEV)
		return 0;
	if (rc < 0)
		return kg_nl_fail(err, rc, "look for " KG_GUEST_LINK);
	if (rtnl_link_get_flags(found) & IFF_UP)
		*ret = rtnl_link_get_ifindex(found);
	rtnl_link_put(found);
	return 0;
}

/* nl_addr_cmp() compares prefix lengths too; the address alone counts here. */
static bool is_address(struct nl_addr *addr, struct nl_addr *wanted)
{
	return addr && nl_addr_get_len(addr) == nl_addr_get_len(wanted) &&
	       memcmp(nl_addr_get_binary_addr(addr),
		      nl_addr_get_binary_addr(wanted),
		      nl_addr_get_len(wanted)) == 0;
}

static int has_address(struct kg_link *link, int index, bool *ret,
		       struct kg_error *err)
{
	auto_cache struct nl_cache *cache = NULL;
	auto_addr struct nl_addr *wanted = NULL;
	struct nl_object *obj;
	int rc;

	*ret = false;
	rc = nl_addr_parse(KG_GUEST_ADDR4, AF_INET, &wanted);
	if (rc == 0)
		rc = rtnl_addr_alloc_cache(link->ask, &cache);
	if (rc < 0)
		return kg_nl_fail(err, rc, "list addresses");
	for (obj = nl_cache_get_first(cache); obj && !*ret;
	     obj = nl_cache_get_next(obj)) {
		struct rtnl_addr *a = (struct rtnl_addr *)obj;

		*ret = rtnl_addr_get_ifindex(a) == index &&
		       is_address(rtnl_addr_get_local(a), wanted);
	}
	return 0;
}

/* A usable route for everything; through @index if that isn't 0. */
static bool is_default(struct rtnl_route *route, int index)
{
	struct nl_addr *dst = rtnl_route_get_dst(route);
	struct rtnl_nexthop *hop = rtnl_route_nexthop_n(route, 0);

	return rtnl_route_get_table(route) == RT_TABLE_MAIN &&
	       rtnl_route_get_type(route) == RTN_UNICAST &&
	       (!dst || nl_addr_get_prefixlen(dst) == 0) && hop &&
	       (index == 0 || rtnl_route_nh_get_ifindex(hop) == index);
}

static int has_default_route(struct nl_sock *sock, int family, int index,
			     bool *ret, struct kg_error *err)
{
	auto_cache struct nl_cache *cache = NULL;
	struct nl_object *obj;
	int rc;

	*ret = false;
	rc = rtnl_route_alloc_cache(sock, family, 0, &cache);
	if (rc < 0)
		return kg_nl_fail(err, rc, "list routes");
	for (obj = nl_cache_get_first(cache); obj && !*ret;
	     obj = nl_cache_get_next(obj))
		*ret = is_default((struct rtnl_route *)obj, index);
	return 0;
}

/**
 * struct view - What was seen at one look
 * @index:	Index of the link, once it is up
 * @stands:	What is waited for is there
 */
struct view {
	int index;
	bool stands;
};

static int look_for_guest(struct kg_link *link, struct view *view,
			  struct kg_error *err)
{
	view->stands = false;
	if (find_link(link, &view->index, err))
		return -1;
	if (view->index == 0)
		return 0;
	if (has_address(link, view->index, &view->stands, err))
		return -1;
	if (!view->stands)
		return 0;
	return has_default_route(link->ask, AF_INET, view->index, &view->stands,
				 err);
}

/*
 * The kernel takes a new IPv6 address for its own only when it has made this
 * route, in a worker of its own and later than it has answered.
 */
static int look_for_ipv6(struct kg_link *link, struct view *view,
			 struct kg_error *err)
{
	auto_cache struct nl_cache *cache = NULL;
	auto_addr struct nl_addr *wanted = NULL;
	struct nl_object *obj;
	int rc;

	view->stands = false;
	rc = nl_addr_parse(KG_GUEST_ADDR6, AF_INET6, &wanted);
	if (rc == 0)
		rc = rtnl_route_alloc_cache(link->ask, AF_INET6, 0, &cache);
	if (rc < 0)
		return kg_nl_fail(err, rc, "list routes");
	for (obj = nl_cache_get_first(cache); obj && !view->stands;
	     obj = nl_cache_get_next(obj)) {
		struct rtnl_route *route = (struct rtnl_route *)obj;

		view->stands = rtnl_route_get_type(route) == RTN_LOCAL &&
			       is_address(rtnl_route_get_dst(route), wanted);
	}
	return 0;
}

/* What was heard up to now is covered by the look that follows. */
static void forget_events(struct kg_link *link)
{
	char buf[16384];
	ssize_t n;

	do
		n = recv(nl_socket_get_fd(link->events), buf, sizeof(buf),
			 MSG_DONTWAIT);
	while (n >= 0 || errno == EINTR || errno == ENOBUFS);
}

static int ms_left(uint64_t end_ns)
{
	uint64_t now_ns = kg_now_ns();

	return now_ns >= end_ns ? 0
				: (int)((end_ns - now_ns + 999999) / 1000000);
}

static int wait_until(struct kg_link *link, int timeout_ms,
		      int (*look)(struct kg_link *, struct view *,
				  struct kg_error *),
		      struct view *view, struct kg_error *err)
{
	uint64_t end_ns = kg_now_ns() + (uint64_t)timeout_ms * 1000000;
	struct pollfd pfd = { .fd = nl_socket_get_fd(link->events),
			      .events = POLLIN };
	int left_ms;

	for (;;) {
		forget_events(link);
		if (look(link, view, err))
			return -1;
		if (view->stands)
			return 0;
		left_ms = ms_left(end_ns);
		if (left_ms == 0)
			return kg_fail(err, KG_E_TIMEOUT, 0,
				       KG_GUEST_LINK " has no address and "
						     "route after %d ms",
				       timeout_ms);
		if (poll(&pfd, 1, left_ms) < 0 && errno != EINTR)
			return kg_fail(err, KG_E_NETNS, errno,
				       "wait for " KG_GUEST_LINK);
	}
}

int kg_link_wait_guest(struct kg_link *link, int timeout_ms, int *ret_index,
		       struct kg_error *err)
{
	struct view view = { 0 };

	if (wait_until(link, timeout_ms, look_for_guest, &view, err))
		return -1;
	*ret_index = view.index;
	return 0;
}

static int add_address(struct nl_sock *sock, int index, struct kg_error *err)
{
	auto_addr struct nl_addr *local = NULL;
	struct rtnl_addr *addr = rtnl_addr_alloc();
	int rc;

	rc = addr ? nl_addr_parse(KG_GUEST_ADDR6 "/64", AF_INET6, &local)
		  : -NLE_NOMEM;
	if (rc == 0)
		rc = rtnl_addr_set_local(addr, local);
	if (rc == 0) {
		rtnl_addr_set_ifindex(addr, index);
		rtnl_addr_set_flags(addr, IFA_F_NODAD);
		rc = rtnl_addr_add(sock, addr, 0);
	}
	if (addr)
		rtnl_addr_put(addr);
	return rc < 0 ? kg_nl_fail(err, rc, "add " KG_GUEST_ADDR6) : 0;
}

static int add_route(struct nl_sock *sock, int index, struct kg_error *err)
{
	auto_addr struct nl_addr *dst = NULL;
	auto_addr struct nl_addr *gateway = NULL;
	struct rtnl_route *route = rtnl_route_alloc();
	struct rtnl_nexthop *hop = rtnl_route_nh_alloc();
	int rc = route && hop ? 0 : -NLE_NOMEM;

	if (rc == 0)
		rc = nl_addr_parse("::/0", AF_INET6, &dst);
	if (rc == 0)
		rc = nl_addr_parse(KG_GUEST_GATEWAY6, AF_INET6, &gateway);
	if (rc == 0)
		rc = rtnl_route_set_dst(route, dst);
	if (rc == 0) {
		rtnl_route_nh_set_ifindex(hop, index);
		rtnl_route_nh_set_gateway(hop, gateway);
		rtnl_route_add_nexthop(route, hop);
		hop = NULL; /* the route's now */
		rtnl_route_set_table(route, RT_TABLE_MAIN);
		rc = rtnl_route_add(sock, route, 0);
	}
	if (hop)
		rtnl_route_nh_free(hop);
	if (route)
		rtnl_route_put(route);
	return rc < 0 ? kg_nl_fail(err, rc, "add the IPv6 default route") : 0;
}

int kg_link_add_ipv6(struct kg_link *link, int index, struct kg_error *err)
{
	struct view view = { 0 };

	if (add_address(link->ask, index, err) ||
	    add_route(link->ask, index, err))
		return -1;
	return wait_until(link, kg_wait_ms(KG_WAIT_LINK), look_for_ipv6, &view,
			  err);
}

int kg_link_has_ipv6_route(bool *ret, struct kg_error *err)
{
	struct nl_sock *sock = NULL;
	int rc;

	if (kg_nl_open(NETLINK_ROUTE, &sock, err))
		return -1;
	rc = has_default_route(sock, AF_INET6, 0, ret, err);
	kg_nl_close(&sock);
	return rc;
}
