/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/link.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/step.h"
#include "common/util.h"
#include "netns/netplan.h"
#include "tests/unit/ownnet.h"

static struct kg_error err;
static struct kg_link *link_;

static void open_link(void)
{
	kg_ownnet_enter();
	err = KG_ERROR_INIT;
	ck_assert_msg(kg_link_open(&link_, &err) == 0, "%s", err.msg);
}

static void close_link(void)
{
	kg_link_close(link_);
}

static void run_all(const char *const *words, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		kg_ownnet_ip(words[i]);
}

static const char *const whole[] = {
	"link add tap0 type veth peer name wire",
	"addr add 10.0.2.100/24 dev tap0",
	"link set wire up",
	"link set tap0 up",
	"route add default via 10.0.2.2 dev tap0",
};

START_TEST(finds_a_guest_that_stands_already)
{
	int index = 0;

	if (kg_ownnet_lacks("ip"))
		return;
	run_all(whole, KG_ARRAY_LEN(whole));
	ck_assert_msg(kg_link_wait_guest(link_, 2000, &index, &err) == 0, "%s",
		      err.msg);
	ck_assert_int_eq(index, (int)if_nametoindex("tap0"));
}
END_TEST

/* Each line of a table: what is there is nearly, but not quite, the guest. */
START_TEST(isnt_content_with_less)
{
	static const char *const less[][4] = {
		{ NULL },
		{ "link add tap0 type veth peer name wire",
		  "link set tap0 up" },
		{ "link add tap0 type veth peer name wire", "link set tap0 up",
		  "addr add 10.0.2.100/24 dev tap0" },
		{ "link add tap0 type veth peer name wire", "link set tap0 up",
		  "addr add 10.0.2.101/24 dev tap0",
		  "route add default via 10.0.2.2 dev tap0" },
		{ "link add tap1 type veth peer name wire", "link set tap1 up",
		  "addr add 10.0.2.100/24 dev tap1",
		  "route add default via 10.0.2.2 dev tap1" },
		{ "link add tap0 type veth peer name wire", "link set tap0 up",
		  "addr add 10.0.2.100/24 dev tap0",
		  "route add 192.0.2.0/24 via 10.0.2.2 dev tap0" },
		{ "link add tap0 type veth peer name wire",
		  "addr add 10.0.2.100/24 dev tap0" },
	};
	size_t i, n;
	int index = -1;

	if (kg_ownnet_lacks("ip"))
		return;
	for (i = 0; i < KG_ARRAY_LEN(less); i++) {
		for (n = 0; n < 4 && less[i][n]; n++)
			kg_ownnet_ip(less[i][n]);
		ck_assert_int_eq(kg_link_wait_guest(link_, 20, &index, &err),
				 -1);
		ck_assert_int_eq(err.code, KG_E_TIMEOUT);
		ck_assert_int_eq(index, -1);
		if (if_nametoindex("tap0"))
			kg_ownnet_ip("link del tap0");
		if (if_nametoindex("tap1"))
			kg_ownnet_ip("link del tap1");
	}
}
END_TEST

/* So that what follows is heard by a process that waits, and isn't just seen.
 */
static void wait_until_asleep(pid_t pid)
{
	uint64_t end_ns = kg_now_ns() + UINT64_C(5000000000);
	char path[64], state = '?';
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (state != 'S' && kg_now_ns() < end_ns) {
		f = fopen(path, "re");
		if (!f || fscanf(f, "%*d %*s %c", &state) != 1)
			state = '?';
		if (f)
			fclose(f);
		(void)sched_yield();
	}
}

START_TEST(wakes_up_when_the_last_part_arrives)
{
	uint64_t since_ns;
	int index = 0, status = -1;
	pid_t pid, parent = getpid();

	if (kg_ownnet_lacks("ip"))
		return;
	kg_ownnet_ip(whole[0]);
	kg_ownnet_ip("link set tap0 addrgenmode none");
	kg_ownnet_ip("link set wire addrgenmode none");
	run_all(whole + 1, KG_ARRAY_LEN(whole) - 2);
	/* Events of the link's own, which come later, are over then. */
	ck_assert_int_eq(kg_link_wait_guest(link_, 1500, &index, &err), -1);
	since_ns = kg_now_ns();
	pid = fork();
	if (pid == 0) {
		wait_until_asleep(parent);
		kg_ownnet_ip(whole[KG_ARRAY_LEN(whole) - 1]);
		_exit(0);
	}
	ck_assert_msg(kg_link_wait_guest(link_, 10000, &index, &err) == 0, "%s",
		      err.msg);
	ck_assert_uint_lt(kg_now_ns() - since_ns, UINT64_C(5000000000));
	ck_assert_int_gt(index, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* More changes than the socket holds: some are lost, the last one counts. */
START_TEST(survives_more_events_than_fit)
{
	FILE *f = tmpfile();
	char words[64];
	int i, index = 0;

	if (kg_ownnet_lacks("ip"))
		return;
	for (i = 0; i < 3000; i++)
		fprintf(f, "link set lo txqueuelen %d\n", 1000 + i);
	fflush(f);
	(void)snprintf(words, sizeof(words), "-batch /proc/self/fd/%d",
		       fileno(f));
	kg_ownnet_ip(words);
	run_all(whole, KG_ARRAY_LEN(whole));
	ck_assert_msg(kg_link_wait_guest(link_, 2000, &index, &err) == 0, "%s",
		      err.msg);
	fclose(f);
}
END_TEST

static bool shows(const char *command, const char *word)
{
	FILE *f = popen(command, "re");
	bool found = false;
	char line[256];

	while (fgets(line, sizeof(line), f))
		found |= strstr(line, word) != NULL;
	pclose(f);
	return found;
}

START_TEST(gives_the_guest_its_ipv6_side)
{
	uint64_t since_ns;
	bool has = true;
	int index = 0;

	if (kg_ownnet_lacks("ip"))
		return;
	run_all(whole, KG_ARRAY_LEN(whole));
	ck_assert_int_eq(kg_link_wait_guest(link_, 2000, &index, &err), 0);
	ck_assert_int_eq(kg_link_has_ipv6_route(&has, &err), 0);
	ck_assert(!has);

	since_ns = kg_now_ns();
	ck_assert_msg(kg_link_add_ipv6(link_, index, &err) == 0, "%s", err.msg);
	/* Duplicate address detection takes a second. */
	ck_assert_uint_lt(kg_now_ns() - since_ns, UINT64_C(900000000));
	ck_assert(shows("ip -6 addr show dev tap0", "fd00::100/64"));
	ck_assert(shows("ip -6 route", "default via fd00::2 dev tap0"));
	ck_assert_int_eq(kg_link_has_ipv6_route(&has, &err), 0);
	ck_assert(has);
}
END_TEST

/* A packet to the address that isn't taken in yet costs a second. */
static int connect_to_self(void)
{
	struct sockaddr_in6 self = { .sin6_family = AF_INET6,
				     .sin6_port = htons(9) };
	struct pollfd pfd = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0;

	(void)inet_pton(AF_INET6, KG_GUEST_ADDR6, &self.sin6_addr);
	pfd.fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);
	if (connect(pfd.fd, (void *)&self, sizeof(self)) == 0)
		return 0;
	if (errno == EINPROGRESS && poll(&pfd, 1, 500) == 1)
		getsockopt(pfd.fd, SOL_SOCKET, SO_ERROR, &error, &len);
	else
		error = errno;
	close(pfd.fd);
	return error;
}

START_TEST(gives_the_guest_ipv6_that_works_at_once)
{
	int index = 0, i;

	if (kg_ownnet_lacks("ip"))
		return;
	run_all(whole, KG_ARRAY_LEN(whole));
	ck_assert_int_eq(kg_link_wait_guest(link_, 2000, &index, &err), 0);
	for (i = 0; i < 20; i++) {
		ck_assert_msg(kg_link_add_ipv6(link_, index, &err) == 0, "%s",
			      err.msg);
		ck_assert_int_eq(connect_to_self(), ECONNREFUSED);
		kg_ownnet_ip("-6 route del default");
		kg_ownnet_ip("-6 addr del fd00::100/64 dev tap0");
	}
}
END_TEST

START_TEST(takes_an_unreachable_default_for_none)
{
	bool has = true;

	if (kg_ownnet_lacks("ip"))
		return;
	kg_ownnet_ip("-6 route add unreachable default");
	kg_ownnet_ip("link add tap0 type veth peer name wire");
	kg_ownnet_ip("link set tap0 up");
	kg_ownnet_ip("-6 route add 2001:db8::/32 dev tap0");
	ck_assert_int_eq(kg_link_has_ipv6_route(&has, &err), 0);
	ck_assert(!has);
}
END_TEST

START_TEST(says_which_part_of_ipv6_failed)
{
	ck_assert_int_eq(kg_link_add_ipv6(link_, 4711, &err), -1);
	ck_assert_int_eq(err.code, KG_E_NETNS);
	ck_assert_ptr_nonnull(strstr(err.msg, "fd00::100"));
}
END_TEST

Suite *kg_suite(void);

Suite *kg_suite(void)
{
	Suite *s = suite_create("netns/link");
	TCase *tc = tcase_create("link");

	tcase_add_checked_fixture(tc, open_link, close_link);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, finds_a_guest_that_stands_already);
	tcase_add_test(tc, isnt_content_with_less);
	tcase_add_test(tc, wakes_up_when_the_last_part_arrives);
	tcase_add_test(tc, survives_more_events_than_fit);
	tcase_add_test(tc, gives_the_guest_its_ipv6_side);
	tcase_add_test(tc, gives_the_guest_ipv6_that_works_at_once);
	tcase_add_test(tc, takes_an_unreachable_default_for_none);
	tcase_add_test(tc, says_which_part_of_ipv6_failed);
	suite_add_tcase(s, tc);
	return s;
}
