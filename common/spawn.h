/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_SPAWN_H
#define KG_COMMON_SPAWN_H

/*
 * Starting processes: programs of others, and roles of kgate's own.
 *
 * Programs are started by absolute path, found in a fixed list of directories,
 * with an environment that is given whole; nothing of the caller's reaches
 * them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

/* Where bwrap, slirp4netns and iptables are looked for, in this order. */
#define KG_SAFE_PATH \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/**
 * struct kg_child - A process that was started
 * @pid:	Process id, or -1
 * @pidfd:	Its pidfd, or -1; owned
 */
struct kg_child {
	pid_t pid;
	int pidfd;
};

#define KG_CHILD_INIT ((struct kg_child){ .pid = -1, .pidfd = -1 })

/**
 * struct kg_spawn - How to start a program
 * @path:	Absolute path; borrowed
 * @argv:	Arguments, NULL at the end; borrowed
 * @envp:	Whole environment, NULL at the end; borrowed
 * @stdio:	Descriptors that become 0, 1 and 2; -1 for /dev/null; borrowed
 * @pass:	Descriptors that stay open under their number; borrowed
 * @pass_count:	How many
 * @prepare:	Run in the child before exec, may be NULL; -1 aborts
 * @ctx:	For @prepare
 */
struct kg_spawn {
	const char *path;
	char *const *argv;
	char *const *envp;
	int stdio[3];
	const int *pass;
	size_t pass_count;
	int (*prepare)(void *ctx, struct kg_error *err);
	void *ctx;
};

/**
 * kg_spawn_program() - Start a program
 * @spec:	How; borrowed
 * @ret:	Receives the child; release with kg_child_done()
 * @err:	Filled on failure; the message names the path
 *
 * Returns when exec has succeeded or failed.  The child is a session leader of
 * its own, has no blocked signals and default dispositions, and is killed when
 * the caller ends (unless it changes its credentials later).
 *
 * Return: 0, or -1 with KG_E_SYSTEM or what @prepare said
 */
kg_must_check int kg_spawn_program(const struct kg_spawn *spec,
				   struct kg_child *ret, struct kg_error *err);

/**
 * kg_spawn_role() - Fork a process that runs a role's entry function
 * @entry:	Never returns
 * @ctx:	For @entry
 * @ret:	Receives the child; release with kg_child_done()
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_spawn_role(void (*entry)(void *ctx), void *ctx,
				struct kg_child *ret, struct kg_error *err);

/**
 * kg_spawn_find() - Find a program in KG_SAFE_PATH
 * @name:	Name without a slash; borrowed
 * @ret:	Receives the absolute path; release with free()
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_NOENT (nowhere), KG_E_NOEXEC (found, but it can't
 *	be executed), KG_E_SYSTEM
 */
kg_must_check int kg_spawn_find(const char *name, char **ret,
				struct kg_error *err);

/**
 * kg_spawn_adopt() - Become the parent of what one's children leave behind
 * @err:	Filled on failure
 *
 * A process whose parent has died comes to the nearest ancestor that has asked
 * for it, instead of to init.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_spawn_adopt(struct kg_error *err);

/**
 * kg_spawn_end_children() - Kill every child, adopted ones too, and reap them
 * @spare:	Children to leave alone; borrowed
 * @count:	How many
 * @timeout_ms:	Longest wait in milliseconds
 */
void kg_spawn_end_children(const pid_t *spare, size_t count, int timeout_ms);

/**
 * kg_spawn_list_children() - Find the children of this process
 * @ret:	Receives their pids
 * @max:	Room in @ret
 *
 * Return: how many there are, which may be more than @max
 */
size_t kg_spawn_list_children(pid_t *ret, size_t max);

/**
 * kg_child_has_ended() - Look whether a child has ended
 * @child:	Child; borrowed
 *
 * Return: true if it has
 */
bool kg_child_has_ended(const struct kg_child *child);

/**
 * kg_child_wait() - Wait for a child's end and reap it
 * @child:	Child; its pid becomes -1 when it was reaped
 * @timeout_ms:	Longest wait in milliseconds
 *
 * Return: its wait status, or -1 at the time-out
 */
int kg_child_wait(struct kg_child *child, int timeout_ms);

/**
 * kg_child_done() - Kill the child if it is still there, reap it, close pidfd
 * @child:	Child; becomes empty
 */
void kg_child_done(struct kg_child *child);

#endif /* KG_COMMON_SPAWN_H */
