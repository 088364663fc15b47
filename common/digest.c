/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/digest.h"

#include <sha256.h>
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
			lines[--n] = NULL;
	}
	for (i = 0; lines && i < policy->path_count; i++) {
		const struct kg_path_entry *p = &policy->paths[i];

		if (asprintf(&lines[n++], "path %s %s",
			     p->writable ? "rw" : "ro",
			     p->real ? p->real : p->text) < 0)
			lines[--n] = NULL;
	}
	*ret_count = n;
	return lines;
}

int kg_digest_policy(const struct kg_policy *policy, char *ret,
		     struct kg_error *err)
{
	kg_auto_free char *text = NULL;
	size_t count = 0, len = 0, i;
	char **lines = describe(policy, &count);
	FILE *f = open_memstream(&text, &len);

	if (!lines || !f) {
		if (f)
			(void)fclose(f);
		free(lines);
		return kg_fail_system(err, "name the policy");
	}
	qsort(lines, count, sizeof(*lines), by_text);
	(void)fprintf(f, "network %s\n", kg_network_name(policy->network));
	for (i = 0; i < count; i++) {
		/* With its NUL: no path can look like two entries. */
		(void)fwrite(lines[i], 1, strlen(lines[i]) + 1, f);
		free(lines[i]);
	}
	free(lines);
	if (fclose(f))
		return kg_fail_system(err, "name the policy");
	kg_digest_text(text, len, ret);
	return 0;
}
