/* SPDX-License-Identifier: MIT */
#ifndef KG_TESTS_UNIT_OWNNET_H
#define KG_TESTS_UNIT_OWNNET_H

/*
 * Network namespaces that a test makes for itself, as root and as anybody, with
 * no way out: the box, and an outside with listeners at the other end of tap0.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct kg_ownnet - A box and its outside, both owned by one user namespace
 * @pid:	Process that holds them and answers outside; owned
 * @userns_fd:	User namespace
 * @outside_fd:	Network namespace of the outside
 * @box_fd:	Network namespace of the box, with nothing but loopback
 * @capture_fd:	Hears every packet that arrives outside
 *
 * Outside, 198.51.100.7, .8 and .9, 203.0.113.5, 10.0.2.2, 10.0.2.3, and
 * 2001:db8::7 and ::8 answer on the TCP and UDP ports 53, 80, 443 and 853, UDP
 * by an echo.
 */
struct kg_ownnet {
	pid_t pid;
	int userns_fd;
	int outside_fd;
	int box_fd;
	int capture_fd;
};

/**
 * struct kg_probe - One attempt to reach something
 * @type:	SOCK_STREAM or SOCK_DGRAM
 * @addr:	Address as text; borrowed
 * @port:	Port in host byte order
 * @device:	Interface to bind the socket to, or NULL; borrowed
 * @mark:	Packet mark, or 0
 */
struct kg_probe {
	int type;
	const char *addr;
	uint16_t port;
	const char *device;
	unsigned mark;
};

/**
 * kg_ownnet_lacks() - Whether a test has to be passed over
 * @program:	Name of a program that it needs; borrowed
 *
 * Says why on standard output; fails instead when KG_TESTS_MUST_RUN is 1.
 *
 * Return: true if the program isn't there
 */
bool kg_ownnet_lacks(const char *program);

/**
 * kg_ownnet_enter() - Move this process into namespaces of its own
 *
 * Loopback is up; the process holds every capability in there.
 */
void kg_ownnet_enter(void);

/**
 * kg_ownnet_ip() - Run ip(8) in the namespace of this process
 * @words:	Its arguments, separated by one blank each; borrowed
 */
void kg_ownnet_ip(const char *words);

/**
 * kg_ownnet_open() - Make a box and its outside, without a link between them
 *
 * Return: both; release with kg_ownnet_close()
 */
struct kg_ownnet kg_ownnet_open(void);

/**
 * kg_ownnet_close() - End the holder and close the descriptors
 * @net:	From kg_ownnet_open(); becomes empty
 */
void kg_ownnet_close(struct kg_ownnet *net);

/**
 * kg_ownnet_plug() - Make tap0 in the box, as slirp4netns would leave it
 * @net:	Box and outside; borrowed
 */
void kg_ownnet_plug(const struct kg_ownnet *net);

/**
 * kg_ownnet_in_box() - Run a function in the box, in a process of its own
 * @net:	Box and outside; borrowed
 * @run:	Its result, 0 to 254, is the process's exit status
 * @arg:	For @run
 *
 * Return: what @run returned
 */
int kg_ownnet_in_box(const struct kg_ownnet *net, int (*run)(const void *arg),
		     const void *arg);

/**
 * kg_ownnet_probe() - Try to reach something from the box
 * @net:	Box and outside; borrowed
 * @probe:	What; borrowed
 *
 * Waits three seconds at most.
 *
 * Return: 0 when it answered, ETIMEDOUT when nothing came, or the errno
 */
int kg_ownnet_probe(const struct kg_ownnet *net, const struct kg_probe *probe);

/**
 * kg_ownnet_saw() - Whether packets to an address have arrived outside
 * @net:	Box and outside; borrowed
 * @addr:	Address as text; borrowed
 *
 * Takes what was captured up to now: ask once.
 *
 * Return: how many
 */
int kg_ownnet_saw(const struct kg_ownnet *net, const char *addr);

#endif /* KG_TESTS_UNIT_OWNNET_H */
