/* script/aggregate.h - what an aggregation holds for one key.
 *
 * Every thread may have cells of its own: merging cells gives what updating
 * one set of cells in any order would have given. Pure. */
#ifndef SCRIPT_AGGREGATE_H
#define SCRIPT_AGGREGATE_H

#include "wire/probe.h"

#include <stdbool.h>

enum {
	AGGREGATE_ZERO = 63, /* bucket of 0 in quantize */
	AGGREGATE_QUANTIZE = 127,
	AGGREGATE_CELLS_MAX = 16400,
};

/* Can it count between its limits? */
bool aggregate_is_sound(const struct probe_aggregation *a);
/* Of a sound one: how many cells of 8 bytes. */
uint32_t aggregate_cells(const struct probe_aggregation *a);

void aggregate_init(const struct probe_aggregation *a, uint64_t *cells);
void aggregate_update(const struct probe_aggregation *a, uint64_t *cells,
		      int64_t value, int64_t weight);
void aggregate_merge(const struct probe_aggregation *a, uint64_t *into,
		     const uint64_t *from);

/* The bucket that a value of quantize belongs to. */
static inline uint32_t aggregate_quantize_of(int64_t value)
{
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	uint32_t log;

	if (value == 0)
		return AGGREGATE_ZERO;
	log = 63 - (uint32_t)__builtin_clzll(size);
	if (log > 62)
		log = 62;
	return value > 0 ? AGGREGATE_ZERO + 1 + log : AGGREGATE_ZERO - 1 - log;
}

/* The lowest value (of those nearest to 0, below it) that a bucket of a
 * quantize counts; for lquantize and llquantize of buckets 1 and on, and of
 * the last the limit. */
int64_t aggregate_bucket(const struct probe_aggregation *a, uint32_t bucket);
/* The one number of all but the quantizes; avg and stddev are divided. */
int64_t aggregate_value(const struct probe_aggregation *a,
			const uint64_t *cells);

#endif
