/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tests/bench/box.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/policy_yaml.h"
#include "common/scoped.h"
#include "common/spawn.h"
#include "common/util.h"
#include "netns/link.h"
#include "supervisor/home.h"

#define MAX_ARGS_BYTES (1 << 20)

/*
 * Options with one value that a baseline does without: it has nobody who reads
 * about bwrap's child, and "bare" leaves the filter out.
 */
static const char *const dropped[] = { "--info-fd", "--seccomp" };

static bool is_dropped(const char *word)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(dropped); i++)
		if (strcmp(word, dropped[i]) == 0)
			return true;
	return false;
}

/* In place; returns the bytes that are left. */
static size_t drop_options(char *words, size_t len)
{
	char *in = words, *out = words, *end = words + len;
	size_t n;

	while (in < end) {
		n = strlen(in) + 1;
		if (is_dropped(in)) {
			in += n;
			in += strlen(in) + 1;
			continue;
		}
		memmove(out, in, n);
		out += n;
		in += n;
	}
	return (size_t)(out - words);
}

/* As kgate finds them, but for programs that only kgate itself would start. */
static int find_facts(struct kg_linux *ret, struct kg_error *err)
{
	struct kg_error ignored = KG_ERROR_INIT;

	if (kg_spawn_find("bwrap", &ret->bwrap, err) ||
	    kg_spawn_find("slirp4netns", &ret->slirp, &ignored))
		return ret->bwrap ? 0 : -1;
	if (kg_spawn_find("ip6tables-restore", &ret->ip6tables, &ignored))
		return 0;
	return kg_link_has_ipv6_route(&ret->ipv6, err);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The same directories as in the launch that is measured. */
static void list_homes(const struct kg_home *home, const char *ret[3])
{
	size_t n = 0;

	if (home->hides_env)
		ret[n++] = home->env_dir;
	if (home->hides_passwd)
		ret[n++] = home->passwd_dir;
	if (n == 0)
		ret[n++] = home->box_dir;
	qsort(ret, n, sizeof(*ret), by_text);
	if (n == 2 && strcmp(ret[0], ret[1]) == 0)
		ret[1] = NULL;
}

static int build_launch(const struct kg_policy *policy,
			const struct kg_home *home, struct kg_bench_box *box,
			struct kg_error *err)
{
	static char *const nothing[] = { NULL };
	kg_auto_free char *project = realpath(".", NULL);
	const char *homes[3] = { NULL };
	const struct kg_launch_input input = {
		.policy = policy,
		.facts = &box->facts,
		.argv = nothing,
		.envp = nothing,
		.project = project,
		.homes = homes,
	};

	if (!project)
		return kg_fail_system(err, "find the working directory");
	list_homes(home, homes);
	return kg_launch_build(&input, &box->launch, err);
}

static int build(const char *config, struct kg_bench_box *box,
		 struct kg_error *err)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_home home = KG_HOME_INIT;
	int rc = -1;

	if (find_facts(&box->facts, err) == 0 &&
	    kg_home_load(&home, err) == 0 &&
	    kg_policy_yaml_load(&policy, config, false, err) == 0)
		rc = build_launch(&policy, &home, box, err);
	kg_home_done(&home);
	kg_policy_done(&policy);
	return rc;
}

static int write_args(struct kg_bench_box *box, struct kg_error *err)
{
	kg_auto_free char *words = NULL;
	size_t len;

	if (kg_fd_read_all(box->launch.args_fd, MAX_ARGS_BYTES, &words, &len,
			   err))
		return -1;
	len = drop_options(words, len);
	box->args_fd = kg_fd_from_bytes("bwrap-args", words, len, err);
	return box->args_fd < 0 ? -1 : 0;
}

static int list_descriptors(struct kg_bench_box *box, struct kg_error *err)
{
	const struct kg_launch *l = &box->launch;

	box->pass = calloc(l->data_count + 1, sizeof(*box->pass));
	if (!box->pass)
		return kg_fail_system(err, "list descriptors");
	memcpy(box->pass, l->data_fds, l->data_count * sizeof(*box->pass));
	box->pass[l->data_count] = box->args_fd;
	box->pass_count = l->data_count + 1;
	return 0;
}

int kg_bench_box_open(const char *config, struct kg_bench_box *ret,
		      struct kg_error *err)
{
	*ret = KG_BENCH_BOX_INIT;
	if (build(config, ret, err) || write_args(ret, err) ||
	    list_descriptors(ret, err)) {
		kg_bench_box_done(ret);
		return -1;
	}
	return 0;
}

void kg_bench_box_rewind(const struct kg_bench_box *box)
{
	size_t i;

	for (i = 0; i < box->pass_count; i++)
		(void)lseek(box->pass[i], 0, SEEK_SET);
}

void kg_bench_box_done(struct kg_bench_box *box)
{
	kg_launch_done(&box->launch);
	kg_linux_done(&box->facts);
	kg_scope_close_(&box->args_fd);
	free(box->pass);
	*box = KG_BENCH_BOX_INIT;
}
