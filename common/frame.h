/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_FRAME_H
#define KG_COMMON_FRAME_H

/*
 * What two processes may say to each other.
 *
 * One datagram of a SOCK_SEQPACKET pair is one frame.  Each type has one legal
 * size, a set of legal senders and a once-or-many rule, all in one table in
 * frame.c; what arrives is checked once, fully, by kg_frame_admit().  Byte
 * order and layout are the machine's own: both ends are the same build.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/role.h"
#include "common/step.h"

/**
 * enum kg_frame_type - What a frame says
 * @KG_FRAME_READY:	Sender is set up and waits (entry, gate, resolver,
 *		worker)
 * @KG_FRAME_FAILED:	Sender failed and ends; @error says why
 * @KG_FRAME_GO:	Receiver may go on with its last step
 * @KG_FRAME_STARTED:	The command's exec has succeeded
 * @KG_FRAME_STOPPED:	The command stopped; @value.a is the signal
 * @KG_FRAME_CONTINUED:	The command was continued
 * @KG_FRAME_EXITED:	The command ended; @value.a is its wait status
 * @KG_FRAME_SIGNAL:	@value.a signal for the command; @value.b 1: its group
 * @KG_FRAME_STEP:	A step of the launch was reached; @step says when
 * @KG_FRAME_LOST:	A helper ended during the run; @value.a its enum
 *		kg_role, or KG_ROLE_COUNT for slirp4netns
 * @KG_FRAME_ADDRESS:	Resolver asks the gate to open @address
 * @KG_FRAME_SYNC:	@value.a: everything before this frame is to be in force
 * @KG_FRAME_SYNCED:	@value.a: the SYNC of this number is in force
 */
enum kg_frame_type {
	KG_FRAME_READY,
	KG_FRAME_FAILED,
	KG_FRAME_GO,
	KG_FRAME_STARTED,
	KG_FRAME_STOPPED,
	KG_FRAME_CONTINUED,
	KG_FRAME_EXITED,
	KG_FRAME_SIGNAL,
	KG_FRAME_STEP,
	KG_FRAME_LOST,
	KG_FRAME_ADDRESS,
	KG_FRAME_SYNC,
	KG_FRAME_SYNCED,

	KG_FRAME_COUNT
};

/**
 * struct kg_frame_value - Two numbers
 * @a:	First, see enum kg_frame_type
 * @b:	Second, 0 where the type has none
 */
struct kg_frame_value {
	int32_t a;
	int32_t b;
};

/**
 * struct kg_frame_step - A point in time
 * @at_ns:	CLOCK_MONOTONIC in nanoseconds
 * @step:	enum kg_step
 * @pad:	0
 */
struct kg_frame_step {
	uint64_t at_ns;
	uint32_t step;
	uint32_t pad;
};

/**
 * struct kg_frame_address - An address to open in the firewall
 * @family:	AF_INET or AF_INET6
 * @port:	Port in host byte order, 0 for every port but 53 and 853
 * @ttl_s:	Seconds it stays open, 0 for as long as the box lives
 * @addr:	Address in network byte order; 4 bytes used for AF_INET, rest 0
 */
struct kg_frame_address {
	uint16_t family;
	uint16_t port;
	uint32_t ttl_s;
	uint8_t addr[16];
};

/**
 * struct kg_frame - One datagram
 * @type:	enum kg_frame_type
 * @pad:	0
 * @error:	For KG_FRAME_FAILED
 * @value:	For the types that say so
 * @step:	For KG_FRAME_STEP
 * @address:	For KG_FRAME_ADDRESS
 */
struct kg_frame {
	uint32_t type;
	uint32_t pad;
	union {
		struct kg_error error;
		struct kg_frame_value value;
		struct kg_frame_step step;
		struct kg_frame_address address;
	};
};

#define KG_FRAME_INIT ((struct kg_frame){ 0 })

/**
 * struct kg_frame_link - One end of a channel to one other role
 * @fd:		SOCK_SEQPACKET end, or -1; owned
 * @from:	Role at the other end
 * @seen:	Bits of the types that have arrived
 */
struct kg_frame_link {
	int fd;
	enum kg_role from;
	uint32_t seen;
};

#define KG_FRAME_LINK_INIT ((struct kg_frame_link){ .fd = -1 })

/**
 * kg_frame_pair() - Make a channel
 * @ret:	Receives two SOCK_SEQPACKET ends, close-on-exec, non-blocking
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_frame_pair(int ret[2], struct kg_error *err);

/**
 * kg_frame_link_done() - Close the end
 * @link:	Link; its fd becomes -1
 */
void kg_frame_link_done(struct kg_frame_link *link);

/**
 * kg_frame_bytes() - Size of a frame on the wire
 * @type:	Type, below KG_FRAME_COUNT
 *
 * Return: bytes, header included
 */
size_t kg_frame_bytes(enum kg_frame_type type);

/**
 * kg_frame_name() - Name of a frame type in messages
 * @type:	Type, below KG_FRAME_COUNT
 *
 * Return: a word, never NULL
 */
const char *kg_frame_name(enum kg_frame_type type);

/**
 * kg_frame_admit() - Check one datagram and turn it into a frame
 * @link:	Who sent it and what it has sent before; updated on success
 * @buf:	The bytes, not trusted; borrowed
 * @len:	How many
 * @ret:	Filled on success, untouched on failure
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_PROTOCOL
 */
kg_must_check int kg_frame_admit(struct kg_frame_link *link, const void *buf,
				 size_t len, struct kg_frame *ret,
				 struct kg_error *err);

/**
 * kg_frame_send() - Send one frame, whole
 * @fd:		SOCK_SEQPACKET end; borrowed
 * @frame:	Frame; borrowed
 * @err:	Filled on failure
 *
 * Waits at most KG_WAIT_PEER for room.
 *
 * Return: 0, or -1 with KG_E_PROTOCOL if the other end is gone or stuck
 */
kg_must_check int kg_frame_send(int fd, const struct kg_frame *frame,
				struct kg_error *err);

/**
 * kg_frame_send_plain() - Send a frame that is a type and up to two numbers
 * @fd:		SOCK_SEQPACKET end; borrowed
 * @type:	READY, GO, STARTED, STOPPED, CONTINUED, EXITED, SIGNAL, LOST,
 *SYNC or SYNCED
 * @a:		First number, or 0
 * @b:		Second number, or 0
 * @err:	Filled on failure
 *
 * Return: as kg_frame_send()
 */
kg_must_check int kg_frame_send_plain(int fd, enum kg_frame_type type, int a,
				      int b, struct kg_error *err);

/**
 * kg_frame_send_step() - Say that a step was reached, now
 * @fd:		SOCK_SEQPACKET end; borrowed
 * @step:	Step
 *
 * Best effort: a step that can't be told changes nothing.
 */
void kg_frame_send_step(int fd, enum kg_step step);

/**
 * kg_frame_send_failed() - Report a failure, best effort
 * @fd:		SOCK_SEQPACKET end; borrowed
 * @error:	What failed; borrowed
 */
void kg_frame_send_failed(int fd, const struct kg_error *error);

/**
 * kg_frame_recv() - Take one frame without waiting
 * @link:	Link; borrowed
 * @ret:	Filled when a frame was taken
 * @err:	Filled on failure
 *
 * Return: 1 when a frame was taken, 0 when none is there, or -1 with
 *	KG_E_SANDBOX	the other end is closed
 *	KG_E_PROTOCOL	what arrived breaks the rules
 */
kg_must_check int kg_frame_recv(struct kg_frame_link *link,
				struct kg_frame *ret, struct kg_error *err);

/**
 * kg_frame_recv_cred() - As kg_frame_recv(), with the sender's pid
 * @link:	Link whose fd has SO_PASSCRED; borrowed
 * @ret:	Filled when a frame was taken
 * @ret_pid:	Receives the sender's process id as seen from here
 * @err:	Filled on failure
 *
 * Return: as kg_frame_recv(); KG_E_PROTOCOL also when no credentials came
 */
kg_must_check int kg_frame_recv_cred(struct kg_frame_link *link,
				     struct kg_frame *ret, pid_t *ret_pid,
				     struct kg_error *err);

#endif /* KG_COMMON_FRAME_H */
