/* script/show_aggregation.c - aggregations as DTrace prints them.
 *
 *	  malloc						    12
 *
 *	           value  ------------- Distribution ------------- count
 *	               8 |                                         0
 *	              16 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           3
 *	              32 |@@@@@@@@@@                               1
 *	              64 |                                         0
 */
#include "script/aggregate.h"
#include "script/show_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 40 };

static bool is_picture(const struct probe_aggregation *a)
{
	return a->how >= PROBE_QUANTIZE;
}

/* -- Order -- */

static long double weight(const struct probe_aggregation *a,
			  const uint64_t *cells)
{
	long double sum = 0;

	if (!is_picture(a))
		return (long double)aggregate_value(a, cells);
	for (uint32_t i = 0; i < a->n_cells; i++)
		if (cells[i] != 0)
			sum += (long double)aggregate_bucket(a, i) *
			       (long double)(int64_t)cells[i];
	return sum;
}

struct sorting {
	const struct probe_aggregation *a;
	const struct probe_part *parts; /* of its keys */
	struct show_order order;
};

static int by_bytes(const uint8_t *x, size_t x_len, const uint8_t *y,
		    size_t y_len)
{
	size_t len = x_len < y_len ? x_len : y_len;
	int order = len > 0 ? memcmp(x, y, len) : 0;

	return order != 0 ? order : (x_len > y_len) - (x_len < y_len);
}

int show_by_key(const struct show_row *x, const struct show_row *y)
{
	return by_bytes(x->key, x->key_len, y->key, y->key_len);
}

static int by_value(const struct shown *x, const struct shown *y)
{
	if (x->bytes != NULL && x->part->kind == PROBE_STACK)
		return by_bytes(x->bytes, 8 * (size_t)x->number, y->bytes,
				8 * (size_t)y->number);
	if (x->bytes != NULL)
		return by_bytes(x->bytes, x->len, y->bytes, y->len);
	if (x->part->kind == PROBE_NUMBER && x->part->is_signed)
		return ((int64_t)x->number > (int64_t)y->number) -
		       ((int64_t)x->number < (int64_t)y->number);
	return (x->number > y->number) - (x->number < y->number);
}

static bool take_keys(const struct probe_aggregation *a,
		      const struct probe_part *parts,
		      const struct show_row *row, struct shown *out)
{
	const uint8_t *at = row->key, *end = at;

	if (row->key_len > 0)
		end += row->key_len;
	for (unsigned i = 0; i < a->n_keys; i++)
		if (shown_next(&parts[i], &at, end, &out[i]) < 0)
			return false;
	return true;
}

/* Numbers as numbers, texts by the alphabet; damaged ones anyhow. */
static int by_keys(const struct sorting *s, const struct show_row *x,
		   const struct show_row *y)
{
	struct shown kx[PROBE_KEYS_MAX], ky[PROBE_KEYS_MAX];
	unsigned n = s->a->n_keys;
	int order = 0;

	if (!take_keys(s->a, s->parts, x, kx) ||
	    !take_keys(s->a, s->parts, y, ky))
		return show_by_key(x, y);
	for (unsigned i = 0; i < n && order == 0; i++) {
		unsigned k = (unsigned)((s->order.first_key + i) % n);

		order = by_value(&kx[k], &ky[k]);
	}
	return order;
}

static int compare(const void *left, const void *right, void *ctx)
{
	const struct show_row *x = left, *y = right;
	const struct sorting *s = ctx;
	long double wx = weight(s->a, x->cells), wy = weight(s->a, y->cells);
	int order = (wx > wy) - (wx < wy);

	if (s->order.by_key || order == 0) {
		int keys = by_keys(s, x, y);

		order = keys != 0 ? keys : order;
	}
	return s->order.is_reversed ? -order : order;
}

void show_sort(const struct probe_program *p, uint32_t aggregation,
	       struct show_order order, struct show_row *rows, size_t n)
{
	const struct probe_aggregation *a = &probe_aggregations(p)[aggregation];
	struct sorting s = {a, probe_parts(p) + a->first_key, order};

	if (n > 1)
		qsort_r(rows, n, sizeof *rows, compare, &s);
}

/* -- Pictures -- */

static void show_bar(int64_t count, int64_t total, int64_t normal, FILE *out)
{
	char bar[BAR + 1];
	int len = 0;

	if (total > 0 && count > 0)
		len = (int)((double)count * BAR / (double)total + 0.5);
	memset(bar, '@', sizeof bar);
	fprintf(out, "|%-*.*s %-9" PRId64 "\n", BAR, len, bar, count / normal);
}

static void show_bucket_name(const struct probe_aggregation *a, uint32_t bucket,
			     FILE *out)
{
	int64_t from = aggregate_bucket(a, bucket);
	char name[32];

	if (a->how != PROBE_QUANTIZE && bucket == 0)
		snprintf(name, sizeof name, "< %" PRId64, from);
	else if (a->how != PROBE_QUANTIZE && bucket == a->n_cells - 1U)
		snprintf(name, sizeof name, ">= %" PRId64, from);
	else
		snprintf(name, sizeof name, "%" PRId64, from);
	fprintf(out, "%16s ", name);
}

/* From one bucket before the first that has something to one behind the
 * last. */
static void show_picture(const struct probe_aggregation *a,
			 const uint64_t *cells, int64_t normal, FILE *out)
{
	uint32_t first = 0, last = a->n_cells - 1U;
	int64_t total = 0;

	while (first < last && cells[first] == 0)
		first++;
	while (last > first && cells[last] == 0)
		last--;
	if (first > 0)
		first--;
	if (last < a->n_cells - 1U)
		last++;
	for (uint32_t i = 0; i < a->n_cells; i++)
		if ((int64_t)cells[i] > 0)
			total += (int64_t)cells[i];
	fprintf(out, "\n%16s %41s %-9s\n", "value",
		" ------------- Distribution -------------", "count");
	for (uint32_t i = first; i <= last; i++) {
		show_bucket_name(a, i, out);
		show_bar((int64_t)cells[i], total, normal, out);
	}
}

/* -- Rows -- */

/* A row, and what it is a row of. */
struct table_row {
	const struct show *s;
	const struct show_column *columns;
	unsigned n;
	const struct show_row *row;
	struct shown keys[PROBE_KEYS_MAX];
};

static const struct probe_aggregation *aggregation_of(const struct table_row *t,
						      unsigned column)
{
	return &probe_aggregations(
	    t->s->program)[t->columns[column].aggregation];
}

static void show_value(const struct table_row *t, unsigned column,
		       const struct conversion *c, FILE *out)
{
	static const uint64_t nothing[AGGREGATE_CELLS_MAX];
	static const struct probe_part part = {
	    .kind = PROBE_NUMBER, .size = 8, .is_signed = 1};
	const struct probe_aggregation *a = aggregation_of(t, column);
	const uint64_t *cells =
	    column == 0 ? t->row->cells : t->row->beside[column - 1];
	int64_t normal = t->columns[column].normal;
	struct shown v = {.part = &part};

	normal = normal > 0 ? normal : 1;
	if (is_picture(a)) {
		show_picture(a, cells != NULL ? cells : nothing, normal, out);
		return;
	}
	if (cells != NULL)
		v.number = (uint64_t)(aggregate_value(a, cells) / normal);
	shown_by(t->s, c, &v, out);
}

static void show_key(const struct show *s, const struct shown *v, FILE *out)
{
	static const int width[9] = {16, 3, 5, 16, 8, 16, 16, 16, 16};
	struct conversion c = {
	    .letter = 's', .is_left = true, .precision = -1, .width = 50};

	switch (v->part->kind) {
	case PROBE_NUMBER:
		c = (struct conversion){.letter = 'd', .precision = -1};
		c.width = width[v->part->size <= 8 ? v->part->size : 0];
		fputc(' ', out);
		shown_by(s, &c, v, out);
		break;
	case PROBE_STACK:
		shown_plainly(s, v, out);
		break;
	default:
		fputs("  ", out);
		shown_by(s, &c, v, out);
	}
}

/* The next of the keys that the format asks for, or of the values; a lone
 * aggregation's value as often as it is asked for. */
static void show_by_format(const struct table_row *t, const char *format,
			   FILE *out)
{
	unsigned key = 0, column = 0;
	struct conversion c;

	for (; conversion_next(format, &c); format = c.at + c.len) {
		shown_text(format, c.at, out);
		c.width = c.width == -2 ? -1 : c.width;
		c.precision = c.precision == -2 ? -1 : c.precision;
		if (c.letter == '%') {
			fputc('%', out);
		} else if (c.is_aggregation) {
			if (!conversion_fits(c.letter, PROBE_NUMBER))
				c.letter = 'd';
			show_value(t, column % t->n, &c, out);
			column++;
		} else if (key < aggregation_of(t, 0)->n_keys) {
			shown_by(t->s, &c, &t->keys[key++], out);
		}
	}
	fputs(format, out);
}

int show_row(const struct show *s, const struct show_column *columns,
	     unsigned n, const struct show_row *row, const char *format,
	     FILE *out)
{
	static const struct conversion plain = {
	    .letter = 'd', .width = 16, .precision = -1};
	struct table_row t = {.s = s, .columns = columns, .n = n, .row = row};
	const struct probe_aggregation *a = aggregation_of(&t, 0);

	if (!take_keys(a, probe_parts(s->program) + a->first_key, row, t.keys))
		return -1;
	if (format[0] != '\0') {
		show_by_format(&t, format, out);
		return 0;
	}
	for (unsigned i = 0; i < a->n_keys; i++)
		show_key(s, &t.keys[i], out);
	for (unsigned i = 0; i < n; i++) {
		fputc(' ', out);
		show_value(&t, i, &plain, out);
	}
	fputc('\n', out);
	return 0;
}
