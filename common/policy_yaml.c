/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/policy_yaml.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <yaml.h>

#include "common/fd.h"
#include "common/scoped.h"
#include "common/text.h"
#include "common/util.h"

/*
 * A text is read three times, each time by what the last reading made safe: its
 * bytes, so that what counts is what an editor shows; its form, by libyaml, so
 * that the rest meets one document of lists, mappings and scalars alone; its
 * meaning, by one table of keys.
 */

#define NESTING_MAX 8
#define KEYS_MAX    32
#define SHOWN_BYTES 200 /* of a file's name in a message */

struct place {
	unsigned line, column;
};

struct reader {
	yaml_parser_t parser;
	yaml_event_t event;
	const char *file;
	struct kg_policy *policy;
	struct kg_error *err;
};

/* One key of a mapping; without @read this version has nothing to obey it. */
struct key {
	const char *name;
	int (*read)(struct reader *r, void *ctx);
};

struct keys {
	const struct key *rows;
	size_t count;
};

/* ---- messages ---- */

static const char *shown_name(const char *file, const char **ret_dots)
{
	size_t len = strlen(file);

	*ret_dots = len > SHOWN_BYTES ? "..." : "";
	return len > SHOWN_BYTES ? file + len - SHOWN_BYTES : file;
}

static int fail_at(struct reader *r, struct place place, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fail_at(struct reader *r, struct place place, const char *fmt, ...)
{
	char what[KG_ERROR_MSG_BYTES];
	const char *dots, *name = shown_name(r->file, &dots);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return kg_fail(r->err, KG_E_CONFIG, 0, "%s%s:%u:%u: %s", dots, name,
		       place.line, place.column, what);
}

static int fail_while_at(struct reader *r, struct place place)
{
	const char *dots, *name = shown_name(r->file, &dots);

	return kg_fail_while(r->err, "%s%s:%u:%u", dots, name, place.line,
			     place.column);
}

static struct place place_of(const yaml_mark_t *mark)
{
	return (struct place){
		.line = (unsigned)mark->line + 1,
		.column = (unsigned)mark->column + 1,
	};
}

static struct place here(const struct reader *r)
{
	return place_of(&r->event.start_mark);
}

/* ---- bytes ---- */

/* What an editor doesn't show, or shows as something else. */
static const struct {
	uint32_t first, last;
	const char *what;
} hidden[] = {
	/* clang-format off */
	{ 0x00,   0x00,   "a NUL byte" },
	{ 0x01,   0x1f,   "a control character" },
	{ 0x7f,   0x9f,   "a control character" },
	{ 0x2028, 0x2029, "a line separator" },
	{ 0x202a, 0x202e, "a character that changes the direction of text" },
	{ 0x2066, 0x2069, "a character that changes the direction of text" },
	{ 0xfeff, 0xfeff, "a byte order mark inside the text" },
	{ 0xfffe, 0xffff, "a value that is no character" },
	/* clang-format on */
};

static const char *why_hidden(uint32_t point)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(hidden); i++)
		if (point >= hidden[i].first && point <= hidden[i].last)
			return hidden[i].what;
	return NULL;
}

static bool is_blank(const char *text, size_t len)
{
	return text[0] == '\t' || text[0] == '\n' ||
	       (text[0] == '\r' && len > 1 && text[1] == '\n');
}

static int check_bytes(struct reader *r, const char *text, size_t len)
{
	struct place place = { 1, 1 };
	const char *what;
	uint32_t point;
	size_t n;

	for (; len; text += n, len -= n) {
		n = kg_text_decode(text, len, &point);
		if (!n)
			return fail_at(r, place,
				       "bytes that aren't UTF-8, expected "
				       "UTF-8 text");
		what = is_blank(text, len) ? NULL : why_hidden(point);
		if (what)
			return fail_at(r, place, "%s, expected plain text",
				       what);
		place.column++;
		if (point == '\n')
			place = (struct place){ place.line + 1, 1 };
	}
	return 0;
}

/* ---- events ---- */

static int fail_syntax(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;

	if (p->error == YAML_MEMORY_ERROR)
		return kg_fail(r->err, KG_E_SYSTEM, ENOMEM, "read %s", r->file);
	return fail_at(r, place_of(&p->problem_mark), "not YAML: %s%s%s",
		       p->problem ? p->problem : "expected a document",
		       p->context ? " " : "", p->context ? p->context : "");
}

static int next(struct reader *r)
{
	yaml_event_delete(&r->event);
	if (!yaml_parser_parse(&r->parser, &r->event))
		return fail_syntax(r);
	return 0;
}

static int open_reader(struct reader *r, const char *text, size_t len)
{
	if (!yaml_parser_initialize(&r->parser))
		return kg_fail(r->err, KG_E_SYSTEM, ENOMEM, "read %s", r->file);
	memset(&r->event, 0, sizeof(r->event));
	yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r->parser, (const unsigned char *)text,
				     len);
	return 0;
}

static void close_reader(struct reader *r)
{
	yaml_event_delete(&r->event);
	yaml_parser_delete(&r->parser);
}

/* ---- form ---- */

struct form {
	unsigned depth;
	unsigned documents;
};

struct marks {
	const unsigned char *anchor, *tag;
};

static struct marks marks_of(const yaml_event_t *event)
{
	struct marks m = { NULL, NULL };

	if (event->type == YAML_SCALAR_EVENT) {
		m.anchor = event->data.scalar.anchor;
		m.tag = event->data.scalar.tag;
	} else if (event->type == YAML_SEQUENCE_START_EVENT) {
		m.anchor = event->data.sequence_start.anchor;
		m.tag = event->data.sequence_start.tag;
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		m.anchor = event->data.mapping_start.anchor;
		m.tag = event->data.mapping_start.tag;
	}
	return m;
}

static bool has_directive(const yaml_event_t *event)
{
	return event->data.document_start.version_directive ||
	       event->data.document_start.tag_directives.start !=
		       event->data.document_start.tag_directives.end;
}

static int check_document(struct reader *r, struct form *form)
{
	if (form->documents++)
		return fail_at(r, here(r), "a second document, expected one");
	if (has_directive(&r->event))
		return fail_at(r, here(r), "a directive, expected none");
	return 0;
}

static int check_nesting(struct reader *r, struct form *form)
{
	if (form->depth++ == NESTING_MAX)
		return fail_at(r, here(r),
			       "nesting over %d, expected lists and mappings "
			       "at most %d deep",
			       NESTING_MAX, NESTING_MAX);
	return 0;
}

static int check_event(struct reader *r, struct form *form)
{
	yaml_event_type_t type = r->event.type;
	struct marks marks = marks_of(&r->event);

	if (marks.anchor)
		return fail_at(
			r, here(r),
			"an anchor, expected none: aliases aren't taken");
	if (marks.tag)
		return fail_at(r, here(r), "a tag, expected none");
	if (type == YAML_ALIAS_EVENT)
		return fail_at(r, here(r),
			       "an alias, expected its value written out");
	if (type == YAML_DOCUMENT_START_EVENT)
		return check_document(r, form);
	if (type == YAML_SEQUENCE_START_EVENT ||
	    type == YAML_MAPPING_START_EVENT)
		return check_nesting(r, form);
	if (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT)
		form->depth--;
	return 0;
}

static int check_form(struct reader *r)
{
	struct form form = { 0, 0 };

	do {
		if (next(r) || check_event(r, &form))
			return -1;
	} while (r->event.type != YAML_STREAM_END_EVENT);
	return 0;
}

/* ---- meaning: pieces ---- */

static const char *text_of(const struct reader *r)
{
	return (const char *)r->event.data.scalar.value;
}

static size_t length_of(const struct reader *r)
{
	return r->event.data.scalar.length;
}

static bool is_null(const struct reader *r)
{
	return r->event.type == YAML_SCALAR_EVENT && length_of(r) == 0 &&
	       r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static const char *type_name(const struct reader *r)
{
	if (r->event.type == YAML_SEQUENCE_START_EVENT)
		return "a list";
	if (r->event.type == YAML_MAPPING_START_EVENT)
		return "a mapping";
	return is_null(r) ? "nothing" : "a single value";
}

static const char *quote(const struct reader *r, char *buf)
{
	return kg_text_quote(buf, KG_TEXT_QUOTE_BYTES, text_of(r),
			     length_of(r));
}

/* A scalar of one line; escapes can put anything into a quoted one. */
static int expect_text(struct reader *r, const char *expected)
{
	const char *text = text_of(r);
	const char *what;
	size_t left, n;
	uint32_t point;

	if (r->event.type != YAML_SCALAR_EVENT || is_null(r))
		return fail_at(r, here(r), "%s, expected %s", type_name(r),
			       expected);
	for (left = length_of(r); left; text += n, left -= n) {
		n = kg_text_decode(text, left, &point);
		what = n ? why_hidden(point) : "bytes that aren't UTF-8";
		if (what)
			return fail_at(r, here(r), "%s in a value, expected %s",
				       what, expected);
	}
	return 0;
}

static int expect_list(struct reader *r, const char *expected)
{
	if (r->event.type == YAML_SEQUENCE_START_EVENT)
		return 0;
	return fail_at(r, here(r), "%s, expected a list of %s%s", type_name(r),
		       expected, is_null(r) ? ": write [] for none" : "");
}

/* ---- meaning: keys ---- */

static void list_names(struct keys keys, char *buf, size_t len)
{
	size_t used = 0, i;
	int n;

	buf[0] = '\0';
	for (i = 0; i < keys.count && used < len; i++) {
		if (!keys.rows[i].read)
			continue;
		n = snprintf(buf + used, len - used, "%s%s", used ? ", " : "",
			     keys.rows[i].name);
		used += n > 0 ? (size_t)n : 0;
	}
}

static int fail_unknown(struct reader *r, struct keys keys)
{
	struct kg_text_near near = { .word = text_of(r) };
	char quoted[KG_TEXT_QUOTE_BYTES];
	char names[160];
	size_t i;

	if (strcmp(text_of(r), "<<") == 0)
		return fail_at(r, here(r),
			       "a merge key, expected its keys written out");
	for (i = 0; i < keys.count; i++)
		kg_text_near_try(&near, keys.rows[i].name);
	if (near.name)
		return fail_at(r, here(r), "unknown key %s, expected '%s'?",
			       quote(r, quoted), near.name);
	list_names(keys, names, sizeof(names));
	return fail_at(r, here(r), "unknown key %s, expected one of %s",
		       quote(r, quoted), names);
}

static int find_key(struct reader *r, struct keys keys, size_t *ret)
{
	if (expect_text(r, "a key"))
		return -1;
	for (*ret = 0; *ret < keys.count; ++*ret)
		if (strcmp(keys.rows[*ret].name, text_of(r)) == 0)
			return 0;
	return fail_unknown(r, keys);
}

static int read_key(struct reader *r, struct keys keys, unsigned *lines,
		    void *ctx)
{
	const struct key *key;
	size_t i;

	if (find_key(r, keys, &i))
		return -1;
	key = &keys.rows[i];
	if (lines[i])
		return fail_at(r, here(r),
			       "duplicate key '%s', expected it once: it is on "
			       "line %u already",
			       key->name, lines[i]);
	if (!key->read)
		return fail_at(r, here(r),
			       "'%s': this version doesn't enforce it yet, "
			       "expected a file without it",
			       key->name);
	lines[i] = here(r).line;
	return next(r) || key->read(r, ctx) ? -1 : 0;
}

static int read_mapping(struct reader *r, struct keys keys, void *ctx)
{
	unsigned lines[KEYS_MAX] = { 0 };

	for (;;) {
		if (next(r))
			return -1;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (read_key(r, keys, lines, ctx))
			return -1;
	}
}

static int read_list(struct reader *r, int (*read)(struct reader *r))
{
	for (;;) {
		if (next(r))
			return -1;
		if (r->event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		if (read(r))
			return -1;
	}
}

static struct kg_origin origin_at(const struct reader *r, struct place place)
{
	return (struct kg_origin){
		.kind = KG_ORIGIN_FILE,
		.file = r->file,
		.line = place.line,
		.column = place.column,
	};
}

/* ---- meaning: version, network, hosts ---- */

static int read_version(struct reader *r, void *ctx)
{
	static const char expected[] = "1, the only version there is";
	char quoted[KG_TEXT_QUOTE_BYTES];

	(void)ctx;
	if (expect_text(r, expected))
		return -1;
	if (strcmp(text_of(r), "1") != 0)
		return fail_at(r, here(r), "version %s, expected %s",
			       quote(r, quoted), expected);
	return 0;
}

/* What YAML calls true or false is text here. */
static const char *advise_mode(const char *word)
{
	static const struct {
		const char *word, *advice;
	} rows[] = {
		/* clang-format off */
		{ "false",    ": write off" },
		{ "no",	      ": write off" },
		{ "n",	      ": write off" },
		{ "none",     ": write off" },
		{ "disabled", ": write off" },
		{ "off",      ": write off" },
		{ "true",     ": write restricted or open" },
		{ "yes",      ": write restricted or open" },
		{ "y",	      ": write restricted or open" },
		{ "on",	      ": write restricted or open" },
		{ "enabled",  ": write restricted or open" },
		/* clang-format on */
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++)
		if (strcasecmp(word, rows[i].word) == 0)
			return rows[i].advice;
	return "";
}

static int read_network(struct reader *r, void *ctx)
{
	static const char expected[] = "off, restricted or open";
	char quoted[KG_TEXT_QUOTE_BYTES];

	(void)ctx;
	if (expect_text(r, expected))
		return -1;
	if (!kg_network_parse(text_of(r), &r->policy->network))
		return fail_at(r, here(r), "no network mode: %s, expected %s%s",
			       quote(r, quoted), expected,
			       advise_mode(text_of(r)));
	r->policy->network_origin = origin_at(r, here(r));
	return 0;
}

static int read_host(struct reader *r)
{
	struct kg_origin origin = origin_at(r, here(r));
	struct kg_host host;

	if (r->event.type != YAML_SCALAR_EVENT || is_null(r))
		return fail_at(r, here(r), "%s, expected a host", type_name(r));
	if (kg_host_parse(text_of(r), length_of(r), &host, r->err) ||
	    kg_policy_add_host(r->policy, &host, &origin, r->err))
		return fail_while_at(r, here(r));
	return 0;
}

static int read_hosts(struct reader *r, void *ctx)
{
	(void)ctx;
	return expect_list(r, "hosts") || read_list(r, read_host) ? -1 : 0;
}

/* ---- meaning: paths ---- */

struct path {
	char text[PATH_MAX];
	bool writable;
};

static int read_path_text(struct reader *r, void *ctx)
{
	static const char expected[] = "a path that begins with / or ~/";
	char quoted[KG_TEXT_QUOTE_BYTES];
	struct path *path = ctx;
	const char *text;

	if (expect_text(r, expected))
		return -1;
	text = text_of(r);
	if (text[0] != '/' && strncmp(text, "~/", 2) != 0 &&
	    strcmp(text, "~") != 0)
		return fail_at(r, here(r), "%s, expected %s", quote(r, quoted),
			       expected);
	if (length_of(r) >= sizeof(path->text))
		return fail_at(r, here(r),
			       "a path of %zu bytes, expected at most %zu",
			       length_of(r), sizeof(path->text) - 1);
	memcpy(path->text, text, length_of(r) + 1);
	return 0;
}

static int read_path_mode(struct reader *r, void *ctx)
{
	char quoted[KG_TEXT_QUOTE_BYTES];
	struct path *path = ctx;

	if (expect_text(r, "ro or rw"))
		return -1;
	path->writable = strcmp(text_of(r), "rw") == 0;
	if (!path->writable && strcmp(text_of(r), "ro") != 0)
		return fail_at(r, here(r), "mode %s, expected ro or rw",
			       quote(r, quoted));
	return 0;
}

static const struct key path_keys[] = {
	/* clang-format off */
	{ "path", read_path_text },
	{ "mode", read_path_mode },
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(path_keys) <= KEYS_MAX, "read_mapping() has room");

static int read_path(struct reader *r)
{
	static const struct keys keys = { path_keys, KG_ARRAY_LEN(path_keys) };
	struct place place = here(r);
	struct kg_origin origin = origin_at(r, place);
	struct path path = { .writable = false };

	if (r->event.type == YAML_MAPPING_START_EVENT) {
		if (read_mapping(r, keys, &path))
			return -1;
	} else if (read_path_text(r, &path)) {
		return -1;
	}
	if (!path.text[0])
		return fail_at(r, place,
			       "an entry without a path, expected "
			       "{path: PATH, mode: ro or rw}");
	if (kg_policy_add_path(r->policy, path.text, path.writable, &origin,
			       r->err))
		return fail_while_at(r, place);
	return 0;
}

static int read_paths(struct reader *r, void *ctx)
{
	(void)ctx;
	return expect_list(r, "paths") || read_list(r, read_path) ? -1 : 0;
}

/* ---- meaning: the file ---- */

static const struct key file_keys[] = {
	/* clang-format off */
	{ "version",	     read_version },
	{ "network",	     read_network },
	{ "hosts",	     read_hosts },
	{ "paths",	     read_paths },
	{ "deny_read",	     NULL },
	{ "deny_exec",	     NULL },
	{ "drop_hosts",	     NULL },
	{ "drop_paths",	     NULL },
	{ "drop_env",	     NULL },
	{ "drop_host_ports", NULL },
	{ "host_ports",	     NULL },
	{ "env",	     NULL },
	{ "ipv6",	     NULL },
	{ "git",	     NULL },
	{ "mask",	     NULL },
	{ "mask_prefixes",   NULL },
	{ "limits",	     NULL },
	{ "audit",	     NULL },
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(file_keys) <= KEYS_MAX, "read_mapping() has room");

static int read_root(struct reader *r)
{
	static const struct keys keys = { file_keys, KG_ARRAY_LEN(file_keys) };

	if (r->event.type == YAML_MAPPING_START_EVENT)
		return read_mapping(r, keys, NULL);
	if (is_null(r))
		return 0;
	return fail_at(r, here(r), "%s, expected keys with values",
		       type_name(r));
}

static int read_meaning(struct reader *r)
{
	for (;;) {
		if (next(r))
			return -1;
		if (r->event.type == YAML_STREAM_END_EVENT)
			return 0;
		if (r->event.type != YAML_DOCUMENT_START_EVENT)
			continue;
		return next(r) || read_root(r) ? -1 : 0;
	}
}

static int read_text(struct reader *r, const char *text, size_t len)
{
	static int (*const passes[])(struct reader * r) = {
		check_form,
		read_meaning,
	};
	size_t i;
	int rc;

	if (check_bytes(r, text, len))
		return -1;
	for (i = 0; i < KG_ARRAY_LEN(passes); i++) {
		if (open_reader(r, text, len))
			return -1;
		rc = passes[i](r);
		close_reader(r);
		if (rc)
			return -1;
	}
	return 0;
}

int kg_policy_yaml_parse(struct kg_policy *policy, const char *file,
			 const char *text, size_t len, struct kg_error *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct kg_policy_mark mark = kg_policy_mark(policy);
	struct reader r = { .policy = policy, .err = err };

	if (len > KG_POLICY_YAML_MAX_BYTES)
		return kg_fail(err, KG_E_LIMIT, 0, "%s: more than %d bytes",
			       file, KG_POLICY_YAML_MAX_BYTES);
	r.file = kg_policy_add_file(policy, file, err);
	if (!r.file)
		return -1;
	if (!len)
		text = "";
	if (len >= strlen(bom) && memcmp(text, bom, strlen(bom)) == 0) {
		text += strlen(bom);
		len -= strlen(bom);
	}
	if (read_text(&r, text, len)) {
		kg_policy_rewind(policy, &mark);
		return -1;
	}
	return 0;
}

/* ---- the file itself ---- */

static int check_file(int fd, const char *path, struct kg_error *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return kg_fail(err, KG_E_CONFIG, errno, "look at %s", path);
	if (!S_ISREG(st.st_mode))
		return kg_fail(err, KG_E_CONFIG, 0,
			       "%s: not a regular file, expected one", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return kg_fail(err, KG_E_CONFIG, 0,
			       "%s: owned by user %u, expected you (user %u) "
			       "or root",
			       path, (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return kg_fail(err, KG_E_CONFIG, 0,
			       "%s: mode %04o lets others write it; expected "
			       "its owner alone: chmod go-w '%s'",
			       path, (unsigned)st.st_mode & 07777, path);
	return 0;
}

/* A link to nothing was meant to be a file. */
static bool is_absent(const char *path)
{
	struct stat st;

	return errno == ENOENT && lstat(path, &st) && errno == ENOENT;
}

int kg_policy_yaml_load(struct kg_policy *policy, const char *path,
			bool optional, struct kg_error *err)
{
	kg_auto_close int fd = -1;
	kg_auto_free char *text = NULL;
	size_t len;
	int errnum;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	errnum = errno;
	if (fd < 0 && optional && is_absent(path))
		return 0;
	if (fd < 0)
		return kg_fail(err, KG_E_CONFIG, errnum, "open %s", path);
	if (check_file(fd, path, err))
		return -1;
	if (kg_fd_read_all(fd, KG_POLICY_YAML_MAX_BYTES, &text, &len, err)) {
		if (err->code == KG_E_SYSTEM)
			err->code = KG_E_CONFIG;
		return kg_fail_while(err, "%s", path);
	}
	return kg_policy_yaml_parse(policy, path, text, len, err);
}
