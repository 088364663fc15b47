/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/audit.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/json.h"
#include "common/scoped.h"
#include "common/step.h"
#include "common/util.h"

#define MS	 UINT64_C(1000000)
#define LAUNCHES 50
#define ID	 "0123456789abcdef0123456789abcdef"

Suite *kg_suite(void);

static struct kg_error err;
static struct kg_audit audit;
static char base[PATH_MAX], dir[PATH_MAX], path[PATH_MAX];
static int open_before;

/* What was synced, one letter each, and what the next sync answers. */
static char synced[16];
static int sync_errnum;
static int lock_answers;

static pid_t holder;

/*
 * The program's own definitions stand before libc's: what is tested is when
 * kgate calls these and what it makes of the answer.
 */
static int note_sync(char letter)
{
	size_t len = strlen(synced);

	ck_assert_uint_lt(len, sizeof(synced) - 1);
	synced[len] = letter;
	errno = sync_errnum;
	return sync_errnum ? -1 : 0;
}

static bool is_same_file(int fd, const char *name)
{
	struct stat a, b;

	ck_assert_int_eq(fstat(fd, &a), 0);
	ck_assert_int_eq(stat(name, &b), 0);
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int fdatasync(int fd)
{
	int other = open(path, O_RDWR | O_CLOEXEC);

	ck_assert(is_same_file(fd, path));
	lock_answers = flock(other, LOCK_EX | LOCK_NB);
	(void)close(other);
	return note_sync('f');
}

int fsync(int fd)
{
	ck_assert(is_same_file(fd, dir) || is_same_file(fd, base));
	return note_sync(is_same_file(fd, dir) ? 'd' : 'p');
}

int syncfs(int fd)
{
	ck_assert(is_same_file(fd, path));
	return note_sync('s');
}

static int count_open(void)
{
	DIR *fds = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(fds))
		n++;
	closedir(fds);
	return n;
}

static void make_base(void)
{
	const char *tmp = getenv("TMPDIR");
	char made[PATH_MAX - 64];

	(void)snprintf(made, sizeof(made), "%s/kgate-audit-XXXXXX",
		       tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(made));
	ck_assert_ptr_nonnull(realpath(made, base));
	(void)snprintf(dir, sizeof(dir), "%.4000s/.kgate", base);
	(void)snprintf(path, sizeof(path), "%.4000s/audit.jsonl", dir);
	audit = KG_AUDIT_INIT;
	open_before = count_open();
}

static int remove_one(const char *name, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(name);
}

static void remove_base(void)
{
	kg_audit_done(&audit);
	kg_audit_done(&audit); /* twice is harmless */
	ck_assert_int_eq(count_open(), open_before);
	(void)chmod(dir, 0700);
	ck_assert_int_eq(nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static char **words(const char *first, const char *second)
{
	static char *list[3];

	list[0] = (char *)(uintptr_t)first;
	list[1] = (char *)(uintptr_t)second;
	return list;
}

static struct kg_audit_record launch(char *const *argv)
{
	return (struct kg_audit_record){
		.kind = KG_AUDIT_LAUNCH,
		.argv = argv,
		.cwd = "/srv/x",
		.network = KG_NETWORK_RESTRICTED,
		.policy_sha256 = "ab",
	};
}

static void append(char *const *argv)
{
	const struct kg_audit_record record = launch(argv);

	ck_assert_int_eq(kg_audit_append(&audit, ID, &record, &err), 0);
}

static void open_default(void)
{
	ck_assert_int_eq(kg_audit_open_default(path, &audit, &err), 0);
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(stat(name, &st), 0);
	return st.st_mode & 07777;
}

static void put_file(const char *name, const char *text)
{
	kg_auto_file FILE *f = fopen(name, "we");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
}

/* The whole file; the lines must be objects unless @torn is one of them. */
static size_t read_lines(json_t **ret, size_t max, const char *torn)
{
	kg_auto_file FILE *f = fopen(path, "re");
	kg_auto_free char *line = NULL;
	size_t room = 0, n = 0;
	ssize_t len;

	ck_assert_ptr_nonnull(f);
	while ((len = getline(&line, &room, f)) > 0) {
		ck_assert_int_eq(line[len - 1], '\n');
		if (torn && strncmp(line, torn, strlen(torn)) == 0)
			continue;
		ck_assert_uint_lt(n, max);
		ret[n] = json_loadb(line, (size_t)len, JSON_REJECT_DUPLICATES,
				    NULL);
		ck_assert_ptr_nonnull(ret[n]);
		n++;
	}
	return n;
}

static json_t *read_only_line(void)
{
	json_t *line;

	ck_assert_uint_eq(read_lines(&line, 1, NULL), 1);
	return line;
}

static const char *text_of(const json_t *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line, key));

	ck_assert_ptr_nonnull(text);
	return text;
}

static void expect_keys(json_t *line, const char *keys)
{
	char found[256] = "";
	const char *key;
	json_t *value;

	json_object_foreach(line, key, value)
	{
		(void)strncat(found, key, 32);
		(void)strcat(found, " ");
	}
	ck_assert_str_eq(found, keys);
}

static void expect_refusal(int rc)
{
	ck_assert_int_eq(rc, -1);
	ck_assert_uint_eq(err.code, KG_E_AUDIT);
	ck_assert_ptr_nonnull(strstr(err.msg, "--audit FILE"));
	ck_assert_int_eq(audit.fd, -1);
	ck_assert_int_eq(count_open(), open_before);
}

START_TEST(writes_a_launch)
{
	struct kg_audit_record record = launch(words("git", "status"));
	static char *const none[] = { NULL };
	const char *now;
	json_t *line;
	int ms;

	record.hosts = words("git", "status");
	record.allow = none;
	open_default();
	ck_assert_int_eq(kg_audit_append(&audit, ID, &record, &err), 0);
	line = read_only_line();
	expect_keys(line, "v id time kind argv cwd network hosts allow policy "
			  "uid pid ");
	ck_assert_int_eq(json_integer_value(json_object_get(line, "v")), 1);
	ck_assert_str_eq(text_of(line, "id"), ID);
	ck_assert_str_eq(text_of(line, "kind"), "launch");
	ck_assert_str_eq(text_of(line, "cwd"), "/srv/x");
	ck_assert_str_eq(text_of(line, "network"), "restricted");
	ck_assert_str_eq(text_of(line, "policy"), "ab");
	ck_assert_uint_eq(json_array_size(json_object_get(line, "argv")), 2);
	ck_assert_uint_eq(json_array_size(json_object_get(line, "hosts")), 2);
	ck_assert(json_is_array(json_object_get(line, "allow")));
	ck_assert_int_eq(json_integer_value(json_object_get(line, "uid")),
			 getuid());
	ck_assert_int_eq(json_integer_value(json_object_get(line, "pid")),
			 getpid());
	now = text_of(line, "time");
	ck_assert_uint_eq(strlen(now), strlen("2024-01-01T00:00:00.000Z"));
	ck_assert_int_eq(
		sscanf(now, "20%*2d-%*2d-%*2dT%*2d:%*2d:%*2d.%3dZ", &ms), 1);
	json_decref(line);
}
END_TEST

START_TEST(writes_a_block)
{
	struct kg_audit_record record = launch(words("git", "status"));
	json_t *line, *rule;

	record.kind = KG_AUDIT_BLOCK;
	record.stage = KG_AUDIT_EXEC;
	record.reason = "no\nsuch file";
	record.rule = "working directory: /etc and below";
	record.rule_origin = "default";
	open_default();
	ck_assert_int_eq(kg_audit_append(&audit, ID, &record, &err), 0);
	line = read_only_line();
	expect_keys(line, "v id time kind stage argv cwd network hosts allow "
			  "reason rule policy uid pid ");
	ck_assert_str_eq(text_of(line, "kind"), "block");
	ck_assert_str_eq(text_of(line, "stage"), "exec");
	ck_assert_str_eq(text_of(line, "reason"), "no\nsuch file");
	rule = json_object_get(line, "rule");
	ck_assert_str_eq(text_of(rule, "text"),
			 "working directory: /etc and below");
	ck_assert_str_eq(text_of(rule, "origin"), "default");
	json_decref(line);
}
END_TEST

START_TEST(says_null_for_what_is_not_known)
{
	static const char *const keys[] = { "argv",  "cwd",   "network",
					    "hosts", "allow", "reason",
					    "rule",  "policy" };
	const struct kg_audit_record record = {
		.kind = KG_AUDIT_BLOCK,
		.stage = KG_AUDIT_CONFIG,
		.network = KG_NETWORK_COUNT,
	};
	json_t *line;
	size_t i;

	open_default();
	ck_assert_int_eq(kg_audit_append(&audit, ID, &record, &err), 0);
	line = read_only_line();
	for (i = 0; i < KG_ARRAY_LEN(keys); i++)
		ck_assert(json_is_null(json_object_get(line, keys[i])));
	json_decref(line);
}
END_TEST

START_TEST(gives_each_launch_an_id_of_its_own)
{
	char a[KG_AUDIT_ID_BYTES], b[KG_AUDIT_ID_BYTES];

	ck_assert_int_eq(kg_audit_id(a, &err), 0);
	ck_assert_int_eq(kg_audit_id(b, &err), 0);
	ck_assert_uint_eq(strlen(a), KG_AUDIT_ID_BYTES - 1);
	ck_assert_uint_eq(strspn(a, "0123456789abcdef"), strlen(a));
	ck_assert_str_ne(a, b);
}
END_TEST

/* Every byte, and an argument that looks like a line of the log. */
START_TEST(keeps_every_byte_of_an_argument)
{
	static const char forged[] = "x\"]}\n{\"v\":1,\"kind\":\"launch\"}\n";
	char bytes[256], *back;
	const char *text;
	json_t *line, *argv;
	size_t i, len;

	for (i = 0; i < 255; i++)
		bytes[i] = (char)(i + 1);
	bytes[255] = '\0';
	open_default();
	append(words(bytes, forged));
	line = read_only_line();
	argv = json_object_get(line, "argv");
	text = json_string_value(json_array_get(argv, 0));
	ck_assert_int_eq(
		kg_json_unescape(text, strlen(text), &back, &len, &err), 0);
	ck_assert_str_eq(back, bytes);
	ck_assert_str_eq(json_string_value(json_array_get(argv, 1)), forged);
	free(back);
	json_decref(line);
}
END_TEST

START_TEST(holds_a_hundred_thousand_arguments)
{
	static char *argv[100001], empty[] = "", odd[] = "\xff\n";
	json_t *line;
	size_t i;

	for (i = 0; i < 100000; i++)
		argv[i] = empty;
	argv[7] = odd;
	open_default();
	append(argv);
	line = read_only_line();
	ck_assert_uint_eq(json_array_size(json_object_get(line, "argv")),
			  100000);
	json_decref(line);
}
END_TEST

START_TEST(is_private_whatever_the_umask)
{
	static const mode_t masks[] = { 0, 022, 0277, 0777 };
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(masks); i++) {
		(void)umask(masks[i]);
		open_default();
		(void)umask(022);
		ck_assert_uint_eq(mode_of(dir), 0700);
		ck_assert_uint_eq(mode_of(path), 0600);
		kg_audit_done(&audit);
		ck_assert_int_eq(unlink(path), 0);
		ck_assert_int_eq(rmdir(dir), 0);
	}
}
END_TEST

START_TEST(narrows_a_file_that_is_too_open)
{
	ck_assert_int_eq(mkdir(dir, 0755), 0);
	put_file(path, "");
	ck_assert_int_eq(chmod(path, 0666), 0);
	ck_assert_int_eq(kg_audit_open(path, &audit, &err), 0);
	ck_assert_uint_eq(mode_of(path), 0600);
	ck_assert(!audit.is_new_file && !audit.is_new_dir);
}
END_TEST

START_TEST(makes_no_directory_for_a_named_file)
{
	expect_refusal(kg_audit_open(path, &audit, &err));
	ck_assert_int_eq(access(dir, F_OK), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, path));
	ck_assert_int_eq(err.errnum, ENOENT);
}
END_TEST

START_TEST(refuses_a_path_that_names_no_file)
{
	static const char *const bad[] = { "", "audit.jsonl", "./x", "/",
					   "/tmp/" };
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(bad); i++)
		expect_refusal(kg_audit_open(bad[i], &audit, &err));
	expect_refusal(kg_audit_open(base, &audit, &err));
}
END_TEST

START_TEST(leaves_a_file_alone_that_is_no_log)
{
	kg_auto_close int fd = -1;
	char other[sizeof(path) + 8];
	struct stat st;

	ck_assert_int_eq(mkdir(dir, 0700), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_eq(write(fd, "all:\n", 5), 5);
	kg_scope_close_(&fd);
	expect_refusal(kg_audit_open(path, &audit, &err));
	ck_assert_ptr_nonnull(strstr(err.msg, "isn't an audit log"));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0644);

	ck_assert_int_eq(truncate(path, 0), 0);
	(void)snprintf(other, sizeof(other), "%s.2", path);
	ck_assert_int_eq(link(path, other), 0);
	expect_refusal(kg_audit_open(path, &audit, &err));
	ck_assert_ptr_nonnull(strstr(err.msg, "second name"));
	ck_assert_int_eq(unlink(other), 0);
	ck_assert_int_eq(kg_audit_open(path, &audit, &err), 0);
	kg_audit_done(&audit);
}
END_TEST

START_TEST(refuses_what_else_stands_in_its_place)
{
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	expect_refusal(kg_audit_open_default(path, &audit, &err));
	ck_assert_int_eq(unlink(path), 0);

	ck_assert_int_eq(symlink("target", path), 0);
	expect_refusal(kg_audit_open_default(path, &audit, &err));
	ck_assert_ptr_nonnull(strstr(err.msg, "symbolic link"));
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(access("target", F_OK), -1);
	put_file("target", "");
	expect_refusal(kg_audit_open_default(path, &audit, &err));
	ck_assert_int_eq(unlink(path), 0);

	ck_assert_int_eq(mkdir(path, 0700), 0);
	expect_refusal(kg_audit_open_default(path, &audit, &err));
}
END_TEST

START_TEST(refuses_a_file_where_the_directory_should_be)
{
	put_file(dir, "");
	expect_refusal(kg_audit_open_default(path, &audit, &err));
}
END_TEST

/* Root may write anywhere, but may also give a file away. */
START_TEST(refuses_a_file_that_is_not_the_callers)
{
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	put_file(path, "");
	if (getuid() == 0)
		ck_assert_int_eq(chown(path, 65534, 65534), 0);
	else
		ck_assert_int_eq(chmod(path, 0400), 0);
	expect_refusal(kg_audit_open_default(path, &audit, &err));
}
END_TEST

START_TEST(names_the_flag_when_home_is_not_writable)
{
	if (getuid() == 0)
		return;
	ck_assert_int_eq(chmod(base, 0500), 0);
	expect_refusal(kg_audit_open_default(path, &audit, &err));
	ck_assert_int_eq(err.errnum, EACCES);
	ck_assert_int_eq(chmod(base, 0700), 0);
}
END_TEST

START_TEST(finds_the_default_in_the_config_directory)
{
	char config[] = "/srv/u/.kgate";
	struct kg_home home = { .config_dir = config };
	char *found = NULL;

	ck_assert_int_eq(kg_audit_default_path(&home, &found, &err), 0);
	ck_assert_str_eq(found, "/srv/u/.kgate/audit.jsonl");
	free(kg_take_ptr(found));
	home.config_dir = NULL;
	expect_refusal(kg_audit_default_path(&home, &found, &err));
	ck_assert_ptr_null(found);
}
END_TEST

START_TEST(begins_a_new_line_after_a_torn_one)
{
	json_t *lines[2];

	ck_assert_int_eq(mkdir(dir, 0700), 0);
	put_file(path, "{\"v\":1,\"id\":\"to");
	open_default();
	append(words("a", NULL));
	append(words("b", NULL));
	ck_assert_uint_eq(read_lines(lines, 2, "{\"v\":1,\"id\":\"to\n"), 2);
	json_decref(lines[0]);
	json_decref(lines[1]);
}
END_TEST

static off_t size_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(stat(name, &st), 0);
	return st.st_size;
}

/* Check writes to a file too: the limit stands for the append alone. */
static int append_below_limit(rlim_t limit)
{
	const struct kg_audit_record record = launch(words("a", "b"));
	struct rlimit old, tight;
	int rc;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	tight = old;
	tight.rlim_cur = limit;
	(void)setrlimit(RLIMIT_FSIZE, &tight);
	rc = kg_audit_append(&audit, ID, &record, &err);
	(void)setrlimit(RLIMIT_FSIZE, &old);
	return rc;
}

/* A limit on file sizes cuts a write short like a full disk. */
START_TEST(takes_back_what_could_not_be_written_whole)
{
	static const rlim_t more[] = { 0, 1, 20, 100 };
	json_t *lines[2];
	sigset_t blocked;
	off_t before;
	size_t i;

	open_default();
	append(words("a", NULL));
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, NULL, &blocked), 0);
	ck_assert_int_eq(sigismember(&blocked, SIGXFSZ), 0);
	before = size_of(path);
	for (i = 0; i < KG_ARRAY_LEN(more); i++) {
		ck_assert_int_eq(append_below_limit((rlim_t)before + more[i]),
				 -1);
		ck_assert_uint_eq(err.code, KG_E_AUDIT);
		ck_assert_int_eq(err.errnum, more[i] ? ENOSPC : EFBIG);
		ck_assert_int_eq(size_of(path), before);
	}
	append(words("b", NULL));
	ck_assert_uint_eq(read_lines(lines, 2, NULL), 2);
	json_decref(lines[0]);
	json_decref(lines[1]);
}
END_TEST

/* A process that holds the lock and has stopped. */
static pid_t start_lock_holder(void)
{
	pid_t pid = fork();
	int fd, status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0 || flock(fd, LOCK_EX))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	return pid;
}

START_TEST(gives_up_a_lock_that_is_not_released)
{
	const struct kg_audit_record record = launch(words("a", "b"));
	kg_auto_reap pid_t pid = -1;
	uint64_t since_ns, took_ns;

	open_default();
	pid = start_lock_holder();
	since_ns = kg_now_ns();
	ck_assert_int_eq(kg_audit_append(&audit, ID, &record, &err), -1);
	took_ns = kg_now_ns() - since_ns;
	ck_assert_uint_eq(err.code, KG_E_AUDIT);
	ck_assert_uint_ge(took_ns, (uint64_t)kg_wait_ms(KG_WAIT_LOCK) * MS);
	ck_assert_uint_lt(took_ns, 2000 * MS);
	ck_assert_int_eq(size_of(path), 0);
}
END_TEST

static void end_holder(int sig)
{
	(void)sig;
	(void)kill(holder, SIGKILL);
}

/* The signal comes while the append waits, and must not end the wait either. */
START_TEST(takes_a_lock_when_its_holder_dies)
{
	const struct itimerval soon = { .it_value.tv_usec = 50 * 1000 };
	const struct sigaction sa = { .sa_handler = end_holder };

	open_default();
	holder = start_lock_holder();
	ck_assert_int_eq(sigaction(SIGALRM, &sa, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
	append(words("a", NULL));
	ck_assert_int_eq(waitpid(holder, NULL, 0), holder);
	json_decref(read_only_line());
}
END_TEST

static void launch_once(int number)
{
	char text[64];

	if (kg_audit_open_default(path, &audit, &err))
		_exit(1);
	(void)snprintf(text, sizeof(text), "%d\n{\"v\":1}\n\x01\xff", number);
	append(words(text, "\n\n"));
	if (kg_audit_sync(&audit, &err))
		_exit(2);
	_exit(0);
}

START_TEST(bears_fifty_launches_at_once)
{
	json_t *lines[LAUNCHES];
	pid_t pids[LAUNCHES];
	int i, status;

	for (i = 0; i < LAUNCHES; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			launch_once(i);
	}
	for (i = 0; i < LAUNCHES; i++) {
		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_uint_eq(read_lines(lines, LAUNCHES, NULL), LAUNCHES);
	for (i = 0; i < LAUNCHES; i++)
		json_decref(lines[i]);
}
END_TEST

START_TEST(syncs_the_file_and_once_what_holds_it)
{
	open_default();
	append(words("a", NULL));
	ck_assert_str_eq(synced, "");
	ck_assert_int_eq(kg_audit_sync(&audit, &err), 0);
	ck_assert_str_eq(synced, "fdp");
	ck_assert_int_eq(lock_answers, 0); /* nobody held the lock */
	ck_assert_int_eq(kg_audit_sync(&audit, &err), 0);
	ck_assert_str_eq(synced, "fdpf");

	kg_audit_done(&audit);
	ck_assert_int_eq(unlink(path), 0);
	open_default();
	ck_assert_int_eq(kg_audit_sync(&audit, &err), 0);
	ck_assert_str_eq(synced, "fdpffd");
}
END_TEST

START_TEST(fails_when_the_disk_does)
{
	open_default();
	append(words("a", NULL));
	sync_errnum = EIO;
	ck_assert_int_eq(kg_audit_sync(&audit, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_AUDIT);
	ck_assert_int_eq(err.errnum, EIO);
	ck_assert_str_eq(synced, "f");
	sync_errnum = 0;
	ck_assert_int_eq(kg_audit_sync(&audit, &err), 0);
	ck_assert_str_eq(synced, "ffdp"); /* still owed */
}
END_TEST

/* Root can read it all the same. */
START_TEST(syncs_a_directory_that_cannot_be_read)
{
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	ck_assert_int_eq(chmod(dir, 0300), 0);
	open_default();
	ck_assert_int_eq(kg_audit_sync(&audit, &err), 0);
	ck_assert_str_eq(synced, getuid() == 0 ? "fd" : "fs");
}
END_TEST

static TCase *make_case(const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, make_base, remove_base);
	tcase_set_timeout(tc, 30);
	return tc;
}

Suite *kg_suite(void)
{
	Suite *s = suite_create("supervisor/audit");
	TCase *tc = make_case("line");

	tcase_add_test(tc, writes_a_launch);
	tcase_add_test(tc, writes_a_block);
	tcase_add_test(tc, says_null_for_what_is_not_known);
	tcase_add_test(tc, gives_each_launch_an_id_of_its_own);
	tcase_add_test(tc, keeps_every_byte_of_an_argument);
	tcase_add_test(tc, holds_a_hundred_thousand_arguments);
	suite_add_tcase(s, tc);

	tc = make_case("open");
	tcase_add_test(tc, is_private_whatever_the_umask);
	tcase_add_test(tc, narrows_a_file_that_is_too_open);
	tcase_add_test(tc, makes_no_directory_for_a_named_file);
	tcase_add_test(tc, refuses_a_path_that_names_no_file);
	tcase_add_test(tc, leaves_a_file_alone_that_is_no_log);
	tcase_add_test(tc, refuses_what_else_stands_in_its_place);
	tcase_add_test(tc, refuses_a_file_where_the_directory_should_be);
	tcase_add_test(tc, refuses_a_file_that_is_not_the_callers);
	tcase_add_test(tc, names_the_flag_when_home_is_not_writable);
	tcase_add_test(tc, finds_the_default_in_the_config_directory);
	suite_add_tcase(s, tc);

	tc = make_case("append");
	tcase_add_test(tc, begins_a_new_line_after_a_torn_one);
	tcase_add_test(tc, takes_back_what_could_not_be_written_whole);
	tcase_add_test(tc, gives_up_a_lock_that_is_not_released);
	tcase_add_test(tc, takes_a_lock_when_its_holder_dies);
	tcase_add_test(tc, bears_fifty_launches_at_once);
	suite_add_tcase(s, tc);

	tc = make_case("sync");
	tcase_add_test(tc, syncs_the_file_and_once_what_holds_it);
	tcase_add_test(tc, fails_when_the_disk_does);
	tcase_add_test(tc, syncs_a_directory_that_cannot_be_read);
	suite_add_tcase(s, tc);

	return s;
}
