/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/digest.h"

#include <errno.h>
#include <sha256.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"

void kg_digest_text(const void *data, size_t len, char *ret)
{
	(void)SHA256Data(data, len, ret);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One line an entry: what is granted, and nothing of where it was written. */
static char **describe(const struct kg_policy *policy, size_t *ret_count)
{
	size_t max = policy->host_count + policy->path_count, n = 0, i;
	char **lines = calloc(max + 1, sizeof(*lines));
	char host[KG_HOST_NAME_BYTES + 8];

	for (i = 0; lines && i < policy->host_count; i++) {
		kg_host_print(&policy->hosts[i].host, host, sizeof(host));
		if (asprintf(&lines[n++], "host %s", host) < 0)
			lines[n - 1] = NULL;
	}
	for (i = 0; lines && i < policy->path_count; i++) {
		const struct kg_path_entry *p = &policy->paths[i];

		if (asprintf(&lines[n++], "path %s %s",
			     p->writable ? "rw" : "ro",
			     p->real ? p->real : p->text) < 0)
			lines[n - 1] = NULL;
	}
	*ret_count = n;
	return lines;
}

static void free_lines(char **lines, size_t count)
{
	size_t i;

	for (i = 0; lines && i < count; i++)
		free(lines[i]);
	free(lines);
}

static bool is_whole(char *const *lines, size_t count)
{
	size_t i;

	for (i = 0; lines && i < count; i++)
		if (!lines[i])
			return false;
	return lines != NULL;
}

/* Each line with its NUL: no path can look like two entries. */
static int join_lines(const struct kg_policy *policy, char *const *lines,
		      size_t count, char **ret, size_t *ret_len)
{
	FILE *f = open_memstream(ret, ret_len);
	bool failed;
	size_t i;

	if (!f)
		return -1;
	(void)fprintf(f, "network %s\n", kg_network_name(policy->network));
	for (i = 0; i < count; i++)
		(void)fwrite(lines[i], 1, strlen(lines[i]) + 1, f);
	failed = ferror(f);
	return fclose(f) || failed ? -1 : 0;
}

int kg_digest_policy(const struct kg_policy *policy, char *ret,
		     struct kg_error *err)
{
	kg_auto_free char *text = NULL;
	size_t count = 0, len = 0;
	char **lines = describe(policy, &count);
	bool ok = is_whole(lines, count);

	if (ok) {
		qsort(lines, count, sizeof(*lines), by_text);
		ok = join_lines(policy, lines, count, &text, &len) == 0;
	}
	free_lines(lines, count);
	if (!ok)
		return kg_fail(err, KG_E_SYSTEM, ENOMEM, "name the policy");
	kg_digest_text(text, len, ret);
	return 0;
}
