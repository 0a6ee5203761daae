/* script/show.h - records and aggregations as DTrace prints them.
 *
 * What is shown came out of the target, which may have been damaged: lengths
 * are held against the record. Hosted. */
#ifndef SCRIPT_SHOW_H
#define SCRIPT_SHOW_H

#include "wire/probe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct show {
	const struct probe_program *program; /* verified */
	/* A name for an address: how is PROBE_ADDRESS, PROBE_SYMBOL,
	 * PROBE_FUNCTION or PROBE_MODULE. NULL: numbers are shown. */
	void (*name)(void *ctx, enum probe_kind how, uint64_t addr, char *out,
		     size_t size);
	void *ctx;
};

/* Shows what printf(), trace(), print() and their like put out. -1 if the
 * entry is not what its action says, or there is no more of it: nothing of
 * it is shown then. len: what is left of the record. */
int show_entry(const struct show *s, const struct probe_entry *e, size_t len,
	       FILE *out);
/* The number that exit(), trunc() or normalize() was given, or -1 if there
 * is none. */
int show_number(const struct show *s, const struct probe_entry *e, size_t len,
		int64_t *out);

/* -- Aggregations (show_aggregation.c) -- */

struct show_row {
	const uint8_t *key;
	uint32_t key_len;
	const uint64_t *cells;
	/* Of other aggregations with that key, where several are shown side
	 * by side; in their order. NULL: they have no such row. */
	const uint64_t *const *beside;
};

/* The order of their keys' bytes. */
int show_by_key(const struct show_row *x, const struct show_row *y);

/* All zero: by value, least first, and where that is the same, by keys. */
struct show_order {
	bool by_key, is_reversed;
	uint64_t first_key; /* which one comes first, of several */
};
void show_sort(const struct probe_program *p, uint32_t aggregation,
	       struct show_order order, struct show_row *rows, size_t n);
/* An aggregation; its values are divided by normal (1 for none). */
struct show_column {
	uint32_t aggregation;
	int64_t normal;
};
/* One line, or pictures; format "" is DTrace's own. The columns have the same
 * keys; of the first, row->cells are the values. */
int show_row(const struct show *s, const struct show_column *columns,
	     unsigned n, const struct show_row *row, const char *format,
	     FILE *out);

#endif
