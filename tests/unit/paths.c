/* SPDX-License-Identifier: MIT */
/* Over directories of the test's own, with a home among them. */
#include "config.h"

#include "supervisor/paths.h"

#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/util.h"

Suite *kg_suite(void);

static struct kg_error err;
static struct kg_place_rule rule;
static struct kg_policy policy;
static char base[PATH_MAX], home_dir[PATH_MAX];
static struct kg_home home;

static const struct kg_origin in_file = { KG_ORIGIN_FILE, "/x/config.yaml", 12,
					  3 };
static const struct kg_origin by_flag = { .kind = KG_ORIGIN_FLAG,
					  .file = "--allow-path" };

/* A path below the test's directory, good until the fourth call after. */
static const char *at(const char *path)
{
	static char full[4][PATH_MAX];
	static int next;
	char *ret = full[next++ % 4];

	ck_assert_int_lt(snprintf(ret, PATH_MAX, "%s%s", base, path), PATH_MAX);
	return ret;
}

static void make_dir(const char *path)
{
	ck_assert_int_eq(mkdir(at(path), 0755), 0);
}

static void make_file(const char *path)
{
	kg_auto_close int fd = open(at(path), O_WRONLY | O_CREAT | O_CLOEXEC,
				    0600);

	ck_assert_int_ge(fd, 0);
}

static void make_link(const char *text, const char *path)
{
	ck_assert_int_eq(symlink(text, at(path)), 0);
}

static void make_places(void)
{
	const char *tmp = getenv("TMPDIR");
	char made[PATH_MAX - 64];

	(void)snprintf(made, sizeof(made), "%s/kgate-paths-XXXXXX",
		       tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(made));
	ck_assert_ptr_nonnull(realpath(made, base));
	make_dir("/home");
	make_dir("/home/.kgate");
	make_dir("/home/dots");
	make_dir("/site");
	make_dir("/site/sub");
	make_file("/home/dots/gitconfig");
	make_link("dots/gitconfig", "/home/.gitconfig");
	make_link("site", "/shortcut");
	make_link("../shortcut/sub", "/site/there");
	make_link("nowhere", "/site/dangling");
	make_link("loop", "/site/loop");
	(void)snprintf(home_dir, sizeof(home_dir), "%s", at("/home"));
	home = (struct kg_home){ .uid = getuid(), .env_dir = home_dir };
	policy = KG_POLICY_INIT;
	ck_assert_int_eq(chdir(at("/site")), 0);
}

static void remove_places(void)
{
	char command[PATH_MAX + 16];

	kg_policy_done(&policy);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", base);
	ck_assert_int_eq(system(command), 0);
}

static void add(const char *text, const struct kg_origin *origin)
{
	ck_assert_int_eq(kg_policy_add_path(&policy, text, false, origin, &err),
			 0);
}

static int resolve(void)
{
	err = KG_ERROR_INIT;
	rule.text[0] = '\0';
	return kg_paths_resolve(&policy, &home, &rule, &err);
}

static void expect(const char *text, const struct kg_origin *origin,
		   const char *real, const char *link)
{
	const struct kg_path_entry *got;

	add(text, origin);
	ck_assert_msg(resolve() == 0, "%s: %s", text, err.msg);
	got = &policy.paths[0];
	ck_assert_str_eq(got->real, at(real));
	if (link)
		ck_assert_str_eq(got->link, at(link));
	else
		ck_assert_ptr_null(got->link);
	ck_assert_str_eq(got->text, text);
	kg_policy_done(&policy);
}

static void expect_failure(const char *text, const struct kg_origin *origin,
			   enum kg_errc code, const char *message)
{
	add(text, origin);
	ck_assert_msg(resolve() == -1, "%s is taken", text);
	ck_assert_uint_eq(err.code, code);
	ck_assert_str_eq(err.msg, message);
	kg_policy_done(&policy);
}

START_TEST(takes_a_tilde_for_the_home_directory)
{
	expect("~/dots", &in_file, "/home/dots", NULL);
	expect("~/dots/../dots/", &in_file, "/home/dots", NULL);
	expect("~/dots", &by_flag, "/home/dots", NULL);
}
END_TEST

START_TEST(takes_the_password_databases_where_there_is_no_other)
{
	home = (struct kg_home){ .uid = getuid(), .passwd_dir = home_dir };
	expect("~/dots", &in_file, "/home/dots", NULL);
}
END_TEST

START_TEST(says_that_there_is_no_home)
{
	home = (struct kg_home){ .uid = getuid() };
	expect_failure("~/dots", &in_file, KG_E_CONFIG,
		       "/x/config.yaml:12:3: '~/dots': there is no home "
		       "directory");
	expect_failure("~", &in_file, KG_E_CONFIG,
		       "/x/config.yaml:12:3: '~': there is no home directory");
}
END_TEST

/* "~ann" is somebody's home to a shell, and a name like any other here. */
START_TEST(expands_nothing_else)
{
	make_dir("/site/~ann");
	make_dir("/site/$HOME");
	make_dir("/site/a~");
	expect("~ann", &by_flag, "/site/~ann", NULL);
	expect("$HOME", &by_flag, "/site/$HOME", NULL);
	expect("a~", &by_flag, "/site/a~", NULL);
	expect_failure("~ann", &in_file, KG_E_CONFIG,
		       "/x/config.yaml:12:3: '~ann' is relative, expected an "
		       "absolute path or one that begins with ~/");
}
END_TEST

START_TEST(refuses_a_relative_path_in_a_file)
{
	static const char *const relative[] = { "sub", "./sub", "..", ".", "" };
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(relative); i++) {
		add(relative[i], &in_file);
		ck_assert_int_eq(resolve(), -1);
		ck_assert_uint_eq(err.code, KG_E_CONFIG);
		ck_assert_ptr_nonnull(strstr(err.msg, "is relative"));
		ck_assert_ptr_null(policy.paths[0].real);
		kg_policy_done(&policy);
	}
}
END_TEST

START_TEST(takes_a_relative_path_from_a_flag)
{
	expect("sub", &by_flag, "/site/sub", NULL);
	expect("./sub/", &by_flag, "/site/sub", NULL);
	expect(".", &by_flag, "/site", NULL);
	ck_assert_int_eq(chdir("sub"), 0);
	expect("..", &by_flag, "/site", NULL);
}
END_TEST

START_TEST(remembers_a_link_and_where_it_leads)
{
	expect("~/.gitconfig", &in_file, "/home/dots/gitconfig",
	       "/home/.gitconfig");
	expect(at("/shortcut"), &in_file, "/site", "/shortcut");
	expect(at("/shortcut///"), &in_file, "/site", "/shortcut");
	expect("there", &by_flag, "/site/sub", "/site/there");
	expect("./there/", &by_flag, "/site/sub", "/site/there");
}
END_TEST

/* The link's own name, with what leads to it resolved. */
START_TEST(resolves_what_leads_to_a_link)
{
	expect(at("/shortcut/there"), &in_file, "/site/sub", "/site/there");
	expect(at("/home/../shortcut/there"), &in_file, "/site/sub",
	       "/site/there");
	expect(at("/shortcut/sub"), &in_file, "/site/sub", NULL);
}
END_TEST

/* Where /bin is a link, as on every system with a merged /usr. */
START_TEST(names_a_link_in_the_root_by_one_slash)
{
	char link[8];
	bool merged = readlink("/bin", link, sizeof(link)) > 0;

	add("/usr/../bin", &in_file);
	ck_assert_int_eq(resolve(), -1);
	ck_assert_uint_eq(err.code, KG_E_POLICY);
	if (merged)
		ck_assert_str_eq(policy.paths[0].link, "/bin");
}
END_TEST

START_TEST(says_what_is_missing_and_who_wanted_it)
{
	char want[PATH_MAX + 128];

	expect_failure("nowhere", &by_flag, KG_E_USAGE,
		       "--allow-path: 'nowhere': No such file or directory; "
		       "create it, or leave it out");
	(void)snprintf(want, sizeof(want),
		       "/x/config.yaml:12:3: '%s': No such file or "
		       "directory; create it, or leave it out",
		       at("/home/no"));
	expect_failure("~/no", &in_file, KG_E_CONFIG, want);
	expect_failure("dangling", &by_flag, KG_E_USAGE,
		       "--allow-path: 'dangling': No such file or directory; "
		       "create it, or leave it out");
	expect_failure("loop", &by_flag, KG_E_USAGE,
		       "--allow-path: 'loop': Too many levels of symbolic "
		       "links; create it, or leave it out");
	expect_failure("", &by_flag, KG_E_USAGE,
		       "--allow-path: '': No such file or directory; create "
		       "it, or leave it out");
}
END_TEST

static void expect_refused(const char *text, const struct kg_origin *origin,
			   const char *begin, const char *want_rule)
{
	add(text, origin);
	ck_assert_msg(resolve() == -1, "%s is allowed", text);
	ck_assert_uint_eq(err.code, KG_E_POLICY);
	ck_assert_msg(strncmp(err.msg, begin, strlen(begin)) == 0, "%s",
		      err.msg);
	ck_assert_str_eq(rule.text, want_rule);
	kg_policy_done(&policy);
}

#define HOME_RULE   "the home directory and what holds it"
#define CONFIG_RULE "~/.kgate, what it holds and what holds it"

START_TEST(refuses_places_that_no_launch_gets)
{
	static const char file[] = "/x/config.yaml:12:3: ";
	static const char flag[] = "--allow-path: ";

	expect_refused("~", &in_file, file, "paths: " HOME_RULE);
	expect_refused("~/", &by_flag, flag, "--allow-path: " HOME_RULE);
	expect_refused(base, &in_file, file, "paths: " HOME_RULE);
	expect_refused("/", &by_flag, flag, "--allow-path: " HOME_RULE);
	expect_refused("~/.kgate", &in_file, file, "paths: " CONFIG_RULE);
	expect_refused("~/.kgate", &by_flag, flag,
		       "--allow-path: " CONFIG_RULE);
	expect_refused("/etc", &in_file, file, "paths: /etc and below");
	expect_refused("/etc/passwd", &in_file, file, "paths: /etc and below");
}
END_TEST

START_TEST(refuses_them_through_a_link)
{
	make_link("../home", "/site/innocent");
	expect_refused("innocent", &by_flag,
		       "--allow-path: ", "--allow-path: " HOME_RULE);
	expect_refused(at("/site/innocent"), &in_file,
		       "/x/config.yaml:12:3: ", "paths: " HOME_RULE);
}
END_TEST

START_TEST(allows_a_flag_a_single_file)
{
	add("/etc/passwd", &by_flag);
	ck_assert_msg(resolve() == 0, "%s", err.msg);
	ck_assert_str_eq(rule.text, "");
}
END_TEST

START_TEST(looks_at_every_entry)
{
	add("~/dots", &in_file);
	add("sub", &by_flag);
	ck_assert_int_eq(resolve(), 0);
	ck_assert_str_eq(policy.paths[0].real, at("/home/dots"));
	ck_assert_str_eq(policy.paths[1].real, at("/site/sub"));
	kg_policy_done(&policy);

	add("~/dots", &in_file);
	add("nowhere", &by_flag);
	ck_assert_int_eq(resolve(), -1);
	ck_assert_uint_eq(err.code, KG_E_USAGE);
	kg_policy_done(&policy);
	ck_assert_int_eq(resolve(), 0); /* none at all */
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("supervisor/paths");
	TCase *tc = tcase_create("paths");

	tcase_add_checked_fixture(tc, make_places, remove_places);
	tcase_add_test(tc, takes_a_tilde_for_the_home_directory);
	tcase_add_test(tc,
		       takes_the_password_databases_where_there_is_no_other);
	tcase_add_test(tc, says_that_there_is_no_home);
	tcase_add_test(tc, expands_nothing_else);
	tcase_add_test(tc, refuses_a_relative_path_in_a_file);
	tcase_add_test(tc, takes_a_relative_path_from_a_flag);
	tcase_add_test(tc, remembers_a_link_and_where_it_leads);
	tcase_add_test(tc, resolves_what_leads_to_a_link);
	tcase_add_test(tc, names_a_link_in_the_root_by_one_slash);
	tcase_add_test(tc, says_what_is_missing_and_who_wanted_it);
	tcase_add_test(tc, refuses_places_that_no_launch_gets);
	tcase_add_test(tc, refuses_them_through_a_link);
	tcase_add_test(tc, allows_a_flag_a_single_file);
	tcase_add_test(tc, looks_at_every_entry);
	suite_add_tcase(s, tc);
	return s;
}
