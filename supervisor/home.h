/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_HOME_H
#define KG_SUPERVISOR_HOME_H

/*
 * What HOME is for this launch.
 *
 * Two directories may be home: the one that the environment names and the one
 * of the password database.  Both are kept out of the box.  The environment's
 * is the user's choice for the box and for ~/.kgate as long as it is the
 * user's own; else the password database's is.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

/* HOME in the box where no home can be shown at its own path. */
#define KG_HOME_SPARE_DIR "/tmp/home"

/**
 * struct kg_home - Home directories of the caller
 * @uid:		The caller
 * @env_dir:		Real path of $HOME, or NULL if that is unset, relative,
 *			"/", or no directory; owned
 * @passwd_dir:		Real path of the password database's, or NULL, for the
 *			same reasons; owned
 * @box_dir:		What HOME is in the box, never NULL; owned
 * @config_dir:		~/.kgate, which may not exist; NULL if there is no home
 *			to look for it; owned
 * @hides_env:		A tmpfs is to be laid over @env_dir
 * @hides_passwd:	A tmpfs is to be laid over @passwd_dir
 *
 * A home in a system directory that isn't the caller's own (daemon's is
 * /usr/sbin) isn't hidden: the box would lose its programs.
 */
struct kg_home {
	uid_t uid;
	char *env_dir;
	char *passwd_dir;
	char *box_dir;
	char *config_dir;
	bool hides_env;
	bool hides_passwd;
};

#define KG_HOME_INIT ((struct kg_home){ 0 })

/**
 * kg_home_load() - Find the caller's home directories
 * @ret:	Filled on success; release with kg_home_done()
 * @err:	Filled on failure
 *
 * /etc/passwd is read first: asking NSS can mean network traffic.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_home_load(struct kg_home *ret, struct kg_error *err);

/**
 * kg_home_build() - The same from given names
 * @env:	What HOME says, or NULL; borrowed
 * @passwd:	What the password database says, or NULL; borrowed
 * @uid:	The caller
 * @ret:	Filled on success; release with kg_home_done()
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_home_build(const char *env, const char *passwd, uid_t uid,
				struct kg_home *ret, struct kg_error *err);

/**
 * kg_home_done() - Release what a struct kg_home owns
 * @home:	Home; becomes empty
 */
void kg_home_done(struct kg_home *home);

#endif /* KG_SUPERVISOR_HOME_H */
