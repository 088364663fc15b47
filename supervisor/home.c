/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/home.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/util.h"

static const char *const system_dirs[] = {
	"/usr",	 "/bin", "/sbin", "/lib*", "/etc",
	"/boot", "/dev", "/proc", "/sys",  "/run",
};

/* Whether the first component of @path is @dir, whose name may end in "*". */
static bool lies_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (dir[len - 1] == '*')
		return strncmp(path, dir, len - 1) == 0;
	return strncmp(path, dir, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0');
}

static bool is_of_system(const char *path)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(system_dirs); i++)
		if (lies_in(path, system_dirs[i]))
			return true;
	return false;
}

/* Real path of a directory that can be a home; NULL if it can't be one. */
static char *find_dir(const char *path, struct stat *st)
{
	kg_auto_free char *real = NULL;

	if (!path || path[0] != '/')
		return NULL;
	real = realpath(path, NULL);
	if (!real || strcmp(real, "/") == 0 || stat(real, st) ||
	    !S_ISDIR(st->st_mode))
		return NULL;
	return kg_take_ptr(real);
}

/*
 * The system's own folders stay visible; a home of the caller's below one of
 * them (/usr/home, /run/user/…) is a home all the same.
 */
static bool is_hidden(const char *dir, const struct stat *st, uid_t uid)
{
	return dir && (!is_of_system(dir) || (uid != 0 && st->st_uid == uid));
}

int kg_home_build(const char *env, const char *passwd, uid_t uid,
		  struct kg_home *ret, struct kg_error *err)
{
	struct kg_home home = { .uid = uid };
	const char *own, *box = KG_HOME_SPARE_DIR;
	bool hides_own;
	struct stat env_st, passwd_st;

	home.env_dir = find_dir(env, &env_st);
	home.passwd_dir = find_dir(passwd, &passwd_st);
	home.hides_env = is_hidden(home.env_dir, &env_st, uid);
	home.hides_passwd = is_hidden(home.passwd_dir, &passwd_st, uid);

	own = home.passwd_dir;
	hides_own = home.hides_passwd;
	if (home.env_dir && env_st.st_uid == uid) {
		own = home.env_dir;
		hides_own = home.hides_env;
	}
	if (hides_own)
		box = own;
	home.box_dir = strdup(box);
	if (!home.box_dir ||
	    (own && asprintf(&home.config_dir, "%s/.kgate", own) < 0)) {
		home.config_dir = NULL;
		(void)kg_fail_system(err, "find the home directory");
		kg_home_done(&home);
		return -1;
	}
	*ret = home;
	return 0;
}

/* NIS entries (+name, -name) are no accounts of this file. */
static bool is_account_of(const struct passwd *pw, uid_t uid)
{
	return pw->pw_uid == uid && pw->pw_name[0] != '+' &&
	       pw->pw_name[0] != '-';
}

static char *read_passwd_file(uid_t uid)
{
	kg_auto_file FILE *f = fopen("/etc/passwd", "re");
	struct passwd pw, *found;
	char buf[4096];

	while (f && fgetpwent_r(f, &pw, buf, sizeof(buf), &found) == 0)
		if (is_account_of(found, uid))
			return strdup(found->pw_dir);
	return NULL;
}

static char *ask_nss(uid_t uid)
{
	const struct passwd *pw = getpwuid(uid);

	return pw ? strdup(pw->pw_dir) : NULL;
}

int kg_home_load(struct kg_home *ret, struct kg_error *err)
{
	kg_auto_free char *passwd = NULL;
	uid_t uid = getuid();

	passwd = read_passwd_file(uid);
	if (!passwd)
		passwd = ask_nss(uid);
	return kg_home_build(getenv("HOME"), passwd, uid, ret, err);
}

void kg_home_done(struct kg_home *home)
{
	free(home->env_dir);
	free(home->passwd_dir);
	free(home->box_dir);
	free(home->config_dir);
	*home = KG_HOME_INIT;
}
