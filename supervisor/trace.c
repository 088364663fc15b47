/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/trace.h"

#include <stdbool.h>

#include "supervisor/say.h"

void kg_trace_mark(struct kg_trace *trace, enum kg_step step)
{
	trace->at_ns[step] = kg_now_ns();
}

void kg_trace_put(struct kg_trace *trace, enum kg_step step, uint64_t at_ns)
{
	trace->at_ns[step] = at_ns;
}

/* Two steps of the same nanosecond are in the order of the launch. */
static bool is_before(const struct kg_trace *trace, int a, int b)
{
	if (trace->at_ns[a] != trace->at_ns[b])
		return trace->at_ns[a] < trace->at_ns[b];
	return a < b;
}

/* The next step after @last; KG_STEP_COUNT when there is none. */
static int find_next(const struct kg_trace *trace, int last)
{
	int i, next = KG_STEP_COUNT;

	for (i = 0; i < KG_STEP_COUNT; i++)
		if (trace->at_ns[i] && is_before(trace, last, i) &&
		    (next == KG_STEP_COUNT || is_before(trace, i, next)))
			next = i;
	return next;
}

void kg_trace_print(const struct kg_trace *trace)
{
	uint64_t start_ns = trace->at_ns[KG_STEP_START];
	uint64_t last_ns = start_ns, at_ns;
	int step = KG_STEP_START;

	for (;;) {
		step = find_next(trace, step);
		if (step == KG_STEP_COUNT)
			break;
		at_ns = trace->at_ns[step];
		kg_say("%8.3f ms  +%7.3f  %s", (double)(at_ns - start_ns) / 1e6,
		       (double)(at_ns - last_ns) / 1e6,
		       kg_step_name((enum kg_step)step));
		last_ns = at_ns;
	}
}
