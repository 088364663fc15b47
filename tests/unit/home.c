/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/home.h"

#include <check.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/util.h"

Suite *kg_suite(void);

static struct kg_error err;
static struct kg_home home;
static char base[PATH_MAX], env[PATH_MAX], passwd[PATH_MAX];

static void sub_path(char *ret, const char *name)
{
	ck_assert_int_lt(snprintf(ret, PATH_MAX, "%s/%s", base, name),
			 PATH_MAX);
}

static void make_dirs(void)
{
	const char *tmp = getenv("TMPDIR");
	char made[PATH_MAX - 64];

	(void)snprintf(made, sizeof(made), "%s/kgate-home-XXXXXX",
		       tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(made));
	ck_assert_ptr_nonnull(realpath(made, base));
	sub_path(env, "env");
	sub_path(passwd, "passwd");
	ck_assert_int_eq(mkdir(env, 0700), 0);
	ck_assert_int_eq(mkdir(passwd, 0700), 0);
	home = KG_HOME_INIT;
}

static void remove_dirs(void)
{
	kg_home_done(&home);
	kg_home_done(&home); /* twice is harmless */
	(void)rmdir(env);
	(void)rmdir(passwd);
	ck_assert_int_eq(rmdir(base), 0);
}

static void expect_box_and_config(const char *dir)
{
	char config[PATH_MAX];

	(void)snprintf(config, sizeof(config), "%.4000s/.kgate", dir);
	ck_assert_str_eq(home.box_dir, dir);
	ck_assert_str_eq(home.config_dir, config);
}

START_TEST(takes_the_environments_home)
{
	ck_assert_int_eq(kg_home_build(env, passwd, getuid(), &home, &err), 0);
	ck_assert_str_eq(home.env_dir, env);
	ck_assert_str_eq(home.passwd_dir, passwd);
	ck_assert(home.hides_env && home.hides_passwd);
	ck_assert_uint_eq(home.uid, getuid());
	expect_box_and_config(env);
}
END_TEST

START_TEST(falls_back_on_the_password_databases)
{
	static const char *const useless[] = { NULL,  "",    ".",
					       "env", "/",   "//",
					       "/./", "/no", "/etc/passwd" };
	size_t i;

	ck_assert_int_eq(chdir(base), 0);
	for (i = 0; i < KG_ARRAY_LEN(useless); i++) {
		ck_assert_int_eq(kg_home_build(useless[i], passwd, getuid(),
					       &home, &err),
				 0);
		ck_assert_ptr_null(home.env_dir);
		ck_assert(!home.hides_env && home.hides_passwd);
		expect_box_and_config(passwd);
		kg_home_done(&home);
	}
}
END_TEST

/* It is still somebody's home, and stays out of the box. */
START_TEST(does_not_settle_in_somebody_elses_home)
{
	ck_assert_int_eq(kg_home_build(env, passwd, getuid() + 1, &home, &err),
			 0);
	ck_assert_str_eq(home.env_dir, env);
	ck_assert(home.hides_env && home.hides_passwd);
	expect_box_and_config(passwd);
}
END_TEST

START_TEST(knows_a_home_by_its_real_path)
{
	char link[PATH_MAX];

	sub_path(link, "link");
	ck_assert_int_eq(symlink("env", link), 0);
	ck_assert_int_eq(kg_home_build(link, passwd, getuid(), &home, &err), 0);
	ck_assert_int_eq(unlink(link), 0);
	ck_assert_str_eq(home.env_dir, env);
	expect_box_and_config(env);
}
END_TEST

START_TEST(never_hides_a_system_directory)
{
	static const char *const dirs[] = { "/usr",  "/usr/sbin", "/bin",
					    "/etc",  "/dev",	  "/proc",
					    "/lib",  "/sys",	  "/usr/share",
					    "/sbin", "/run" };
	struct stat st;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(dirs); i++) {
		ck_assert_int_eq(stat(dirs[i], &st), 0);
		/* As its owner, so that the directory itself decides.
		 */
		ck_assert_int_eq(
			kg_home_build(dirs[i], dirs[i], st.st_uid, &home, &err),
			0);
		ck_assert(!home.hides_env && !home.hides_passwd);
		ck_assert_str_eq(home.box_dir, KG_HOME_SPARE_DIR);
		ck_assert_ptr_nonnull(home.config_dir);
		kg_home_done(&home);
	}
}
END_TEST

START_TEST(gets_by_without_any_home)
{
	ck_assert_int_eq(kg_home_build(NULL, "/", getuid(), &home, &err), 0);
	ck_assert_ptr_null(home.passwd_dir);
	ck_assert_ptr_null(home.config_dir);
	ck_assert(!home.hides_env && !home.hides_passwd);
	ck_assert_str_eq(home.box_dir, KG_HOME_SPARE_DIR);
}
END_TEST

START_TEST(loads_what_the_password_database_says)
{
	const struct passwd *pw = getpwuid(getuid());
	char real[PATH_MAX];

	ck_assert_int_eq(unsetenv("HOME"), 0);
	ck_assert_int_eq(kg_home_load(&home, &err), 0);
	ck_assert_ptr_null(home.env_dir);
	if (pw && realpath(pw->pw_dir, real) && strcmp(real, "/") != 0)
		ck_assert_str_eq(home.passwd_dir, real);
	else
		ck_assert_ptr_null(home.passwd_dir);
}
END_TEST

START_TEST(loads_what_the_environment_says)
{
	ck_assert_int_eq(setenv("HOME", env, 1), 0);
	ck_assert_int_eq(kg_home_load(&home, &err), 0);
	ck_assert_str_eq(home.env_dir, env);
	expect_box_and_config(env);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("supervisor/home");
	TCase *tc = tcase_create("home");

	tcase_add_checked_fixture(tc, make_dirs, remove_dirs);
	tcase_add_test(tc, takes_the_environments_home);
	tcase_add_test(tc, falls_back_on_the_password_databases);
	tcase_add_test(tc, does_not_settle_in_somebody_elses_home);
	tcase_add_test(tc, knows_a_home_by_its_real_path);
	tcase_add_test(tc, never_hides_a_system_directory);
	tcase_add_test(tc, gets_by_without_any_home);
	tcase_add_test(tc, loads_what_the_password_database_says);
	tcase_add_test(tc, loads_what_the_environment_says);
	suite_add_tcase(s, tc);

	return s;
}
