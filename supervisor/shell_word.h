/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_SHELL_WORD_H
#define KG_SUPERVISOR_SHELL_WORD_H

/*
 * Words on their way from source to value: a row of cells, each a byte with
 * how it was written.  Brace expansion, field splitting and pathname patterns
 * need to know, quote removal then forgets it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/shell.h"

/* More of either isn't worth a look: a program's name is short. */
#define KG_SHELL_WORD_BRACE_CELLS 1024
#define KG_SHELL_WORD_BRACE_WORDS 64

/**
 * enum kg_shell_cell_kind - How a byte of a word was written
 * @KG_SHELL_PLAIN:	Without quotes
 * @KG_SHELL_QUOTED:	In any kind of quotes
 * @KG_SHELL_GAP:	No byte: here is what an expansion yields
 * @KG_SHELL_MARK:	No byte: here are quotes, so that the word is one even
 *			when it is empty
 */
enum kg_shell_cell_kind {
	KG_SHELL_PLAIN,
	KG_SHELL_QUOTED,
	KG_SHELL_GAP,
	KG_SHELL_MARK,
};

/**
 * struct kg_shell_cell - One cell
 * @byte:	Byte, 0 for those without one
 * @kind:	enum kg_shell_cell_kind
 */
struct kg_shell_cell {
	char byte;
	uint8_t kind;
};

/**
 * struct kg_shell_cells - A row of cells
 * @at:		Cells; owned
 * @count:	How many
 * @room:	For how many there is memory
 */
struct kg_shell_cells {
	struct kg_shell_cell *at;
	size_t count;
	size_t room;
};

#define KG_SHELL_CELLS_INIT ((struct kg_shell_cells){ 0 })

/**
 * struct kg_shell_words - A growing list of words
 * @at:		Words; owned
 * @count:	How many
 * @room:	For how many there is memory
 */
struct kg_shell_words {
	struct kg_shell_word *at;
	size_t count;
	size_t room;
};

/**
 * kg_shell_word_add() - Append a cell
 * @cells:	Row; borrowed
 * @kind:	How it was written
 * @byte:	Byte; ignored for those without one
 *
 * Return: true, or false when memory ran out
 */
kg_must_check bool kg_shell_word_add(struct kg_shell_cells *cells,
				     enum kg_shell_cell_kind kind, int byte);

/**
 * kg_shell_word_is() - Whether a row is a word that nothing of is quoted
 * @cells:	Row; borrowed
 * @text:	Word; borrowed
 *
 * Return: true if it is
 */
bool kg_shell_word_is(const struct kg_shell_cells *cells, const char *text);

/**
 * kg_shell_word_name_bytes() - Look for the NAME= of an assignment
 * @cells:	Row; borrowed
 *
 * NAME+= and NAME[SUBSCRIPT]= are assignments, too.
 *
 * Return: cells up to and including the =, 0 if it isn't an assignment
 */
size_t kg_shell_word_name_bytes(const struct kg_shell_cells *cells);

/**
 * kg_shell_word_text() - Remove the quotes
 * @cells:	Row; borrowed
 *
 * Return: the bytes, NUL-terminated, for free(); NULL when memory ran out
 */
char *kg_shell_word_text(const struct kg_shell_cells *cells);

/**
 * kg_shell_word_finish() - Turn a row into the words that it stands for
 * @cells:	Row; borrowed
 * @braces:	How many more brace expansions the script gets; counted down
 * @words:	List to append to; borrowed
 *
 * Braces are expanded, up to KG_SHELL_WORD_BRACE_WORDS words; blanks without
 * quotes, which only expansions yield, split; a word of nothing is none.
 *
 * Return: true, or false when memory ran out
 */
kg_must_check bool kg_shell_word_finish(const struct kg_shell_cells *cells,
					size_t *braces,
					struct kg_shell_words *words);

/**
 * kg_shell_word_assign() - Turn an assignment into a word
 * @cells:	Row; borrowed
 * @words:	List to append to; borrowed
 *
 * Return: true, or false when memory ran out
 */
kg_must_check bool kg_shell_word_assign(const struct kg_shell_cells *cells,
					struct kg_shell_words *words);

/**
 * kg_shell_word_done() - Release a row
 * @cells:	Row; becomes empty
 */
void kg_shell_word_done(struct kg_shell_cells *cells);

/**
 * kg_shell_word_free() - Release a list of words
 * @words:	List; becomes empty
 */
void kg_shell_word_free(struct kg_shell_words *words);

/**
 * kg_shell_word_matches() - Match a name against a shell pattern
 * @pattern:	* ? [...] and \; * and ? don't match a slash; borrowed
 * @name:	Name; borrowed
 *
 * Return: true if it matches
 */
bool kg_shell_word_matches(const char *pattern, const char *name);

#endif /* KG_SUPERVISOR_SHELL_WORD_H */
