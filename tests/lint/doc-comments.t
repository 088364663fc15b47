#!/bin/sh
# SPDX-License-Identifier: MIT
# Each prototype in a header has a kernel-doc comment that names its parameters
# in order, and has `Return:` exactly when something is returned.

# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"

# check HEADER... - one line for each prototype whose comment disagrees
check() {
	awk '
	function complain(what) {
		printf "%s:%d: %s: %s\n", FILENAME, FNR, name, what
	}

	# The parameter names of a list, separated by blanks.
	function names(list,	n, i, part, depth, c, word, out, piece) {
		n = 0
		depth = 0
		piece = ""
		for (i = 1; i <= length(list); i++) {
			c = substr(list, i, 1)
			if (c == "(")
				depth++
			if (c == ")")
				depth--
			if (c == "," && depth == 0) {
				part[++n] = piece
				piece = ""
			} else {
				piece = piece c
			}
		}
		part[++n] = piece
		out = ""
		for (i = 1; i <= n; i++) {
			word = part[i]
			if (match(word, /\(\*[a-z_0-9]+\)/))
				word = substr(word, RSTART + 2, RLENGTH - 3)
			sub(/\[.*/, "", word)
			sub(/[ \t]+$/, "", word)
			sub(/.*[ \t*]/, "", word)
			if (word != "" && word != "void" && word != "...")
				out = out " " word
		}
		return out
	}

	# The text between the first parenthesis after the name and its match.
	function arguments(text,	i, c, depth, start) {
		depth = 0
		for (i = start = index(text, "(") + 1; i <= length(text); i++) {
			c = substr(text, i, 1)
			if (c == "(")
				depth++
			if (c == ")" && depth-- == 0)
				return substr(text, start, i - start)
		}
		return ""
	}

	function judge(text,	head, params, returns) {
		gsub(/[ \t]+/, " ", text)
		head = substr(text, 1, index(text, "(") - 1)
		name = head
		sub(/.*[ *]/, "", name)
		params = names(arguments(text))
		returns = head !~ /(^| )void [a-z_0-9]+$/

		if (doc == "")
			return complain("no comment in front of it")
		if (title != name "()")
			complain("the comment is about " title)
		if (doc_params != params)
			complain("parameters are" params ", comment has" doc_params)
		if (returns && !has_return)
			complain("Return: is missing")
		if (!returns && has_return)
			complain("Return: of nothing")
	}

	FNR == 1 { in_comment = in_proto = 0; doc = "" }

	/^\/\*\*/ {
		in_comment = 1
		doc = "yes"
		title = doc_params = ""
		has_return = 0
		next
	}
	in_comment {
		if (title == "" && match($0, /^ \* [a-z_0-9]+\(\) - ./))
			title = $2
		if (match($0, /^ \* @[a-z_0-9]+:/))
			doc_params = doc_params " " \
				substr($0, 5, RLENGTH - 5)
		if ($0 ~ /^ \* Return: /)
			has_return = 1
		if ($0 ~ /\*\//)
			in_comment = 0
		next
	}
	/^\/\*/ { doc = "" }

	# A prototype begins in the first column and has a parenthesis; types,
	# macros, and functions with a body are none.
	in_proto { proto = proto " " $0 }
	!in_proto && /^[a-z_A-Z]/ && !/^(struct|enum|union) [a-z_0-9]+ *[{;]/ &&
		!/^(typedef|static|extern|\})/ { proto = $0; in_proto = 1 }
	in_proto && /[;{]$/ {
		if (proto ~ /\(/ && proto ~ /;$/)
			judge(proto)
		in_proto = 0
		doc = ""
		next
	}
	!in_proto && /^(static|struct|enum|union|#|\})/ { doc = "" }
	' "$@"
}

sample() {
	printf '%s\n' "$@" >"$lint_dir/sample.h"
	check "$lint_dir/sample.h"
}

complains 'a prototype without a comment is noticed' 'no comment' \
	sample 'int kg_a(void);'
complains 'a parameter without a word is noticed' 'parameters are a b' \
	sample '/**' ' * kg_a() - Do' ' * @a:	x' ' */' 'void kg_a(int a,' \
	'	  const char *b);'
complains 'parameters in another order are noticed' 'comment has b a' \
	sample '/**' ' * kg_a() - Do' ' * @b:	x' ' * @a:	x' ' */' \
	'void kg_a(int a[2], void (*b)(void *ctx));'
complains 'a missing Return is noticed' 'Return: is missing' \
	sample '/**' ' * kg_a() - Do' ' */' 'struct x *kg_a(void);'
complains 'a Return of nothing is noticed' 'Return: of nothing' \
	sample '/**' ' * kg_a() - Do' ' *' ' * Return: 0' ' */' \
	'_Noreturn void kg_a(void);'
complains 'a comment about another function is noticed' 'is about kg_b()' \
	sample '/**' ' * kg_b() - Do' ' */' 'void kg_a(void);'
silent 'a comment that fits passes' \
	sample '/**' ' * kg_a() - Do' ' * @b:	x' ' * @fmt:	y' ' *' \
	' * Return: 0' ' */' 'kg_must_check int kg_a(void (*b)(void *c, int d),' \
	'	const char *fmt, ...)' '	__attribute__((format(printf, 2, 3)));'

# shellcheck disable=SC2046
set -- $(sources '*.h' | grep -v '^tests/')
[ "$(cat "$@" | grep -c '^ \* kg_[a-z_0-9]*() - ')" -gt 20 ]
ok $? 'there are comments to look at'
silent 'comments and prototypes agree' check "$@"
done_testing
