/* SPDX-License-Identifier: MIT */
#ifndef KG_TESTS_BENCH_SHOT_H
#define KG_TESTS_BENCH_SHOT_H

/* One timed launch. */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/**
 * struct kg_shot - What a launch took
 * @first_ns:	From before the fork to the command's first instruction
 * @exit_ns:	From before the fork to the exit status in the parent's hands
 */
struct kg_shot {
	uint64_t first_ns;
	uint64_t exit_ns;
};

/**
 * kg_shot_init() - Make this process fit to fire
 * @err:	Filled on failure
 *
 * Left-overs of a launch become this process's children from here on.
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_shot_init(struct kg_error *err);

/**
 * kg_shot_fire() - Launch once
 * @argv:	Launcher by path, and its arguments, NULL at the end; borrowed.
 *		Its command prints its first instruction's CLOCK_MONOTONIC
 * @pass:	Descriptors that it inherits under their numbers; borrowed
 * @pass_count:	How many
 * @ret:	Filled on success
 * @err:	Filled on failure
 *
 * The launcher's input is /dev/null.  Returns when nothing of the launch is
 * left, so that its end doesn't burden the next one.
 *
 * Return: 0, or -1 with KG_E_SANDBOX (the launch failed), KG_E_TIMEOUT,
 *	   KG_E_SYSTEM
 */
kg_must_check int kg_shot_fire(char *const *argv, const int *pass,
			       size_t pass_count, struct kg_shot *ret,
			       struct kg_error *err);

#endif /* KG_TESTS_BENCH_SHOT_H */
