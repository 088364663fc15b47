/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_JSON_H
#define KG_COMMON_JSON_H

/*
 * JSON: the one door to jansson.
 *
 * What kgate writes is one object on one line of printable ASCII, whatever its
 * strings hold: control characters and everything above ASCII are \uHHHH.
 *
 * A string of the system (an argument, a path) is bytes, and JSON knows text
 * only.  So each string value is escaped before JSON sees it, always and in the
 * same way: a byte that isn't part of valid UTF-8 (RFC 3629), and DEL, which
 * JSON would leave as it is, becomes the four characters \xHH in lower case,
 * and a backslash becomes two.  Nothing is lost: kg_json_unescape() gives the
 * bytes back.
 */

#include <stddef.h>

#include "common/error.h"

struct kg_json; /* an object that is being built; opaque */

/**
 * kg_json_new() - Begin an object
 *
 * The functions that add to it don't fail at once: what went wrong, running out
 * of memory included, is remembered, and kg_json_print() reports it.
 *
 * Return: the object, NULL without memory, which every function here accepts;
 *	   release with kg_json_free()
 */
struct kg_json *kg_json_new(void);

/**
 * kg_json_free() - Release an object
 * @obj:	Object, or NULL
 */
void kg_json_free(struct kg_json *obj);

/**
 * kg_json_put_int() - Add a number
 * @obj:	Object, or NULL; borrowed
 * @key:	Its name, ASCII; borrowed
 * @value:	Number
 */
void kg_json_put_int(struct kg_json *obj, const char *key, long long value);

/**
 * kg_json_put_text() - Add a string, escaped
 * @obj:	Object, or NULL; borrowed
 * @key:	Its name, ASCII; borrowed
 * @text:	Any bytes up to a NUL, or NULL for null; borrowed
 */
void kg_json_put_text(struct kg_json *obj, const char *key, const char *text);

/**
 * kg_json_put_list() - Add an array of strings, each escaped
 * @obj:	Object, or NULL; borrowed
 * @key:	Its name, ASCII; borrowed
 * @list:	Strings, ended by NULL, or NULL for null; borrowed
 */
void kg_json_put_list(struct kg_json *obj, const char *key, char *const *list);

/**
 * kg_json_put_object() - Add an object
 * @obj:	Object, or NULL; borrowed
 * @key:	Its name, ASCII; borrowed
 * @child:	What is added, or NULL for null; taken
 */
void kg_json_put_object(struct kg_json *obj, const char *key,
			struct kg_json *child);

/**
 * kg_json_print() - Write an object on one line
 * @obj:	Object, or NULL; borrowed
 * @ret:	Receives the line, NUL-terminated, without a newline; release
 *		with free()
 * @err:	Filled on failure
 *
 * Members stand in the order in which they were added.
 *
 * Return: 0, or -1 with KG_E_SYSTEM if this or an earlier step ran out of
 *	   memory
 */
kg_must_check int kg_json_print(const struct kg_json *obj, char **ret,
				struct kg_error *err);

/**
 * kg_json_escape() - Make text of bytes
 * @bytes:	Bytes; borrowed
 * @len:	How many
 * @ret:	Receives valid UTF-8, NUL-terminated; release with free()
 * @ret_len:	Receives its bytes without the terminator
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_SYSTEM
 */
kg_must_check int kg_json_escape(const char *bytes, size_t len, char **ret,
				 size_t *ret_len, struct kg_error *err);

/**
 * kg_json_unescape() - Give back what kg_json_escape() was given
 * @text:	Text; borrowed
 * @len:	Its bytes
 * @ret:	Receives the bytes and a NUL behind them; release with free()
 * @ret_len:	Receives how many, without the terminator
 * @err:	Filled on failure
 *
 * Return: 0, or -1 with KG_E_PROTOCOL (a backslash that begins no escape),
 *	   KG_E_SYSTEM
 */
kg_must_check int kg_json_unescape(const char *text, size_t len, char **ret,
				   size_t *ret_len, struct kg_error *err);

/**
 * kg_json_read_int() - Take one number out of an object in text form
 * @text:	All of the text, not trusted; borrowed
 * @len:	Its bytes, which may hold NUL
 * @key:	Name of the number; borrowed
 * @ret:	Filled on success
 * @err:	Filled on failure; holds nothing of @text
 *
 * Strict: one object and nothing behind it but white space, no name twice, the
 * number an integer.  Other members may be anything.
 *
 * Return: 0, or -1 with KG_E_PROTOCOL
 */
kg_must_check int kg_json_read_int(const char *text, size_t len,
				   const char *key, long long *ret,
				   struct kg_error *err);

#endif /* KG_COMMON_JSON_H */
