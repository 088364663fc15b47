/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/options.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/util.h"

Suite *kg_suite(void);

#define WORDS_MAX 12

static int parse(const char *const *words, struct kg_options *opts,
		 struct kg_error *err)
{
	int argc = 0;

	*opts = KG_OPTIONS_INIT;
	while (words[argc])
		argc++;
	return kg_options_parse(argc, (char **)words, opts, err);
}

static void expect_good(const char *const *words, struct kg_options *opts)
{
	struct kg_error err = KG_ERROR_INIT;

	ck_assert_msg(parse(words, opts, &err) == 0, "%s", err.msg);
	ck_assert_uint_eq(err.code, KG_E_NONE);
}

START_TEST(takes_all_flags_of_run)
{
	const char *words[] = {
		"kgate",       "run",	  "--allow-path",
		"/a:rw",       "--trace", "--allow-path=/b",
		"--allow-net", "A.test",  "--allow-net=b.test:443",
		"--config",    "c.yaml",  "--audit=a.jsonl",
		"--timeout",   "1.5m",	  "--",
		"git",	       "-C",	  "x",
		NULL
	};
	struct kg_options opts;

	expect_good(words, &opts);
	ck_assert_int_eq(opts.command, KG_COMMAND_RUN);
	ck_assert_ptr_eq(opts.argv, words + 15);
	ck_assert_uint_eq(opts.allow_path_count, 2);
	ck_assert_str_eq(opts.allow_paths[0].text, "/a");
	ck_assert(opts.allow_paths[0].writable);
	ck_assert_str_eq(opts.allow_paths[1].text, "/b");
	ck_assert(!opts.allow_paths[1].writable);
	ck_assert_uint_eq(opts.allow_host_count, 2);
	ck_assert_str_eq(opts.allow_hosts[0].text, "A.test");
	ck_assert_str_eq(opts.allow_hosts[0].host.name, "a.test");
	ck_assert_str_eq(opts.allow_hosts[1].text, "b.test:443");
	ck_assert_int_eq(opts.allow_hosts[1].host.port, 443);
	ck_assert_str_eq(opts.config, "c.yaml");
	ck_assert_str_eq(opts.audit, "a.jsonl");
	ck_assert_int_eq(opts.timeout_ms, 90000);
	ck_assert(opts.trace);
	kg_options_done(&opts);
	kg_options_done(&opts); /* twice is harmless */
	ck_assert_uint_eq(opts.allow_path_count, 0);
}
END_TEST

START_TEST(leaves_the_flags_of_the_command_to_it)
{
	static const char *const lines[][WORDS_MAX] = {
		{ "kgate", "run", "ls", "--trace", "-h", NULL },
		{ "kgate", "run", "--", "ls", "--trace", "-h", NULL },
	};
	static const char *const dashes[] = { "kgate", "run", "--", "--trace",
					      NULL };
	static const char *const second[] = { "kgate", "run", "ls",
					      "--",    "a",   NULL };
	struct kg_options opts;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(lines); i++) {
		expect_good(lines[i], &opts);
		ck_assert(!opts.trace);
		ck_assert_str_eq(opts.argv[0], "ls");
		ck_assert_str_eq(opts.argv[1], "--trace");
		ck_assert_str_eq(opts.argv[2], "-h");
		ck_assert_ptr_null(opts.argv[3]);
	}
	expect_good(dashes, &opts);
	ck_assert_str_eq(opts.argv[0], "--trace");
	expect_good(second, &opts);
	ck_assert_str_eq(opts.argv[1], "--");
}
END_TEST

START_TEST(finds_its_command)
{
	static const struct {
		const char *const words[WORDS_MAX];
		enum kg_command command;
		const char *topic;
	} rows[] = {
		{ { "kgate", "--help" }, KG_COMMAND_HELP, NULL },
		{ { "kgate", "-h", "run" }, KG_COMMAND_HELP, NULL },
		{ { "kgate", "help" }, KG_COMMAND_HELP, NULL },
		{ { "kgate", "help", "run" }, KG_COMMAND_HELP, "run" },
		{ { "kgate", "help", "help" }, KG_COMMAND_HELP, "help" },
		{ { "kgate", "run", "--help" }, KG_COMMAND_HELP, "run" },
		{ { "kgate", "run", "--trace", "-h", "ls" },
		  KG_COMMAND_HELP,
		  "run" },
		{ { "kgate", "--version" }, KG_COMMAND_VERSION, NULL },
		{ { "kgate", "--", "run", "ls" }, KG_COMMAND_RUN, NULL },
		{ { "kgate", "run", "ls" }, KG_COMMAND_RUN, NULL },
	};
	struct kg_options opts;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		expect_good(rows[i].words, &opts);
		ck_assert_int_eq(opts.command, rows[i].command);
		if (rows[i].topic)
			ck_assert_pstr_eq(opts.topic, rows[i].topic);
		else
			ck_assert_ptr_null(opts.topic);
		ck_assert_int_eq(opts.argv != NULL,
				 rows[i].command == KG_COMMAND_RUN);
		kg_options_done(&opts);
	}
}
END_TEST

START_TEST(names_the_word_that_is_wrong)
{
	static const struct {
		const char *const words[WORDS_MAX];
		const char *msg;
	} rows[] = {
		{ { "kgate" },
		  "no command, expected kgate run [FLAG]... -- CMD "
		  "[ARG]...: see kgate --help" },
		{ { "kgate", "run" },
		  "run: no command, expected kgate run [FLAG]... -- "
		  "CMD [ARG]..." },
		{ { "kgate", "run", "--trace", "--" },
		  "run: no command, expected kgate run [FLAG]... -- "
		  "CMD [ARG]..." },
		{ { "kgate", "rnu", "ls" },
		  "unknown command 'rnu', expected run?" },
		{ { "kgate", "git", "status" },
		  "unknown command 'git': a program is launched with "
		  "kgate run -- CMD" },
		{ { "kgate", "g\nt" },
		  "unknown command 'g\\x0at': a program is launched "
		  "with kgate run -- CMD" },
		{ { "kgate", "help", "rum" },
		  "unknown command 'rum', expected run?" },
		{ { "kgate", "help", "run", "x" },
		  "help: one word too many: 'x', expected kgate help "
		  "[COMMAND]" },
		{ { "kgate", "--trace", "run", "ls" },
		  "unknown flag '--trace': see kgate --help" },
		{ { "kgate", "--verison" },
		  "unknown flag '--verison', expected --version?" },
		{ { "kgate", "run", "--alow-net=secret", "ls" },
		  "unknown flag '--alow-net', expected --allow-net?" },
		{ { "kgate", "run", "--nothing-near", "ls" },
		  "unknown flag '--nothing-near': see kgate help run" },
		{ { "kgate", "run", "--allow-", "x", "ls" },
		  "flag '--allow-', expected its whole name: more than "
		  "one begins so" },
		{ { "kgate", "run", "-x", "ls" },
		  "unknown flag '-x': see kgate --help" },
		{ { "kgate", "run", "--config" },
		  "--config: expected --config FILE" },
		{ { "kgate", "run", "--config=", "ls" },
		  "--config: nothing, expected a file" },
		{ { "kgate", "run", "--audit", "", "ls" },
		  "--audit: nothing, expected a file" },
		{ { "kgate", "run", "--trace=1", "ls" },
		  "'--trace': a value, expected --trace alone" },
		{ { "kgate", "run", "--allow-path", "", "ls" },
		  "--allow-path: no path, expected PATH[:ro|:rw]" },
		{ { "kgate", "run", "--allow-path", ":rw", "ls" },
		  "--allow-path: no path, expected PATH[:ro|:rw]" },
		{ { "kgate", "run", "--allow-net", "*.a.test", "ls" },
		  "--allow-net: '*.a.test': a wildcard: this version "
		  "takes exact names only; expected a host: NAME, "
		  "ADDRESS or ADDRESS/PREFIX, with :PORT if need be" },
		{ { "kgate", "run", "--timeout", "soon", "ls" },
		  "--timeout: 'soon', expected a duration above 0 and "
		  "up to 365 days: seconds, or a number with s, m or "
		  "h" },
	};
	struct kg_error err = KG_ERROR_INIT;
	struct kg_options opts;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(parse(rows[i].words, &opts, &err), -1);
		ck_assert_str_eq(err.msg, rows[i].msg);
		ck_assert_uint_eq(err.code, KG_E_USAGE);
		kg_options_done(&opts);
	}
}
END_TEST

/* The caller prints; getopt_long() has words of its own for a wrong flag. */
START_TEST(prints_nothing_of_its_own)
{
	static const char *const words[] = { "kgate", "run", "--wrong", "ls",
					     NULL };
	struct kg_error err = KG_ERROR_INIT;
	struct kg_options opts;
	int saved = dup(2), fds[2];
	char c;

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(dup2(fds[1], 2), 2);
	(void)close(fds[1]);
	ck_assert_int_eq(parse(words, &opts, &err), -1);
	ck_assert_int_eq(dup2(saved, 2), 2);
	ck_assert_int_eq(read(fds[0], &c, 1), 0);
}
END_TEST

START_TEST(reads_durations_exactly)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: refused */
	} rows[] = {
		/* clang-format off */
		{ "1", 1000 },		{ "1s", 1000 },
		{ "90", 90000 },	{ "1.5", 1500 },
		{ ".5", 500 },		{ "5.", 5000 },
		{ "0.001", 1 },		{ "0.0001", 1 },
		{ "1.0005", 1001 },	{ "2m", 120000 },
		{ "1.5h", 5400000 },	{ "007", 7000 },
		{ "0.000000001h", 1 },	{ "8760h", INT64_C(31536000000) },
		{ "31536000", INT64_C(31536000000) },
		{ "31536000.001", -1 },	{ "8761h", -1 },
		{ "0", -1 },		{ "0.0", -1 },
		{ "", -1 },		{ ".", -1 },
		{ "s", -1 },		{ "-1", -1 },
		{ "+1", -1 },		{ " 1", -1 },
		{ "1 ", -1 },		{ "1d", -1 },
		{ "1sm", -1 },		{ "1.2.3", -1 },
		{ "1e3", -1 },		{ "0x10", -1 },
		{ "inf", -1 },		{ "nan", -1 },
		{ "1,5", -1 },		{ "9999999999", -1 },
		{ "18446744073709551617", -1 },
		{ "0.0000000001", -1 },
		/* clang-format on */
	};
	struct kg_error err = KG_ERROR_INIT;
	struct kg_options opts;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		const char *words[] = { "kgate",      "run", "--timeout",
					rows[i].text, "ls",  NULL };
		int rc = parse(words, &opts, &err);

		ck_assert_msg(rc == (rows[i].ms < 0 ? -1 : 0), "%s",
			      rows[i].text);
		if (rc == 0)
			ck_assert_int_eq(opts.timeout_ms, rows[i].ms);
		kg_options_done(&opts);
	}
}
END_TEST

START_TEST(keeps_other_colons_in_a_path)
{
	static const struct {
		const char *text;
		const char *path;
		bool writable;
	} rows[] = {
		{ "/a", "/a", false },		{ "/a:ro", "/a", false },
		{ "/a:rw", "/a", true },	{ "/a:b", "/a:b", false },
		{ "/a:rw:ro", "/a:rw", false }, { "/a:wr", "/a:wr", false },
		{ "/a:rwx", "/a:rwx", false },	{ "/a:", "/a:", false },
		{ "a:rw", "a", true },		{ "rw", "rw", false },
		{ "/a:RW", "/a:RW", false },
	};
	struct kg_options opts;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		const char *words[] = { "kgate",      "run", "--allow-path",
					rows[i].text, "ls",  NULL };

		expect_good(words, &opts);
		ck_assert_str_eq(opts.allow_paths[0].text, rows[i].path);
		ck_assert_int_eq(opts.allow_paths[0].writable,
				 rows[i].writable);
		kg_options_done(&opts);
	}
}
END_TEST

/* ---- policy ---- */

static struct kg_policy policy_with(enum kg_network network, const char *host)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_origin origin = { KG_ORIGIN_FILE, "/p.yaml", 3, 10 };
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host parsed;

	policy.network = network;
	policy.network_origin = origin;
	if (!host)
		return policy;
	ck_assert_int_eq(kg_host_parse(host, strlen(host), &parsed, &err), 0);
	ck_assert_int_eq(kg_policy_add_host(&policy, &parsed, &origin, &err),
			 0);
	return policy;
}

static int apply(struct kg_policy *policy, struct kg_error *err)
{
	static const char *const words[] = {
		"kgate",       "run",	       "--allow-net=new.test",
		"--allow-net", "192.0.2.1:80", "ls",
		NULL
	};
	struct kg_options opts;
	int rc;

	expect_good(words, &opts);
	rc = kg_options_apply(&opts, policy, err);
	kg_options_done(&opts);
	return rc;
}

static void expect_flag_hosts(const struct kg_policy *policy, size_t from)
{
	size_t i;

	ck_assert_int_eq(policy->network, KG_NETWORK_RESTRICTED);
	ck_assert_uint_eq(policy->host_count, from + 2);
	ck_assert_str_eq(policy->hosts[from].host.name, "new.test");
	ck_assert_int_eq(policy->hosts[from + 1].host.port, 80);
	for (i = from; i < from + 2; i++) {
		ck_assert_int_eq(policy->hosts[i].origin.kind, KG_ORIGIN_FLAG);
		ck_assert_str_eq(policy->hosts[i].origin.file, "--allow-net");
	}
}

START_TEST(restricts_a_network_that_is_off_to_the_flags_alone)
{
	struct kg_policy policy = policy_with(KG_NETWORK_OFF, "listed.test");
	struct kg_error err = KG_ERROR_INIT;

	ck_assert_int_eq(apply(&policy, &err), 0);
	expect_flag_hosts(&policy, 0);
	ck_assert_int_eq(policy.network_origin.kind, KG_ORIGIN_FLAG);
	ck_assert_str_eq(policy.network_origin.file, "--allow-net");
	kg_policy_done(&policy);
}
END_TEST

START_TEST(adds_the_flags_to_a_restricted_network)
{
	struct kg_policy policy = policy_with(KG_NETWORK_RESTRICTED, NULL);
	struct kg_error err = KG_ERROR_INIT;

	ck_assert_int_eq(apply(&policy, &err), 0);
	expect_flag_hosts(&policy, 0);
	kg_policy_done(&policy);

	policy = policy_with(KG_NETWORK_RESTRICTED, "listed.test");
	ck_assert_int_eq(apply(&policy, &err), 0);
	expect_flag_hosts(&policy, 1);
	ck_assert_str_eq(policy.hosts[0].host.name, "listed.test");
	ck_assert_int_eq(policy.network_origin.kind, KG_ORIGIN_FILE);
	kg_policy_done(&policy);
}
END_TEST

START_TEST(has_no_use_for_hosts_in_an_open_network)
{
	struct kg_policy policy = policy_with(KG_NETWORK_OPEN, NULL);
	struct kg_error err = KG_ERROR_INIT;

	ck_assert_int_eq(apply(&policy, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_USAGE);
	ck_assert_str_eq(err.msg,
			 "--allow-net new.test: the network is open "
			 "(/p.yaml:3:10), every host is allowed already");
	ck_assert_int_eq(policy.network, KG_NETWORK_OPEN);
	ck_assert_uint_eq(policy.host_count, 0);
	kg_policy_done(&policy);
}
END_TEST

START_TEST(leaves_the_mode_alone_without_hosts)
{
	static const enum kg_network modes[] = {
		KG_NETWORK_OFF,
		KG_NETWORK_RESTRICTED,
		KG_NETWORK_OPEN,
	};
	static const char *const words[] = {
		"kgate",	   "run", "--allow-path=~/x:rw",
		"--allow-path=/y", "ls",  NULL
	};
	struct kg_error err = KG_ERROR_INIT;
	struct kg_options opts;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(modes); i++) {
		struct kg_policy policy = policy_with(modes[i], "listed.test");

		expect_good(words, &opts);
		ck_assert_int_eq(kg_options_apply(&opts, &policy, &err), 0);
		kg_options_done(&opts);
		ck_assert_int_eq(policy.network, modes[i]);
		ck_assert_uint_eq(policy.host_count, 1);
		ck_assert_uint_eq(policy.path_count, 2);
		ck_assert_str_eq(policy.paths[0].text, "~/x");
		ck_assert(policy.paths[0].writable);
		ck_assert_int_eq(policy.paths[0].origin.kind, KG_ORIGIN_FLAG);
		ck_assert_str_eq(policy.paths[0].origin.file, "--allow-path");
		ck_assert(!policy.paths[1].writable);
		kg_policy_done(&policy);
	}
}
END_TEST

/* ---- help ---- */

static char *help_of(const char *topic)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	kg_options_print_help(out, topic);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

/* Second entry of the books: a flag that is lost from the table shows here. */
START_TEST(tells_each_command_and_flag)
{
	static const char *const top[] = {
		"kgate run [FLAG]... -- CMD [ARG]...",
		"kgate help [COMMAND]",
		"kgate --version",
		"-h, --help",
		"  --version",
	};
	static const char *const run[] = {
		"Usage: kgate run [FLAG]... -- CMD [ARG]...",
		"  --allow-path PATH[:ro|:rw] ",
		"  --allow-net HOST[:PORT] ",
		"  --config FILE ",
		"  --audit FILE ",
		"  --timeout DURATION ",
		"  --trace ",
		"  -h, --help ",
		"124",
		"125",
		"126",
		"127",
	};
	kg_auto_free char *all = help_of(NULL);
	kg_auto_free char *of_run = help_of("run");
	kg_auto_free char *of_help = help_of("help");
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(top); i++)
		ck_assert_msg(strstr(all, top[i]), "%s: %s", top[i], all);
	for (i = 0; i < KG_ARRAY_LEN(run); i++)
		ck_assert_msg(strstr(of_run, run[i]), "%s: %s", run[i], of_run);
	ck_assert_ptr_null(strstr(of_run, "--version"));
	ck_assert_ptr_null(strstr(all, "--timeout"));
	ck_assert_ptr_nonnull(strstr(of_help, "kgate help [COMMAND]"));
}
END_TEST

START_TEST(fits_its_help_into_eighty_columns)
{
	static const char *const topics[] = { NULL, "run", "help" };
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(topics); i++) {
		kg_auto_free char *text = help_of(topics[i]);
		const char *at = text;

		ck_assert_uint_gt(strlen(text), 0);
		for (; *at; at += strcspn(at, "\n") + 1)
			ck_assert_uint_le(strcspn(at, "\n"), 80);
	}
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("supervisor/options");
	TCase *tc = tcase_create("command line");

	tcase_add_test(tc, takes_all_flags_of_run);
	tcase_add_test(tc, leaves_the_flags_of_the_command_to_it);
	tcase_add_test(tc, finds_its_command);
	tcase_add_test(tc, names_the_word_that_is_wrong);
	tcase_add_test(tc, prints_nothing_of_its_own);
	tcase_add_test(tc, reads_durations_exactly);
	tcase_add_test(tc, keeps_other_colons_in_a_path);
	suite_add_tcase(s, tc);

	tc = tcase_create("policy");
	tcase_add_test(tc, restricts_a_network_that_is_off_to_the_flags_alone);
	tcase_add_test(tc, adds_the_flags_to_a_restricted_network);
	tcase_add_test(tc, has_no_use_for_hosts_in_an_open_network);
	tcase_add_test(tc, leaves_the_mode_alone_without_hosts);
	suite_add_tcase(s, tc);

	tc = tcase_create("help");
	tcase_add_test(tc, tells_each_command_and_flag);
	tcase_add_test(tc, fits_its_help_into_eighty_columns);
	suite_add_tcase(s, tc);

	return s;
}
