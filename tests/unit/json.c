/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/json.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/util.h"

#define ROUNDS	  20000
#define MAX_BYTES 40

Suite *kg_suite(void);

static struct kg_error err;

static char *print(struct kg_json *obj)
{
	char *line;

	ck_assert_int_eq(kg_json_print(obj, &line, &err), 0);
	kg_json_free(obj);
	return line;
}

START_TEST(writes_members_in_order_on_one_line)
{
	char *const list[] = { (char[]){ "a" }, (char[]){ "" }, NULL };
	char *const empty[] = { NULL };
	struct kg_json *obj = kg_json_new(), *inner = kg_json_new();
	char *line;

	kg_json_put_text(inner, "t", "x y");
	kg_json_put_int(obj, "z", -7);
	kg_json_put_text(obj, "b", "\"q\"/");
	kg_json_put_text(obj, "n", NULL);
	kg_json_put_list(obj, "l", list);
	kg_json_put_list(obj, "e", empty);
	kg_json_put_list(obj, "m", NULL);
	kg_json_put_object(obj, "o", inner);
	kg_json_put_object(obj, "p", NULL);
	line = print(obj);
	ck_assert_str_eq(line, "{\"z\":-7,\"b\":\"\\\"q\\\"/\",\"n\":null,"
			       "\"l\":[\"a\",\"\"],\"e\":[],\"m\":null,"
			       "\"o\":{\"t\":\"x y\"},\"p\":null}");
	free(line);
}
END_TEST

START_TEST(escapes_what_json_cannot_hold)
{
	static const struct {
		const char *bytes, *text;
	} cases[] = {
		{ "", "" },
		{ "plain ~", "plain ~" },
		{ "a\\b", "a\\\\b" },
		{ "\\xff", "\\\\xff" },
		{ "\xff", "\\xff" },
		{ "\x7f", "\\x7f" },
		{ "\n\x1b", "\n\x1b" },
		{ "\xc3\xa9", "\xc3\xa9" },
		{ "\xe2\x82\xac", "\xe2\x82\xac" },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
		/* cut short, overlong, surrogate, above U+10FFFF, stray
		 */
		{ "\xc3", "\\xc3" },
		{ "\xe2\x82", "\\xe2\\x82" },
		{ "\xe2\x82z", "\\xe2\\x82z" },
		{ "\xc0\x80", "\\xc0\\x80" },
		{ "\xe0\x9f\xbf", "\\xe0\\x9f\\xbf" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
		{ "\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf" },
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		{ "\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80" },
		{ "\x80\xc3\xa9", "\\x80\xc3\xa9" },
	};
	size_t i, len;
	char *text;

	for (i = 0; i < KG_ARRAY_LEN(cases); i++) {
		ck_assert_int_eq(kg_json_escape(cases[i].bytes,
						strlen(cases[i].bytes), &text,
						&len, &err),
				 0);
		ck_assert_str_eq(text, cases[i].text);
		ck_assert_uint_eq(len, strlen(text));
		free(text);
	}
}
END_TEST

/* Bytes that often meet: halves of UTF-8, backslashes, parts of escapes. */
static size_t fill_randomly(char *bytes)
{
	static const char often[] =
		"\\\\xfF0\xc3\xa9\xe2\x82\xac\xed\xf0\x9f\n";
	size_t len = (size_t)rand() % MAX_BYTES, i;
	int c;

	for (i = 0; i < len; i++) {
		c = rand();
		bytes[i] =
			c & 1 ? (char)(c >> 8 & 0xff)
			      : often[(size_t)(c >> 8) % (sizeof(often) - 1)];
	}
	return len;
}

START_TEST(loses_no_byte)
{
	char bytes[MAX_BYTES], *text, *back;
	size_t len, text_len, back_len;
	json_t *json;
	int i;

	srand(1);
	for (i = 0; i < ROUNDS; i++) {
		len = fill_randomly(bytes);
		ck_assert_int_eq(
			kg_json_escape(bytes, len, &text, &text_len, &err), 0);
		json = json_stringn(text, text_len); /* refuses bad UTF-8 */
		ck_assert_ptr_nonnull(json);
		json_decref(json);
		ck_assert_int_eq(kg_json_unescape(text, text_len, &back,
						  &back_len, &err),
				 0);
		ck_assert_uint_eq(back_len, len);
		ck_assert_int_eq(memcmp(back, bytes, len), 0);
		free(text);
		free(back);
	}
}
END_TEST

START_TEST(prints_ascii_only_and_keeps_every_byte)
{
	char bytes[256], *line, *back;
	const char *text, *p;
	size_t i, len;
	struct kg_json *obj = kg_json_new();
	json_t *json;

	for (i = 0; i < 255; i++)
		bytes[i] = (char)(i + 1);
	bytes[255] = '\0';
	kg_json_put_text(obj, "s", bytes);
	kg_json_put_text(obj, "u", "\xc2\x9b\xe2\x80\xa8\xe2\x80\xae");
	line = print(obj);
	for (p = line; *p; p++)
		ck_assert(*p >= ' ' && *p <= '~');
	json = json_loads(line, 0, NULL);
	text = json_string_value(json_object_get(json, "s"));
	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(
		kg_json_unescape(text, strlen(text), &back, &len, &err), 0);
	ck_assert_uint_eq(len, 255);
	ck_assert_str_eq(back, bytes);
	free(back);
	free(line);
	json_decref(json);
}
END_TEST

START_TEST(refuses_an_escape_that_it_never_writes)
{
	static const char *const bad[] = { "\\",    "a\\", "\\x",   "\\x1",
					   "\\xg0", "\\n", "\\xFF", "\\X41" };
	char *back = NULL;
	size_t i, len;

	for (i = 0; i < KG_ARRAY_LEN(bad); i++) {
		err = KG_ERROR_INIT;
		ck_assert_int_eq(kg_json_unescape(bad[i], strlen(bad[i]), &back,
						  &len, &err),
				 -1);
		ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
	}
	ck_assert_ptr_null(back);
}
END_TEST

START_TEST(remembers_a_failure_until_it_prints)
{
	struct kg_json *obj = kg_json_new(), *child = kg_json_new();
	char *line = NULL;

	/* The one way to make jansson refuse that needs no lack of
	 * memory. */
	kg_json_put_int(child, "\xff", 1);
	kg_json_put_object(obj, "child", child);
	kg_json_put_int(obj, "later", 1);
	ck_assert_int_eq(kg_json_print(obj, &line, &err), -1);
	ck_assert_uint_eq(err.code, KG_E_SYSTEM);
	ck_assert_ptr_null(line);
	kg_json_free(obj);
}
END_TEST

START_TEST(bears_an_object_that_is_missing)
{
	char *line = NULL;

	kg_json_put_int(NULL, "a", 1);
	kg_json_put_text(NULL, "a", "b");
	kg_json_put_list(NULL, "a", NULL);
	kg_json_put_object(NULL, "a", kg_json_new());
	ck_assert_int_eq(kg_json_print(NULL, &line, &err), -1);
	kg_json_free(NULL);
}
END_TEST

START_TEST(reads_a_number)
{
	static const struct {
		const char *text;
		long long value;
	} good[] = {
		{ "{\"child-pid\":123}", 123 },
		{ "{\n    \"child-pid\": 7,\n    \"net-namespace\": "
		  "4026\n}\n",
		  7 },
		{ " {\"x\":[{}],\"child-pid\":-1} \n", -1 },
	};
	long long value;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(good); i++) {
		ck_assert_int_eq(kg_json_read_int(good[i].text,
						  strlen(good[i].text),
						  "child-pid", &value, &err),
				 0);
		ck_assert_int_eq(value, good[i].value);
	}
}
END_TEST

START_TEST(refuses_everything_else)
{
#define BAD(s)                   \
	{                        \
		s, sizeof(s) - 1 \
	}
	static const struct {
		const char *text;
		size_t len;
	} bad[] = {
		BAD(""),
		BAD("\n"),
		BAD("{"),
		BAD("{}"),
		BAD("7"),
		BAD("[7]"),
		BAD("{\"child-pid\":"),
		BAD("{\"child-pid\":7"),
		BAD("{\"child-pid\":\"7\"}"),
		BAD("{\"child-pid\":7.0}"),
		BAD("{\"child-pid\":1e3}"),
		BAD("{\"child-pid\":null}"),
		BAD("{\"child-pid\":[7]}"),
		BAD("{\"child-pid\":07}"),
		BAD("{\"child-pid\":99999999999999999999}"),
		BAD("{\"child-pid\":7}}"),
		BAD("{\"child-pid\":7}{\"child-pid\":8}"),
		BAD("{\"child-pid\":7}\0"),
		BAD("{\"child-pid\":7,\"child-pid\":8}"),
		BAD("{\"child-pid\":7,}"),
		BAD("{'child-pid':7}"),
		BAD("{\"Child-pid\":7}"),
		BAD("{\"child-pid\":7,\"x\":\"\xff\"}"),
	};
#undef BAD
	long long value = 55;
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(bad); i++) {
		err = KG_ERROR_INIT;
		ck_assert_msg(kg_json_read_int(bad[i].text, bad[i].len,
					       "child-pid", &value, &err) == -1,
			      "%s", bad[i].text);
		ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
	}
	ck_assert_int_eq(value, 55); /* untouched on failure */
}
END_TEST

START_TEST(survives_deep_nesting)
{
	static char deep[400000];
	long long value;

	memset(deep, '[', sizeof(deep));
	ck_assert_int_eq(
		kg_json_read_int(deep, sizeof(deep), "child-pid", &value, &err),
		-1);
	ck_assert_uint_eq(err.code, KG_E_PROTOCOL);
}
END_TEST

/* Every cut of what bwrap writes is an error, never another number. */
START_TEST(refuses_a_text_cut_anywhere)
{
	static const char whole[] = "{\"child-pid\": 12345}";
	long long value;
	size_t len;

	for (len = 0; len < sizeof(whole) - 1; len++)
		ck_assert_int_eq(
			kg_json_read_int(whole, len, "child-pid", &value, &err),
			-1);
	ck_assert_int_eq(
		kg_json_read_int(whole, len, "child-pid", &value, &err), 0);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("common/json");
	TCase *tc = tcase_create("write");

	tcase_add_test(tc, writes_members_in_order_on_one_line);
	tcase_add_test(tc, escapes_what_json_cannot_hold);
	tcase_add_test(tc, loses_no_byte);
	tcase_add_test(tc, prints_ascii_only_and_keeps_every_byte);
	tcase_add_test(tc, refuses_an_escape_that_it_never_writes);
	tcase_add_test(tc, remembers_a_failure_until_it_prints);
	tcase_add_test(tc, bears_an_object_that_is_missing);
	suite_add_tcase(s, tc);

	tc = tcase_create("read");
	tcase_add_test(tc, reads_a_number);
	tcase_add_test(tc, refuses_everything_else);
	tcase_add_test(tc, survives_deep_nesting);
	tcase_add_test(tc, refuses_a_text_cut_anywhere);
	suite_add_tcase(s, tc);

	return s;
}
