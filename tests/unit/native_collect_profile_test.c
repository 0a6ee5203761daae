/* tests/unit/native_collect_profile_test.c - ticks of a clock: which profile-N
 * fire, and what becomes of each. */
#include "native/native.h"
#include "native_collect_world.h"

enum { AT = 3584 };
#define CLOCK_NS 1000000ull

/* f0, f1, ... are fired by a clock: every so many ns. */
static void open_profiles(const char *script, const uint64_t *period, size_t n)
{
	struct collect_profile *all;

	open_world(script);
	all = (struct collect_profile *)(void *)((uint8_t *)w.plan + AT);
	w.plan->flags = COLLECT_TICKS;
	w.plan->period_ns = CLOCK_NS;
	w.plan->profiles = (struct collect_span){AT, n};
	for (size_t i = 0; i < n; i++) {
		w.site[i].kind = COLLECT_CLOCK;
		all[i] = (struct collect_profile){
		    (uint64_t)((uint8_t *)&w.site[i] - (uint8_t *)w.plan),
		    period[i]};
	}
}

static struct collect_area *own_area(void)
{
	return collect_area(w.plan, (uint64_t)pthread_self());
}

static void tick(uint64_t pc)
{
	const struct probe_frame f = {.pc = pc};

	collect_profile(own_area(), &f, 77);
}

START_TEST(each_fires_as_often_as_its_period_says)
{
	static const uint64_t period[] = {CLOCK_NS, CLOCK_NS, 10309278,
					  1000000000000};
	uint64_t n = 12345;

	open_profiles("pid1::f0:x { @a = count(); } pid1::f1:x { @b = count(); "
		      "} pid1::f2:x { @c = count(); } pid1::f3:x { @d = "
		      "count(); }",
		      period, 4);
	for (uint64_t i = 0; i < n; i++)
		tick(i);
	ck_assert_int_eq(world_value(&w, 0, NULL), (int64_t)n);
	ck_assert_int_eq(world_value(&w, 1, NULL), (int64_t)n);
	ck_assert_int_eq(world_value(&w, 2, NULL),
			 (int64_t)(n * CLOCK_NS / 10309278));
	ck_assert_uint_eq(world_account(&w, 3).executed, 0);
	close_world();
}
END_TEST

/* Those that nobody could see count as time, but fire nobody twice. */
START_TEST(ticks_that_passed_are_time)
{
	static const uint64_t period[] = {CLOCK_NS, 4 * CLOCK_NS};

	open_profiles("pid1::f0:x { @a = count(); } "
		      "pid1::f1:x { @b = count(); }",
		      period, 2);
	for (int i = 0; i < 100; i++) {
		collect_overran(own_area(), 3);
		tick(0);
	}
	ck_assert_int_eq(world_value(&w, 0, NULL), 100);
	ck_assert_int_eq(world_value(&w, 1, NULL), 100);
	collect_overran(own_area(), 1000);
	tick(0);
	ck_assert_int_eq(world_value(&w, 1, NULL), 101);
	close_world();
}
END_TEST

START_TEST(arguments_are_those_of_dtrace)
{
	static const uint64_t period[] = {CLOCK_NS, CLOCK_NS, CLOCK_NS};

	open_profiles("pid1::f0:x { trace(arg0); trace(arg1); trace(arg2); "
		      "trace(timestamp); trace(uregs[R_PC]); }"
		      "pid1::f1:x { @a[arg1] = count(); }"
		      "pid1::f2:x { @b[timestamp] = count(); }",
		      period, 3);
	tick(0x1234);
	tick(0x1234);
	tick(0x5678);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 3);
	ck_assert_uint_eq(nth(0, 0), 0);
	ck_assert_uint_eq(nth(0, 1), 0x1234);
	ck_assert_uint_eq(nth(0, 2), 0);
	ck_assert_uint_eq(nth(0, 3), 77);
	ck_assert_uint_eq(nth(2, 4), 0x5678);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){0x1234}), 2);
	ck_assert_int_eq(world_value(&w, 0, &(uint64_t){0x5678}), 1);
	ck_assert_int_eq(world_value(&w, 1, &(uint64_t){77}), 3);
	close_world();
}
END_TEST

/* A token of an instruction that has fired is that instruction's. */
START_TEST(tokens_are_left_alone)
{
	static const uint64_t period[] = {CLOCK_NS};
	struct collect_area *area;
	const struct probe_frame f = {.pc = 0x1234};

	open_profiles("pid1::f0:x { @a = count(); }", period, 1);
	area = own_area();
	area->token[1].pc = f.pc;
	area->token[1].state = native_state(f.gpr);
	area->n_tokens = 1;
	tick(0x1234);
	ck_assert_int_eq(world_value(&w, 0, NULL), 1);
	ck_assert_uint_eq(area->n_tokens, 1);
	ck_assert_uint_eq(area->busy, 0);
	close_world();
}
END_TEST

START_TEST(what_cannot_fire_is_accounted_for)
{
	static const uint64_t period[] = {CLOCK_NS, 3 * CLOCK_NS};

	open_profiles("pid1::f0:x { @a = count(); } "
		      "pid1::f1:x { @b = count(); }",
		      period, 2);
	for (int i = 0; i < 9; i++)
		collect_profile_recursed(own_area());
	for (int i = 0; i < 30; i++)
		collect_profile_nobody(w.plan);
	ck_assert_uint_eq(world_account(&w, 0).executed, 39);
	ck_assert_uint_eq(world_account(&w, 0).recursed, 9);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 30);
	ck_assert_uint_eq(world_account(&w, 1).executed, 13);
	ck_assert_uint_eq(world_account(&w, 1).recursed, 3);
	ck_assert_uint_eq(world_account(&w, 1).dropped, 10);
	close_world();
}
END_TEST

/* Clauses that take longer than a period: the program must get on. */
START_TEST(slow_clauses_let_ticks_pass)
{
	static const uint64_t period[] = {CLOCK_NS};
	struct collect_area *area;
	int passed = 0;

	open_profiles("pid1::f0:x { @a = count(); }", period, 1);
	area = own_area();
	ck_assert(!collect_passes(area));
	collect_took(area, 10 * CLOCK_NS); /* that may have been chance */
	ck_assert(!collect_passes(area));
	collect_took(area, 10 * CLOCK_NS);
	while (collect_passes(area))
		passed++;
	ck_assert_int_eq(passed, 30);
	ck_assert_ptr_nonnull(strstr(
	    world_reasons(&w), "30 ticks were let pass, for clauses of "));
	ck_assert_uint_eq(world_account(&w, 0).executed, 0);
	close_world();
}
END_TEST

Suite *native_collect_profile_suite(void)
{
	Suite *s = suite_create("native_collect_profile");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, each_fires_as_often_as_its_period_says);
	tcase_add_test(t, ticks_that_passed_are_time);
	tcase_add_test(t, arguments_are_those_of_dtrace);
	tcase_add_test(t, tokens_are_left_alone);
	tcase_add_test(t, what_cannot_fire_is_accounted_for);
	tcase_add_test(t, slow_clauses_let_ticks_pass);
	suite_add_tcase(s, t);
	return s;
}
