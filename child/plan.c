/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child/boxfiles.h"
#include "common/fd.h"
#include "common/scoped.h"
#include "common/util.h"

/* More links in a row than any sane /etc/resolv.conf is behind. */
#define MAX_LINKS 16

/* A resolv.conf of the host is copied into an open box; this is generous. */
#define MAX_RESOLV_BYTES 65536

/* Row 1: the system, where present.  Links stay links. */
static const char *const system_paths[] = {
	"/usr",
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/etc",
	"/opt",
	"/nix",
	"/gnu",
	"/var/lib/texmf",
	"/var/lib/ca-certificates",
	"/var/cache/fontconfig",
};

/* As row 1, but below a directory that row 2 empties. */
static const char *const system_paths_in_run[] = {
	"/run/current-system",
	"/run/opengl-driver",
};

/* Secrets in row 1 that root, without capabilities, could read as their owner.
 */
static const char *const secrets[] = {
	"/etc/shadow",	    "/etc/shadow-",
	"/etc/gshadow",	    "/etc/gshadow-",
	"/etc/sudoers",	    "/etc/sudoers.d",
	"/etc/ssl/private", "/etc/ssh/ssh_host_*_key",
	"/etc/krb5.keytab", "/etc/security/opasswd",
};

/* Row 2: private and empty.  Homes are added to these, /run is sealed by none.
 */
static const struct {
	const char *target;
	unsigned perms;
} private_dirs[] = {
	{ "/dev/shm", 01777 },
	{ "/run", 0755 },
	{ "/tmp", 01777 },
	{ "/var/tmp", 01777 },
};

/*
 * What bwrap's /proc would let uid 0 change on the host.  Every caller gets the
 * first; the others are root's alone to write.
 */
static const struct {
	const char *path;
	bool root_only;
} proc_knobs[] = {
	{ "/proc/sys", false },	    { "/proc/irq", true },
	{ "/proc/bus", true },	    { "/proc/sysrq-trigger", true },
	{ "/proc/mtrr", true },	    { "/proc/acpi", true },
	{ "/proc/asound", true },   { "/proc/dynamic_debug", true },
	{ "/proc/fs", true },	    { "/proc/latency_stats", true },
	{ "/proc/pressure", true }, { "/proc/scsi", true },
};

struct builder {
	const struct kg_plan_input *in;
	struct kg_plan plan;
};

static struct kg_mount *add(struct builder *b, enum kg_mount_kind kind,
			    const char *source, const char *target,
			    struct kg_error *err)
{
	struct kg_mount *grown, *row;

	grown = reallocarray(b->plan.mounts, b->plan.count + 1, sizeof(*grown));
	if (!grown)
		goto failed;
	b->plan.mounts = grown;
	row = &grown[b->plan.count];
	*row = (struct kg_mount){ .kind = kind };
	row->target = strdup(target);
	row->source = source ? strdup(source) : NULL;
	b->plan.count++;
	if (row->target && (!source || row->source))
		return row;
failed:
	(void)kg_fail(err, KG_E_SYSTEM, ENOMEM, "build the mount plan");
	return NULL;
}

static int add_tmpfs(struct builder *b, const char *target, unsigned perms,
		     struct kg_error *err)
{
	struct kg_mount *row = add(b, KG_MOUNT_TMPFS, NULL, target, err);

	if (!row)
		return -1;
	row->perms = perms;
	row->bytes = b->in->tmpfs_bytes;
	return 0;
}

static int look(struct builder *b, const char *path, struct stat *ret)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s%s", b->in->root, path) >=
	    (int)sizeof(full))
		return -1;
	return lstat(full, ret);
}

static ssize_t read_link(struct builder *b, const char *path, char *buf,
			 size_t len)
{
	char full[PATH_MAX];
	ssize_t n;

	if (snprintf(full, sizeof(full), "%s%s", b->in->root, path) >=
	    (int)sizeof(full))
		return -1;
	n = readlink(full, buf, len - 1);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

static int add_system(struct builder *b, const char *const *paths, size_t count,
		      struct kg_error *err)
{
	char link[PATH_MAX];
	struct stat st;
	size_t i;

	for (i = 0; i < count; i++) {
		if (look(b, paths[i], &st))
			continue;
		if (S_ISLNK(st.st_mode)) {
			if (read_link(b, paths[i], link, sizeof(link)) < 0 ||
			    !add(b, KG_MOUNT_SYMLINK, link, paths[i], err))
				return -1;
		} else if (S_ISDIR(st.st_mode)) {
			if (!add(b, KG_MOUNT_RO_BIND, paths[i], paths[i], err))
				return -1;
		}
	}
	return 0;
}

static int lay_system(struct builder *b, struct kg_error *err)
{
	return add_system(b, system_paths, KG_ARRAY_LEN(system_paths), err);
}

static int lay_proc(struct builder *b, struct kg_error *err)
{
	struct stat st;
	size_t i;

	if (!add(b, KG_MOUNT_PROC, NULL, "/proc", err))
		return -1;
	for (i = 0; i < KG_ARRAY_LEN(proc_knobs); i++) {
		const char *path = proc_knobs[i].path;

		if (proc_knobs[i].root_only &&
		    (!b->in->is_root || look(b, path, &st)))
			continue;
		if (!add(b, KG_MOUNT_RO_BIND, path, path, err))
			return -1;
	}
	return 0;
}

static int lay_dev(struct builder *b, struct kg_error *err)
{
	return add(b, KG_MOUNT_DEV, NULL, "/dev", err) ? 0 : -1;
}

static int lay_private(struct builder *b, struct kg_error *err)
{
	const char *const *home;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(private_dirs); i++)
		if (add_tmpfs(b, private_dirs[i].target, private_dirs[i].perms,
			      err))
			return -1;
	/* Parents come before what lies in them: homes are sorted. */
	for (home = b->in->homes; *home; home++)
		if (add_tmpfs(b, *home, 0700, err))
			return -1;
	return add_system(b, system_paths_in_run,
			  KG_ARRAY_LEN(system_paths_in_run), err);
}

/*
 * A mount can't be laid over a link: follow it to the path where the file is,
 * or would be, in the box.
 */
static int follow(struct builder *b, const char *path, char ret[PATH_MAX])
{
	char link[PATH_MAX], dir[PATH_MAX];
	struct stat st;
	char *slash;
	int i;

	(void)snprintf(ret, PATH_MAX, "%s", path);
	for (i = 0; i < MAX_LINKS; i++) {
		if (look(b, ret, &st) || !S_ISLNK(st.st_mode))
			return 0;
		if (read_link(b, ret, link, sizeof(link)) < 0)
			return -1;
		(void)snprintf(dir, sizeof(dir), "%s", ret);
		slash = strrchr(dir, '/');
		*slash = '\0';
		if (snprintf(ret, PATH_MAX, "%s%s%s", link[0] == '/' ? "" : dir,
			     link[0] == '/' ? "" : "/", link) >= PATH_MAX)
			return -1;
	}
	return -1;
}

/* "/etc/../run/x" names a mount point only after it is "/run/x". */
static void fold_dots(char *path)
{
	char *in = path, *out = path, *end;
	size_t len;

	while (*in) {
		while (*in == '/')
			in++;
		end = strchrnul(in, '/');
		len = (size_t)(end - in);
		if (len == 2 && memcmp(in, "..", 2) == 0) {
			while (out > path && *--out != '/')
				;
		} else if (len && !(len == 1 && *in == '.')) {
			*out++ = '/';
			memmove(out, in, len);
			out += len;
		}
		in = end;
	}
	*out = '\0';
}

/* A secret that is a link: what it leads to. */
static int cover(struct builder *b, const char *path, struct kg_error *err)
{
	enum kg_mount_kind kind = KG_MOUNT_COVER_FILE;
	char target[PATH_MAX];
	struct stat st;

	if (follow(b, path, target))
		return kg_fail(err, KG_E_SYSTEM, ELOOP, "follow %s", path);
	fold_dots(target);
	if (look(b, target, &st))
		return 0;
	if (S_ISDIR(st.st_mode))
		kind = KG_MOUNT_COVER_DIR;
	return add(b, kind, NULL, target, err) ? 0 : -1;
}

/* Whoever isn't root can't read these outside either. */
static int lay_secret_covers(struct builder *b, struct kg_error *err)
{
	size_t skip = strlen(b->in->root), i, j;
	char pattern[PATH_MAX];
	glob_t found;
	int rc;

	for (i = 0; b->in->is_root && i < KG_ARRAY_LEN(secrets); i++) {
		if (snprintf(pattern, sizeof(pattern), "%s%s", b->in->root,
			     secrets[i]) >= (int)sizeof(pattern))
			return kg_fail(err, KG_E_LIMIT, 0, "%s is too long",
				       pattern);
		rc = glob(pattern, 0, NULL, &found);
		if (rc == GLOB_NOMATCH)
			continue;
		if (rc)
			return kg_fail(err, KG_E_SYSTEM, errno, "look for %s",
				       secrets[i]);
		for (j = 0; rc == 0 && j < found.gl_pathc; j++)
			rc = cover(b, found.gl_pathv[j] + skip, err);
		globfree(&found);
		if (rc)
			return -1;
	}
	return 0;
}

/* Where row 1 shows the host: a file can be laid on an existing one only. */
static bool is_in_system(const char *path)
{
	size_t i, len;

	for (i = 0; i < KG_ARRAY_LEN(system_paths); i++) {
		len = strlen(system_paths[i]);
		if (strncmp(path, system_paths[i], len) == 0 &&
		    path[len] == '/')
			return true;
	}
	return false;
}

static int lay_data(struct builder *b, const char *text, const char *path,
		    struct kg_error *err)
{
	char target[PATH_MAX];
	struct stat st;

	if (follow(b, path, target))
		return 0;
	fold_dots(target);
	if (is_in_system(target) && look(b, target, &st))
		return 0;
	return add(b, KG_MOUNT_DATA, text, target, err) ? 0 : -1;
}

/* An open box asks whom the host asks, wherever the host keeps that file. */
static int lay_host_resolv(struct builder *b, struct kg_error *err)
{
	kg_auto_free char *text = NULL;
	kg_auto_close int fd = -1;
	char path[PATH_MAX];
	size_t len;

	if (snprintf(path, sizeof(path), "%s/etc/resolv.conf", b->in->root) >=
	    (int)sizeof(path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (kg_fd_read_all(fd, MAX_RESOLV_BYTES, &text, &len, err))
		return kg_fail_while(err, "copy /etc/resolv.conf");
	return lay_data(b, text, "/etc/resolv.conf", err);
}

static int lay_boxfiles(struct builder *b, struct kg_error *err)
{
	bool network_box = kg_policy_has_network_box(b->in->policy);
	kg_auto_free char *hosts = NULL;

	if (!add(b, KG_MOUNT_DATA, kg_boxfiles_marker(), KG_BOX_MARKER, err))
		return -1;
	if (b->in->policy->network == KG_NETWORK_OPEN)
		return lay_host_resolv(b, err);
	if (kg_boxfiles_hosts(b->in->hostname, &hosts, err) ||
	    lay_data(b, hosts, "/etc/hosts", err))
		return -1;
	return lay_data(b, kg_boxfiles_resolv(network_box, b->in->ipv6),
			"/etc/resolv.conf", err);
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

static int by_real_path(const void *a, const void *b)
{
	const struct kg_path_entry *const *x = a, *const *y = b;

	return strcmp((*x)->real, (*y)->real);
}

static bool is_own_file(const struct builder *b, const char *path)
{
	size_t i;

	for (i = 0; i < b->plan.count; i++)
		if (b->plan.mounts[i].kind == KG_MOUNT_DATA &&
		    strcmp(b->plan.mounts[i].target, path) == 0)
			return true;
	return false;
}

/*
 * A path that is a link is visible under its own name too: dot files are often
 * links into a repository.
 */
static int lay_path(struct builder *b, const struct kg_path_entry *entry,
		    struct kg_error *err)
{
	enum kg_mount_kind kind = entry->writable ? KG_MOUNT_BIND
						  : KG_MOUNT_RO_BIND;
	char folder[PATH_MAX];

	if (is_own_file(b, entry->real))
		return kg_fail(err, KG_E_POLICY, 0,
			       "'%s': the box has a file of its own there; "
			       "leave it out",
			       entry->text);
	if (!add(b, kind, entry->real, entry->real, err))
		return -1;
	if (!entry->link || strcmp(entry->link, entry->real) == 0)
		return 0;

	/* Where the link's folder is visible, the link itself is there. */
	(void)snprintf(folder, sizeof(folder), "%.*s",
		       (int)(strrchr(entry->link, '/') - entry->link),
		       entry->link);
	if (kg_plan_shows(&b->plan, folder[0] ? folder : "/"))
		return 0;
	return add(b, kind, entry->real, entry->link, err) ? 0 : -1;
}

/* Sorted, so that a folder never covers what is listed inside it. */
static int lay_paths(struct builder *b, bool in_project, struct kg_error *err)
{
	const struct kg_policy *policy = b->in->policy;
	kg_auto_free const struct kg_path_entry **sorted = NULL;
	size_t i;

	sorted = calloc(policy->path_count + 1, sizeof(*sorted));
	if (!sorted)
		return kg_fail_system(err, "build the mount plan");
	for (i = 0; i < policy->path_count; i++)
		sorted[i] = &policy->paths[i];
	qsort(sorted, policy->path_count, sizeof(*sorted), by_real_path);
	for (i = 0; i < policy->path_count; i++)
		if (is_below(sorted[i]->real, b->in->project) == in_project &&
		    lay_path(b, sorted[i], err))
			return -1;
	return 0;
}

static int lay_paths_outside(struct builder *b, struct kg_error *err)
{
	return lay_paths(b, false, err);
}

static int lay_project(struct builder *b, struct kg_error *err)
{
	return add(b, KG_MOUNT_BIND, b->in->project, b->in->project, err) ? 0
									  : -1;
}

static int lay_paths_inside(struct builder *b, struct kg_error *err)
{
	return lay_paths(b, true, err);
}

/* The mount points' own directories, on bwrap's root file system, and /dev. */
static int seal(struct builder *b, struct kg_error *err)
{
	return add(b, KG_MOUNT_SEAL, NULL, "/dev", err) &&
			       add(b, KG_MOUNT_SEAL, NULL, "/", err)
		       ? 0
		       : -1;
}

static int (*const rows[])(struct builder *b, struct kg_error *err) = {
	lay_system,	   lay_secret_covers,
	lay_proc,	   lay_dev,
	lay_private,	   lay_boxfiles,
	lay_paths_outside, lay_project,
	lay_paths_inside,  seal,
};

int kg_plan_build(const struct kg_plan_input *input, struct kg_plan *ret,
		  struct kg_error *err)
{
	struct builder b = { .in = input, .plan = KG_PLAN_INIT };
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++)
		if (rows[i](&b, err)) {
			kg_plan_done(&b.plan);
			return -1;
		}
	*ret = b.plan;
	return 0;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* Whether a later row lies over a path of the box that row @index shows. */
static bool is_covered(const struct kg_plan *plan, size_t index,
		       const char *path)
{
	size_t i;

	for (i = index + 1; i < plan->count; i++)
		if (plan->mounts[i].kind != KG_MOUNT_SEAL &&
		    (strcmp(path, plan->mounts[i].target) == 0 ||
		     is_below(path, plan->mounts[i].target)))
			return true;
	return false;
}

/* Whether one bind shows a file of the host that lies in or below @dir. */
static bool shows_below(const struct kg_plan *plan, size_t index,
			bool for_writing, const char *dir, const char *rest)
{
	const struct kg_mount *m = &plan->mounts[index];
	char inside[PATH_MAX];

	if (m->kind != KG_MOUNT_BIND &&
	    (for_writing || m->kind != KG_MOUNT_RO_BIND))
		return false;
	if (snprintf(inside, sizeof(inside), "%s%s", m->target, rest) >=
	    (int)sizeof(inside))
		return false;
	return is_same_file(m->source, dir) && !is_covered(plan, index, inside);
}

static const char *find_way(const struct kg_plan *plan, const char *path,
			    bool for_writing)
{
	char dir[PATH_MAX];
	size_t i, len;

	if (snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
		return NULL;
	for (len = strlen(dir); len > 1;) {
		for (i = 0; i < plan->count; i++)
			if (shows_below(plan, i, for_writing, dir, path + len))
				return plan->mounts[i].target;
		while (len > 0 && dir[--len] != '/')
			;
		dir[len] = '\0';
	}
	return NULL;
}

const char *kg_plan_shows(const struct kg_plan *plan, const char *path)
{
	return find_way(plan, path, false);
}

const char *kg_plan_writes(const struct kg_plan *plan, const char *path)
{
	return find_way(plan, path, true);
}

void kg_plan_done(struct kg_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->count; i++) {
		free(plan->mounts[i].source);
		free(plan->mounts[i].target);
	}
	free(plan->mounts);
	*plan = KG_PLAN_INIT;
}
