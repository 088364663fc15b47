/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/place.h"

#include <assert.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/scoped.h"
#include "common/util.h"

/*
 * What is refused: directories by pattern of glob(3), themselves or with what
 * lies below them.  The wide rows come first, for the better reason.
 */
static const struct row {
	const char *pattern;
	const char *why;
	bool takes_below;
	bool spares_runtime_dir;
} rows[] = {
	/* clang-format off */
	{ "/proc",	"is the kernel's",		.takes_below = true },
	{ "/sys",	"is the kernel's",		.takes_below = true },
	{ "/dev",	"is the kernel's",		.takes_below = true },
	{ "/boot",	"belongs to the system",	.takes_below = true },
	{ "/etc",	"belongs to the system",	.takes_below = true },
	{ "/run",	"holds sockets of the system",	.takes_below = true,
	  .spares_runtime_dir = true },
	{ "/usr/bin",	"belongs to the system",	.takes_below = true },
	{ "/usr/sbin",	"belongs to the system",	.takes_below = true },
	{ "/usr/lib*",	"belongs to the system",	.takes_below = true },
	{ "/bin",	"belongs to the system",	.takes_below = true },
	{ "/sbin",	"belongs to the system",	.takes_below = true },
	{ "/lib*",	"belongs to the system",	.takes_below = true },
	{ "/",		"is the whole system",		.takes_below = false },
	{ "/usr",	"belongs to the system",	.takes_below = false },
	{ "/usr/*",	"belongs to the system",	.takes_below = false },
	{ "/home",	"holds home directories",	.takes_below = false },
	{ "/root",	"is a home directory",		.takes_below = false },
	{ "/opt",	"many programs share",		.takes_below = false },
	{ "/srv",	"many programs share",		.takes_below = false },
	{ "/tmp",	"many programs share",		.takes_below = false },
	{ "/var",	"many programs share",		.takes_below = false },
	{ "/var/lib",	"many programs share",		.takes_below = false },
	{ "/var/tmp",	"many programs share",		.takes_below = false },
	{ "/mnt",	"holds other file systems",	.takes_below = false },
	{ "/media",	"holds other file systems",	.takes_below = false },
	{ "/nix",	"belongs to the system",	.takes_below = false },
	/* clang-format on */
};

static const struct {
	const char *rule;
	const char *what;
	const char *next;
} uses[] = {
	[KG_PLACE_WORKDIR] = { "working directory", "the working directory",
			       "change to the directory of one project" },
	[KG_PLACE_PATHS] = { "paths", "an entry of paths",
			     "list only what the command needs of it" },
	[KG_PLACE_FLAG] = { "--allow-path", "the path of --allow-path",
			    "name only what the command needs of it" },
};
static_assert(KG_ARRAY_LEN(uses) == KG_PLACE_COUNT, "every use has its words");

struct spot {
	dev_t dev;
	ino_t ino;
};

/* A place and its parents, the place first and "/" last. */
struct trail {
	struct spot *at;
	size_t count;
	bool is_dir;
};

static void free_trail(struct trail *trail)
{
	free(trail->at);
}
#define auto_trail __attribute__((cleanup(free_trail)))

/* One check on its way through the rules. */
struct check {
	enum kg_place_use use;
	const char *path;
	const struct kg_home *home;
	const struct trail *place;
	struct kg_place_rule *ret_rule;
	struct kg_error *err;
};

static struct spot spot_of(const struct stat *st)
{
	return (struct spot){ st->st_dev, st->st_ino };
}

/* Where @spot is on a trail; the trail's length if it isn't. */
static size_t find(const struct trail *trail, struct spot spot)
{
	size_t i;

	for (i = 0; i < trail->count; i++)
		if (trail->at[i].dev == spot.dev &&
		    trail->at[i].ino == spot.ino)
			break;
	return i;
}

static size_t count_parts(const char *real)
{
	size_t n = 1;

	for (; *real; real++)
		n += *real == '/' && real[1];
	return n;
}

/*
 * The parents by name: @path is made free of symbolic links first.  Following
 * ".." would have to guess from an inode where the root is.
 */
static int load_trail(const char *path, struct trail *ret)
{
	kg_auto_free char *real = realpath(path, NULL);
	struct stat st;
	char *slash;

	if (!real)
		return -1;
	ret->at = calloc(count_parts(real), sizeof(*ret->at));
	if (!ret->at)
		return -1;
	for (;;) {
		if (stat(real, &st))
			return -1;
		if (ret->count == 0)
			ret->is_dir = S_ISDIR(st.st_mode);
		ret->at[ret->count++] = spot_of(&st);
		slash = strrchr(real, '/');
		if (!slash || !slash[1])
			return 0;
		*slash = '\0';
		if (slash == real)
			(void)strcpy(real, "/");
	}
}

static int refuse(const struct check *check, const char *rule,
		  const char *reason)
{
	(void)snprintf(check->ret_rule->text, sizeof(check->ret_rule->text),
		       "%s: %s", uses[check->use].rule, rule);
	/* The path stands last: if anything is cut, it is the path. */
	return kg_fail(check->err, KG_E_POLICY, 0,
		       "%s is refused: %s; %s: '%s'", uses[check->use].what,
		       reason, uses[check->use].next, check->path);
}

static int check_home(const struct check *check, const char *dir)
{
	auto_trail struct trail home = { 0 };
	size_t i;

	if (!dir)
		return 0;
	if (load_trail(dir, &home))
		return kg_fail_system(check->err, "look at '%s'", dir);
	i = find(&home, check->place->at[0]);
	if (i == home.count)
		return 0;
	return refuse(check, "the home directory and what holds it",
		      i == 0 ? "it is the home directory"
			     : "it holds the home directory");
}

/*
 * ~/.kgate may be a link to anywhere: what holds its target is refused, too.
 * What can't be reached from here can't be reached by the command.
 */
static int check_config(const struct check *check, const char *dir)
{
	static const char rule[] = "~/.kgate, what it holds and what holds it";
	auto_trail struct trail config = { 0 };
	kg_auto_free char *path = NULL;
	struct stat st;

	if (!dir)
		return 0;
	if (asprintf(&path, "%s/.kgate", dir) < 0)
		return kg_fail_system(check->err, "look for ~/.kgate");
	if (stat(path, &st))
		return 0;
	if (find(check->place, spot_of(&st)) < check->place->count)
		return refuse(check, rule,
			      "it lies in ~/.kgate, where kgate keeps its "
			      "policy and audit log");
	if (load_trail(path, &config))
		return kg_fail_system(check->err, "look at '%s'", path);
	if (find(&config, check->place->at[0]) == config.count)
		return 0;
	return refuse(check, rule,
		      "it holds ~/.kgate, where kgate keeps its policy and "
		      "audit log");
}

/*
 * The caller's runtime directory is full of sockets of the session; only what
 * lies below it can be a project.
 */
static bool is_in_runtime_dir(const struct check *check)
{
	char dir[64];
	struct stat st;
	size_t i;

	(void)snprintf(dir, sizeof(dir), "/run/user/%lu",
		       (unsigned long)check->home->uid);
	if (stat(dir, &st) || st.st_uid != check->home->uid)
		return false;
	i = find(check->place, spot_of(&st));
	return i > 0 && i < check->place->count;
}

static int check_dir(const struct check *check, const struct row *row,
		     const char *dir)
{
	char rule[KG_PLACE_RULE_BYTES], reason[256];
	struct stat st;
	size_t i;

	if (stat(dir, &st))
		return 0;
	i = find(check->place, spot_of(&st));
	if (i == check->place->count || (i > 0 && !row->takes_below))
		return 0;
	if (row->spares_runtime_dir && is_in_runtime_dir(check))
		return 0;
	(void)snprintf(rule, sizeof(rule), "%s%s", row->pattern,
		       row->takes_below ? " and below" : "");
	(void)snprintf(reason, sizeof(reason), "it %s %.128s, which %s",
		       i ? "lies in" : "is", dir, row->why);
	return refuse(check, rule, reason);
}

static int check_row(const struct check *check, const struct row *row)
{
	glob_t found = { 0 };
	int rc = 0;
	size_t i;

	switch (glob(row->pattern, GLOB_NOSORT, NULL, &found)) {
	case 0:
		for (i = 0; i < found.gl_pathc && !rc; i++)
			rc = check_dir(check, row, found.gl_pathv[i]);
		break;
	case GLOB_NOMATCH:
		break;
	default:
		rc = kg_fail(check->err, KG_E_SYSTEM, errno, "look for %s",
			     row->pattern);
	}
	globfree(&found);
	return rc;
}

int kg_place_check(enum kg_place_use use, const char *path,
		   const struct kg_home *home, struct kg_place_rule *ret_rule,
		   struct kg_error *err)
{
	auto_trail struct trail place = { 0 };
	struct check check = { use, path, home, &place, ret_rule, err };
	size_t i;

	ret_rule->text[0] = '\0';
	if (load_trail(path, &place))
		return kg_fail_system(err, "look at '%s'", path);
	if (check_home(&check, home->env_dir) ||
	    check_home(&check, home->passwd_dir) ||
	    check_config(&check, home->env_dir) ||
	    check_config(&check, home->passwd_dir))
		return -1;
	if (use == KG_PLACE_FLAG && !place.is_dir)
		return 0;
	for (i = 0; i < KG_ARRAY_LEN(rows); i++)
		if (check_row(&check, &rows[i]))
			return -1;
	return 0;
}
