/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_SECCOMP_H
#define KG_COMMON_SECCOMP_H

/* Seccomp filters from tables; the one door to libseccomp. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/**
 * enum kg_seccomp_op - How an argument is compared
 * @KG_SECCOMP_ANY:	Not at all
 * @KG_SECCOMP_EQ:	Its low 32 bits under the mask equal the value
 * @KG_SECCOMP_NE:	It differs from the value
 * @KG_SECCOMP_GE:	It is the value or above
 */
enum kg_seccomp_op {
	KG_SECCOMP_ANY,
	KG_SECCOMP_EQ,
	KG_SECCOMP_NE,
	KG_SECCOMP_GE,
};

/**
 * struct kg_seccomp_arg - A condition on one argument
 * @op:		Comparison
 * @index:	Which argument, 0 to 5
 * @mask:	Bits that count, for KG_SECCOMP_EQ
 * @value:	Compared with
 */
struct kg_seccomp_arg {
	enum kg_seccomp_op op;
	unsigned index;
	uint32_t mask;
	uint32_t value;
};

/**
 * struct kg_seccomp_rule - One row
 * @call:	System call by name; one that this architecture lacks is skipped
 * @errnum:	errno it answers, 0 to allow it
 * @args:	Conditions, all of which must hold
 * @why:	Reason, for the person who reviews the table
 */
struct kg_seccomp_rule {
	const char *call;
	int errnum;
	struct kg_seccomp_arg args[3];
	const char *why;
};

/**
 * struct kg_seccomp_table - A filter
 * @rules:		Rows; borrowed
 * @count:		How many
 * @default_errnum:	errno for calls without a row, 0 to allow them
 *
 * System calls of another architecture than the machine's own, x32 included,
 * answer ENOSYS.
 */
struct kg_seccomp_table {
	const struct kg_seccomp_rule *rules;
	size_t count;
	int default_errnum;
};

/**
 * kg_seccomp_load() - Put this process under a filter; cannot be undone
 * @table:	Filter; borrowed
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_seccomp_load(const struct kg_seccomp_table *table,
				  struct kg_error *err);

/**
 * kg_seccomp_export() - Write a filter as BPF, for bwrap's --seccomp
 * @table:	Filter; borrowed
 * @fd:		Where to, a pipe for example; borrowed
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_seccomp_export(const struct kg_seccomp_table *table,
				    int fd, struct kg_error *err);

/**
 * kg_seccomp_print() - Write a filter in libseccomp's pseudo code, for tests
 * @table:	Filter; borrowed
 * @fd:		Where to; borrowed
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_seccomp_print(const struct kg_seccomp_table *table, int fd,
				   struct kg_error *err);

#endif /* KG_COMMON_SECCOMP_H */
