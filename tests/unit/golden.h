/* SPDX-License-Identifier: MIT */
#ifndef KG_TESTS_UNIT_GOLDEN_H
#define KG_TESTS_UNIT_GOLDEN_H

/* Comparing a text with its golden file under tests/golden. */

/**
 * kg_golden_check() - Fail the test unless a text is the golden one
 * @name:	File under tests/golden; borrowed
 * @text:	What was built; borrowed
 *
 * With KG_GOLDEN_UPDATE=1 in the environment the file is written instead: read
 * the difference before you commit it.
 */
void kg_golden_check(const char *name, const char *text);

#endif /* KG_TESTS_UNIT_GOLDEN_H */
