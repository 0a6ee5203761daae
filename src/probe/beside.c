/* probe/beside.c - one more merge of sorted lists. */
#include "probe/beside.h"

#include "script/aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct show_row *rows; /* owned */
	size_t n, at;
};

struct beside {
	struct list *lists; /* owned */
	unsigned n, room;
	struct show_row *rows;	/* owned: all of them */
	const uint64_t **cells; /* owned: n - 1 of each row */
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM, "no memory for aggregations");
}

int beside_new(unsigned n, struct beside **out, struct hark_err *err)
{
	struct beside *b = calloc(1, sizeof *b);

	if (b != NULL)
		b->lists = calloc(n, sizeof *b->lists);
	if (b == NULL || b->lists == NULL) {
		free(b);
		return no_memory(err);
	}
	b->room = n;
	*out = b;
	return 0;
}

void beside_free(struct beside *b)
{
	if (b == NULL)
		return;
	for (unsigned i = 0; i < b->n; i++)
		free(b->lists[i].rows);
	free(b->lists);
	free(b->rows);
	free(b->cells);
	free(b);
}

int beside_add(struct beside *b, const struct show_row *rows, size_t n,
	       struct hark_err *err)
{
	struct list *l = &b->lists[b->n];

	if (b->n == b->room)
		return no_memory(err);
	l->rows = calloc(n + 1, sizeof *rows);
	if (l->rows == NULL)
		return no_memory(err);
	if (n > 0)
		memcpy(l->rows, rows, n * sizeof *rows);
	l->n = n;
	b->n++;
	return 0;
}

/* The least key that is left; NULL: none is. */
static const struct show_row *least(const struct beside *b)
{
	const struct show_row *found = NULL;

	for (unsigned i = 0; i < b->n; i++) {
		const struct list *l = &b->lists[i];

		if (l->at < l->n &&
		    (found == NULL || show_by_key(&l->rows[l->at], found) < 0))
			found = &l->rows[l->at];
	}
	return found;
}

/* Its cells in this list, which has come to it or is behind it. */
static const uint64_t *take(struct list *l, const struct show_row *key)
{
	if (l->at == l->n || show_by_key(&l->rows[l->at], key) != 0)
		return NULL;
	return l->rows[l->at++].cells;
}

int beside_join(struct beside *b, struct show_row **rows, size_t *n,
		struct hark_err *err)
{
	static const uint64_t nothing[AGGREGATE_CELLS_MAX];
	const struct show_row *next;
	size_t all = 0, k = 0;

	for (unsigned i = 0; i < b->n; i++)
		all += b->lists[i].n;
	b->rows = calloc(all + 1, sizeof *b->rows);
	b->cells = calloc(all * b->n + 1, sizeof(const uint64_t *));
	if (b->rows == NULL || b->cells == NULL)
		return no_memory(err);
	for (; (next = least(b)) != NULL; k++) {
		const uint64_t **beside = &b->cells[k * (b->n - 1)];
		struct show_row row = *next;

		row.beside = beside;
		row.cells = take(&b->lists[0], &row);
		if (row.cells == NULL)
			row.cells = nothing;
		for (unsigned i = 1; i < b->n; i++)
			beside[i - 1] = take(&b->lists[i], &row);
		b->rows[k] = row;
	}
	*rows = b->rows;
	*n = k;
	return 0;
}
