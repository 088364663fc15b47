/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/shell.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"
#include "common/util.h"
#include "supervisor/shell_word.h"

Suite *kg_suite(void);

/*
 * Words in brackets, assignments first and marked =; then what a word leaves
 * open: $ expansions, * a pattern, ~ a tilde; then the input behind <. Commands
 * are separated by semicolons.
 */
static char *dump(const struct kg_shell_script *script)
{
	char *text = NULL;
	size_t len = 0, i, j;
	FILE *f = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(f);
	for (i = 0; i < script->count; i++) {
		const struct kg_shell_command *command = &script->commands[i];

		if (command->count == 0 && !command->input)
			continue;
		if (ftell(f) > 0)
			(void)fputs("; ", f);
		for (j = 0; j < command->count; j++) {
			const struct kg_shell_word *word = &command->words[j];

			(void)fprintf(f, "%s[%s]%s%s%s",
				      j < command->assignments ? "=" : "",
				      word->text,
				      word->flags & KG_SHELL_EXPANDS ? "$" : "",
				      word->flags & KG_SHELL_GLOB ? "*" : "",
				      word->flags & KG_SHELL_TILDE ? "~" : "");
		}
		if (command->input)
			(void)fprintf(f, "<%s", command->input);
	}
	ck_assert_int_eq(fclose(f), 0);
	return text;
}

struct row {
	const char *text, *dump;
};

static void expect(const char *text, size_t len, const char *want)
{
	struct kg_shell_script script = KG_SHELL_SCRIPT_INIT;
	struct kg_error err = KG_ERROR_INIT;
	kg_auto_free char *got = NULL;

	ck_assert_msg(kg_shell_read(text, len, &script, &err) == 0, "%s: %s",
		      text, err.msg);
	got = dump(&script);
	ck_assert_msg(strcmp(got, want) == 0, "%s: got %s, want %s", text, got,
		      want);
	kg_shell_done(&script);
	ck_assert_ptr_null(script.commands);
}

static void expect_rows(const struct row *rows, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		expect(rows[i].text, strlen(rows[i].text), rows[i].dump);
}

START_TEST(removes_quotes_as_a_shell_does)
{
	static const struct row rows[] = {
		{ "", "" },
		{ "a b\tc", "[a][b][c]" },
		{ "cu''rl c\"u\"rl c\\url", "[curl][curl][curl]" },
		{ "'a b' \"a b\" a\\ b", "[a b][a b][a b]" },
		{ "'' \"\" a''", "[][][a]" },
		{ "'a\\b' \"a\\b\" \"a\\\\b\" a\\\\b",
		  "[a\\b][a\\b][a\\b][a\\b]" },
		{ "\"\\$x \\` \\\" \\z\"", "[$x ` \" \\z]" },
		{ "cu\\\nrl \"a\\\nb\" 'a\\\nb'", "[curl][ab][a\\\nb]" },
		{ "\"a\\\\\nb\"", "[a\\\nb]" },
		{ "a\\\\\n b", "[a\\]; [b]" },
		{ "$'\\x63url' $'\\143\\165rl' $'\\u0063url'",
		  "[curl][curl][curl]" },
		{ "$'a\\'b\\\\c\\td\\qe'", "[a'b\\c\td\\qe]" },
		{ "$'a\\cAb\\e' $'\\u20ac' $'\\U0001f600'",
		  "[a\001b\033][\xe2\x82\xac][\xf0\x9f\x98\x80]" },
		{ "$'a\\0b'c $'a\\x00b'c $'\\xg'", "[ac][ac][\\xg]" },
		{ "$\"a $x\" \"$'a'\"", "[a ]$[$'a']" },
		{ "$ a$ \"$\" $=", "[$][a$][$][$=]" },
		{ "'unclosed", "[unclosed]" },
		{ "a\\", "[a]" },
	};

	expect_rows(rows, KG_ARRAY_LEN(rows));
}
END_TEST

START_TEST(leaves_out_what_only_a_run_can_tell)
{
	static const struct row rows[] = {
		{ "$x a$x.b \"$x\" $1 $@ $#", "[]$[a.b]$[]$[]$[]$[]$" },
		{ "${x} ${x[1]} ${#x} ${!x} ${x#a} ${x%%b} ${x/c/d}",
		  "[]$[]$[]$[]$[]$[]$[]$" },
		{ "${x:-curl} \"${x-wget}\" ${x:=nc}", "[curl]$[wget]$[nc]$" },
		{ "${x:-a b} \"${x:-a b}\"", "[a][b]$[a b]$" },
		{ "${x:+a} b${x:+a}", "[a]$[b]$" },
		{ "\"${x:-it's}\" ${x:-'}'} ${x#'}'}c", "[it's]$[}]$[c]$" },
		{ "\"${x:?it's}\" a", "[]$[a]" },
		{ "${x:-${y:-curl}}", "[curl]$" },
		{ "${#} ${-} ${?} ${@:1} ${*}a", "[]$[]$[]$[]$[a]$" },
		{ "$((1 + (2))) $[1+2] a", "[]$[]$[a]" },
		{ "~/a ~ '~'/a a~", "[~/a]~[~]~[~/a][a~]" },
		{ "c?rl [a-z]* [ ] []", "[c?rl]*[[a-z]*]*[[][]][[]]*" },
		{ "\\*a? '?'b* \"[a]\"*", "[\\*a?]*[\\?b*]*[\\[a\\]*]*" },
		{ "'*' \\?", "[*][?]" },
		{ "[a/b] [a/[b]", "[[a/b]][[a/[b]]*" },
		{ "?(a|b)c @(a b)", "[?c]$*[@]$" },
	};

	expect_rows(rows, KG_ARRAY_LEN(rows));
}
END_TEST

START_TEST(expands_braces)
{
	static const struct row rows[] = {
		{ "{curl,-s}", "[curl][-s]" },
		{ "{cu,x}rl", "[curl][xrl]" },
		{ "{a,b}{1,2}", "[a1][a2][b1][b2]" },
		{ "{a,{b,c}d}e", "[ae][bde][cde]" },
		{ "{,a} {a,}", "[a][a]" },
		{ "{a} {} {a,b a,b} \\{a,b}", "[{a}][{}][{a,b][a,b}][{a,b}]" },
		{ "{a,'b,c'} \"{a,b}\"", "[a][b,c][{a,b}]" },
		{ "{a,$x}b {a{b,c}", "[ab][b]$[{ab][{ac]" },
		{ "x={a,b} y", "=[x={a,b}][y]" },
	};

	expect_rows(rows, KG_ARRAY_LEN(rows));
}
END_TEST

START_TEST(finds_every_simple_command)
{
	static const struct row rows[] = {
		{ "a;b&c|d\ne&&f||g|&h",
		  "[a]; [b]; [c]; [d]; [e]; [f]; [g]; [h]" },
		{ "a $(b) `c` \"$(d `e`)\"",
		  "[a][]$[]$[]$; [b]; [c]; [d][]$; [e]" },
		{ "`a \\`b\\`` \"`c \\\"d\\\"`\"",
		  "[]$[]$; [a][]$; [b]; [c][d]" },
		{ "a <(b) >(c) x<(d)", "[a][]$[]$[x]$; [b]; [c]; [d]" },
		{ "$((1+$(a))) $((a) ) $(( (1) ))", "[]$[]$[]$; [a]; [a]" },
		{ "((a++)) && b; ((a); b)", "[b]; [a]; [b]" },
		{ "((a $(b)) ; c)", "[a][]$; [b]; [c]" },
		{ "$(a\n# )\nb) c", "[]$[c]; [a]; [b]" },
		{ "${x:-$(a)} ${x#$(b)} ${x[$(c)]}",
		  "[]$[]$[]$; [a]; [b]; [c]" },
		{ "${ a; } ${| b;}c", "[]$[c]$; [a]; [b]" },
		{ "(a; b) | { c; }", "[a]; [b]; [c]" },
		{ "! a; !(b); time c; time -p d",
		  "[a]; [b]; [c]; [time][-p][d]" },
		{ "if a; then b; elif c; then d; else e; fi",
		  "[a]; [b]; [c]; [d]; [e]" },
		{ "while a; do b; done; until c; do d; done",
		  "[a]; [b]; [c]; [d]" },
		{ "a() { b; }; a () (c)\nfunction d { e; }", "[b]; [c]; [e]" },
		{ "function d() { e; }; f() g", "[e]; [g]" },
		{ "coproc a b; coproc C { d; }", "[a][b]; [d]" },
		{ "if then while", "" },
		{ "'if' \\then", "[if][then]" },
		{ "a if; then", "[a][if]" },
		{ "a # b\nc", "[a]; [c]" },
		{ "a#b c # d", "[a#b][c]" },
		{ ") a; } b", "[a]; [b]" },
	};

	expect_rows(rows, KG_ARRAY_LEN(rows));
}
END_TEST

START_TEST(passes_over_words_that_are_no_commands)
{
	static const struct row rows[] = {
		{ "for x in a $(b) c; do d; done", "[b]; [d]" },
		{ "for x; do a; done; for x\ndo b; done", "[a]; [b]" },
		{ "for x in a\ndo b; done; select y in c; do d; done",
		  "[b]; [d]" },
		{ "for ((i=0;i<$(a);i++)); do b; done", "[a]; [b]" },
		{ "for x (a b) c", "[c]" },
		{ "case a in b) c;; (d|e) f;& g|h) i;;& *) j; esac; k",
		  "[c]; [f]; [i]; [j]; [k]" },
		{ "case $(a) in\n b)\n c\n ;;\nesac\nd", "[a]; [c]; [d]" },
		{ "case a in esac; b", "[b]" },
		{ "case a in b) esac; c", "[c]" },
		{ "$(case a in b) c;; esac) d", "[]$[d]; [c]" },
		{ "case a in b) case c in d) e;; esac; f;; g) h; esac",
		  "[e]; [f]; [h]" },
		{ "case a in @(b|c)) d;; !(e)) f; esac", "[d]; [f]" },
		{ "[[ a == b && -f c || ( d < e ) ]] && f", "[f]" },
		{ "[[ a =~ ^(b|c)$ ]]; d", "[d]" },
		{ "[[ $(a) ]] | b", "[a]; [b]" },
		{ "[ a = b ] && c", "[[][a][=][b][]]; [c]" },
		{ "a=(b c) d; e=([1]=f) g", "=[a=]$[d]; =[e=]$[g]" },
		{ "declare -a x=(a b)", "[declare][-a][x=]$" },
	};

	expect_rows(rows, KG_ARRAY_LEN(rows));
}
END_TEST

START_TEST(tells_assignments_and_redirections_from_words)
{
	static const struct row rows[] = {
		{ "a=1 b+=2 c[0]=3 d e=4", "=[a=1]=[b+=2]=[c[0]=3][d][e=4]" },
		{ "a='b c'$d", "=[a=b c]$" },
		{ "'a'=b 1a=b a-b=c", "[a=b][1a=b][a-b=c]" },
		{ ">a b 2>&1 <c d >>e >|f <>g 3<&-", "[b][d]" },
		{ "&>a b", "[b]" },
		{ "a &>b c", "[a][c]" },
		{ "{fd}>a b; c2>d", "[b]; [c2]" },
		{ "a >$(b) c", "[a][c]; [b]" },
		{ "a > >(b) c", "[a][c]; [b]" },
		{ "=a; =(b)", "[=a]; [=]$; [b]" },
	};

	expect_rows(rows, KG_ARRAY_LEN(rows));
}
END_TEST

START_TEST(reads_here_documents)
{
	static const struct row rows[] = {
		{ "a <<E\nb\nE\nc", "[a]<b\n; [c]" },
		{ "a <<E | d\nb $(c) `e`\nE\nf",
		  "[a]<b  \n; [d]; [c]; [e]; [f]" },
		{ "a <<'E'\n$(b)\nE\nc", "[a]<$(b)\n; [c]" },
		{ "a <<\\E\n$(b)\nE\n", "[a]<$(b)\n" },
		{ "a <<-E\n\tb\n\tE\nc", "[a]<\tb\n; [c]" },
		{ "a <<E\n\tE\nE\nc", "[a]<\tE\n; [c]" },
		{ "a <<A <<B\nb\nA\nc\nB\nd", "[a]<c\n; [d]" },
		{ "a <<E\n\\$(b) \\\\ \"\nE\n", "[a]<$(b) \\ \"\n" },
		{ "a <<$x\nb\n$x\nc", "[a]<b\n; [c]" },
		{ "a <<E\nb", "[a]<b" },
		{ "a <<E", "[a]" },
		{ "$(a <<E\nb\nE\n) c", "[]$[c]; [a]<b\n" },
		{ "((a <<E\nb\nE\n) ; c)", "[a]<b\n; [c]" },
		{ "a <<E $(($(b\nx\nE\n)) ; c)\nd",
		  "[a][]$<x\n; []$; [b]; [c]; [d]" },
		{ "a <<< 'b c' d", "[a][d]<b c" },
		{ "a <<E; b\nE\nc", "[a]<; [b]; [c]" },
	};

	expect_rows(rows, KG_ARRAY_LEN(rows));
}
END_TEST

START_TEST(drops_nul_and_keeps_other_bytes)
{
	static const char nul[] = "cu\0rl '\0x\0' \xff\x80";

	expect(nul, sizeof(nul) - 1, "[curl][x][\xff\x80]");
}
END_TEST

/* @times before, @middle, @times behind. */
static char *nest(const char *before, const char *middle, const char *behind,
		  size_t times)
{
	size_t len = strlen(before) * times + strlen(middle) +
		     strlen(behind) * times + 1;
	char *text = malloc(len), *to = text;
	size_t i;

	ck_assert_ptr_nonnull(text);
	for (i = 0; i < times; i++)
		to = stpcpy(to, before);
	to = stpcpy(to, middle);
	for (i = 0; i < times; i++)
		to = stpcpy(to, behind);
	return text;
}

static int read_nested(const struct row *pair, size_t times,
		       struct kg_error *err)
{
	kg_auto_free char *text = nest(pair->text, "x", pair->dump, times);
	struct kg_shell_script script = KG_SHELL_SCRIPT_INIT;
	int rc = kg_shell_read(text, strlen(text), &script, err);

	kg_shell_done(&script);
	return rc;
}

START_TEST(refuses_what_is_nested_too_deeply)
{
	static const struct row pairs[] = {
		{ "$(", ")" },		{ "( ", " )" },
		{ "${x:-", "}" },	{ "\"${x:-", "}\"" },
		{ "<(", ")" },		{ "a=(b$(", "))" },
		{ "@($(", "))" },	{ "case a in b) ", ";; esac" },
		{ "$[${x:-", "}]" },	{ "$((1+$(", ")))" },
		{ "${x[${y[", "]}]}" },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(pairs); i++) {
		struct kg_error err = KG_ERROR_INIT;

		ck_assert_msg(read_nested(&pairs[i], 16, &err) == 0, "%s",
			      pairs[i].text);
		ck_assert_msg(read_nested(&pairs[i], 5000, &err) == -1, "%s",
			      pairs[i].text);
		ck_assert_uint_eq(err.code, KG_E_LIMIT);
	}
}
END_TEST

START_TEST(refuses_more_than_it_reads)
{
	static const struct {
		const char *text;
		size_t fine, much;
	} rows[] = {
		{ "a;", KG_SHELL_MAX_COMMANDS, KG_SHELL_MAX_COMMANDS + 1 },
		{ "a ", KG_SHELL_MAX_WORDS, KG_SHELL_MAX_WORDS + 1 },
		{ "\n", KG_SHELL_MAX_BYTES, KG_SHELL_MAX_BYTES + 1 },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++) {
		kg_auto_free char *fine = NULL;
		kg_auto_free char *much = NULL;
		struct kg_shell_script script = KG_SHELL_SCRIPT_INIT;
		struct kg_error err = KG_ERROR_INIT;

		fine = nest(rows[i].text, "", "", rows[i].fine);
		much = nest(rows[i].text, "", "", rows[i].much);
		ck_assert_int_eq(
			kg_shell_read(fine, strlen(fine), &script, &err), 0);
		kg_shell_done(&script);
		ck_assert_int_eq(
			kg_shell_read(much, strlen(much), &script, &err), -1);
		ck_assert_uint_eq(err.code, KG_E_LIMIT);
		kg_shell_done(&script);
	}
}
END_TEST

/* Text that reads over and over what came before would not end in time. */
START_TEST(reads_hostile_text_in_proportion_to_its_length)
{
	static const struct row pieces[] = {
		{ "((#((\n))\n", "" }, { "(( x\n", "" },     { "{a,b}", "" },
		{ "{", ",}" },	       { "`\\`", "" },	     { "a[x()", "" },
		{ "<\\\n", "" },       { "<<a ", "b\na\n" }, { "[[ ", "" },
		{ "@(", "" },	       { "''", "" },	     { "${x:-a }", "" },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(pieces); i++) {
		struct kg_error err = KG_ERROR_INIT;

		(void)read_nested(&pieces[i], 50000, &err);
		ck_assert(err.code == KG_E_NONE || err.code == KG_E_LIMIT);
	}
}
END_TEST

START_TEST(bounds_what_braces_yield)
{
	struct kg_shell_script script = KG_SHELL_SCRIPT_INIT;
	kg_auto_free char *text = nest("{a,b}", "", "", 20);
	struct kg_error err = KG_ERROR_INIT;

	ck_assert_int_eq(kg_shell_read(text, strlen(text), &script, &err), 0);
	ck_assert_uint_le(script.commands[0].count, KG_SHELL_WORD_BRACE_WORDS);
	ck_assert_int_eq(strncmp(script.commands[0].words[0].text, "aaaa", 4),
			 0);
	kg_shell_done(&script);
}
END_TEST

START_TEST(matches_patterns)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} rows[] = {
		{ "curl", "curl", true },
		{ "curl", "curl2", false },
		{ "curl2", "curl", false },
		{ "c?rl", "curl", true },
		{ "????", "curl", true },
		{ "???", "curl", false },
		{ "*", "curl", true },
		{ "*", "", true },
		{ "c*l", "curl", true },
		{ "*r*", "curl", true },
		{ "*l*l", "curl", false },
		{ "a*b*c", "axbxbxc", true },
		{ "[a-d]url", "curl", true },
		{ "[!a-d]url", "curl", false },
		{ "[^x]url", "curl", true },
		{ "[]c]url", "curl", true },
		{ "[c", "[c", true },
		{ "[c", "c", false },
		{ "[\\]]x", "]x", true },
		{ "\\*", "*", true },
		{ "\\*", "x", false },
		{ "\\", "\\", true },
		{ "/usr/*/curl", "/usr/bin/curl", true },
		{ "/usr/*/curl", "/usr/local/bin/curl", false },
		{ "/usr?bin", "/usr/bin", false },
		{ "/usr[/]bin", "/usr/bin", false },
		{ "*a*a*a*a*a*a*a*a*a*a*b",
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
		{ "", "", true },
		{ "", "a", false },
	};
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++)
		ck_assert_msg(
			kg_shell_word_matches(rows[i].pattern, rows[i].name) ==
				rows[i].matches,
			"%s %s", rows[i].pattern, rows[i].name);
}
END_TEST

Suite *kg_suite(void)
{
	Suite *suite = suite_create("shell");
	TCase *tcase = tcase_create("shell");

	tcase_add_test(tcase, removes_quotes_as_a_shell_does);
	tcase_add_test(tcase, leaves_out_what_only_a_run_can_tell);
	tcase_add_test(tcase, expands_braces);
	tcase_add_test(tcase, finds_every_simple_command);
	tcase_add_test(tcase, passes_over_words_that_are_no_commands);
	tcase_add_test(tcase, tells_assignments_and_redirections_from_words);
	tcase_add_test(tcase, reads_here_documents);
	tcase_add_test(tcase, drops_nul_and_keeps_other_bytes);
	tcase_add_test(tcase, refuses_what_is_nested_too_deeply);
	tcase_add_test(tcase, refuses_more_than_it_reads);
	tcase_add_test(tcase, reads_hostile_text_in_proportion_to_its_length);
	tcase_add_test(tcase, bounds_what_braces_yield);
	tcase_add_test(tcase, matches_patterns);
	suite_add_tcase(suite, tcase);
	return suite;
}
