/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/audit.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/json.h"
#include "common/scoped.h"
#include "common/step.h"
#include "common/util.h"

#define FILE_MODE     0600
#define DIR_MODE      0700
#define TIME_BYTES    32
#define OPEN_ATTEMPTS 8

/* Between two looks at the lock, which is held for microseconds. */
#define FIRST_PAUSE_MS 1
#define LAST_PAUSE_MS  8

static const char *const kinds[] = {
	[KG_AUDIT_LAUNCH] = "launch",
	[KG_AUDIT_BLOCK] = "block",
};
static_assert(KG_ARRAY_LEN(kinds) == KG_AUDIT_KIND_COUNT,
	      "every kind has a word");

static const char *const stages[] = {
	/* clang-format off */
	[KG_AUDIT_NONE]	   = NULL,
	[KG_AUDIT_POLICY]  = "policy",
	[KG_AUDIT_BACKEND] = "backend",
	[KG_AUDIT_CONFIG]  = "config",
	[KG_AUDIT_BOX]	   = "box",
	[KG_AUDIT_EXEC]	   = "exec",
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(stages) == KG_AUDIT_STAGE_COUNT,
	      "every stage has a word");

/* The path stands last: if anything is cut, it is the path. */
static int fail(struct kg_error *err, const char *path, int errnum,
		const char *what)
{
	(void)kg_fail(err, KG_E_AUDIT, 0,
		      "the audit log %s%s%s; --audit FILE names another: '%s'",
		      what, errnum ? ": " : "", errnum ? strerror(errnum) : "",
		      path);
	err->errnum = errnum;
	return -1;
}

int kg_audit_id(char *ret, struct kg_error *err)
{
	unsigned char bits[(KG_AUDIT_ID_BYTES - 1) / 2];
	size_t i;

	/* Up to 256 bytes come whole and without EINTR (getrandom(2)). */
	if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
		return kg_fail(err, KG_E_AUDIT, errno,
			       "get random bits for the audit log");
	for (i = 0; i < sizeof(bits); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bits[i]);
	return 0;
}

int kg_audit_default_path(const struct kg_home *home, char **ret,
			  struct kg_error *err)
{
	char *path;

	if (!home->config_dir)
		return kg_fail(err, KG_E_AUDIT, 0,
			       "there is no home directory for the audit log: "
			       "name a file with --audit FILE");
	if (asprintf(&path, "%s/audit.jsonl", home->config_dir) < 0)
		return kg_fail(err, KG_E_AUDIT, errno, "name the audit log");
	*ret = path;
	return 0;
}

/* Whether the file is new is decided by the kernel, not by an earlier look. */
static int open_file(int dir_fd, const char *name, bool *ret_is_new)
{
	const int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK |
			  O_NOCTTY | O_CLOEXEC;
	int fd, i;

	for (i = 0; i < OPEN_ATTEMPTS; i++) {
		fd = openat(dir_fd, name, flags | O_CREAT | O_EXCL, FILE_MODE);
		*ret_is_new = fd >= 0;
		if (fd >= 0 || errno != EEXIST)
			return fd;
		fd = openat(dir_fd, name, flags);
		if (fd >= 0 || errno != ENOENT)
			return fd;
	}
	return -1;
}

/* Empty, or lines of JSON: what else --audit names by mistake stays as it is.
 */
static bool is_log(int fd)
{
	char first = '{';

	return pread(fd, &first, 1, 0) <= 0 || first == '{' || first == '\n';
}

static int check_file(const struct kg_audit *audit, struct kg_error *err)
{
	struct stat st;

	if (fstat(audit->fd, &st))
		return fail(err, audit->path, errno, "can't be looked at");
	if (!S_ISREG(st.st_mode))
		return fail(err, audit->path, 0, "isn't a regular file");
	if (st.st_uid != geteuid())
		return fail(err, audit->path, 0, "belongs to another user");
	if (st.st_nlink != 1)
		return fail(err, audit->path, 0, "has a second name");
	if (!is_log(audit->fd))
		return fail(err, audit->path, 0, "isn't an audit log");

	/* A new one has lost bits to the umask. */
	if ((st.st_mode & 07777) != FILE_MODE && fchmod(audit->fd, FILE_MODE))
		return fail(err, audit->path, errno, "can't be made private");
	return 0;
}

/* Also takes the steps after which @audit has something to release. */
static int open_parts(const char *dir, const char *name, struct kg_audit *audit,
		      struct kg_error *err)
{
	audit->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (audit->dir_fd < 0)
		return fail(err, audit->path, errno,
			    "has no directory that can be used");
	audit->fd = open_file(audit->dir_fd, name, &audit->is_new_file);
	if (audit->fd < 0 && errno == ELOOP)
		return fail(err, audit->path, 0, "is a symbolic link");
	if (audit->fd < 0)
		return fail(err, audit->path, errno, "can't be opened");
	return check_file(audit, err);
}

static int make_dir(const char *dir, struct kg_audit *audit,
		    struct kg_error *err)
{
	if (mkdir(dir, DIR_MODE)) {
		if (errno == EEXIST)
			return 0;
		return fail(err, audit->path, errno,
			    "has no directory, and none can be made");
	}
	audit->is_new_dir = true;
	if (chmod(dir, DIR_MODE))
		return fail(err, audit->path, errno,
			    "has a directory that can't be made private");
	return 0;
}

static int open_log(const char *path, bool makes_dir, struct kg_audit *ret,
		    struct kg_error *err)
{
	struct kg_audit audit = KG_AUDIT_INIT;
	kg_auto_free char *dir = NULL;
	const char *slash = strrchr(path, '/');

	if (path[0] != '/' || !slash[1])
		return fail(err, path, 0, "needs the absolute path of a file");
	audit.path = strdup(path);
	dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (!audit.path || !dir) {
		(void)fail(err, path, ENOMEM, "can't be opened");
		goto undo;
	}
	if ((makes_dir && make_dir(dir, &audit, err)) ||
	    open_parts(dir, slash + 1, &audit, err))
		goto undo;
	*ret = audit;
	return 0;
undo:
	kg_audit_done(&audit);
	return -1;
}

int kg_audit_open(const char *path, struct kg_audit *ret, struct kg_error *err)
{
	return open_log(path, false, ret, err);
}

int kg_audit_open_default(const char *path, struct kg_audit *ret,
			  struct kg_error *err)
{
	return open_log(path, true, ret, err);
}

static void print_time(char *buf)
{
	struct timespec now;
	struct tm tm;
	size_t len;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	len = strftime(buf, TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(buf + len, TIME_BYTES - len, ".%03ldZ",
		       now.tv_nsec / 1000000);
}

static struct kg_json *build_rule(const struct kg_audit_record *record)
{
	struct kg_json *rule;

	if (!record->rule)
		return NULL;
	rule = kg_json_new();
	kg_json_put_text(rule, "text", record->rule);
	kg_json_put_text(rule, "origin", record->rule_origin);
	return rule;
}

static void put_record(struct kg_json *obj, const char *id,
		       const struct kg_audit_record *record)
{
	bool is_block = record->kind == KG_AUDIT_BLOCK;
	char now[TIME_BYTES];

	print_time(now);
	kg_json_put_int(obj, "v", 1);
	kg_json_put_text(obj, "id", id);
	kg_json_put_text(obj, "time", now);
	kg_json_put_text(obj, "kind", kinds[record->kind]);
	if (is_block)
		kg_json_put_text(obj, "stage", stages[record->stage]);
	kg_json_put_list(obj, "argv", record->argv);
	kg_json_put_text(obj, "cwd", record->cwd);
	kg_json_put_text(obj, "network",
			 record->network < KG_NETWORK_COUNT
				 ? kg_network_name(record->network)
				 : NULL);
	kg_json_put_list(obj, "hosts", record->hosts);
	kg_json_put_list(obj, "allow", record->allow);
	if (is_block) {
		kg_json_put_text(obj, "reason", record->reason);
		kg_json_put_object(obj, "rule", build_rule(record));
	}
	kg_json_put_text(obj, "policy", record->policy_sha256);
	kg_json_put_int(obj, "uid", (long long)getuid());
	kg_json_put_int(obj, "pid", (long long)getpid());
}

/* A newline, the object, a newline: the first is for a torn last line. */
static int build_line(const char *id, const struct kg_audit_record *record,
		      char **ret, size_t *ret_len, struct kg_error *err)
{
	kg_auto_free char *text = NULL;
	struct kg_json *obj = kg_json_new();
	char *line;
	int rc, len;

	put_record(obj, id, record);
	rc = kg_json_print(obj, &text, err);
	kg_json_free(obj);
	if (rc)
		return -1;
	len = asprintf(&line, "\n%s\n", text);
	if (len < 0)
		return kg_fail_system(err, "build the line");
	*ret = line;
	*ret_len = (size_t)len;
	return 0;
}

/*
 * flock() has no time-out of its own, and a signal or a thread for it would
 * cost the process more than a look every few milliseconds.
 */
static int lock(const struct kg_audit *audit, struct kg_error *err)
{
	struct timespec pause = { 0 };
	uint64_t since_ns = kg_now_ns();
	long pause_ms = FIRST_PAUSE_MS;

	while (flock(audit->fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return fail(err, audit->path, errno, "can't be locked");
		if (kg_deadline_ms(since_ns, KG_WAIT_LOCK) == 0)
			return fail(err, audit->path, 0,
				    "is locked by another process, which "
				    "doesn't let go");
		pause.tv_nsec = pause_ms * 1000000;
		(void)ppoll(NULL, 0, &pause, NULL);
		if (pause_ms < LAST_PAUSE_MS)
			pause_ms *= 2;
	}
	return 0;
}

/* Beyond a limit on file sizes: an error like any other, not a signal. */
static ssize_t write_unsignalled(int fd, const char *line, size_t len)
{
	const struct timespec now = { 0 };
	sigset_t one, before;
	ssize_t written;
	int saved;

	(void)sigemptyset(&one);
	(void)sigaddset(&one, SIGXFSZ);
	(void)sigprocmask(SIG_BLOCK, &one, &before);
	do
		written = write(fd, line, len);
	while (written < 0 && errno == EINTR);
	saved = errno;
	if (written < 0 && saved == EFBIG)
		(void)sigtimedwait(&one, NULL, &now);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return written;
}

static int write_line(const struct kg_audit *audit, const char *line,
		      size_t len, struct kg_error *err)
{
	struct stat st;
	char last = '\n';
	ssize_t written;

	if (fstat(audit->fd, &st) ||
	    (st.st_size > 0 && pread(audit->fd, &last, 1, st.st_size - 1) < 0))
		return fail(err, audit->path, errno, "can't be read");
	if (last == '\n') {
		line++;
		len--;
	}
	written = write_unsignalled(audit->fd, line, len);
	if (written == (ssize_t)len)
		return 0;
	(void)fail(err, audit->path, written < 0 ? errno : ENOSPC,
		   "can't be written");
	if (written > 0 && ftruncate(audit->fd, st.st_size))
		return fail(err, audit->path, errno,
			    "can't be written and is left with half a line");
	return -1;
}

int kg_audit_append(struct kg_audit *audit, const char *id,
		    const struct kg_audit_record *record, struct kg_error *err)
{
	kg_auto_free char *line = NULL;
	size_t len = 0;
	int rc;

	if (build_line(id, record, &line, &len, err))
		return fail(err, audit->path, err->errnum, "can't be written");
	if (lock(audit, err))
		return -1;
	rc = write_line(audit, line, len, err);
	(void)flock(audit->fd, LOCK_UN);
	return rc;
}

/*
 * A directory that can't be read can't be synced by itself, and some file
 * systems know no such thing.
 */
static int sync_dir(const struct kg_audit *audit, const char *name)
{
	kg_auto_close int fd = -1;

	fd = openat(audit->dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES)
		return syncfs(audit->fd);
	if (fd < 0)
		return -1;
	if (fsync(fd) && errno != EINVAL)
		return -1;
	return 0;
}

int kg_audit_sync(struct kg_audit *audit, struct kg_error *err)
{
	if (fdatasync(audit->fd) ||
	    (audit->is_new_file && sync_dir(audit, ".")) ||
	    (audit->is_new_dir && sync_dir(audit, "..")))
		return fail(err, audit->path, errno, "doesn't reach the disk");
	audit->is_new_file = false;
	audit->is_new_dir = false;
	return 0;
}

void kg_audit_done(struct kg_audit *audit)
{
	kg_scope_close_(&audit->fd);
	kg_scope_close_(&audit->dir_fd);
	free(audit->path);
	*audit = KG_AUDIT_INIT;
}
