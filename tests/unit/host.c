/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/host.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "common/punycode.h"
#include "common/text.h"
#include "common/util.h"

Suite *kg_suite(void);

#define PRINT_BYTES (KG_HOST_NAME_BYTES + 8)

static void expect_refusal(const char *text, size_t len, const char *why)
{
	struct kg_host host, before;
	struct kg_error err = KG_ERROR_INIT;

	memset(&host, 0xa5, sizeof(host));
	memcpy(&before, &host, sizeof(host));
	ck_assert_msg(kg_host_parse(text, len, &host, &err) == -1,
		      "'%s' was taken", text);
	ck_assert_uint_eq(err.code, KG_E_CONFIG);
	ck_assert_msg(strstr(err.msg, why), "'%s': %s", text, err.msg);
	ck_assert_msg(strstr(err.msg, "expected"), "%s", err.msg);
	ck_assert_mem_eq(&host, &before, sizeof(host));
}

START_TEST(takes_what_a_user_writes_and_prints_its_canonical_form)
{
	static const struct {
		const char *text, *canonical;
	} rows[] = {
		{ "github.com", "github.com" },
		{ "GitHub.COM", "github.com" },
		{ "github.com.", "github.com" },
		{ "example.org:443", "example.org:443" },
		{ "example.org.:443", "example.org:443" },
		{ "git", "git" },
		{ "_dmarc.example.org", "_dmarc.example.org" },
		{ "3com.test", "3com.test" },
		{ "r3---sn-abc.example.org", "r3---sn-abc.example.org" },
		{ "0xa.0xg", "0xa.0xg" },
		{ "xn--mnchen-3ya.test", "xn--mnchen-3ya.test" },
		{ "m\xc3\xbcnchen.test", "xn--mnchen-3ya.test" },
		{ "M\xc3\x9cNCHEN.Test:8443", "xn--mnchen-3ya.test:8443" },
		{ "192.0.2.10", "192.0.2.10" },
		{ "192.0.2.10/32", "192.0.2.10" },
		{ "192.0.2.10:5432", "192.0.2.10:5432" },
		{ "192.0.2.0/24", "192.0.2.0/24" },
		{ "192.0.2.0/24:8080", "192.0.2.0/24:8080" },
		{ "128.0.0.0/1", "128.0.0.0/1" },
		{ "0.0.0.0/1", "0.0.0.0/1" },
		{ "2001:db8::1", "2001:db8::1" },
		{ "2001:DB8:0:0::1/128", "2001:db8::1" },
		{ "2001:db8::/32", "2001:db8::/32" },
		{ "[2001:db8::1]", "2001:db8::1" },
		{ "[2001:db8::1]:443", "[2001:db8::1]:443" },
		{ "[2001:db8::]/32", "2001:db8::/32" },
		{ "[2001:db8::]/32:443", "[2001:db8::]/32:443" },
		{ "10.0.3.1", "10.0.3.1" },
		{ "10.0.0.0/8", "10.0.0.0/8" },
		{ "fd00:0:0:1::/64", "fd00:0:0:1::/64" },
		{ "example.org:1", "example.org:1" },
		{ "example.org:65535", "example.org:65535" },
	};
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host host, again;
	char buf[PRINT_BYTES];
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		int rc = kg_host_parse(rows[i].text, strlen(rows[i].text),
				       &host, &err);

		ck_assert_msg(rc == 0, "%s", err.msg);
		kg_host_print(&host, buf, sizeof(buf));
		ck_assert_str_eq(buf, rows[i].canonical);
		ck_assert_int_eq(kg_host_parse(buf, strlen(buf), &again, &err),
				 0);
		ck_assert_mem_eq(&host, &again, sizeof(host));
	}
}
END_TEST

START_TEST(fills_the_members_of_its_kind)
{
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host host;

	ck_assert_int_eq(kg_host_parse("192.0.2.0/24:80", 15, &host, &err), 0);
	ck_assert_int_eq(host.kind, KG_HOST_BLOCK);
	ck_assert_int_eq(host.port, 80);
	ck_assert_int_eq(host.block.family, AF_INET);
	ck_assert_int_eq(host.block.prefix, 24);
	ck_assert_mem_eq(host.block.addr, "\xc0\x00\x02\0\0\0\0", 7);
	ck_assert_str_eq(host.name, "");

	ck_assert_int_eq(kg_host_parse("2001:db8::", 10, &host, &err), 0);
	ck_assert_int_eq(host.block.family, AF_INET6);
	ck_assert_int_eq(host.block.prefix, 128);
	ck_assert_int_eq(host.port, 0);

	ck_assert_int_eq(kg_host_parse("a.test:80", 9, &host, &err), 0);
	ck_assert_int_eq(host.kind, KG_HOST_NAME);
	ck_assert_str_eq(host.name, "a.test");
	ck_assert_int_eq(host.block.family, 0);
}
END_TEST

START_TEST(refuses_what_is_no_exact_host_and_says_why)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "", "nothing" },
		{ "*", "a wildcard: this version takes exact names only" },
		{ "*.com", "a wildcard: this version takes exact names only" },
		{ "*.example.net:443", "a wildcard" },
		{ "--option", "a flag" },
		{ "-x", "a flag" },
		{ "a b", "a space or control character" },
		{ "a\nb", "'a\\x0ab': a space or control character" },
		{ "a\tb", "a space or control character" },
		{ "a\177b", "a space or control character" },
		{ "https://github.com", "a URL" },
		{ "https://github.com:443/x", "a URL" },
		{ "github.com/x", "a slash behind a name" },
		{ "user@github.com", "a character that no host name has" },
		{ "a,b", "a character that no host name has" },
		{ ".", "an empty label" },
		{ "a..", "an empty label" },
		{ ".a", "an empty label" },
		{ "a..b", "an empty label" },
		{ "-a.test", "a flag" },
		{ "b.-a.test", "hyphen" },
		{ "a-.test", "hyphen" },
		{ ":443", "no name or address" },
		{ "[]", "no name or address" },
		{ "a:", "a port that" },
		{ "a:0", "a port that" },
		{ "a:080", "a port that" },
		{ "a:+80", "a port that" },
		{ "a:65536", "a port that" },
		{ "a:4294967376", "a port that" },
		{ "a:https", "a port that" },
		{ "a:53", "a DNS port" },
		{ "a:853", "a DNS port" },
		{ "192.0.2.1:53", "a DNS port" },
		{ "[2001:db8::1]:853", "a DNS port" },
		{ "127.1", "an odd form of a number" },
		{ "127.1.", "an odd form of a number" },
		{ "0x7f.1", "an odd form of a number" },
		{ "0x7f.0x1", "an odd form of a number" },
		{ "0X7F", "an odd form of a number" },
		{ "0x", "an odd form of a number" },
		{ "1.2.3", "an odd form of a number" },
		{ "1.2.3.4.5", "an odd form of a number" },
		{ "017700000001", "an odd form of a number" },
		{ "2130706433", "an odd form of a number" },
		{ "192.0.2.01", "an odd form of a number" },
		{ "192.0.2.256", "an odd form of a number" },
		{ "192.0.2.1.", "an odd form of a number" },
		{ "a.1:80", "an odd form of a number" },
		{ "192.0.2.0/0", "a prefix of 0" },
		{ "::/0", "a prefix of 0" },
		{ "0.0.0.0/0", "a prefix of 0" },
		{ "192.0.2.0/33", "from 1 to 32" },
		{ "192.0.2.0/024", "from 1 to 32" },
		{ "192.0.2.0/", "from 1 to 32" },
		{ "192.0.2.0/24/24", "from 1 to 32" },
		{ "2001:db8::/129", "from 1 to 128" },
		{ "192.0.2.1/24", "bits set behind the prefix" },
		{ "2001:db8::1/64", "bits set behind the prefix" },
		{ "2001:db8::1/32:443", "without brackets" },
		{ "2001:db8:0:0:0:0:0:1:443", "[ADDR]:PORT" },
		{ "2001:db8::g", "more than one colon" },
		{ "fe80::1%eth0", "more than one colon" },
		{ "a:b:c", "more than one colon" },
		{ "[2001:db8::1", "a bracket that isn't closed" },
		{ "[2001:db8::1]443", "text behind the bracket" },
		{ "[192.0.2.1]:443", "brackets around" },
		{ "[a.test]:443", "brackets around" },
		{ "127.0.0.1", "never opened" },
		{ "127.0.0.0/8", "never opened" },
		{ "0.0.0.0", "never opened" },
		{ "169.254.169.254", "never opened" },
		{ "224.0.0.1", "never opened" },
		{ "255.255.255.255", "never opened" },
		{ "10.0.2.2", "never opened" },
		{ "10.0.2.0/24", "never opened" },
		{ "::", "never opened" },
		{ "::1", "never opened" },
		{ "[::1]:80", "never opened" },
		{ "fe80::/10", "never opened" },
		{ "ff02::1", "never opened" },
		{ "fd00::3", "never opened" },
		{ "fd00::/64", "never opened" },
		{ "::ffff:127.0.0.1", "never opened" },
		{ "::ffff:10.0.2.0/120", "never opened" },
		{ "::127.0.0.1", "never opened" },
		{ "64:ff9b::7f00:1", "never opened" },
		{ "::ffff:192.0.2.1", "write it as A.B.C.D" },
		{ "::ffff:0:0/96", "write it as A.B.C.D" },
		{ "localhost", "loopback" },
		{ "LOCALHOST.:80", "loopback" },
		{ "a.localhost", "loopback" },
		{ "\xff.test", "bytes that aren't UTF-8" },
		{ "\xc3.test", "bytes that aren't UTF-8" },
		{ "a\xe2\x80\xae.test", "xn-- form" },
		{ "a\xe3\x80\x82test", "xn-- form" },
		{ "stra\xc3\x9f"
		  "e.test",
		  "xn-- form" },
		{ "_m\xc3\xbc.test", "xn-- form" },
		{ "-\xc3\xbc.test", "a flag" },
		{ "a.\xc3\xbc-.test", "hyphen" },
		{ "ab--\xc3\xbc.test", "hyphens" },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++)
		expect_refusal(rows[i].text, strlen(rows[i].text), rows[i].why);
	expect_refusal("a\0b", 3, "'a\\x00b': a NUL byte");
	expect_refusal("github.com\0.evil.test", 21, "a NUL byte");
}
END_TEST

START_TEST(bounds_labels_and_names)
{
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host host;
	char name[400];
	size_t i;

	memset(name, 'a', sizeof(name));
	ck_assert_int_eq(kg_host_parse(name, 63, &host, &err), 0);
	expect_refusal(name, 64, "a label over 63 bytes");
	for (i = 63; i < sizeof(name); i += 64)
		name[i] = '.';
	ck_assert_int_eq(kg_host_parse(name, 253, &host, &err), 0);
	ck_assert_uint_eq(strlen(host.name), 253);
	name[253] = '.';
	ck_assert_int_eq(kg_host_parse(name, 254, &host, &err), 0);
	name[253] = 'a';
	expect_refusal(name, 254, "a name over 253 bytes");
	expect_refusal(name, 300, "a name over 253 bytes");
}
END_TEST

START_TEST(knows_the_addresses_that_are_never_opened)
{
	static const struct {
		const char *addr;
		bool reserved, private;
	} rows[] = {
		/* clang-format off */
		{ "0.0.0.0",		true,  false },
		{ "0.1.2.3",		true,  false },
		{ "1.0.0.0",		false, false },
		{ "10.0.1.255",		false, true },
		{ "10.0.2.0",		true,  true },
		{ "10.0.2.255",		true,  true },
		{ "10.0.3.0",		false, true },
		{ "11.0.0.0",		false, false },
		{ "100.63.255.255",	false, false },
		{ "100.64.0.0",		false, true },
		{ "100.127.255.255",	false, true },
		{ "100.128.0.0",	false, false },
		{ "126.255.255.255",	false, false },
		{ "127.0.0.0",		true,  false },
		{ "127.255.255.255",	true,  false },
		{ "128.0.0.0",		false, false },
		{ "169.253.255.255",	false, false },
		{ "169.254.0.0",	true,  false },
		{ "169.254.255.255",	true,  false },
		{ "169.255.0.0",	false, false },
		{ "172.15.255.255",	false, false },
		{ "172.16.0.0",		false, true },
		{ "172.31.255.255",	false, true },
		{ "172.32.0.0",		false, false },
		{ "192.168.0.1",	false, true },
		{ "192.169.0.1",	false, false },
		{ "223.255.255.255",	false, false },
		{ "224.0.0.0",		true,  false },
		{ "239.255.255.255",	true,  false },
		{ "240.0.0.0",		false, false },
		{ "255.255.255.254",	false, false },
		{ "255.255.255.255",	true,  false },
		{ "::",			true,  false },
		{ "::1",		true,  false },
		{ "::2",		true,  false },
		{ "::192.0.2.1",	false, false },
		{ "::10.0.0.1",		false, true },
		{ "2001:db8::1",	false, false },
		{ "fbff::1",		false, false },
		{ "fc00::1",		false, true },
		{ "fcff:ffff::",	false, true },
		{ "fd00::",		true,  true },
		{ "fd00::ffff:ffff:ffff:ffff", true, true },
		{ "fd00:0:0:1::",	false, true },
		{ "fe00::1",		false, false },
		{ "fe80::",		true,  false },
		{ "febf:ffff::1",	true,  false },
		{ "fec0::",		false, false },
		{ "ff00::",		true,  false },
		{ "ffff::",		true,  false },
		{ "::ffff:127.0.0.1",	true,  false },
		{ "::ffff:192.0.2.1",	false, false },
		{ "::ffff:192.168.0.1",	false, true },
		{ "::ffff:10.0.2.3",	true,  true },
		{ "::fffe:127.0.0.1",	false, false },
		{ "64:ff9b::127.0.0.1",	true,  false },
		{ "64:ff9b::192.0.2.1",	false, false },
		{ "64:ff9b::169.254.1.1", true, false },
		{ "64:ff9b:1::127.0.0.1", false, false },
		/* clang-format on */
	};
	uint8_t addr[16];
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		int family = strchr(rows[i].addr, ':') ? AF_INET6 : AF_INET;

		ck_assert_int_eq(inet_pton(family, rows[i].addr, addr), 1);
		ck_assert_msg(kg_host_is_reserved(family, addr) ==
				      rows[i].reserved,
			      "reserved: %s", rows[i].addr);
		ck_assert_msg(kg_host_is_private(family, addr) ==
				      rows[i].private,
			      "private: %s", rows[i].addr);
	}
}
END_TEST

/* The samples of RFC 3492, section 7.1, that have no capital letters. */
START_TEST(encodes_the_samples_of_the_rfc)
{
	static const struct {
		const char *text, *code;
	} rows[] = {
		{ "\xe4\xbb\x96\xe4\xbb\xac\xe4\xb8\xba\xe4\xbb\x80\xe4"
		  "\xb9\x88"
		  "\xe4\xb8\x8d\xe8\xaf\xb4\xe4\xb8\xad\xe6\x96\x87",
		  "ihqwcrb4cv8a8dqg056pqjye" },
		{ "\xe3\x81\x9d\xe3\x81\xae\xe3\x82\xb9\xe3\x83\x94\xe3"
		  "\x83\xbc"
		  "\xe3\x83\x89\xe3\x81\xa7",
		  "d9juau41awczczp" },
		{ "b\xc3\xbc"
		  "cher",
		  "bcher-kva" },
		{ "\xc3\xbc", "tda" },
	};
	uint32_t points[63];
	char code[64];
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		const char *at = rows[i].text;
		size_t count = 0;

		while (*at)
			at += kg_text_decode(at, strlen(at), &points[count++]);
		ck_assert_int_eq(
			kg_punycode_encode(points, count, code, sizeof(code)),
			0);
		ck_assert_str_eq(code, rows[i].code);
		ck_assert_int_eq(kg_punycode_encode(points, count, code,
						    strlen(rows[i].code) + 1),
				 0);
		ck_assert_int_eq(kg_punycode_encode(points, count, code,
						    strlen(rows[i].code)),
				 -1);
	}
}
END_TEST

START_TEST(folds_capitals_of_other_scripts)
{
	static const struct {
		const char *label, *form;
	} rows[] = {
		{ "\xd0\x9f\xd0\xa0\xd0\x98\xd0\x9c\xd0\x95\xd0\xa0",
		  "xn--e1afmkfd" },
		{ "\xd0\xbf\xd1\x80\xd0\xb8\xd0\xbc\xd0\xb5\xd1\x80",
		  "xn--e1afmkfd" },
		{ "\xd0\x81", "xn--61a" },
		{ "\xd1\x91", "xn--61a" },
		{ "\xce\x94\xce\x9f", "xn--pxaw" },
		{ "\xce\xb4\xce\xbf", "xn--pxaw" },
	};
	char form[KG_PUNYCODE_LABEL_BYTES];
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		ck_assert_ptr_null(kg_punycode_label(
			rows[i].label, strlen(rows[i].label), form));
		ck_assert_str_eq(form, rows[i].form);
	}
}
END_TEST

START_TEST(decodes_only_what_is_utf8)
{
	static const char *const bad[] = {
		"\x80",
		"\xc0\x80",
		"\xc1\xbf",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf8\x88\x80\x80",
		"\xff",
		"\xc3",
		"\xe2\x82",
		"\xc3\x28",
	};
	uint32_t point;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(bad); i++)
		ck_assert_msg(kg_text_decode(bad[i], strlen(bad[i]), &point) ==
				      0,
			      "row %zu", i);
	ck_assert_uint_eq(kg_text_decode("", 0, &point), 0);
	ck_assert_uint_eq(kg_text_decode("a", 1, &point), 1);
	ck_assert_uint_eq(kg_text_decode("\xc2\x80", 2, &point), 2);
	ck_assert_uint_eq(point, 0x80);
	ck_assert_uint_eq(kg_text_decode("\xef\xbf\xbd", 3, &point), 3);
	ck_assert_uint_eq(point, 0xfffd);
	ck_assert_uint_eq(kg_text_decode("\xf4\x8f\xbf\xbf", 4, &point), 4);
	ck_assert_uint_eq(point, 0x10ffff);
}
END_TEST

START_TEST(quotes_within_the_buffer)
{
	char buf[16];

	ck_assert_str_eq(kg_text_quote(buf, sizeof(buf), "a\0\n", 3),
			 "'a\\x00\\x0a'");
	ck_assert_str_eq(
		kg_text_quote(buf, sizeof(buf), "abcdefghijklmnop", 16),
		"'abcdefghij...'");
	ck_assert_str_eq(kg_text_quote(buf, 8, "abcdef", 6), "'ab...'");
}
END_TEST

START_TEST(names_the_nearest_word_if_one_is_near)
{
	static const char *const names[] = { "network", "hosts", "paths" };
	static const struct {
		const char *word, *name;
	} rows[] = {
		{ "netwrok", "network" }, { "hsots", "hosts" },
		{ "htso", NULL },	  { "networkkk", "network" },
		{ "networkkkk", NULL },	  { "host", "hosts" },
		{ "path", "paths" },	  { "pasths", "paths" },
		{ "xyz", NULL },	  { "", NULL },
	};
	size_t i, j;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		struct kg_text_near near = { .word = rows[i].word };

		for (j = 0; j < KG_ARRAY_LEN(names); j++)
			kg_text_near_try(&near, names[j]);
		if (rows[i].name)
			ck_assert_pstr_eq(near.name, rows[i].name);
		else
			ck_assert_ptr_null(near.name);
	}
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/host");
	TCase *tc = tcase_create("patterns");

	tcase_add_test(tc,
		       takes_what_a_user_writes_and_prints_its_canonical_form);
	tcase_add_test(tc, fills_the_members_of_its_kind);
	tcase_add_test(tc, refuses_what_is_no_exact_host_and_says_why);
	tcase_add_test(tc, bounds_labels_and_names);
	tcase_add_test(tc, knows_the_addresses_that_are_never_opened);
	suite_add_tcase(s, tc);

	tc = tcase_create("text");
	tcase_add_test(tc, encodes_the_samples_of_the_rfc);
	tcase_add_test(tc, folds_capitals_of_other_scripts);
	tcase_add_test(tc, decodes_only_what_is_utf8);
	tcase_add_test(tc, quotes_within_the_buffer);
	tcase_add_test(tc, names_the_nearest_word_if_one_is_near);
	suite_add_tcase(s, tc);

	return s;
}
