/* tests/unit/profile_calls_test.c - functions, and who calls whom. */
#include "profile/calls.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { MAIN, A, B, A_LATER, GUESS, OTHER_A, FRAMES };

static const struct stacks_frame frames[FRAMES] = {
    [MAIN] = {.name = "main", .module = "prog"},
    [A] = {.name = "a", .module = "prog", .file = "a.c", .line = 1},
    [B] = {.name = "b", .module = "prog"},
    [A_LATER] = {.name = "a", .module = "prog", .file = "a.c", .line = 9},
    [GUESS] = {.name = "a", .module = "prog", .is_guess = true},
    [OTHER_A] = {.name = "a", .module = "lib"},
};
static const struct stacks_thread thread = {.name = "t"};

/* A tree under construction. */
struct world {
	struct stacks_node nodes[256];
	struct stacks_sample samples[256];
	struct stacks s;
};

static void begin(struct world *w)
{
	memset(w, 0, sizeof *w);
	w->s = (struct stacks){.title = "",
			       .frames = frames,
			       .n_frames = FRAMES,
			       .nodes = w->nodes,
			       .n_nodes = 1,
			       .threads = &thread,
			       .n_threads = 1,
			       .samples = w->samples};
}

static uint32_t under(struct world *w, uint32_t parent, uint32_t frame)
{
	for (uint32_t i = 1; i < w->s.n_nodes; i++)
		if (w->nodes[i].parent == parent && w->nodes[i].frame == frame)
			return i;
	w->nodes[w->s.n_nodes] = (struct stacks_node){parent, frame};
	return (uint32_t)w->s.n_nodes++;
}

/* A stack of frames, ended by -1. */
static void sample(struct world *w, uint64_t weight, const int *stack)
{
	uint32_t node = 0;

	for (; *stack >= 0; stack++)
		node = under(w, node, (uint32_t)*stack);
	w->samples[w->s.n_samples++] =
	    (struct stacks_sample){.node = node, .weight = weight};
}
#define SAMPLE(w, weight, ...) \
	sample((w), (weight), (const int[]){__VA_ARGS__, -1})

static const struct calls_function *
function(const struct calls *c, const char *name, const char *module)
{
	for (size_t i = 0; i < c->n_functions; i++)
		if (strcmp(c->functions[i].name, name) == 0 &&
		    strcmp(c->functions[i].module, module) == 0)
			return &c->functions[i];
	ck_abort_msg("no function %s", name);
}

static const char *name_of(const struct calls *c, uint32_t node)
{
	return c->functions[c->nodes[node].function].name;
}

START_TEST(calls_count_a_function_once_a_sample)
{
	struct world w;
	struct hark_err err;
	struct calls c;

	begin(&w);
	SAMPLE(&w, 1, MAIN, A, B, A);
	SAMPLE(&w, 2, MAIN, A, B);
	SAMPLE(&w, 4, MAIN, A, A_LATER, A);
	SAMPLE(&w, 8, MAIN, OTHER_A);
	ck_assert_int_eq(0, calls_init(&c, &w.s, CALLS_DOWN, 0, &err));
	ck_assert_uint_eq(15, c.total);
	ck_assert_uint_eq(15, function(&c, "main", "prog")->total);
	ck_assert_uint_eq(0, function(&c, "main", "prog")->self);
	ck_assert_uint_eq(7, function(&c, "a", "prog")->total);
	ck_assert_uint_eq(5, function(&c, "a", "prog")->self);
	ck_assert_uint_eq(3, function(&c, "b", "prog")->total);
	ck_assert_uint_eq(2, function(&c, "b", "prog")->self);
	ck_assert_uint_eq(8, function(&c, "a", "lib")->self);
	ck_assert_str_eq("lib", c.functions[c.order[0]].module);
	ck_assert_str_eq("a", c.functions[c.order[1]].name);
	calls_fini(&c);
}
END_TEST

START_TEST(calls_of_a_function_to_itself_are_one)
{
	struct world w;
	struct hark_err err;
	const struct calls_node *n;
	struct calls c;

	begin(&w);
	SAMPLE(&w, 1, MAIN, A, A_LATER, A, B);
	SAMPLE(&w, 1, MAIN, A, A_LATER);
	SAMPLE(&w, 1, MAIN, A, A_LATER, A, A, A, B);
	ck_assert_int_eq(0, calls_init(&c, &w.s, CALLS_DOWN, 0, &err));
	n = &c.nodes[c.nodes[c.nodes[0].first].first];
	ck_assert_str_eq("a", c.functions[n->function].name);
	ck_assert_uint_eq(3, n->total);
	ck_assert_uint_eq(1, n->self);
	ck_assert_uint_eq(2, n->least);
	ck_assert_uint_eq(5, n->most);
	ck_assert_uint_eq(0, n->next);
	ck_assert_str_eq("b", name_of(&c, n->first));
	ck_assert_uint_eq(2, c.nodes[n->first].total);
	ck_assert_uint_eq(0, c.nodes[n->first].next);
	calls_fini(&c);
}
END_TEST

START_TEST(calls_that_are_guessed_stay_apart)
{
	struct world w;
	struct hark_err err;
	struct calls c;
	uint32_t first;

	begin(&w);
	SAMPLE(&w, 1, MAIN, GUESS);
	SAMPLE(&w, 2, MAIN, A);
	ck_assert_int_eq(0, calls_init(&c, &w.s, CALLS_DOWN, 0, &err));
	first = c.nodes[c.nodes[0].first].first;
	ck_assert(!c.nodes[first].is_guess);
	ck_assert(c.nodes[c.nodes[first].next].is_guess);
	ck_assert_uint_eq(3, function(&c, "a", "prog")->self);
	calls_fini(&c);
}
END_TEST

START_TEST(calls_below_the_share_are_left_out_but_counted)
{
	struct world w;
	struct hark_err err;
	struct calls c;
	uint32_t first;

	begin(&w);
	SAMPLE(&w, 99, MAIN, A);
	SAMPLE(&w, 1, MAIN, B);
	ck_assert_int_eq(0, calls_init(&c, &w.s, CALLS_DOWN, 0.02, &err));
	first = c.nodes[c.nodes[0].first].first;
	ck_assert_uint_eq(100, c.nodes[c.nodes[0].first].total);
	ck_assert_str_eq("a", name_of(&c, first));
	ck_assert_uint_eq(0, c.nodes[first].next);
	calls_fini(&c);
}
END_TEST

/* Of each function where samples ended, its callers; weights split. */
START_TEST(calls_the_other_way_round)
{
	struct world w;
	struct hark_err err;
	struct calls c;
	uint32_t b, a, m;

	begin(&w);
	SAMPLE(&w, 1, MAIN, B);
	SAMPLE(&w, 2, MAIN, A, B);
	SAMPLE(&w, 4, MAIN, A, A, B);
	SAMPLE(&w, 3, MAIN, A);
	SAMPLE(&w, 5, MAIN);
	ck_assert_int_eq(0, calls_init(&c, &w.s, CALLS_UP, 0, &err));
	b = c.nodes[0].first;
	ck_assert_str_eq("b", name_of(&c, b));
	ck_assert_uint_eq(7, c.nodes[b].total);
	a = c.nodes[b].first;
	ck_assert_str_eq("a", name_of(&c, a));
	ck_assert_uint_eq(6, c.nodes[a].total);
	ck_assert_uint_eq(1, c.nodes[a].least);
	ck_assert_uint_eq(2, c.nodes[a].most);
	m = c.nodes[a].next;
	ck_assert_str_eq("main", name_of(&c, m));
	ck_assert_uint_eq(1, c.nodes[m].total);
	ck_assert_uint_eq(1, c.nodes[m].self); /* nobody called it */
	m = c.nodes[a].first;
	ck_assert_str_eq("main", name_of(&c, m));
	ck_assert_uint_eq(6, c.nodes[m].self);
	m = c.nodes[b].next;
	ck_assert_str_eq("main", name_of(&c, m));
	ck_assert_uint_eq(5, c.nodes[m].total);
	ck_assert_uint_eq(0, c.nodes[m].first);
	a = c.nodes[m].next;
	ck_assert_str_eq("a", name_of(&c, a));
	ck_assert_uint_eq(3, c.nodes[a].total);
	ck_assert_uint_eq(0, c.nodes[a].next);
	calls_fini(&c);
}
END_TEST

START_TEST(calls_of_nothing_are_none)
{
	struct world w;
	struct hark_err err;
	struct calls c;

	begin(&w);
	ck_assert_int_eq(
	    0, calls_init(&c, &w.s, _i == 0 ? CALLS_DOWN : CALLS_UP, 0, &err));
	ck_assert_uint_eq(0, c.total);
	ck_assert_uint_eq(0, c.nodes[0].first);
	calls_fini(&c);
}
END_TEST

Suite *profile_calls_suite(void)
{
	Suite *s = suite_create("profile_calls");
	TCase *t = tcase_create("calls");

	tcase_add_test(t, calls_count_a_function_once_a_sample);
	tcase_add_test(t, calls_of_a_function_to_itself_are_one);
	tcase_add_test(t, calls_that_are_guessed_stay_apart);
	tcase_add_test(t, calls_below_the_share_are_left_out_but_counted);
	tcase_add_test(t, calls_the_other_way_round);
	tcase_add_loop_test(t, calls_of_nothing_are_none, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
