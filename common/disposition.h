/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_DISPOSITION_H
#define KG_COMMON_DISPOSITION_H

/*
 * Dispositions of signals, of all 64: the C library keeps 32 and 33 to itself
 * and leaves them as they were inherited, so the kernel is asked directly.
 */

#include <stdbool.h>

#define KG_DISPOSITION_SIGNALS 64

/**
 * kg_disposition_set() - Ignore a signal or give it its default
 * @signo:	Signal, 1 to KG_DISPOSITION_SIGNALS
 * @ignored:	Ignore it
 *
 * SIGKILL and SIGSTOP stay as they are.
 */
void kg_disposition_set(int signo, bool ignored);

/**
 * kg_disposition_is_ignored() - Whether a signal is ignored
 * @signo:	Signal, 1 to KG_DISPOSITION_SIGNALS
 *
 * Return: true if it is
 */
bool kg_disposition_is_ignored(int signo);

#endif /* KG_COMMON_DISPOSITION_H */
