/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tests/unit/golden.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/scoped.h"

#define MAX_BYTES (1 << 20)

static void update(const char *path, const char *text)
{
	kg_auto_close int fd = -1;

	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ck_assert_msg(fd >= 0, "write %s", path);
	ck_assert_int_eq(kg_fd_write_all(fd, text, strlen(text)), 0);
}

/* Where two texts part, for a message that fits on a screen. */
static size_t common_length(const char *a, const char *b)
{
	size_t i = 0, line = 0;

	for (; a[i] && a[i] == b[i]; i++)
		if (a[i] == '\n')
			line = i + 1;
	return line;
}

void kg_golden_check(const char *name, const char *text)
{
	const char *top = getenv("KG_SRCDIR");
	struct kg_error err = KG_ERROR_INIT;
	kg_auto_free char *golden = NULL;
	kg_auto_close int fd = -1;
	char path[512];
	size_t len, at;

	(void)snprintf(path, sizeof(path), "%s/tests/golden/%s",
		       top ? top : ".", name);
	if (getenv("KG_GOLDEN_UPDATE"))
		update(path, text);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s is missing", path);
	ck_assert_int_eq(kg_fd_read_all(fd, MAX_BYTES, &golden, &len, &err), 0);
	at = common_length(text, golden);
	ck_assert_msg(strcmp(text, golden) == 0,
		      "%s differs: got '%.120s', want '%.120s'", name,
		      text + at, golden + at);
}
