/* tests/unit/probe_namesake_test.c - addresses of one name are one key. */
#include "native_collect_world.h"
#include "probe/namesake.h"

#include <stdio.h>

static unsigned asked;

/* Functions have 16 bytes, modules 256; the last one has no name. */
static void name(void *ctx, enum probe_kind how, uint64_t addr, char *to,
		 size_t size)
{
	(void)ctx;
	asked++;
	if (addr >= 0x1000)
		snprintf(to, size, "0x%lx", (unsigned long)addr);
	else
		snprintf(to, size, "%lx",
			 (unsigned long)(how == PROBE_MODULE ? addr / 256
							     : addr / 16));
}

static uint64_t find(struct namesake *n, enum probe_kind how, uint64_t addr)
{
	struct hark_err err;

	ck_assert_int_eq(0, namesake_find(n, how, &addr, &err));
	return addr;
}

START_TEST(the_first_of_a_name_stands_for_all)
{
	struct namesake *n;
	struct hark_err err;

	ck_assert_int_eq(0, namesake_new(name, NULL, &n, &err));
	ck_assert_uint_eq(find(n, PROBE_FUNCTION, 0x125), 0x125);
	ck_assert_uint_eq(find(n, PROBE_FUNCTION, 0x12f), 0x125);
	ck_assert_uint_eq(find(n, PROBE_FUNCTION, 0x130), 0x130);
	ck_assert_uint_eq(find(n, PROBE_MODULE, 0x130), 0x130);
	ck_assert_uint_eq(find(n, PROBE_MODULE, 0x125), 0x130);
	ck_assert_uint_eq(find(n, PROBE_FUNCTION, 0x1001), 0x1001);
	ck_assert_uint_eq(find(n, PROBE_FUNCTION, 0x1002), 0x1002);
	asked = 0;
	ck_assert_uint_eq(find(n, PROBE_FUNCTION, 0x12f), 0x125);
	ck_assert_uint_eq(find(n, PROBE_MODULE, 0x125), 0x130);
	ck_assert_uint_eq(asked, 0);
	namesake_free(n);
	namesake_free(NULL);
}
END_TEST

START_TEST(rows_of_one_name_are_one_row)
{
	struct namesake *n;
	struct hark_err err;

	open_world("pid1::f0:entry { @a[ufunc(arg0)] = count(); "
		   "@b[arg0] = count(); "
		   "@c[\"text\", umod(arg0), 7] = min(arg0); "
		   "@d[uaddr(arg0)] = count(); }");
	ck_assert_int_eq(0, namesake_new(name, NULL, &n, &err));
	board_name_by(w.b, n);
	for (uint64_t i = 0; i < 64; i++)
		world_hit(&w, 0, 0x100 + i);
	world_hit(&w, 0, 0x234);
	ck_assert_uint_eq(world_rows(&w, 0), 5);
	ck_assert_uint_eq(world_rows(&w, 1), 65);
	ck_assert_uint_eq(world_rows(&w, 2), 2);
	ck_assert_uint_eq(world_rows(&w, 3), 65);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){0x100}), 16);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){0x130}), 16);
	ck_assert_int_eq(board_clear(w.b, 0, &err), 0);
	for (uint64_t i = 0; i < 3; i++)
		world_hit(&w, 0, 0x10d + i);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){0x100}), 3);
	ck_assert_int_eq(board_trunc(w.b, 0, 1, &err), 0);
	ck_assert_uint_eq(world_rows(&w, 0), 1);
	world_drain(&w, &out, 1);
	close_world();
	namesake_free(n);
}
END_TEST

Suite *probe_namesake_suite(void)
{
	Suite *s = suite_create("probe/namesake");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, the_first_of_a_name_stands_for_all);
	tcase_add_test(t, rows_of_one_name_are_one_row);
	suite_add_tcase(s, t);
	return s;
}
