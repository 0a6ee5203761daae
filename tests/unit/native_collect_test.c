/* tests/unit/native_collect_test.c - what one thread's hits count: the hot
 * ways, and all aggregations. */
#include "native_collect_world.h"
#include "script/aggregate.h"

#include <check.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* -- Hot ways -- */

START_TEST(count_counts_each_hit)
{
	open_world("pid1::f0:entry { @ = count(); }");
	for (int i = 0; i < 1000; i++)
		world_hit(&w, 0, 0);
	ck_assert_int_eq(world_value(&w, 0, NULL), 1000);
	ck_assert_uint_eq(world_account(&w, 0).executed, 1000);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 1000);
	ck_assert_uint_eq(world_account(&w, 1).executed, 0);
	close_world();
}
END_TEST

START_TEST(keys_are_what_the_script_says)
{
	open_world("pid1::f0:entry { @a[arg0] = count(); }\n"
		   "pid1::f1:entry, pid1::f2:entry { @b[probefunc] = count(); }"
		   "pid1::f3:entry { @c[\"x\"] = count(); }\n"
		   "pid1::f4:entry { @d[7] = count(); }\n"
		   "pid1::f5:entry { @e[tid] = count(); }\n"
		   "pid1::f6:entry { @f[threadname] = count(); }\n"
		   "pid1::f7:return { @g[arg1] = count(); }");
	for (uint64_t i = 0; i < 100; i++) {
		struct probe_frame f = {.gpr = {i % 3}};

		world_hit(&w, 0, i % 7);
		world_hit(&w, 1, 0);
		world_hit(&w, 2, 0);
		for (unsigned k = 3; k < 7; k++)
			world_hit(&w, k, 0);
		world_fire(&w, 7, &f);
	}
	prctl(PR_SET_NAME, "other");
	world_hit(&w, 6, 0);
	for (uint64_t i = 0; i < 7; i++)
		ck_assert_int_eq(world_value(&w, 0, &i), 100 / 7 + (i < 2));
	ck_assert_int_eq(world_text_value(&w, 1, "f1"), 100);
	ck_assert_int_eq(world_text_value(&w, 1, "f2"), 100);
	ck_assert_int_eq(world_text_value(&w, 2, "x"), 100);
	ck_assert_int_eq(world_value(&w, 3, &(uint64_t){7}), 100);
	ck_assert_int_eq(world_value(&w, 4, &(uint64_t){(uint64_t)gettid()}),
			 100);
	ck_assert_uint_eq(world_rows(&w, 5), 2);
	ck_assert_int_eq(world_text_value(&w, 5, "other"), 1);
	ck_assert_int_eq(world_value(&w, 6, &(uint64_t){0}), 34);
	close_world();
}
END_TEST

START_TEST(hot_quantize_is_quantize)
{
	static const int64_t value[] = {0, 1, -1, 7, 8, INT64_MAX, INT64_MIN};
	uint64_t want[AGGREGATE_QUANTIZE] = {0};

	open_world("pid1::f0:entry { @ = quantize(arg0); }");
	for (size_t i = 0; i < sizeof value / sizeof *value; i++) {
		world_hit(&w, 0, (uint64_t)value[i]);
		want[aggregate_quantize_of(value[i])]++;
	}
	ck_assert_mem_eq(only_row(0)->cells, want, sizeof want);
	close_world();
}
END_TEST

/* The machine's way and the hot way end in the same rows. */
START_TEST(hot_ways_are_the_machines)
{
	open_world("pid1::f0:entry { @a = count(); }\n"
		   "pid1::f0:entry { @b[arg0] = count(); }\n"
		   "pid1::f0:entry { @c[probefunc] = count(); }\n"
		   "pid1::f1:entry { @a = count(); }\n"
		   "pid1::f2:entry { @b[arg0] = count(); }\n"
		   "pid1::f3:entry { @c[\"f0\"] = count(); }\n");
	for (uint64_t i = 0; i < 10; i++) {
		world_hit(&w, 0, i % 2);
		world_hit(&w, 1, 0);
		world_hit(&w, 2, i % 2);
		world_hit(&w, 3, 0);
	}
	ck_assert_int_eq(world_value(&w, 0, NULL), 20);
	ck_assert_uint_eq(world_rows(&w, 1), 2);
	ck_assert_int_eq(world_value(&w, 1, &(uint64_t){1}), 10);
	ck_assert_uint_eq(world_rows(&w, 2), 1);
	ck_assert_int_eq(world_text_value(&w, 2, "f0"), 20);
	close_world();
}
END_TEST

START_TEST(chained_sites_are_accounted_apart)
{
	open_world("pid1::f0:entry { @a = count(); }\n"
		   "pid1::f1:entry /arg0 == 1/ { @b = count(); }");
	w.site[0].next = (uint64_t)(uintptr_t)&w.site[1];
	world_hit(&w, 0, 1);
	world_hit(&w, 0, 2);
	ck_assert_int_eq(world_value(&w, 0, NULL), 2);
	ck_assert_int_eq(world_value(&w, 1, NULL), 1);
	ck_assert_uint_eq(world_account(&w, 0).executed, 2);
	ck_assert_uint_eq(world_account(&w, 1).executed, 2);
	ck_assert_uint_eq(world_account(&w, 1).recorded, 2);
	close_world();
}
END_TEST

/* -- Aggregations -- */

START_TEST(all_nine_aggregate)
{
	const struct probe_aggregation *a;
	uint64_t cells[AGGREGATE_CELLS_MAX];

	open_world("pid1::f0:entry { @0[1] = count(); @1[1] = sum(arg0);"
		   "@2[1] = avg(arg0); @3[1] = min(arg0); @4[1] = max(arg0);"
		   "@5[1] = stddev(arg0); @6[1] = quantize(arg0, 3);"
		   "@7[1] = lquantize(arg0, 0, 100, 10);"
		   "@8[1] = llquantize(arg0, 10, 0, 3, 10); }");
	for (uint64_t i = 0; i < 300; i++)
		world_hit(&w, 0, i * i - 100);
	a = probe_aggregations(w.program);
	for (uint32_t k = 0; k < w.program->aggregations.n; k++) {
		aggregate_init(&a[k], cells);
		for (int64_t i = 0; i < 300; i++)
			aggregate_update(&a[k], cells, i * i - 100,
					 a[k].how == PROBE_QUANTIZE ? 3 : 1);
		ck_assert_mem_eq(only_row(k)->cells, cells,
				 a[k].n_cells * sizeof *cells);
	}
	close_world();
}
END_TEST

START_TEST(rows_without_room_are_dropped)
{
	struct collect_geometry g = world_geometry();
	uint64_t n = 0;

	g.aggregation_size = 1024;
	world_open(&w,
		   "pid1::f0:entry { @[arg0] = count(); }\n"
		   "pid1::f1:entry { @q = quantize(arg0); }",
		   &g, 0);
	for (uint64_t i = 0; i < 100; i++)
		world_hit(&w, 0, i);
	n = world_account(&w, 0).recorded;
	ck_assert_uint_gt(n, 5);
	ck_assert_uint_lt(n, 30);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 100 - n);
	/* Keys that are there go on, and one that is larger never had room. */
	world_hit(&w, 0, 0);
	world_hit(&w, 1, 0);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){0}), 2);
	ck_assert_uint_eq(world_account(&w, 1).dropped, 1);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "aggsize"));
	close_world();
}
END_TEST

START_TEST(cleared_values_begin_again)
{
	struct hark_err err;

	open_world("pid1::f0:entry { @s[arg0 % 2] = sum(arg0);"
		   "@m[arg0 % 2] = max(arg0); @d = stddev(arg0);"
		   "@c[arg0 % 2] = count(); @i = min(arg0); }");
	for (uint64_t i = 1; i <= 10; i++)
		world_hit(&w, 0, i);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){0}), 30);
	ck_assert_int_eq(world_value(&w, 1, &(uint64_t){0}), 10);
	for (uint32_t k = 0; k < 5; k++)
		ck_assert_int_eq(board_clear(w.b, k, &err), 0);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){0}), 0);
	ck_assert_int_eq(world_value(&w, 1, &(uint64_t){0}), INT64_MIN);
	ck_assert_int_eq(world_value(&w, 4, NULL), INT64_MAX);
	world_hit(&w, 0, 4);
	world_hit(&w, 0, 6);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){0}), 10);
	ck_assert_int_eq(world_value(&w, 1, &(uint64_t){0}), 6);
	ck_assert_int_eq(world_value(&w, 4, NULL), 4);
	ck_assert_int_eq(aggregate_value(&probe_aggregations(w.program)[2],
					 only_row(2)->cells),
			 1);
	ck_assert_int_eq(board_clear(w.b, 1, &err), 0);
	world_hit(&w, 0, 2);
	ck_assert_int_eq(world_value(&w, 1, &(uint64_t){0}), 2);
	close_world();
}
END_TEST

/* Between printa() and clear() nothing is lost. */
START_TEST(clear_takes_only_what_was_shown)
{
	struct hark_err err;

	open_world("pid1::f0:entry { @c[1] = count(); @m[1] = min(arg0); }");
	world_hit(&w, 0, 50);
	world_drain(&w, &out, 0);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){1}), 1);
	world_hit(&w, 0, 20);
	ck_assert_int_eq(board_clear(w.b, 0, &err), 0);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){1}), 1);
	ck_assert_int_eq(world_value(&w, 1, &(uint64_t){1}), 20);
	world_hit(&w, 0, 10);
	ck_assert_int_eq(board_clear(w.b, 1, &err), 0);
	ck_assert_int_eq(world_value(&w, 1, &(uint64_t){1}), 10);
	world_hit(&w, 0, 30);
	ck_assert_int_eq(world_value(&w, 1, &(uint64_t){1}), 10);
	/* Not shown since the last drain: all of it goes. */
	world_drain(&w, &out, 0);
	world_hit(&w, 0, 5);
	ck_assert_int_eq(board_clear(w.b, 0, &err), 0);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){1}), 0);
	ck_assert_int_eq(board_clear(w.b, 1, &err), 0);
	ck_assert_int_eq(world_value(&w, 1, &(uint64_t){1}), INT64_MAX);
	close_world();
}
END_TEST

START_TEST(truncated_rows_come_back_when_they_change)
{
	static const int64_t keep[] = {2, -2, 0};
	static const uint64_t least[] = {8, 0, 10};
	struct hark_err err;

	for (unsigned k = 0; k < 3; k++) {
		open_world("pid1::f0:entry { @c[arg0] = sum(arg0);"
			   "@m[arg0] = max(arg0); }");
		for (uint64_t i = 0; i < 10; i++)
			world_hit(&w, 0, i);
		for (uint32_t a = 0; a < 2; a++) {
			ck_assert_int_eq(board_trunc(w.b, a, keep[k], &err), 0);
			ck_assert_uint_eq(world_rows(&w, a), k < 2 ? 2 : 0);
			if (k < 2)
				ck_assert_int_ge(world_value(&w, a, &least[k]),
						 0);
		}
		world_hit(&w, 0, 5);
		world_hit(&w, 0, 0); /* sum(0) is a change, too */
		for (uint32_t a = 0; a < 2; a++) {
			ck_assert_uint_eq(world_rows(&w, a), k == 0   ? 4
							     : k == 1 ? 3
								      : 2);
			ck_assert_int_eq(world_value(&w, a, &(uint64_t){5}), 5);
		}
		close_world();
	}
}
END_TEST

Suite *native_collect_suite(void)
{
	Suite *s = suite_create("native_collect");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, count_counts_each_hit);
	tcase_add_test(t, keys_are_what_the_script_says);
	tcase_add_test(t, hot_quantize_is_quantize);
	tcase_add_test(t, hot_ways_are_the_machines);
	tcase_add_test(t, chained_sites_are_accounted_apart);
	tcase_add_test(t, all_nine_aggregate);
	tcase_add_test(t, rows_without_room_are_dropped);
	tcase_add_test(t, cleared_values_begin_again);
	tcase_add_test(t, clear_takes_only_what_was_shown);
	tcase_add_test(t, truncated_rows_come_back_when_they_change);
	suite_add_tcase(s, t);
	return s;
}
