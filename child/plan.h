/* SPDX-License-Identifier: MIT */
#ifndef KG_CHILD_PLAN_H
#define KG_CHILD_PLAN_H

/*
 * The mount plan: what the box sees, in the order in which it is laid.  A later
 * row covers an earlier one.
 *
 * The plan only reads the host; nothing is created there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/policy.h"

/**
 * enum kg_mount_kind - What a row does
 * @KG_MOUNT_RO_BIND:	The host's @source, read-only
 * @KG_MOUNT_BIND:	The host's @source, read-write
 * @KG_MOUNT_SYMLINK:	A link to the text @source
 * @KG_MOUNT_PROC:	A process file system of the box's own
 * @KG_MOUNT_DEV:	A minimal /dev
 * @KG_MOUNT_TMPFS:	An empty directory, @perms, at most @bytes
 * @KG_MOUNT_DATA:	A read-only file with the text @source
 * @KG_MOUNT_COVER_FILE: An unreadable file over an existing one
 * @KG_MOUNT_COVER_DIR:	An unreadable directory over an existing one
 * @KG_MOUNT_SEAL:	Makes the file system at @target read-only
 */
enum kg_mount_kind {
	KG_MOUNT_RO_BIND,
	KG_MOUNT_BIND,
	KG_MOUNT_SYMLINK,
	KG_MOUNT_PROC,
	KG_MOUNT_DEV,
	KG_MOUNT_TMPFS,
	KG_MOUNT_DATA,
	KG_MOUNT_COVER_FILE,
	KG_MOUNT_COVER_DIR,
	KG_MOUNT_SEAL,

	KG_MOUNT_COUNT
};

/**
 * struct kg_mount - One row
 * @kind:	What it does
 * @source:	Path on the host, link text or file text; owned
 * @target:	Absolute path in the box; owned
 * @perms:	Mode of a tmpfs
 * @bytes:	Size limit of a tmpfs
 */
struct kg_mount {
	enum kg_mount_kind kind;
	char *source;
	char *target;
	unsigned perms;
	size_t bytes;
};

/**
 * struct kg_plan_input - What the plan is built from
 * @policy:		Merged policy, paths resolved; borrowed
 * @root:		Put in front of every path that is looked at on the
 *			host, "" outside of tests; borrowed
 * @project:		Working directory, real path; borrowed
 * @homes:		Directories to hide, real paths, NULL at the end;
 *			borrowed
 * @hostname:		The host's name; borrowed
 * @ipv6:		The box has IPv6
 * @is_root:		The caller is uid 0
 * @tmpfs_bytes:	Size limit of each tmpfs
 */
struct kg_plan_input {
	const struct kg_policy *policy;
	const char *root;
	const char *project;
	const char *const *homes;
	const char *hostname;
	bool ipv6;
	bool is_root;
	size_t tmpfs_bytes;
};

/**
 * struct kg_plan - The rows
 * @mounts:	Rows, in order; owned
 * @count:	How many
 */
struct kg_plan {
	struct kg_mount *mounts;
	size_t count;
};

#define KG_PLAN_INIT ((struct kg_plan){ 0 })

/**
 * kg_plan_build() - Build the mount plan
 * @input:	What it depends on; borrowed
 * @ret:	Filled on success; release with kg_plan_done()
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_POLICY (a path that the box has a file of its own
 *	for), KG_E_LIMIT, KG_E_SYSTEM
 */
kg_must_check int kg_plan_build(const struct kg_plan_input *input,
				struct kg_plan *ret, struct kg_error *err);

/**
 * kg_plan_shows() - Whether the box would see a file of the host
 * @plan:	Plan; borrowed
 * @path:	Real path on the host; borrowed
 *
 * Under whatever name: folders are compared by device and inode.
 *
 * Return: the mount point that shows it, borrowed from @plan, or NULL
 */
const char *kg_plan_shows(const struct kg_plan *plan, const char *path);

/**
 * kg_plan_writes() - Whether the box could write a file of the host
 * @plan:	Plan; borrowed
 * @path:	Real path on the host; borrowed
 *
 * Return: as kg_plan_shows(), of a read-write mount
 */
const char *kg_plan_writes(const struct kg_plan *plan, const char *path);

/**
 * kg_plan_done() - Release what a plan owns
 * @plan:	Plan; becomes empty
 */
void kg_plan_done(struct kg_plan *plan);

#endif /* KG_CHILD_PLAN_H */
