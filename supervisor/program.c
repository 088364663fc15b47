/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/program.h"

#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/util.h"
#include "supervisor/shell_word.h"

#define MAX_LOOKUPS  1024
#define CHUNK_BYTES  65536
#define LINE_BYTES   256 /* what the kernel reads of a script's first line */
#define MARK_BYTES   32	 /* longer than the longest mark */
#define SEARCH_BYTES (16 * 1024 * 1024)

static const char standard_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:"
				    "/usr/bin:/sbin:/bin";

/*
 * Programs that look at the name they were started by.  Those of the second
 * half are only led to: a denied name can be a link to one of them.
 */
static const char *const multicall_names[] = {
	"busybox*",   "toybox*",    "coreutils", "sbase-box", "dropbearmulti",
	"snap",	      "mise",	    "rtx",	 "asdf",      "rustup",
	"volta-shim", "proto-shim", "ccache",	 "distcc",    "sccache",
};

/* What multi-call programs say of themselves, whatever their name. */
static const char *const multicall_marks[] = {
	"multi-call binary",
	"multicall binary",
	"--coreutils-prog=",
};

const char *kg_program_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A file of the user's choosing: it may be a FIFO, or vanish. */
static int open_regular(const char *path, struct stat *st)
{
	kg_auto_close int fd = -1;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, st) || !S_ISREG(st->st_mode))
		return -1;
	return kg_take_fd(&fd);
}

static ssize_t read_chunk(int fd, char *buf, size_t len)
{
	size_t used = 0;

	while (used < len) {
		ssize_t n = read(fd, buf + used, len - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

static bool has_mark(const char *buf, size_t len)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(multicall_marks); i++)
		if (memmem(buf, len, multicall_marks[i],
			   strlen(multicall_marks[i])))
			return true;
	return false;
}

/* Chunks overlap, so that none cuts a mark. */
static bool says_multicall(const char *path)
{
	kg_auto_close int fd = -1;
	kg_auto_free char *buf = malloc(CHUNK_BYTES);
	size_t kept = 0, total = 0;
	struct stat st;

	fd = open_regular(path, &st);
	while (fd >= 0 && buf && total < SEARCH_BYTES) {
		ssize_t n = read_chunk(fd, buf + kept, CHUNK_BYTES - kept);
		size_t len;

		if (n <= 0)
			return false;
		len = kept + (size_t)n;
		if (has_mark(buf, len))
			return true;
		kept = len < MARK_BYTES ? len : MARK_BYTES;
		memmove(buf, buf + len - kept, kept);
		total += (size_t)n;
	}
	return false;
}

bool kg_program_is_multicall(const char *path)
{
	kg_auto_free char *real = realpath(path, NULL);
	size_t i;

	if (!real)
		return false;
	for (i = 0; i < KG_ARRAY_LEN(multicall_names); i++)
		if (kg_shell_word_matches(multicall_names[i],
					  kg_program_base(real)))
			return true;
	return says_multicall(real);
}

/*
 * Denied programs
 */

static bool is_known(const struct kg_programs *programs, const struct stat *st)
{
	size_t i;

	for (i = 0; i < programs->count; i++)
		if (programs->denied[i].dev == st->st_dev &&
		    programs->denied[i].ino == st->st_ino)
			return true;
	return false;
}

/* Takes @path. */
static int add_denied(struct kg_programs *programs, size_t rule, char *path)
{
	kg_auto_free char *owned = path;
	struct kg_program_denied *at;
	struct stat st;

	if (!owned)
		return -1;
	if (stat(owned, &st) || !S_ISREG(st.st_mode) || is_known(programs, &st))
		return 0;
	at = reallocarray(programs->denied, programs->count + 1, sizeof(*at));
	if (!at)
		return -1;
	programs->denied = at;
	at[programs->count++] = (struct kg_program_denied){
		.path = kg_take_ptr(owned),
		.rule = rule,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = st.st_size,
	};
	return 0;
}

/* An empty directory in PATH is the current one. */
static char *join(const char *dir, size_t len, const char *name)
{
	char *path;

	if (len == 0) {
		dir = ".";
		len = 1;
	}
	return asprintf(&path, "%.*s/%s", (int)len, dir, name) < 0 ? NULL
								   : path;
}

/* The next directory of a PATH; false behind the last. */
static bool next_dir(const char **path, const char **ret_dir, size_t *ret_len)
{
	if (!*path)
		return false;
	*ret_dir = *path;
	*ret_len = strcspn(*path, ":");
	*path = (*path)[*ret_len] ? *path + *ret_len + 1 : NULL;
	return true;
}

static int add_from(struct kg_programs *programs, size_t rule, const char *path)
{
	const char *name = programs->rules->at[rule].text, *dir;
	size_t len;

	while (next_dir(&path, &dir, &len))
		if (add_denied(programs, rule, join(dir, len, name)))
			return -1;
	return 0;
}

static int add_rule(struct kg_programs *programs, size_t rule)
{
	const char *text = programs->rules->at[rule].text;
	const char *home = programs->rules->home;

	if (strncmp(text, "~/", 2) == 0 && home)
		return add_denied(programs, rule,
				  join(home, strlen(home), text + 2));
	if (strchr(text, '/'))
		return add_denied(programs, rule, strdup(text));
	if (add_from(programs, rule, programs->path_env))
		return -1;
	return add_from(programs, rule, standard_path);
}

int kg_program_load(struct kg_programs *programs,
		    const struct kg_check_rules *rules, const char *path_env,
		    struct kg_error *err)
{
	size_t i;

	programs->rules = rules;
	programs->path_env = path_env ? path_env : standard_path;
	programs->left = MAX_LOOKUPS;
	for (i = 0; i < rules->count; i++)
		if (add_rule(programs, i))
			return kg_fail_system(err, "look for denied programs");
	return 0;
}

/*
 * Looking up
 */

static bool has_same_bytes(const char *a, const char *b)
{
	kg_auto_close int a_fd = -1;
	kg_auto_close int b_fd = -1;
	kg_auto_free char *a_buf = malloc(CHUNK_BYTES);
	kg_auto_free char *b_buf = malloc(CHUNK_BYTES);
	struct stat a_st, b_st;
	ssize_t n;

	a_fd = open_regular(a, &a_st);
	b_fd = open_regular(b, &b_st);
	if (a_fd < 0 || b_fd < 0 || !a_buf || !b_buf || a_st.st_size == 0 ||
	    a_st.st_size != b_st.st_size)
		return false;
	do {
		n = read_chunk(a_fd, a_buf, CHUNK_BYTES);
		if (n < 0 || read_chunk(b_fd, b_buf, CHUNK_BYTES) != n ||
		    memcmp(a_buf, b_buf, (size_t)n) != 0)
			return false;
	} while (n > 0);
	return true;
}

static void match_name(const struct kg_programs *programs,
		       struct kg_program *program)
{
	const char *base = kg_program_base(program->real);
	size_t i;

	for (i = 0; i < programs->rules->count; i++) {
		if (strcmp(programs->rules->at[i].text, base) != 0)
			continue;
		program->match = KG_PROGRAM_NAME;
		program->rule = i;
		return;
	}
}

static enum kg_program_match compare(const struct kg_program *program,
				     const struct stat *st,
				     const struct kg_program_denied *denied)
{
	if (denied->dev == st->st_dev && denied->ino == st->st_ino)
		return KG_PROGRAM_FILE;
	if (denied->size == st->st_size &&
	    has_same_bytes(program->real, denied->path))
		return KG_PROGRAM_BYTES;
	return KG_PROGRAM_OTHER;
}

static void match_file(const struct kg_programs *programs,
		       struct kg_program *program, const struct stat *st)
{
	size_t i;

	for (i = 0; i < programs->count && !program->match; i++) {
		const struct kg_program_denied *denied = &programs->denied[i];

		program->match = compare(program, st, denied);
		if (program->match && kg_program_is_multicall(denied->path))
			program->match = KG_PROGRAM_OTHER;
		program->rule = denied->rule;
		program->like = denied->path;
	}
}

static void load_script(struct kg_program *program)
{
	kg_auto_close int fd = -1;
	char line[LINE_BYTES];
	struct stat st;
	ssize_t n;

	fd = open_regular(program->real, &st);
	n = fd < 0 ? -1 : read_chunk(fd, line, sizeof(line) - 1);
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	program->script = strdup(line + 2);
}

/* The file that exec would take. */
static char *search(const struct kg_programs *programs, const char *name)
{
	const char *path = programs->path_env, *dir;
	struct stat st;
	size_t len;

	if (strchr(name, '/'))
		return strdup(name);
	while (next_dir(&path, &dir, &len)) {
		kg_auto_free char *file = join(dir, len, name);

		if (file && stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(file, X_OK) == 0)
			return kg_take_ptr(file);
	}
	return NULL;
}

static void look(const struct kg_programs *programs, struct kg_program *program)
{
	kg_auto_free char *file = search(programs, program->name);
	struct stat st;

	program->real = file ? realpath(file, NULL) : NULL;
	if (!program->real || stat(program->real, &st) || !S_ISREG(st.st_mode))
		return;
	match_name(programs, program);
	if (!program->match)
		match_file(programs, program, &st);
	load_script(program);
}

static int compare_names(const void *a, const void *b)
{
	const struct kg_program *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static void free_program(struct kg_program *program)
{
	free(program->name);
	free(program->real);
	free(program->script);
	free(program);
}

const struct kg_program *kg_program_find(struct kg_programs *programs,
					 const char *name)
{
	struct kg_program key = { .name = (char *)(uintptr_t)name };
	struct kg_program *program;
	void *const *found = tfind(&key, &programs->seen, compare_names);

	if (found)
		return *found;
	if (programs->left == 0 || strlen(name) >= PATH_MAX)
		return NULL;
	program = calloc(1, sizeof(*program));
	if (!program)
		return NULL;
	program->name = strdup(name);
	if (!program->name ||
	    !tsearch(program, &programs->seen, compare_names)) {
		free_program(program);
		return NULL;
	}
	programs->left--;
	look(programs, program);
	return program;
}

void kg_program_done(struct kg_programs *programs)
{
	while (programs->count > 0)
		free(programs->denied[--programs->count].path);
	free(programs->denied);
	while (programs->seen) {
		struct kg_program *program = *(void **)programs->seen;

		(void)tdelete(program, &programs->seen, compare_names);
		free_program(program);
	}
	*programs = KG_PROGRAMS_INIT;
}
