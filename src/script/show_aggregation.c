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

static int compare(const void *left, const void *right, void *ctx)
{
	const struct show_row *x = left, *y = right;
	const struct probe_aggregation *a = ctx;
	long double wx = weight(a, x->cells), wy = weight(a, y->cells);
	uint32_t len = x->key_len < y->key_len ? x->key_len : y->key_len;
	int order;

	if (wx != wy)
		return wx < wy ? -1 : 1;
	order = len > 0 ? memcmp(x->key, y->key, len) : 0;
	if (order != 0)
		return order;
	return x->key_len < y->key_len ? -1 : x->key_len > y->key_len;
}

void show_sort(const struct probe_aggregation *a, struct show_row *rows,
	       size_t n)
{
	if (n > 1)
		qsort_r(rows, n, sizeof *rows, compare, (void *)(uintptr_t)a);
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

static void show_value(const struct probe_aggregation *a,
		       const struct show_row *row, const struct conversion *c,
		       int64_t normal, const struct show *s, FILE *out)
{
	static const struct probe_part part = {
	    .kind = PROBE_NUMBER, .size = 8, .is_signed = 1};
	struct shown v = {.part = &part};

	if (is_picture(a)) {
		show_picture(a, row->cells, normal, out);
		return;
	}
	v.number = (uint64_t)(aggregate_value(a, row->cells) / normal);
	shown_by(s, c, &v, out);
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

/* The next of the keys that the format asks for, or the value. */
static void show_by_format(const struct show *s,
			   const struct probe_aggregation *a,
			   const struct show_row *row, const char *format,
			   const struct shown *keys, int64_t normal, FILE *out)
{
	struct conversion c;
	unsigned i = 0;

	for (; conversion_next(format, &c); format = c.at + c.len) {
		shown_text(format, c.at, out);
		c.width = c.width == -2 ? -1 : c.width;
		c.precision = c.precision == -2 ? -1 : c.precision;
		if (c.letter == '%') {
			fputc('%', out);
		} else if (c.is_aggregation) {
			if (!conversion_fits(c.letter, PROBE_NUMBER))
				c.letter = 'd';
			show_value(a, row, &c, normal, s, out);
		} else if (i < a->n_keys) {
			shown_by(s, &c, &keys[i++], out);
		}
	}
	fputs(format, out);
}

int show_row(const struct show *s, uint32_t aggregation,
	     const struct show_row *row, const char *format, int64_t normal,
	     FILE *out)
{
	static const struct conversion plain = {
	    .letter = 'd', .width = 16, .precision = -1};
	const struct probe_aggregation *a =
	    &probe_aggregations(s->program)[aggregation];
	const struct probe_part *parts = probe_parts(s->program) + a->first_key;
	const uint8_t *at = row->key, *end = at;
	struct shown keys[PROBE_KEYS_MAX];

	if (row->key_len > 0)
		end += row->key_len;
	normal = normal > 0 ? normal : 1;
	for (unsigned i = 0; i < a->n_keys; i++)
		if (shown_next(&parts[i], &at, end, &keys[i]) < 0)
			return -1;
	if (format[0] != '\0') {
		show_by_format(s, a, row, format, keys, normal, out);
		return 0;
	}
	for (unsigned i = 0; i < a->n_keys; i++)
		show_key(s, &keys[i], out);
	fputc(' ', out);
	show_value(a, row, &plain, normal, s, out);
	fputc('\n', out);
	return 0;
}
