/* present/intern.h - every text, and every group of numbers, once.
 *
 * Other tools' files name things by their number in a table. Numbers are given
 * in order of first sight, from 0. Texts are borrowed. Hosted. */
#ifndef PRESENT_INTERN_H
#define PRESENT_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern_text {
	const char *text; /* borrowed */
	size_t len;
	bool is_guess; /* the mark belongs to it */
};

struct intern_key {
	uint32_t n[4];
};

/* All zero is an empty one. */
struct intern {
	uint32_t *slots; /* owned; number + 1 */
	size_t n_slots;	 /* a power of two, or 0 */
	size_t n, room;	 /* of the tables below: one of them is used */
	struct intern_text *texts; /* owned */
	struct intern_key *keys;   /* owned */
};

/* 0, or -1 when there is no memory. NULL is "". */
int intern_text(struct intern *in, const char *text, bool is_guess,
		uint32_t *out);
int intern_key(struct intern *in, struct intern_key key, uint32_t *out);

void intern_fini(struct intern *in);

#endif
