/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_SESSION_H
#define KG_SUPERVISOR_SESSION_H

/*
 * From the worker's start to the end of the run: one loop over its frames, the
 * caller's signals, the deadlines and the command's streams.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/frame.h"
#include "common/spawn.h"
#include "supervisor/relay.h"
#include "supervisor/signals.h"
#include "supervisor/trace.h"

/* Whoever has more children before the start is on its own. */
#define KG_SESSION_STRANGERS 64

/**
 * struct kg_session - What the loop works with
 * @worker:	Channel to the worker; owned
 * @child:	The worker; owned
 * @relay:	The command's streams; borrowed
 * @signals:	The caller's signals; borrowed
 * @trace:	Steps; borrowed
 * @timeout_ms:	Longest run of the command in milliseconds, 0 for none
 * @strangers:	Children that kgate had before (exec from a shell)
 * @stranger_count:	How many; none of them is touched
 */
struct kg_session {
	struct kg_frame_link worker;
	struct kg_child child;
	struct kg_relay *relay;
	struct kg_signals *signals;
	struct kg_trace *trace;
	int64_t timeout_ms;
	pid_t strangers[KG_SESSION_STRANGERS];
	size_t stranger_count;
};

#define KG_SESSION_INIT                               \
	((struct kg_session){ .worker = { .fd = -1 }, \
			      .child = { .pid = -1, .pidfd = -1 } })

/**
 * enum kg_ending - How a run ended
 * @KG_ENDING_EXITED:	The command ended; its status counts
 * @KG_ENDING_TIMEOUT:	--timeout ended it
 * @KG_ENDING_SIGNAL:	A signal ended the launch before the command started
 * @KG_ENDING_FAILED:	The box failed before the command started
 * @KG_ENDING_LOST:	The box failed while the command ran
 */
enum kg_ending {
	KG_ENDING_EXITED,
	KG_ENDING_TIMEOUT,
	KG_ENDING_SIGNAL,
	KG_ENDING_FAILED,
	KG_ENDING_LOST,
};

/**
 * struct kg_outcome - What came of a run
 * @ending:	How it ended
 * @status:	The command's wait status
 * @signo:	For KG_ENDING_SIGNAL
 * @killed:	SIGKILL went unreported: what is left has to be ended
 * @lost:	Bits (KG_BIT32(enum kg_role)) of the helpers that ended early;
 *		KG_ROLE_COUNT is slirp4netns
 * @err:	For KG_ENDING_FAILED and KG_ENDING_LOST
 */
struct kg_outcome {
	enum kg_ending ending;
	int status;
	int signo;
	bool killed;
	uint32_t lost;
	struct kg_error err;
};

/**
 * kg_session_run() - Attend a launch to its end
 * @session:	Session with a started worker; borrowed
 * @ret:	Filled
 *
 * The audit line must be on disk: the command is released from here.
 */
void kg_session_run(struct kg_session *session, struct kg_outcome *ret);

/**
 * kg_session_abort() - End everything that the worker has started
 * @session:	Session; borrowed
 *
 * For a launch that failed: returns when no process of it is left, at the
 * latest after KG_WAIT_END.  Needs kg_session_adopt() before the start.
 */
void kg_session_abort(struct kg_session *session);

/**
 * kg_session_adopt() - Have orphans of the launch become children of kgate
 * @session:	Session; borrowed
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_session_adopt(struct kg_session *session,
				   struct kg_error *err);

/**
 * kg_session_reap() - Take the worker's end after a run
 * @session:	Session; borrowed
 *
 * Its last word was said: this waits for its exit alone, so that nothing of
 * kgate's is left for another process to reap.
 */
void kg_session_reap(struct kg_session *session);

/**
 * kg_session_done() - Release what a session owns
 * @session:	Session; becomes empty
 */
void kg_session_done(struct kg_session *session);

#endif /* KG_SUPERVISOR_SESSION_H */
