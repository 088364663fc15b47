/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/launch.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child/filter.h"
#include "child/payload.h"
#include "common/fd.h"
#include "common/frame.h"
#include "common/scoped.h"
#include "common/seccomp.h"
#include "common/util.h"

Suite *kg_suite(void);

#define BLOCKED UINT64_C(0x8000000000000001)
#define IGNORED UINT64_C(0x1000)

static struct kg_error err;
static struct kg_policy policy;
static struct kg_linux facts;
static struct kg_launch launch;
static int open_before;

static char *argv[] = { (char[]){ "git" }, (char[]){ "status" }, NULL };
static char *envp[] = { (char[]){ "HOME=/home/ann" }, NULL };
static const char *const homes[] = { "/home/ann", NULL };

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void begin(void)
{
	open_before = count_open();
	policy = KG_POLICY_INIT;
	facts = KG_LINUX_INIT;
	launch = KG_LAUNCH_INIT;
}

static void finish(void)
{
	kg_launch_done(&launch);
	kg_launch_done(&launch); /* twice is harmless */
	kg_policy_done(&policy);
	ck_assert_int_eq(count_open(), open_before);
}

static void add_host(const char *text)
{
	const struct kg_origin origin = { .kind = KG_ORIGIN_FLAG };
	struct kg_host host;

	ck_assert_int_eq(kg_host_parse(text, strlen(text), &host, &err), 0);
	ck_assert_int_eq(kg_policy_add_host(&policy, &host, &origin, &err), 0);
}

static struct kg_launch_input usual_input(void)
{
	return (struct kg_launch_input){
		.policy = &policy,
		.facts = &facts,
		.argv = argv,
		.envp = envp,
		.project = "/home/ann/project",
		.homes = homes,
		.state = { .blocked = BLOCKED, .ignored = IGNORED },
	};
}

static void build(void)
{
	const struct kg_launch_input input = usual_input();

	ck_assert_msg(kg_launch_build(&input, &launch, &err) == 0, "%s",
		      err.msg);
}

/* --- bwrap's arguments --------------------------------------------------- */

struct words {
	char *bytes;
	size_t len;
};

static void free_words(struct words *words)
{
	free(words->bytes);
}
#define auto_words __attribute__((cleanup(free_words)))

static struct words read_args(void)
{
	struct words w = { 0 };

	ck_assert_int_eq(
		kg_fd_read_all(launch.args_fd, 1 << 20, &w.bytes, &w.len, &err),
		0);
	return w;
}

static const char *next_word(const struct words *w, const char *p)
{
	p += strlen(p) + 1;
	return p < w->bytes + w->len ? p : NULL;
}

/* The word behind the @n-th @option, NULL if there is none. */
static const char *value_of(const struct words *w, const char *option, size_t n)
{
	const char *p;

	for (p = w->bytes; p; p = next_word(w, p))
		if (strcmp(p, option) == 0 && n-- == 0)
			return next_word(w, p);
	return NULL;
}

static bool has_option(const struct words *w, const char *option)
{
	const char *p;

	for (p = w->bytes; p; p = next_word(w, p))
		if (strcmp(p, option) == 0)
			return true;
	return false;
}

static void expect_number(const struct words *w, const char *option,
			  unsigned long want)
{
	const char *value = value_of(w, option, 0);

	ck_assert_msg(value, "%s is missing", option);
	ck_assert_uint_eq(strtoul(value, NULL, 10), want);
}

START_TEST(names_its_descriptors_to_bwrap)
{
	auto_words struct words w = { 0 };
	const char *value;
	size_t i;

	build();
	w = read_args();
	expect_number(&w, "--info-fd", (unsigned long)launch.info_out);
	expect_number(&w, "--seccomp", (unsigned long)launch.seccomp_in);
	ck_assert_uint_gt(launch.data_count, 0);
	for (i = 0; i < launch.data_count; i++) {
		value = value_of(&w, "--ro-bind-data", i);
		ck_assert_ptr_nonnull(value);
		ck_assert_int_eq(atoi(value), launch.data_fds[i]);
	}
	ck_assert_ptr_null(value_of(&w, "--ro-bind-data", i));
}
END_TEST

START_TEST(names_the_caller_and_the_project_to_bwrap)
{
	char hostname[HOST_NAME_MAX + 1] = "";
	auto_words struct words w = { 0 };

	build();
	w = read_args();
	expect_number(&w, "--uid", getuid());
	expect_number(&w, "--gid", getgid());
	(void)gethostname(hostname, sizeof(hostname) - 1);
	ck_assert_str_eq(value_of(&w, "--hostname", 0), hostname);
	ck_assert_str_eq(value_of(&w, "--chdir", 0), "/home/ann/project");
}
END_TEST

START_TEST(keeps_the_hosts_network_in_open_alone)
{
	int mode;

	for (mode = 0; mode < KG_NETWORK_COUNT; mode++) {
		auto_words struct words w = { 0 };

		policy.network = (enum kg_network)mode;
		build();
		w = read_args();
		ck_assert_int_eq(has_option(&w, "--share-net"),
				 mode == KG_NETWORK_OPEN);
		ck_assert(has_option(&w, "--unshare-all"));
		ck_assert(!launch.network_box);
		kg_launch_done(&launch);
	}
}
END_TEST

/* --- what stands behind the descriptors ---------------------------------- */

static void expect_text(int fd, const char *want)
{
	kg_auto_free char *got = NULL;
	size_t len;

	ck_assert_int_eq(kg_fd_read_all(fd, 65536, &got, &len, &err), 0);
	ck_assert_str_eq(got, want ? want : "");
	ck_assert_uint_eq(len, strlen(got));
}

START_TEST(puts_each_text_behind_a_descriptor_in_order)
{
	size_t i, n = 0;

	build();
	for (i = 0; i < launch.plan.count; i++)
		if (kg_bwrap_needs_data(&launch.plan.mounts[i]))
			expect_text(launch.data_fds[n++],
				    launch.plan.mounts[i].source);
	ck_assert_uint_eq(n, launch.data_count);
}
END_TEST

START_TEST(packs_the_command_with_its_signals)
{
	struct kg_payload got = KG_PAYLOAD_INIT;

	build();
	ck_assert_int_eq(kg_payload_read(launch.payload_fd, &got, &err), 0);
	ck_assert_uint_eq(got.head.argc, 2);
	ck_assert_str_eq(got.argv[0], "git");
	ck_assert_str_eq(got.argv[1], "status");
	ck_assert_uint_eq(got.head.envc, 1);
	ck_assert_str_eq(got.envp[0], "HOME=/home/ann");
	ck_assert_uint_eq(got.head.blocked, BLOCKED);
	ck_assert_uint_eq(got.head.ignored, IGNORED);
	kg_payload_done(&got);
}
END_TEST

START_TEST(hands_over_the_boxs_filter)
{
	kg_auto_close int fd = memfd_create("filter", MFD_CLOEXEC);
	kg_auto_free char *want = NULL;
	kg_auto_free char *got = NULL;
	size_t want_len, len;

	build();
	ck_assert_int_eq(kg_seccomp_export(kg_filter_table(), fd, &err), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(kg_fd_read_all(fd, 1 << 20, &want, &want_len, &err),
			 0);
	ck_assert_int_eq(kg_launch_write_filter(&launch, &err), 0);
	ck_assert_int_eq(launch.seccomp_out, -1); /* bwrap sees the end */
	ck_assert_int_eq(
		kg_fd_read_all(launch.seccomp_in, 1 << 20, &got, &len, &err),
		0);
	ck_assert_uint_gt(len, 0);
	ck_assert_uint_eq(len, want_len);
	ck_assert_int_eq(memcmp(got, want, len), 0);
}
END_TEST

START_TEST(opens_the_channels)
{
	struct kg_frame_link link = KG_FRAME_LINK_INIT;
	struct kg_frame frame;
	char got;

	build();
	ck_assert_int_eq(write(launch.info_out, "{", 1), 1);
	ck_assert_int_eq(read(launch.info_in, &got, 1), 1);
	ck_assert_int_eq(read(launch.info_in, &got, 1), -1);
	ck_assert_int_eq(errno, EAGAIN); /* nothing waits for bwrap there */

	link.fd = launch.entry_in;
	link.from = KG_ROLE_ENTRY;
	ck_assert_int_eq(kg_frame_send_plain(launch.entry_out, KG_FRAME_READY,
					     0, 0, &err),
			 0);
	ck_assert_int_eq(kg_frame_recv(&link, &frame, &err), 1);
	ck_assert_int_eq(frame.type, KG_FRAME_READY);
}
END_TEST

static void expect_cloexec(int fd)
{
	ck_assert_int_gt(fd, 2);
	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

/* What a program gets is named when it is started, and not before. */
START_TEST(closes_all_of_it_on_exec)
{
	size_t i;

	build();
	expect_cloexec(launch.args_fd);
	expect_cloexec(launch.seccomp_in);
	expect_cloexec(launch.seccomp_out);
	expect_cloexec(launch.payload_fd);
	expect_cloexec(launch.info_in);
	expect_cloexec(launch.info_out);
	expect_cloexec(launch.entry_in);
	expect_cloexec(launch.entry_out);
	for (i = 0; i < launch.data_count; i++)
		expect_cloexec(launch.data_fds[i]);
	for (i = 0; i < KG_ARRAY_LEN(launch.stdio); i++)
		ck_assert_int_eq(launch.stdio[i],
				 -1); /* the caller's to fill */
}
END_TEST

/* --- the network box ----------------------------------------------------- */

START_TEST(plans_a_network_box_for_listed_hosts)
{
	add_host("github.com:443");
	add_host("192.0.2.0/24");
	add_host("2001:db8::/32");
	facts.ipv6 = true;
	build();
	ck_assert(launch.network_box);
	ck_assert_ptr_eq(launch.facts, &facts);
	ck_assert_uint_eq(launch.netplan.name_count, 1);
	ck_assert_str_eq(launch.netplan.names[0].name, "github.com");
	ck_assert_uint_eq(launch.netplan.block_count, 2);
	ck_assert(launch.netplan.ipv6);
}
END_TEST

START_TEST(plans_no_ipv6_where_there_is_none)
{
	add_host("2001:db8::/32");
	add_host("192.0.2.0/24");
	build();
	ck_assert(launch.network_box);
	ck_assert(!launch.netplan.ipv6);
	ck_assert_uint_eq(launch.netplan.block_count, 1);
}
END_TEST

START_TEST(plans_no_network_box_in_the_other_modes)
{
	static const enum kg_network modes[] = { KG_NETWORK_OFF,
						 KG_NETWORK_OPEN };
	size_t i;

	add_host("github.com");
	for (i = 0; i < KG_ARRAY_LEN(modes); i++) {
		policy.network = modes[i];
		build();
		ck_assert(!launch.network_box);
		ck_assert_uint_eq(launch.netplan.name_count, 0);
		kg_launch_done(&launch);
	}
}
END_TEST

/* --- limits -------------------------------------------------------------- */

START_TEST(bounds_each_tmpfs_by_a_quarter_of_memory)
{
	struct sysinfo info;
	size_t i, n = 0;

	ck_assert_int_eq(sysinfo(&info), 0);
	build();
	for (i = 0; i < launch.plan.count; i++) {
		if (launch.plan.mounts[i].kind != KG_MOUNT_TMPFS)
			continue;
		ck_assert_uint_eq(launch.plan.mounts[i].bytes,
				  info.totalram * info.mem_unit / 4);
		n++;
	}
	ck_assert_uint_gt(n, 0);
}
END_TEST

START_TEST(refuses_a_command_that_no_kernel_takes)
{
	kg_auto_free char *big = malloc(KG_PAYLOAD_MAX_BYTES);
	char *words[] = { big, NULL };
	struct kg_launch_input input = usual_input();

	memset(big, 'x', KG_PAYLOAD_MAX_BYTES - 1);
	big[KG_PAYLOAD_MAX_BYTES - 1] = '\0';
	input.argv = words;
	ck_assert_int_eq(kg_launch_build(&input, &launch, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_LIMIT);
	ck_assert_int_eq(launch.args_fd, -1);
}
END_TEST

/* With room for one descriptor more each time, until there is enough. */
START_TEST(leaks_nothing_when_descriptors_run_out)
{
	struct kg_launch_input input = usual_input();
	struct rlimit old, tight;
	int next = dup(0), room, rc = -1, failures = 0;

	close(next);
	add_host("github.com");
	getrlimit(RLIMIT_NOFILE, &old);
	tight = old;
	for (room = 0; room < 100 && rc; room++) {
		tight.rlim_cur = (rlim_t)(next + room);
		setrlimit(RLIMIT_NOFILE, &tight);
		rc = kg_launch_build(&input, &launch, &err);
		setrlimit(RLIMIT_NOFILE, &old);
		if (rc == 0)
			continue;
		failures++;
		ck_assert_uint_eq(err.code, KG_E_SYSTEM);
		ck_assert_int_eq(launch.args_fd, -1);
		ck_assert_int_eq(count_open(), open_before);
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_int_ge(failures, 7 + (int)launch.data_count);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("child/launch");
	TCase *tc = tcase_create("launch");

	tcase_add_checked_fixture(tc, begin, finish);
	tcase_set_timeout(tc, 20);
	tcase_add_test(tc, names_its_descriptors_to_bwrap);
	tcase_add_test(tc, names_the_caller_and_the_project_to_bwrap);
	tcase_add_test(tc, keeps_the_hosts_network_in_open_alone);
	tcase_add_test(tc, puts_each_text_behind_a_descriptor_in_order);
	tcase_add_test(tc, packs_the_command_with_its_signals);
	tcase_add_test(tc, hands_over_the_boxs_filter);
	tcase_add_test(tc, opens_the_channels);
	tcase_add_test(tc, closes_all_of_it_on_exec);
	tcase_add_test(tc, plans_a_network_box_for_listed_hosts);
	tcase_add_test(tc, plans_no_ipv6_where_there_is_none);
	tcase_add_test(tc, plans_no_network_box_in_the_other_modes);
	tcase_add_test(tc, bounds_each_tmpfs_by_a_quarter_of_memory);
	tcase_add_test(tc, refuses_a_command_that_no_kernel_takes);
	if (!getenv("KG_VALGRIND")) /* which needs descriptors of its own */
		tcase_add_test(tc, leaks_nothing_when_descriptors_run_out);
	suite_add_tcase(s, tc);
	return s;
}
