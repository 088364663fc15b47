/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/options.h"

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"
#include "common/text.h"
#include "common/util.h"

#define LONG_ONLY     256 /* getopt_long()'s values above those of a char */
#define FLAGS_MAX     32
#define TIMEOUT_MAX_S (UINT64_C(365) * 24 * 60 * 60)
#define FRACTION_MAX  9 /* digits */

static const char allow_path_name[] = "--allow-path";
static const char allow_net_name[] = "--allow-net";

/* ---- tables ---- */

/* Where a flag is understood, and whether what follows it still matters. */
enum trait {
	AT_TOP = 1,
	AT_RUN = 2,
	ENDS = 4,
};

struct flag {
	const char *name;
	char letter;
	const char *arg;
	unsigned traits;
	int (*set)(struct kg_options *opts, char *arg, struct kg_error *err);
	const char *help;
};

static int read_run(int argc, char **argv, struct kg_options *ret,
		    struct kg_error *err);
static int read_help(int argc, char **argv, struct kg_options *ret,
		     struct kg_error *err);

/* A command without a name is reached by its flag alone. */
static const struct {
	const char *name, *usage, *help;
	int (*read)(int argc, char **argv, struct kg_options *ret,
		    struct kg_error *err);
} commands[] = {
	/* clang-format off */
	[KG_COMMAND_RUN]     = { "run", "run [FLAG]... -- CMD [ARG]...",
				 "launch a command in a box", read_run },
	[KG_COMMAND_HELP]    = { "help", "help [COMMAND]",
				 "tell how kgate, or one command, is used",
				 read_help },
	[KG_COMMAND_VERSION] = { NULL, "--version", "print the version", NULL },
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(commands) == KG_COMMAND_COUNT,
	      "every command needs a row");

/* ---- flags ---- */

static int expect_something(const char *name, const char *arg,
			    struct kg_error *err)
{
	if (arg[0])
		return 0;
	return kg_fail(err, KG_E_USAGE, 0, "--%s: nothing, expected a file",
		       name);
}

/* Takes the mode off the end; any other colon belongs to the path. */
static bool take_mode(char *path)
{
	size_t len = strlen(path);
	const char *end = len > 3 ? path + len - 3 : "";
	bool writable = strcmp(end, ":rw") == 0;

	if (writable || strcmp(end, ":ro") == 0)
		path[len - 3] = '\0';
	return writable;
}

static int set_path(struct kg_options *opts, char *arg, struct kg_error *err)
{
	kg_auto_free char *text = NULL;
	struct kg_options_path *bigger;
	bool writable;

	if (!arg[0] || strcmp(arg, ":ro") == 0 || strcmp(arg, ":rw") == 0)
		return kg_fail(err, KG_E_USAGE, 0,
			       "%s: no path, expected PATH[:ro|:rw]",
			       allow_path_name);
	text = strdup(arg);
	if (!text)
		return kg_fail_system(err, "read the command line");
	writable = take_mode(text);
	bigger = reallocarray(opts->allow_paths, opts->allow_path_count + 1,
			      sizeof(*bigger));
	if (!bigger)
		return kg_fail_system(err, "read the command line");
	opts->allow_paths = bigger;
	bigger[opts->allow_path_count++] = (struct kg_options_path){
		.text = kg_take_ptr(text),
		.writable = writable,
	};
	return 0;
}

static int set_host(struct kg_options *opts, char *arg, struct kg_error *err)
{
	struct kg_options_host *bigger;
	struct kg_host host;

	if (kg_host_parse(arg, strlen(arg), &host, err)) {
		err->code = KG_E_USAGE;
		return kg_fail_while(err, "%s", allow_net_name);
	}
	bigger = reallocarray(opts->allow_hosts, opts->allow_host_count + 1,
			      sizeof(*bigger));
	if (!bigger)
		return kg_fail_system(err, "read the command line");
	opts->allow_hosts = bigger;
	bigger[opts->allow_host_count++] = (struct kg_options_host){
		.text = arg,
		.host = host,
	};
	return 0;
}

static int set_config(struct kg_options *opts, char *arg, struct kg_error *err)
{
	opts->config = arg;
	return expect_something("config", arg, err);
}

static int set_audit(struct kg_options *opts, char *arg, struct kg_error *err)
{
	opts->audit = arg;
	return expect_something("audit", arg, err);
}

static int set_trace(struct kg_options *opts, char *arg, struct kg_error *err)
{
	(void)arg;
	(void)err;
	opts->trace = true;
	return 0;
}

static int set_help(struct kg_options *opts, char *arg, struct kg_error *err)
{
	(void)arg;
	(void)err;
	if (opts->command == KG_COMMAND_RUN)
		opts->topic = commands[KG_COMMAND_RUN].name;
	opts->command = KG_COMMAND_HELP;
	return 0;
}

static int set_version(struct kg_options *opts, char *arg, struct kg_error *err)
{
	(void)arg;
	(void)err;
	opts->command = KG_COMMAND_VERSION;
	return 0;
}

/* ---- durations ---- */

/* Milliseconds of one unit, by its letter. */
static uint64_t unit_ms(const char *suffix)
{
	static const struct {
		const char *suffix;
		uint64_t ms;
	} units[] = {
		/* clang-format off */
		{ "",  1000 },
		{ "s", 1000 },
		{ "m", 60 * 1000 },
		{ "h", 60 * 60 * 1000 },
		/* clang-format on */
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(units); i++)
		if (strcmp(suffix, units[i].suffix) == 0)
			return units[i].ms;
	return 0;
}

/* Reads digits, at most @max of them; their number is returned. */
static size_t read_digits(const char **at, size_t max, uint64_t *ret)
{
	size_t n = 0;

	*ret = 0;
	for (; n < max && **at >= '0' && **at <= '9'; n++)
		*ret = *ret * 10 + (uint64_t)(*(*at)++ - '0');
	return n;
}

/* A part of a millisecond counts as a whole one: no time-out becomes none. */
static bool read_duration(const char *text, uint64_t *ret_ms)
{
	uint64_t whole, fraction = 0, scale = 1, unit;
	size_t digits, behind = 0;

	digits = read_digits(&text, 9, &whole);
	if (*text == '.') {
		text++;
		behind = read_digits(&text, FRACTION_MAX, &fraction);
	}
	unit = unit_ms(text);
	if (digits + behind == 0 || !unit)
		return false;
	while (behind--)
		scale *= 10;
	*ret_ms = whole * unit + (fraction * unit + scale - 1) / scale;
	return *ret_ms > 0 && *ret_ms <= TIMEOUT_MAX_S * 1000;
}

static int set_timeout(struct kg_options *opts, char *arg, struct kg_error *err)
{
	char quoted[KG_TEXT_QUOTE_BYTES];
	uint64_t ms;

	if (!read_duration(arg, &ms))
		return kg_fail(err, KG_E_USAGE, 0,
			       "--timeout: %s, expected a duration above 0 and "
			       "up to 365 days: seconds, or a number with s, m "
			       "or h",
			       kg_text_quote(quoted, sizeof(quoted), arg,
					     strlen(arg)));
	opts->timeout_ms = (int64_t)ms;
	return 0;
}

/* ---- the table of flags ---- */

static const struct flag flags[] = {
	/* clang-format off */
	{ "allow-path", 0, "PATH[:ro|:rw]", AT_RUN, set_path,
	  "one more path for this launch, ro by default" },
	{ "allow-net", 0, "HOST[:PORT]", AT_RUN, set_host,
	  "one more host for this launch" },
	{ "config", 0, "FILE", AT_RUN, set_config,
	  "policy file, instead of ~/.kgate/config.yaml" },
	{ "audit", 0, "FILE", AT_RUN, set_audit,
	  "audit log, instead of ~/.kgate/audit.jsonl" },
	{ "timeout", 0, "DURATION", AT_RUN, set_timeout,
	  "end the command after so long: 90, 1.5m, 2h" },
	{ "trace", 0, NULL, AT_RUN, set_trace,
	  "tell where the time goes" },
	{ "help", 'h', NULL, AT_TOP | AT_RUN | ENDS, set_help,
	  "print a help text" },
	{ "version", 0, NULL, AT_TOP | ENDS, set_version,
	  "print the version" },
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(flags) <= FLAGS_MAX, "struct table has room");

/* What getopt_long() wants to know, made of the rows of one scope. */
struct table {
	struct option longs[FLAGS_MAX + 1];
	char shorts[2 + 2 * FLAGS_MAX + 1];
	enum trait scope;
};

static void build_table(struct table *ret, enum trait scope)
{
	size_t n = 0, used = 2, i;

	/* "+": stop at the first word.  ":": tell a missing argument apart. */
	*ret = (struct table){ .shorts = "+:", .scope = scope };
	for (i = 0; i < KG_ARRAY_LEN(flags); i++) {
		if (!(flags[i].traits & scope))
			continue;
		ret->longs[n++] = (struct option){
			.name = flags[i].name,
			.has_arg = flags[i].arg ? required_argument
						: no_argument,
			.val = LONG_ONLY + (int)i,
		};
		if (!flags[i].letter)
			continue;
		ret->shorts[used++] = flags[i].letter;
		if (flags[i].arg)
			ret->shorts[used++] = ':';
	}
}

static const struct flag *find_flag(int value)
{
	size_t i;

	if (value >= LONG_ONLY)
		return &flags[value - LONG_ONLY];
	for (i = 0; i < KG_ARRAY_LEN(flags); i++)
		if (flags[i].letter && flags[i].letter == value)
			return &flags[i];
	return NULL;
}

/* The word in quotes, without a value that may be a secret. */
static const char *quote_flag(const char *word, char *buf)
{
	return kg_text_quote(buf, KG_TEXT_QUOTE_BYTES, word,
			     strcspn(word, "="));
}

static int fail_unknown_flag(const char *word, const struct table *table,
			     struct kg_error *err)
{
	char quoted[KG_TEXT_QUOTE_BYTES];
	char name[KG_TEXT_QUOTE_BYTES];
	struct kg_text_near near = { .word = name };
	const struct option *o;

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="),
		       word + 2);
	for (o = table->longs; o->name; o++)
		kg_text_near_try(&near, o->name);
	if (near.name)
		return kg_fail(err, KG_E_USAGE, 0,
			       "unknown flag %s, expected --%s?",
			       quote_flag(word, quoted), near.name);
	return kg_fail(err, KG_E_USAGE, 0, "unknown flag %s: see kgate %s",
		       quote_flag(word, quoted),
		       table->scope == AT_RUN ? "help run" : "--help");
}

static bool is_ambiguous(const char *word, const struct table *table)
{
	size_t len = strcspn(word, "="), n = 0;
	const struct option *o;

	for (o = table->longs; o->name; o++)
		n += strncmp(o->name, word, len) == 0;
	return n > 1;
}

/* getopt_long() has refused a word: say which, and why. */
static int fail_flag(int value, char **argv, const struct table *table,
		     struct kg_error *err)
{
	const struct flag *known = find_flag(optopt);
	const char *word = argv[optind - 1];
	char quoted[KG_TEXT_QUOTE_BYTES];
	char letter[2] = { '-', (char)optopt };

	if (value == ':')
		return kg_fail(err, KG_E_USAGE, 0, "--%s: expected --%s %s",
			       known->name, known->name, known->arg);
	if (optopt >= LONG_ONLY)
		return kg_fail(err, KG_E_USAGE, 0,
			       "%s: a value, expected --%s alone",
			       quote_flag(word, quoted), known->name);
	if (optopt)
		return kg_fail(
			err, KG_E_USAGE, 0, "unknown flag %s: see kgate --help",
			kg_text_quote(quoted, sizeof(quoted), letter, 2));
	if (is_ambiguous(word + 2, table))
		return kg_fail(err, KG_E_USAGE, 0,
			       "flag %s, expected its whole name: more than "
			       "one begins so",
			       quote_flag(word, quoted));
	return fail_unknown_flag(word, table, err);
}

/*
 * Return: the index of the first word behind the flags, 0 when a flag was read
 * that ends the command line, -1 on failure.
 */
static int read_flags(int argc, char **argv, enum trait scope,
		      struct kg_options *opts, struct kg_error *err)
{
	const struct flag *flag;
	struct table table;
	int value;

	build_table(&table, scope);
	opterr = 0;
	optind = 0; /* glibc and musl: begin anew */
	for (;;) {
		value = getopt_long(argc, argv, table.shorts, table.longs,
				    NULL);
		if (value == -1)
			return optind;
		if (value == '?' || value == ':')
			return fail_flag(value, argv, &table, err);
		flag = find_flag(value);
		if (flag->set(opts, optarg, err))
			return -1;
		if (flag->traits & ENDS)
			return 0;
	}
}

/* ---- commands ---- */

static bool find_command(const char *word, enum kg_command *ret)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(commands); i++) {
		if (!commands[i].name || strcmp(commands[i].name, word) != 0)
			continue;
		*ret = (enum kg_command)i;
		return true;
	}
	return false;
}

static int fail_unknown_command(const char *word, struct kg_error *err)
{
	struct kg_text_near near = { .word = word };
	char quoted[KG_TEXT_QUOTE_BYTES];
	size_t i;

	(void)kg_text_quote(quoted, sizeof(quoted), word, strlen(word));
	for (i = 0; i < KG_ARRAY_LEN(commands); i++)
		if (commands[i].name)
			kg_text_near_try(&near, commands[i].name);
	if (near.name)
		return kg_fail(err, KG_E_USAGE, 0,
			       "unknown command %s, expected %s?", quoted,
			       near.name);
	return kg_fail(err, KG_E_USAGE, 0,
		       "unknown command %s: a program is launched with kgate "
		       "run -- CMD",
		       quoted);
}

static int read_run(int argc, char **argv, struct kg_options *ret,
		    struct kg_error *err)
{
	int first;

	ret->command = KG_COMMAND_RUN;
	first = read_flags(argc, argv, AT_RUN, ret, err);
	if (first <= 0)
		return first;
	if (first >= argc)
		return kg_fail(err, KG_E_USAGE, 0,
			       "run: no command, expected kgate %s",
			       commands[KG_COMMAND_RUN].usage);
	ret->argv = argv + first;
	return 0;
}

static int read_help(int argc, char **argv, struct kg_options *ret,
		     struct kg_error *err)
{
	char quoted[KG_TEXT_QUOTE_BYTES];
	enum kg_command command;
	int first = read_flags(argc, argv, AT_TOP, ret, err);

	if (first <= 0 || first == argc)
		return first < 0 ? -1 : 0;
	if (!find_command(argv[first], &command))
		return fail_unknown_command(argv[first], err);
	if (first + 1 < argc)
		return kg_fail(err, KG_E_USAGE, 0,
			       "help: one word too many: %s, expected kgate %s",
			       kg_text_quote(quoted, sizeof(quoted),
					     argv[first + 1],
					     strlen(argv[first + 1])),
			       commands[KG_COMMAND_HELP].usage);
	ret->topic = commands[command].name;
	return 0;
}

int kg_options_parse(int argc, char **argv, struct kg_options *ret,
		     struct kg_error *err)
{
	enum kg_command command;
	int first = read_flags(argc, argv, AT_TOP, ret, err);

	if (first <= 0)
		return first;
	if (first >= argc)
		return kg_fail(err, KG_E_USAGE, 0,
			       "no command, expected kgate %s: see kgate "
			       "--help",
			       commands[KG_COMMAND_RUN].usage);
	if (!find_command(argv[first], &command))
		return fail_unknown_command(argv[first], err);
	return commands[command].read(argc - first, argv + first, ret, err);
}

void kg_options_done(struct kg_options *opts)
{
	size_t i;

	for (i = 0; i < opts->allow_path_count; i++)
		free(opts->allow_paths[i].text);
	free(opts->allow_paths);
	free(opts->allow_hosts);
	*opts = KG_OPTIONS_INIT;
}

/* ---- policy ---- */

static struct kg_origin origin_of(const char *flag)
{
	return (struct kg_origin){ .kind = KG_ORIGIN_FLAG, .file = flag };
}

static int apply_mode(struct kg_policy *policy, const char *host,
		      struct kg_error *err)
{
	char where[128];

	if (policy->network == KG_NETWORK_OPEN) {
		kg_origin_print(&policy->network_origin, where, sizeof(where));
		return kg_fail(err, KG_E_USAGE, 0,
			       "%s %s: the network is open (%s), every host is "
			       "allowed already",
			       allow_net_name, host, where);
	}
	if (policy->network == KG_NETWORK_OFF) {
		/* The file's list was switched off, and stays so. */
		policy->host_count = 0;
		policy->network = KG_NETWORK_RESTRICTED;
		policy->network_origin = origin_of(allow_net_name);
	}
	return 0;
}

int kg_options_apply(const struct kg_options *opts, struct kg_policy *policy,
		     struct kg_error *err)
{
	struct kg_origin net = origin_of(allow_net_name);
	struct kg_origin path = origin_of(allow_path_name);
	size_t i;

	if (opts->allow_host_count &&
	    apply_mode(policy, opts->allow_hosts[0].text, err))
		return -1;
	for (i = 0; i < opts->allow_host_count; i++)
		if (kg_policy_add_host(policy, &opts->allow_hosts[i].host, &net,
				       err))
			return kg_fail_while(err, "%s %s", allow_net_name,
					     opts->allow_hosts[i].text);
	for (i = 0; i < opts->allow_path_count; i++)
		if (kg_policy_add_path(policy, opts->allow_paths[i].text,
				       opts->allow_paths[i].writable, &path,
				       err))
			return kg_fail_while(err, "%s %s", allow_path_name,
					     opts->allow_paths[i].text);
	return 0;
}

/* ---- help ---- */

static void print_flags(FILE *out, enum trait scope)
{
	char left[64];
	size_t i;

	(void)fprintf(out, "\nFlags:\n");
	for (i = 0; i < KG_ARRAY_LEN(flags); i++) {
		const struct flag *f = &flags[i];

		if (!(f->traits & scope))
			continue;
		(void)snprintf(left, sizeof(left), "%s--%s%s%s",
			       f->letter == 'h' ? "-h, " : "", f->name,
			       f->arg ? " " : "", f->arg ? f->arg : "");
		(void)fprintf(out, "  %-27s %s\n", left, f->help);
	}
}

static void print_commands(FILE *out)
{
	size_t i;

	(void)fprintf(out, "Usage:\n");
	for (i = 0; i < KG_ARRAY_LEN(commands); i++)
		(void)fprintf(out, "  kgate %-30s %s\n", commands[i].usage,
			      commands[i].help);
}

static void print_statuses(FILE *out)
{
	static const char text[] =
		"\nExit status: the command's own, or\n"
		"  128+N  signal N killed it\n"
		"  124    time-out\n"
		"  125    kgate could not build the box\n"
		"  126    the policy refused it, or it isn't executable\n"
		"  127    it wasn't found\n";

	(void)fputs(text, out);
}

void kg_options_print_help(FILE *out, const char *topic)
{
	enum kg_command command;

	if (!topic || !find_command(topic, &command)) {
		print_commands(out);
		print_flags(out, AT_TOP);
		return;
	}
	(void)fprintf(out, "Usage: kgate %s\n\n%s\n", commands[command].usage,
		      commands[command].help);
	if (command != KG_COMMAND_RUN)
		return;
	print_flags(out, AT_RUN);
	print_statuses(out);
}
