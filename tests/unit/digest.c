/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/digest.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/host.h"
#include "common/scoped.h"
#include "common/util.h"

Suite *kg_suite(void);

#define MILLION 1000000

static struct kg_error err;

/* FIPS 180-4 by way of its examples: csrc.nist.gov, "Cryptographic Standards
 * and Guidelines", SHA256.pdf; a million of "a" from FIPS 180-2, appendix B.3.
 */
static const struct {
	const char *text;
	const char *digest;
} examples[] = {
	{ "abc", "ba7816bf8f01cfea414140de5dae2223"
		 "b00361a396177a9cb410ff61f20015ad" },
	{ "", "e3b0c44298fc1c149afbf4c8996fb924"
	      "27ae41e4649b934ca495991b7852b855" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	  "248d6a61d20638b8e5c026930c3e6039"
	  "a33ce45964ff2167f6ecedd419db06c1" },
};

START_TEST(computes_what_the_standard_says)
{
	char got[KG_DIGEST_BYTES];
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(examples); i++) {
		memset(got, 'x', sizeof(got));
		kg_digest_text(examples[i].text, strlen(examples[i].text), got);
		ck_assert_str_eq(got, examples[i].digest);
		ck_assert_uint_eq(strlen(got), KG_DIGEST_BYTES - 1);
	}
}
END_TEST

START_TEST(takes_more_than_one_block)
{
	kg_auto_free char *text = malloc(MILLION);
	char got[KG_DIGEST_BYTES];

	memset(text, 'a', MILLION);
	kg_digest_text(text, MILLION, got);
	ck_assert_str_eq(got, "cdc76e5c9914fb9281a1c7e284d73e67"
			      "f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

START_TEST(counts_bytes_and_not_characters)
{
	char one[KG_DIGEST_BYTES], other[KG_DIGEST_BYTES];

	kg_digest_text("a\0b", 3, one);
	kg_digest_text("a\0c", 3, other);
	ck_assert_str_ne(one, other);
	kg_digest_text("a\0b", 2, other);
	ck_assert_str_ne(one, other);
}
END_TEST

/* --- policies ------------------------------------------------------------ */

struct spec {
	enum kg_network network;
	const char *hosts[4];
	const char *paths[4]; /* "rw /x" or "ro /x" */
};

static const struct spec usual = {
	.network = KG_NETWORK_RESTRICTED,
	.hosts = { "github.com", "example.org:443", "192.0.2.0/24:5432" },
	.paths = { "ro /srv/a", "rw /srv/b" },
};

static void add_entries(struct kg_policy *policy, const struct spec *spec,
			const struct kg_origin *origin)
{
	struct kg_host host;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(spec->hosts) && spec->hosts[i]; i++) {
		ck_assert_int_eq(kg_host_parse(spec->hosts[i],
					       strlen(spec->hosts[i]), &host,
					       &err),
				 0);
		ck_assert_int_eq(
			kg_policy_add_host(policy, &host, origin, &err), 0);
	}
	for (i = 0; i < KG_ARRAY_LEN(spec->paths) && spec->paths[i]; i++)
		ck_assert_int_eq(kg_policy_add_path(policy, spec->paths[i] + 3,
						    spec->paths[i][1] == 'w',
						    origin, &err),
				 0);
}

static void digest_of(const struct spec *spec, char *ret)
{
	const struct kg_origin origin = { .kind = KG_ORIGIN_FLAG,
					  .file = "--allow-path" };
	struct kg_policy policy = KG_POLICY_INIT;

	policy.network = spec->network;
	add_entries(&policy, spec, &origin);
	ck_assert_int_eq(kg_digest_policy(&policy, ret, &err), 0);
	kg_policy_done(&policy);
}

START_TEST(names_a_policy_by_its_sorted_lines)
{
	static const char text[] = "network restricted\n"
				   "host 192.0.2.0/24:5432\0"
				   "host example.org:443\0"
				   "host github.com\0"
				   "path ro /srv/a\0"
				   "path rw /srv/b";
	char want[KG_DIGEST_BYTES], got[KG_DIGEST_BYTES];

	kg_digest_text(text, sizeof(text), want);
	digest_of(&usual, got);
	ck_assert_str_eq(got, want);
}
END_TEST

START_TEST(does_not_depend_on_the_order_of_entries)
{
	static const struct spec turned = {
		.network = KG_NETWORK_RESTRICTED,
		.hosts = { "192.0.2.0/24:5432", "github.com",
			   "example.org:443" },
		.paths = { "rw /srv/b", "ro /srv/a" },
	};
	char one[KG_DIGEST_BYTES], other[KG_DIGEST_BYTES];

	digest_of(&usual, one);
	digest_of(&turned, other);
	ck_assert_str_eq(one, other);
}
END_TEST

/* Each differs from the usual one, and from each other, in what it grants. */
static const struct spec others[] = {
	/* clang-format off */
	{ KG_NETWORK_RESTRICTED,
	  { "github.com", "example.org:443", "192.0.2.0/24:5432" },
	  { "ro /srv/a", "rw /srv/b" } },
	{ KG_NETWORK_OFF,
	  { "github.com", "example.org:443", "192.0.2.0/24:5432" },
	  { "ro /srv/a", "rw /srv/b" } },
	{ KG_NETWORK_OPEN,
	  { "github.com", "example.org:443", "192.0.2.0/24:5432" },
	  { "ro /srv/a", "rw /srv/b" } },
	{ KG_NETWORK_RESTRICTED,
	  { "github.org", "example.org:443", "192.0.2.0/24:5432" },
	  { "ro /srv/a", "rw /srv/b" } },
	{ KG_NETWORK_RESTRICTED,
	  { "github.com", "example.org", "192.0.2.0/24:5432" },
	  { "ro /srv/a", "rw /srv/b" } },
	{ KG_NETWORK_RESTRICTED,
	  { "github.com", "example.org:444", "192.0.2.0/24:5432" },
	  { "ro /srv/a", "rw /srv/b" } },
	{ KG_NETWORK_RESTRICTED,
	  { "github.com", "example.org:443", "192.0.2.0/25:5432" },
	  { "ro /srv/a", "rw /srv/b" } },
	{ KG_NETWORK_RESTRICTED,
	  { "github.com", "example.org:443", "192.0.3.0/24:5432" },
	  { "ro /srv/a", "rw /srv/b" } },
	{ KG_NETWORK_RESTRICTED,
	  { "github.com", "example.org:443" },
	  { "ro /srv/a", "rw /srv/b" } },
	{ KG_NETWORK_RESTRICTED,
	  { "github.com", "example.org:443", "192.0.2.0/24:5432" },
	  { "rw /srv/a", "rw /srv/b" } },
	{ KG_NETWORK_RESTRICTED,
	  { "github.com", "example.org:443", "192.0.2.0/24:5432" },
	  { "rw /srv/a", "ro /srv/b" } },
	{ KG_NETWORK_RESTRICTED,
	  { "github.com", "example.org:443", "192.0.2.0/24:5432" },
	  { "ro /srv/a", "rw /srv/c" } },
	{ KG_NETWORK_RESTRICTED,
	  { "github.com", "example.org:443", "192.0.2.0/24:5432" },
	  { "ro /srv/a" } },
	{ KG_NETWORK_RESTRICTED, { NULL }, { NULL } },
	/* A path can be written so that it looks like the line of another. */
	{ KG_NETWORK_RESTRICTED,
	  { "github.com", "example.org:443", "192.0.2.0/24:5432" },
	  { "ro /srv/a\npath rw /srv/b" } },
	{ KG_NETWORK_RESTRICTED, { NULL }, { "ro /a\nhost x.test" } },
	{ KG_NETWORK_RESTRICTED, { "x.test" }, { "ro /a" } },
	/* clang-format on */
};

START_TEST(depends_on_everything_that_is_granted)
{
	char digests[KG_ARRAY_LEN(others)][KG_DIGEST_BYTES];
	size_t i, j;

	for (i = 0; i < KG_ARRAY_LEN(others); i++) {
		digest_of(&others[i], digests[i]);
		for (j = 0; j < i; j++)
			ck_assert_msg(strcmp(digests[i], digests[j]) != 0,
				      "%zu is like %zu", i, j);
	}
}
END_TEST

START_TEST(does_not_depend_on_where_an_entry_was_written)
{
	const struct kg_origin file = { KG_ORIGIN_FILE, "/x.yaml", 3, 7 };
	struct kg_policy policy = KG_POLICY_INIT;
	char one[KG_DIGEST_BYTES], other[KG_DIGEST_BYTES];

	add_entries(&policy, &usual, &file);
	policy.network_origin = file;
	ck_assert_ptr_nonnull(kg_policy_add_file(&policy, "/x.yaml", &err));
	ck_assert_int_eq(kg_digest_policy(&policy, one, &err), 0);
	kg_policy_done(&policy);
	digest_of(&usual, other);
	ck_assert_str_eq(one, other);
}
END_TEST

/* "~/x" and a link to it are the same place. */
START_TEST(names_paths_by_where_they_are)
{
	struct kg_policy policy = KG_POLICY_INIT;
	const struct kg_origin origin = { .kind = KG_ORIGIN_FLAG };
	const struct spec real = { .network = KG_NETWORK_RESTRICTED,
				   .paths = { "ro /srv/a" } };
	char one[KG_DIGEST_BYTES], other[KG_DIGEST_BYTES];

	ck_assert_int_eq(
		kg_policy_add_path(&policy, "~/a", false, &origin, &err), 0);
	policy.paths[0].real = strdup("/srv/a");
	policy.paths[0].link = strdup("/home/ann/a");
	ck_assert_int_eq(kg_digest_policy(&policy, one, &err), 0);
	kg_policy_done(&policy);
	digest_of(&real, other);
	ck_assert_str_eq(one, other);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/digest");
	TCase *tc = tcase_create("digest");

	tcase_add_test(tc, computes_what_the_standard_says);
	tcase_add_test(tc, takes_more_than_one_block);
	tcase_add_test(tc, counts_bytes_and_not_characters);
	tcase_add_test(tc, names_a_policy_by_its_sorted_lines);
	tcase_add_test(tc, does_not_depend_on_the_order_of_entries);
	tcase_add_test(tc, depends_on_everything_that_is_granted);
	tcase_add_test(tc, does_not_depend_on_where_an_entry_was_written);
	tcase_add_test(tc, names_paths_by_where_they_are);
	suite_add_tcase(s, tc);
	return s;
}
