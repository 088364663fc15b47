/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/frame.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/util.h"

#define HEADER_BYTES offsetof(struct kg_frame, error)
#define PLAIN_BYTES  (HEADER_BYTES + sizeof(struct kg_frame_value))

#define FROM(role) KG_BIT32(KG_ROLE_##role)
#define HELPERS	   (FROM(GATE) | FROM(RESOLVER) | FROM(ENTRY))

static const struct frame_rule {
	const char *name;
	size_t bytes;
	uint32_t from;
	bool once;
} rules[] = {
	/* clang-format off */
	[KG_FRAME_READY]     = { "READY",     PLAIN_BYTES,
				 HELPERS | FROM(WORKER), .once = true },
	[KG_FRAME_FAILED]    = { "FAILED",
				 HEADER_BYTES + sizeof(struct kg_error),
				 HELPERS | FROM(WORKER), .once = true },
	[KG_FRAME_GO]	     = { "GO",	      PLAIN_BYTES,
				 FROM(SUPERVISOR) | FROM(WORKER),
				 .once = true },
	[KG_FRAME_STARTED]   = { "STARTED",   PLAIN_BYTES,
				 FROM(ENTRY) | FROM(WORKER), .once = true },
	[KG_FRAME_STOPPED]   = { "STOPPED",   PLAIN_BYTES,
				 FROM(ENTRY) | FROM(WORKER), .once = false },
	[KG_FRAME_CONTINUED] = { "CONTINUED", PLAIN_BYTES,
				 FROM(ENTRY) | FROM(WORKER), .once = false },
	[KG_FRAME_EXITED]    = { "EXITED",    PLAIN_BYTES,
				 FROM(ENTRY) | FROM(WORKER), .once = true },
	[KG_FRAME_SIGNAL]    = { "SIGNAL",    PLAIN_BYTES,
				 FROM(SUPERVISOR) | FROM(WORKER),
				 .once = false },
	[KG_FRAME_STEP]	     = { "STEP",
				 HEADER_BYTES + sizeof(struct kg_frame_step),
				 FROM(GATE) | FROM(RESOLVER) | FROM(WORKER),
				 .once = false },
	[KG_FRAME_LOST]	     = { "LOST",      PLAIN_BYTES,
				 FROM(WORKER), .once = false },
	[KG_FRAME_ADDRESS]   = { "ADDRESS",
				 HEADER_BYTES + sizeof(struct kg_frame_address),
				 FROM(RESOLVER), .once = false },
	[KG_FRAME_SYNC]	     = { "SYNC",      PLAIN_BYTES,
				 FROM(RESOLVER), .once = false },
	[KG_FRAME_SYNCED]    = { "SYNCED",    PLAIN_BYTES,
				 FROM(GATE), .once = false },
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(rules) == KG_FRAME_COUNT,
	      "every frame type needs a rule");
static_assert(KG_FRAME_COUNT <= 32, "struct kg_frame_link has 32 bits");

int kg_frame_pair(int ret[2], struct kg_error *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       0, ret))
		return kg_fail_system(err, "make a socket pair");
	return 0;
}

void kg_frame_link_done(struct kg_frame_link *link)
{
	kg_scope_close_(&link->fd);
}

size_t kg_frame_bytes(enum kg_frame_type type)
{
	return rules[type].bytes;
}

const char *kg_frame_name(enum kg_frame_type type)
{
	return rules[type].name;
}

int kg_frame_admit(struct kg_frame_link *link, const void *buf, size_t len,
		   struct kg_frame *ret, struct kg_error *err)
{
	const char *peer = kg_role_spec(link->from)->name;
	const struct frame_rule *rule;
	struct kg_frame frame = KG_FRAME_INIT;

	if (len < HEADER_BYTES || len > sizeof(frame))
		return kg_fail(err, KG_E_PROTOCOL, 0,
			       "frame of %zu bytes from %s", len, peer);

	memcpy(&frame, buf, len);
	if (frame.type >= KG_FRAME_COUNT)
		return kg_fail(err, KG_E_PROTOCOL, 0,
			       "frame of unknown type %u from %s",
			       (unsigned)frame.type, peer);

	rule = &rules[frame.type];
	if (len != rule->bytes)
		return kg_fail(err, KG_E_PROTOCOL, 0, "%s frame of %zu bytes",
			       rule->name, len);
	if (!(rule->from & KG_BIT32(link->from)))
		return kg_fail(err, KG_E_PROTOCOL, 0, "%s frame from %s",
			       rule->name, peer);
	if (rule->once && (link->seen & KG_BIT32(frame.type)))
		return kg_fail(err, KG_E_PROTOCOL, 0, "second %s frame from %s",
			       rule->name, peer);
	if (frame.type == KG_FRAME_STEP && frame.step.step >= KG_STEP_COUNT)
		return kg_fail(err, KG_E_PROTOCOL, 0, "unknown step from %s",
			       peer);
	if (frame.type == KG_FRAME_FAILED)
		kg_error_from_peer(&frame.error,
				   (const char *)buf + HEADER_BYTES);

	link->seen |= KG_BIT32(frame.type);
	*ret = frame;
	return 0;
}

/* A peer that reads nothing for that long is as good as gone. */
static int wait_for_room(int fd, uint64_t since_ns)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	return poll(&pfd, 1, kg_deadline_ms(since_ns, KG_WAIT_PEER));
}

int kg_frame_send(int fd, const struct kg_frame *frame, struct kg_error *err)
{
	size_t bytes = kg_frame_bytes((enum kg_frame_type)frame->type);
	uint64_t since_ns = kg_now_ns();
	ssize_t n;

	for (;;) {
		n = send(fd, frame, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == (ssize_t)bytes)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n >= 0 || errno != EAGAIN ||
		    wait_for_room(fd, since_ns) == 0)
			return kg_fail(
				err, KG_E_PROTOCOL, n < 0 ? errno : 0,
				"send a %s frame",
				kg_frame_name((enum kg_frame_type)frame->type));
	}
}

int kg_frame_send_plain(int fd, enum kg_frame_type type, int a, int b,
			struct kg_error *err)
{
	struct kg_frame frame = KG_FRAME_INIT;

	frame.type = type;
	frame.value.a = a;
	frame.value.b = b;
	return kg_frame_send(fd, &frame, err);
}

void kg_frame_send_step(int fd, enum kg_step step)
{
	struct kg_frame frame = KG_FRAME_INIT;
	struct kg_error ignored = KG_ERROR_INIT;

	frame.type = KG_FRAME_STEP;
	frame.step.step = step;
	frame.step.at_ns = kg_now_ns();
	if (kg_frame_send(fd, &frame, &ignored))
		return;
}

void kg_frame_send_failed(int fd, const struct kg_error *error)
{
	struct kg_frame frame = KG_FRAME_INIT;
	struct kg_error ignored = KG_ERROR_INIT;

	frame.type = KG_FRAME_FAILED;
	frame.error = *error;
	if (kg_frame_send(fd, &frame, &ignored))
		return;
}

/* One byte more than any frame, so that a cut datagram can't look legal. */
struct datagram {
	char bytes[sizeof(struct kg_frame) + 1];
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
	size_t len;
	pid_t pid;
};

/* No frame carries descriptors: what a peer attaches is closed again. */
static void close_attached(const struct cmsghdr *c)
{
	size_t i, count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (i = 0; i < count; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		(void)close(fd);
	}
}

/* The sender's pid, 0 if the kernel didn't say. */
static pid_t read_control(struct msghdr *msg)
{
	struct cmsghdr *c;
	struct ucred cred;
	pid_t pid = 0;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS) {
			close_attached(c);
		} else if (c->cmsg_type == SCM_CREDENTIALS &&
			   c->cmsg_len == CMSG_LEN(sizeof(cred))) {
			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			pid = cred.pid;
		}
	}
	return pid;
}

static int take(int fd, struct datagram *d)
{
	struct iovec iov = { .iov_base = d->bytes,
			     .iov_len = sizeof(d->bytes) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = d->control,
			      .msg_controllen = sizeof(d->control) };
	ssize_t n;

	do
		n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	if (n == 0)
		return -1;
	d->len = (size_t)n;
	d->pid = read_control(&msg);
	return 1;
}

static int recv_datagram(struct kg_frame_link *link, struct datagram *d,
			 struct kg_frame *ret, struct kg_error *err)
{
	int rc = take(link->fd, d);

	if (rc < 0)
		return kg_fail(err, KG_E_SANDBOX, 0, "%s has ended",
			       kg_role_spec(link->from)->name);
	if (rc == 0)
		return 0;
	return kg_frame_admit(link, d->bytes, d->len, ret, err) ? -1 : 1;
}

int kg_frame_recv(struct kg_frame_link *link, struct kg_frame *ret,
		  struct kg_error *err)
{
	struct datagram d;

	return recv_datagram(link, &d, ret, err);
}

int kg_frame_recv_cred(struct kg_frame_link *link, struct kg_frame *ret,
		       pid_t *ret_pid, struct kg_error *err)
{
	struct datagram d;
	int rc = recv_datagram(link, &d, ret, err);

	if (rc != 1)
		return rc;
	if (d.pid <= 0)
		return kg_fail(err, KG_E_PROTOCOL, 0,
			       "no credentials with a %s frame",
			       kg_frame_name((enum kg_frame_type)ret->type));
	*ret_pid = d.pid;
	return 1;
}
