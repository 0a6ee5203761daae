/* present/grid.c - measures cells, then prints them. */
#include "present/grid.h"

#include "present/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, LAST_COLUMN_MIN = 20 };

struct cell {
	char *text; /* owned; already escaped */
	enum term_style style;
};

struct grid {
	unsigned n_columns;
	enum grid_align align[GRID_COLUMNS_MAX];
	struct cell *cells; /* owned, row by row */
	size_t n_cells, room;
};

int grid_new(unsigned n, const enum grid_align *align, struct grid **out,
	     struct hark_err *err)
{
	struct grid *g;

	assert(n > 0 && n <= GRID_COLUMNS_MAX);
	g = calloc(1, sizeof *g);
	if (g == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory for a table");
	g->n_columns = n;
	if (align != NULL)
		memcpy(g->align, align, n * sizeof align[0]);
	*out = g;
	return 0;
}

void grid_free(struct grid *g)
{
	if (g == NULL)
		return;
	for (size_t i = 0; i < g->n_cells; i++)
		free(g->cells[i].text);
	free(g->cells);
	free(g);
}

static int make_room(struct grid *g)
{
	size_t room = g->room * 2 + 4 * (size_t)g->n_columns;
	struct cell *cells;

	if (g->n_cells < g->room)
		return 0;
	cells = reallocarray(g->cells, room, sizeof *cells);
	if (cells == NULL)
		return -1;
	g->cells = cells;
	g->room = room;
	return 0;
}

/* The escaped text, in memory of its own; NULL if there is none. */
static char *escaped(const char *text)
{
	size_t len = strlen(text);
	size_t size = text_escape(text, len, NULL, 0) + 1;
	char *copy = malloc(size);

	if (copy != NULL)
		text_escape(text, len, copy, size);
	return copy;
}

int grid_cell(struct grid *g, enum term_style style, struct hark_err *err,
	      const char *format, ...)
{
	char text[1024];
	va_list args;
	char *copy;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	copy = escaped(text);
	if (copy == NULL || make_room(g) < 0) {
		free(copy);
		return err_set(err, HARK_ENOMEM, 0, "no memory for a table");
	}
	g->cells[g->n_cells++] = (struct cell){copy, style};
	return 0;
}

static void measure(const struct grid *g, size_t *widths)
{
	for (size_t i = 0; i < g->n_cells; i++) {
		size_t columns = text_columns(g->cells[i].text);
		size_t *w = &widths[i % g->n_columns];

		if (columns > *w)
			*w = columns;
	}
}

static void put_blanks(FILE *out, size_t n)
{
	fprintf(out, "%*s", (int)n, "");
}

/* Any cell but the last of its row. */
static void print_cell(const struct cell *cell, enum grid_align align,
		       size_t width, FILE *out, bool colored)
{
	size_t pad = width - text_columns(cell->text);

	if (align == GRID_RIGHT)
		put_blanks(out, pad);
	fprintf(out, "%s%s%s", term_on(cell->style, colored), cell->text,
		term_off(cell->style, colored));
	if (align == GRID_LEFT)
		put_blanks(out, pad);
	put_blanks(out, GAP);
}

static void print_last(const struct cell *cell, enum grid_align align,
		       size_t own, size_t at, FILE *out, bool colored,
		       size_t width)
{
	if (align == GRID_RIGHT)
		put_blanks(out, own - text_columns(cell->text));
	if (width < at + LAST_COLUMN_MIN)
		width = at + LAST_COLUMN_MIN;
	fputs(term_on(cell->style, colored), out);
	text_wrap(out, cell->text, at, at, width);
	fputs(term_off(cell->style, colored), out);
	putc('\n', out);
}

void grid_print(const struct grid *g, FILE *out, bool colored, size_t width)
{
	size_t widths[GRID_COLUMNS_MAX] = {0}, at = 0, i;
	unsigned last = g->n_columns - 1;

	assert(g->n_cells % g->n_columns == 0);
	measure(g, widths);
	for (i = 0; i < last; i++)
		at += widths[i] + GAP;
	for (i = 0; i < g->n_cells; i++) {
		unsigned column = (unsigned)(i % g->n_columns);

		if (column < last)
			print_cell(&g->cells[i], g->align[column],
				   widths[column], out, colored);
		else
			print_last(&g->cells[i], g->align[last], widths[last],
				   at, out, colored, width);
	}
}
