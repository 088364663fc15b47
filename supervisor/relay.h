/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_RELAY_H
#define KG_SUPERVISOR_RELAY_H

/*
 * The command's standard streams.
 *
 * Its descriptors 0 to 2 are always pipes of kgate's own, or the box's
 * /dev/null: what the caller has there can give more than it seems (a
 * directory, a file to reopen for writing, a terminal to type into).
 */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define KG_RELAY_STREAMS 3
#define KG_RELAY_BYTES	 65536

/* Two descriptors a stream may have to be waited for. */
#define KG_RELAY_POLL_FDS (2 * KG_RELAY_STREAMS)

/**
 * struct kg_relay_stream - One direction
 * @from:	Where bytes come from, -1 when that has ended
 * @to:		Where they go, -1 when nobody takes them any more
 * @owns_from:	@from is kgate's own end
 * @owns_to:	@to is kgate's own end
 * @failed:	errno of a write that lost output, 0 if none
 * @start:	First byte in @bytes that is still to be written
 * @end:	One behind the last
 * @bytes:	What was read and isn't written yet
 */
struct kg_relay_stream {
	int from;
	int to;
	bool owns_from;
	bool owns_to;
	int failed;
	size_t start;
	size_t end;
	char bytes[KG_RELAY_BYTES];
};

/**
 * struct kg_relay - All three
 * @null_fds:	Bit N: descriptor N of the command is to be /dev/null, which
 *		kgate-entry opens in the box
 * @streams:	Standard input, output and error
 */
struct kg_relay {
	uint32_t null_fds;
	struct kg_relay_stream streams[KG_RELAY_STREAMS];
};

/**
 * kg_relay_open() - Make the command's ends
 * @ret_box:	Receives descriptors 0 to 2 of the box
 * @err:	Filled on failure
 *
 * Standard error is always a pipe: bwrap's words arrive on it as well.
 *
 * Return: the relay, release with kg_relay_free(), or NULL with KG_E_USAGE
 *	(standard input is a directory), KG_E_SYSTEM
 */
struct kg_relay *kg_relay_open(int ret_box[KG_RELAY_STREAMS],
			       struct kg_error *err);

/**
 * kg_relay_take_words() - Take what has arrived on standard error
 * @relay:	Relay; borrowed
 * @buf:	Buffer to fill, NUL-terminated
 * @len:	Its size in bytes
 *
 * For the time before the command starts: what stands there is bwrap's.
 */
void kg_relay_take_words(struct kg_relay *relay, char *buf, size_t len);

/**
 * kg_relay_prepare() - Say what to wait for
 * @relay:	Relay; borrowed
 * @pfd:	KG_RELAY_POLL_FDS entries to fill
 */
void kg_relay_prepare(const struct kg_relay *relay, struct pollfd *pfd);

/**
 * kg_relay_advance() - Move what can be moved without waiting
 * @relay:	Relay; borrowed
 * @pfd:	As filled by kg_relay_prepare() and poll(); borrowed
 */
void kg_relay_advance(struct kg_relay *relay, const struct pollfd *pfd);

/**
 * kg_relay_drain() - Write out all that the command has left behind
 * @relay:	Relay; borrowed
 * @stop_fd:	What is readable when the user has had enough; borrowed
 * @end_ns:	When to give up (kg_now_ns()), 0 for never
 *
 * For the time after the box has ended.  Waits for the reader as long as that
 * takes, as the command itself would have.
 *
 * Return: true when all is written, false when @stop_fd or @end_ns came first
 */
bool kg_relay_drain(struct kg_relay *relay, int stop_fd, uint64_t end_ns);

/**
 * kg_relay_error() - Whether output was lost
 * @relay:	Relay; borrowed
 * @err:	Filled if so
 *
 * A reader that has closed its end loses nothing: it wanted no more.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_relay_error(const struct kg_relay *relay,
				 struct kg_error *err);

/**
 * kg_relay_free() - Close kgate's own ends
 * @relay:	Relay, or NULL
 */
void kg_relay_free(struct kg_relay *relay);

#endif /* KG_SUPERVISOR_RELAY_H */
