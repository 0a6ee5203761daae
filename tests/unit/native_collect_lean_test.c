/* tests/unit/native_collect_lean_test.c - clauses that only reckon do what the
 * machine does (L1).
 *
 * Each script is run twice with the same hits: as collect_lean.c decodes it,
 * and by the machine. All rows, all variables and the accounts must be the same
 * in the end. Time stands still at each hit. */
#include "native_collect_world.h"
#include "script/aggregate.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum {
	HITS = 400,
	SITES = 3, /* f0, f1: entry; f2: return */
	ROWS_MAX = 1 << 16,
};

/* What is left of a run. */
struct left {
	struct collect_account account[SITES];
	uint64_t numbers[256];
	uint64_t n_numbers;
	uint64_t cells[ROWS_MAX];
	uint64_t n_cells;
};

static uint64_t state;

static uint64_t number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Small ones, those at the edges, and any. */
static uint64_t argument(void)
{
	static const uint64_t edge[] = {
	    0,		1,	   UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN,
	    0x7fffffff, 0x80000000};

	switch (number() % 3) {
	case 0:
		return number() % 8;
	case 1:
		return edge[number() % (sizeof edge / sizeof *edge)];
	default:
		return number();
	}
}

static struct collect_way *ways(const struct collect_layout *l)
{
	return (struct collect_way *)(void *)(w.own + l->ways);
}

/* At hit k it is so late: as long as a second has not passed since. False: it
 * has. */
static bool hit_at(unsigned k)
{
	static uint64_t stack[16];
	struct probe_frame f = {0};
	uint64_t begin = __builtin_ia32_rdtsc();

	w.plan->clock = (struct collect_clock){
	    .base_tsc = begin, .base_ns = 1000 + k * 37ULL, .mult = 1};
	for (unsigned r = 0; r < 16; r++) {
		f.gpr[r] = argument();
		stack[r] = argument();
	}
	f.gpr[4] = (uint64_t)(uintptr_t)stack;
	f.pc = w.site[k % SITES].pc;
	world_fire(&w, (unsigned)(number() % SITES), &f);
	return __builtin_ia32_rdtsc() - begin < 1ULL << 32;
}

static void keep_numbers(struct left *left, const uint8_t *from, uint64_t n)
{
	ck_assert_uint_lt(left->n_numbers + n, 256);
	memcpy(left->numbers + left->n_numbers, from, n * sizeof(uint64_t));
	left->n_numbers += n;
}

static void keep_rows(struct left *left, uint32_t aggregation)
{
	uint32_t n_cells = probe_aggregations(w.program)[aggregation].n_cells;
	struct hark_err err;
	struct show_row *rows;
	size_t n;

	ck_assert_int_eq(board_rows(w.b, aggregation, &rows, &n, &err), 0);
	left->cells[left->n_cells++] = n;
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_lt(left->n_cells + n_cells, ROWS_MAX);
		memcpy(left->cells + left->n_cells, rows[i].cells,
		       n_cells * sizeof(uint64_t));
		left->n_cells += n_cells;
	}
}

static void keep(struct left *left, const struct collect_layout *l)
{
	const struct probe_program *p = w.program;

	for (unsigned i = 0; i < SITES; i++)
		left->account[i] = world_account(&w, i);
	keep_numbers(left, w.board + l->numbers, p->n_slots[PROBE_GLOBAL][0]);
	keep_numbers(left, w.own + l->self_numbers, p->n_slots[PROBE_SELF][0]);
	keep_numbers(left, w.own + l->this_numbers, p->n_slots[PROBE_THIS][0]);
	for (uint32_t i = 0; i < p->aggregations.n; i++)
		keep_rows(left, i);
}

/* The machine is to run what could be lean. */
static void take_machine(const struct collect_layout *l)
{
	for (unsigned i = 0; i < SITES; i++) {
		ways(l)[i].uses = collect_uses(
		    w.program, collect_at(w.plan, w.site[i].clauses.offset),
		    w.site[i].clauses.n);
		ways(l)[i].how = SLOT_GENERAL;
	}
}

/* False: time has passed, it is to be done once more. */
static bool run_once(const char *script, const struct collect_geometry *g,
		     bool is_lean, struct left *left)
{
	struct collect_layout l;
	struct hark_err err;
	bool in_time = true;

	memset(left, 0, sizeof *left);
	world_open(&w, script, g, 0);
	collect_layout(&w.plan->geometry, w.program, &l);
	if (!is_lean)
		take_machine(&l);
	state = 88172645463325252ULL;
	for (unsigned k = 0; k < HITS; k++) {
		in_time &= hit_at(k);
		/* Rows that are gone come back when they change. */
		for (uint32_t a = 0; k == HITS - 10 && number() % 2 &&
				     a < w.program->aggregations.n;
		     a++)
			ck_assert_int_eq(board_trunc(w.b, a, 0, &err), 0);
	}
	for (unsigned i = 0; i < SITES; i++)
		if (w.site[i].clauses.n > 0)
			ck_assert_uint_eq(ways(&l)[i].how,
					  is_lean ? SLOT_LEAN : SLOT_GENERAL);
	keep(left, &l);
	close_world();
	return in_time;
}

static void expect_same(const char *script, const struct collect_geometry *g)
{
	struct left *lean = malloc(sizeof *lean);
	struct left *machine = malloc(sizeof *machine);

	ck_assert(lean != NULL && machine != NULL);
	while (!run_once(script, g, true, lean))
		;
	while (!run_once(script, g, false, machine))
		;
	ck_assert_mem_eq(lean->account, machine->account, sizeof lean->account);
	ck_assert_mem_eq(lean->numbers, machine->numbers, sizeof lean->numbers);
	ck_assert_uint_eq(lean->n_cells, machine->n_cells);
	ck_assert_mem_eq(lean->cells, machine->cells,
			 lean->n_cells * sizeof(uint64_t));
	free(lean);
	free(machine);
}

#define E0 "pid1::f0:entry"
#define E1 "pid1::f1:entry"
#define R2 "pid1::f2:return"

static const char *const scripts[] = {
    /* What is asked for most. */
    E0 "{ self->t = timestamp; }" R2
       "/self->t/ { @ = quantize(timestamp - self->t); self->t = 0; }",
    E0 "{ self->t = timestamp; self->a = arg0; }" R2
       "/self->t && self->a > 3/ { @n = count();"
       "@s = sum(timestamp - self->t); @m = max(timestamp - self->t);"
       "self->t = 0; }",
    /* Numbers. */
    E0 "{ @a = sum(arg0 + arg1); @b = sum(arg0 - arg1);"
       "@c = sum(arg0 * arg1); @d = sum(arg0 & arg1 | arg2 ^ arg3);"
       "@e = sum(-arg0); @f = sum(~arg0); @g = sum(arg0 << arg1);"
       "@h = sum(arg0 >> arg1); @i = sum((int64_t)arg0 >> arg1);"
       "@j = sum(123456789012345 - arg4); @k = sum(arg5); }",
    E0 "{ @a = sum(arg0 < arg1); @b = sum(arg0 <= arg1);"
       "@c = sum(arg0 == arg1); @d = sum(arg0 != arg1);"
       "@e = sum((uint64_t)arg0 < (uint64_t)arg1);"
       "@f = sum((uint64_t)arg0 >= (uint64_t)arg1); }",
    E0 "{ @a = sum((int)arg0); @b = sum((unsigned char)arg1);"
       "@c = sum((short)arg2); @d = sum((uint32_t)arg3); }",
    E0 "{ @a = sum(arg0 > 3 ? arg1 : arg2); @b = sum(arg0 && arg1);"
       "@c = sum(arg0 || !arg1); @d = sum(arg0 > 0 ? arg0 < 5 ? 7 : 8 : 9); }",
    /* All that aggregate, with and without a weight. */
    E0 "{ @a = count(); @b = sum(arg0); @c = avg(arg0); @d = min(arg0);"
       "@e = max(arg0); @f = stddev(arg0); @g = quantize(arg0);"
       "@h = lquantize(arg0, 0, 100, 10);"
       "@i = llquantize(arg0, 10, 0, 3, 10); }",
    E0 "{ @g = quantize(arg0, arg1 & 3); @h = lquantize(arg0, 0, 9, 3, 2);"
       "@z = sum(0); @y = quantize(1, 0); }",
    /* Variables: of all three kinds, in one clause and in several. */
    E0 "{ x += arg0; y = x > 100 ? 0 : arg1; @ = max(y); }" E1
       "{ x++; self->n -= y; @ = max(self->n); }",
    E0 "{ this->a = arg0; }" E0 "/this->a > 2/ { @ = sum(this->a);"
       "self->a = this->a; }" E1 "/this->a/ { @ = sum(1000000); }" R2
       "/arg1 & 1/ { @r = sum(arg1); @o = sum(arg0); @v = sum(retval); }",
    E0 "{ if (arg0 & 1) { self->n++; } else { this->m = arg1;"
       "@t = sum(this->m); if (arg2 > 4) { self->k = timestamp; } } }",
    /* Whoever jumps into what is done at once. */
    E0 "{ self->t = arg0 & 1 ? timestamp : 0; self->u = arg1 & 1 ? 5 : 6; }" E1
       "{ self->v = (arg0 & 1 ? timestamp : 7) - self->t; @ = sum(self->v); }",
    E0 "/self->t/ { self->t = 0; }" E1 "/self->t == 0/ { self->t = arg0; }",
    E0 "/x/ { x = 0; }" E1 "/!x/ { x = 1; @ = count(); }",
    /* Built-ins, and arguments from the stack. */
    E0 "{ @a = sum(pid + tid); @b = sum(id); @c = sum(epid);"
       "@d = sum(walltimestamp - timestamp); }" E0 "{ @c = sum(epid * 3); }",
    E0 "{ @a = sum(arg6); @b = sum(arg9); }" R2 "{ @a = sum(arg3); }",
};

START_TEST(lean_clauses_are_the_machines)
{
	expect_same(scripts[_i], NULL);
}
END_TEST

START_TEST(rows_without_room_are_dropped_alike)
{
	struct collect_geometry g = world_geometry();

	g.aggregation_size = 512;
	expect_same(E0 "{ self->n++; @a = sum(arg0); @b = quantize(arg0);"
		       "@c = sum(arg1); self->m++; }",
		    &g);
}
END_TEST

static const char *const others[] = {
    E0 "{ printf(\"%d\", arg0); }",
    E0 "{ @[arg0 & 7] = quantize(arg0); }",
    E0 "{ @ = sum(arg0 / arg1); }",
    E0 "{ @ = sum(*(int *)arg0); }",
    E0 "{ self->s = \"x\"; }",
    E0 "{ a[arg0] = 1; }",
    E0 "{ @ = sum(uregs[0]); }",
    E0 "{ self->n = arg0; }" E0 "{ trace(self->n); }",
    E0 "/execname == \"x\"/ { self->n = arg0; }",
};

START_TEST(what_may_fail_is_left_to_the_machine)
{
	struct collect_layout l;

	open_world(others[_i]);
	collect_layout(&w.plan->geometry, w.program, &l);
	world_hit(&w, 0, 1);
	ck_assert_uint_eq(ways(&l)[0].how, SLOT_GENERAL);
	close_world();
}
END_TEST

/* A long script has no room for decoded clauses. */
START_TEST(long_scripts_are_left_to_the_machine)
{
	enum { CLAUSES = 50, TERMS = 60, ROOM = CLAUSES * (TERMS + 10) * 5 };
	char *script = malloc(ROOM), *at = script;
	struct collect_layout l;

	ck_assert_ptr_nonnull(script);
	for (unsigned i = 0; i < CLAUSES; i++) {
		at += sprintf(at, E0 "{@=sum(arg0");
		for (unsigned k = 1; k < TERMS; k++)
			at += sprintf(at, "+arg0");
		at += sprintf(at, ");}\n");
	}
	ck_assert_int_lt(at - script, ROOM);
	open_world(script);
	collect_layout(&w.plan->geometry, w.program, &l);
	world_hit(&w, 0, 1);
	ck_assert_uint_gt(w.program->code.n, COLLECT_LEAN);
	ck_assert_uint_eq(ways(&l)[0].how, SLOT_GENERAL);
	ck_assert_int_eq(world_value(&w, 0, NULL), (int64_t)CLAUSES * TERMS);
	close_world();
	free(script);
}
END_TEST

Suite *native_collect_lean_suite(void)
{
	Suite *s = suite_create("native_collect_lean");
	TCase *t = tcase_create("lean");

	tcase_add_loop_test(t, lean_clauses_are_the_machines, 0,
			    sizeof scripts / sizeof *scripts);
	tcase_add_test(t, rows_without_room_are_dropped_alike);
	tcase_add_loop_test(t, what_may_fail_is_left_to_the_machine, 0,
			    sizeof others / sizeof *others);
	tcase_add_test(t, long_scripts_are_left_to_the_machine);
	suite_add_tcase(s, t);
	return s;
}
