/* present/grid.h - rows and columns for people.
 *
 * Cells are filled from left to right, top to bottom, and escaped on the way
 * in. A column is as wide as its widest cell; two spaces stand between two
 * columns; the last column is broken into lines where the terminal ends. */
#ifndef PRESENT_GRID_H
#define PRESENT_GRID_H

#include "base/err.h"
#include "present/term.h"

#include <stdio.h>

enum grid_align { GRID_LEFT, GRID_RIGHT };
enum { GRID_COLUMNS_MAX = 16 };

struct grid; /* opaque */

/* A grid of n columns; align has n entries, or is NULL: all to the left. */
int grid_new(unsigned n, const enum grid_align *align, struct grid **out,
	     struct hark_err *err);
void grid_free(struct grid *g);

int grid_cell(struct grid *g, enum term_style style, struct hark_err *err,
	      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Whole rows only. */
void grid_print(const struct grid *g, FILE *out, bool colored, size_t width);

#endif
