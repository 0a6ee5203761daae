/* script/aggregate.c - counting, summing, sorting into buckets.
 *
 *	count, sum, min, max	one cell
 *	avg			count, sum
 *	stddev			count, sum, sum of squares (low, high half)
 *	quantize		127 buckets: -2^62 .. -1, 0, 1 .. 2^62
 *	lquantize		below, (limit - lowest) / step buckets, above
 *	llquantize		below, buckets of every order, above
 *
 * An order m of llquantize goes from factor^m to factor^(m+1), whose top is
 * divided into `steps` equal buckets, or into buckets of 1 where it is
 * smaller; those below factor^m belong to the order before. */
#include "script/aggregate.h"

typedef unsigned __int128 wide;

/* -- llquantize -- */

struct order {
	uint64_t bottom, top, width; /* below 2^63, if it is sound */
	uint32_t first, n;	     /* buckets */
};

static void order_set(const struct probe_aggregation *a, struct order *o)
{
	uint64_t steps = (uint64_t)a->how_arg[3];

	if (steps > o->top)
		steps = o->top;
	o->width = o->top / steps;
	o->n = (uint32_t)((o->top - o->bottom) / o->width);
}

static void order_first(const struct probe_aggregation *a, struct order *o)
{
	o->bottom = 1;
	for (int64_t m = 0; m < a->how_arg[1]; m++)
		o->bottom *= (uint64_t)a->how_arg[0];
	o->top = o->bottom * (uint64_t)a->how_arg[0];
	o->first = 1;
	order_set(a, o);
}

static void order_next(const struct probe_aggregation *a, struct order *o)
{
	o->first += o->n;
	o->bottom = o->top;
	o->top *= (uint64_t)a->how_arg[0];
	order_set(a, o);
}

static bool orders_are_sound(const struct probe_aggregation *a)
{
	const int64_t *arg = a->how_arg;
	struct order o;
	wide reach = 1;

	if (arg[0] < 2 || arg[0] > 1000 || arg[1] < 0 || arg[2] < arg[1] ||
	    arg[2] > 63 || arg[3] < arg[0] || arg[3] > 10000)
		return false;
	for (int64_t m = 0; m <= arg[2]; m++) {
		reach *= (uint64_t)arg[0];
		if (reach > INT64_MAX)
			return false;
	}
	order_first(a, &o);
	for (int64_t m = arg[1]; m <= arg[2]; m++) {
		if (m > arg[1])
			order_next(a, &o);
		if ((o.top - o.bottom) % o.width != 0 ||
		    (o.top > (uint64_t)arg[3] && o.top % arg[3] != 0) ||
		    o.first + o.n > AGGREGATE_CELLS_MAX - 1)
			return false;
	}
	return true;
}

static uint32_t llquantize_cells(const struct probe_aggregation *a)
{
	struct order o;

	order_first(a, &o);
	for (int64_t m = a->how_arg[1]; m < a->how_arg[2]; m++)
		order_next(a, &o);
	return o.first + o.n + 1;
}

static uint32_t llquantize_of(const struct probe_aggregation *a, int64_t value)
{
	struct order o;

	order_first(a, &o);
	if (value < (int64_t)o.bottom)
		return 0;
	for (int64_t m = a->how_arg[1]; m < a->how_arg[2]; m++) {
		if ((uint64_t)value < o.top)
			break;
		order_next(a, &o);
	}
	if ((uint64_t)value >= o.top)
		return o.first + o.n;
	return o.first + (uint32_t)(((uint64_t)value - o.bottom) / o.width);
}

static int64_t llquantize_bucket(const struct probe_aggregation *a,
				 uint32_t bucket)
{
	struct order o;

	order_first(a, &o);
	for (int64_t m = a->how_arg[1]; m < a->how_arg[2]; m++) {
		if (bucket < o.first + o.n)
			break;
		order_next(a, &o);
	}
	return (int64_t)(o.bottom + (bucket - o.first) * o.width);
}

/* -- lquantize and quantize -- */

static uint32_t lquantize_levels(const struct probe_aggregation *a)
{
	return (uint32_t)((a->how_arg[1] - a->how_arg[0]) / a->how_arg[2]);
}

static uint32_t lquantize_of(const struct probe_aggregation *a, int64_t value)
{
	uint32_t levels = lquantize_levels(a);
	uint64_t level;

	if (value < a->how_arg[0])
		return 0;
	level = ((uint64_t)value - (uint64_t)a->how_arg[0]) /
		(uint64_t)a->how_arg[2];
	return level < levels ? (uint32_t)level + 1 : levels + 1;
}

static int64_t quantize_bucket(uint32_t bucket)
{
	if (bucket == AGGREGATE_ZERO)
		return 0;
	if (bucket > AGGREGATE_ZERO)
		return (int64_t)1 << (bucket - AGGREGATE_ZERO - 1);
	return -((int64_t)1 << (AGGREGATE_ZERO - 1 - bucket));
}

/* -- All -- */

bool aggregate_is_sound(const struct probe_aggregation *a)
{
	const int64_t *arg = a->how_arg;

	if (a->how == PROBE_LLQUANTIZE)
		return orders_are_sound(a);
	if (a->how != PROBE_LQUANTIZE)
		return a->how < PROBE_HOW_MAX;
	return arg[0] > INT32_MIN && arg[1] > arg[0] && arg[1] < INT32_MAX &&
	       arg[2] > 0 && arg[2] < INT32_MAX && arg[1] - arg[0] >= arg[2] &&
	       (arg[1] - arg[0]) / arg[2] <= AGGREGATE_CELLS_MAX - 2;
}

uint32_t aggregate_cells(const struct probe_aggregation *a)
{
	switch (a->how) {
	case PROBE_AVG:
		return 2;
	case PROBE_STDDEV:
		return 4;
	case PROBE_QUANTIZE:
		return AGGREGATE_QUANTIZE;
	case PROBE_LQUANTIZE:
		return lquantize_levels(a) + 2;
	case PROBE_LLQUANTIZE:
		return llquantize_cells(a);
	default:
		return 1;
	}
}

void aggregate_init(const struct probe_aggregation *a, uint64_t *cells)
{
	for (uint32_t i = 0; i < a->n_cells; i++)
		cells[i] = 0;
	if (a->how == PROBE_MIN)
		cells[0] = INT64_MAX;
	if (a->how == PROBE_MAX)
		cells[0] = (uint64_t)INT64_MIN;
}

static void add_square(uint64_t *cells, int64_t value)
{
	wide size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	wide sum = (wide)cells[3] << 64 | cells[2];

	sum += size * size;
	cells[2] = (uint64_t)sum;
	cells[3] = (uint64_t)(sum >> 64);
}

void aggregate_update(const struct probe_aggregation *a, uint64_t *cells,
		      int64_t value, int64_t weight)
{
	switch (a->how) {
	case PROBE_COUNT:
		cells[0]++;
		break;
	case PROBE_SUM:
		cells[0] += (uint64_t)value;
		break;
	case PROBE_MIN:
		if (value < (int64_t)cells[0])
			cells[0] = (uint64_t)value;
		break;
	case PROBE_MAX:
		if (value > (int64_t)cells[0])
			cells[0] = (uint64_t)value;
		break;
	case PROBE_STDDEV:
		add_square(cells, value);
		__attribute__((fallthrough));
	case PROBE_AVG:
		cells[0]++;
		cells[1] += (uint64_t)value;
		break;
	case PROBE_QUANTIZE:
		cells[aggregate_quantize_of(value)] += (uint64_t)weight;
		break;
	case PROBE_LQUANTIZE:
		cells[lquantize_of(a, value)] += (uint64_t)weight;
		break;
	default:
		cells[llquantize_of(a, value)] += (uint64_t)weight;
	}
}

static void merge_square(uint64_t *into, const uint64_t *from)
{
	wide sum = (wide)into[3] << 64 | into[2];

	sum += (wide)from[3] << 64 | from[2];
	into[2] = (uint64_t)sum;
	into[3] = (uint64_t)(sum >> 64);
}

void aggregate_merge(const struct probe_aggregation *a, uint64_t *into,
		     const uint64_t *from)
{
	uint32_t n = a->n_cells;

	if (a->how == PROBE_MIN || a->how == PROBE_MAX) {
		aggregate_update(a, into, (int64_t)from[0], 1);
		return;
	}
	if (a->how == PROBE_STDDEV) {
		merge_square(into, from);
		n = 2;
	}
	for (uint32_t i = 0; i < n; i++)
		into[i] += from[i];
}

int64_t aggregate_bucket(const struct probe_aggregation *a, uint32_t bucket)
{
	if (a->how == PROBE_QUANTIZE)
		return quantize_bucket(bucket);
	if (bucket == 0)
		bucket = 1; /* "below" ends where the first begins */
	if (a->how == PROBE_LLQUANTIZE)
		return llquantize_bucket(a, bucket);
	return a->how_arg[0] + (int64_t)(bucket - 1) * a->how_arg[2];
}

/* Bit by bit: 128 bits are not divided without a library. */
static wide divide(wide of, uint64_t by)
{
	wide quotient = 0, rest = 0;

	for (int bit = 127; bit >= 0; bit--) {
		rest = rest << 1 | (of >> bit & 1);
		if (rest >= by) {
			rest -= by;
			quotient |= (wide)1 << bit;
		}
	}
	return quotient;
}

static uint64_t root(wide of)
{
	uint64_t result = 0;

	for (int bit = 63; bit >= 0; bit--) {
		uint64_t larger = result | (uint64_t)1 << bit;

		if ((wide)larger * larger <= of)
			result = larger;
	}
	return result;
}

/* The root of: the mean of squares less the square of the mean. */
static int64_t deviation(const uint64_t *cells)
{
	int64_t mean = (int64_t)cells[1] / (int64_t)cells[0];
	wide size = mean < 0 ? 0 - (uint64_t)mean : (uint64_t)mean;
	wide squares = divide((wide)cells[3] << 64 | cells[2], cells[0]);

	return squares > size * size ? (int64_t)root(squares - size * size) : 0;
}

int64_t aggregate_value(const struct probe_aggregation *a,
			const uint64_t *cells)
{
	bool is_shared = a->how == PROBE_AVG || a->how == PROBE_STDDEV;

	if (is_shared && (int64_t)cells[0] <= 0)
		return 0;
	if (a->how == PROBE_AVG)
		return (int64_t)cells[1] / (int64_t)cells[0];
	if (a->how == PROBE_STDDEV)
		return deviation(cells);
	return (int64_t)cells[0];
}
