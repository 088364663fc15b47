/* SPDX-License-Identifier: MIT */
/*
 * The relay between a caller's descriptors 0 to 2, which each test lays out,
 * and the box's ends, which a child of the test plays the command with.
 */
#include "config.h"

#include "supervisor/relay.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/scoped.h"
#include "common/util.h"

Suite *kg_suite(void);

/* More than all buffers on the way hold together. */
#define MUCH	 (1u << 20)
#define LONG_MS	 10000
#define QUIET_MS 50

static struct kg_error err;
static struct kg_relay *relay;
static int box[KG_RELAY_STREAMS] = { -1, -1, -1 };
static int saved[3], open_before;

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* --- the caller's side --------------------------------------------------- */

static void put(int number, int fd)
{
	ck_assert_int_ge(fd, 0);
	if (fd == number)
		return;
	ck_assert_int_eq(dup2(fd, number), number);
	close(fd);
}

/* All three are /dev/null until a test says otherwise. */
static void lay_out(void)
{
	int fd;

	open_before = count_open();
	(void)signal(SIGPIPE, SIG_IGN); /* as kgate has it */
	for (fd = 0; fd <= 2; fd++)
		saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
	for (fd = 0; fd <= 2; fd++)
		put(fd, open("/dev/null", O_RDWR | O_CLOEXEC));
}

static void close_box(void)
{
	int i;

	for (i = 0; i < KG_RELAY_STREAMS; i++)
		kg_scope_close_(&box[i]);
}

static void clear_away(void)
{
	int fd;

	kg_relay_free(relay);
	close_box();
	for (fd = 0; fd <= 2; fd++)
		put(fd, saved[fd]);
	ck_assert_int_eq(count_open(), open_before);
}

/* A pipe at one of the three; the test's end. */
static int put_pipe(int number)
{
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	put(number, ends[number == 0 ? 0 : 1]);
	return ends[number == 0 ? 1 : 0];
}

/* A file without a name at one of the three; another descriptor of it. */
static int put_file(int number, const char *text)
{
	int fd = memfd_create("caller", MFD_CLOEXEC);
	char path[64];

	ck_assert_int_eq(kg_fd_write_all(fd, text, strlen(text)), 0);
	put(number, fd);
	(void)lseek(number, 0, SEEK_SET);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", number);
	return open(path, O_RDWR | O_CLOEXEC);
}

static void open_relay(void)
{
	relay = kg_relay_open(box, &err);
	ck_assert_msg(relay, "%s", err.msg);
}

/* --- turns of the loop --------------------------------------------------- */

/* One turn; false when nothing happened for that long. */
static bool turn(int timeout_ms)
{
	struct pollfd pfd[KG_RELAY_POLL_FDS];

	kg_relay_prepare(relay, pfd);
	if (poll(pfd, KG_RELAY_POLL_FDS, timeout_ms) <= 0)
		return false;
	kg_relay_advance(relay, pfd);
	return true;
}

/* Until nothing moves any more. */
static void turn_until_quiet(void)
{
	int i;

	for (i = 0; i < 100000 && turn(QUIET_MS); i++)
		;
	ck_assert_int_lt(i, 100000);
}

static bool is_over(int i)
{
	return relay->streams[i].from < 0 && relay->streams[i].to < 0;
}

static void turn_until_over(int i)
{
	while (!is_over(i))
		ck_assert(turn(LONG_MS));
}

/* --- the command --------------------------------------------------------- */

/* What stream @which of the command writes: every byte, and no period of 2. */
static void fill_pattern(char *data, size_t len, int which)
{
	size_t i;

	for (i = 0; i < len; i++)
		data[i] = (char)(i * 7 + i / 251 + (size_t)which);
}

/* The box's ends are the command's alone from here on. */
static pid_t start(void (*body)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		kg_relay_free(relay); /* kgate's ends aren't the command's */
		body();
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	close_box();
	return pid;
}

static void expect_end(pid_t pid)
{
	int status = -1;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

static void write_pattern(int which, size_t step)
{
	static char data[MUCH];
	size_t i;

	fill_pattern(data, MUCH, which);
	for (i = 0; i < MUCH; i += step)
		if (kg_fd_write_all(box[which], data + i, step))
			_exit(1);
}

static void write_much(void)
{
	write_pattern(1, MUCH);
}

static void write_much_in_pieces(void)
{
	write_pattern(1, 128);
}

static void expect_pattern(int fd, size_t want_len, int which)
{
	kg_auto_free char *want = malloc(want_len + 1);
	kg_auto_free char *got = NULL;
	size_t len;

	fill_pattern(want, want_len, which);
	ck_assert_int_eq(kg_fd_read_all(fd, want_len, &got, &len, &err), 0);
	ck_assert_uint_eq(len, want_len);
	ck_assert_int_eq(memcmp(got, want, len), 0);
}

static void expect_text(int fd, const char *want)
{
	kg_auto_free char *got = NULL;
	size_t len;

	ck_assert_int_eq(kg_fd_read_all(fd, MUCH, &got, &len, &err), 0);
	ck_assert_str_eq(got, want);
}

/* --- what the box gets --------------------------------------------------- */

static bool is_same_file(int a, int b)
{
	struct stat x, y;

	ck_assert_int_eq(fstat(a, &x) | fstat(b, &y), 0);
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

START_TEST(gives_the_box_descriptors_of_kgates_own)
{
	static const int modes[] = { O_RDONLY, O_WRONLY, O_WRONLY };
	kg_auto_close int in = put_file(0, "secret");
	kg_auto_close int out = put_pipe(1);
	kg_auto_close int log = put_file(2, "log");
	const int callers[] = { 0, 1, 2, in, out, log };
	int i, j;

	open_relay();
	for (i = 0; i < KG_RELAY_STREAMS; i++) {
		ck_assert_int_gt(box[i], 2);
		ck_assert(is_pipe(box[i]));
		ck_assert(fcntl(box[i], F_GETFD) & FD_CLOEXEC);
		/* Exactly this mode, and it blocks as programs expect.
		 */
		ck_assert_int_eq(fcntl(box[i], F_GETFL) &
					 (O_ACCMODE | O_NONBLOCK),
				 modes[i]);
		for (j = 0; j < (int)KG_ARRAY_LEN(callers); j++)
			ck_assert(!is_same_file(box[i], callers[j]));
	}
}
END_TEST

START_TEST(passes_a_terminal_on_as_a_pipe)
{
	kg_auto_close int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char slave[64];
	int i;

	ck_assert_int_eq(grantpt(master) | unlockpt(master), 0);
	ck_assert_int_eq(ptsname_r(master, slave, sizeof(slave)), 0);
	for (i = 0; i <= 2; i++)
		put(i, open(slave, O_RDWR | O_NOCTTY | O_CLOEXEC));
	open_relay();
	for (i = 0; i < KG_RELAY_STREAMS; i++)
		ck_assert(is_pipe(box[i]) && !isatty(box[i]));
}
END_TEST

/* Neither the host's null device nor a pipe that anybody holds on to. */
START_TEST(leaves_dev_null_to_the_box)
{
	char byte;

	open_relay();
	ck_assert_uint_eq(relay->null_fds, KG_BIT32(0) | KG_BIT32(1));
	ck_assert(is_pipe(box[0]) && is_pipe(box[1]) && is_pipe(box[2]));
	ck_assert_int_eq(read(box[0], &byte, 1), 0);
	ck_assert_int_eq(write(box[1], "x", 1), -1);
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(write(box[2], "x", 1), 1); /* bwrap's words */
}
END_TEST

START_TEST(refuses_a_directory_for_input)
{
	put(0, open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	ck_assert_ptr_null(kg_relay_open(box, &err));
	ck_assert_uint_eq(err.code, KG_E_USAGE);
	ck_assert_ptr_nonnull(strstr(err.msg, "directory"));
	ck_assert_ptr_nonnull(strstr(err.msg, "</dev/null"));
}
END_TEST

START_TEST(says_that_a_descriptor_is_closed)
{
	close(0);
	relay = kg_relay_open(box, &err);
	put(0, open("/dev/null", O_RDWR | O_CLOEXEC));
	ck_assert_ptr_null(relay);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_int_eq(err.errnum, EBADF);
	ck_assert_ptr_nonnull(strstr(err.msg, "standard input"));
}
END_TEST

/* Room for so many more descriptors; six are needed. */
START_TEST(leaks_nothing_when_descriptors_run_out)
{
	kg_auto_close int in = put_pipe(0);
	kg_auto_close int out = put_pipe(1);
	struct rlimit old, tight;
	int next = dup(0);

	ck_assert(in > 2 && out > 2);
	close(next);
	getrlimit(RLIMIT_NOFILE, &old);
	tight = old;
	tight.rlim_cur = (rlim_t)(next + _i);
	setrlimit(RLIMIT_NOFILE, &tight);
	relay = kg_relay_open(box, &err);
	setrlimit(RLIMIT_NOFILE, &old);
	ck_assert_ptr_null(relay);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
}
END_TEST

/* Others share them: a shell would find its terminal changed. */
START_TEST(leaves_the_callers_descriptors_as_they_are)
{
	kg_auto_close int in = put_pipe(0);
	kg_auto_close int out = put_pipe(1);
	kg_auto_close int log = put_pipe(2);
	int before[3], i;

	for (i = 0; i <= 2; i++)
		before[i] = fcntl(i, F_GETFL);
	open_relay();
	ck_assert_int_eq(write(in, "a", 1), 1);
	ck_assert_int_eq(write(box[1], "b", 1), 1);
	ck_assert_int_eq(write(box[2], "c", 1), 1);
	turn_until_quiet();
	ck_assert(kg_fd_is_ready(out) && kg_fd_is_ready(log));
	for (i = 0; i <= 2; i++) {
		ck_assert_int_eq(fcntl(i, F_GETFL), before[i]);
		ck_assert_int_eq(before[i] & O_NONBLOCK, 0);
	}
	kg_relay_free(kg_take_ptr(relay));
	for (i = 0; i <= 2; i++)
		ck_assert_int_eq(fcntl(i, F_GETFL), before[i]);
}
END_TEST

/* --- output -------------------------------------------------------------- */

START_TEST(carries_output_written_in_one_go)
{
	kg_auto_close int file = put_file(1, "");
	pid_t pid;

	open_relay();
	pid = start(write_much);
	turn_until_over(1);
	expect_pattern(file, MUCH, 1);
	expect_end(pid);
}
END_TEST

START_TEST(carries_output_written_in_pieces)
{
	kg_auto_close int file = put_file(1, "");
	pid_t pid;

	open_relay();
	pid = start(write_much_in_pieces);
	turn_until_over(1);
	expect_pattern(file, MUCH, 1);
	expect_end(pid);
}
END_TEST

/* Each byte is there before the next is written. */
START_TEST(carries_output_byte_by_byte)
{
	kg_auto_close int out = put_pipe(1);
	char sent[512], got;
	size_t i;

	fill_pattern(sent, sizeof(sent), 1);
	open_relay();
	for (i = 0; i < sizeof(sent); i++) {
		ck_assert_int_eq(write(box[1], sent + i, 1), 1);
		while (!kg_fd_is_ready(out))
			ck_assert(turn(LONG_MS));
		ck_assert_int_eq(read(out, &got, 1), 1);
		ck_assert_int_eq(got, sent[i]);
	}
}
END_TEST

static void write_to_both(void)
{
	write_pattern(2, 4096);
	write_pattern(1, 512);
}

START_TEST(keeps_output_and_errors_apart)
{
	kg_auto_close int out = put_file(1, "");
	kg_auto_close int log = put_file(2, "");
	pid_t pid;

	open_relay();
	pid = start(write_to_both);
	turn_until_over(1);
	turn_until_over(2);
	expect_pattern(out, MUCH, 1);
	expect_pattern(log, MUCH, 2);
	expect_end(pid);
}
END_TEST

/* A pipe of one page: whoever writes more than poll() promised is stuck. */
START_TEST(waits_for_a_reader_that_stops)
{
	kg_auto_close int out = put_pipe(1);
	kg_auto_free char *got = malloc(MUCH + 1000);
	kg_auto_free char *want = malloc(MUCH);
	size_t len = 0;
	pid_t pid;
	ssize_t n;

	(void)fcntl(out, F_SETPIPE_SZ, 4096);
	fill_pattern(want, MUCH, 1);
	open_relay();
	pid = start(write_much);
	while (!kg_fd_is_ready(out))
		ck_assert(turn(LONG_MS));
	turn_until_quiet();
	/* It waits as well. */
	ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);

	while ((n = read(out, got + len, 1000)) > 0) {
		len += (size_t)n;
		while (!kg_fd_is_ready(out) && !is_over(1))
			ck_assert(turn(LONG_MS));
		if (is_over(1))
			put(1, open("/dev/null", O_WRONLY | O_CLOEXEC));
	}
	ck_assert_uint_eq(len, MUCH);
	ck_assert_int_eq(memcmp(got, want, MUCH), 0);
	expect_end(pid);
}
END_TEST

/* What one stream's reader does is nothing to the other. */
START_TEST(lets_errors_pass_while_output_waits)
{
	kg_auto_close int out = put_pipe(1);
	kg_auto_close int log = put_pipe(2);
	pid_t pid;
	char got[8] = "";

	open_relay();
	ck_assert(!kg_fd_is_ready(out));
	(void)fcntl(box[2], F_DUPFD_CLOEXEC, 200);
	pid = start(write_much);
	turn_until_quiet();
	ck_assert_int_eq(write(200, "late", 4), 4);
	while (!kg_fd_is_ready(log))
		ck_assert(turn(LONG_MS));
	ck_assert_int_eq(read(log, got, sizeof(got) - 1), 4);
	ck_assert_str_eq(got, "late");
	close(200);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

static void write_until_nobody_reads(void)
{
	char data[4096] = "x";
	int i;

	for (i = 0; i < 1000; i++)
		if (write(box[1], data, sizeof(data)) < 0)
			_exit(errno == EPIPE ? 0 : 1);
	_exit(2);
}

START_TEST(tells_the_writer_that_nobody_reads)
{
	int out = put_pipe(1);
	pid_t pid;

	open_relay();
	close(out);
	pid = start(write_until_nobody_reads);
	turn_until_over(1);
	expect_end(pid);
	ck_assert_int_eq(kg_relay_error(relay, &err), 0); /* none was lost */
}
END_TEST

START_TEST(reports_output_that_was_lost)
{
	static const char *const want[] = {
		[1] = "output was lost: write to standard output: "
		      "No space left on device",
		[2] = "output was lost: write to standard error: "
		      "No space left on device",
	};

	put(_i, open("/dev/full", O_WRONLY | O_CLOEXEC));
	open_relay();
	ck_assert_int_eq(kg_relay_error(relay, &err), 0);
	ck_assert_int_eq(write(box[_i], "x", 1), 1);
	turn_until_over(_i);
	ck_assert_int_eq(kg_relay_error(relay, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_int_eq(err.errnum, ENOSPC);
	ck_assert_str_eq(err.msg, want[_i]);
	ck_assert_int_eq(write(box[_i], "x", 1), -1); /* the command sees it */
	ck_assert_int_eq(errno, EPIPE);
}
END_TEST

/* --- input --------------------------------------------------------------- */

/* The box's end is as long as the text, and then at an end of file. */
static void expect_input(const char *want)
{
	turn_until_over(0);
	expect_text(box[0], want);
}

START_TEST(carries_a_file_to_its_end)
{
	kg_auto_close int file = put_file(0, "one\ntwo\n");

	open_relay();
	ck_assert_int_eq(lseek(0, 0, SEEK_CUR), 0); /* not before it's due */
	expect_input("one\ntwo\n");
	ck_assert_int_eq(lseek(0, 0, SEEK_CUR), 8);
	ck_assert_int_eq(pwrite(file, "x", 1, 0), 1); /* the caller's still */
}
END_TEST

START_TEST(carries_a_pipe_to_its_end)
{
	int in = put_pipe(0);
	char got[8] = "";

	open_relay();
	ck_assert_int_eq(write(in, "ab", 2), 2);
	while (!kg_fd_is_ready(box[0]))
		ck_assert(turn(LONG_MS));
	ck_assert_int_eq(read(box[0], got, sizeof(got)), 2);
	ck_assert_str_eq(got, "ab");
	ck_assert_int_eq(write(in, "cd", 2), 2);
	close(in);
	expect_input("cd");
}
END_TEST

START_TEST(carries_a_socket_to_its_end)
{
	int ends[2];

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	put(0, ends[0]);
	open_relay();
	ck_assert_int_eq(write(ends[1], "abc", 3), 3);
	ck_assert_int_eq(shutdown(ends[1], SHUT_WR), 0);
	expect_input("abc");
	close(ends[1]);
}
END_TEST

START_TEST(takes_an_empty_input_for_an_end)
{
	int in = put_pipe(0);

	open_relay();
	close(in);
	expect_input("");
}
END_TEST

/* Whoever waits for input that has not come yet keeps the processor free. */
START_TEST(waits_for_input_that_is_not_there)
{
	kg_auto_close int in = put_pipe(0);

	(void)fcntl(0, F_SETFL, O_NONBLOCK); /* as some callers have it */
	open_relay();
	ck_assert(!turn(QUIET_MS));
	ck_assert_int_ge(relay->streams[0].from, 0);
	ck_assert_int_eq(write(in, "x", 1), 1);
	ck_assert(turn(LONG_MS));
}
END_TEST

/* Others may share it: what poll() saw can be gone. */
START_TEST(lives_with_input_that_somebody_else_took)
{
	struct pollfd pfd[KG_RELAY_POLL_FDS];
	int in = put_pipe(0);
	char got;

	(void)fcntl(0, F_SETFL, O_NONBLOCK);
	open_relay();
	ck_assert_int_eq(write(in, "x", 1), 1);
	kg_relay_prepare(relay, pfd);
	ck_assert_int_eq(poll(pfd, KG_RELAY_POLL_FDS, LONG_MS), 1);
	ck_assert_int_eq(read(0, &got, 1), 1);
	kg_relay_advance(relay, pfd);
	ck_assert_int_eq(write(in, "y", 1), 1);
	close(in);
	expect_input("y");
}
END_TEST

static void read_all_input(void)
{
	kg_auto_free char *want = malloc(MUCH);
	kg_auto_free char *got = NULL;
	size_t len;

	fill_pattern(want, MUCH, 0);
	if (kg_fd_read_all(box[0], MUCH, &got, &len, &err) || len != MUCH ||
	    memcmp(got, want, MUCH) != 0)
		_exit(1);
}

START_TEST(carries_much_input)
{
	kg_auto_free char *data = malloc(MUCH);
	kg_auto_close int file = put_file(0, "");
	pid_t pid;

	fill_pattern(data, MUCH, 0);
	ck_assert_int_eq(kg_fd_write_all(file, data, MUCH), 0);
	open_relay();
	pid = start(read_all_input);
	turn_until_over(0);
	expect_end(pid);
}
END_TEST

/* A command that reads nothing holds back what comes, and not the loop. */
START_TEST(waits_for_a_command_that_does_not_read)
{
	kg_auto_free char *data = malloc(MUCH);
	kg_auto_close int file = put_file(0, "");
	off_t taken;

	fill_pattern(data, MUCH, 0);
	ck_assert_int_eq(kg_fd_write_all(file, data, MUCH), 0);
	open_relay();
	turn_until_quiet();
	taken = lseek(0, 0, SEEK_CUR);
	ck_assert_int_gt(taken, 0);
	ck_assert_int_lt(taken, MUCH);
}
END_TEST

/* The caller's input is not read for a command that has closed its own. */
START_TEST(notices_that_the_command_closed_its_input)
{
	kg_auto_close int in = put_pipe(0);

	open_relay();
	kg_scope_close_(&box[0]);
	turn_until_over(0);
	ck_assert_int_eq(write(in, "x", 1), 1);
	ck_assert(!turn(QUIET_MS));
	ck_assert(kg_fd_is_ready(0));
	ck_assert_int_eq(kg_relay_error(relay, &err), 0);
}
END_TEST

START_TEST(drops_input_that_the_command_did_not_want)
{
	kg_auto_free char *data = malloc(MUCH);
	kg_auto_close int file = put_file(0, "");

	fill_pattern(data, MUCH, 0);
	ck_assert_int_eq(kg_fd_write_all(file, data, MUCH), 0);
	open_relay();
	turn_until_quiet(); /* some is held back by now */
	kg_scope_close_(&box[0]);
	turn_until_over(0);
	ck_assert_int_eq(kg_relay_error(relay, &err), 0);
}
END_TEST

/* --- before and after the command ---------------------------------------- */

START_TEST(takes_words_off_standard_error)
{
	kg_auto_close int log = put_file(2, "");
	char words[32];

	open_relay();
	kg_relay_take_words(relay, words, sizeof(words));
	ck_assert_str_eq(words, "");
	ck_assert_int_eq(write(box[2], "bwrap: no\n", 10), 10);
	ck_assert_int_eq(write(box[2], "more\n", 5), 5);
	kg_relay_take_words(relay, words, sizeof(words));
	ck_assert_str_eq(words, "bwrap: no\nmore\n");

	ck_assert_int_eq(write(box[2], "after", 5), 5);
	turn_until_quiet();
	expect_text(log, "after");
}
END_TEST

/* What doesn't fit is gone as well: it isn't the command's. */
START_TEST(takes_all_words_whatever_the_buffer)
{
	kg_auto_close int log = put_file(2, "");
	char text[3000], words[16];
	size_t len;

	memset(text, 'w', sizeof(text));
	open_relay();
	for (len = 1; len <= sizeof(words); len++) {
		ck_assert_int_eq(write(box[2], text, sizeof(text)),
				 (ssize_t)sizeof(text));
		memset(words, '!', sizeof(words));
		kg_relay_take_words(relay, words, len);
		ck_assert_uint_eq(strlen(words), len - 1);
		if (len < sizeof(words))
			ck_assert_int_eq(words[len], '!');
		kg_relay_take_words(relay, words, len);
		ck_assert_str_eq(words, "");
	}
	kg_scope_close_(&box[2]);
	kg_relay_take_words(relay, words, sizeof(words)); /* at its end */
	ck_assert_str_eq(words, "");
	turn_until_over(2);
	expect_text(log, "");
}
END_TEST

/* As much as its pipe holds is left when the command ends. */
static void leave_a_pipe_full(void)
{
	static char data[65536];

	fill_pattern(data, sizeof(data), 1);
	if (kg_fd_write_all(box[1], data, sizeof(data)))
		_exit(1);
	fill_pattern(data, sizeof(data), 2);
	if (kg_fd_write_all(box[2], data, sizeof(data)))
		_exit(1);
}

START_TEST(drains_what_the_command_has_left)
{
	kg_auto_close int out = put_file(1, "");
	kg_auto_close int log = put_file(2, "");
	pid_t pid;

	open_relay();
	pid = start(leave_a_pipe_full);
	expect_end(pid);
	ck_assert(kg_relay_drain(relay, -1, 0));
	expect_pattern(out, 65536, 1);
	expect_pattern(log, 65536, 2);
	ck_assert(is_over(1) || relay->streams[1].from < 0);
	ck_assert(kg_relay_drain(relay, -1, 0)); /* twice is harmless */
}
END_TEST

static void read_slowly(void)
{
	char want[65536], got;
	size_t i;

	fill_pattern(want, sizeof(want), 1);
	for (i = 0; i < sizeof(want); i++)
		if (read(200, &got, 1) != 1 || got != want[i])
			_exit(1);
	_exit(read(200, &got, 1) == 0 ? 0 : 2);
}

/* The reader has a pipe of one page, and takes a byte at a time. */
START_TEST(drains_into_a_slow_reader)
{
	pid_t pid;
	pid_t reader;
	int out = put_pipe(1), status = -1;

	(void)fcntl(out, F_SETPIPE_SZ, 4096);
	open_relay();
	pid = start(leave_a_pipe_full);
	ck_assert_int_eq(dup2(out, 200), 200);
	close(out);
	expect_end(pid);
	reader = fork();
	if (reader == 0) {
		close(1);
		close(relay->streams[1].to);
		read_slowly();
	}
	close(200);
	ck_assert(kg_relay_drain(relay, -1, 0));
	put(1, open("/dev/null", O_WRONLY | O_CLOEXEC));
	ck_assert_int_eq(waitpid(reader, &status, 0), reader);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(kg_relay_error(relay, &err), 0);
}
END_TEST

/* The reader has stopped for good, and the user won't wait for it. */
START_TEST(leaves_a_reader_that_has_stopped_when_it_is_told_to)
{
	kg_auto_close int out = put_pipe(1);
	kg_auto_close int stop_in = -1;
	kg_auto_close int stop_out = -1;
	pid_t pid;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	stop_in = ends[0];
	stop_out = ends[1];
	(void)fcntl(out, F_SETPIPE_SZ, 4096);
	open_relay();
	pid = start(leave_a_pipe_full);
	expect_end(pid);
	ck_assert_int_eq(write(stop_out, "x", 1), 1);
	ck_assert(!kg_relay_drain(relay, stop_in, 0));
}
END_TEST

/* What was on its way when the command ended, and what lay behind it. */
START_TEST(drains_what_it_had_begun)
{
	kg_auto_close int out = put_pipe(1);
	kg_auto_free char *got = malloc(65536);
	pid_t pid;
	size_t len = 0;
	char want[65536];
	ssize_t n;

	fill_pattern(want, sizeof(want), 1);
	(void)fcntl(out, F_SETPIPE_SZ, 4096);
	open_relay();
	pid = start(leave_a_pipe_full);
	turn_until_quiet();
	expect_end(pid);
	(void)fcntl(out, F_SETPIPE_SZ, 1 << 17);
	ck_assert(kg_relay_drain(relay, -1, 0));
	put(1, open("/dev/null", O_WRONLY | O_CLOEXEC));
	while ((n = read(out, got + len, sizeof(want) - len)) > 0)
		len += (size_t)n;
	ck_assert_uint_eq(len, sizeof(want));
	ck_assert_int_eq(memcmp(got, want, len), 0);
}
END_TEST

/* Something of the box may still hold an end: what is there is all there is. */
START_TEST(does_not_wait_for_a_writer_that_stays)
{
	kg_auto_close int out = put_file(1, "");

	open_relay();
	ck_assert_int_eq(write(box[1], "all", 3), 3);
	ck_assert(kg_relay_drain(relay, -1, 0));
	expect_text(out, "all");
}
END_TEST

START_TEST(drains_nothing_for_a_reader_that_has_gone)
{
	int out = put_pipe(1);
	pid_t pid;

	open_relay();
	close(out);
	pid = start(leave_a_pipe_full);
	expect_end(pid);
	ck_assert(kg_relay_drain(relay, -1, 0));
	ck_assert(is_over(1));
	ck_assert_int_eq(kg_relay_error(relay, &err), 0);
}
END_TEST

START_TEST(reports_output_that_was_lost_at_the_end)
{
	put(1, open("/dev/full", O_WRONLY | O_CLOEXEC));
	open_relay();
	ck_assert_int_eq(write(box[1], "x", 1), 1);
	ck_assert(kg_relay_drain(relay, -1, 0));
	ck_assert_int_eq(kg_relay_error(relay, &err), -1);
	ck_assert_int_eq(err.errnum, ENOSPC);
}
END_TEST

START_TEST(frees_nothing_without_complaint)
{
	kg_relay_free(NULL);
}
END_TEST

static void add_output_tests(TCase *tc)
{
	tcase_add_test(tc, carries_output_written_in_one_go);
	tcase_add_test(tc, carries_output_written_in_pieces);
	tcase_add_test(tc, carries_output_byte_by_byte);
	tcase_add_test(tc, keeps_output_and_errors_apart);
	tcase_add_test(tc, waits_for_a_reader_that_stops);
	tcase_add_test(tc, lets_errors_pass_while_output_waits);
	tcase_add_test(tc, tells_the_writer_that_nobody_reads);
	tcase_add_loop_test(tc, reports_output_that_was_lost, 1, 3);
	tcase_add_test(tc, takes_words_off_standard_error);
	tcase_add_test(tc, takes_all_words_whatever_the_buffer);
	tcase_add_test(tc, drains_what_the_command_has_left);
	tcase_add_test(tc, drains_into_a_slow_reader);
	tcase_add_test(tc, leaves_a_reader_that_has_stopped_when_it_is_told_to);
	tcase_add_test(tc, drains_what_it_had_begun);
	tcase_add_test(tc, does_not_wait_for_a_writer_that_stays);
	tcase_add_test(tc, drains_nothing_for_a_reader_that_has_gone);
	tcase_add_test(tc, reports_output_that_was_lost_at_the_end);
}

static void add_input_tests(TCase *tc)
{
	tcase_add_test(tc, carries_a_file_to_its_end);
	tcase_add_test(tc, carries_a_pipe_to_its_end);
	tcase_add_test(tc, carries_a_socket_to_its_end);
	tcase_add_test(tc, takes_an_empty_input_for_an_end);
	tcase_add_test(tc, waits_for_input_that_is_not_there);
	tcase_add_test(tc, lives_with_input_that_somebody_else_took);
	tcase_add_test(tc, carries_much_input);
	tcase_add_test(tc, waits_for_a_command_that_does_not_read);
	tcase_add_test(tc, notices_that_the_command_closed_its_input);
	tcase_add_test(tc, drops_input_that_the_command_did_not_want);
}

Suite *kg_suite(void)
{
	Suite *s = suite_create("supervisor/relay");
	TCase *tc = tcase_create("relay");

	tcase_add_checked_fixture(tc, lay_out, clear_away);
	tcase_set_timeout(tc, 20);
	tcase_add_test(tc, gives_the_box_descriptors_of_kgates_own);
	tcase_add_test(tc, passes_a_terminal_on_as_a_pipe);
	tcase_add_test(tc, leaves_dev_null_to_the_box);
	tcase_add_test(tc, refuses_a_directory_for_input);
	tcase_add_test(tc, says_that_a_descriptor_is_closed);
	if (!getenv("KG_VALGRIND")) /* which needs descriptors of its own */
		tcase_add_loop_test(tc, leaks_nothing_when_descriptors_run_out,
				    0, 6);
	tcase_add_test(tc, leaves_the_callers_descriptors_as_they_are);
	tcase_add_test(tc, frees_nothing_without_complaint);
	add_output_tests(tc);
	add_input_tests(tc);
	suite_add_tcase(s, tc);
	return s;
}
