/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/role.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/util.h"

static const struct kg_role_spec roles[] = {
	/* clang-format off */
	[KG_ROLE_SUPERVISOR] = { "kgate",	   0, .inherits = true },
	/* It hears of the supervisor's end by itself, unless it is stopped. */
	[KG_ROLE_WORKER]     = { "kgate-worker",   0, .inherits = true,
				 .pdeathsig = SIGCONT },
	[KG_ROLE_ENTRY]	     = { "kgate-entry",	   0, .inside = true },
	[KG_ROLE_GATE_SETUP] = { "kgate-gate",
				 KG_BIT64(CAP_NET_ADMIN) |
				 KG_BIT64(CAP_NET_RAW),
				 .pdeathsig = SIGKILL },
	[KG_ROLE_GATE]	     = { "kgate-gate",	   KG_BIT64(CAP_NET_ADMIN),
				 .pdeathsig = SIGKILL },
	[KG_ROLE_RESOLVER]   = { "kgate-resolver", 0,
				 .pdeathsig = SIGKILL },
	[KG_ROLE_MOUNTER]    = { "kgate-mounter",  KG_BIT64(CAP_SYS_ADMIN),
				 .pdeathsig = SIGKILL },
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(roles) == KG_ROLE_COUNT, "every role needs a row");

const struct kg_role_spec *kg_role_spec(enum kg_role role)
{
	return &roles[role];
}

static void free_caps(cap_t *caps)
{
	if (*caps)
		(void)cap_free(*caps);
}
#define auto_caps __attribute__((cleanup(free_caps)))

static int put_flag(cap_t caps, cap_flag_t flag, uint64_t bits)
{
	cap_value_t c;

	for (c = 0; c < 64; c++)
		if (bits & KG_BIT64(c) &&
		    cap_set_flag(caps, flag, 1, &c, CAP_SET))
			return -1;
	return 0;
}

static int keep_only(uint64_t bits, struct kg_error *err)
{
	auto_caps cap_t caps = cap_init();

	if (!caps || put_flag(caps, CAP_PERMITTED, bits) ||
	    put_flag(caps, CAP_EFFECTIVE, bits) || cap_set_proc(caps))
		return kg_fail_system(err, "set capabilities");
	return 0;
}

static uint64_t flag_bits(cap_t caps, cap_flag_t flag)
{
	cap_flag_value_t on;
	uint64_t bits = 0;
	cap_value_t c;

	for (c = 0; c < 64 && CAP_IS_SUPPORTED(c); c++)
		if (cap_get_flag(caps, c, flag, &on) == 0 && on == CAP_SET)
			bits |= KG_BIT64(c);
	return bits;
}

static bool is_ambient_or_bounding_left(bool bounding)
{
	cap_value_t c;

	for (c = 0; c < 64 && CAP_IS_SUPPORTED(c); c++)
		if (cap_get_ambient(c) == 1 ||
		    (bounding && cap_get_bound(c) == 1))
			return true;
	return false;
}

/* What the kernel says is held, not what was asked for. */
static int verify_only(const struct kg_role_spec *spec, struct kg_error *err)
{
	auto_caps cap_t caps = cap_get_proc();

	if (!caps)
		return kg_fail_system(err, "read capabilities");
	if (flag_bits(caps, CAP_PERMITTED) != spec->caps ||
	    flag_bits(caps, CAP_EFFECTIVE) != spec->caps ||
	    flag_bits(caps, CAP_INHERITABLE) != 0 ||
	    is_ambient_or_bounding_left(spec->inside))
		return kg_fail(err, KG_E_SYSTEM, 0,
			       "the kernel holds other capabilities than set");
	return 0;
}

static int set_caps(const struct kg_role_spec *spec, struct kg_error *err)
{
	if (spec->inherits)
		return 0;
	if (!spec->inside &&
	    (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
	     keep_only(spec->caps, err)))
		return err->code ? -1 : kg_fail_system(err, "clear ambient");
	return verify_only(spec, err);
}

int kg_role_enter(enum kg_role role, pid_t parent, struct kg_error *err)
{
	const struct kg_role_spec *spec = kg_role_spec(role);

	if (prctl(PR_SET_NAME, spec->name) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return kg_fail_system(err, "enter role %s", spec->name);
	if (set_caps(spec, err))
		return kg_fail_while(err, "enter role %s", spec->name);

	/* Last: the kernel forgets the signal when credentials change. */
	if (spec->pdeathsig)
		return kg_role_bind_to_parent(spec->pdeathsig, parent, err);
	return 0;
}

int kg_role_bind_to_parent(int sig, pid_t parent, struct kg_error *err)
{
	if (prctl(PR_SET_PDEATHSIG, sig))
		return kg_fail_system(err, "bind to the parent process");

	/* It may have gone while the signal was not armed yet. */
	if (parent > 0 && getppid() != parent)
		return kg_fail(err, KG_E_SANDBOX, 0, "the parent has gone");
	return 0;
}

int kg_role_lend(uint64_t bits, struct kg_error *err)
{
	auto_caps cap_t caps = cap_get_proc();
	cap_value_t c;

	if (!caps || put_flag(caps, CAP_INHERITABLE, bits) ||
	    cap_set_proc(caps))
		return kg_fail_system(err, "make capabilities inheritable");
	for (c = 0; c < 64; c++)
		if (bits & KG_BIT64(c) && cap_set_ambient(c, CAP_SET))
			return kg_fail_system(err, "make capabilities ambient");
	return 0;
}

int kg_role_hide(struct kg_error *err)
{
	if (prctl(PR_SET_DUMPABLE, 0))
		return kg_fail_system(err, "make the process undumpable");
	return 0;
}
