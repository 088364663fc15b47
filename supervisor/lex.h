/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_LEX_H
#define KG_SUPERVISOR_LEX_H

/*
 * Shell text on its way to words: bytes, quotes, expansions.  The half of
 * kg_shell_read() below the commands, and of use to nobody else.
 *
 * A failure sticks: it empties the text that is left, so that each loop ends
 * at what it takes for the end of the script.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "supervisor/shell.h"
#include "supervisor/shell_word.h"

#define KG_LEX_END (-1)

/**
 * struct kg_lex_shared - What the readers of one script share
 * @script:	Script that is filled; borrowed
 * @err:	Where the first failure goes; borrowed
 * @failed:	Whether there was one
 * @depth:	How deep the text is nested
 * @room:	For how many commands @script has memory
 * @words:	How many words it has
 * @braces:	How many brace expansions it still gets
 * @waste:	How many bytes may still be read twice
 */
struct kg_lex_shared {
	struct kg_shell_script *script;
	struct kg_error *err;
	bool failed;
	unsigned depth;
	size_t room;
	size_t words;
	size_t braces;
	size_t waste;
};

/**
 * struct kg_lex_heredoc - A here-document
 * @end:	Line that ends it; owned
 * @end_bytes:	Its length
 * @quoted:	Nothing in the body is expanded
 * @strip:	Leading tabs don't count
 * @owner:	Index of the command that reads it
 */
struct kg_lex_heredoc {
	char *end;
	size_t end_bytes;
	bool quoted;
	bool strip;
	size_t owner;
};

/**
 * struct kg_lex - One text: a script, the inside of backquotes, a body
 * @shared:		What it has in common with those around it; borrowed
 * @text:		Bytes; borrowed
 * @len:		How many
 * @pos:		The next one
 * @heredocs:		Here-documents met so far; owned
 * @heredoc_count:	How many
 * @heredoc_done:	How many bodies of them were read
 */
struct kg_lex {
	struct kg_lex_shared *shared;
	const char *text;
	size_t len;
	size_t pos;
	struct kg_lex_heredoc *heredocs;
	size_t heredoc_count;
	size_t heredoc_done;
};

/**
 * kg_lex_done() - Release what a reader owns
 * @lex:	Reader; becomes unusable
 */
void kg_lex_done(struct kg_lex *lex);

/**
 * kg_lex_fail() - Fail, unless something failed before
 * @lex:	Reader; borrowed
 * @code:	Kind of failure
 * @what:	Message; borrowed
 */
void kg_lex_fail(struct kg_lex *lex, enum kg_errc code, const char *what);

/**
 * kg_lex_fail_memory() - Fail for want of memory
 * @lex:	Reader; borrowed
 */
void kg_lex_fail_memory(struct kg_lex *lex);

/**
 * kg_lex_enter() - Go one level deeper
 * @lex:	Reader; borrowed.  kg_lex_leave() follows in either case
 *
 * Return: true unless the text is nested too deeply, or reading has failed
 */
kg_must_check bool kg_lex_enter(struct kg_lex *lex);

/**
 * kg_lex_leave() - Go one level up
 * @lex:	Reader; borrowed
 */
void kg_lex_leave(struct kg_lex *lex);

/**
 * kg_lex_peek() - Look at the next byte
 * @lex:	Reader; borrowed
 *
 * A backslash and a newline are nothing, so is NUL.
 *
 * Return: the byte, or KG_LEX_END
 */
int kg_lex_peek(struct kg_lex *lex);

/**
 * kg_lex_take() - Take the next byte
 * @lex:	Reader; borrowed
 *
 * Return: the byte, or KG_LEX_END
 */
int kg_lex_take(struct kg_lex *lex);

/**
 * kg_lex_take_if() - Take the next byte if it is this one
 * @lex:	Reader; borrowed
 * @c:		Byte
 *
 * Return: true if it was taken
 */
bool kg_lex_take_if(struct kg_lex *lex, int c);

/**
 * kg_lex_is_second() - Look at the byte after the next one
 * @lex:	Reader; borrowed
 * @c:		Byte
 *
 * Return: true if it is @c
 */
bool kg_lex_is_second(struct kg_lex *lex, int c);

/**
 * kg_lex_ends_word() - Whether a byte without quotes ends a word
 * @c:	Byte or KG_LEX_END
 *
 * Return: true if it does
 */
bool kg_lex_ends_word(int c);

/**
 * kg_lex_blanks() - Pass over blanks, and a comment
 * @lex:	Reader, where a word may begin; borrowed
 */
void kg_lex_blanks(struct kg_lex *lex);

/**
 * kg_lex_word() - Read a word
 * @lex:	Reader, where a word may begin; borrowed
 * @to:		Row to append it to; borrowed
 * @first:	It stands in command position
 *
 * Where no word begins nothing is read.
 */
void kg_lex_word(struct kg_lex *lex, struct kg_shell_cells *to, bool first);

/**
 * kg_lex_array() - Read the words of a list through its )
 * @lex:	Reader behind the (; borrowed
 */
void kg_lex_array(struct kg_lex *lex);

/**
 * kg_lex_parens() - Read commands through their )
 * @lex:	Reader behind the (; borrowed
 */
void kg_lex_parens(struct kg_lex *lex);

/**
 * kg_lex_quoted_byte() - Read on as double quotes and here-documents do
 * @lex:	Reader; borrowed
 * @to:		Row to append to; borrowed
 * @c:		Byte that was taken
 * @escaped:	Bytes that a backslash quotes; borrowed
 */
void kg_lex_quoted_byte(struct kg_lex *lex, struct kg_shell_cells *to, int c,
			const char *escaped);

/**
 * kg_lex_arithmetic() - Read ((...)) if it is arithmetic
 * @lex:	Reader behind the first (; borrowed
 *
 * Only its end tells it from a subshell in a subshell.  How much is read twice
 * for that is bounded for the whole script; past the bound it is a subshell.
 *
 * Return: true if it was arithmetic, and was read
 */
bool kg_lex_arithmetic(struct kg_lex *lex);

/**
 * enum kg_lex_stop - What ends a list of commands, beside the end of the text
 * @KG_LEX_NEVER:	Nothing else
 * @KG_LEX_PAREN:	)
 * @KG_LEX_BRACE:	}
 * @KG_LEX_CASE:	;; and esac
 */
enum kg_lex_stop {
	KG_LEX_NEVER,
	KG_LEX_PAREN,
	KG_LEX_BRACE,
	KG_LEX_CASE,
};

/**
 * enum kg_lex_ending - How a list of commands ended
 * @KG_LEX_ENDED_TEXT:		With the text
 * @KG_LEX_ENDED_CLOSED:	As it should
 * @KG_LEX_ENDED_ESAC:		At esac
 */
enum kg_lex_ending {
	KG_LEX_ENDED_TEXT,
	KG_LEX_ENDED_CLOSED,
	KG_LEX_ENDED_ESAC,
};

/**
 * kg_shell_read_list() - Read a list of commands; shell.c has it
 * @lex:	Reader; borrowed
 * @stop:	What ends the list
 *
 * Return: how it ended
 */
enum kg_lex_ending kg_shell_read_list(struct kg_lex *lex,
				      enum kg_lex_stop stop);

/**
 * kg_shell_drop() - Drop commands at the end of a script; shell.c has it
 * @script:	Script; borrowed
 * @keep:	How many stay
 */
void kg_shell_drop(struct kg_shell_script *script, size_t keep);

#endif /* KG_SUPERVISOR_LEX_H */
