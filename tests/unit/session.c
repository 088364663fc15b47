/* SPDX-License-Identifier: MIT */
/*
 * The supervisor's loop against a worker that says what a test has it say: a
 * child that plays a script at the other end of the channel, right or wrong.
 *
 * Deadlines are as long as the launch's own; where a test waits for one, the
 * clock of this process runs faster than the world's.
 */
#include "config.h"

#include "supervisor/session.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/scoped.h"
#include "common/step.h"
#include "common/util.h"

Suite *kg_suite(void);

#define LONG_MS	  10000
#define EXITED(n) ((n) << 8) /* wait status of an exit */

static struct kg_error err;
static struct kg_signals signals;
static struct kg_trace trace;
static struct kg_session session;
static struct kg_outcome outcome;
static int box[KG_RELAY_STREAMS];
static int saved[3], open_before;
static int64_t speed = 1; /* of the clock below */

/* In place of the C library's: kg_now_ns() asks it. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int64_t first_ns;
	int64_t now_ns;
	long rc = syscall(SYS_clock_gettime, id, ts);

	if (rc || speed == 1 || id != CLOCK_MONOTONIC)
		return (int)rc;
	now_ns = (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
	if (!first_ns)
		first_ns = now_ns;
	now_ns = first_ns + (now_ns - first_ns) * speed;
	ts->tv_sec = now_ns / 1000000000;
	ts->tv_nsec = now_ns % 1000000000;
	return 0;
}

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void put(int number, int fd)
{
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(dup2(fd, number), number);
	close(fd);
}

/* Check has handlers of its own, which a program started by a shell hasn't. */
static void reset_signals(void)
{
	sigset_t none;
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void lay_out(void)
{
	int fd;

	open_before = count_open();
	reset_signals();
	for (fd = 0; fd <= 2; fd++)
		saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
	for (fd = 0; fd <= 2; fd++)
		put(fd, open("/dev/null", O_RDWR | O_CLOEXEC));
	session = KG_SESSION_INIT;
	signals = KG_SIGNALS_INIT;
	trace = KG_TRACE_INIT;
	ck_assert_int_eq(kg_signals_take(&signals, &err), 0);
	session.signals = &signals;
	session.trace = &trace;
}

static void clear_away(void)
{
	int fd;

	kg_session_done(&session);
	kg_session_done(&session); /* twice is harmless */
	kg_signals_done(&signals);
	for (fd = 0; fd <= 2; fd++)
		put(fd, saved[fd]);
	ck_assert_int_eq(count_open(), open_before);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no child left */
}

/* --- the worker: each of these runs in the child ------------------------- */

static int channel = -1; /* its end */
static pid_t supervisor;

static void say(enum kg_frame_type type, int a)
{
	if (kg_frame_send_plain(channel, type, a, 0, &err))
		_exit(100 + (int)type);
}

/* Waits for the supervisor's next frame, which must be this one. */
static void hear(enum kg_frame_type type, int a, int b)
{
	struct kg_frame_link link = { .fd = channel,
				      .from = KG_ROLE_SUPERVISOR };
	struct kg_frame frame;

	if (!kg_fd_wait(channel, LONG_MS) ||
	    kg_frame_recv(&link, &frame, &err) != 1)
		_exit(120 + (int)type);
	if (frame.type != type || frame.value.a != a || frame.value.b != b)
		_exit(140 + (int)type);
}

static void report_failure(enum kg_errc code, const char *message)
{
	struct kg_error said = KG_ERROR_INIT;

	(void)kg_fail(&said, code, 0, "%s", message);
	kg_frame_send_failed(channel, &said);
}

/* As far as the phase of a test. */
enum reach {
	REACH_BEGIN,
	REACH_RELEASED,
	REACH_RUNNING,
};

static void get_to(enum reach reach)
{
	if (reach >= REACH_RELEASED) {
		say(KG_FRAME_READY, 0);
		hear(KG_FRAME_GO, 0, 0);
	}
	if (reach >= REACH_RUNNING)
		say(KG_FRAME_STARTED, 0);
}

/* --- running a session with it ------------------------------------------- */

struct play {
	void (*body)(const void *arg);
	const void *arg;
};

static void be_worker(void *ctx)
{
	const struct play *play = ctx;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	kg_relay_free(kg_take_ptr(session.relay));
	close(session.worker.fd);
	play->body(play->arg);
	_exit(0);
}

/* @ret_end: the worker's end, kept beside it. */
static void start_and_keep(void (*body)(const void *arg), const void *arg,
			   int *ret_end)
{
	struct play play = { body, arg };
	int ends[2], i;

	supervisor = getpid();
	session.relay = kg_relay_open(box, &err);
	ck_assert_ptr_nonnull(session.relay);
	ck_assert_int_eq(kg_frame_pair(ends, &err), 0);
	channel = ends[1];
	session.worker = (struct kg_frame_link){ .fd = ends[0],
						 .from = KG_ROLE_WORKER };
	ck_assert_int_eq(kg_spawn_role(be_worker, &play, &session.child, &err),
			 0);
	*ret_end = kg_take_fd(&channel);
	for (i = 0; i < KG_RELAY_STREAMS; i++)
		kg_scope_close_(&box[i]);
}

static void start(void (*body)(const void *arg), const void *arg)
{
	kg_auto_close int end = -1;

	start_and_keep(body, arg, &end);
}

static void stop(void)
{
	kg_relay_free(session.relay);
	session.relay = NULL;
}

/* A session from begin to end; the worker's script must have gone well. */
static void run(void (*body)(const void *arg), const void *arg)
{
	start(body, arg);
	kg_session_run(&session, &outcome);
	ck_assert_int_eq(kg_child_wait(&session.child, LONG_MS), 0);
	stop();
	kg_session_done(&session);
}

/* --- what a worker may say ----------------------------------------------- */

static void run_to_the_end(const void *arg)
{
	get_to(REACH_RUNNING);
	say(KG_FRAME_EXITED, *(const int *)arg);
}

START_TEST(releases_and_reports_the_status)
{
	static const int statuses[] = { EXITED(0),   EXITED(1),	  EXITED(42),
					EXITED(126), EXITED(127), EXITED(255),
					SIGKILL,     SIGTERM,	  64 };
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(statuses); i++) {
		run(run_to_the_end, &statuses[i]);
		ck_assert_int_eq(outcome.ending, KG_ENDING_EXITED);
		ck_assert_int_eq(outcome.status, statuses[i]);
		ck_assert_uint_eq(outcome.lost, 0);
		ck_assert_uint_eq(outcome.err.code, KG_E_NONE);
	}
}
END_TEST

static void say_all_that_is_legal(const void *arg)
{
	(void)arg;
	kg_frame_send_step(channel, KG_STEP_INFO);
	kg_frame_send_step(channel, KG_STEP_ENTRY);
	get_to(REACH_RUNNING);
	kg_frame_send_step(channel, KG_STEP_STARTED);
	say(KG_FRAME_STOPPED, SIGTSTP);
	say(KG_FRAME_CONTINUED, 0);
	say(KG_FRAME_LOST, KG_ROLE_RESOLVER);
	say(KG_FRAME_LOST, KG_ROLE_COUNT);
	say(KG_FRAME_STOPPED, SIGSTOP);
	say(KG_FRAME_EXITED, EXITED(3));
}

START_TEST(takes_everything_that_is_legal)
{
	run(say_all_that_is_legal, NULL);
	ck_assert_int_eq(outcome.ending, KG_ENDING_EXITED);
	ck_assert_int_eq(outcome.status, EXITED(3));
	ck_assert_uint_eq(outcome.lost,
			  KG_BIT32(KG_ROLE_RESOLVER) | KG_BIT32(KG_ROLE_COUNT));
	ck_assert_uint_gt(trace.at_ns[KG_STEP_INFO], 0);
	ck_assert_uint_ge(trace.at_ns[KG_STEP_ENTRY],
			  trace.at_ns[KG_STEP_INFO]);
	ck_assert_uint_gt(trace.at_ns[KG_STEP_STARTED], 0);
	ck_assert_uint_eq(trace.at_ns[KG_STEP_RULES], 0);
}
END_TEST

/* Phase by phase: what a failure then means. */
static const struct {
	enum reach reach;
	enum kg_ending ending;
} phases[] = {
	{ REACH_BEGIN, KG_ENDING_FAILED },
	{ REACH_RELEASED, KG_ENDING_LOST },
	{ REACH_RUNNING, KG_ENDING_LOST },
};

static void fail_there(const void *arg)
{
	get_to(*(const enum reach *)arg);
	report_failure(KG_E_NOENT, "the command doesn't exist");
}

START_TEST(tells_a_failed_launch_from_a_lost_command)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(phases); i++) {
		/* A failed exec is certain: the command didn't run. */
		bool runs = phases[i].reach == REACH_RUNNING;

		run(fail_there, &phases[i].reach);
		ck_assert_int_eq(outcome.ending,
				 runs ? KG_ENDING_LOST : KG_ENDING_FAILED);
		ck_assert_uint_eq(outcome.err.code, KG_E_NOENT);
		ck_assert_str_eq(outcome.err.msg, "the command doesn't exist");
	}
}
END_TEST

static void end_there(const void *arg)
{
	get_to(*(const enum reach *)arg);
}

START_TEST(notices_the_workers_end_in_each_phase)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(phases); i++) {
		run(end_there, &phases[i].reach);
		ck_assert_int_eq(outcome.ending, phases[i].ending);
		ck_assert_uint_eq(outcome.err.code, KG_E_SANDBOX);
		ck_assert_str_eq(outcome.err.msg, "kgate-worker has ended");
	}
}
END_TEST

/* Something else holds the worker's end: there is no end of file. */
START_TEST(notices_the_workers_end_without_an_end_of_file)
{
	kg_auto_close int stranger = -1;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(phases); i++) {
		start_and_keep(end_there, &phases[i].reach, &stranger);
		kg_session_run(&session, &outcome);
		ck_assert_int_eq(outcome.ending, phases[i].ending);
		ck_assert_uint_eq(outcome.err.code, KG_E_SANDBOX);
		kg_session_reap(&session);
		kg_scope_close_(&stranger);
		stop();
		kg_session_done(&session);
	}
}
END_TEST

/* Its last words arrive although it has ended by then. */
static void speak_and_end(const void *arg)
{
	(void)arg;
	get_to(REACH_RUNNING);
	kg_frame_send_step(channel, KG_STEP_EXITED);
	say(KG_FRAME_LOST, KG_ROLE_GATE);
	say(KG_FRAME_EXITED, EXITED(9));
}

START_TEST(hears_what_was_said_before_the_end)
{
	int i;

	for (i = 0; i < 50; i++) {
		run(speak_and_end, NULL);
		ck_assert_int_eq(outcome.ending, KG_ENDING_EXITED);
		ck_assert_int_eq(outcome.status, EXITED(9));
		ck_assert_uint_eq(outcome.lost, KG_BIT32(KG_ROLE_GATE));
	}
}
END_TEST

/* --- what it may not ----------------------------------------------------- */

struct lie {
	const char *name;
	uint32_t type;
	size_t bytes; /* 0: as many as the type has */
	uint32_t step;
	bool twice;
};

static const struct lie lies[] = {
	{ "unknown type", KG_FRAME_COUNT, 16, 0, false },
	{ "huge type", UINT32_MAX, 16, 0, false },
	{ "one byte", KG_FRAME_STEP, 1, 0, false },
	{ "header alone", KG_FRAME_STOPPED, 8, 0, false },
	{ "one byte short", KG_FRAME_STOPPED, 15, 0, false },
	{ "one byte long", KG_FRAME_STOPPED, 17, 0, false },
	{ "longer than any", KG_FRAME_FAILED, sizeof(struct kg_frame) + 1, 0,
	  false },
	{ "much longer", KG_FRAME_FAILED, sizeof(struct kg_frame) + 999, 0,
	  false },
	{ "short failure", KG_FRAME_FAILED, 40, 0, false },
	{ "a step as a value", KG_FRAME_STEP, 16, 0, false },
	{ "unknown step", KG_FRAME_STEP, 0, KG_STEP_COUNT, false },
	{ "huge step", KG_FRAME_STEP, 0, UINT32_MAX, false },
	{ "the supervisor's GO", KG_FRAME_GO, 0, 0, false },
	{ "the supervisor's SIGNAL", KG_FRAME_SIGNAL, 0, 0, false },
	{ "the resolver's ADDRESS", KG_FRAME_ADDRESS, 0, 0, false },
	{ "the resolver's SYNC", KG_FRAME_SYNC, 0, 0, false },
	{ "the gate's SYNCED", KG_FRAME_SYNCED, 0, 0, false },
};

/* GO and SIGNAL are legal from a worker, to kgate-entry. */
static bool is_passed_over(const struct lie *lie)
{
	return lie->type == KG_FRAME_GO || lie->type == KG_FRAME_SIGNAL;
}

struct lie_there {
	enum reach reach;
	const struct lie *lie;
};

static void tell_lie(const void *arg)
{
	const struct lie_there *there = arg;
	struct {
		struct kg_frame frame;
		char more[1024];
	} sent = { .frame = { .type = there->lie->type } };
	size_t bytes = there->lie->bytes;

	if (!bytes)
		bytes = kg_frame_bytes((enum kg_frame_type)sent.frame.type);
	sent.frame.step.step = there->lie->step;
	get_to(there->reach);
	if (send(channel, &sent, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		_exit(1);
	if (is_passed_over(there->lie))
		report_failure(KG_E_PROTOCOL, "passed over");
}

START_TEST(refuses_each_bad_frame_in_each_phase)
{
	struct lie_there there;
	size_t i, j;

	for (i = 0; i < KG_ARRAY_LEN(phases); i++)
		for (j = 0; j < KG_ARRAY_LEN(lies); j++) {
			there = (struct lie_there){ phases[i].reach, &lies[j] };
			run(tell_lie, &there);
			ck_assert_msg(outcome.ending == phases[i].ending &&
					      outcome.err.code == KG_E_PROTOCOL,
				      "%s: %s", lies[j].name, outcome.err.msg);
		}
}
END_TEST

static void be_ready_twice(const void *arg)
{
	get_to(*(const enum reach *)arg);
	say(KG_FRAME_READY, 0);
	hear(KG_FRAME_GO, 0, 0); /* dies of it where there is no second */
}

START_TEST(refuses_to_release_twice)
{
	size_t i;

	for (i = 1; i < KG_ARRAY_LEN(phases); i++) {
		start(be_ready_twice, &phases[i].reach);
		kg_session_run(&session, &outcome);
		ck_assert_int_eq(outcome.ending, phases[i].ending);
		ck_assert_uint_eq(outcome.err.code, KG_E_PROTOCOL);
		ck_assert_str_eq(outcome.err.msg,
				 "second READY frame from kgate-worker");
		kg_frame_link_done(&session.worker);
		ck_assert_int_ne(kg_child_wait(&session.child, LONG_MS), 0);
		stop();
		kg_session_done(&session);
	}
}
END_TEST

struct early {
	enum reach reach;
	enum kg_frame_type type;
};

static void say_out_of_turn(const void *arg)
{
	const struct early *early = arg;

	get_to(early->reach);
	say(early->type, 0);
}

/* A command that was never released can't have started, nor ended. */
START_TEST(refuses_a_frame_out_of_turn)
{
	static const struct early early[] = {
		{ REACH_BEGIN, KG_FRAME_STARTED },
		{ REACH_BEGIN, KG_FRAME_EXITED },
		{ REACH_RELEASED, KG_FRAME_EXITED },
	};
	char want[64];
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(early); i++) {
		run(say_out_of_turn, &early[i]);
		ck_assert_int_eq(outcome.ending,
				 early[i].reach == REACH_RELEASED
					 ? KG_ENDING_LOST
					 : KG_ENDING_FAILED);
		ck_assert_uint_eq(outcome.err.code, KG_E_PROTOCOL);
		(void)snprintf(want, sizeof(want),
			       "%s frame out of turn from kgate-worker",
			       kg_frame_name(early[i].type));
		ck_assert_str_eq(outcome.err.msg, want);
	}
}
END_TEST

static void start_twice(const void *arg)
{
	(void)arg;
	get_to(REACH_RUNNING);
	say(KG_FRAME_STARTED, 0);
}

START_TEST(refuses_a_second_start)
{
	run(start_twice, NULL);
	ck_assert_int_eq(outcome.ending, KG_ENDING_LOST);
	ck_assert_str_eq(outcome.err.msg,
			 "second STARTED frame from kgate-worker");
}
END_TEST

static void fail_with_escapes(const void *arg)
{
	struct kg_frame frame = KG_FRAME_INIT;

	(void)arg;
	frame.type = KG_FRAME_FAILED;
	frame.error.code = KG_E_COUNT + 7;
	memset(frame.error.msg, '\033', sizeof(frame.error.msg));
	if (kg_frame_send(channel, &frame, &err))
		_exit(1);
}

START_TEST(makes_a_hostile_failure_printable)
{
	run(fail_with_escapes, NULL);
	ck_assert_int_eq(outcome.ending, KG_ENDING_FAILED);
	ck_assert_uint_eq(outcome.err.code, KG_E_PROTOCOL);
	ck_assert_ptr_null(strchr(outcome.err.msg, '\033'));
	ck_assert_uint_eq(strlen(outcome.err.msg), KG_ERROR_MSG_BYTES - 1);
}
END_TEST

/* --- words and streams --------------------------------------------------- */

static void print(int which, const char *text)
{
	if (kg_fd_write_all(box[which], text, strlen(text)))
		_exit(1);
}

static void fail_with_words(const void *arg)
{
	get_to(*(const enum reach *)arg);
	print(2, "bwrap: setting up uid map\nmore\n");
	report_failure(KG_E_SANDBOX, "make the box");
}

START_TEST(adds_bwraps_words_to_a_failure)
{
	enum reach reach = REACH_BEGIN;

	run(fail_with_words, &reach);
	ck_assert_int_eq(outcome.ending, KG_ENDING_FAILED);
	ck_assert_uint_eq(outcome.err.code, KG_E_SANDBOX);
	ck_assert_str_eq(outcome.err.msg,
			 "make the box: bwrap: setting up uid map");
}
END_TEST

/* As many as the relay takes while nobody reads, and a pipe full of more. */
static void fail_after_many_words(const void *arg)
{
	struct pollfd pfd = { .fd = box[2], .events = POLLOUT };
	static const char words[] = "the command's own words\n";

	get_to(*(const enum reach *)arg);
	(void)fcntl(box[2], F_SETFL, O_NONBLOCK);
	while (poll(&pfd, 1, 50) == 1)
		if (write(box[2], words, sizeof(words) - 1) < 0 &&
		    errno != EAGAIN)
			_exit(1);
	report_failure(KG_E_SANDBOX, "make the box");
}

/* What stands on standard error after GO is the command's. */
START_TEST(leaves_the_commands_words_alone)
{
	size_t i;
	int ends[2];

	for (i = 1; i < KG_ARRAY_LEN(phases); i++) {
		ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
		(void)fcntl(ends[0], F_SETPIPE_SZ, 4096);
		put(2, ends[1]); /* nobody reads it */
		run(fail_after_many_words, &phases[i].reach);
		ck_assert_int_eq(outcome.ending, phases[i].ending);
		ck_assert_str_eq(outcome.err.msg, "make the box");
		close(ends[0]);
	}
}
END_TEST

static void print_before_and_after(const void *arg)
{
	(void)arg;
	print(2, "a warning of bwrap\n");
	get_to(REACH_RUNNING);
	print(1, "out");
	print(2, "err");
	say(KG_FRAME_EXITED, 0);
}

static int put_file(int number)
{
	int fd = memfd_create("caller", MFD_CLOEXEC);

	put(number, fcntl(fd, F_DUPFD_CLOEXEC, 3));
	return fd;
}

static void expect_text(int fd, const char *want)
{
	char got[64] = "";

	ck_assert_int_ge(pread(fd, got, sizeof(got) - 1, 0), 0);
	ck_assert_str_eq(got, want);
}

START_TEST(relays_the_command_and_not_the_box)
{
	kg_auto_close int out = put_file(1);
	kg_auto_close int log = put_file(2);

	start(print_before_and_after, NULL);
	kg_session_run(&session, &outcome);
	ck_assert_int_eq(outcome.ending, KG_ENDING_EXITED);
	kg_session_reap(&session);
	ck_assert(kg_relay_drain(session.relay, -1, 0));
	expect_text(out, "out");
	expect_text(log, "err");
	stop();
}
END_TEST

static void copy_input(const void *arg)
{
	char got[8] = "";

	(void)arg;
	get_to(REACH_RUNNING);
	if (read(box[0], got, sizeof(got)) != 3 || strcmp(got, "abc") != 0)
		_exit(1);
	say(KG_FRAME_EXITED, 0);
}

/* A launch that fails leaves the caller's input for somebody else. */
START_TEST(reads_no_input_before_the_command_is_released)
{
	enum reach reach = REACH_BEGIN;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	put(0, ends[0]);
	ck_assert_int_eq(write(ends[1], "abc", 3), 3);
	run(fail_with_words, &reach);
	ck_assert_int_eq(outcome.ending, KG_ENDING_FAILED);
	ck_assert(kg_fd_is_ready(0));

	run(copy_input, NULL);
	ck_assert_int_eq(outcome.ending, KG_ENDING_EXITED);
	ck_assert(!kg_fd_is_ready(0));
	close(ends[1]);
}
END_TEST

/* --- signals ------------------------------------------------------------- */

static void wait_for_ever(const void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

static void expect_interrupted(int sig)
{
	start(wait_for_ever, NULL);
	ck_assert_int_eq(raise(sig), 0);
	kg_session_run(&session, &outcome);
	ck_assert_int_eq(outcome.ending, KG_ENDING_SIGNAL);
	ck_assert_int_eq(outcome.signo, sig);
	kg_session_abort(&session);
	stop();
	kg_session_done(&session);
}

START_TEST(ends_the_launch_by_a_signal_before_go)
{
	expect_interrupted(SIGINT);
	expect_interrupted(SIGTERM);
	expect_interrupted(SIGHUP);
	expect_interrupted(SIGQUIT);
}
END_TEST

static void run_after_signals(const void *arg)
{
	(void)arg;
	get_to(REACH_RUNNING);
	say(KG_FRAME_EXITED, EXITED(5));
}

/* Only what ends a program ends the launch. */
START_TEST(passes_over_other_signals_before_go)
{
	start(run_after_signals, NULL);
	ck_assert_int_eq(raise(SIGUSR1) | raise(SIGUSR2) | raise(SIGCONT), 0);
	kg_session_run(&session, &outcome);
	ck_assert_int_eq(outcome.ending, KG_ENDING_EXITED);
	ck_assert_int_eq(outcome.status, EXITED(5));
	kg_session_reap(&session);
	stop();
}
END_TEST

static void expect_signals(const void *arg)
{
	static const int passed[] = { SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
				      SIGHUP, SIGQUIT, SIGCONT, SIGINT };
	size_t i;

	get_to(*(const enum reach *)arg);
	for (i = 0; i < KG_ARRAY_LEN(passed); i++) {
		if (kill(supervisor, passed[i]))
			_exit(1);
		hear(KG_FRAME_SIGNAL, passed[i], passed[i] == SIGCONT);
	}
	if (*(const enum reach *)arg == REACH_RELEASED)
		say(KG_FRAME_STARTED, 0);
	say(KG_FRAME_EXITED, SIGINT);
}

START_TEST(passes_signals_on_after_go)
{
	enum reach reach;

	for (reach = REACH_RELEASED; reach <= REACH_RUNNING; reach++) {
		run(expect_signals, &reach);
		ck_assert_int_eq(outcome.ending, KG_ENDING_EXITED);
		ck_assert_int_eq(outcome.status, SIGINT);
	}
}
END_TEST

struct pair {
	int first;
	int second;
};

static void be_asked_twice(const void *arg)
{
	const struct pair *pair = arg;

	get_to(REACH_RUNNING);
	if (kill(supervisor, pair->first))
		_exit(1);
	hear(KG_FRAME_SIGNAL, pair->first, 0);
	if (kill(supervisor, pair->second))
		_exit(2);
	hear(KG_FRAME_SIGNAL, SIGKILL, 1);
	say(KG_FRAME_EXITED, SIGKILL);
}

START_TEST(kills_the_command_that_is_asked_twice)
{
	static const struct pair pairs[] = { { SIGINT, SIGINT },
					     { SIGTERM, SIGTERM },
					     { SIGINT, SIGTERM },
					     { SIGTERM, SIGINT } };
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(pairs); i++) {
		run(be_asked_twice, &pairs[i]);
		ck_assert_int_eq(outcome.ending, KG_ENDING_EXITED);
		ck_assert_int_eq(outcome.status, SIGKILL);
	}
}
END_TEST

/* The clock runs a hundred times faster: two seconds are twenty of ours. */
static void be_asked_again_later(const void *arg)
{
	int i;

	(void)arg;
	get_to(REACH_RUNNING);
	for (i = 0; i < 3; i++) {
		if (kill(supervisor, SIGINT))
			_exit(1);
		hear(KG_FRAME_SIGNAL, SIGINT, 0);
		(void)kg_fd_wait(channel, 100);
	}
	say(KG_FRAME_EXITED, EXITED(0));
}

START_TEST(asks_again_after_a_while)
{
	speed = 100;
	run(be_asked_again_later, NULL);
	ck_assert_int_eq(outcome.ending, KG_ENDING_EXITED);
	ck_assert_int_eq(outcome.status, EXITED(0));
}
END_TEST

static void be_stopped(const void *arg)
{
	(void)arg;
	get_to(REACH_RUNNING);
	if (kill(supervisor, SIGTSTP))
		_exit(1);
	hear(KG_FRAME_SIGNAL, SIGTSTP, 0);
	hear(KG_FRAME_SIGNAL, SIGCONT, 1);
	say(KG_FRAME_EXITED, EXITED(6));
}

/* In a process of its own, which stops and is continued. */
START_TEST(stops_with_the_command)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		kg_signals_done(&signals);
		if (kg_signals_take(&signals, &err))
			_exit(1);
		run(be_stopped, NULL);
		_exit(outcome.ending == KG_ENDING_EXITED &&
				      outcome.status == EXITED(6)
			      ? 0
			      : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* --- deadlines ----------------------------------------------------------- */

/*
 * Keeps the loop awake until the supervisor says this, so that it looks at its
 * clock, which runs faster than the one that it sleeps by.
 */
static void hear_in_time(enum kg_frame_type type, int a, int b)
{
	int i;

	for (i = 0; i < 1000 && !kg_fd_wait(channel, 10); i++)
		kg_frame_send_step(channel, KG_STEP_STARTED);
	hear(type, a, b);
}

static void end_by_sigterm(const void *arg)
{
	(void)arg;
	get_to(REACH_RUNNING);
	hear(KG_FRAME_SIGNAL, SIGTERM, 1);
	say(KG_FRAME_EXITED, SIGTERM);
}

START_TEST(ends_the_command_at_its_timeout)
{
	uint64_t began_ns = kg_now_ns();

	session.timeout_ms = 60;
	run(end_by_sigterm, NULL);
	ck_assert_int_eq(outcome.ending, KG_ENDING_TIMEOUT);
	ck_assert_int_eq(outcome.status, SIGTERM);
	ck_assert_uint_ge(kg_now_ns() - began_ns, 60 * UINT64_C(1000000));
}
END_TEST

/* Whatever the command made of SIGTERM. */
static void exit_on_sigterm(const void *arg)
{
	(void)arg;
	get_to(REACH_RUNNING);
	hear(KG_FRAME_SIGNAL, SIGTERM, 1);
	say(KG_FRAME_EXITED, EXITED(0));
}

START_TEST(calls_it_a_timeout_whatever_the_status)
{
	session.timeout_ms = 1;
	run(exit_on_sigterm, NULL);
	ck_assert_int_eq(outcome.ending, KG_ENDING_TIMEOUT);
	ck_assert_int_eq(outcome.status, EXITED(0));
}
END_TEST

static void take_its_time(const void *arg)
{
	get_to(REACH_RUNNING);
	if (kg_fd_wait(channel, 20))
		_exit(1);
	say(KG_FRAME_EXITED, *(const int *)arg);
}

START_TEST(leaves_a_command_alone_that_ends_in_time)
{
	/* In milliseconds; the last ones are more than an int holds. */
	static const int64_t limits[] = { 0, 60000, INT64_C(1) << 32,
					  INT64_MAX / 2 };
	int status = EXITED(4);
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(limits); i++) {
		session.timeout_ms = limits[i];
		run(take_its_time, &status);
		ck_assert_int_eq(outcome.ending, KG_ENDING_EXITED);
		ck_assert_int_eq(outcome.status, EXITED(4));
		session = KG_SESSION_INIT;
		session.signals = &signals;
		session.trace = &trace;
	}
}
END_TEST

static void ignore_sigterm(const void *arg)
{
	(void)arg;
	get_to(REACH_RUNNING);
	hear_in_time(KG_FRAME_SIGNAL, SIGTERM, 1);
	hear_in_time(KG_FRAME_SIGNAL, SIGKILL, 1);
	say(KG_FRAME_EXITED, SIGKILL);
}

START_TEST(kills_the_command_that_ignores_its_timeout)
{
	uint64_t began_ns, gone_ms;

	speed = 50;
	began_ns = kg_now_ns();
	session.timeout_ms = 100;
	run(ignore_sigterm, NULL);
	gone_ms = (kg_now_ns() - began_ns) / 1000000;
	ck_assert_int_eq(outcome.ending, KG_ENDING_TIMEOUT);
	ck_assert_int_eq(outcome.status, SIGKILL);
	ck_assert_uint_ge(gone_ms, 100 + (unsigned)kg_wait_ms(KG_WAIT_GRACE));
}
END_TEST

/* Nobody reports the end that was enforced. */
static void ignore_sigkill(const void *arg)
{
	int i;

	(void)arg;
	get_to(REACH_RUNNING);
	hear_in_time(KG_FRAME_SIGNAL, SIGTERM, 1);
	hear_in_time(KG_FRAME_SIGNAL, SIGKILL, 1);
	for (i = 0; i < 1000 && !kg_fd_wait(channel, 10); i++)
		kg_frame_send_step(channel, KG_STEP_STARTED);
}

START_TEST(goes_on_without_a_report_of_the_kill)
{
	speed = 50;
	session.timeout_ms = 100;
	start(ignore_sigkill, NULL);
	kg_session_run(&session, &outcome);
	ck_assert_int_eq(outcome.ending, KG_ENDING_TIMEOUT);
	ck_assert_int_eq(outcome.status, SIGKILL);
	kg_child_done(&session.child);
	stop();
}
END_TEST

/* Steps keep the loop awake, and don't stretch the deadline. */
static void never_finish(const void *arg)
{
	int i;

	get_to(*(const enum reach *)arg);
	for (i = 0; i < 1000 && !kg_fd_wait(channel, 10); i++)
		kg_frame_send_step(channel, KG_STEP_INFO);
}

START_TEST(gives_up_on_a_launch_that_never_ends)
{
	enum reach reach;
	char want[64];

	speed = 200;
	(void)snprintf(want, sizeof(want),
		       "gave up after %d ms waiting for the launch",
		       kg_wait_ms(KG_WAIT_LAUNCH));
	for (reach = REACH_BEGIN; reach <= REACH_RELEASED; reach++) {
		start(never_finish, &reach);
		kg_session_run(&session, &outcome);
		ck_assert_int_eq(outcome.ending, reach == REACH_RELEASED
							 ? KG_ENDING_LOST
							 : KG_ENDING_FAILED);
		ck_assert_uint_eq(outcome.err.code, KG_E_TIMEOUT);
		ck_assert_str_eq(outcome.err.msg, want);
		kg_child_done(&session.child);
		stop();
		kg_session_done(&session);
	}
}
END_TEST

/* --- the end ------------------------------------------------------------- */

/* Where a helper of the worker's, bound to it, says its pid. */
static int helper_pipe[2];

static void start_helper(const void *arg)
{
	pid_t worker = getpid(), pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		pid = getpid();
		if (getppid() != worker ||
		    write(helper_pipe[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		wait_for_ever(NULL);
	}
	wait_for_ever(arg);
}

START_TEST(leaves_no_process_of_an_aborted_launch)
{
	int adopts = 0;
	pid_t helper;

	ck_assert_int_eq(pipe2(helper_pipe, O_CLOEXEC), 0);
	ck_assert_int_eq(kg_session_adopt(&session, &err), 0);
	ck_assert_uint_eq(session.stranger_count, 0);
	ck_assert_int_eq(prctl(PR_GET_CHILD_SUBREAPER, &adopts), 0);
	ck_assert_int_eq(adopts, 1);
	start(start_helper, NULL);
	close(helper_pipe[1]);
	ck_assert_int_eq(read(helper_pipe[0], &helper, sizeof(helper)),
			 (ssize_t)sizeof(helper));
	close(helper_pipe[0]);
	kg_session_abort(&session);
	ck_assert_int_eq(kill(helper, 0), -1); /* ended and reaped */
	ck_assert_int_eq(errno, ESRCH);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	stop();
}
END_TEST

/* A shell that execs kgate leaves its children to it. */
START_TEST(reaps_no_child_that_it_did_not_start)
{
	int status = -1;
	siginfo_t info;
	pid_t stranger = fork();

	if (stranger == 0)
		_exit(77);
	ck_assert_int_eq(
		waitid(P_PID, (id_t)stranger, &info, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(kg_session_adopt(&session, &err), 0);
	ck_assert_uint_gt(session.stranger_count, 0);
	start(wait_for_ever, NULL);
	kg_session_abort(&session);
	ck_assert_int_eq(session.child.pid, -1);
	ck_assert_int_eq(waitpid(stranger, &status, 0), stranger);
	ck_assert_int_eq(status, EXITED(77));
	stop();
}
END_TEST

START_TEST(aborts_what_was_never_started)
{
	kg_session_abort(&session);
	ck_assert_int_eq(session.child.pid, -1);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("supervisor/session");
	TCase *tc = tcase_create("session");

	tcase_add_checked_fixture(tc, lay_out, clear_away);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, releases_and_reports_the_status);
	tcase_add_test(tc, takes_everything_that_is_legal);
	tcase_add_test(tc, tells_a_failed_launch_from_a_lost_command);
	tcase_add_test(tc, notices_the_workers_end_in_each_phase);
	tcase_add_test(tc, notices_the_workers_end_without_an_end_of_file);
	tcase_add_test(tc, hears_what_was_said_before_the_end);
	tcase_add_test(tc, refuses_each_bad_frame_in_each_phase);
	tcase_add_test(tc, refuses_to_release_twice);
	tcase_add_test(tc, refuses_a_frame_out_of_turn);
	tcase_add_test(tc, refuses_a_second_start);
	tcase_add_test(tc, makes_a_hostile_failure_printable);
	tcase_add_test(tc, adds_bwraps_words_to_a_failure);
	tcase_add_test(tc, leaves_the_commands_words_alone);
	tcase_add_test(tc, relays_the_command_and_not_the_box);
	tcase_add_test(tc, reads_no_input_before_the_command_is_released);
	tcase_add_test(tc, ends_the_launch_by_a_signal_before_go);
	tcase_add_test(tc, passes_over_other_signals_before_go);
	tcase_add_test(tc, passes_signals_on_after_go);
	tcase_add_test(tc, kills_the_command_that_is_asked_twice);
	tcase_add_test(tc, asks_again_after_a_while);
	tcase_add_test(tc, stops_with_the_command);
	tcase_add_test(tc, ends_the_command_at_its_timeout);
	tcase_add_test(tc, calls_it_a_timeout_whatever_the_status);
	tcase_add_test(tc, leaves_a_command_alone_that_ends_in_time);
	tcase_add_test(tc, kills_the_command_that_ignores_its_timeout);
	tcase_add_test(tc, goes_on_without_a_report_of_the_kill);
	tcase_add_test(tc, gives_up_on_a_launch_that_never_ends);
	tcase_add_test(tc, leaves_no_process_of_an_aborted_launch);
	tcase_add_test(tc, reaps_no_child_that_it_did_not_start);
	tcase_add_test(tc, aborts_what_was_never_started);
	suite_add_tcase(s, tc);
	return s;
}
