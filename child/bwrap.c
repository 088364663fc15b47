/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/bwrap.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/scoped.h"
#include "common/util.h"

/* The option of each kind, and what stands behind it. */
static const struct {
	const char *option;
	bool perms;
	bool size;
	bool data;
	bool source;
} kinds[] = {
	/* clang-format off */
	[KG_MOUNT_RO_BIND]    = { "--ro-bind",	    .source = true },
	[KG_MOUNT_BIND]	      = { "--bind",	    .source = true },
	[KG_MOUNT_SYMLINK]    = { "--symlink",	    .source = true },
	[KG_MOUNT_PROC]	      = { "--proc" },
	[KG_MOUNT_DEV]	      = { "--dev" },
	[KG_MOUNT_TMPFS]      = { "--tmpfs",	    .perms = true,
				  .size = true },
	[KG_MOUNT_DATA]	      = { "--ro-bind-data", .perms = true,
				  .data = true },
	[KG_MOUNT_COVER_FILE] = { "--ro-bind-data", .perms = true,
				  .data = true },
	[KG_MOUNT_COVER_DIR]  = { "--tmpfs",	    .perms = true },
	[KG_MOUNT_SEAL]	      = { "--remount-ro" },
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(kinds) == KG_MOUNT_COUNT, "every kind has a row");

static void put(FILE *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* One word and its NUL. */
static void put(FILE *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vfprintf(f, fmt, ap);
	va_end(ap);
	(void)fputc('\0', f);
}

/* Namespaces and privileges.  Each is named: --unshare-all only tries some. */
static void put_namespaces(FILE *f, const struct kg_bwrap_options *o)
{
	put(f, "--unshare-all");
	put(f, "--unshare-user");
	if (o->share_net)
		put(f, "--share-net");
	put(f, "--disable-userns");
	put(f, "--cap-drop");
	put(f, "ALL");
	put(f, "--die-with-parent");
	put(f, "--uid");
	put(f, "%u", (unsigned)o->uid);
	put(f, "--gid");
	put(f, "%u", (unsigned)o->gid);
	put(f, "--hostname");
	put(f, "%s", o->hostname);
	put(f, "--info-fd");
	put(f, "%d", o->info_fd);
	put(f, "--seccomp");
	put(f, "%d", o->seccomp_fd);
}

static unsigned perms_of(const struct kg_mount *m)
{
	if (m->kind == KG_MOUNT_DATA)
		return 0444;
	return m->kind == KG_MOUNT_TMPFS ? m->perms : 0;
}

static void put_mount(FILE *f, const struct kg_mount *m, int data_fd)
{
	if (kinds[m->kind].perms) {
		put(f, "--perms");
		put(f, "%04o", perms_of(m));
	}
	if (kinds[m->kind].size) {
		put(f, "--size");
		put(f, "%zu", m->bytes);
	}
	put(f, "%s", kinds[m->kind].option);
	if (kinds[m->kind].data)
		put(f, "%d", data_fd);
	if (kinds[m->kind].source)
		put(f, "%s", m->source);
	put(f, "%s", m->target);

	/* Or its owner could give it another mode. */
	if (m->kind == KG_MOUNT_COVER_DIR) {
		put(f, "--remount-ro");
		put(f, "%s", m->target);
	}
}

bool kg_bwrap_needs_data(const struct kg_mount *mount)
{
	return kinds[mount->kind].data;
}

int kg_bwrap_build(const struct kg_plan *plan,
		   const struct kg_bwrap_options *options,
		   struct kg_bwrap_args *ret, struct kg_error *err)
{
	struct kg_bwrap_args args = KG_BWRAP_ARGS_INIT;
	size_t i, data = 0;
	bool failed;
	FILE *f;

	f = open_memstream(&args.bytes, &args.len);
	if (!f)
		return kg_fail_system(err, "write bwrap's arguments");
	put_namespaces(f, options);
	for (i = 0; i < plan->count; i++)
		put_mount(f, &plan->mounts[i],
			  kg_bwrap_needs_data(&plan->mounts[i])
				  ? options->data_fds[data++]
				  : -1);
	put(f, "--chdir");
	put(f, "%s", options->chdir);
	failed = ferror(f);
	if (fclose(f) || failed) {
		kg_bwrap_args_done(&args);
		return kg_fail_system(err, "write bwrap's arguments");
	}
	*ret = args;
	return 0;
}

void kg_bwrap_args_done(struct kg_bwrap_args *args)
{
	free(args->bytes);
	*args = KG_BWRAP_ARGS_INIT;
}

int kg_bwrap_read_info(const char *text, size_t len, pid_t *ret,
		       struct kg_error *err)
{
	long long pid;

	if (!memchr(text, '}', len))
		return 0;
	if (kg_json_read_int(text, len, "child-pid", &pid, err) || pid <= 1 ||
	    pid > INT32_MAX)
		return kg_fail(err, KG_E_SANDBOX, 0,
			       "what bwrap wrote about its child makes no "
			       "sense");
	*ret = (pid_t)pid;
	return 1;
}
