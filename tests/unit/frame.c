/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/frame.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/util.h"

Suite *kg_suite(void);

/* A datagram that is larger than any frame. */
static union {
	struct kg_frame frame;
	char bytes[2 * sizeof(struct kg_frame)];
} sent;

static struct kg_frame got;
static struct kg_error err;
static int open_before;

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void start(void)
{
	memset(&sent, 0, sizeof(sent));
	memset(&got, 0xa5, sizeof(got));
	memset(&err, 0, sizeof(err));
	open_before = count_open();
}

static void expect_no_leak(void)
{
	ck_assert_int_eq(count_open(), open_before);
}

#define FROM(role) KG_BIT32(KG_ROLE_##role)

/*
 * Second entry of the books: who may say what, and what may be said once.  A
 * wider rule in frame.c has to be widened here as well.
 */
static const struct {
	uint32_t from;
	bool once;
} reviewed[KG_FRAME_COUNT] = {
	/* clang-format off */
	[KG_FRAME_READY]     = { FROM(GATE) | FROM(RESOLVER) | FROM(ENTRY) |
				 FROM(WORKER), true },
	[KG_FRAME_FAILED]    = { FROM(GATE) | FROM(RESOLVER) | FROM(ENTRY) |
				 FROM(WORKER), true },
	[KG_FRAME_GO]	     = { FROM(SUPERVISOR) | FROM(WORKER), true },
	[KG_FRAME_STARTED]   = { FROM(ENTRY) | FROM(WORKER), true },
	[KG_FRAME_STOPPED]   = { FROM(ENTRY) | FROM(WORKER), false },
	[KG_FRAME_CONTINUED] = { FROM(ENTRY) | FROM(WORKER), false },
	[KG_FRAME_EXITED]    = { FROM(ENTRY) | FROM(WORKER), true },
	[KG_FRAME_SIGNAL]    = { FROM(SUPERVISOR) | FROM(WORKER), false },
	[KG_FRAME_STEP]	     = { FROM(GATE) | FROM(RESOLVER) | FROM(WORKER),
				 false },
	[KG_FRAME_LOST]	     = { FROM(WORKER), false },
	[KG_FRAME_ADDRESS]   = { FROM(RESOLVER), false },
	[KG_FRAME_SYNC]	     = { FROM(RESOLVER), false },
	[KG_FRAME_SYNCED]    = { FROM(GATE), false },
	/* clang-format on */
};

static enum kg_role some_sender(int type)
{
	int role = 0;

	while (!(reviewed[type].from & KG_BIT32(role)))
		role++;
	return (enum kg_role)role;
}

/* As a peer would: the frame in @sent, of its right length. */
static int admit(struct kg_frame_link *link, int type)
{
	sent.frame.type = (uint32_t)type;
	return kg_frame_admit(link, &sent,
			      kg_frame_bytes((enum kg_frame_type)type), &got,
			      &err);
}

START_TEST(hears_each_type_from_its_senders_only)
{
	int type, role;

	for (type = 0; type < KG_FRAME_COUNT; type++)
		for (role = 0; role < KG_ROLE_COUNT; role++) {
			struct kg_frame_link link = {
				.fd = -1, .from = (enum kg_role)role
			};
			bool may = reviewed[type].from & KG_BIT32(role);

			ck_assert_int_eq(admit(&link, type), may ? 0 : -1);
			ck_assert_uint_eq(link.seen, may ? KG_BIT32(type) : 0);
			if (!may)
				ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
		}
}
END_TEST

START_TEST(hears_once_what_is_said_once)
{
	int type;

	for (type = 0; type < KG_FRAME_COUNT; type++) {
		struct kg_frame_link link = { .fd = -1,
					      .from = some_sender(type) };

		ck_assert_int_eq(admit(&link, type), 0);
		ck_assert_int_eq(admit(&link, type),
				 reviewed[type].once ? -1 : 0);
	}
}
END_TEST

START_TEST(refuses_any_other_size)
{
	size_t len;
	int type;

	for (type = 0; type < KG_FRAME_COUNT; type++) {
		struct kg_frame_link link = { .fd = -1,
					      .from = some_sender(type) };

		sent.frame.type = (uint32_t)type;
		for (len = 0; len <= sizeof(sent); len++) {
			if (len == kg_frame_bytes((enum kg_frame_type)type))
				continue;
			ck_assert_int_eq(
				kg_frame_admit(&link, &sent, len, &got, &err),
				-1);
			ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
		}
		ck_assert_uint_eq(link.seen, 0);
	}
	ck_assert_uint_eq(got.type, 0xa5a5a5a5); /* untouched on failure */
}
END_TEST

START_TEST(refuses_unknown_types)
{
	static const uint32_t unknown[] = {
		KG_FRAME_COUNT, 31, 32, 63, 255, 0x80000000, UINT32_MAX
	};
	struct kg_frame_link link = { .fd = -1, .from = KG_ROLE_WORKER };
	size_t i, len;

	for (i = 0; i < KG_ARRAY_LEN(unknown); i++)
		for (len = 8; len <= sizeof(sent.frame); len++) {
			sent.frame.type = unknown[i];
			ck_assert_int_eq(
				kg_frame_admit(&link, &sent, len, &got, &err),
				-1);
			ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
			ck_assert_ptr_nonnull(strstr(err.msg, "unknown type"));
		}
}
END_TEST

START_TEST(refuses_a_step_that_does_not_exist)
{
	struct kg_frame_link link = { .fd = -1, .from = KG_ROLE_WORKER };

	sent.frame.step.step = KG_STEP_COUNT - 1;
	ck_assert_int_eq(admit(&link, KG_FRAME_STEP), 0);
	sent.frame.step.step = KG_STEP_COUNT;
	ck_assert_int_eq(admit(&link, KG_FRAME_STEP), -1);
	ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
}
END_TEST

START_TEST(makes_a_hostile_error_printable)
{
	struct kg_frame_link link = { .fd = -1, .from = KG_ROLE_ENTRY };

	sent.frame.error.code = KG_E_COUNT + 7;
	memset(sent.frame.error.msg, '\033', sizeof(sent.frame.error.msg));

	ck_assert_int_eq(admit(&link, KG_FRAME_FAILED), 0);
	ck_assert_uint_eq(got.error.code, KG_E_PROTOCOL);
	ck_assert_uint_eq(strlen(got.error.msg), KG_ERROR_MSG_BYTES - 1);
	ck_assert_ptr_null(strchr(got.error.msg, '\033'));
}
END_TEST

START_TEST(names_type_and_sender_of_a_wrong_frame)
{
	struct kg_frame_link link = { .fd = -1, .from = KG_ROLE_ENTRY };

	ck_assert_int_eq(admit(&link, KG_FRAME_GO), -1);
	ck_assert_str_eq(err.msg, "GO frame from kgate-entry");
}
END_TEST

START_TEST(makes_a_pair_that_nobody_inherits)
{
	int ends[2], i, flags, type;
	socklen_t len = sizeof(type);

	ck_assert_int_eq(kg_frame_pair(ends, &err), 0);
	for (i = 0; i < 2; i++) {
		flags = fcntl(ends[i], F_GETFL);
		ck_assert(flags & O_NONBLOCK);
		ck_assert(fcntl(ends[i], F_GETFD) & FD_CLOEXEC);
		ck_assert_int_eq(
			getsockopt(ends[i], SOL_SOCKET, SO_TYPE, &type, &len),
			0);
		ck_assert_int_eq(type, SOCK_SEQPACKET);
	}
	close(ends[0]);
	close(ends[1]);
}
END_TEST

static int far;
static struct kg_frame_link near = KG_FRAME_LINK_INIT;

static void connect_to(enum kg_role role)
{
	int ends[2];

	ck_assert_int_eq(kg_frame_pair(ends, &err), 0);
	near = (struct kg_frame_link){ .fd = ends[0], .from = role };
	far = ends[1];
}

static void disconnect(void)
{
	kg_frame_link_done(&near);
	kg_frame_link_done(&near); /* twice is harmless */
	kg_scope_close_(&far);
}

START_TEST(brings_each_type_across_whole)
{
	int type;

	for (type = 0; type < KG_FRAME_COUNT; type++) {
		size_t bytes = kg_frame_bytes((enum kg_frame_type)type);

		connect_to(some_sender(type));
		memset(&sent, 0, sizeof(sent));
		memset(&sent, '!', bytes);
		sent.frame.type = (uint32_t)type;
		if (type == KG_FRAME_STEP)
			sent.frame.step.step = KG_STEP_GO;
		if (type == KG_FRAME_FAILED) {
			sent.frame.error.code = KG_E_NETNS;
			sent.frame.error.msg[KG_ERROR_MSG_BYTES - 1] = '\0';
		}
		ck_assert_int_eq(kg_frame_send(far, &sent.frame, &err), 0);
		ck_assert_int_eq(kg_frame_recv(&near, &got, &err), 1);
		ck_assert_mem_eq(&got, &sent.frame, sizeof(got));
		disconnect();
	}
}
END_TEST

START_TEST(sends_two_numbers)
{
	connect_to(KG_ROLE_SUPERVISOR);
	ck_assert_int_eq(
		kg_frame_send_plain(far, KG_FRAME_SIGNAL, SIGTERM, 1, &err), 0);
	ck_assert_int_eq(kg_frame_recv(&near, &got, &err), 1);
	ck_assert_uint_eq(got.type, KG_FRAME_SIGNAL);
	ck_assert_int_eq(got.value.a, SIGTERM);
	ck_assert_int_eq(got.value.b, 1);
	disconnect();
}
END_TEST

START_TEST(sends_a_step_with_its_time)
{
	uint64_t before_ns = kg_now_ns();

	connect_to(KG_ROLE_GATE);
	kg_frame_send_step(far, KG_STEP_RULES);
	ck_assert_int_eq(kg_frame_recv(&near, &got, &err), 1);
	ck_assert_uint_eq(got.step.step, KG_STEP_RULES);
	ck_assert_uint_ge(got.step.at_ns, before_ns);
	ck_assert_uint_le(got.step.at_ns, kg_now_ns());
	disconnect();
}
END_TEST

START_TEST(sends_a_failure)
{
	struct kg_error why = KG_ERROR_INIT;

	(void)kg_fail(&why, KG_E_NETNS, 0, "no tap0");
	connect_to(KG_ROLE_GATE);
	kg_frame_send_failed(far, &why);
	ck_assert_int_eq(kg_frame_recv(&near, &got, &err), 1);
	ck_assert_uint_eq(got.type, KG_FRAME_FAILED);
	ck_assert_mem_eq(&got.error, &why, sizeof(why));
	disconnect();
}
END_TEST

START_TEST(does_not_wait_for_a_frame)
{
	connect_to(KG_ROLE_GATE);
	ck_assert_int_eq(kg_frame_recv(&near, &got, &err), 0);
	ck_assert_uint_eq(got.type, 0xa5a5a5a5);
	disconnect();
}
END_TEST

START_TEST(tells_the_end_of_the_peer_after_its_last_word)
{
	connect_to(KG_ROLE_GATE);
	ck_assert_int_eq(kg_frame_send_plain(far, KG_FRAME_READY, 0, 0, &err),
			 0);
	kg_scope_close_(&far);
	ck_assert_int_eq(kg_frame_recv(&near, &got, &err), 1);
	ck_assert_int_eq(kg_frame_recv(&near, &got, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SANDBOX);
	ck_assert_str_eq(err.msg, "kgate-gate has ended");
	disconnect();
}
END_TEST

/* Loop test: bytes beyond the largest frame. */
START_TEST(refuses_a_datagram_that_is_too_long)
{
	connect_to(KG_ROLE_GATE);
	sent.frame.type = KG_FRAME_FAILED;
	ck_assert_int_eq(send(far, &sent, sizeof(sent.frame) + (size_t)_i, 0),
			 (ssize_t)sizeof(sent.frame) + _i);
	ck_assert_int_eq(kg_frame_recv(&near, &got, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
	disconnect();
}
END_TEST

START_TEST(survives_a_peer_that_has_gone)
{
	connect_to(KG_ROLE_GATE);
	kg_frame_link_done(&near);
	ck_assert_int_eq(kg_frame_send_plain(far, KG_FRAME_READY, 0, 0, &err),
			 -1);
	ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
	disconnect();
}
END_TEST

START_TEST(gives_up_on_a_peer_that_never_reads)
{
	uint64_t since_ns = kg_now_ns(), gone_ms;
	int n = 0;

	connect_to(KG_ROLE_GATE);
	while (n < 100000 &&
	       kg_frame_send_plain(far, KG_FRAME_READY, n, 0, &err) == 0)
		n++;
	gone_ms = (kg_now_ns() - since_ns) / 1000000;
	ck_assert_int_gt(n, 10);
	ck_assert_int_lt(n, 100000);
	ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
	ck_assert_uint_ge(gone_ms, (unsigned)kg_wait_ms(KG_WAIT_PEER) - 100);
	disconnect();
}
END_TEST

static void want_credentials(void)
{
	int on = 1;

	ck_assert_int_eq(
		setsockopt(near.fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)),
		0);
}

START_TEST(knows_the_sender_by_its_pid)
{
	pid_t pid, seen = 0;
	int status;

	connect_to(KG_ROLE_ENTRY);
	want_credentials();
	pid = fork();
	if (pid == 0)
		_exit(kg_frame_send_plain(far, KG_FRAME_READY, 0, 0, &err) !=
		      0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(kg_frame_recv_cred(&near, &got, &seen, &err), 1);
	ck_assert_int_eq(seen, pid);
	disconnect();
}
END_TEST

START_TEST(takes_no_frame_without_credentials_where_they_count)
{
	pid_t seen = 0;

	connect_to(KG_ROLE_ENTRY);
	ck_assert_int_eq(kg_frame_send_plain(far, KG_FRAME_READY, 0, 0, &err),
			 0);
	ck_assert_int_eq(kg_frame_recv_cred(&near, &got, &seen, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
	ck_assert_int_eq(seen, 0);
	disconnect();
}
END_TEST

static void send_with_descriptor(int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &sent, kg_frame_bytes(KG_FRAME_READY) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	sent.frame.type = KG_FRAME_READY;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	ck_assert_int_gt(sendmsg(far, &msg, 0), 0);
}

/* The fixture counts: what a peer attaches must not stay open here. */
START_TEST(keeps_no_descriptor_that_a_peer_attaches)
{
	connect_to(KG_ROLE_ENTRY);
	send_with_descriptor(0);
	if (kg_frame_recv(&near, &got, &err) < 0)
		ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
	disconnect();
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/frame");
	TCase *tc = tcase_create("admit");

	tcase_add_checked_fixture(tc, start, expect_no_leak);
	tcase_add_test(tc, hears_each_type_from_its_senders_only);
	tcase_add_test(tc, hears_once_what_is_said_once);
	tcase_add_test(tc, refuses_any_other_size);
	tcase_add_test(tc, refuses_unknown_types);
	tcase_add_test(tc, refuses_a_step_that_does_not_exist);
	tcase_add_test(tc, makes_a_hostile_error_printable);
	tcase_add_test(tc, names_type_and_sender_of_a_wrong_frame);
	suite_add_tcase(s, tc);

	tc = tcase_create("socket");
	tcase_add_checked_fixture(tc, start, expect_no_leak);
	tcase_add_test(tc, makes_a_pair_that_nobody_inherits);
	tcase_add_test(tc, brings_each_type_across_whole);
	tcase_add_test(tc, sends_two_numbers);
	tcase_add_test(tc, sends_a_step_with_its_time);
	tcase_add_test(tc, sends_a_failure);
	tcase_add_test(tc, does_not_wait_for_a_frame);
	tcase_add_test(tc, tells_the_end_of_the_peer_after_its_last_word);
	tcase_add_loop_test(tc, refuses_a_datagram_that_is_too_long, 1, 3);
	tcase_add_test(tc, survives_a_peer_that_has_gone);
	tcase_add_test(tc, gives_up_on_a_peer_that_never_reads);
	tcase_add_test(tc, knows_the_sender_by_its_pid);
	tcase_add_test(tc, takes_no_frame_without_credentials_where_they_count);
	tcase_add_test(tc, keeps_no_descriptor_that_a_peer_attaches);
	suite_add_tcase(s, tc);
	return s;
}
