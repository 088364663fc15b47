/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_AUDIT_H
#define KG_SUPERVISOR_AUDIT_H

/*
 * The audit log: one JSON object a line.
 *
 * A line is appended under a lock and by one write, or not at all.  Appending
 * and syncing are two calls, so that what follows may overlap with the disk;
 * the lock isn't held while the disk works.  String values are escaped as
 * common/json.h says.
 */

#include <stdbool.h>

#include "common/error.h"
#include "common/policy.h"
#include "supervisor/home.h"

#define KG_AUDIT_ID_BYTES 33 /* 128 bits in hex and the terminating NUL */

/**
 * enum kg_audit_kind - What a line says
 * @KG_AUDIT_LAUNCH:	A command is about to start
 * @KG_AUDIT_BLOCK:	It wasn't started
 */
enum kg_audit_kind {
	KG_AUDIT_LAUNCH,
	KG_AUDIT_BLOCK,

	KG_AUDIT_KIND_COUNT
};

/**
 * enum kg_audit_stage - What refused or failed
 * @KG_AUDIT_NONE:	Nothing: a launch
 * @KG_AUDIT_POLICY:	The policy refused
 * @KG_AUDIT_BACKEND:	The machine can't enforce the policy
 * @KG_AUDIT_CONFIG:	A policy file is wrong
 * @KG_AUDIT_BOX:	The box could not be made, or was interrupted
 * @KG_AUDIT_EXEC:	The command could not be executed in the box
 */
enum kg_audit_stage {
	KG_AUDIT_NONE,
	KG_AUDIT_POLICY,
	KG_AUDIT_BACKEND,
	KG_AUDIT_CONFIG,
	KG_AUDIT_BOX,
	KG_AUDIT_EXEC,

	KG_AUDIT_STAGE_COUNT
};

/**
 * struct kg_audit_record - What a line is made of
 * @kind:		What it says
 * @stage:		Of a block: what refused or failed
 * @argv:		The command, ended by NULL; borrowed
 * @cwd:		Working directory, or NULL; borrowed
 * @network:		Mode; KG_NETWORK_COUNT when there is no policy
 * @hosts:		Hosts in text form, ended by NULL; borrowed
 * @allow:		The flags that allow more, ended by NULL; borrowed
 * @reason:		Of a block: the message, or NULL; borrowed
 * @rule:		Of a block: the rule, or NULL; borrowed
 * @rule_origin:	Where that rule stands, or NULL; borrowed
 * @policy_sha256:	Of the merged policy, in hex, or NULL; borrowed
 *
 * A NULL in place of a list or text is written as null: not known.
 */
struct kg_audit_record {
	enum kg_audit_kind kind;
	enum kg_audit_stage stage;
	char *const *argv;
	const char *cwd;
	enum kg_network network;
	char *const *hosts;
	char *const *allow;
	const char *reason;
	const char *rule;
	const char *rule_origin;
	const char *policy_sha256;
};

/**
 * struct kg_audit - An open audit log
 * @fd:			The file, or -1; owned
 * @dir_fd:		Its directory, or -1; owned
 * @path:		Its path, for messages; owned
 * @is_new_file:	The directory has yet to be synced
 * @is_new_dir:		The directory above has yet to be synced
 */
struct kg_audit {
	int fd;
	int dir_fd;
	char *path;
	bool is_new_file;
	bool is_new_dir;
};

#define KG_AUDIT_INIT ((struct kg_audit){ .fd = -1, .dir_fd = -1 })

/**
 * kg_audit_id() - Make the id of a launch
 * @ret:	Buffer of KG_AUDIT_ID_BYTES to fill with 128 random bits in hex
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_AUDIT
 */
kg_must_check int kg_audit_id(char *ret, struct kg_error *err);

/**
 * kg_audit_default_path() - Where the audit log is without --audit
 * @home:	Home directories of the caller; borrowed
 * @ret:	Receives the path; release with free()
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_AUDIT (no home)
 */
kg_must_check int kg_audit_default_path(const struct kg_home *home, char **ret,
					struct kg_error *err);

/**
 * kg_audit_open() - Open the audit log of --audit
 * @path:	Absolute path; borrowed
 * @ret:	Filled on success; release with kg_audit_done()
 * @err:	Filled on failure
 *
 * The file is made if need be, its directory isn't.  It must be a regular file
 * of the caller's and no symbolic link; its mode becomes 0600.  Nothing in its
 * place, a FIFO included, makes this wait.
 *
 * Return: 0, or -1 with KG_E_AUDIT
 */
kg_must_check int kg_audit_open(const char *path, struct kg_audit *ret,
				struct kg_error *err);

/**
 * kg_audit_open_default() - Open the audit log of kg_audit_default_path()
 * @path:	Absolute path; borrowed
 * @ret:	Filled on success; release with kg_audit_done()
 * @err:	Filled on failure
 *
 * Like kg_audit_open(), but makes the directory too (0700).
 *
 * Return: 0, or -1 with KG_E_AUDIT
 */
kg_must_check int kg_audit_open_default(const char *path, struct kg_audit *ret,
					struct kg_error *err);

/**
 * kg_audit_append() - Write one line
 * @audit:	Open log; borrowed
 * @id:		Id of the launch; borrowed
 * @record:	What to write; borrowed
 * @err:	Filled on failure, after which the file is as it was
 *
 * Waits for the lock no longer than KG_WAIT_LOCK.  When the last line was torn
 * (its writer was killed), the new one begins on a line of its own.
 *
 * Return: 0, or -1 with KG_E_AUDIT
 */
kg_must_check int kg_audit_append(struct kg_audit *audit, const char *id,
				  const struct kg_audit_record *record,
				  struct kg_error *err);

/**
 * kg_audit_sync() - Have everything that was written on disk
 * @audit:	Open log; borrowed
 * @err:	Filled on failure
 *
 * Includes the file's name, and its directory's, where they were made by this
 * process.  Blocks as long as the disk does.
 *
 * Return: 0, or -1 with KG_E_AUDIT
 */
kg_must_check int kg_audit_sync(struct kg_audit *audit, struct kg_error *err);

/**
 * kg_audit_done() - Close an audit log
 * @audit:	Log, open or not; becomes empty
 */
void kg_audit_done(struct kg_audit *audit);

#endif /* KG_SUPERVISOR_AUDIT_H */
