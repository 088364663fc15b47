/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tests/unit/ownnet.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/role.h"
#include "common/scoped.h"
#include "common/spawn.h"
#include "common/util.h"
#include "netns/join.h"

#define ANSWER_MS 3000

static const char *const addresses[] = {
	"198.51.100.7", "198.51.100.8", "198.51.100.9", "203.0.113.5",
	"10.0.2.2",	"10.0.2.3",	"2001:db8::7",	"2001:db8::8",
};
static const uint16_t ports[] = { 53, 80, 443, 853 };

#define SOCKETS (KG_ARRAY_LEN(addresses) * KG_ARRAY_LEN(ports))

/* Check's own assertions are for the process that Check knows. */
static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	_exit(255);
}

bool kg_ownnet_lacks(const char *program)
{
	const char *strict = getenv("KG_TESTS_MUST_RUN");
	kg_auto_free char *path = NULL;
	struct kg_error err = KG_ERROR_INIT;

	if (kg_spawn_find(program, &path, &err) == 0)
		return false;
	ck_assert_msg(!strict || strcmp(strict, "1") != 0, "%s", err.msg);
	printf("# passed over: %s\n", err.msg);
	return true;
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text),
	     path);
	close(fd);
}

static void raise_loopback(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	must(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &ifr) == 0, "lo");
	close(fd);
}

/* Each user keeps the own number, as in kgate's box. */
void kg_ownnet_enter(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	must(unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0, "unshare");
	put("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	put("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	put("/proc/self/gid_map", map);
	raise_loopback();
}

static void exec_ip(char *words)
{
	struct kg_error err = KG_ERROR_INIT;
	char *argv[32] = { (char[]){ "ip" } };
	char *path, *rest;
	size_t n = 1;

	must(kg_spawn_find("ip", &path, &err) == 0, "ip");
	for (rest = strtok(words, " "); rest && n < 31;
	     rest = strtok(NULL, " "))
		argv[n++] = rest;
	must(kg_role_lend(KG_BIT64(CAP_NET_ADMIN), &err) == 0, err.msg);
	execv(path, argv);
	must(false, path);
}

void kg_ownnet_ip(const char *words)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		exec_ip(strdup(words));
		_exit(255);
	}
	waitpid(pid, &status, 0);
	if (status != 0)
		fprintf(stderr, "ip %s\n", words);
	must(status == 0, "ip");
}

static int make_socket(int type, const char *addr, uint16_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	bool is6 = inet_pton(AF_INET6, addr, &in6.sin6_addr) == 1;
	int fd, on = 1;

	fd = socket(is6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0);
	must(fd >= 0, "socket");
	/* The addresses come with the link. */
	must(setsockopt(fd, SOL_IP, IP_FREEBIND, &on, sizeof(on)) == 0, addr);
	inet_pton(AF_INET, addr, &in.sin_addr);
	must(bind(fd, is6 ? (void *)&in6 : (void *)&in,
		  is6 ? sizeof(in6) : sizeof(in)) == 0,
	     addr);
	return fd;
}

static void open_listeners(struct pollfd *echo)
{
	size_t a, p, n = 0;

	for (a = 0; a < KG_ARRAY_LEN(addresses); a++)
		for (p = 0; p < KG_ARRAY_LEN(ports); p++) {
			must(listen(make_socket(SOCK_STREAM, addresses[a],
						ports[p]),
				    16) == 0,
			     "listen");
			echo[n++] = (struct pollfd){
				.fd = make_socket(SOCK_DGRAM, addresses[a],
						  ports[p]),
				.events = POLLIN,
			};
		}
}

static void send_fds(int sock, const int *fds, size_t count)
{
	char control[CMSG_SPACE(8 * sizeof(int))] = { 0 };
	struct iovec iov = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = CMSG_SPACE(count *
							   sizeof(*fds)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(*fds));
	memcpy(CMSG_DATA(c), fds, count * sizeof(*fds));
	must(sendmsg(sock, &msg, 0) == 1, "sendmsg");
}

static void recv_fds(int sock, int *fds, size_t count)
{
	char control[CMSG_SPACE(8 * sizeof(int))], byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };

	ck_assert_int_eq(recvmsg(sock, &msg, MSG_CMSG_CLOEXEC), 1);
	ck_assert_ptr_nonnull(CMSG_FIRSTHDR(&msg));
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), count * sizeof(*fds));
}

static void echo_for_ever(struct pollfd *echo)
{
	struct sockaddr_storage from;
	socklen_t len;
	char buf[512];
	ssize_t n;
	size_t i;

	while (poll(echo, SOCKETS, -1) >= 0)
		for (i = 0; i < SOCKETS; i++) {
			if (!echo[i].revents)
				continue;
			len = sizeof(from);
			n = recvfrom(echo[i].fd, buf, sizeof(buf), 0,
				     (struct sockaddr *)&from, &len);
			if (n >= 0)
				(void)sendto(echo[i].fd, buf, (size_t)n, 0,
					     (struct sockaddr *)&from, len);
		}
}

static void hold(int sock, pid_t parent)
{
	struct pollfd echo[SOCKETS];
	int fds[4];

	kg_ownnet_enter();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	must(getppid() == parent, "parent");
	fds[0] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	fds[1] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	fds[3] = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL));
	must(fds[3] >= 0, "capture");
	open_listeners(echo);
	must(unshare(CLONE_NEWNET) == 0, "unshare");
	raise_loopback();
	fds[2] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	must(setns(fds[1], CLONE_NEWNET) == 0, "setns");
	send_fds(sock, fds, KG_ARRAY_LEN(fds));
	echo_for_ever(echo);
}

struct kg_ownnet kg_ownnet_open(void)
{
	struct kg_ownnet net;
	pid_t parent = getpid();
	int pair[2], fds[4];

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	net.pid = fork();
	if (net.pid == 0) {
		close(pair[0]);
		hold(pair[1], parent);
		_exit(255);
	}
	close(pair[1]);
	recv_fds(pair[0], fds, KG_ARRAY_LEN(fds));
	close(pair[0]);
	net.userns_fd = fds[0];
	net.outside_fd = fds[1];
	net.box_fd = fds[2];
	net.capture_fd = fds[3];
	return net;
}

void kg_ownnet_close(struct kg_ownnet *net)
{
	kg_scope_reap_(&net->pid);
	kg_scope_close_(&net->userns_fd);
	kg_scope_close_(&net->outside_fd);
	kg_scope_close_(&net->box_fd);
	kg_scope_close_(&net->capture_fd);
}

static int run_in(int userns_fd, int netns_fd, int (*run)(const void *arg),
		  const void *arg)
{
	struct kg_error err = KG_ERROR_INIT;
	int status = -1;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		must(kg_join_net(userns_fd, netns_fd, &err) == 0, err.msg);
		_exit(run(arg));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) != 255,
		      "wait status %#x", status);
	return WEXITSTATUS(status);
}

int kg_ownnet_in_box(const struct kg_ownnet *net, int (*run)(const void *arg),
		     const void *arg)
{
	return run_in(net->userns_fd, net->box_fd, run, arg);
}

static int plug_box(const void *arg)
{
	const struct kg_ownnet *net = arg;
	char words[128];

	(void)snprintf(words, sizeof(words),
		       "link add tap0 type veth peer name wire netns %d",
		       (int)net->pid);
	kg_ownnet_ip(words);
	kg_ownnet_ip("addr add 10.0.2.100/24 dev tap0");
	kg_ownnet_ip("link set tap0 up");
	return 0;
}

static int plug_outside(const void *arg)
{
	(void)arg;
	kg_ownnet_ip("addr add 10.0.2.2/24 dev wire");
	kg_ownnet_ip("addr add 10.0.2.3/24 dev wire");
	kg_ownnet_ip("addr add 198.51.100.7/32 dev lo");
	kg_ownnet_ip("addr add 198.51.100.8/32 dev lo");
	kg_ownnet_ip("addr add 198.51.100.9/32 dev lo");
	kg_ownnet_ip("addr add 203.0.113.5/32 dev lo");
	kg_ownnet_ip("addr add fd00::2/64 dev wire nodad");
	kg_ownnet_ip("addr add 2001:db8::7/128 dev lo nodad");
	kg_ownnet_ip("addr add 2001:db8::8/128 dev lo nodad");
	kg_ownnet_ip("link set wire up");
	return 0;
}

static int route_box(const void *arg)
{
	(void)arg;
	kg_ownnet_ip("route add default via 10.0.2.2 dev tap0");
	return 0;
}

void kg_ownnet_plug(const struct kg_ownnet *net)
{
	ck_assert_int_eq(kg_ownnet_in_box(net, plug_box, net), 0);
	ck_assert_int_eq(
		run_in(net->userns_fd, net->outside_fd, plug_outside, NULL), 0);
	ck_assert_int_eq(kg_ownnet_in_box(net, route_box, NULL), 0);
}

static int probe_socket(const struct kg_probe *p, bool is6)
{
	int fd = socket(is6 ? AF_INET6 : AF_INET,
			p->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	must(fd >= 0, "socket");
	if (p->device)
		must(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, p->device,
				(socklen_t)strlen(p->device)) == 0,
		     p->device);
	if (p->mark)
		must(setsockopt(fd, SOL_SOCKET, SO_MARK, &p->mark,
				sizeof(p->mark)) == 0,
		     "mark");
	return fd;
}

/* What the socket has to say by then: an answer, an error, or nothing. */
static int await(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	socklen_t len = sizeof(int);
	int error = 0;

	if (poll(&pfd, 1, ANSWER_MS) <= 0)
		return ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return error;
}

static int probe_from_here(const void *arg)
{
	const struct kg_probe *p = arg;
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(p->port) };
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(p->port) };
	bool is6 = inet_pton(AF_INET6, p->addr, &in6.sin6_addr) == 1;
	int fd = probe_socket(p, is6);

	inet_pton(AF_INET, p->addr, &in.sin_addr);
	if (connect(fd, is6 ? (void *)&in6 : (void *)&in,
		    is6 ? sizeof(in6) : sizeof(in)) &&
	    errno != EINPROGRESS)
		return errno;
	if (p->type == SOCK_STREAM)
		return await(fd, POLLOUT);
	if (send(fd, "hello", 5, 0) != 5)
		return errno;
	return await(fd, POLLIN);
}

int kg_ownnet_probe(const struct kg_ownnet *net, const struct kg_probe *probe)
{
	return kg_ownnet_in_box(net, probe_from_here, probe);
}

static bool is_to(const char *packet, size_t len, const char *addr)
{
	const struct ip6_hdr *six = (const void *)packet;
	const struct ip *four = (const void *)packet;
	struct in6_addr want;

	if (inet_pton(AF_INET6, addr, &want) == 1)
		return len >= sizeof(*six) && six->ip6_vfc >> 4 == 6 &&
		       memcmp(&six->ip6_dst, &want, sizeof(want)) == 0;
	return len >= sizeof(*four) && four->ip_v == 4 &&
	       four->ip_dst.s_addr == inet_addr(addr);
}

int kg_ownnet_saw(const struct kg_ownnet *net, const char *addr)
{
	_Alignas(struct ip6_hdr) char buf[2048];
	struct sockaddr_ll from;
	socklen_t len;
	int count = 0;
	ssize_t n;

	for (;;) {
		len = sizeof(from);
		n = recvfrom(net->capture_fd, buf, sizeof(buf), MSG_DONTWAIT,
			     (struct sockaddr *)&from, &len);
		if (n < 0)
			return count;
		if (from.sll_pkttype != PACKET_OUTGOING)
			count += is_to(buf, (size_t)n, addr);
	}
}
