/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/environ.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/util.h"

/* A name that ends in '*' stands for all that begin so. */
static const char *const passed[] = {
	"PATH", "USER", "LOGNAME",   "SHELL",	 "LANG", "LC_*",
	"TZ",	"TERM", "COLORTERM", "NO_COLOR", "CI",
};

static bool is_passed(const char *entry)
{
	size_t i, len;

	for (i = 0; i < KG_ARRAY_LEN(passed); i++) {
		len = strlen(passed[i]);
		if (passed[i][len - 1] == '*') {
			if (strncmp(entry, passed[i], len - 1) == 0 &&
			    strchr(entry, '='))
				return true;
		} else if (strncmp(entry, passed[i], len) == 0 &&
			   entry[len] == '=') {
			return true;
		}
	}
	return false;
}

static size_t count_entries(char *const *list)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

int kg_environ_build(char *const *from, const char *home, const char *pwd,
		     char ***ret, struct kg_error *err)
{
	char **list = calloc(count_entries(from) + 3, sizeof(*list));
	size_t n = 0;

	if (!list)
		return kg_fail_system(err, "build the environment");
	if (asprintf(&list[n], "HOME=%s", home) < 0)
		goto failed;
	n++;
	if (asprintf(&list[n], "PWD=%s", pwd) < 0)
		goto failed;
	n++;
	for (; *from; from++) {
		if (!is_passed(*from))
			continue;
		list[n] = strdup(*from);
		if (!list[n++])
			goto failed;
	}
	*ret = list;
	return 0;
failed:
	list[n] = NULL;
	kg_environ_free(list);
	return kg_fail(err, KG_E_SYSTEM, ENOMEM, "build the environment");
}

void kg_environ_free(char **list)
{
	size_t i;

	for (i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}
