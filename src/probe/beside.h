/* probe/beside.h - rows of several aggregations, side by side.
 *
 * Each has rows of its own, by the same kinds of keys; together they have one
 * row for each key that any of them has. Hosted. */
#ifndef PROBE_BESIDE_H
#define PROBE_BESIDE_H

#include "base/err.h"
#include "script/show.h"

struct beside;

/* For at most n aggregations. */
int beside_new(unsigned n, struct beside **out, struct hark_err *err);
void beside_free(struct beside *b);

/* The next one's rows, by ascending key as board_rows() gives them. They are
 * copied; what they point to is not. */
int beside_add(struct beside *b, const struct show_row *rows, size_t n,
	       struct hark_err *err);
/* All of them, as many as were added; until beside_free(). */
int beside_join(struct beside *b, struct show_row **rows, size_t *n,
		struct hark_err *err);

#endif
