/* SPDX-License-Identifier: MIT */
/*
 * A role can't be left again.  Check runs every test in a process of its own,
 * so each test may enter one.
 */
#include "config.h"

#include "common/role.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/util.h"

Suite *kg_suite(void);

static struct kg_error err;

static uint64_t field_of(FILE *f, const char *name, int base)
{
	uint64_t value = UINT64_MAX;
	char line[256];

	while (fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoull(line + strlen(name) + 1, NULL, base);
	return value;
}

static uint64_t status_field(const char *name, int base)
{
	kg_auto_file FILE *f = fopen("/proc/self/status", "re");

	return field_of(f, name, base);
}

/*
 * All capabilities, over a user namespace that nobody else is in.  Where the
 * kernel refuses one (a build chroot), there is nothing to test with.
 */
static bool become_almighty(void)
{
	if (unshare(CLONE_NEWUSER)) {
		ck_assert_msg(!getenv("KG_TESTS_MUST_RUN"),
			      "no user namespace: %s", strerror(errno));
		return false;
	}
	ck_assert_uint_ne(status_field("CapEff:", 16), 0);
	return true;
}

static void drop_bounding_set(void)
{
	int c;

	for (c = 0; prctl(PR_CAPBSET_READ, c) >= 0; c++)
		ck_assert_int_eq(prctl(PR_CAPBSET_DROP, c), 0);
}

static void drop_all_sets(void)
{
	cap_t none = cap_init();

	ck_assert_int_eq(cap_set_proc(none), 0);
	cap_free(none);
}

static bool is_empty_handed(void)
{
	return status_field("CapPrm:", 16) == 0 &&
	       status_field("CapEff:", 16) == 0;
}

static void make_ambient(cap_value_t value)
{
	cap_t caps = cap_get_proc();

	ck_assert_int_eq(
		cap_set_flag(caps, CAP_INHERITABLE, 1, &value, CAP_SET), 0);
	ck_assert_int_eq(cap_set_proc(caps), 0);
	ck_assert_int_eq(cap_set_ambient(value, CAP_SET), 0);
	cap_free(caps);
}

/* Second entry of the books: a wider role must be widened here as well. */
static const struct kg_role_spec reviewed[KG_ROLE_COUNT] = {
	/* clang-format off */
	[KG_ROLE_SUPERVISOR] = { "kgate",	   0, .inherits = true },
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

START_TEST(grants_what_was_reviewed)
{
	const struct kg_role_spec *row = kg_role_spec((enum kg_role)_i);

	ck_assert_str_eq(row->name, reviewed[_i].name);
	ck_assert_uint_eq(row->caps, reviewed[_i].caps);
	ck_assert_int_eq(row->inherits, reviewed[_i].inherits);
	ck_assert_int_eq(row->inside, reviewed[_i].inside);
	ck_assert_int_eq(row->pdeathsig, reviewed[_i].pdeathsig);
	ck_assert_uint_lt(strlen(row->name), 16); /* what the kernel keeps */
}
END_TEST

START_TEST(holds_what_its_row_says_and_nothing_else)
{
	const struct kg_role_spec *row = kg_role_spec((enum kg_role)_i);
	uint64_t held;
	char name[16];
	int sig = -1;

	if (!become_almighty())
		return;
	if (row->inside) {
		drop_bounding_set();
		drop_all_sets();
	} else {
		make_ambient(CAP_SYS_ADMIN);
	}
	held = status_field("CapPrm:", 16);
	ck_assert_int_eq(kg_role_enter((enum kg_role)_i, 0, &err), 0);

	if (!row->inherits) {
		held = row->caps;
		ck_assert_uint_eq(status_field("CapInh:", 16), 0);
		ck_assert_uint_eq(status_field("CapAmb:", 16), 0);
	}
	ck_assert_uint_eq(status_field("CapPrm:", 16), held);
	ck_assert_uint_eq(status_field("CapEff:", 16), held);
	if (row->inside)
		ck_assert_uint_eq(status_field("CapBnd:", 16), 0);
	ck_assert_uint_eq(status_field("NoNewPrivs:", 10), 1);
	prctl(PR_GET_PDEATHSIG, &sig);
	ck_assert_int_eq(sig, row->pdeathsig);
	prctl(PR_GET_NAME, name);
	ck_assert_str_eq(name, row->name);
}
END_TEST

START_TEST(enters_the_box_only_empty_handed)
{
	if (!become_almighty())
		return;
	drop_bounding_set();
	ck_assert_int_eq(kg_role_enter(KG_ROLE_ENTRY, 0, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
}
END_TEST

/* What is in the bounding set comes back with the next file capability. */
START_TEST(enters_the_box_only_with_an_empty_bounding_set)
{
	if (!become_almighty())
		return;
	drop_all_sets();
	ck_assert(is_empty_handed());
	ck_assert_int_eq(kg_role_enter(KG_ROLE_ENTRY, 0, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
}
END_TEST

START_TEST(gives_up_raw_sockets_after_the_set_up_for_good)
{
	if (!become_almighty())
		return;
	ck_assert_int_eq(kg_role_enter(KG_ROLE_GATE_SETUP, 0, &err), 0);
	ck_assert_int_eq(kg_role_enter(KG_ROLE_GATE, 0, &err), 0);
	ck_assert_uint_eq(status_field("CapPrm:", 16), KG_BIT64(CAP_NET_ADMIN));

	ck_assert_int_eq(kg_role_enter(KG_ROLE_GATE_SETUP, 0, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_uint_eq(status_field("CapPrm:", 16), KG_BIT64(CAP_NET_ADMIN));
}
END_TEST

START_TEST(cannot_take_what_it_does_not_have)
{
	if (!become_almighty())
		return;
	ck_assert_int_eq(kg_role_enter(KG_ROLE_RESOLVER, 0, &err), 0);
	ck_assert_int_eq(kg_role_enter(KG_ROLE_GATE, 0, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert(is_empty_handed());
}
END_TEST

START_TEST(refuses_the_role_of_an_orphan)
{
	if (!become_almighty())
		return;
	ck_assert_int_eq(kg_role_enter(KG_ROLE_RESOLVER, getpid(), &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SANDBOX);
}
END_TEST

START_TEST(knows_its_parent)
{
	if (!become_almighty())
		return;
	ck_assert_int_eq(kg_role_enter(KG_ROLE_RESOLVER, getppid(), &err), 0);
}
END_TEST

/* What `cat /proc/self/status` prints when this process becomes it. */
static uint64_t field_after_exec(const char *name)
{
	kg_auto_file FILE *f = NULL;
	uint64_t value;
	int ends[2];
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execl("/bin/cat", "cat", "/proc/self/status", NULL);
		_exit(1);
	}
	close(ends[1]);
	f = fdopen(ends[0], "r");
	value = field_of(f, name, 16);
	waitpid(pid, NULL, 0);
	return value;
}

START_TEST(lends_a_helper_what_it_needs)
{
	uint64_t both = KG_BIT64(CAP_NET_ADMIN) | KG_BIT64(CAP_NET_RAW);

	if (!become_almighty())
		return;
	ck_assert_int_eq(kg_role_enter(KG_ROLE_GATE_SETUP, 0, &err), 0);
	ck_assert_uint_eq(field_after_exec("CapEff:"), 0);
	ck_assert_int_eq(kg_role_lend(both, &err), 0);
	ck_assert_uint_eq(field_after_exec("CapEff:"), both);
}
END_TEST

START_TEST(lends_nothing_it_does_not_hold)
{
	if (!become_almighty())
		return;
	ck_assert_int_eq(kg_role_enter(KG_ROLE_GATE, 0, &err), 0);
	ck_assert_int_eq(kg_role_lend(KG_BIT64(CAP_NET_RAW), &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
}
END_TEST

/* A process whose parent has just ended, and which had bound itself to it. */
static pid_t start_bound_grandchild(int sig)
{
	pid_t child, parent, grandchild;
	int ends[2];

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		parent = getpid();
		grandchild = fork();
		if (grandchild == 0) {
			close(ends[0]);
			if (kg_role_bind_to_parent(sig, parent, &err))
				_exit(1);
			parent = getpid();
			(void)!write(ends[1], &parent, sizeof(parent));
			pause();
			_exit(2);
		}
		pause();
		_exit(0);
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &grandchild, sizeof(grandchild)),
			 (ssize_t)sizeof(grandchild));
	close(ends[0]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return grandchild;
}

START_TEST(ends_with_its_parent)
{
	pid_t pid = start_bound_grandchild(SIGUSR1);
	int status = 0;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGUSR1);
}
END_TEST

/* Dumpable again at once: a leak checker traces the process at its end. */
START_TEST(hides_from_its_peers)
{
	int dumpable;

	ck_assert_int_eq(kg_role_hide(&err), 0);
	dumpable = prctl(PR_GET_DUMPABLE);
	(void)prctl(PR_SET_DUMPABLE, 1);
	ck_assert_int_eq(dumpable, 0);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/role");
	TCase *tc = tcase_create("role");

	tcase_add_loop_test(tc, grants_what_was_reviewed, 0, KG_ROLE_COUNT);
	tcase_add_loop_test(tc, holds_what_its_row_says_and_nothing_else, 0,
			    KG_ROLE_COUNT);
	tcase_add_test(tc, enters_the_box_only_empty_handed);
	tcase_add_test(tc, enters_the_box_only_with_an_empty_bounding_set);
	tcase_add_test(tc, gives_up_raw_sockets_after_the_set_up_for_good);
	tcase_add_test(tc, cannot_take_what_it_does_not_have);
	tcase_add_test(tc, refuses_the_role_of_an_orphan);
	tcase_add_test(tc, knows_its_parent);
	tcase_add_test(tc, lends_a_helper_what_it_needs);
	tcase_add_test(tc, lends_nothing_it_does_not_hold);
	tcase_add_test(tc, ends_with_its_parent);
	tcase_add_test(tc, hides_from_its_peers);
	suite_add_tcase(s, tc);
	return s;
}
