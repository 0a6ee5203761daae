/* present/text.h - words of others, made fit for a terminal.
 *
 * Program names, arguments, symbols and log lines come from programs and files
 * that nobody vouches for. Shown as they are, they could move the cursor,
 * change colours, or reorder what stands around them. Everything hark shows
 * goes through here or through present/json.h. */
#ifndef PRESENT_TEXT_H
#define PRESENT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TEXT_BAD = 0x110000 }; /* beyond Unicode: a byte that is no UTF-8 */

/* The first character of text: its code point, or TEXT_BAD for one stray byte,
 * goes to out. Returns how many bytes it has; 0 only if len is 0. */
size_t text_decode(const char *text, size_t len, uint32_t *out);

/* Writes text with everything unfit for a line of a terminal as \n, \t, \r or
 * \xNN: controls, stray bytes, line separators, changes of direction. At most
 * size bytes including the final NUL (none if size is 0), and never half a
 * character; returns the length the whole would have had. */
size_t text_escape(const char *text, size_t len, char *out, size_t size);

/* To standard output, as printf, but escaped: names of a program or of a file
 * must not act on the terminal. Only a newline at the end of the format is one.
 */
void text_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How many columns text_escape's output takes, counting one a character. */
size_t text_columns(const char *text);

/* Prints words with the cursor at column `at`, going on in column `indent` of
 * the next line whenever a word would pass `width`. A word that is longer than
 * a whole line is not broken. The last line is left open. The text is printed
 * as it is: escape it first if others wrote it. */
void text_wrap(FILE *out, const char *text, size_t at, size_t indent,
	       size_t width);

#endif
