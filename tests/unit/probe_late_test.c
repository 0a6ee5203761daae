/* tests/unit/probe_late_test.c - what libraries that come later need: who may
 * mean them, where their trampolines lie, how their accounts are told. */
#include "probe/tally.h"
#include "site/space.h"
#include "site/watch.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* -- Who may mean one -- */

static bool is_forgiven(const char *module)
{
	const struct description d = {PROVIDER_PID, module, "f", "entry"};
	struct hark_err err;
	struct image *im;
	struct modules *m;
	bool is;

	ck_assert_int_eq(0, image_new(&im, &err));
	ck_assert_int_eq(0, modules_of_pid(im, getpid(), &m, &err));
	is = watch_forgives(&d, m);
	modules_free(m);
	image_free(im);
	return is;
}

START_TEST(files_and_patterns_may_come_later)
{
	ck_assert(is_forgiven("plugin.so"));
	ck_assert(is_forgiven("libnone.so.6"));
	ck_assert(is_forgiven("plug*"));
	ck_assert(is_forgiven("libc*")); /* there may be another one */
}
END_TEST

START_TEST(what_is_there_or_never_comes_does_not)
{
	ck_assert(!is_forgiven("libc.so.6"));
	ck_assert(!is_forgiven("a.out"));
	ck_assert(!is_forgiven("plugin"));
	ck_assert(!is_forgiven(""));
	ck_assert(!is_forgiven("linux-vdso.so.1"));
	ck_assert(!is_forgiven("[vdso]"));
}
END_TEST

/* -- Where -- */

static const char maps[] =
    "555555554000-555555556000 r-xp 00000000 08:01 1 /bin/a\n"
    "555556000000-555556003000 r-xp 00000000 00:00 0 \n"
    "7ffff7dd0000-7ffff7df0000 r-xp 00000000 08:01 2 /lib/b\n";

static uint64_t next_to(const struct space_own *own)
{
	const struct room_want w = {.next = 0x555555555000, .len = 64};
	struct hark_err err;
	struct room *r;
	uint64_t at = 0;

	ck_assert_int_eq(0, room_new(&r, &err));
	ck_assert_int_eq(0, space_of_maps(maps, own, r, &err));
	ck_assert(room_take(r, &w, &at, &err));
	room_free(r);
	return at;
}

START_TEST(own_pages_are_taken_but_no_neighbours)
{
	/* From the first address on that is not too near to the program; the
	 * kernel shows two mappings that touch as one. */
	const struct collect_range two[] = {{0x555555d56000, 0x1000},
					    {0x555556000000, 0x1000},
					    {0x555556001000, 0x2000}};
	const struct space_own none = {0}, own = {two + 1, 2}, all = {two, 3},
			       half = {two + 2, 1};
	uint64_t margin = 1 << 23, program = 0x555555556000;

	ck_assert_uint_eq(program + margin, next_to(&own));
	ck_assert_uint_eq(program + margin + 0x1000, next_to(&all));
	/* What is not all hark's own is somebody else's. */
	ck_assert_uint_ne(program + margin, next_to(&none));
	ck_assert_uint_ne(program + margin, next_to(&half));
}
END_TEST

/* -- Accounts -- */

static char told[256];

static void tell(void *ctx, const struct session_account *a)
{
	size_t n = strlen(told);

	(void)ctx;
	snprintf(told + n, sizeof told - n, "%s:%zu:%lu ", a->text[2], a->sites,
		 a->hits.executed);
}

START_TEST(accounts_of_one_name_are_summed_in_the_first_order)
{
	static const char *const names[] = {"z", "a", "a", "m", "a", "z"};
	struct tally t = {.visit = tell};

	told[0] = '\0';
	for (unsigned i = 0; i < 6; i++) {
		const struct session_account a = {
		    .text = {"pid", "lib", names[i], "entry"},
		    .sites = 1,
		    .hits = {.executed = 1u << i}};

		tally_add(&t, &a);
	}
	ck_assert_str_eq("", told);
	tally_end(&t);
	ck_assert_str_eq("z:2:33 a:3:22 m:1:8 ", told);
}
END_TEST

START_TEST(no_accounts_are_none)
{
	struct tally t = {.visit = tell};

	told[0] = '\0';
	tally_end(&t);
	ck_assert_str_eq("", told);
}
END_TEST

Suite *probe_late_suite(void);

Suite *probe_late_suite(void)
{
	Suite *s = suite_create("probe_late");
	TCase *t = tcase_create("late");

	tcase_add_test(t, files_and_patterns_may_come_later);
	tcase_add_test(t, what_is_there_or_never_comes_does_not);
	tcase_add_test(t, own_pages_are_taken_but_no_neighbours);
	tcase_add_test(t, accounts_of_one_name_are_summed_in_the_first_order);
	tcase_add_test(t, no_accounts_are_none);
	suite_add_tcase(s, t);
	return s;
}
