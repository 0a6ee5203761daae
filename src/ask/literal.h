/* ask/literal.h - numbers and characters, as C writes them.
 *
 *	17   0x11   021   0b10001   17ul   1.5   1e-3f   0x1p4   'a'   '\n'
 */
#ifndef ASK_LITERAL_H
#define ASK_LITERAL_H

#include "ask/arith.h"

/* Does one begin there? */
bool literal_begins(const char *at);
/* The literal at the begin of a text: its length, with its value and type in
 * *out; 0 and why, if it is damaged. A character is a char, as in C++. */
size_t literal_read(const char *at, struct operand *out, const char **why);

#endif
