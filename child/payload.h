/* SPDX-License-Identifier: MIT */
#ifndef KG_CHILD_PAYLOAD_H
#define KG_CHILD_PAYLOAD_H

/*
 * The command as it travels into the box: arguments, environment and signal
 * state, behind a descriptor, since bwrap refuses more than 9,000 words.
 *
 * Layout: struct kg_payload_head, then the arguments, then the environment,
 * each string with its terminating NUL.  Both ends are the same build.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* More than the kernel takes: execve(2), "Limits on size of arguments". */
#define KG_PAYLOAD_MAX_BYTES (64u << 20)

/**
 * struct kg_payload_head - What stands before the strings
 * @argc:	Number of arguments, above 0
 * @envc:	Number of environment entries
 * @blocked:	Bit N-1: signal N is blocked when the command starts
 * @ignored:	Bit N-1: signal N is ignored when the command starts
 * @project_dev: Device of the working directory as it was checked
 * @project_ino: Its inode; 0 to not compare
 * @null_fds:	Bit N: descriptor N is to be the box's /dev/null
 */
struct kg_payload_head {
	uint32_t argc;
	uint32_t envc;
	uint64_t blocked;
	uint64_t ignored;
	uint64_t project_dev;
	uint64_t project_ino;
	uint64_t null_fds;
};

/**
 * struct kg_payload - The command, read back
 * @head:	Numbers and signal state
 * @argv:	Arguments, NULL at the end; points into @bytes; owned
 * @envp:	Environment, NULL at the end; points into @bytes; owned
 * @bytes:	What was read; owned
 */
struct kg_payload {
	struct kg_payload_head head;
	char **argv;
	char **envp;
	char *bytes;
};

#define KG_PAYLOAD_INIT ((struct kg_payload){ 0 })

/**
 * kg_payload_write() - Put a command behind a descriptor
 * @argv:	Arguments, NULL at the end; borrowed
 * @envp:	Environment, NULL at the end; borrowed
 * @state:	The rest of the head; its numbers are filled in here; borrowed
 * @err:	Filled on failure
 *
 * Return: a sealed descriptor, close-on-exec, or -1 with KG_E_LIMIT,
 * KG_E_SYSTEM
 */
kg_must_check int kg_payload_write(char *const *argv, char *const *envp,
				   const struct kg_payload_head *state,
				   struct kg_error *err);

/**
 * kg_payload_read() - Read a command back
 * @fd:		Descriptor from kg_payload_write(); borrowed
 * @ret:	Filled on success; release with kg_payload_done()
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_PROTOCOL, KG_E_LIMIT, KG_E_SYSTEM
 */
kg_must_check int kg_payload_read(int fd, struct kg_payload *ret,
				  struct kg_error *err);

/**
 * kg_payload_done() - Release what a payload owns
 * @payload:	Payload; becomes empty
 */
void kg_payload_done(struct kg_payload *payload);

#endif /* KG_CHILD_PAYLOAD_H */
