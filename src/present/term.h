/* present/term.h - what the terminal can, and whether to use it. */
#ifndef PRESENT_TERM_H
#define PRESENT_TERM_H

#include <stdbool.h>
#include <stddef.h>

enum term_color { TERM_AUTO, TERM_ALWAYS, TERM_NEVER };

enum term_style {
	TERM_PLAIN,
	TERM_STRONG,
	TERM_FAINT,
	TERM_GOOD,
	TERM_DOUBTFUL,
	TERM_BAD,
	TERM_STYLE_MAX
};

/* Colour on this descriptor? The user's word decides. Else a NO_COLOR that is
 * not empty, a TERM that is missing or dumb, and everything that is not a
 * terminal say no. */
bool term_is_colored(int fd, enum term_color wish);

/* What begins and what ends a style; empty strings if there is no colour. */
const char *term_on(enum term_style style, bool colored);
const char *term_off(enum term_style style, bool colored);

/* Columns of the terminal on this descriptor; $COLUMNS or 80 if it is none. */
size_t term_width(int fd);

#endif
