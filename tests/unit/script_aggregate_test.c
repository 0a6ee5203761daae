/* tests/unit/script_aggregate_test.c - aggregations against truths computed by
 * hand or by brute force. */
#include "script/aggregate.h"

#include <check.h>
#include <stdlib.h>

static uint64_t cells[AGGREGATE_CELLS_MAX], others[AGGREGATE_CELLS_MAX];

static struct probe_aggregation make(enum probe_how how, int64_t a, int64_t b,
				     int64_t c, int64_t d)
{
	struct probe_aggregation g = {.how = (uint8_t)how,
				      .how_arg = {a, b, c, d}};

	ck_assert(aggregate_is_sound(&g));
	g.n_cells = (uint16_t)aggregate_cells(&g);
	ck_assert_uint_le(g.n_cells, AGGREGATE_CELLS_MAX);
	aggregate_init(&g, cells);
	return g;
}

static const int64_t values[] = {3, -7, 100, 0, 12, -1, 5000000000};
enum { N = sizeof values / sizeof *values };

static int64_t result(enum probe_how how)
{
	struct probe_aggregation g = make(how, 0, 0, 0, 0);

	for (unsigned i = 0; i < N; i++)
		aggregate_update(&g, cells, values[i], 1);
	return aggregate_value(&g, cells);
}

START_TEST(simple_ones_are_what_they_say)
{
	ck_assert_int_eq(result(PROBE_COUNT), N);
	ck_assert_int_eq(result(PROBE_SUM), 5000000107);
	ck_assert_int_eq(result(PROBE_AVG), 5000000107 / 7);
	ck_assert_int_eq(result(PROBE_MIN), -7);
	ck_assert_int_eq(result(PROBE_MAX), 5000000000);
}
END_TEST

START_TEST(a_deviation_has_128_bits)
{
	struct probe_aggregation g = make(PROBE_STDDEV, 0, 0, 0, 0);

	/* 2 4 4 4 5 5 7 9: mean 5, deviation 2 */
	static const int64_t known[] = {2, 4, 4, 4, 5, 5, 7, 9};

	for (unsigned i = 0; i < 8; i++)
		aggregate_update(&g, cells, known[i], 1);
	ck_assert_int_eq(aggregate_value(&g, cells), 2);
	aggregate_init(&g, cells);
	for (unsigned i = 0; i < 1000; i++)
		aggregate_update(
		    &g, cells, i % 2 == 0 ? 4000000000000 : -4000000000000, 1);
	ck_assert_int_eq(aggregate_value(&g, cells), 4000000000000);
	aggregate_init(&g, cells);
	ck_assert_int_eq(aggregate_value(&g, cells), 0);
}
END_TEST

START_TEST(quantize_has_a_bucket_for_every_power)
{
	struct probe_aggregation g = make(PROBE_QUANTIZE, 0, 0, 0, 0);
	static const struct {
		int64_t value, bucket;
	} known[] = {{0, 0},
		     {1, 1},
		     {2, 2},
		     {3, 2},
		     {4, 4},
		     {1023, 512},
		     {1024, 1024},
		     {INT64_MAX, 1LL << 62},
		     {-1, -1},
		     {-2, -2},
		     {-3, -2},
		     {-1024, -1024},
		     {INT64_MIN, -(1LL << 62)}};

	for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
		uint32_t bucket = 0;

		aggregate_init(&g, cells);
		aggregate_update(&g, cells, known[i].value, 5);
		while (cells[bucket] == 0)
			bucket++;
		ck_assert_uint_eq(cells[bucket], 5);
		ck_assert_int_eq(aggregate_bucket(&g, bucket), known[i].bucket);
	}
}
END_TEST

/* Every value is in the bucket whose name is the last that is not larger. */
static void buckets_hold(const struct probe_aggregation *g, int64_t from,
			 int64_t to)
{
	for (int64_t v = from; v <= to; v++) {
		uint32_t bucket = 0;

		aggregate_init(g, cells);
		aggregate_update(g, cells, v, 1);
		while (cells[bucket] == 0)
			bucket++;
		ck_assert_uint_lt(bucket, g->n_cells);
		if (bucket == 0)
			ck_assert_int_lt(v, aggregate_bucket(g, 0));
		else
			ck_assert_int_ge(v, aggregate_bucket(g, bucket));
		if (bucket > 0 && bucket + 1U < g->n_cells)
			ck_assert_int_lt(v, aggregate_bucket(g, bucket + 1));
	}
}

START_TEST(lquantize_has_equal_buckets)
{
	struct probe_aggregation g = make(PROBE_LQUANTIZE, -10, 95, 10, 0);

	ck_assert_uint_eq(g.n_cells, 10 + 2);
	buckets_hold(&g, -50, 200);
	g = make(PROBE_LQUANTIZE, 0, 3, 1, 0);
	buckets_hold(&g, -5, 9);
	/* A value beyond 32 bits is above. */
	g = make(PROBE_LQUANTIZE, 2, 10, 2, 0);
	aggregate_update(&g, cells, 0x1080000000, 1);
	ck_assert_uint_eq(cells[g.n_cells - 1], 1);
}
END_TEST

START_TEST(llquantize_is_linear_in_every_order)
{
	struct probe_aggregation g = make(PROBE_LLQUANTIZE, 10, 0, 3, 20);

	ck_assert_int_eq(aggregate_bucket(&g, 1), 1);
	ck_assert_int_eq(aggregate_bucket(&g, 9), 9);
	ck_assert_int_eq(aggregate_bucket(&g, 10), 10);
	ck_assert_int_eq(aggregate_bucket(&g, 11), 15);
	ck_assert_int_eq(aggregate_bucket(&g, 28), 100);
	ck_assert_int_eq(aggregate_bucket(&g, 29), 150);
	ck_assert_int_eq(aggregate_bucket(&g, g.n_cells - 1U), 10000);
	buckets_hold(&g, -3, 12000);
	g = make(PROBE_LLQUANTIZE, 2, 2, 10, 8);
	buckets_hold(&g, -3, 3000);
}
END_TEST

START_TEST(limits_that_cannot_be_are_refused)
{
	static const int64_t bad[][5] = {
	    {PROBE_LQUANTIZE, 5, 5, 1, 0},
	    {PROBE_LQUANTIZE, 5, 9, 0, 0},
	    {PROBE_LQUANTIZE, 0, 1000000, 1, 0},
	    {PROBE_LLQUANTIZE, 1, 0, 3, 10},
	    {PROBE_LLQUANTIZE, 10, 4, 3, 10},
	    {PROBE_LLQUANTIZE, 10, 0, 19, 10},
	    {PROBE_LLQUANTIZE, 10, 0, 3, 7},
	    {PROBE_LLQUANTIZE, 10, 0, 3, 13},
	    {PROBE_HOW_MAX, 0, 0, 0, 0},
	};

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct probe_aggregation g = {
		    .how = (uint8_t)bad[i][0],
		    .how_arg = {bad[i][1], bad[i][2], bad[i][3], bad[i][4]}};

		ck_assert_msg(!aggregate_is_sound(&g), "%u", i);
	}
}
END_TEST

/* Whoever updated which cells: merged they are as if one had. */
START_TEST(merging_is_as_one_would_have_counted)
{
	for (unsigned how = 0; how < PROBE_HOW_MAX; how++) {
		struct probe_aggregation g = {.how = (uint8_t)how};
		static uint64_t whole[AGGREGATE_CELLS_MAX];

		if (how == PROBE_LQUANTIZE)
			g = make(how, 0, 100, 7, 0);
		else if (how == PROBE_LLQUANTIZE)
			g = make(how, 10, 0, 6, 10);
		else
			g = make(how, 0, 0, 0, 0);
		aggregate_init(&g, others);
		aggregate_init(&g, whole);
		for (unsigned i = 0; i < N; i++) {
			aggregate_update(&g, i % 3 ? cells : others, values[i],
					 2);
			aggregate_update(&g, whole, values[i], 2);
		}
		aggregate_merge(&g, cells, others);
		for (unsigned i = 0; i < g.n_cells; i++)
			ck_assert_uint_eq(cells[i], whole[i]);
	}
}
END_TEST

Suite *script_aggregate_suite(void)
{
	Suite *s = suite_create("probe_aggregate");
	TCase *t = tcase_create("aggregate");

	tcase_add_test(t, simple_ones_are_what_they_say);
	tcase_add_test(t, a_deviation_has_128_bits);
	tcase_add_test(t, quantize_has_a_bucket_for_every_power);
	tcase_add_test(t, lquantize_has_equal_buckets);
	tcase_add_test(t, llquantize_is_linear_in_every_order);
	tcase_add_test(t, limits_that_cannot_be_are_refused);
	tcase_add_test(t, merging_is_as_one_would_have_counted);
	suite_add_tcase(s, t);
	return s;
}
