/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_SHELL_H
#define KG_SUPERVISOR_SHELL_H

/*
 * What a shell would run, read off the text of a script.
 *
 * Pure: nothing is expanded, looked up or run.  The union of POSIX sh, bash,
 * dash, ksh and zsh is accepted, and text that none of them takes is read as
 * far as it makes sense: this is for finding commands, not for judging scripts.
 *
 * Every simple command of the script is listed, those of substitutions,
 * functions and compound commands included.  What only a run can tell is left
 * out of a word, which then says so in its flags.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

#define KG_SHELL_MAX_BYTES    (1024 * 1024)
#define KG_SHELL_MAX_COMMANDS 65536
#define KG_SHELL_MAX_WORDS    (4 * KG_SHELL_MAX_COMMANDS)
#define KG_SHELL_MAX_DEPTH    64

/**
 * enum kg_shell_flag - What a word's text leaves open; a set
 * @KG_SHELL_EXPANDS:	It holds an expansion, which the text counts as empty
 * @KG_SHELL_GLOB:	The text is a pattern; \ quotes in it
 * @KG_SHELL_TILDE:	It begins with an unquoted tilde
 */
enum kg_shell_flag {
	KG_SHELL_EXPANDS = 1 << 0,
	KG_SHELL_GLOB = 1 << 1,
	KG_SHELL_TILDE = 1 << 2,
};

/**
 * struct kg_shell_word - One word as the shell sees it after quote removal
 * @text:	Its value, NUL-terminated; owned
 * @flags:	Set of enum kg_shell_flag; 0 when the value is all of it
 */
struct kg_shell_word {
	char *text;
	unsigned flags;
};

/**
 * struct kg_shell_command - One simple command
 * @words:		Its words, without redirections; owned
 * @count:		How many
 * @assignments:	How many of them, at the front, are NAME=VALUE
 * @input:		Text of its here-document or here-string, or NULL; owned
 */
struct kg_shell_command {
	struct kg_shell_word *words;
	size_t count;
	size_t assignments;
	char *input;
};

/**
 * struct kg_shell_script - What a text runs
 * @commands:	Simple commands in the order of their beginnings, but for those
 *		of here-documents, which come late; owned.  One can be empty
 * @count:	How many
 */
struct kg_shell_script {
	struct kg_shell_command *commands;
	size_t count;
};

#define KG_SHELL_SCRIPT_INIT ((struct kg_shell_script){ 0 })

/**
 * kg_shell_read() - List the simple commands of a text
 * @text:	Bytes; NUL among them is dropped, as bash does; borrowed
 * @len:	How many
 * @ret:	Empty script to fill; release with kg_shell_done(), also after a
 *		failure
 * @err:	Filled on failure
 *
 * Takes time in proportion to @len.
 *
 * Return: 0, or -1 with
 *	KG_E_LIMIT	more bytes, commands, words or nesting than is read
 *	KG_E_SYSTEM	out of memory
 */
kg_must_check int kg_shell_read(const char *text, size_t len,
				struct kg_shell_script *ret,
				struct kg_error *err);

/**
 * kg_shell_done() - Release everything a script owns
 * @script:	Script; becomes empty
 */
void kg_shell_done(struct kg_shell_script *script);

#endif /* KG_SUPERVISOR_SHELL_H */
