/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_POLICY_H
#define KG_COMMON_POLICY_H

/*
 * The policy of one launch: what the box may see, write and reach.
 *
 * Pure data.  policy_yaml.c fills it from a file, options.c adds the flags;
 * every entry remembers where it came from.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/host.h"

#define KG_POLICY_MAX_HOSTS 20000
#define KG_POLICY_MAX_PATHS 1000

/**
 * enum kg_network - Network mode
 * @KG_NETWORK_OFF:		No network at all
 * @KG_NETWORK_RESTRICTED:	Only listed hosts
 * @KG_NETWORK_OPEN:		The host's network
 */
enum kg_network {
	KG_NETWORK_OFF,
	KG_NETWORK_RESTRICTED,
	KG_NETWORK_OPEN,

	KG_NETWORK_COUNT
};

/**
 * enum kg_origin_kind - What kind of place an entry came from
 * @KG_ORIGIN_DEFAULT:	Built in
 * @KG_ORIGIN_FILE:	A policy file
 * @KG_ORIGIN_FLAG:	The command line
 */
enum kg_origin_kind {
	KG_ORIGIN_DEFAULT,
	KG_ORIGIN_FILE,
	KG_ORIGIN_FLAG,
};

/**
 * struct kg_origin - Where an entry came from
 * @kind:	Kind of place
 * @file:	Path of the file, or name of the flag, or NULL; borrowed from
 *		the policy's file list or from static storage
 * @line:	Line in the file, from 1; 0 if there is none
 * @column:	Column in the file, from 1; 0 if there is none
 */
struct kg_origin {
	enum kg_origin_kind kind;
	const char *file;
	unsigned line;
	unsigned column;
};

/**
 * struct kg_host_entry - One entry of `hosts`
 * @host:	What it stands for
 * @origin:	Where it came from
 */
struct kg_host_entry {
	struct kg_host host;
	struct kg_origin origin;
};

/**
 * struct kg_path_entry - One entry of `paths`
 * @text:	As it was written; owned
 * @real:	Absolute path without symbolic links, NULL until resolved; owned
 * @link:	The same place when its last component is a link: real path of
 *		its folder and the link's name; NULL until resolved; owned
 * @writable:	rw, else ro
 * @origin:	Where it came from
 */
struct kg_path_entry {
	char *text;
	char *real;
	char *link;
	bool writable;
	struct kg_origin origin;
};

/**
 * struct kg_policy - The merged policy
 * @network:		Mode
 * @network_origin:	Where it came from
 * @hosts:		Allowed hosts; owned
 * @host_count:		How many
 * @paths:		Extra paths; owned
 * @path_count:		How many
 * @files:		Paths of the files that made it; owned
 * @file_count:		How many
 */
struct kg_policy {
	enum kg_network network;
	struct kg_origin network_origin;
	struct kg_host_entry *hosts;
	size_t host_count;
	struct kg_path_entry *paths;
	size_t path_count;
	char **files;
	size_t file_count;
};

#define KG_POLICY_INIT ((struct kg_policy){ .network = KG_NETWORK_RESTRICTED })

/**
 * kg_policy_done() - Release everything a policy owns
 * @policy:	Policy; becomes empty
 */
void kg_policy_done(struct kg_policy *policy);

/**
 * kg_policy_add_host() - Append a host
 * @policy:	Policy; borrowed
 * @host:	Host; borrowed, copied
 * @origin:	Where it came from; borrowed, copied
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM, KG_E_LIMIT
 */
kg_must_check int kg_policy_add_host(struct kg_policy *policy,
				     const struct kg_host *host,
				     const struct kg_origin *origin,
				     struct kg_error *err);

/**
 * kg_policy_add_path() - Append a path
 * @policy:	Policy; borrowed
 * @text:	Path as written; borrowed, copied
 * @writable:	rw, else ro
 * @origin:	Where it came from; borrowed, copied
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM, KG_E_LIMIT
 */
kg_must_check int kg_policy_add_path(struct kg_policy *policy, const char *text,
				     bool writable,
				     const struct kg_origin *origin,
				     struct kg_error *err);

/**
 * kg_policy_add_file() - Remember a file that made the policy
 * @policy:	Policy; borrowed
 * @path:	Path; borrowed, copied
 * @err:	Filled on failure
 *
 * Return: the copy, borrowed from @policy, or NULL with KG_E_SYSTEM
 */
const char *kg_policy_add_file(struct kg_policy *policy, const char *path,
			       struct kg_error *err);

/**
 * struct kg_policy_mark - How far a policy was filled
 * @network:		Mode
 * @network_origin:	Where it came from
 * @host_count:		Hosts
 * @path_count:		Paths
 * @file_count:		Files
 */
struct kg_policy_mark {
	enum kg_network network;
	struct kg_origin network_origin;
	size_t host_count;
	size_t path_count;
	size_t file_count;
};

/**
 * kg_policy_mark() - Remember how far a policy was filled
 * @policy:	Policy; borrowed
 *
 * Return: the mark
 */
struct kg_policy_mark kg_policy_mark(const struct kg_policy *policy);

/**
 * kg_policy_rewind() - Drop what was added to a policy behind a mark
 * @policy:	Policy; borrowed
 * @mark:	From kg_policy_mark(); nothing before it was removed since;
 *		borrowed
 */
void kg_policy_rewind(struct kg_policy *policy,
		      const struct kg_policy_mark *mark);

/**
 * kg_policy_has_network_box() - Whether the launch needs gate and resolver
 * @policy:	Policy; borrowed
 *
 * Return: true for restricted with at least one host
 */
bool kg_policy_has_network_box(const struct kg_policy *policy);

/**
 * kg_network_name() - Word for a mode, as in the config
 * @network:	Mode, below KG_NETWORK_COUNT
 *
 * Return: "off", "restricted" or "open"
 */
const char *kg_network_name(enum kg_network network);

/**
 * kg_network_parse() - Mode for a word
 * @word:	Word; borrowed
 * @ret:	Filled on success
 *
 * Return: true if @word is a mode
 */
bool kg_network_parse(const char *word, enum kg_network *ret);

/**
 * kg_origin_print() - Write an origin as a user reads it
 * @origin:	Origin; borrowed
 * @buf:	Buffer to fill
 * @len:	Its size in bytes
 *
 * "default", the name of a flag, or FILE:LINE:COL.
 */
void kg_origin_print(const struct kg_origin *origin, char *buf, size_t len);

#endif /* KG_COMMON_POLICY_H */
