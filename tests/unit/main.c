/* SPDX-License-Identifier: MIT */
/*
 * main() of every unit test: runs the suite of the file it is linked with.
 *
 * How the outcome is told (TAP on standard output) and how long a test may take
 * is Check's own environment, which the Makefile sets: CK_TAP_LOG_FILE_NAME,
 * CK_VERBOSITY, CK_TIMEOUT_MULTIPLIER.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>

Suite *kg_suite(void);

int main(void)
{
	SRunner *runner = srunner_create(kg_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
