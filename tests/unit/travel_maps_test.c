/* tests/unit/travel_maps_test.c - what was mapped where, when, and how. */
#include "travel/maps.h"

#include <check.h>
#include <sys/mman.h>

enum { VERSION = 3, PAGE = 4096, LOW = 0x10000, HIGH = 0x20000 };
enum { RW = PROT_READ | PROT_WRITE };
static const uint64_t twin = LOW + (1ull << 32);

static uint64_t now; /* counts of thread 1, one an event */

static void add(struct maps *m, const struct record_event *e)
{
	struct hark_err err = {0};

	ck_assert_msg(maps_add(m, e, &err) == 0, "%s", err.text);
}

static void map(struct maps *m, uint64_t start, uint64_t end, uint32_t prot,
		uint32_t flags)
{
	add(m, &(struct record_event){.type = WIRE_REC_MAP,
				      .bytes = (const uint8_t *)"",
				      .map = {.start = start,
					      .end = end,
					      .prot = prot,
					      .flags = flags,
					      .count = ++now,
					      .thread = 1}});
}

static void unmap(struct maps *m, uint64_t start, uint64_t end)
{
	add(m, &(struct record_event){.type = WIRE_REC_UNMAP,
				      .unmap = {.start = start,
						.end = end,
						.count = ++now,
						.thread = 1}});
}

static void protect(struct maps *m, uint64_t start, uint64_t end, uint32_t prot,
		    uint8_t info)
{
	add(m, &(struct record_event){.type = WIRE_REC_PROT,
				      .info = info,
				      .prot = {.start = start,
					       .end = end,
					       .prot = prot,
					       .count = ++now,
					       .thread = 1}});
}

static struct maps *new_maps(unsigned version)
{
	struct maps *m = maps_new(version);

	now = 0;
	ck_assert_ptr_nonnull(m);
	return m;
}

static int is_past(void *ctx, uint32_t thread, uint64_t count, uint32_t pc)
{
	(void)thread;
	(void)pc;
	return count <= *(const uint64_t *)ctx;
}

/* Those after so many events. */
static const struct map *at(struct maps *m, uint64_t moment, unsigned want)
{
	struct hark_err err = {0};
	const struct map *all;
	unsigned n;

	ck_assert_int_eq(maps_at(m, is_past, &moment, &all, &n, &err), 0);
	ck_assert_uint_eq(n, want);
	return all;
}

static int count_change(void *ctx, const struct maps_change *c,
			struct hark_err *err)
{
	(void)c;
	(void)err;
	++*(unsigned *)ctx;
	return 0;
}

static unsigned n_changes(struct maps *m)
{
	struct hark_err err = {0};
	unsigned n = 0;

	ck_assert_int_eq(maps_changes(m, count_change, &n, &err), 0);
	return n;
}

START_TEST(mprotect_splits_a_mapping)
{
	struct maps *m = new_maps(VERSION);
	const struct map *all;

	map(m, LOW, HIGH, PROT_NONE, MAP_PRIVATE);
	protect(m, LOW + PAGE, LOW + (2 * PAGE), RW, 0);
	all = at(m, 1, 1);
	ck_assert_uint_eq(all[0].prot, PROT_NONE);
	all = at(m, 2, 3);
	ck_assert_uint_eq(all[0].prot, PROT_NONE);
	ck_assert_uint_eq(all[1].prot, RW);
	ck_assert_uint_eq(all[1].start, LOW + PAGE);
	ck_assert_uint_eq(all[1].end, LOW + (2 * PAGE));
	ck_assert_uint_eq(all[1].offset, PAGE);
	ck_assert_uint_eq(all[2].prot_ever, PROT_NONE);
	ck_assert_uint_eq(all[2].end, HIGH);
	maps_free(m);
}
END_TEST

START_TEST(what_was_accessible_once_is_remembered)
{
	struct maps *m = new_maps(VERSION);
	const struct map *all;

	map(m, LOW, HIGH, RW, MAP_PRIVATE);
	protect(m, LOW, HIGH, PROT_READ, 0);
	protect(m, LOW, HIGH, PROT_NONE, 0);
	all = at(m, 3, 1);
	ck_assert_uint_eq(all[0].prot, PROT_NONE);
	ck_assert_uint_eq(all[0].prot_ever, RW);
	maps_free(m);
}
END_TEST

START_TEST(a_failed_mprotect_may_have_changed_its_range)
{
	struct maps *m = new_maps(VERSION);
	const struct map *all;

	map(m, LOW, HIGH, PROT_NONE, MAP_PRIVATE);
	protect(m, LOW, HIGH + PAGE, RW, WIRE_PROT_PART);
	all = at(m, 2, 1);
	ck_assert_uint_eq(all[0].prot, PROT_NONE);
	ck_assert_uint_eq(all[0].prot_ever, RW);
	maps_free(m);
}
END_TEST

START_TEST(mprotect_of_nothing_maps_nothing)
{
	struct maps *m = new_maps(VERSION);

	protect(m, LOW, HIGH, RW, 0);
	at(m, 1, 0);
	maps_free(m);
}
END_TEST

START_TEST(older_recordings_do_not_say_what_was_never_accessible)
{
	struct maps *m = new_maps(VERSION - 1);

	map(m, LOW, HIGH, PROT_NONE, MAP_PRIVATE);
	ck_assert_uint_eq(at(m, 1, 1)[0].prot_ever, RW | PROT_EXEC);
	ck_assert_int_eq(maps_has_alias(m, twin, 8), 1);
	maps_free(m);
}
END_TEST

START_TEST(reserved_space_is_no_alias_until_it_is_accessible)
{
	struct maps *m = new_maps(VERSION);

	map(m, LOW, HIGH, PROT_NONE, MAP_PRIVATE);
	ck_assert_int_eq(maps_has_alias(m, twin, 8), 0);
	protect(m, LOW + PAGE, HIGH, PROT_READ, 0);
	ck_assert_int_eq(maps_has_alias(m, twin, 8), 0);
	ck_assert_int_eq(maps_has_alias(m, twin + PAGE, 8), 1);
	maps_free(m);
}
END_TEST

START_TEST(free_space_that_is_mapped_held_nothing)
{
	struct maps *m = new_maps(VERSION);

	map(m, LOW, HIGH, RW, MAP_PRIVATE);
	map(m, HIGH, HIGH + PAGE, RW, MAP_PRIVATE | MAP_FIXED_NOREPLACE);
	ck_assert_uint_eq(n_changes(m), 0);
	maps_free(m);
}
END_TEST

START_TEST(memory_that_is_mapped_over_or_unmapped_is_gone)
{
	struct maps *m = new_maps(VERSION);

	map(m, LOW, HIGH, RW, MAP_PRIVATE);
	map(m, LOW, LOW + PAGE, RW, MAP_PRIVATE | MAP_FIXED);
	ck_assert_uint_eq(n_changes(m), 1);
	unmap(m, LOW, HIGH);
	ck_assert_uint_eq(n_changes(m), 2);
	maps_free(m);
}
END_TEST

/* The main stack grows where no mapping is known. */
START_TEST(a_fixed_mapping_where_nothing_is_known_is_a_change)
{
	struct maps *m = new_maps(VERSION);

	map(m, LOW, HIGH, RW, MAP_PRIVATE | MAP_FIXED);
	ck_assert_uint_eq(n_changes(m), 1);
	maps_free(m);
}
END_TEST

START_TEST(reserved_space_held_nothing)
{
	struct maps *m = new_maps(VERSION);

	map(m, LOW, HIGH, PROT_NONE, MAP_PRIVATE);
	map(m, LOW, LOW + PAGE, RW, MAP_PRIVATE | MAP_FIXED);
	unmap(m, LOW + PAGE, HIGH);
	ck_assert_uint_eq(n_changes(m), 0);
	map(m, LOW, LOW + PAGE, RW, MAP_PRIVATE | MAP_FIXED);
	ck_assert_uint_eq(n_changes(m), 1);
	maps_free(m);
}
END_TEST

START_TEST(space_that_was_accessible_is_no_reserve)
{
	struct maps *m = new_maps(VERSION);

	map(m, LOW, HIGH, PROT_NONE, MAP_PRIVATE);
	protect(m, LOW, LOW + PAGE, RW, 0);
	protect(m, LOW, LOW + PAGE, PROT_NONE, 0);
	unmap(m, LOW, LOW + PAGE);
	ck_assert_uint_eq(n_changes(m), 1);
	maps_free(m);
}
END_TEST

Suite *travel_maps_suite(void);
Suite *travel_maps_suite(void)
{
	Suite *s = suite_create("travel_maps");
	TCase *c = tcase_create("travel_maps");

	tcase_add_test(c, mprotect_splits_a_mapping);
	tcase_add_test(c, what_was_accessible_once_is_remembered);
	tcase_add_test(c, a_failed_mprotect_may_have_changed_its_range);
	tcase_add_test(c, mprotect_of_nothing_maps_nothing);
	tcase_add_test(c,
		       older_recordings_do_not_say_what_was_never_accessible);
	tcase_add_test(c, reserved_space_is_no_alias_until_it_is_accessible);
	tcase_add_test(c, free_space_that_is_mapped_held_nothing);
	tcase_add_test(c, memory_that_is_mapped_over_or_unmapped_is_gone);
	tcase_add_test(c, a_fixed_mapping_where_nothing_is_known_is_a_change);
	tcase_add_test(c, reserved_space_held_nothing);
	tcase_add_test(c, space_that_was_accessible_is_no_reserve);
	suite_add_tcase(s, c);
	return s;
}
