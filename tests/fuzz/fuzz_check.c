/* SPDX-License-Identifier: MIT */
/*
 * Command lines: words that each end in a NUL.  A refusal names a rule, and a
 * command line that is refused stays so behind env.
 */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"
#include "common/util.h"
#include "supervisor/check.h"

#define MAX_WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct kg_check_rule denied[] = {
	{ "curl", 1 },
	{ "nc", 2 },
	{ "/opt/tool", 3 },
};

/* assert() that NDEBUG leaves in. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

/* Nothing is found in that PATH: what the machine has can't matter. */
static int check(char *const *argv, struct kg_error *err)
{
	static const struct kg_check_rules rules = { denied,
						     KG_ARRAY_LEN(denied),
						     "/nonexistent" };
	struct kg_check_hit hit = { .rule = SIZE_MAX };
	int rc = kg_check_command(&rules, argv, "/nonexistent", &hit, err);

	must((rc == 0) == (err->code == KG_E_NONE));
	must(!rc || err->code == KG_E_POLICY || err->code == KG_E_LIMIT);
	must((err->code == KG_E_POLICY) == (hit.rule != SIZE_MAX));
	if (hit.rule != SIZE_MAX) {
		must(hit.rule < KG_ARRAY_LEN(denied));
		must(hit.origin == denied[hit.rule].origin);
		must(strstr(err->msg, hit.text));
	}
	return rc;
}

/* What has an option's looks, or an assignment's, is env's own there. */
static bool is_plain(const char *word)
{
	return word[0] != '-' && !strchr(word, '=');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	kg_auto_free char *text = malloc(size + 1);
	char env[] = "env", *argv[MAX_WORDS + 2] = { env };
	struct kg_error err = KG_ERROR_INIT, again = KG_ERROR_INIT;
	size_t count = 0, at = 0;
	int rc;

	must(text);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	while (at < size && count < MAX_WORDS) {
		argv[++count] = text + at;
		at += strlen(text + at) + 1;
	}
	rc = check(argv + 1, &err);
	if (rc && err.code == KG_E_POLICY && is_plain(argv[1]))
		must(check(argv, &again) == -1);
	return 0;
}
