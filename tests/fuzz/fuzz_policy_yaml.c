/* SPDX-License-Identifier: MIT */
/*
 * Policy files.  What is taken holds only what a policy may hold, each entry
 * with its place; what is refused leaves the policy as it was and a message
 * that begins with a place.
 */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/policy_yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert() that NDEBUG leaves in. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_refusal(const struct kg_policy *policy,
			  const struct kg_error *err)
{
	unsigned line = 0, column = 0;
	size_t i;

	must(err->code == KG_E_CONFIG || err->code == KG_E_LIMIT);
	must(memchr(err->msg, '\0', sizeof(err->msg)));
	for (i = 0; err->msg[i]; i++)
		must(err->msg[i] >= ' ' && err->msg[i] <= '~');
	must(sscanf(err->msg, "f:%u:%u: ", &line, &column) == 2);
	must(line > 0 && column > 0);

	must(policy->network == KG_NETWORK_RESTRICTED);
	must(policy->network_origin.kind == KG_ORIGIN_DEFAULT);
	must(policy->host_count == 0 && policy->path_count == 0);
	must(policy->file_count == 0);
}

static void check_origin(const struct kg_policy *policy,
			 const struct kg_origin *origin)
{
	must(origin->kind == KG_ORIGIN_FILE);
	must(origin->file == policy->files[0]);
	must(origin->line > 0 && origin->column > 0);
}

static void check_hosts(const struct kg_policy *policy)
{
	char form[KG_HOST_NAME_BYTES + 8];
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host back;
	size_t i;

	for (i = 0; i < policy->host_count; i++) {
		const struct kg_host *host = &policy->hosts[i].host;

		kg_host_print(host, form, sizeof(form));
		must(kg_host_parse(form, strlen(form), &back, &err) == 0);
		must(memcmp(host, &back, sizeof(back)) == 0);
		check_origin(policy, &policy->hosts[i].origin);
	}
}

static void check_paths(const struct kg_policy *policy)
{
	size_t i, j;

	for (i = 0; i < policy->path_count; i++) {
		const char *text = policy->paths[i].text;

		must(text[0] == '/' || text[0] == '~');
		must(strlen(text) < 4096);
		for (j = 0; text[j]; j++)
			must((uint8_t)text[j] >= ' ' && text[j] != 0x7f);
		check_origin(policy, &policy->paths[i].origin);
	}
}

static int parse(const uint8_t *data, size_t size, struct kg_policy *policy,
		 struct kg_error *err)
{
	return kg_policy_yaml_parse(policy, "f", (const char *)data, size, err);
}

/* A comment line in front changes lines, and nothing else. */
static void check_shift(const uint8_t *data, size_t size,
			const struct kg_policy *policy)
{
	static const char comment[] = "# x\n";
	struct kg_policy other = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;
	uint8_t text[4096];
	size_t i;

	if (size + 4 > sizeof(text) || (size && data[0] == 0xef))
		return;
	memcpy(text, comment, 4);
	if (size)
		memcpy(text + 4, data, size);
	must(parse(text, size + 4, &other, &err) == 0);
	must(other.network == policy->network);
	must(other.host_count == policy->host_count);
	must(other.path_count == policy->path_count);
	for (i = 0; i < policy->host_count; i++)
		must(other.hosts[i].origin.line ==
		     policy->hosts[i].origin.line + 1);
	kg_policy_done(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;

	if (parse(data, size, &policy, &err)) {
		check_refusal(&policy, &err);
	} else {
		must(err.code == KG_E_NONE);
		must(policy.network < KG_NETWORK_COUNT);
		check_hosts(&policy);
		check_paths(&policy);
		check_shift(data, size, &policy);
	}
	kg_policy_done(&policy);
	return 0;
}
