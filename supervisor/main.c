/* SPDX-License-Identifier: MIT */

/* kgate - launch one command in a box that the kernel enforces */

#include "config.h"

#include <stdio.h>

#include "common/error.h"
#include "common/fd.h"
#include "common/step.h"
#include "supervisor/options.h"
#include "supervisor/run.h"
#include "supervisor/say.h"

static int print_help(const struct kg_options *options)
{
	kg_options_print_help(stdout, options->topic);
	return fflush(stdout) ? 125 : 0;
}

static int print_version(void)
{
	return printf("kgate %s\n", PACKAGE_VERSION) < 0 || fflush(stdout) ? 125
									   : 0;
}

static int dispatch(const struct kg_options *options, uint64_t start_ns)
{
	switch (options->command) {
	case KG_COMMAND_RUN:
		return kg_run_main(options, start_ns);
	case KG_COMMAND_VERSION:
		return print_version();
	case KG_COMMAND_HELP:
	case KG_COMMAND_COUNT:
		break;
	}
	return print_help(options);
}

int main(int argc, char **argv)
{
	struct kg_options options = KG_OPTIONS_INIT;
	struct kg_error err = KG_ERROR_INIT;
	uint64_t start_ns = kg_now_ns();
	int status;

	if (kg_fd_open_standard(&err) || kg_fd_seal_inherited(&err) ||
	    kg_options_parse(argc, argv, &options, &err)) {
		kg_say("%s", err.msg);
		status = kg_error_exit_status(&err);
	} else {
		status = dispatch(&options, start_ns);
	}
	kg_options_done(&options);
	return status;
}
