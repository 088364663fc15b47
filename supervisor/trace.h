/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_TRACE_H
#define KG_SUPERVISOR_TRACE_H

/* Where the time of a launch goes, for --trace. */

#include <stdint.h>

#include "common/step.h"

/**
 * struct kg_trace - When each step was reached
 * @at_ns:	kg_now_ns() at each step, 0 for one that wasn't reached
 */
struct kg_trace {
	uint64_t at_ns[KG_STEP_COUNT];
};

#define KG_TRACE_INIT ((struct kg_trace){ { 0 } })

/**
 * kg_trace_mark() - Note a step, now
 * @trace:	Trace; borrowed
 * @step:	Step
 */
void kg_trace_mark(struct kg_trace *trace, enum kg_step step);

/**
 * kg_trace_put() - Note a step that another process has told
 * @trace:	Trace; borrowed
 * @step:	Step, below KG_STEP_COUNT
 * @at_ns:	When
 */
void kg_trace_put(struct kg_trace *trace, enum kg_step step, uint64_t at_ns);

/**
 * kg_trace_print() - Write the steps to standard error, in order of time
 * @trace:	Trace; borrowed
 */
void kg_trace_print(const struct kg_trace *trace);

#endif /* KG_SUPERVISOR_TRACE_H */
