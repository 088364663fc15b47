/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_SAY_H
#define KG_SUPERVISOR_SAY_H

/* The one place that writes to the user. */

/**
 * kg_say() - Write one line to standard error
 * @fmt:	Message without a newline
 *
 * The line begins "kgate: ".  Control characters are shown as '?', so that what
 * came from outside can't reach the terminal.  One write a line.
 */
void kg_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* KG_SUPERVISOR_SAY_H */
