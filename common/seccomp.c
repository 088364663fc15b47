/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/seccomp.h"

#include <errno.h>
#include <seccomp.h>

#include "common/scoped.h"
#include "common/util.h"

static void release(scmp_filter_ctx *ctx)
{
	if (*ctx)
		seccomp_release(*ctx);
}
#define auto_filter __attribute__((cleanup(release)))

static uint32_t action(int errnum)
{
	return errnum ? SCMP_ACT_ERRNO((uint32_t)errnum) : SCMP_ACT_ALLOW;
}

static unsigned conditions(const struct kg_seccomp_rule *rule,
			   struct scmp_arg_cmp *ret)
{
	unsigned n = 0;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rule->args); i++) {
		const struct kg_seccomp_arg *arg = &rule->args[i];

		/*
		 * The kernel reads an int from the low half: what stands above
		 * must not decide.
		 */
		if (arg->op == KG_SECCOMP_EQ)
			ret[n++] = SCMP_CMP64(
				arg->index, SCMP_CMP_MASKED_EQ,
				arg->mask ? arg->mask : UINT32_MAX, arg->value);
		else if (arg->op == KG_SECCOMP_NE)
			ret[n++] = SCMP_CMP64(arg->index, SCMP_CMP_NE,
					      arg->value);
		else if (arg->op == KG_SECCOMP_GE)
			ret[n++] = SCMP_CMP64(arg->index, SCMP_CMP_GE,
					      arg->value);
	}
	return n;
}

static int add_rule(scmp_filter_ctx ctx, const struct kg_seccomp_rule *rule,
		    struct kg_error *err)
{
	struct scmp_arg_cmp cmp[KG_ARRAY_LEN(rule->args)];
	int nr = seccomp_syscall_resolve_name(rule->call);
	unsigned n = conditions(rule, cmp);
	int rc;

	/* Negative numbers stand for calls that this architecture lacks. */
	if (nr < 0)
		return 0;
	rc = seccomp_rule_add_array(ctx, action(rule->errnum), nr, n, cmp);
	if (rc < 0)
		return kg_fail(err, KG_E_SYSTEM, -rc, "seccomp rule for %s",
			       rule->call);
	return 0;
}

static int build(const struct kg_seccomp_table *table, scmp_filter_ctx *ret,
		 struct kg_error *err)
{
	auto_filter scmp_filter_ctx ctx = NULL;
	size_t i;
	int rc;

	ctx = seccomp_init(action(table->default_errnum));
	if (!ctx)
		return kg_fail(err, KG_E_SYSTEM, ENOMEM, "seccomp filter");
	rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
			      SCMP_ACT_ERRNO(ENOSYS));
	if (rc < 0)
		return kg_fail(err, KG_E_SYSTEM, -rc, "seccomp filter");
	for (i = 0; i < table->count; i++)
		if (add_rule(ctx, &table->rules[i], err))
			return -1;
	*ret = kg_take_ptr(ctx);
	return 0;
}

int kg_seccomp_load(const struct kg_seccomp_table *table, struct kg_error *err)
{
	auto_filter scmp_filter_ctx ctx = NULL;
	int rc;

	if (build(table, &ctx, err))
		return -1;
	rc = seccomp_load(ctx);
	if (rc < 0)
		return kg_fail(err, KG_E_SYSTEM, -rc, "load seccomp filter");
	return 0;
}

int kg_seccomp_export(const struct kg_seccomp_table *table, int fd,
		      struct kg_error *err)
{
	auto_filter scmp_filter_ctx ctx = NULL;
	int rc;

	if (build(table, &ctx, err))
		return -1;
	rc = seccomp_export_bpf(ctx, fd);
	if (rc < 0)
		return kg_fail(err, KG_E_SYSTEM, -rc, "export seccomp filter");
	return 0;
}

int kg_seccomp_print(const struct kg_seccomp_table *table, int fd,
		     struct kg_error *err)
{
	auto_filter scmp_filter_ctx ctx = NULL;
	int rc;

	if (build(table, &ctx, err))
		return -1;
	rc = seccomp_export_pfc(ctx, fd);
	if (rc < 0)
		return kg_fail(err, KG_E_SYSTEM, -rc, "print seccomp filter");
	return 0;
}
