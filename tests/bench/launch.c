/* SPDX-License-Identifier: MIT */

/*
 * launch - how long a launch takes, beside what it could take at the least
 *
 *	launch --kgate FILE --programs DIR --log DIR --host HOST [--rounds N]
 *	       [--seconds N] [--mode MODE]... [--machine TEXT] [--json] -- CMD
 *
 * Two figures a launch, both from just before the launcher's fork: to the first
 * instruction of CMD (tests/bench/first), and to the launcher's exit status in
 * its parent's hands.  Each mode has a baseline, bare or slirp in --programs,
 * which is launched in the same way and in the same rounds.  A round launches
 * everything once, in an order of its own, so that no launch always comes after
 * the same one.  Figures are medians, and ratios are those of medians.
 *
 * --log is a directory on a real disk: kgate's audit log and the baselines'
 * lines go there, and the policy files.  CMD is seen from the working
 * directory, which is the project.
 */

#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/json.h"
#include "common/scoped.h"
#include "common/step.h"
#include "common/util.h"
#include "tests/bench/box.h"
#include "tests/bench/shot.h"

#define MAX_ROUNDS    2000
#define MAX_SECONDS   3600
#define LEAST_ROUNDS  3
#define WARMUP_ROUNDS 2
#define MAX_WORDS     32
#define MAX_KEPT      32

static const struct mode {
	const char *name;
	const char *baseline;
	bool lists_host;
	unsigned target_percent; /* of the baseline, to the exit; 0 for none */
} modes[] = {
	{ "off", "bare", false, 150 },
	{ "restricted", "slirp", true, 400 },
	{ "open", "bare", false, 0 },
};

#define MODES KG_ARRAY_LEN(modes)

/* Who launches: kgate, or the baseline of the mode. */
enum side {
	SIDE_KGATE,
	SIDE_BASELINE,

	SIDE_COUNT
};

enum figure {
	FIGURE_FIRST,
	FIGURE_EXIT,

	FIGURE_COUNT
};

static const char *const side_names[] = { "kgate", "baseline" };
static const char *const figure_names[] = { "first", "exit" };

struct settings {
	const char *kgate;
	const char *programs;
	const char *log;
	const char *host;
	const char *machine;
	long rounds;
	long seconds;
	bool wanted[MODES];
	bool wants_some;
	bool json;
	char **command;
};

/**
 * struct row - One launcher and what it took
 * @mode:	Index of its mode
 * @side:	Which of the two
 * @argv:	Its command line; borrowed
 * @box:	What a baseline hands on; empty for kgate
 * @ns:		Samples of each figure; owned
 */
struct row {
	size_t mode;
	enum side side;
	char *argv[MAX_WORDS];
	struct kg_bench_box box;
	uint64_t *ns[FIGURE_COUNT];
};

/**
 * struct bench - All of it
 * @set:	What was asked for
 * @rows:	Launchers, kgate and its baseline side by side
 * @row_count:	How many
 * @kept:	Words of the rows' command lines; owned
 * @kept_count:	How many
 * @rounds:	Rounds that have been counted
 * @dice:	State of the order's generator
 */
struct bench {
	const struct settings *set;
	struct row rows[MODES * SIDE_COUNT];
	size_t row_count;
	char *kept[MAX_KEPT];
	size_t kept_count;
	size_t rounds;
	uint32_t dice;
};

/* --- command line ------------------------------------------------------- */

static int set_mode(struct settings *set, const char *name,
		    struct kg_error *err)
{
	size_t i;

	for (i = 0; i < MODES; i++) {
		if (strcmp(modes[i].name, name) != 0)
			continue;
		set->wanted[i] = true;
		set->wants_some = true;
		return 0;
	}
	return kg_fail(err, KG_E_USAGE, 0, "no mode '%s'", name);
}

static int set_number(long *ret, const char *text, long most,
		      struct kg_error *err)
{
	char *end;

	*ret = strtol(text, &end, 10);
	if (*end || *ret < 1 || *ret > most)
		return kg_fail(err, KG_E_USAGE, 0, "'%s', expected 1 to %ld",
			       text, most);
	return 0;
}

static int set_option(struct settings *set, int letter, struct kg_error *err)
{
	const char **text = letter == 'k'   ? &set->kgate
			    : letter == 'p' ? &set->programs
			    : letter == 'l' ? &set->log
			    : letter == 'h' ? &set->host
			    : letter == 'M' ? &set->machine
					    : NULL;

	if (text) {
		*text = optarg;
		return 0;
	}
	if (letter == 'r')
		return set_number(&set->rounds, optarg, MAX_ROUNDS, err);
	if (letter == 's')
		return set_number(&set->seconds, optarg, MAX_SECONDS, err);
	if (letter == 'm')
		return set_mode(set, optarg, err);
	if (letter != 'j')
		return kg_fail(err, KG_E_USAGE, 0, "see launch.c for usage");
	set->json = true;
	return 0;
}

static int read_settings(int argc, char **argv, struct settings *set,
			 struct kg_error *err)
{
	static const struct option options[] = {
		{ "kgate", required_argument, NULL, 'k' },
		{ "programs", required_argument, NULL, 'p' },
		{ "log", required_argument, NULL, 'l' },
		{ "host", required_argument, NULL, 'h' },
		{ "machine", required_argument, NULL, 'M' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 's' },
		{ "mode", required_argument, NULL, 'm' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	int letter;

	while ((letter = getopt_long(argc, argv, "+", options, NULL)) != -1)
		if (set_option(set, letter, err))
			return -1;
	set->command = argv + optind;
	if (!set->kgate || !set->programs || !set->log || !set->host ||
	    !set->command[0] || argc - optind > MAX_WORDS / 2)
		return kg_fail(err, KG_E_USAGE, 0,
			       "--kgate, --programs, --log, --host and a "
			       "command are needed");
	return 0;
}

/* --- what is launched --------------------------------------------------- */

static char *keep(struct bench *b, struct kg_error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A word that lives as long as the bench; NULL when there is no memory. */
static char *keep(struct bench *b, struct kg_error *err, const char *fmt, ...)
{
	char *word = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (b->kept_count == MAX_KEPT || vasprintf(&word, fmt, ap) < 0)
		(void)kg_fail(err, KG_E_SYSTEM, ENOMEM, "keep a word");
	else
		b->kept[b->kept_count++] = word;
	va_end(ap);
	return word;
}

/* One file for kgate and for the baseline's builder alike. */
static int write_policy(const struct settings *set, const struct mode *mode,
			const char *path, struct kg_error *err)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return kg_fail_system(err, "write %s", path);
	(void)fprintf(f, "network: %s\n", mode->name);
	if (mode->lists_host)
		(void)fprintf(f, "hosts: [\"%s\"]\n", set->host);
	if (fclose(f) || chmod(path, 0600))
		return kg_fail_system(err, "write %s", path);
	return 0;
}

static void add_words(char **argv, char *const *words)
{
	while (*argv)
		argv++;
	while (*words)
		*argv++ = *words++;
}

static int plan_kgate(struct bench *b, struct row *row, char *policy,
		      struct kg_error *err)
{
	char *log = keep(b, err, "%s/audit.jsonl", b->set->log);

	if (!log)
		return -1;
	add_words(row->argv,
		  (char *[]){ (char *)b->set->kgate, (char *)"run",
			      (char *)"--config", policy, (char *)"--audit",
			      log, (char *)"--", NULL });
	add_words(row->argv, b->set->command);
	return 0;
}

static int plan_baseline(struct bench *b, struct row *row, const char *policy,
			 struct kg_error *err)
{
	const struct mode *mode = &modes[row->mode];
	const struct kg_linux *facts = &row->box.facts;
	char *program, *log, *args_fd;

	if (kg_bench_box_open(policy, &row->box, err))
		return -1;
	if (mode->lists_host && !facts->slirp)
		return kg_fail(err, KG_E_BACKEND, 0,
			       "slirp4netns is missing; leave restricted out "
			       "with --mode off --mode open");
	program = keep(b, err, "%s/%s", b->set->programs, mode->baseline);
	log = keep(b, err, "%s/baseline.jsonl", b->set->log);
	args_fd = keep(b, err, "%d", row->box.args_fd);
	if (!program || !log || !args_fd)
		return -1;
	add_words(row->argv,
		  (char *[]){ program, log, facts->bwrap, args_fd, NULL });
	if (mode->lists_host)
		add_words(row->argv,
			  (char *[]){ facts->slirp,
				      (char *)(facts->ipv6 ? "yes" : "no"),
				      NULL });
	add_words(row->argv, b->set->command);
	return 0;
}

static int plan_row(struct bench *b, size_t mode, enum side side, char *policy,
		    struct kg_error *err)
{
	struct row *row = &b->rows[b->row_count++];
	enum figure f;

	row->mode = mode;
	row->side = side;
	row->box = KG_BENCH_BOX_INIT;
	for (f = 0; f < FIGURE_COUNT; f++) {
		row->ns[f] = calloc((size_t)b->set->rounds, sizeof(uint64_t));
		if (!row->ns[f])
			return kg_fail_system(err, "keep samples");
	}
	return side == SIDE_KGATE ? plan_kgate(b, row, policy, err)
				  : plan_baseline(b, row, policy, err);
}

static int plan_rows(struct bench *b, struct kg_error *err)
{
	char *policy;
	size_t i;

	for (i = 0; i < MODES; i++) {
		if (b->set->wants_some && !b->set->wanted[i])
			continue;
		policy = keep(b, err, "%s/%s.yaml", b->set->log, modes[i].name);
		if (!policy || write_policy(b->set, &modes[i], policy, err) ||
		    plan_row(b, i, SIDE_KGATE, policy, err) ||
		    plan_row(b, i, SIDE_BASELINE, policy, err))
			return -1;
	}
	return 0;
}

/* --- rounds ------------------------------------------------------------- */

/* Numerical Recipes' generator: the same orders in each run. */
static size_t roll(struct bench *b, size_t sides)
{
	b->dice = b->dice * 1664525u + 1013904223u;
	return (b->dice >> 16) % sides;
}

static void shuffle(struct bench *b, size_t order[])
{
	size_t i, j, swap;

	for (i = 0; i < b->row_count; i++)
		order[i] = i;
	for (i = b->row_count; i > 1; i--) {
		j = roll(b, i);
		swap = order[j];
		order[j] = order[i - 1];
		order[i - 1] = swap;
	}
}

static int run_round(struct bench *b, bool counts, struct kg_error *err)
{
	size_t order[KG_ARRAY_LEN(b->rows)], i;
	struct kg_shot shot;
	struct row *row;

	shuffle(b, order);
	for (i = 0; i < b->row_count; i++) {
		row = &b->rows[order[i]];
		kg_bench_box_rewind(&row->box);
		if (kg_shot_fire(row->argv, row->box.pass, row->box.pass_count,
				 &shot, err))
			return kg_fail_while(err, "%s of %s",
					     side_names[row->side],
					     modes[row->mode].name);
		if (!counts)
			continue;
		row->ns[FIGURE_FIRST][b->rounds] = shot.first_ns;
		row->ns[FIGURE_EXIT][b->rounds] = shot.exit_ns;
	}
	b->rounds += counts;
	return 0;
}

static int run_rounds(struct bench *b, struct kg_error *err)
{
	uint64_t end_ns;
	int i;

	/* Files are cached then, and the logs exist. */
	for (i = 0; i < WARMUP_ROUNDS; i++)
		if (run_round(b, false, err))
			return -1;
	end_ns = kg_now_ns() + (uint64_t)b->set->seconds * 1000000000;
	while (b->rounds < (size_t)b->set->rounds &&
	       (b->rounds < LEAST_ROUNDS || kg_now_ns() < end_ns))
		if (run_round(b, true, err))
			return -1;
	return 0;
}

/* --- figures ------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* In microseconds; samples are sorted. */
static long long quantile_us(const uint64_t *ns, size_t count, unsigned percent)
{
	size_t at = (count - 1) * percent;
	uint64_t low = ns[at / 100], high = ns[at / 100 + (at % 100 != 0)];

	return (long long)((low + (high - low) * (at % 100) / 100) / 1000);
}

static long long median_us(const struct bench *b, const struct row *row,
			   enum figure f)
{
	return quantile_us(row->ns[f], b->rounds, 50);
}

static double ratio_of(const struct bench *b, const struct row *pair,
		       enum figure f)
{
	return (double)median_us(b, &pair[SIDE_KGATE], f) /
	       (double)median_us(b, &pair[SIDE_BASELINE], f);
}

static void print_figure(const struct bench *b, const struct row *pair,
			 enum figure f)
{
	(void)printf("%11.2f %9.2f %6.2f",
		     (double)median_us(b, &pair[SIDE_KGATE], f) / 1000,
		     (double)median_us(b, &pair[SIDE_BASELINE], f) / 1000,
		     ratio_of(b, pair, f));
}

static void print_table(const struct bench *b)
{
	const struct row *pair;
	size_t i;

	if (b->set->machine)
		(void)printf("%s\n", b->set->machine);
	(void)printf("medians of %zu interleaved rounds, in milliseconds from "
		     "the launcher's fork\n\n",
		     b->rounds);
	(void)printf("%-11s %-8s%28s%28s\n", "", "", "to the first instruction",
		     "to the exit status");
	(void)printf("%-11s %-8s%11s %9s %6s%11s %9s %6s  %s\n", "mode", "base",
		     "kgate", "baseline", "ratio", "kgate", "baseline", "ratio",
		     "target");
	for (i = 0; i < b->row_count; i += SIDE_COUNT) {
		const struct mode *mode = &modes[b->rows[i].mode];

		pair = &b->rows[i];
		(void)printf("%-11s %-8s", mode->name, mode->baseline);
		print_figure(b, pair, FIGURE_FIRST);
		print_figure(b, pair, FIGURE_EXIT);
		if (mode->target_percent)
			(void)printf("  %.1f",
				     (double)mode->target_percent / 100);
		(void)printf("\n");
	}
}

static void print_object(struct kg_json *obj)
{
	kg_auto_free char *text = NULL;
	struct kg_error err = KG_ERROR_INIT;

	if (kg_json_print(obj, &text, &err))
		(void)fprintf(stderr, "launch: %s\n", err.msg);
	else
		(void)printf("%s\n", text);
	kg_json_free(obj);
}

static struct kg_json *describe(const struct bench *b, const struct row *row,
				enum figure f)
{
	static const struct {
		const char *key;
		unsigned percent;
	} parts[] = { { "least_us", 0 },
		      { "quarter_us", 25 },
		      { "median_us", 50 },
		      { "three_quarters_us", 75 },
		      { "most_us", 100 } };
	struct kg_json *obj = kg_json_new();
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(parts); i++)
		kg_json_put_int(
			obj, parts[i].key,
			quantile_us(row->ns[f], b->rounds, parts[i].percent));
	return obj;
}

static void print_pair(const struct bench *b, const struct row *pair)
{
	const struct mode *mode = &modes[pair->mode];
	struct kg_json *obj = kg_json_new(), *part;
	enum figure f;
	enum side s;

	kg_json_put_text(obj, "kind", "launch");
	kg_json_put_text(obj, "mode", mode->name);
	kg_json_put_text(obj, "baseline", mode->baseline);
	kg_json_put_int(obj, "rounds", (long long)b->rounds);
	for (f = 0; f < FIGURE_COUNT; f++) {
		part = kg_json_new();
		for (s = 0; s < SIDE_COUNT; s++)
			kg_json_put_object(part, side_names[s],
					   describe(b, &pair[s], f));
		kg_json_put_int(part, "ratio_percent",
				(long long)(ratio_of(b, pair, f) * 100 + 0.5));
		kg_json_put_object(obj, figure_names[f], part);
	}
	if (mode->target_percent)
		kg_json_put_int(obj, "target_percent", mode->target_percent);
	print_object(obj);
}

static void print_json(const struct bench *b)
{
	struct kg_json *obj = kg_json_new();
	size_t i;

	kg_json_put_text(obj, "kind", "machine");
	kg_json_put_text(obj, "text", b->set->machine);
	print_object(obj);
	for (i = 0; i < b->row_count; i += SIDE_COUNT)
		print_pair(b, &b->rows[i]);
}

static void sort_samples(struct bench *b)
{
	enum figure f;
	size_t i;

	for (i = 0; i < b->row_count; i++)
		for (f = 0; f < FIGURE_COUNT; f++)
			qsort(b->rows[i].ns[f], b->rounds, sizeof(uint64_t),
			      by_size);
}

static int run(struct bench *b, struct kg_error *err)
{
	if (kg_shot_init(err) || plan_rows(b, err) || run_rounds(b, err))
		return -1;
	sort_samples(b);
	if (b->set->json)
		print_json(b);
	else
		print_table(b);
	return 0;
}

static void done(struct bench *b)
{
	enum figure f;
	size_t i;

	for (i = 0; i < b->row_count; i++) {
		kg_bench_box_done(&b->rows[i].box);
		for (f = 0; f < FIGURE_COUNT; f++)
			free(b->rows[i].ns[f]);
	}
	for (i = 0; i < b->kept_count; i++)
		free(b->kept[i]);
}

int main(int argc, char **argv)
{
	struct settings set = { .rounds = 60, .seconds = 120 };
	struct bench bench = { .set = &set, .dice = 1 };
	struct kg_error err = KG_ERROR_INIT;

	int rc;

	rc = read_settings(argc, argv, &set, &err);
	if (rc == 0)
		rc = run(&bench, &err);
	if (rc)
		(void)fprintf(stderr, "launch: %s\n", err.msg);
	done(&bench);
	return rc || fflush(stdout) ? 1 : 0;
}
