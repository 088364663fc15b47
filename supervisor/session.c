/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/session.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/scoped.h"
#include "common/util.h"

enum phase {
	PHASE_BUILDING, /* no GO yet: a signal or a failure ends the launch */
	PHASE_RELEASED, /* GO was sent */
	PHASE_RUNNING,	/* the command runs */
	PHASE_ENDED,
};

struct loop {
	struct kg_session *s;
	struct kg_outcome *out;
	enum phase phase;
	uint64_t began_ns;   /* of the launch */
	uint64_t started_ns; /* of the command */
	uint64_t ended_ns;   /* when --timeout sent SIGTERM, else 0 */
	uint64_t killed_ns;  /* when SIGKILL was sent, else 0 */
	uint64_t asked_ns; /* when a signal asked the command to end, else 0 */
};

static void end_loop(struct loop *l, enum kg_ending ending)
{
	l->out->ending = ending;
	l->phase = PHASE_ENDED;
}

/* Whether a failure says that the command's exec didn't come to pass. */
static bool is_of_exec(const struct kg_error *err)
{
	return err->code == KG_E_NOENT || err->code == KG_E_NOEXEC ||
	       err->code == KG_E_SYSTEM;
}

/* Once released, a command whose start wasn't reported may have run. */
static void fail_loop(struct loop *l)
{
	bool may_have_run = l->phase == PHASE_RUNNING ||
			    (l->phase == PHASE_RELEASED &&
			     !is_of_exec(&l->out->err));

	end_loop(l, may_have_run ? KG_ENDING_LOST : KG_ENDING_FAILED);
}

/* --- the worker --------------------------------------------------------- */

/* What stands on standard error now was written before the command exists. */
static void take_words(struct loop *l, char *buf, size_t len)
{
	kg_relay_take_words(l->s->relay, buf, len);
	buf[strcspn(buf, "\n")] = '\0';
}

static void add_words(struct loop *l)
{
	char words[256];

	take_words(l, words, sizeof(words));
	if (words[0]) {
		struct kg_error said = KG_ERROR_INIT;

		(void)kg_fail(&said, KG_E_SANDBOX, 0, "%s", words);
		(void)kg_fail_while(&said, "%s", l->out->err.msg);
		memcpy(l->out->err.msg, said.msg, sizeof(said.msg));
	}
}

static void release(struct loop *l)
{
	char ignored[256];

	take_words(l, ignored, sizeof(ignored));
	if (kg_frame_send_plain(l->s->worker.fd, KG_FRAME_GO, 0, 0,
				&l->out->err))
		fail_loop(l);
	else
		l->phase = PHASE_RELEASED;
}

static void note_start(struct loop *l)
{
	l->started_ns = kg_now_ns();
	l->phase = PHASE_RUNNING;
}

static void note_end(struct loop *l, int status)
{
	l->out->status = status;
	end_loop(l, l->ended_ns ? KG_ENDING_TIMEOUT : KG_ENDING_EXITED);
}

/* What frame.c can't know: a frame that is legal in one phase alone. */
static bool is_due(const struct loop *l, uint32_t type)
{
	if (type == KG_FRAME_READY)
		return l->phase == PHASE_BUILDING;
	if (type == KG_FRAME_STARTED)
		return l->phase == PHASE_RELEASED;
	if (type == KG_FRAME_EXITED)
		return l->phase == PHASE_RUNNING;
	return true;
}

static void take_frame(struct loop *l, const struct kg_frame *frame)
{
	if (!is_due(l, frame->type)) {
		(void)kg_fail(&l->out->err, KG_E_PROTOCOL, 0,
			      "%s frame out of turn from %s",
			      kg_frame_name((enum kg_frame_type)frame->type),
			      kg_role_spec(l->s->worker.from)->name);
		fail_loop(l);
		return;
	}
	switch ((enum kg_frame_type)frame->type) {
	case KG_FRAME_READY:
		release(l);
		break;
	case KG_FRAME_STARTED:
		note_start(l);
		break;
	case KG_FRAME_EXITED:
		note_end(l, frame->value.a);
		break;
	case KG_FRAME_FAILED:
		l->out->err = frame->error;
		if (l->phase == PHASE_BUILDING)
			add_words(l);
		fail_loop(l);
		break;
	case KG_FRAME_STEP:
		kg_trace_put(l->s->trace, (enum kg_step)frame->step.step,
			     frame->step.at_ns);
		break;
	case KG_FRAME_LOST:
		if (frame->value.a >= 0 && frame->value.a <= KG_ROLE_COUNT)
			l->out->lost |= KG_BIT32(frame->value.a);
		break;
	case KG_FRAME_STOPPED:
	case KG_FRAME_CONTINUED:
	case KG_FRAME_GO:
	case KG_FRAME_SIGNAL:
	case KG_FRAME_ADDRESS:
	case KG_FRAME_SYNC:
	case KG_FRAME_SYNCED:
	case KG_FRAME_COUNT:
		break;
	}
}

static void hear_worker(struct loop *l)
{
	struct kg_frame frame;
	int rc = 1;

	while (l->phase != PHASE_ENDED && rc == 1) {
		rc = kg_frame_recv(&l->s->worker, &frame, &l->out->err);
		if (rc == 1)
			take_frame(l, &frame);
	}
	if (rc < 0)
		fail_loop(l);
}

/* It may be dead while something else still holds its end of the channel. */
static void miss_worker(struct loop *l)
{
	(void)kg_fail(&l->out->err, KG_E_SANDBOX, 0, "%s has ended",
		      kg_role_spec(l->s->worker.from)->name);
	fail_loop(l);
}

/* --- signals and deadlines ---------------------------------------------- */

static void pass_on(struct loop *l, int signo, bool to_group)
{
	struct kg_error ignored = KG_ERROR_INIT;

	if (kg_frame_send_plain(l->s->worker.fd, KG_FRAME_SIGNAL, signo,
				to_group, &ignored))
		l->out->err = ignored;
}

static void kill_command(struct loop *l)
{
	pass_on(l, SIGKILL, true);
	l->killed_ns = kg_now_ns();
}

/* Whoever asks twice means it: the command may ignore the first. */
static void ask_to_end(struct loop *l, int signo, bool to_group)
{
	bool insists = signo == SIGINT || signo == SIGTERM;

	if (insists && l->asked_ns &&
	    kg_deadline_ms(l->asked_ns, KG_WAIT_SECOND_SIGNAL) > 0) {
		kill_command(l);
		return;
	}
	pass_on(l, signo, to_group);
	if (insists)
		l->asked_ns = kg_now_ns();
}

static void take_signal(struct loop *l, enum kg_signal_use use, int signo,
			bool to_group)
{
	if (l->phase == PHASE_BUILDING) {
		if (use != KG_SIGNAL_END)
			return;
		l->out->signo = signo;
		end_loop(l, KG_ENDING_SIGNAL);
		return;
	}
	if (use == KG_SIGNAL_END) {
		ask_to_end(l, signo, to_group);
		return;
	}
	pass_on(l, signo, to_group);
	if (use == KG_SIGNAL_STOP)
		(void)raise(SIGSTOP);
}

static void hear_signals(struct loop *l)
{
	enum kg_signal_use use;
	bool to_group;
	int signo;

	while (l->phase != PHASE_ENDED) {
		use = kg_signals_next(l->s->signals, &signo, &to_group);
		if (use == KG_SIGNAL_NONE)
			break;
		take_signal(l, use, signo, to_group);
	}
}

static int64_t left_of_run(const struct loop *l)
{
	int64_t gone_ms = (int64_t)((kg_now_ns() - l->started_ns) / 1000000);

	return l->s->timeout_ms > gone_ms ? l->s->timeout_ms - gone_ms : 0;
}

/* How long the loop may sleep; -1 for as long as nothing happens. */
static int next_deadline(const struct loop *l)
{
	int64_t left_ms;

	if (l->phase == PHASE_BUILDING || l->phase == PHASE_RELEASED)
		return kg_deadline_ms(l->began_ns, KG_WAIT_LAUNCH);
	if (l->killed_ns)
		return kg_deadline_ms(l->killed_ns, KG_WAIT_END);
	if (l->ended_ns)
		return kg_deadline_ms(l->ended_ns, KG_WAIT_GRACE);
	if (!l->s->timeout_ms)
		return -1;
	left_ms = left_of_run(l);
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

static void give_up(struct loop *l, enum kg_wait wait)
{
	(void)kg_fail(&l->out->err, KG_E_TIMEOUT, 0,
		      "gave up after %d ms waiting for %s", kg_wait_ms(wait),
		      kg_wait_name(wait));
	fail_loop(l);
}

static void meet_deadlines(struct loop *l)
{
	if (l->phase == PHASE_ENDED || next_deadline(l) != 0)
		return;
	if (l->phase != PHASE_RUNNING) {
		give_up(l, KG_WAIT_LAUNCH);
	} else if (l->killed_ns) {
		/* Not even SIGKILL was reported: the box goes as a whole. */
		l->out->status = SIGKILL;
		l->out->killed = true;
		end_loop(l, l->ended_ns ? KG_ENDING_TIMEOUT : KG_ENDING_EXITED);
	} else if (l->ended_ns) {
		kill_command(l);
	} else {
		pass_on(l, SIGTERM, true);
		l->ended_ns = kg_now_ns();
	}
}

/* --- the loop ----------------------------------------------------------- */

/* The caller's input isn't touched before there is somebody to read it. */
static bool relays(const struct loop *l)
{
	return l->phase == PHASE_RUNNING || l->phase == PHASE_RELEASED;
}

static void turn(struct loop *l)
{
	struct pollfd pfd[3 + KG_RELAY_POLL_FDS] = {
		{ .fd = l->s->signals->fd, .events = POLLIN },
		{ .fd = l->s->worker.fd, .events = POLLIN },
		{ .fd = l->s->child.pidfd, .events = POLLIN },
	};
	nfds_t count = 3;
	bool relaying = relays(l);

	if (relaying) {
		kg_relay_prepare(l->s->relay, pfd + 3);
		count += KG_RELAY_POLL_FDS;
	}
	if (poll(pfd, count, next_deadline(l)) < 0)
		return;
	if (relaying)
		kg_relay_advance(l->s->relay, pfd + 3);
	if (pfd[0].revents)
		hear_signals(l);
	if (l->phase != PHASE_ENDED && (pfd[1].revents || pfd[2].revents))
		hear_worker(l);
	if (l->phase != PHASE_ENDED && pfd[2].revents)
		miss_worker(l);
	meet_deadlines(l);
}

void kg_session_run(struct kg_session *session, struct kg_outcome *ret)
{
	struct loop l = { .s = session,
			  .out = ret,
			  .phase = PHASE_BUILDING,
			  .began_ns = kg_now_ns() };

	memset(ret, 0, sizeof(*ret));
	while (l.phase != PHASE_ENDED)
		turn(&l);
}

int kg_session_adopt(struct kg_session *session, struct kg_error *err)
{
	siginfo_t info = { 0 };

	/* The usual case, and the cheap one: no child at all. */
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
		session->stranger_count = kg_spawn_list_children(
			session->strangers, KG_SESSION_STRANGERS);
	return kg_spawn_adopt(err);
}

void kg_session_abort(struct kg_session *session)
{
	if (session->child.pid <= 0)
		return;
	kg_child_done(&session->child);
	if (session->stranger_count <= KG_SESSION_STRANGERS)
		kg_spawn_end_children(session->strangers,
				      session->stranger_count,
				      kg_wait_ms(KG_WAIT_END));
}

void kg_session_reap(struct kg_session *session)
{
	(void)kg_child_wait(&session->child, kg_wait_ms(KG_WAIT_LAST_WORDS));
}

void kg_session_done(struct kg_session *session)
{
	kg_frame_link_done(&session->worker);
	kg_scope_close_(&session->child.pidfd);
	session->child.pid = -1;
}
