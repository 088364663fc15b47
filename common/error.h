/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_ERROR_H
#define KG_COMMON_ERROR_H

/*
 * Errors are values.
 *
 * What can fail takes a caller-owned struct kg_error last, returns 0 or -1, and
 * fills the error on failure only.  Nothing here allocates: an error can be
 * raised between fork() and exec(), and one raised in the worker travels to the
 * supervisor as bytes.
 */

#include <stddef.h>
#include <stdint.h>

#define KG_ERROR_MSG_BYTES 480 /* including the terminating NUL */

#define kg_must_check __attribute__((warn_unused_result))

/**
 * enum kg_errc - What went wrong, as far as a caller can act on it
 * @KG_E_USAGE:		The command line is wrong; nothing was started
 * @KG_E_CONFIG:	A policy file is wrong or can't be read
 * @KG_E_POLICY:	The policy refuses this launch
 * @KG_E_BACKEND:	A part that the policy needs is missing or refused
 * @KG_E_AUDIT:		The audit line could not be written
 * @KG_E_LIMIT:		An input is larger than kgate is willing to handle
 * @KG_E_TIMEOUT:	A step missed its deadline
 * @KG_E_PROTOCOL:	The process at the other end broke the frame rules
 * @KG_E_SANDBOX:	bwrap did not start, or ended before the command ran
 * @KG_E_NETNS:		An interface, route, set or rule could not be set up
 * @KG_E_RESOLVE:	A listed host has no address
 * @KG_E_NOEXEC:	The command exists but can't be executed
 * @KG_E_NOENT:		The command doesn't exist, or isn't visible in the box
 * @KG_E_SYSTEM:	A system call failed in a way no caller plans for
 *
 * The order carries no meaning: exit statuses come from a table in error.c.
 */
enum kg_errc {
	KG_E_NONE,
	KG_E_USAGE,
	KG_E_CONFIG,
	KG_E_POLICY,
	KG_E_BACKEND,
	KG_E_AUDIT,
	KG_E_LIMIT,
	KG_E_TIMEOUT,
	KG_E_PROTOCOL,
	KG_E_SANDBOX,
	KG_E_NETNS,
	KG_E_RESOLVE,
	KG_E_NOEXEC,
	KG_E_NOENT,
	KG_E_SYSTEM,

	KG_E_COUNT
};

/**
 * struct kg_error - One failure, flat enough to be sent over a socket
 * @code:	What kind of failure (enum kg_errc); KG_E_NONE while there is
 *		none
 * @errnum:	errno at the point of failure, 0 if no system call was involved
 * @msg:	Sentence fragment for the user: lower case, no newline,
 *		outermost context first ("start the box: open FILE: ...")
 */
struct kg_error {
	uint32_t code;
	int32_t errnum;
	char msg[KG_ERROR_MSG_BYTES];
};

/* Start from this: an error that is sent carries all of its bytes. */
#define KG_ERROR_INIT ((struct kg_error){ 0 })

/**
 * kg_fail() - Record a failure
 * @err:	Error to fill; earlier content is overwritten
 * @code:	Kind of failure, not KG_E_NONE
 * @errnum:	Saved errno, or 0; its text is appended to the message
 * @fmt:	What was being attempted; cut at KG_ERROR_MSG_BYTES, shown by
 * "..."
 *
 * Return: -1, always, so that a failing function ends in "return kg_fail(...)"
 */
int kg_fail(struct kg_error *err, enum kg_errc code, int errnum,
	    const char *fmt, ...)
	__attribute__((format(printf, 4, 5), nonnull(1, 4), cold));

/**
 * kg_fail_while() - Put the caller's view in front of a failure it passes on
 * @err:	Error that a callee has just filled
 * @fmt:	What the caller was doing
 *
 * Return: -1, always
 */
int kg_fail_while(struct kg_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), nonnull(1, 2), cold));

/**
 * kg_fail_system() - Record that a system call failed, from errno
 * @err:	Error to fill; code KG_E_SYSTEM
 * @fmt:	What was being attempted
 *
 * Return: -1, always
 */
int kg_fail_system(struct kg_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), nonnull(1, 2), cold));

/**
 * kg_error_from_peer() - Copy an error out of bytes another process wrote
 * @ret:	Error to fill
 * @bytes:	Exactly sizeof(struct kg_error) bytes, not trusted; borrowed
 *
 * The copy is safe to print: an unknown code becomes KG_E_PROTOCOL, the message
 * is terminated, and bytes outside printable ASCII become '?'.
 */
void kg_error_from_peer(struct kg_error *ret, const void *bytes);

/**
 * kg_error_exit_status() - Exit status kgate reports for a failure of its own
 * @err:	A filled error; borrowed
 *
 * Return: 125, 126 or 127; see EXIT STATUS in README.md
 */
int kg_error_exit_status(const struct kg_error *err);

#endif /* KG_COMMON_ERROR_H */
