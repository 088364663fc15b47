/* SPDX-License-Identifier: MIT */
/*
 * The mount plan and bwrap's arguments, over a small host of the test's own.
 */
#include "config.h"

#include "child/plan.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child/bwrap.h"
#include "child/boxfiles.h"
#include "common/fd.h"
#include "common/scoped.h"
#include "common/util.h"
#include "tests/unit/golden.h"

static char root[] = "/tmp/kgate-plan-XXXXXX";

static const char *const homes[] = { "/home/ann", "/root", NULL };

static const char *under_root(const char *path)
{
	static char full[4096];

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	return full;
}

static void make_dir(const char *path)
{
	ck_assert_int_eq(mkdir(under_root(path), 0755), 0);
}

static void make_file(const char *path, const char *text)
{
	kg_auto_close int fd = -1;

	fd = open(under_root(path), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(kg_fd_write_all(fd, text, strlen(text)), 0);
}

static void make_link(const char *text, const char *path)
{
	ck_assert_int_eq(symlink(text, under_root(path)), 0);
}

/* A merged /usr and a resolv.conf that is a link, as systemd-resolved has it.
 */
static void make_host(void)
{
	static const char *const dirs[] = {
		"/usr",
		"/etc",
		"/etc/ssh",
		"/etc/ssl",
		"/etc/ssl/private",
		"/opt",
		"/run",
		"/run/systemd",
		"/run/systemd/resolve",
		"/run/current-system",
	};
	size_t i;

	ck_assert_ptr_nonnull(mkdtemp(root));
	for (i = 0; i < KG_ARRAY_LEN(dirs); i++)
		make_dir(dirs[i]);
	make_link("usr/bin", "/bin");
	make_link("usr/lib", "/lib");
	make_link("../run/systemd/resolve/stub-resolv.conf",
		  "/etc/resolv.conf");
	make_file("/run/systemd/resolve/stub-resolv.conf",
		  "nameserver 127.0.0.53\n");
	make_file("/etc/hosts", "127.0.0.1 localhost\n");
	make_file("/etc/shadow", "");
	make_file("/etc/ssh/ssh_host_rsa_key", "");
	make_file("/etc/ssh/ssh_host_rsa_key.pub", "");
}

static void remove_host(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	ck_assert_int_eq(system(command), 0);
}

static struct kg_plan_input usual_input(const struct kg_policy *policy)
{
	return (struct kg_plan_input){
		.policy = policy,
		.root = root,
		.project = "/home/ann/project",
		.homes = homes,
		.hostname = "workshop",
		.tmpfs_bytes = 1 << 30,
	};
}

static void build(const struct kg_plan_input *in, struct kg_plan *plan)
{
	struct kg_error err = KG_ERROR_INIT;

	ck_assert_msg(kg_plan_build(in, plan, &err) == 0, "%s", err.msg);
}

/* One option a line; a descriptor is shown as the text behind it. */
static char *show(const struct kg_plan *plan, bool share_net)
{
	int fds[32];
	const struct kg_bwrap_options options = {
		.share_net = share_net,
		.uid = 1000,
		.gid = 1000,
		.hostname = "workshop",
		.chdir = "/home/ann/project",
		.info_fd = 10,
		.seccomp_fd = 11,
		.data_fds = fds,
	};
	struct kg_bwrap_args args = KG_BWRAP_ARGS_INIT;
	struct kg_error err = KG_ERROR_INIT;
	char *text, *p;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(fds); i++)
		fds[i] = 20 + (int)i;
	ck_assert_int_eq(kg_bwrap_build(plan, &options, &args, &err), 0);
	text = malloc(args.len + 1);
	memcpy(text, args.bytes, args.len);
	text[args.len] = '\0';
	for (i = 0; i + 1 < args.len; i++)
		if (text[i] == '\0')
			text[i] = strncmp(text + i + 1, "--", 2) == 0 ? '\n'
								      : ' ';
	text[args.len - 1] = '\n';

	/* --perms and --size belong to the option behind them. */
	while ((p = strstr(text, "\n--tmpfs")) ||
	       (p = strstr(text, "\n--size")) ||
	       (p = strstr(text, "\n--ro-bind-data")))
		*p = ' ';
	kg_bwrap_args_done(&args);
	return text;
}

static void check_mode(enum kg_network network, bool with_host, bool ipv6,
		       bool is_root, const char *golden)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_origin origin = { .kind = KG_ORIGIN_FLAG };
	struct kg_host host = { .kind = KG_HOST_NAME, .name = "web.test" };
	struct kg_plan_input in = usual_input(&policy);
	struct kg_error err = KG_ERROR_INIT;
	struct kg_plan plan = KG_PLAN_INIT;
	kg_auto_free char *text = NULL;

	policy.network = network;
	if (with_host)
		ck_assert_int_eq(
			kg_policy_add_host(&policy, &host, &origin, &err), 0);
	in.ipv6 = ipv6;
	in.is_root = is_root;
	build(&in, &plan);
	text = show(&plan, network == KG_NETWORK_OPEN);
	kg_golden_check(golden, text);
	kg_plan_done(&plan);
	kg_policy_done(&policy);
}

START_TEST(writes_the_golden_arguments_of_each_mode)
{
	check_mode(KG_NETWORK_OFF, false, false, false, "bwrap-off.txt");
	check_mode(KG_NETWORK_RESTRICTED, true, false, false,
		   "bwrap-restricted.txt");
	check_mode(KG_NETWORK_OPEN, false, false, false, "bwrap-open.txt");
	check_mode(KG_NETWORK_OFF, false, false, true, "bwrap-off-root.txt");
}
END_TEST

START_TEST(treats_restricted_without_hosts_as_off)
{
	check_mode(KG_NETWORK_RESTRICTED, false, false, false, "bwrap-off.txt");
}
END_TEST

static const struct kg_mount *find(const struct kg_plan *plan,
				   const char *target)
{
	const struct kg_mount *found = NULL;
	size_t i;

	for (i = 0; i < plan->count; i++)
		if (strcmp(plan->mounts[i].target, target) == 0)
			found = &plan->mounts[i];
	return found;
}

static size_t position(const struct kg_plan *plan, const char *target)
{
	const struct kg_mount *m = find(plan, target);

	ck_assert_msg(m, "%s isn't mounted", target);
	return (size_t)(m - plan->mounts);
}

START_TEST(puts_resolv_conf_where_the_link_leads)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_plan_input in = usual_input(&policy);
	struct kg_plan plan = KG_PLAN_INIT;
	const struct kg_mount *m;

	build(&in, &plan);
	ck_assert_ptr_null(find(&plan, "/etc/resolv.conf"));
	m = find(&plan, "/run/systemd/resolve/stub-resolv.conf");
	ck_assert_ptr_nonnull(m);
	ck_assert_str_eq(m->source, kg_boxfiles_resolv(false, false));
	kg_plan_done(&plan);
}
END_TEST

START_TEST(never_mounts_on_a_system_file_that_is_not_there)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_plan_input in = usual_input(&policy);
	struct kg_plan plan = KG_PLAN_INIT;
	size_t i;

	ck_assert_int_eq(unlink(under_root("/etc/resolv.conf")), 0);
	make_link("/etc/nowhere/resolv.conf", "/etc/resolv.conf");
	ck_assert_int_eq(unlink(under_root("/etc/hosts")), 0);
	build(&in, &plan);
	for (i = 0; i < plan.count; i++)
		ck_assert(plan.mounts[i].kind != KG_MOUNT_DATA ||
			  strncmp(plan.mounts[i].target, "/etc/", 5));
	kg_plan_done(&plan);
}
END_TEST

static void add_path(struct kg_policy *policy, const char *real,
		     const char *link, bool writable)
{
	struct kg_origin origin = { .kind = KG_ORIGIN_FLAG };
	struct kg_error err = KG_ERROR_INIT;

	ck_assert_int_eq(
		kg_policy_add_path(policy, real, writable, &origin, &err), 0);
	policy->paths[policy->path_count - 1].real = strdup(real);
	if (link)
		policy->paths[policy->path_count - 1].link = strdup(link);
}

START_TEST(lays_a_folder_before_what_lies_in_it)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_plan_input in = usual_input(&policy);
	struct kg_plan plan = KG_PLAN_INIT;

	add_path(&policy, "/home/ann/cache/inner", NULL, false);
	add_path(&policy, "/home/ann/project/vendor", NULL, false);
	add_path(&policy, "/home/ann/cache", NULL, true);
	build(&in, &plan);
	ck_assert_uint_lt(position(&plan, "/home/ann"),
			  position(&plan, "/home/ann/cache"));
	ck_assert_uint_lt(position(&plan, "/home/ann/cache"),
			  position(&plan, "/home/ann/cache/inner"));
	ck_assert_uint_lt(position(&plan, "/home/ann/cache/inner"),
			  position(&plan, "/home/ann/project"));
	ck_assert_uint_lt(position(&plan, "/home/ann/project"),
			  position(&plan, "/home/ann/project/vendor"));
	ck_assert_int_eq(find(&plan, "/home/ann/cache")->kind, KG_MOUNT_BIND);
	ck_assert_int_eq(find(&plan, "/home/ann/project/vendor")->kind,
			 KG_MOUNT_RO_BIND);
	kg_plan_done(&plan);
	kg_policy_done(&policy);
}
END_TEST

START_TEST(shows_a_linked_path_under_both_names)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_plan_input in = usual_input(&policy);
	struct kg_plan plan = KG_PLAN_INIT;

	add_path(&policy, "/home/ann/dots/gitconfig", "/home/ann/.gitconfig",
		 false);
	build(&in, &plan);
	ck_assert_str_eq(find(&plan, "/home/ann/.gitconfig")->source,
			 "/home/ann/dots/gitconfig");
	ck_assert_ptr_nonnull(find(&plan, "/home/ann/dots/gitconfig"));
	kg_plan_done(&plan);
	kg_policy_done(&policy);
}
END_TEST

START_TEST(seals_last)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_plan_input in = usual_input(&policy);
	struct kg_plan plan = KG_PLAN_INIT;

	build(&in, &plan);
	ck_assert_int_eq(plan.mounts[plan.count - 1].kind, KG_MOUNT_SEAL);
	ck_assert_str_eq(plan.mounts[plan.count - 1].target, "/");
	kg_plan_done(&plan);
}
END_TEST

START_TEST(writes_the_golden_files_of_the_box)
{
	struct kg_error err = KG_ERROR_INIT;
	kg_auto_free char *hosts = NULL;

	ck_assert_int_eq(kg_boxfiles_hosts("workshop", &hosts, &err), 0);
	kg_golden_check("hosts.txt", hosts);
	kg_golden_check("resolv-off.txt", kg_boxfiles_resolv(false, false));
	kg_golden_check("resolv-restricted.txt",
			kg_boxfiles_resolv(true, false));
	kg_golden_check("resolv-restricted-ipv6.txt",
			kg_boxfiles_resolv(true, true));
}
END_TEST

START_TEST(waits_for_all_of_what_bwrap_says)
{
	static const char text[] = "{\n    \"child-pid\": 4711,\n"
				   "    \"net-namespace\": 4026\n}\n";
	struct kg_error err = KG_ERROR_INIT;
	pid_t pid = 0;
	size_t i;

	for (i = 0; i < sizeof(text) - 3; i++)
		ck_assert_int_eq(kg_bwrap_read_info(text, i, &pid, &err), 0);
	ck_assert_int_eq(kg_bwrap_read_info(text, sizeof(text) - 1, &pid, &err),
			 1);
	ck_assert_int_eq(pid, 4711);
}
END_TEST

START_TEST(refuses_what_bwrap_would_not_say)
{
	static const char *const bad[] = {
		"{}",
		"{\"child-pid\": \"7\"}",
		"{\"child-pid\": -7}",
		"{\"child-pid\": 0}",
		"{\"child-pid\": 1}",
		"{\"child-pid\": 99999999999}",
		"child-pid: 7 }",
		"{\"child-pid\": 7} {\"child-pid\": 8}",
	};
	struct kg_error err = KG_ERROR_INIT;
	pid_t pid;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(bad); i++) {
		ck_assert_msg(kg_bwrap_read_info(bad[i], strlen(bad[i]), &pid,
						 &err) == -1,
			      "%s", bad[i]);
		ck_assert_int_eq(err.code, KG_E_SANDBOX);
	}
}
END_TEST

Suite *kg_suite(void);

Suite *kg_suite(void)
{
	Suite *s = suite_create("child/plan");
	TCase *tc = tcase_create("plan");
	TCase *info = tcase_create("info");

	tcase_add_checked_fixture(tc, make_host, remove_host);
	tcase_add_test(tc, writes_the_golden_arguments_of_each_mode);
	tcase_add_test(tc, treats_restricted_without_hosts_as_off);
	tcase_add_test(tc, puts_resolv_conf_where_the_link_leads);
	tcase_add_test(tc, never_mounts_on_a_system_file_that_is_not_there);
	tcase_add_test(tc, lays_a_folder_before_what_lies_in_it);
	tcase_add_test(tc, shows_a_linked_path_under_both_names);
	tcase_add_test(tc, seals_last);
	suite_add_tcase(s, tc);
	tcase_add_test(info, writes_the_golden_files_of_the_box);
	tcase_add_test(info, waits_for_all_of_what_bwrap_says);
	tcase_add_test(info, refuses_what_bwrap_would_not_say);
	suite_add_tcase(s, info);
	return s;
}
