/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/policy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"
#include "common/util.h"

static const char *const networks[] = {
	/* clang-format off */
	[KG_NETWORK_OFF]	= "off",
	[KG_NETWORK_RESTRICTED]	= "restricted",
	[KG_NETWORK_OPEN]	= "open",
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(networks) == KG_NETWORK_COUNT,
	      "every mode needs a word");

/*
 * Makes room for one element behind @count: the space is always the next power
 * of two, so no capacity has to be remembered.
 */
static void *grow(void *array, size_t count, size_t size, struct kg_error *err)
{
	void *bigger;

	if (count & (count - 1))
		return array;
	bigger = reallocarray(array, count ? 2 * count : 1, size);
	if (!bigger)
		(void)kg_fail_system(err, "remember the policy");
	return bigger;
}

static void clear_path(struct kg_path_entry *entry)
{
	free(entry->text);
	free(entry->real);
	free(entry->link);
}

void kg_policy_done(struct kg_policy *policy)
{
	struct kg_policy_mark none = { .network = KG_NETWORK_RESTRICTED };

	kg_policy_rewind(policy, &none);
	free(policy->hosts);
	free(policy->paths);
	free(policy->files);
	*policy = KG_POLICY_INIT;
}

struct kg_policy_mark kg_policy_mark(const struct kg_policy *policy)
{
	return (struct kg_policy_mark){
		.network = policy->network,
		.network_origin = policy->network_origin,
		.host_count = policy->host_count,
		.path_count = policy->path_count,
		.file_count = policy->file_count,
	};
}

void kg_policy_rewind(struct kg_policy *policy,
		      const struct kg_policy_mark *mark)
{
	policy->network = mark->network;
	policy->network_origin = mark->network_origin;
	policy->host_count = mark->host_count;
	while (policy->path_count > mark->path_count)
		clear_path(&policy->paths[--policy->path_count]);
	while (policy->file_count > mark->file_count)
		free(policy->files[--policy->file_count]);
}

int kg_policy_add_host(struct kg_policy *policy, const struct kg_host *host,
		       const struct kg_origin *origin, struct kg_error *err)
{
	struct kg_host_entry *bigger;

	if (policy->host_count >= KG_POLICY_MAX_HOSTS)
		return kg_fail(err, KG_E_LIMIT, 0, "more than %d hosts",
			       KG_POLICY_MAX_HOSTS);
	bigger = grow(policy->hosts, policy->host_count, sizeof(*bigger), err);
	if (!bigger)
		return -1;
	policy->hosts = bigger;
	bigger[policy->host_count++] = (struct kg_host_entry){
		.host = *host,
		.origin = *origin,
	};
	return 0;
}

int kg_policy_add_path(struct kg_policy *policy, const char *text,
		       bool writable, const struct kg_origin *origin,
		       struct kg_error *err)
{
	kg_auto_free char *copy = NULL;
	struct kg_path_entry *bigger;

	if (policy->path_count >= KG_POLICY_MAX_PATHS)
		return kg_fail(err, KG_E_LIMIT, 0, "more than %d paths",
			       KG_POLICY_MAX_PATHS);
	copy = strdup(text);
	if (!copy)
		return kg_fail_system(err, "remember the policy");
	bigger = grow(policy->paths, policy->path_count, sizeof(*bigger), err);
	if (!bigger)
		return -1;
	policy->paths = bigger;
	bigger[policy->path_count++] = (struct kg_path_entry){
		.text = kg_take_ptr(copy),
		.writable = writable,
		.origin = *origin,
	};
	return 0;
}

const char *kg_policy_add_file(struct kg_policy *policy, const char *path,
			       struct kg_error *err)
{
	kg_auto_free char *copy = strdup(path);
	char **bigger;

	if (!copy) {
		(void)kg_fail_system(err, "remember the policy");
		return NULL;
	}
	bigger = grow(policy->files, policy->file_count, sizeof(*bigger), err);
	if (!bigger)
		return NULL;
	policy->files = bigger;
	bigger[policy->file_count] = kg_take_ptr(copy);
	return bigger[policy->file_count++];
}

bool kg_policy_has_network_box(const struct kg_policy *policy)
{
	return policy->network == KG_NETWORK_RESTRICTED &&
	       policy->host_count > 0;
}

const char *kg_network_name(enum kg_network network)
{
	return networks[network];
}

bool kg_network_parse(const char *word, enum kg_network *ret)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(networks); i++) {
		if (strcmp(word, networks[i]) != 0)
			continue;
		*ret = (enum kg_network)i;
		return true;
	}
	return false;
}

void kg_origin_print(const struct kg_origin *origin, char *buf, size_t len)
{
	const char *file = origin->file ? origin->file : "";

	if (origin->kind == KG_ORIGIN_DEFAULT)
		(void)snprintf(buf, len, "default");
	else if (origin->kind == KG_ORIGIN_FLAG || !origin->line)
		(void)snprintf(buf, len, "%s", file);
	else
		(void)snprintf(buf, len, "%s:%u:%u", file, origin->line,
			       origin->column);
}
