/* SPDX-License-Identifier: MIT */
/* First byte: who is speaking.  The rest: one datagram, twice. */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/frame.h"
#include "common/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert() that NDEBUG leaves in. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_failure(const struct kg_error *err)
{
	must(err->code == KG_E_PROTOCOL);
	must(memchr(err->msg, '\0', sizeof(err->msg)));
}

static void check_frame(const struct kg_frame *frame, size_t size)
{
	const char *c;

	must(frame->type < KG_FRAME_COUNT);
	must(size == kg_frame_bytes((enum kg_frame_type)frame->type));
	if (frame->type == KG_FRAME_STEP)
		must(frame->step.step < KG_STEP_COUNT);
	if (frame->type != KG_FRAME_FAILED)
		return;
	must(frame->error.code > KG_E_NONE && frame->error.code < KG_E_COUNT);
	must(memchr(frame->error.msg, '\0', sizeof(frame->error.msg)));
	for (c = frame->error.msg; *c; c++)
		must(*c >= ' ' && *c <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kg_frame_link link = KG_FRAME_LINK_INIT;
	struct kg_error err = KG_ERROR_INIT;
	struct kg_frame frame, again;
	uint32_t seen;

	if (size == 0)
		return 0;
	link.from = (enum kg_role)(data[0] % KG_ROLE_COUNT);
	if (kg_frame_admit(&link, data + 1, size - 1, &frame, &err)) {
		must(link.seen == 0);
		check_failure(&err);
		return 0;
	}
	check_frame(&frame, size - 1);
	must(link.seen == KG_BIT32(frame.type));

	seen = link.seen;
	if (kg_frame_admit(&link, data + 1, size - 1, &again, &err))
		check_failure(&err);
	else
		must(memcmp(&frame, &again, sizeof(frame)) == 0);
	must(link.seen == seen);
	return 0;
}
