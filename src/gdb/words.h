/* gdb/words.h - reading a packet's body from left to right.
 *
 * Every function takes what it names from the front and moves on, or returns
 * 0 and stays. Nothing reads beyond the end. Pure. */
#ifndef GDB_WORDS_H
#define GDB_WORDS_H

#include <stddef.h>
#include <stdint.h>

struct words {
	const char *at, *end; /* borrowed */
};

/* Of a hexadecimal digit; -1: it is none. */
int words_digit(char c);

/* This text; this text, and then a colon, comma, semicolon or the end. */
int words_skip(struct words *w, const char *text);
int words_name(struct words *w, const char *text);
/* A hexadecimal number of up to 16 digits. */
int words_number(struct words *w, uint64_t *out);
/* Pairs of digits up to something else, at most max bytes: how many. */
size_t words_hex(struct words *w, uint8_t *out, size_t max);
/* The same as a text that ends in 0; -1 if there is none, or it is longer. */
int words_hex_text(struct words *w, char *out, size_t size);

/* A thread: pPID.TID, pPID or TID; -1 is all, 0 any. Without a process pid is
 * 0; without a thread tid is -1. */
struct words_thread {
	int64_t pid, tid;
};
int words_thread(struct words *w, struct words_thread *out);

#endif
