/* SPDX-License-Identifier: MIT */
/*
 * main() of a fuzz target in a build without libFuzzer: gives it every file of
 * its corpus once.  TAP on standard output; a target that finds a fault aborts,
 * which leaves the plan unfulfilled.
 *
 * Usage: fuzz_NAME.t [FILE...].  Without a file: those of the folder
 * $KG_SRCDIR/tests/fuzz/corpus/NAME.
 */
#include "config.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"

#define PREFIX "fuzz_"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Exactly as long as the file, so that a read behind its end is noticed. */
static bool replay(const char *path)
{
	kg_auto_file FILE *f = fopen(path, "re");
	kg_auto_free uint8_t *data = NULL;
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0)
		return false;
	rewind(f);
	data = malloc((size_t)size);
	if ((!data && size) || fread(data, 1, (size_t)size, f) != (size_t)size)
		return false;
	(void)LLVMFuzzerTestOneInput(data, (size_t)size);
	return true;
}

static bool report(int n, const char *path)
{
	const char *slash = strrchr(path, '/');
	bool ok = replay(path);

	printf("%sok %d - %s\n", ok ? "" : "not ", n, slash ? slash + 1 : path);
	(void)fflush(stdout);
	return ok;
}

/* tests/fuzz/corpus/dns for .../fuzz_dns.t */
static bool find_corpus(const char *program, char *ret, size_t len)
{
	const char *srcdir = getenv("KG_SRCDIR");
	const char *name = strrchr(program, '/');
	int n;

	name = name ? name + 1 : program;
	if (!srcdir || strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return false;
	name += strlen(PREFIX);
	n = snprintf(ret, len, "%s/tests/fuzz/corpus/%.*s", srcdir,
		     (int)strcspn(name, "."), name);
	return n > 0 && (size_t)n < len;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static bool replay_folder(const char *folder)
{
	struct dirent **entries = NULL;
	bool ok = true;
	int count, i;

	count = scandir(folder, &entries, is_visible, alphasort);
	if (count <= 0) {
		printf("Bail out! no corpus in %s\n", folder);
		return false;
	}
	printf("1..%d\n", count);
	for (i = 0; i < count; i++) {
		kg_auto_free char *path = NULL;

		if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
			abort();
		ok = report(i + 1, path) && ok;
		free(entries[i]);
	}
	free(entries);
	return ok;
}

int main(int argc, char **argv)
{
	char folder[PATH_MAX];
	bool ok = true;
	int i;

	if (argc > 1) {
		printf("1..%d\n", argc - 1);
		for (i = 1; i < argc; i++)
			ok = report(i, argv[i]) && ok;
	} else if (find_corpus(argv[0], folder, sizeof(folder))) {
		ok = replay_folder(folder);
	} else {
		printf("Bail out! KG_SRCDIR is not set\n");
		ok = false;
	}
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
