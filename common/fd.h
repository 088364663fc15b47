/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_FD_H
#define KG_COMMON_FD_H

/*
 * Descriptors: what is inherited, what is passed on, what is read whole.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

/* More than a launch passes on. */
#define KG_FD_KEEP_MAX 128

/**
 * kg_fd_open_standard() - Make sure that descriptors 0, 1 and 2 exist
 * @err:	Filled on failure
 *
 * A closed one becomes /dev/null, so that nothing opened later lands on it.
 * The first call of main().
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_fd_open_standard(struct kg_error *err);

/**
 * kg_fd_seal_inherited() - Make every descriptor above 2 close-on-exec
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_fd_seal_inherited(struct kg_error *err);

/**
 * kg_fd_close_others() - Close every descriptor but those named and 0 to 2
 * @keep:	Descriptors to keep; -1 entries are passed over; borrowed
 * @count:	How many, at most KG_FD_KEEP_MAX
 */
void kg_fd_close_others(const int *keep, size_t count);

/**
 * kg_fd_share() - Let a descriptor survive exec
 * @fd:		Descriptor; borrowed
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_fd_share(int fd, struct kg_error *err);

/**
 * kg_fd_from_bytes() - Put bytes behind a descriptor
 * @name:	Name shown in /proc; borrowed
 * @data:	Bytes; borrowed
 * @len:	How many
 * @err:	Filled on failure
 *
 * A sealed memfd, close-on-exec, positioned at its begin.
 *
 * Return: the descriptor, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_fd_from_bytes(const char *name, const void *data,
				   size_t len, struct kg_error *err);

/**
 * kg_fd_write_all() - Write everything, over short writes and EINTR
 * @fd:		Blocking descriptor; borrowed
 * @data:	Bytes; borrowed
 * @len:	How many
 *
 * Return: 0, or -1 with errno set
 */
int kg_fd_write_all(int fd, const void *data, size_t len);

/**
 * kg_fd_read_all() - Read to the end of file
 * @fd:		Blocking descriptor; borrowed
 * @max:	Most bytes that are accepted
 * @ret:	Receives a NUL-terminated buffer; release with free()
 * @ret_len:	Receives the bytes without the terminator
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_LIMIT (more than @max), KG_E_SYSTEM
 */
kg_must_check int kg_fd_read_all(int fd, size_t max, char **ret,
				 size_t *ret_len, struct kg_error *err);

/**
 * kg_fd_is_ready() - Look whether a descriptor has something to read
 * @fd:		Descriptor; borrowed.  A pidfd is readable when its process
 * ended
 *
 * Return: true if a read would not wait, also at end of file
 */
bool kg_fd_is_ready(int fd);

/**
 * kg_fd_wait() - Wait until a descriptor can be read
 * @fd:		Descriptor; borrowed
 * @timeout_ms:	Longest wait in milliseconds
 *
 * Return: true when it is readable, false at the time-out
 */
bool kg_fd_wait(int fd, int timeout_ms);

/**
 * kg_fd_open_pid() - Open a pidfd
 * @pid:	Process
 *
 * Return: the descriptor, close-on-exec, or -1 with errno set
 */
int kg_fd_open_pid(pid_t pid);

/**
 * kg_fd_kill() - Send a signal through a pidfd
 * @pidfd:	pidfd, or -1 to do nothing; borrowed
 * @sig:	Signal
 */
void kg_fd_kill(int pidfd, int sig);

#endif /* KG_COMMON_FD_H */
