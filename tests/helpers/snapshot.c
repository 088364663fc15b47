/* SPDX-License-Identifier: MIT */
/*
 * snapshot - what a run could leave behind, as sorted lines of text
 *
 *	snapshot take FILE DIR...	write the state to FILE
 *	snapshot same FILE DIFF DIR...	compare with FILE, what differs to DIFF
 *
 * Files and not redirections: some shells redirect themselves before they fork,
 * and would show up in their own snapshot.
 *
 * Lines: processes and their namespaces, the mounts and the descriptors of the
 * caller, and for each DIR everything in it: mode, owner, size, inode, times.
 * Of /tmp, /var/tmp, /run and /dev/shm the names are listed.
 *
 * A process that was told to end needs a moment: same waits for those that
 * FILE doesn't know, on their pidfds and not longer than the bound, before it
 * reports them.  Exits 0 when nothing differs, 1 otherwise.
 */
#include "config.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BOUND_MS 2000
#define REAP_MS	 2

struct lines {
	char **text;
	size_t count;
	size_t room;
};

static const char *const common_dirs[] = { "/tmp", "/var/tmp", "/run",
					   "/dev/shm" };
static const char *const ns_names[] = { "user", "net", "mnt",	 "pid",
					"ipc",	"uts", "cgroup", "time" };

/* nftw() has no argument of its own for its callback. */
static struct lines *walk_lines;

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void add_text(struct lines *l, char *text)
{
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 256;
		l->text = realloc(l->text, l->room * sizeof(*l->text));
		if (!l->text)
			err(2, "realloc");
	}
	l->text[l->count++] = text;
}

__attribute__((format(printf, 2, 3))) static void add_line(struct lines *l,
							   const char *format,
							   ...)
{
	char *text, *p;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		err(2, "vasprintf");
	va_end(ap);
	for (p = text; *p; p++)
		if (*p == '\n')
			*p = '?';
	add_text(l, text);
}

static void free_lines(struct lines *l)
{
	while (l->count > 0)
		free(l->text[--l->count]);
	free(l->text);
	*l = (struct lines){ 0 };
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(struct lines *l)
{
	size_t i, kept = 0;

	if (l->count == 0)
		return;
	qsort(l->text, l->count, sizeof(*l->text), by_text);
	for (i = 1; i < l->count; i++)
		if (strcmp(l->text[kept], l->text[i]) == 0)
			free(l->text[i]);
		else
			l->text[++kept] = l->text[i];
	l->count = kept + 1;
}

static void add_namespaces(struct lines *l, long pid)
{
	char path[64], target[64];
	ssize_t n;
	size_t i;

	for (i = 0; i < sizeof(ns_names) / sizeof(ns_names[0]); i++) {
		snprintf(path, sizeof(path), "/proc/%ld/ns/%s", pid,
			 ns_names[i]);
		n = readlink(path, target, sizeof(target) - 1);
		if (n > 0)
			add_line(l, "namespace %.*s", (int)n, target);
	}
}

/* "proc PID START COMM"; a pid that is used again has another start. */
static void add_process(struct lines *l, long pid)
{
	char path[64], buf[1024], *open_paren, *close_paren;
	unsigned long long start = 0;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	open_paren = strchr(buf, '(');
	close_paren = strrchr(buf, ')');
	if (!open_paren || !close_paren)
		return;
	*close_paren = '\0';
	sscanf(close_paren + 1,
	       " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
	       "%*d %*d %*d %*d %llu",
	       &start);
	add_line(l, "proc %ld %llu %s", pid, start, open_paren + 1);
	add_namespaces(l, pid);
}

static void add_processes(struct lines *l)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	long pid;

	if (!d)
		err(2, "/proc");
	while ((e = readdir(d))) {
		pid = strtol(e->d_name, NULL, 10);
		if (pid > 0 && pid != getpid())
			add_process(l, pid);
	}
	closedir(d);
}

static void add_mounts(struct lines *l)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;

	if (!f)
		err(2, "mountinfo");
	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		add_line(l, "mount %s", line);
	}
	free(line);
	fclose(f);
}

/* Descriptors of the shell that asks; its own redirections come and go. */
static void add_descriptors(struct lines *l)
{
	char dir[64], path[PATH_MAX], target[PATH_MAX];
	struct dirent *e;
	ssize_t n;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/fd", getppid());
	d = opendir(dir);
	if (!d)
		return;
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n > 0)
			add_line(l, "descriptor %s %.*s", e->d_name, (int)n,
				 target);
	}
	closedir(d);
}

static void add_names(struct lines *l, const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		add_line(l, "name %s/%s", path, e->d_name);
	closedir(d);
}

static int add_file(const char *path, const struct stat *st, int type,
		    struct FTW *ftw)
{
	(void)ftw;
	if (type == FTW_NS) {
		add_line(walk_lines, "file %s", path);
		return 0;
	}
	add_line(walk_lines,
		 "file %s mode=%o owner=%u:%u size=%lld inode=%llu "
		 "mtime=%lld.%09ld ctime=%lld.%09ld",
		 path, st->st_mode, st->st_uid, st->st_gid,
		 (long long)st->st_size, (unsigned long long)st->st_ino,
		 (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
		 (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
	return 0;
}

static void take(struct lines *l, char *const *dirs)
{
	size_t i;

	free_lines(l);
	add_processes(l);
	add_mounts(l);
	add_descriptors(l);
	for (i = 0; i < sizeof(common_dirs) / sizeof(common_dirs[0]); i++)
		add_names(l, common_dirs[i]);
	walk_lines = l;
	for (; *dirs; dirs++)
		if (nftw(*dirs, add_file, 32, FTW_PHYS) != 0)
			err(2, "%s", *dirs);
	sort_lines(l);
}

static void load(struct lines *l, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	if (!f)
		err(2, "%s", path);
	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		add_line(l, "%s", line);
	}
	free(line);
	fclose(f);
	sort_lines(l);
}

/* Waits for one process that wasn't there before; false at the bound. */
static bool await_end(const char *line, int64_t end_ms)
{
	struct pollfd p = { -1, POLLIN, 0 };
	int64_t left = end_ms - now_ms();
	long pid = strtol(line + strlen("proc "), NULL, 10);

	if (left <= 0)
		return false;
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (p.fd < 0)
		return true;
	poll(&p, 1, (int)left);
	close(p.fd);
	/* Ended, but perhaps not reaped: that has no event for a stranger. */
	poll(NULL, 0, REAP_MS);
	return true;
}

static bool has_line(const struct lines *l, const char *text)
{
	return bsearch(&text, l->text, l->count, sizeof(*l->text), by_text);
}

static const char *find_new_process(const struct lines *now,
				    const struct lines *before)
{
	size_t i;

	for (i = 0; i < now->count; i++)
		if (strncmp(now->text[i], "proc ", 5) == 0 &&
		    !has_line(before, now->text[i]))
			return now->text[i];
	return NULL;
}

static int report(FILE *out, const struct lines *a, const struct lines *b,
		  const char *how)
{
	int differ = 0;
	size_t i;

	for (i = 0; i < a->count; i++)
		if (!has_line(b, a->text[i])) {
			fprintf(out, "%s %s\n", how, a->text[i]);
			differ = 1;
		}
	return differ;
}

static FILE *open_output(const char *path)
{
	FILE *out = fopen(path, "we");

	if (!out)
		err(2, "%s", path);
	return out;
}

static int do_take(const char *path, char *const *dirs)
{
	struct lines now = { 0 };
	FILE *out;
	size_t i;

	take(&now, dirs);
	out = open_output(path);
	for (i = 0; i < now.count; i++)
		fprintf(out, "%s\n", now.text[i]);
	free_lines(&now);
	return fclose(out) == 0 ? 0 : 2;
}

static int do_same(const char *path, const char *diff, char *const *dirs)
{
	struct lines before = { 0 }, now = { 0 };
	int64_t end_ms = now_ms() + BOUND_MS;
	const char *extra;
	FILE *out;
	int differ;

	load(&before, path);
	do {
		take(&now, dirs);
		extra = find_new_process(&now, &before);
	} while (extra && await_end(extra, end_ms));

	out = open_output(diff);
	differ = report(out, &before, &now, "gone:");
	differ |= report(out, &now, &before, "new: ");
	free_lines(&before);
	free_lines(&now);
	return fclose(out) == 0 ? differ : 2;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], "take") == 0)
		return do_take(argv[2], argv + 3);
	if (argc >= 4 && strcmp(argv[1], "same") == 0)
		return do_same(argv[2], argv[3], argv + 4);
	errx(2, "usage: snapshot take FILE DIR... | same FILE DIFF DIR...");
}
