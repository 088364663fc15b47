/* SPDX-License-Identifier: MIT */
/*
 * The tests run in a root of their own: an empty file system in a user and
 * mount namespace, so that every directory of the contract exists, whoever runs
 * them, and nothing of it on the machine.
 */
#include "config.h"

#include "supervisor/place.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/util.h"

#define UID 1000

Suite *kg_suite(void);

static struct kg_error err;
static struct kg_place_rule rule;
static struct kg_home home;
static bool has_world;
static char env_dir[] = "/home/env", passwd_dir[] = "/home/passwd";

static const char *const dirs[] = {
	"/bin",
	"/boot/grub",
	"/dev/shm/x",
	"/etc/ssl/certs",
	"/home/env/.kgate/sub",
	"/home/env/proj/sub",
	"/home/other/proj",
	"/home/passwd/.kgate",
	"/home/passwd/proj",
	"/lib/x",
	"/lib64",
	"/media/usb",
	"/mnt/disk",
	"/nix/store/x",
	"/opt/runner/_work/x",
	"/root/proj",
	"/run/user/1000/build",
	"/run/user/1001/build",
	"/run/systemd",
	"/sbin",
	"/srv/x/y",
	"/sys/kernel",
	"/tmp/x",
	"/usr/bin/x",
	"/usr/lib/x",
	"/usr/lib32",
	"/usr/libexec/x",
	"/usr/local/src/x",
	"/usr/sbin",
	"/usr/share/x",
	"/usr/src/app",
	"/var/lib/ci/ws/x",
	"/var/log/x",
	"/var/tmp/x",
};

static bool put_text(const char *name, const char *text)
{
	kg_auto_close int fd = open(name, O_WRONLY | O_CLOEXEC);

	return fd >= 0 &&
	       write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* The directory and its parents, below the working directory. */
static void make_dirs(const char *dir)
{
	char path[128];
	size_t i;

	for (i = 1; i <= strlen(dir); i++) {
		if (dir[i] != '/' && dir[i] != '\0')
			continue;
		(void)snprintf(path, sizeof(path), "%.*s", (int)i - 1, dir + 1);
		ck_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
	}
}

static void make_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}

static bool enter_namespaces(void)
{
	char uid_map[64], gid_map[64];

	(void)snprintf(uid_map, sizeof(uid_map), "%d %d 1", UID, (int)getuid());
	(void)snprintf(gid_map, sizeof(gid_map), "%d %d 1", UID, (int)getgid());
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
	       put_text("/proc/self/setgroups", "deny") &&
	       put_text("/proc/self/uid_map", uid_map) &&
	       put_text("/proc/self/gid_map", gid_map) &&
	       mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0;
}

/* A machine that refuses user namespaces can skip; CI may not. */
static void enter_world(void)
{
	size_t i;

	has_world = enter_namespaces();
	if (!has_world) {
		ck_assert_ptr_null(getenv("KG_TESTS_MUST_RUN"));
		return;
	}
	ck_assert_int_eq(mount("world", "/tmp", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(chdir("/tmp"), 0);
	for (i = 0; i < KG_ARRAY_LEN(dirs); i++)
		make_dirs(dirs[i]);
	make_dirs("/proc");
	ck_assert_int_eq(mount("/proc", "proc", "none", MS_BIND | MS_REC, NULL),
			 0);
	ck_assert_int_eq(chroot("."), 0);
	ck_assert_int_eq(chdir("/"), 0);
	home = (struct kg_home){
		.uid = UID,
		.env_dir = env_dir,
		.passwd_dir = passwd_dir,
	};
}

static void expect_allowed(enum kg_place_use use, const char *path)
{
	ck_assert_msg(kg_place_check(use, path, &home, &rule, &err) == 0,
		      "%s: %s", path, err.msg);
	ck_assert_str_eq(rule.text, "");
}

static void expect_refused(enum kg_place_use use, const char *path,
			   const char *want)
{
	err = KG_ERROR_INIT;
	ck_assert_msg(kg_place_check(use, path, &home, &rule, &err) == -1,
		      "%s is allowed", path);
	ck_assert_uint_eq(err.code, KG_E_POLICY);
	ck_assert_ptr_nonnull(strstr(err.msg, path));
	if (want)
		ck_assert_str_eq(rule.text, want);
	else
		ck_assert_str_ne(rule.text, "");
}

#define HOME_RULE   "the home directory and what holds it"
#define CONFIG_RULE "~/.kgate, what it holds and what holds it"

static const struct {
	const char *path;
	const char *rule;
} refused[] = {
	/* clang-format off */
	{ "/",			HOME_RULE },
	{ "/home",		HOME_RULE },
	{ "/home/env",		HOME_RULE },
	{ "/home/passwd",	HOME_RULE },
	{ "/home/env/.kgate",	CONFIG_RULE },
	{ "/home/env/.kgate/sub", CONFIG_RULE },
	{ "/home/passwd/.kgate", CONFIG_RULE },
	{ "/root",		"/root" },
	{ "/opt",		"/opt" },
	{ "/srv",		"/srv" },
	{ "/tmp",		"/tmp" },
	{ "/var",		"/var" },
	{ "/var/lib",		"/var/lib" },
	{ "/var/tmp",		"/var/tmp" },
	{ "/usr",		"/usr" },
	{ "/usr/local",		"/usr/*" },
	{ "/usr/share",		"/usr/*" },
	{ "/usr/src",		"/usr/*" },
	{ "/mnt",		"/mnt" },
	{ "/media",		"/media" },
	{ "/nix",		"/nix" },
	{ "/proc",		"/proc and below" },
	{ "/proc/self",		"/proc and below" },
	{ "/sys",		"/sys and below" },
	{ "/sys/kernel",	"/sys and below" },
	{ "/dev",		"/dev and below" },
	{ "/dev/shm/x",		"/dev and below" },
	{ "/boot",		"/boot and below" },
	{ "/boot/grub",		"/boot and below" },
	{ "/etc",		"/etc and below" },
	{ "/etc/ssl",		"/etc and below" },
	{ "/etc/ssl/certs",	"/etc and below" },
	{ "/run",		"/run and below" },
	{ "/run/user",		"/run and below" },
	{ "/run/systemd",	"/run and below" },
	{ "/run/user/1000",	"/run and below" },
	{ "/run/user/1001",	"/run and below" },
	{ "/bin",		"/bin and below" },
	{ "/sbin",		"/sbin and below" },
	{ "/lib",		"/lib* and below" },
	{ "/lib/x",		"/lib* and below" },
	{ "/lib64",		"/lib* and below" },
	{ "/usr/bin",		"/usr/bin and below" },
	{ "/usr/bin/x",		"/usr/bin and below" },
	{ "/usr/sbin",		"/usr/sbin and below" },
	{ "/usr/lib",		"/usr/lib* and below" },
	{ "/usr/lib/x",		"/usr/lib* and below" },
	{ "/usr/lib32",		"/usr/lib* and below" },
	{ "/usr/libexec/x",	"/usr/lib* and below" },
	/* clang-format on */
};

static const char *const allowed[] = {
	"/home/env/proj",
	"/home/env/proj/sub",
	"/home/passwd/proj",
	"/home/other",
	"/home/other/proj",
	"/root/proj",
	"/opt/runner",
	"/opt/runner/_work/x",
	"/srv/x",
	"/srv/x/y",
	"/tmp/x",
	"/var/lib/ci/ws/x",
	"/var/lib/ci",
	"/var/log",
	"/var/tmp/x",
	"/usr/src/app",
	"/usr/local/src",
	"/usr/local/src/x",
	"/usr/share/x",
	"/mnt/disk",
	"/media/usb",
	"/nix/store",
	"/run/user/1000/build",
};

START_TEST(refuses_what_no_project_is)
{
	char want[KG_PLACE_RULE_BYTES];
	size_t i;

	for (i = 0; has_world && i < KG_ARRAY_LEN(refused); i++) {
		(void)snprintf(want, sizeof(want), "working directory: %s",
			       refused[i].rule);
		expect_refused(KG_PLACE_WORKDIR, refused[i].path, want);
	}
}
END_TEST

START_TEST(allows_what_a_project_can_be)
{
	size_t i;

	for (i = 0; has_world && i < KG_ARRAY_LEN(allowed); i++)
		expect_allowed(KG_PLACE_WORKDIR, allowed[i]);
}
END_TEST

START_TEST(treats_directories_of_paths_and_flags_alike)
{
	char want[KG_PLACE_RULE_BYTES];
	size_t i;

	for (i = 0; has_world && i < KG_ARRAY_LEN(refused); i++) {
		(void)snprintf(want, sizeof(want), "--allow-path: %s",
			       refused[i].rule);
		expect_refused(KG_PLACE_FLAG, refused[i].path, want);
		(void)snprintf(want, sizeof(want), "paths: %s",
			       refused[i].rule);
		expect_refused(KG_PLACE_PATHS, refused[i].path, want);
	}
	for (i = 0; has_world && i < KG_ARRAY_LEN(allowed); i++) {
		expect_allowed(KG_PLACE_FLAG, allowed[i]);
		expect_allowed(KG_PLACE_PATHS, allowed[i]);
	}
}
END_TEST

START_TEST(lets_the_flag_alone_name_a_single_file)
{
	if (!has_world)
		return;
	make_file("/etc/hosts");
	make_file("/run/x.sock");
	make_file("/run/user/1000/bus");
	make_file("/home/env/.gitconfig");
	make_file("/home/env/.kgate/config.yaml");

	expect_allowed(KG_PLACE_FLAG, "/etc/hosts");
	expect_allowed(KG_PLACE_FLAG, "/run/x.sock");
	expect_allowed(KG_PLACE_FLAG, "/run/user/1000/bus");
	expect_allowed(KG_PLACE_FLAG, "/home/env/.gitconfig");
	expect_allowed(KG_PLACE_PATHS, "/home/env/.gitconfig");
	expect_refused(KG_PLACE_PATHS, "/etc/hosts", "paths: /etc and below");
	expect_refused(KG_PLACE_PATHS, "/run/x.sock", "paths: /run and below");
	expect_refused(KG_PLACE_FLAG, "/home/env/.kgate/config.yaml",
		       "--allow-path: " CONFIG_RULE);
	expect_refused(KG_PLACE_PATHS, "/home/env/.kgate/config.yaml",
		       "paths: " CONFIG_RULE);
}
END_TEST

START_TEST(sees_through_symbolic_links)
{
	if (!has_world)
		return;
	ck_assert_int_eq(symlink("/etc", "/srv/x/etc"), 0);
	ck_assert_int_eq(symlink("/home/env", "/srv/x/home"), 0);
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/etc", NULL);
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/etc/ssl", NULL);
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/home", NULL);
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/home/..", NULL);
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/home/.kgate", NULL);
	expect_allowed(KG_PLACE_WORKDIR, "/srv/x/home/proj");
}
END_TEST

static void bind(const char *from, const char *to)
{
	ck_assert(mkdir(to, 0755) == 0 || errno == EEXIST);
	ck_assert_int_eq(mount(from, to, "none", MS_BIND | MS_REC, NULL), 0);
}

START_TEST(sees_through_bind_mounts)
{
	if (!has_world)
		return;
	bind("/etc", "/srv/x/etc");
	bind("/home", "/srv/x/home");
	bind("/home/passwd", "/srv/x/passwd");
	bind("/usr/local", "/srv/x/local");
	bind("/srv", "/etc/ssl");
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/etc",
		       "working directory: /etc and below");
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/etc/ssl/certs/../..", NULL);
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/home",
		       "working directory: " HOME_RULE);
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/home/env", NULL);
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/home/env/.kgate/sub", NULL);
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/passwd", NULL);
	expect_refused(KG_PLACE_WORKDIR, "/srv/x/local",
		       "working directory: /usr/*");
	expect_refused(KG_PLACE_WORKDIR, "/etc/ssl/x", NULL);
	expect_allowed(KG_PLACE_WORKDIR, "/srv/x/home/env/proj");
	expect_allowed(KG_PLACE_WORKDIR, "/srv/x/local/src");
}
END_TEST

/* A directory inside itself must not look like the root. */
START_TEST(climbs_past_a_directory_bound_into_itself)
{
	if (!has_world)
		return;
	bind("/etc/ssl", "/etc/ssl/certs");
	ck_assert_int_eq(mkdir("/etc/ssl/certs/x", 0755), 0);
	expect_refused(KG_PLACE_WORKDIR, "/etc/ssl/certs/x",
		       "working directory: /etc and below");
}
END_TEST

START_TEST(knows_merged_usr)
{
	if (!has_world)
		return;
	ck_assert_int_eq(rmdir("/bin"), 0);
	ck_assert_int_eq(symlink("usr/bin", "/bin"), 0);
	ck_assert_int_eq(rmdir("/lib64"), 0);
	ck_assert_int_eq(symlink("usr/lib", "/lib64"), 0);
	expect_refused(KG_PLACE_WORKDIR, "/bin/x",
		       "working directory: /usr/bin and below");
	expect_refused(KG_PLACE_WORKDIR, "/lib64/x",
		       "working directory: /usr/lib* and below");
}
END_TEST

START_TEST(finds_a_config_directory_behind_a_link)
{
	if (!has_world)
		return;
	ck_assert_int_eq(rmdir("/home/passwd/.kgate"), 0);
	make_dirs("/srv/dots/kgate/sub");
	ck_assert_int_eq(symlink("/srv/dots/kgate", "/home/passwd/.kgate"), 0);
	expect_refused(KG_PLACE_WORKDIR, "/srv/dots",
		       "working directory: " CONFIG_RULE);
	expect_refused(KG_PLACE_FLAG, "/srv/dots/kgate",
		       "--allow-path: " CONFIG_RULE);
	expect_refused(KG_PLACE_WORKDIR, "/srv/dots/kgate/sub", NULL);
	expect_allowed(KG_PLACE_WORKDIR, "/srv/x");
}
END_TEST

START_TEST(does_without_a_home)
{
	if (!has_world)
		return;
	home.env_dir = NULL;
	home.passwd_dir = NULL;
	expect_refused(KG_PLACE_WORKDIR, "/", "working directory: /");
	expect_refused(KG_PLACE_WORKDIR, "/home", "working directory: /home");
	expect_allowed(KG_PLACE_WORKDIR, "/home/env");
}
END_TEST

START_TEST(trusts_a_runtime_directory_of_the_callers_only)
{
	if (!has_world)
		return;
	expect_refused(KG_PLACE_WORKDIR, "/run/user/1001/build",
		       "working directory: /run and below");
	home.uid = UID + 1; /* /run/user/1001 belongs to UID */
	expect_refused(KG_PLACE_WORKDIR, "/run/user/1001/build", NULL);
	expect_refused(KG_PLACE_WORKDIR, "/run/user/1000/build", NULL);
}
END_TEST

START_TEST(tells_a_missing_place_from_a_refused_one)
{
	if (!has_world)
		return;
	ck_assert_int_eq(
		kg_place_check(KG_PLACE_FLAG, "/srv/no", &home, &rule, &err),
		-1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_int_eq(err.errnum, ENOENT);
	ck_assert_str_eq(rule.text, "");
}
END_TEST

START_TEST(says_what_is_wrong_and_what_to_do)
{
	if (!has_world)
		return;
	expect_refused(KG_PLACE_WORKDIR, "/etc/ssl", NULL);
	ck_assert_str_eq(err.msg,
			 "the working directory is refused: it lies in /etc, "
			 "which belongs to the system; change to the directory "
			 "of one project: '/etc/ssl'");
	expect_refused(KG_PLACE_FLAG, "/home/env", NULL);
	ck_assert_str_eq(err.msg,
			 "the path of --allow-path is refused: it is the home "
			 "directory; name only what the command needs of it: "
			 "'/home/env'");
}
END_TEST

/* The machine's own directories, without the world. */
START_TEST(works_on_this_machine)
{
	static const char *const paths[] = { "/",    "/etc",	   "/proc/self",
					     "/bin", "/usr/lib",   "/dev",
					     "/tmp", "/usr/local", "/var/lib" };
	struct kg_home own = KG_HOME_INIT;
	size_t i;

	ck_assert_int_eq(kg_home_load(&own, &err), 0);
	for (i = 0; i < KG_ARRAY_LEN(paths); i++)
		ck_assert_int_eq(kg_place_check(KG_PLACE_WORKDIR, paths[i],
						&own, &rule, &err),
				 -1);
	kg_home_done(&own);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("supervisor/place");
	TCase *tc = tcase_create("world");

	tcase_add_checked_fixture(tc, enter_world, NULL);
	tcase_add_test(tc, refuses_what_no_project_is);
	tcase_add_test(tc, allows_what_a_project_can_be);
	tcase_add_test(tc, treats_directories_of_paths_and_flags_alike);
	tcase_add_test(tc, lets_the_flag_alone_name_a_single_file);
	tcase_add_test(tc, sees_through_symbolic_links);
	tcase_add_test(tc, sees_through_bind_mounts);
	tcase_add_test(tc, climbs_past_a_directory_bound_into_itself);
	tcase_add_test(tc, knows_merged_usr);
	tcase_add_test(tc, finds_a_config_directory_behind_a_link);
	tcase_add_test(tc, does_without_a_home);
	tcase_add_test(tc, trusts_a_runtime_directory_of_the_callers_only);
	tcase_add_test(tc, tells_a_missing_place_from_a_refused_one);
	tcase_add_test(tc, says_what_is_wrong_and_what_to_do);
	suite_add_tcase(s, tc);

	tc = tcase_create("machine");
	tcase_add_test(tc, works_on_this_machine);
	suite_add_tcase(s, tc);

	return s;
}
