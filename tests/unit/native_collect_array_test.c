/* tests/unit/native_collect_array_test.c - what one thread's hits remember:
 * variables and arrays. */
#include "inside/sys.h"
#include "native_collect_world.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

START_TEST(variables_last_as_long_as_they_should)
{
	open_world("int g; self int s; this int t; string n; self string sn;"
		   "pid1::f0:entry { g += arg0; self->s += arg0;"
		   "this->t += arg0; trace(this->t); n = strjoin(n, \"x\");"
		   "self->sn = n; }"
		   "pid1::f0:entry { this->t++; trace(this->t); }"
		   "pid1::f1:entry { trace(g); trace(self->s); trace(n);"
		   "trace(self->sn); }");
	world_hit(&w, 0, 5);
	world_hit(&w, 0, 6);
	world_hit(&w, 1, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 5);
	ck_assert_uint_eq(out.at[0].number, 5);
	ck_assert_uint_eq(out.at[1].number, 6);
	ck_assert_uint_eq(out.at[2].number, 6);
	ck_assert_uint_eq(out.at[3].number, 7);
	ck_assert_uint_eq(out.at[4].number, 11);
	ck_assert_uint_eq(*(uint64_t *)(void *)(out.at[4].bytes + 24), 11);
	ck_assert_str_eq((char *)out.at[4].bytes + 32 + 8 + 4, "xx");
	close_world();
}
END_TEST

static void *use_self(void *ctx)
{
	(void)ctx;
	world_hit(&w, 0, 3);
	collect_thread_ends(w.plan, sys_fs_base());
	return NULL;
}

START_TEST(an_area_is_used_again_but_not_its_variables)
{
	open_world("self int s; self int a[int];"
		   "pid1::f0:entry { trace(self->s); self->s += arg0;"
		   "trace(self->a[1]); self->a[1] = arg0; @ = count(); }");
	for (int i = 0; i < 100; i++)
		in_thread(use_self);
	ck_assert_int_eq(world_value(&w, 0, NULL), 100);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 100);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 100);
	for (size_t i = 0; i < out.n; i++) {
		ck_assert_uint_eq(out.at[i].number, 0);
		ck_assert_uint_eq(*(uint64_t *)(void *)(out.at[i].bytes + 24),
				  0);
		ck_assert_uint_eq(out.at[i].record.area, 0);
	}
	ck_assert_uint_eq(((struct collect_board *)(void *)w.board)->high, 1);
	close_world();
}
END_TEST

START_TEST(arrays_hold_numbers_and_texts)
{
	open_world("int a[int, string]; string b[int];"
		   "pid1::f0:entry { a[arg0, \"k\"] = arg0 + 1;"
		   "b[arg0] = strjoin(\"t\", lltostr(arg0)); }"
		   "pid1::f1:entry { trace(a[arg0, \"k\"]); trace(b[arg0]); }"
		   "pid1::f2:entry { a[arg0, \"k\"] = 0; b[arg0] = NULL; }");
	for (uint64_t i = 0; i < 500; i++)
		world_hit(&w, 0, i);
	for (uint64_t i = 0; i < 500; i += 2)
		world_hit(&w, 2, i);
	for (uint64_t i = 0; i < 500; i++)
		world_hit(&w, 1, i);
	world_drain(&w, &out, 1);
	for (uint64_t i = 0; i < 500; i++) {
		char text[16];

		ck_assert_uint_eq(out.at[i].number, i % 2 ? i + 1 : 0);
		snprintf(text, sizeof text, "t%d", (int)i);
		ck_assert_str_eq((char *)out.at[i].bytes + 24 + 4,
				 i % 2 ? text : "");
	}
	close_world();
}
END_TEST

START_TEST(a_full_array_drops_and_recovers)
{
	struct collect_geometry g = world_geometry();
	uint64_t n;

	g.array_size = 8192;
	world_open(&w,
		   "int a[int]; pid1::f0:entry { a[arg0] = 1; }"
		   "pid1::f1:entry { a[arg0] = 0; }",
		   &g, 0);
	for (uint64_t i = 0; i < 1000; i++)
		world_hit(&w, 0, i);
	n = world_account(&w, 0).recorded;
	ck_assert_uint_gt(n, 80);
	ck_assert_uint_lt(n, 128);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 1000 - n);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "dynvarsize"));
	world_hit(&w, 1, 0);
	world_hit(&w, 0, 5000);
	ck_assert_uint_eq(world_account(&w, 0).recorded, n + 1);
	close_world();
}
END_TEST

static void *fill_self(void *ctx)
{
	(void)ctx;
	for (uint64_t i = 0; i < 50; i++)
		world_hit(&w, 0, i);
	collect_thread_ends(w.plan, sys_fs_base());
	return NULL;
}

START_TEST(arrays_of_dead_threads_are_swept)
{
	struct collect_geometry g = world_geometry();

	g.array_size = 8192;
	world_open(&w, "self int a[int]; pid1::f0:entry { self->a[arg0] = 1; }",
		   &g, 0);
	for (int i = 0; i < 40; i++)
		in_thread(fill_self);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 40 * 50);
	close_world();
}
END_TEST

START_TEST(a_lock_of_the_dead_is_given_up)
{
	struct collect_board *board;
	struct timespec from, to;

	open_world("int a[int]; pid1::f0:entry { a[arg0] = 1; }");
	board = (struct collect_board *)(void *)w.board;
	world_hit(&w, 0, 1);
	board->arrays.word = 77;
	for (int i = 0; i < 40; i++)
		world_hit(&w, 0, 1);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 10000; i++)
		world_hit(&w, 0, 1);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ck_assert_int_lt((to.tv_sec - from.tv_sec) * 1000 +
			     (to.tv_nsec - from.tv_nsec) / 1000000,
			 1000);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 10040);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "waited too long"));
	board->arrays.word = 0;
	world_hit(&w, 0, 1);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 2);
	close_world();
}
END_TEST

Suite *native_collect_array_suite(void)
{
	Suite *s = suite_create("native_collect_array");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, variables_last_as_long_as_they_should);
	tcase_add_test(t, an_area_is_used_again_but_not_its_variables);
	tcase_add_test(t, arrays_hold_numbers_and_texts);
	tcase_add_test(t, a_full_array_drops_and_recovers);
	tcase_add_test(t, arrays_of_dead_threads_are_swept);
	tcase_add_test(t, a_lock_of_the_dead_is_given_up);
	suite_add_tcase(s, t);
	return s;
}
