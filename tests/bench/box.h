/* SPDX-License-Identifier: MIT */
#ifndef KG_TESTS_BENCH_BOX_H
#define KG_TESTS_BENCH_BOX_H

/*
 * What a baseline gives to bwrap: the very arguments that kgate's own builder
 * makes of the same policy, less those for what a baseline doesn't have.
 */

#include <stddef.h>

#include "child/launch.h"
#include "child/linux.h"
#include "common/error.h"

/**
 * struct kg_bench_box - Arguments, ready to be read again and again
 * @launch:	As kgate builds it; owned
 * @facts:	Of this machine, only what the arguments depend on; owned
 * @args_fd:	For bwrap's --args; owned
 * @pass:	All descriptors that the arguments name, and @args_fd; owned
 * @pass_count:	How many
 */
struct kg_bench_box {
	struct kg_launch launch;
	struct kg_linux facts;
	int args_fd;
	int *pass;
	size_t pass_count;
};

#define KG_BENCH_BOX_INIT                                 \
	((struct kg_bench_box){ .launch = KG_LAUNCH_INIT, \
				.facts = KG_LINUX_INIT,   \
				.args_fd = -1 })

/**
 * kg_bench_box_open() - Build them for the working directory
 * @config:	Policy file; borrowed
 * @ret:	Filled on success, at its final address; release with
 *		kg_bench_box_done()
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_CONFIG, KG_E_SYSTEM
 */
kg_must_check int kg_bench_box_open(const char *config,
				    struct kg_bench_box *ret,
				    struct kg_error *err);

/**
 * kg_bench_box_rewind() - Let bwrap read everything from its begin again
 * @box:	Box; borrowed
 */
void kg_bench_box_rewind(const struct kg_bench_box *box);

/**
 * kg_bench_box_done() - Release what a box owns
 * @box:	Box; becomes empty
 */
void kg_bench_box_done(struct kg_bench_box *box);

#endif /* KG_TESTS_BENCH_BOX_H */
