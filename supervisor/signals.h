/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_SIGNALS_H
#define KG_SUPERVISOR_SIGNALS_H

/* The supervisor's signals: heard by a descriptor, handled in one loop. */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

/**
 * struct kg_signals - Signal state
 * @fd:		signalfd; owned
 * @blocked:	Bit N-1: signal N was blocked when kgate was started
 * @ignored:	Bit N-1: signal N was ignored when kgate was started
 */
struct kg_signals {
	int fd;
	uint64_t blocked;
	uint64_t ignored;
};

#define KG_SIGNALS_INIT ((struct kg_signals){ .fd = -1 })

/**
 * enum kg_signal_use - What the supervisor does with a signal
 * @KG_SIGNAL_NONE:	Nothing
 * @KG_SIGNAL_END:	Before the command: ends the launch.  Then: passed on
 * @KG_SIGNAL_PASS:	Passed on
 * @KG_SIGNAL_STOP:	Passed on, then kgate itself stops
 */
enum kg_signal_use {
	KG_SIGNAL_NONE,
	KG_SIGNAL_END,
	KG_SIGNAL_PASS,
	KG_SIGNAL_STOP,
};

/**
 * kg_signals_take() - Remember the caller's state and listen
 * @ret:	Filled on success; release with kg_signals_done()
 * @err:	Filled on failure
 *
 * SIGPIPE and SIGXFSZ are ignored from now on: the calls say what they mean.  A
 * signal that the caller has set to be ignored (nohup) stays so and isn't
 * heard.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_signals_take(struct kg_signals *ret, struct kg_error *err);

/**
 * kg_signals_next() - Take one signal without waiting
 * @signals:	State; borrowed
 * @ret_signo:	Receives its number
 * @ret_to_group: Receives whether it is for the command's whole group: a
 *		terminal has sent it, or it is SIGCONT
 *
 * Return: what to do with it, KG_SIGNAL_NONE when there is none
 */
enum kg_signal_use kg_signals_next(struct kg_signals *signals, int *ret_signo,
				   bool *ret_to_group);

/**
 * kg_signals_name() - Name of a signal
 * @signo:	Number
 *
 * Return: "SIGINT" and the like for those that are heard, else "a signal"
 */
const char *kg_signals_name(int signo);

/**
 * kg_signals_done() - Stop listening
 * @signals:	State; becomes empty
 */
void kg_signals_done(struct kg_signals *signals);

#endif /* KG_SUPERVISOR_SIGNALS_H */
