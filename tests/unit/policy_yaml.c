/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/policy_yaml.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/util.h"

Suite *kg_suite(void);

static int parse(struct kg_policy *policy, const char *text, size_t len,
		 struct kg_error *err)
{
	return kg_policy_yaml_parse(policy, "p.yaml", text, len, err);
}

static void expect_good(struct kg_policy *policy, const char *text)
{
	struct kg_error err = KG_ERROR_INIT;

	ck_assert_msg(parse(policy, text, strlen(text), &err) == 0, "%s",
		      err.msg);
	ck_assert_uint_eq(err.code, KG_E_NONE);
}

/* The whole message, and nothing of the file in the policy. */
static void expect_bad(const char *text, size_t len, enum kg_errc code,
		       const char *msg)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;

	ck_assert_msg(parse(&policy, text, len, &err) == -1, "taken: %s", text);
	ck_assert_str_eq(err.msg, msg);
	ck_assert_uint_eq(err.code, code);
	ck_assert_int_eq(policy.network, KG_NETWORK_RESTRICTED);
	ck_assert_int_eq(policy.network_origin.kind, KG_ORIGIN_DEFAULT);
	ck_assert_uint_eq(policy.host_count, 0);
	ck_assert_uint_eq(policy.path_count, 0);
	ck_assert_uint_eq(policy.file_count, 0);
	kg_policy_done(&policy);
}

struct row {
	const char *text, *msg;
};

static void expect_all_bad(const struct row *rows, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		expect_bad(rows[i].text, strlen(rows[i].text), KG_E_CONFIG,
			   rows[i].msg);
}

static void expect_origin(const struct kg_origin *origin, unsigned line,
			  unsigned column)
{
	ck_assert_int_eq(origin->kind, KG_ORIGIN_FILE);
	ck_assert_str_eq(origin->file, "p.yaml");
	ck_assert_uint_eq(origin->line, line);
	ck_assert_uint_eq(origin->column, column);
}

/* ---- what is taken ---- */

START_TEST(reads_each_key_with_its_place)
{
	struct kg_policy policy = KG_POLICY_INIT;

	expect_good(&policy, "# a comment\n"
			     "version: 1\n"
			     "network: open\n"
			     "hosts:\n"
			     "  - github.com   # all ports\n"
			     "  - \"Example.org:443\"\n"
			     "paths: [~/.gitconfig, {path: /srv/b, mode: rw},\n"
			     "        {mode: ro, path: '~/c d'}, ~]\n");
	ck_assert_int_eq(policy.network, KG_NETWORK_OPEN);
	expect_origin(&policy.network_origin, 3, 10);
	ck_assert_uint_eq(policy.host_count, 2);
	ck_assert_str_eq(policy.hosts[0].host.name, "github.com");
	expect_origin(&policy.hosts[0].origin, 5, 5);
	ck_assert_str_eq(policy.hosts[1].host.name, "example.org");
	ck_assert_int_eq(policy.hosts[1].host.port, 443);
	expect_origin(&policy.hosts[1].origin, 6, 5);
	ck_assert_uint_eq(policy.path_count, 4);
	ck_assert_str_eq(policy.paths[0].text, "~/.gitconfig");
	ck_assert(!policy.paths[0].writable);
	expect_origin(&policy.paths[0].origin, 7, 9);
	ck_assert_str_eq(policy.paths[1].text, "/srv/b");
	ck_assert(policy.paths[1].writable);
	expect_origin(&policy.paths[1].origin, 7, 23);
	ck_assert_str_eq(policy.paths[2].text, "~/c d");
	ck_assert(!policy.paths[2].writable);
	ck_assert_str_eq(policy.paths[3].text, "~");
	ck_assert_uint_eq(policy.file_count, 1);
	ck_assert_str_eq(policy.files[0], "p.yaml");
	kg_policy_done(&policy);
}
END_TEST

START_TEST(takes_files_that_say_nothing)
{
	static const char *const texts[] = {
		"",
		"\n",
		"# only this",
		"\xef\xbb\xbf",
		"---",
		"---\n",
		"---\n...\n",
		"\xef\xbb\xbf# only this\r\n",
		"   \n\n  # x\n",

		"{}",
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(texts); i++) {
		struct kg_policy policy = KG_POLICY_INIT;

		expect_good(&policy, texts[i]);
		ck_assert_int_eq(policy.network_origin.kind, KG_ORIGIN_DEFAULT);
		ck_assert_uint_eq(policy.host_count, 0);
		kg_policy_done(&policy);
	}
}
END_TEST

START_TEST(takes_other_line_ends_marks_and_styles)
{
	static const char *const texts[] = {
		"network: off\r\nhosts: [a.test]\r\n",
		"\xef\xbb\xbfnetwork: off\nhosts: [a.test]",
		"---\nnetwork: off\nhosts: [a.test]\n...\n",
		"{network: 'off', hosts: [\"a.test\"]}",
		"\"network\": \"off\"\n'hosts':\n- a.test\n",
		"? network\n: off\n? hosts\n: - a.test\n",
		"network: >-\n  off\nhosts:\n- |-\n  a.test\n",
		"network: \"\\x6fff\"\nhosts: [a.test.]\n",
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(texts); i++) {
		struct kg_policy policy = KG_POLICY_INIT;

		expect_good(&policy, texts[i]);
		ck_assert_int_eq(policy.network, KG_NETWORK_OFF);
		ck_assert_uint_eq(policy.host_count, 1);
		ck_assert_str_eq(policy.hosts[0].host.name, "a.test");
		kg_policy_done(&policy);
	}
}
END_TEST

START_TEST(counts_columns_in_characters_behind_a_byte_order_mark)
{
	struct kg_policy policy = KG_POLICY_INIT;

	expect_good(&policy, "\xef\xbb\xbfpaths: [/\xc3\xa4\xc3\xb6, /b]\n");
	expect_origin(&policy.paths[0].origin, 1, 9);
	expect_origin(&policy.paths[1].origin, 1, 14);
	kg_policy_done(&policy);
}
END_TEST

START_TEST(adds_to_what_the_policy_holds)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;
	const char bad[] = "network: off\nhosts: [b.test]\npaths: [/b, c]\n";

	expect_good(&policy, "network: open\nhosts: [a.test]\npaths: [/a]\n");
	ck_assert_int_eq(parse(&policy, bad, sizeof(bad) - 1, &err), -1);
	ck_assert_int_eq(policy.network, KG_NETWORK_OPEN);
	expect_origin(&policy.network_origin, 1, 10);
	ck_assert_uint_eq(policy.host_count, 1);
	ck_assert_uint_eq(policy.path_count, 1);
	expect_good(&policy, "hosts: [b.test]\n");
	ck_assert_int_eq(policy.network, KG_NETWORK_OPEN);
	ck_assert_uint_eq(policy.host_count, 2);
	ck_assert_uint_eq(policy.file_count, 2);
	kg_policy_done(&policy);
}
END_TEST

START_TEST(takes_an_empty_list_as_none)
{
	struct kg_policy policy = KG_POLICY_INIT;

	expect_good(&policy, "hosts: []\npaths: []\n");
	ck_assert_uint_eq(policy.host_count, 0);
	ck_assert_uint_eq(policy.path_count, 0);
	kg_policy_done(&policy);
}
END_TEST

START_TEST(counts_nesting_by_depth_alone)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;

	expect_good(&policy, "hosts: []\npaths: [{path: /a}, {path: /b},"
			     " {path: /c}, {path: /d}, {path: /e},"
			     " {path: /f}, {path: /g}, {path: /h}]\n");
	ck_assert_uint_eq(policy.path_count, 8);
	ck_assert_int_eq(parse(&policy, NULL, 0, &err), 0);
	kg_policy_done(&policy);
}
END_TEST

/* ---- what is refused, with the exact place ---- */

#define HOST_FORMS                                                           \
	"; expected a host: NAME, ADDRESS or ADDRESS/PREFIX, with :PORT if " \
	"need be"
#define LATER \
	"': this version doesn't enforce it yet, expected a file without it"
#define KEYS "version, network, hosts, paths"

START_TEST(names_the_place_of_a_wrong_key)
{
	static const struct row rows[] = {
		{ "netwrok: off\n", "p.yaml:1:1: unknown key "
				    "'netwrok', expected 'network'?" },
		{ "version: 1\nhost: []\n",
		  "p.yaml:2:1: unknown key 'host', expected 'hosts'?" },
		{ "version: 1\n\"ho\\0sts\": []\n",
		  "p.yaml:2:1: a NUL byte in a value, expected a key" },
		{ "colour: red\n", "p.yaml:1:1: unknown key 'colour', "
				   "expected one of " KEYS },
		{ "Network: off\n", "p.yaml:1:1: unknown key "
				    "'Network', expected 'network'?" },
		{ "network: off\nhosts: []\nnetwork: off\n",
		  "p.yaml:3:1: duplicate key 'network', expected it "
		  "once: it is on line 1 already" },
		{ "{hosts: [], \"hosts\": []}\n",
		  "p.yaml:1:13: duplicate key 'hosts', expected it "
		  "once: it is on line 1 already" },
		{ "version: 1\n<<: {network: open}\n",
		  "p.yaml:2:1: a merge key, expected its keys written "
		  "out" },
		{ "? [a]\n: b\n", "p.yaml:1:3: a list, expected a key" },
		{ "? {a: b}\n: b\n", "p.yaml:1:3: a mapping, expected a key" },
		{ "?\n: b\n", "p.yaml:1:2: nothing, expected a key" },
		{ "paths:\n  - {path: /a, mod: rw}\n",
		  "p.yaml:2:16: unknown key 'mod', expected 'mode'?" },
		{ "paths:\n  - {path: /a, writable: rw}\n",
		  "p.yaml:2:16: unknown key 'writable', expected one "
		  "of path, mode" },
		{ "paths:\n  - {path: /a,\n     path: /b}\n",
		  "p.yaml:3:6: duplicate key 'path', expected it once: "
		  "it is on line 2 already" },
	};

	expect_all_bad(rows, KG_ARRAY_LEN(rows));
}
END_TEST

START_TEST(refuses_keys_that_nothing_enforces_yet)
{
	static const char *const keys[] = {
		"deny_read",
		"deny_exec",
		"drop_hosts",
		"drop_paths",
		"drop_env",
		"env",
		"drop_host_ports",
		"host_ports",
		"ipv6",
		"git",
		"mask",
		"mask_prefixes",
		"limits",
		"audit",
	};
	char text[64], msg[160];
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(keys); i++) {
		(void)snprintf(text, sizeof(text), "network: off\n%s: []\n",
			       keys[i]);
		(void)snprintf(msg, sizeof(msg), "p.yaml:2:1: '%s" LATER,
			       keys[i]);
		expect_bad(text, strlen(text), KG_E_CONFIG, msg);
	}
}
END_TEST

START_TEST(names_the_place_of_a_wrong_value)
{
	static const struct row rows[] = {
		{ "version: 2\n", "p.yaml:1:10: version '2', expected "
				  "1, the only version there is" },
		{ "version: 1.0\n",
		  "p.yaml:1:10: version '1.0', expected 1, the only "
		  "version there is" },
		{ "version:\n", "p.yaml:1:9: nothing, expected 1, the "
				"only version there is" },
		{ "network: false\n",
		  "p.yaml:1:10: no network mode: 'false', expected "
		  "off, restricted or open: write off" },
		{ "network:   no\n",
		  "p.yaml:1:12: no network mode: 'no', expected off, "
		  "restricted or open: write off" },
		{ "network: OFF\n",
		  "p.yaml:1:10: no network mode: 'OFF', expected off, "
		  "restricted or open: write off" },
		{ "network: yes\n",
		  "p.yaml:1:10: no network mode: 'yes', expected off, "
		  "restricted or open: write restricted or open" },
		{ "network: opne\n",
		  "p.yaml:1:10: no network mode: 'opne', expected off, "
		  "restricted or open" },
		{ "network: ''\n", "p.yaml:1:10: no network mode: '', "
				   "expected off, restricted or open" },
		{ "network: |\n  off\n",
		  "p.yaml:1:10: a control character in a value, "
		  "expected off, restricted or open" },
		{ "network: [off]\n", "p.yaml:1:10: a list, expected "
				      "off, restricted or open" },
		{ "network: {off: 1}\n",
		  "p.yaml:1:10: a mapping, expected off, restricted or "
		  "open" },
		{ "network: \"off\\0\"\n",
		  "p.yaml:1:10: a NUL byte in a value, expected off, "
		  "restricted or open" },
		{ "hosts: github.com\n", "p.yaml:1:8: a single value, "
					 "expected a list of hosts" },
		{ "hosts:\n  # - github.com\nnetwork: off\n",
		  "p.yaml:1:7: nothing, expected a list of hosts: "
		  "write [] for none" },
		{ "hosts: {a: b}\n",
		  "p.yaml:1:8: a mapping, expected a list of hosts" },
		{ "hosts: [[a.test]]\n",
		  "p.yaml:1:9: a list, expected a host" },
		{ "hosts:\n- a.test\n- b.test: 443\n",
		  "p.yaml:3:3: a mapping, expected a host" },
		{ "hosts:\n- a.test\n-\n",
		  "p.yaml:3:2: nothing, expected a host" },
		{ "paths: /a\n", "p.yaml:1:8: a single value, expected "
				 "a list of paths" },
		{ "paths: [a]\n", "p.yaml:1:9: 'a', expected a path "
				  "that begins with / or ~/" },
		{ "paths: [~root/a]\n",
		  "p.yaml:1:9: '~root/a', expected a path that begins "
		  "with / or ~/" },
		{ "paths: ['']\n", "p.yaml:1:9: '', expected a path "
				   "that begins with / or ~/" },
		{ "paths: [\"/a\\nb\"]\n",
		  "p.yaml:1:9: a control character in a value, "
		  "expected a path that begins with / or ~/" },
		{ "paths: [\"/a\\u2028b\"]\n",
		  "p.yaml:1:9: a line separator in a value, expected a "
		  "path that begins with / or ~/" },
		{ "paths:\n- {path: /a, mode: w}\n",
		  "p.yaml:2:20: mode 'w', expected ro or rw" },
		{ "paths:\n- {path: /a, mode: [rw]}\n",
		  "p.yaml:2:20: a list, expected ro or rw" },
		{ "paths:\n- {mode: rw}\n",
		  "p.yaml:2:3: an entry without a path, expected "
		  "{path: PATH, mode: ro or rw}" },
		{ "paths:\n- [/a]\n", "p.yaml:2:3: a list, expected a "
				      "path that begins with / or ~/" },
		{ "off\n", "p.yaml:1:1: a single value, expected keys "
			   "with values" },
		{ "- a.test\n",
		  "p.yaml:1:1: a list, expected keys with values" },
		{ "--- ''\n", "p.yaml:1:5: a single value, expected "
			      "keys with values" },
	};

	expect_all_bad(rows, KG_ARRAY_LEN(rows));
}
END_TEST

START_TEST(names_the_place_of_a_wrong_host)
{
	static const struct row rows[] = {
		{ "hosts:\n  - github.com\n  - \"*\"\n",
		  "p.yaml:3:5: '*': a wildcard: this version takes "
		  "exact names only" HOST_FORMS },
		{ "hosts: [a.test, --option]\n",
		  "p.yaml:1:17: '--option': a flag, it seems: no host "
		  "begins with a hyphen" HOST_FORMS },
		{ "hosts:\n- \"a.test\\0.b.test\"\n",
		  "p.yaml:2:3: 'a.test\\x00.b.test': a NUL "
		  "byte" HOST_FORMS },
		{ "hosts:\n- \"a\\nb\"\n",
		  "p.yaml:2:3: 'a\\x0ab': a space or control "
		  "character" HOST_FORMS },
		{ "hosts:\n- |\n  a.test\n",
		  "p.yaml:2:3: 'a.test\\x0a': a space or control "
		  "character" HOST_FORMS },
		{ "hosts:\n-   127.1\n",
		  "p.yaml:2:5: '127.1': an odd form of a number: write "
		  "an address as A.B.C.D" HOST_FORMS },
		{ "hosts:\n- 0x7f.1\n",
		  "p.yaml:2:3: '0x7f.1': an odd form of a number: "
		  "write an address as A.B.C.D" HOST_FORMS },
		{ "hosts:\n- a.test:53\n",
		  "p.yaml:2:3: 'a.test:53': a DNS port: 53 and 853 "
		  "stay closed, the box has a resolver of its "
		  "own" HOST_FORMS },
		{ "hosts:\n- ''\n", "p.yaml:2:3: '': nothing" HOST_FORMS },
	};
	char text[400] = "hosts:\n- ";
	char msg[600];
	size_t i;

	expect_all_bad(rows, KG_ARRAY_LEN(rows));

	memset(text + 9, 'a', 64);
	(void)snprintf(msg, sizeof(msg),
		       "p.yaml:2:3: '%s': a label over 63 bytes" HOST_FORMS,
		       text + 9);
	expect_bad(text, strlen(text), KG_E_CONFIG, msg);

	memset(text + 9, 'a', 300);
	for (i = 0; i < 300; i += 60)
		text[9 + 30 + i] = '.';
	(void)snprintf(msg, sizeof(msg),
		       "p.yaml:2:3: '%.90s...': a name over 253 "
		       "bytes" HOST_FORMS,
		       text + 9);
	expect_bad(text, strlen(text), KG_E_CONFIG, msg);
}
END_TEST

START_TEST(names_the_place_of_what_yaml_offers_and_a_policy_refuses)
{
	static const struct row rows[] = {
		{ "network: !!str off\n", "p.yaml:1:10: a tag, expected none" },
		{ "network: ! off\n", "p.yaml:1:10: a tag, expected none" },
		{ "hosts: !x [a.test]\n", "p.yaml:1:8: a tag, expected none" },
		{ "!x {}\n", "p.yaml:1:1: a tag, expected none" },
		{ "network: &a off\n",
		  "p.yaml:1:10: an anchor, expected none: aliases "
		  "aren't taken" },
		{ "hosts: &a [a.test]\n",
		  "p.yaml:1:8: an anchor, expected none: aliases "
		  "aren't taken" },
		{ "hosts: [a.test, *a]\n",
		  "p.yaml:1:17: an alias, expected its value written "
		  "out" },
		{ "network: off\n---\nnetwork: off\n",
		  "p.yaml:2:1: a second document, expected one" },
		{ "---\n---\n", "p.yaml:2:1: a second document, expected one" },
		{ "network: off\n...\nhosts: []\n",
		  "p.yaml:3:1: not YAML: did not find expected "
		  "<document start>" },
		{ "%YAML 1.1\n---\nnetwork: off\n",
		  "p.yaml:1:1: a directive, expected none" },
		{ "%TAG ! tag:x,2000:\n---\nnetwork: off\n",
		  "p.yaml:1:1: a directive, expected none" },
		{ "a: [[[[[[[[a]]]]]]]]\n",
		  "p.yaml:1:11: nesting over 8, expected lists and "
		  "mappings at most 8 deep" },
		{ "a: [[[[[[[a]]]]]]]\n",
		  "p.yaml:1:1: unknown key 'a', expected one "
		  "of " KEYS },
		{ "network: off\nhosts: [a.test\n",
		  "p.yaml:3:1: not YAML: did not find expected ',' or "
		  "']' while parsing a flow sequence" },
		{ "network: off\n\thosts: []\n",
		  "p.yaml:2:1: not YAML: found a tab character that "
		  "violates indentation while scanning a plain "
		  "scalar" },
		{ "network off\nhosts: []\n",
		  "p.yaml:2:6: not YAML: mapping values are not "
		  "allowed in this context" },
	};

	expect_all_bad(rows, KG_ARRAY_LEN(rows));
}
END_TEST

START_TEST(names_the_place_of_bytes_that_an_editor_hides)
{
	static const struct row rows[] = {
		{ "network: off\n# \xff\n",
		  "p.yaml:2:3: bytes that aren't UTF-8, expected UTF-8 "
		  "text" },
		{ "# \xc3\xa4\xed\xa0\x80\n",
		  "p.yaml:1:4: bytes that aren't UTF-8, expected UTF-8 "
		  "text" },
		{ "\xff\xfen\n", "p.yaml:1:1: bytes that aren't UTF-8, "
				 "expected UTF-8 text" },
		{ "# a\rnetwork: open\n",
		  "p.yaml:1:4: a control character, expected plain "
		  "text" },
		{ "# a\x1b[2K\n", "p.yaml:1:4: a control character, "
				  "expected plain text" },
		{ "# a\xc2\x85network: open\n",
		  "p.yaml:1:4: a control character, expected plain "
		  "text" },
		{ "# a\xe2\x80\xa8network: open\n",
		  "p.yaml:1:4: a line separator, expected plain text" },
		{ "\r\n# a\xe2\x80\xae"
		  "b\n",
		  "p.yaml:2:4: a character that changes the direction "
		  "of text, expected plain text" },
		{ "network: off\n\xef\xbb\xbf",
		  "p.yaml:2:1: a byte order mark inside the text, "
		  "expected plain text" },
		{ "\xef\xbb\xbf\xef\xbb\xbfnetwork: off\n",
		  "p.yaml:1:1: a byte order mark inside the text, "
		  "expected plain text" },
	};

	expect_all_bad(rows, KG_ARRAY_LEN(rows));
	expect_bad("network: off\n\0", 14, KG_E_CONFIG,
		   "p.yaml:2:1: a NUL byte, expected plain text");
	expect_bad("\0", 1, KG_E_CONFIG,
		   "p.yaml:1:1: a NUL byte, expected plain text");
	expect_bad("n\0e\0", 4, KG_E_CONFIG,
		   "p.yaml:1:2: a NUL byte, expected plain text");
}
END_TEST

START_TEST(bounds_text_lists_and_paths)
{
	size_t max = KG_POLICY_YAML_MAX_BYTES, used, i;
	kg_auto_free char *text = malloc(max + 2);
	struct kg_policy policy = KG_POLICY_INIT;

	memset(text, '\n', max + 1);
	text[max + 1] = '\0';
	expect_bad(text, max + 1, KG_E_LIMIT,
		   "p.yaml: more than 1048576 bytes");
	text[max] = '\0';
	expect_good(&policy, text);
	kg_policy_done(&policy);

	used = (size_t)sprintf(text, "hosts:\n");
	for (i = 0; i < 20001; i++)
		used += (size_t)sprintf(text + used, "- h%zu.test\n", i);
	expect_bad(text, used, KG_E_LIMIT,
		   "p.yaml:20002:3: more than 20000 hosts");

	used = (size_t)sprintf(text, "paths:\n");
	for (i = 0; i < 1001; i++)
		used += (size_t)sprintf(text + used, "- /a\n");
	expect_bad(text, used, KG_E_LIMIT,
		   "p.yaml:1002:3: more than 1000 paths");

	used = (size_t)sprintf(text, "paths:\n- /");
	memset(text + used, 'a', 4095);
	expect_bad(text, used + 4095, KG_E_CONFIG,
		   "p.yaml:2:3: a path of 4096 bytes, expected at most "
		   "4095");
}
END_TEST

/* Each level would be nine times the one before, if aliases were taken. */
START_TEST(refuses_an_alias_bomb_at_its_first_anchor)
{
	static const char bomb[] = "a: &a [x,x,x,x,x,x,x,x,x]\n"
				   "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
				   "hosts: [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n";

	expect_bad(bomb, sizeof(bomb) - 1, KG_E_CONFIG,
		   "p.yaml:1:4: an anchor, expected none: aliases "
		   "aren't taken");
}
END_TEST

START_TEST(keeps_the_place_when_the_name_is_long)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;
	char name[4000];

	memset(name, 'd', sizeof(name));
	(void)snprintf(name + 3900, 100, "/p.yaml");
	ck_assert_int_eq(kg_policy_yaml_parse(&policy, name, "a: b", 4, &err),
			 -1);
	ck_assert_ptr_nonnull(strstr(
		err.msg, "/p.yaml:1:1: unknown key 'a', expected one of"));
	ck_assert_int_eq(strncmp(err.msg, "...d", 4), 0);
	kg_policy_done(&policy);
}
END_TEST

/* ---- the file ---- */

static char dir[64], file[96];
static int open_before;

static int lowest_free_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static void make_dir(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/kgate-yaml-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(file, sizeof(file), "%s/config.yaml", dir);
	open_before = lowest_free_fd();
}

static void remove_dir(void)
{
	char link[96];

	ck_assert_int_eq(lowest_free_fd(), open_before);
	(void)snprintf(link, sizeof(link), "%s/link", dir);
	(void)unlink(link);
	(void)unlink(file);
	(void)rmdir(file);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void write_file(const char *text, mode_t mode)
{
	kg_auto_close int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
	ck_assert_int_eq(fchmod(fd, mode), 0);
}

static void expect_not_loaded(const char *path, bool optional,
			      const char *begin, const char *end)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;
	char msg[KG_ERROR_MSG_BYTES];

	(void)snprintf(msg, sizeof(msg), "%s%s%s", begin, path, end);
	ck_assert_int_eq(kg_policy_yaml_load(&policy, path, optional, &err),
			 -1);
	ck_assert_str_eq(err.msg, msg);
	ck_assert_uint_eq(policy.file_count, 0);
	kg_policy_done(&policy);
}

START_TEST(loads_a_file_of_the_user)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;
	char link[96];

	write_file("network: off\n", 0644);
	ck_assert_int_eq(kg_policy_yaml_load(&policy, file, false, &err), 0);
	ck_assert_int_eq(policy.network, KG_NETWORK_OFF);
	ck_assert_str_eq(policy.files[0], file);

	(void)snprintf(link, sizeof(link), "%s/link", dir);
	ck_assert_int_eq(symlink("config.yaml", link), 0);
	ck_assert_int_eq(kg_policy_yaml_load(&policy, link, true, &err), 0);
	ck_assert_uint_eq(policy.file_count, 2);
	ck_assert_str_eq(policy.files[1], link);
	kg_policy_done(&policy);
}
END_TEST

START_TEST(takes_a_missing_file_only_when_it_is_optional)
{
	struct kg_policy policy = KG_POLICY_INIT;
	struct kg_error err = KG_ERROR_INIT;
	char link[96];

	ck_assert_int_eq(kg_policy_yaml_load(&policy, file, true, &err), 0);
	ck_assert_uint_eq(policy.file_count, 0);
	ck_assert_uint_eq(err.code, KG_E_NONE);
	expect_not_loaded(file, false, "open ", ": No such file or directory");

	(void)snprintf(link, sizeof(link), "%s/link", dir);
	ck_assert_int_eq(symlink("config.yaml", link), 0);
	expect_not_loaded(link, true, "open ", ": No such file or directory");
	kg_policy_done(&policy);
}
END_TEST

START_TEST(refuses_a_file_that_others_can_write)
{
	char end[256];

	write_file("network: off\n", 0664);
	(void)snprintf(end, sizeof(end),
		       ": mode 0664 lets others write it; expected its "
		       "owner alone: chmod go-w '%s'",
		       file);
	expect_not_loaded(file, true, "", end);
	ck_assert_int_eq(chmod(file, 0602), 0);
	memcpy(strstr(end, "0664"), "0602", 4);
	expect_not_loaded(file, true, "", end);
}
END_TEST

START_TEST(refuses_what_is_no_regular_file_without_waiting)
{
	static const char end[] = ": not a regular file, expected one";

	ck_assert_int_eq(mkfifo(file, 0600), 0);
	expect_not_loaded(file, true, "", end);
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(mkdir(file, 0700), 0);
	expect_not_loaded(file, true, "", end);
	expect_not_loaded("/dev/zero", true, "", end);
}
END_TEST

START_TEST(refuses_a_file_over_its_limit)
{
	write_file("", 0600);
	ck_assert_int_eq(truncate(file, 2 * KG_POLICY_YAML_MAX_BYTES), 0);
	expect_not_loaded(file, true, "", ": more than 1048576 bytes");
}
END_TEST

START_TEST(refuses_a_file_of_somebody_else)
{
	char end[128];

	if (geteuid() != 0)
		return;
	write_file("network: off\n", 0600);
	ck_assert_int_eq(chown(file, 12345, 0), 0);
	(void)snprintf(end, sizeof(end),
		       ": owned by user 12345, expected you (user 0) or root");
	expect_not_loaded(file, true, "", end);
}
END_TEST

START_TEST(refuses_a_wrong_file_with_its_place)
{
	write_file("network: off\nhosts: [a b]\n", 0600);
	expect_not_loaded(
		file, true, "",
		":2:9: 'a b': a space or control character" HOST_FORMS);
}
END_TEST

static TCase *refusals(void)
{
	TCase *tc = tcase_create("refused");

	tcase_add_test(tc, names_the_place_of_a_wrong_key);
	tcase_add_test(tc, refuses_keys_that_nothing_enforces_yet);
	tcase_add_test(tc, names_the_place_of_a_wrong_value);
	tcase_add_test(tc, names_the_place_of_a_wrong_host);
	tcase_add_test(
		tc, names_the_place_of_what_yaml_offers_and_a_policy_refuses);
	tcase_add_test(tc, names_the_place_of_bytes_that_an_editor_hides);
	tcase_add_test(tc, bounds_text_lists_and_paths);
	tcase_add_test(tc, refuses_an_alias_bomb_at_its_first_anchor);
	tcase_add_test(tc, keeps_the_place_when_the_name_is_long);
	return tc;
}

static TCase *files(void)
{
	TCase *tc = tcase_create("file");

	tcase_add_checked_fixture(tc, make_dir, remove_dir);
	tcase_add_test(tc, loads_a_file_of_the_user);
	tcase_add_test(tc, takes_a_missing_file_only_when_it_is_optional);
	tcase_add_test(tc, refuses_a_file_that_others_can_write);
	tcase_add_test(tc, refuses_what_is_no_regular_file_without_waiting);
	tcase_add_test(tc, refuses_a_file_over_its_limit);
	tcase_add_test(tc, refuses_a_file_of_somebody_else);
	tcase_add_test(tc, refuses_a_wrong_file_with_its_place);
	return tc;
}

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/policy_yaml");
	TCase *tc = tcase_create("taken");

	tcase_add_test(tc, reads_each_key_with_its_place);
	tcase_add_test(tc, takes_files_that_say_nothing);
	tcase_add_test(tc, takes_other_line_ends_marks_and_styles);
	tcase_add_test(tc,
		       counts_columns_in_characters_behind_a_byte_order_mark);
	tcase_add_test(tc, adds_to_what_the_policy_holds);
	tcase_add_test(tc, takes_an_empty_list_as_none);
	tcase_add_test(tc, counts_nesting_by_depth_alone);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, refusals());
	suite_add_tcase(s, files());

	return s;
}
