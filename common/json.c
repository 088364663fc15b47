/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/json.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"
#include "common/text.h"

struct kg_json {
	json_t *root;
	bool has_failed;
};

static void release(json_t **json)
{
	json_decref(*json);
}
#define auto_json __attribute__((cleanup(release)))

/* Bytes of the character at @p that can stand as they are; 0 if none can. */
static size_t plain_bytes(const char *p, size_t left)
{
	uint32_t c;
	size_t n = kg_text_decode(p, left, &c);

	return n && c != '\\' && c != 0x7f ? n : 0;
}

static char *put_escape(char *to, char byte)
{
	static const char digits[] = "0123456789abcdef";

	*to++ = '\\';
	if (byte == '\\') {
		*to++ = '\\';
		return to;
	}
	*to++ = 'x';
	*to++ = digits[(uint8_t)byte >> 4];
	*to++ = digits[(uint8_t)byte & 0xf];
	return to;
}

int kg_json_escape(const char *bytes, size_t len, char **ret, size_t *ret_len,
		   struct kg_error *err)
{
	const size_t widest = 4;
	char *text, *to;
	size_t i, n;

	text = len < SIZE_MAX / widest ? malloc(len * widest + 1) : NULL;
	if (!text)
		return kg_fail(err, KG_E_SYSTEM, ENOMEM, "escape a string");
	to = text;
	for (i = 0; i < len; i += n ? n : 1) {
		n = plain_bytes(bytes + i, len - i);
		if (n)
			to = mempcpy(to, bytes + i, n);
		else
			to = put_escape(to, bytes[i]);
	}
	*to = '\0';
	*ret = text;
	*ret_len = (size_t)(to - text);
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Length of the escape at @p, which begins with a backslash; 0 if it is none.
 */
static size_t read_escape(const char *p, size_t left, char *ret)
{
	int high, low;

	if (left >= 2 && p[1] == '\\') {
		*ret = '\\';
		return 2;
	}
	if (left < 4 || p[1] != 'x')
		return 0;
	high = hex_digit(p[2]);
	low = hex_digit(p[3]);
	if (high < 0 || low < 0)
		return 0;
	*ret = (char)(high << 4 | low);
	return 4;
}

int kg_json_unescape(const char *text, size_t len, char **ret, size_t *ret_len,
		     struct kg_error *err)
{
	kg_auto_free char *bytes = NULL;
	size_t i = 0, used, n = 0;

	bytes = malloc(len + 1);
	if (!bytes)
		return kg_fail_system(err, "read a string");
	while (i < len) {
		used = 1;
		bytes[n] = text[i];
		if (text[i] == '\\')
			used = read_escape(text + i, len - i, &bytes[n]);
		if (!used)
			return kg_fail(err, KG_E_PROTOCOL, 0,
				       "no such escape at byte %zu", i + 1);
		i += used;
		n++;
	}
	bytes[n] = '\0';
	*ret = kg_take_ptr(bytes);
	*ret_len = n;
	return 0;
}

struct kg_json *kg_json_new(void)
{
	struct kg_json *obj = calloc(1, sizeof(*obj));

	if (!obj)
		return NULL;
	obj->root = json_object();
	obj->has_failed = !obj->root;
	return obj;
}

void kg_json_free(struct kg_json *obj)
{
	if (!obj)
		return;
	json_decref(obj->root);
	free(obj);
}

/* Takes @value, also when it can't be put. */
static void put(struct kg_json *obj, const char *key, json_t *value)
{
	if (!obj)
		json_decref(value);
	else if (json_object_set_new(obj->root, key, value))
		obj->has_failed = true;
}

static json_t *text_value(const char *text)
{
	kg_auto_free char *escaped = NULL;
	struct kg_error err;
	size_t len = 0;

	if (kg_json_escape(text, strlen(text), &escaped, &len, &err))
		return NULL;
	return json_stringn(escaped, len);
}

void kg_json_put_int(struct kg_json *obj, const char *key, long long value)
{
	put(obj, key, json_integer(value));
}

void kg_json_put_text(struct kg_json *obj, const char *key, const char *text)
{
	put(obj, key, text ? text_value(text) : json_null());
}

void kg_json_put_list(struct kg_json *obj, const char *key, char *const *list)
{
	auto_json json_t *array = NULL;

	if (!list) {
		put(obj, key, json_null());
		return;
	}
	array = json_array();
	for (; array && *list; list++)
		if (json_array_append_new(array, text_value(*list)))
			json_decref(kg_take_ptr(array));
	put(obj, key, kg_take_ptr(array));
}

void kg_json_put_object(struct kg_json *obj, const char *key,
			struct kg_json *child)
{
	if (!child) {
		put(obj, key, json_null());
		return;
	}
	put(obj, key, child->has_failed ? NULL : json_incref(child->root));
	kg_json_free(child);
}

int kg_json_print(const struct kg_json *obj, char **ret, struct kg_error *err)
{
	char *line = NULL;

	if (obj && !obj->has_failed)
		line = json_dumps(obj->root, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (!line)
		return kg_fail(err, KG_E_SYSTEM, ENOMEM, "build a JSON line");
	*ret = line;
	return 0;
}

int kg_json_read_int(const char *text, size_t len, const char *key,
		     long long *ret, struct kg_error *err)
{
	auto_json json_t *root = NULL;
	const json_t *value;
	json_error_t where;

	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
	if (!root)
		return kg_fail(err, KG_E_PROTOCOL, 0,
			       "not JSON at line %d, column %d", where.line,
			       where.column);
	if (!json_is_object(root))
		return kg_fail(err, KG_E_PROTOCOL, 0, "not a JSON object");
	value = json_object_get(root, key);
	if (!value)
		return kg_fail(err, KG_E_PROTOCOL, 0, "no %s in the object",
			       key);
	if (!json_is_integer(value))
		return kg_fail(err, KG_E_PROTOCOL, 0, "%s is not an integer",
			       key);
	*ret = json_integer_value(value);
	return 0;
}
