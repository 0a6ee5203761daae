/* tests/unit/probe_board_test.c - a board that the program has written over.
 *
 * hark must neither crash nor hang, whatever it finds; what it says may be
 * wrong. The memory behind the board cannot be touched, so that each step too
 * far is seen, under sanitizers or not. */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "probe_world.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct world w;
static uint64_t seed = 88172645463325252ULL;

static uint64_t number(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static void fill(const struct collect_geometry *g)
{
	world_open(&w,
		   "int a[int, string]; self int b[int]; string name;"
		   "pid1::f0:entry { @a[arg0, \"key\"] = count();"
		   "@b[arg0] = quantize(arg0); @c = min(arg0);"
		   "@d = stddev(arg0); @e[ustack(4)] = sum(arg0); }"
		   "pid1::f1:entry { printf(\"%d %s\", arg0, \"text\");"
		   "trace(*(int *)(arg0 & 1 ? arg0 : arg1)); ustack(2); }"
		   "pid1::f2:entry { a[arg0, \"k\"] = 1; self->b[arg0] = 2;"
		   "name = \"abc\"; }"
		   "pid1::f3:entry { self->s = speculation();"
		   "this->x = a[arg0, \"k\"]; }"
		   "pid1::f4:entry { speculate(self->s); trace(arg0); }"
		   "BEGIN { a[1, \"k\"] = 2; name = strjoin(name, \"x\");"
		   "@a[1, name] = count(); trace(a[7, \"k\"]); a[3, \"k\"] = 0;"
		   "}"
		   "BEGIN { commit(1); }"
		   "BEGIN { discard(2); self->q = speculation(); }"
		   "BEGIN { speculate(self->q); trace(1); }",
		   g, 0);
	for (uint64_t i = 0; i < 60; i++) {
		uint64_t word = 5;
		struct probe_frame f = {
		    .gpr = {[7] = i % 30, [6] = (uint64_t)&word}};

		for (unsigned site = 0; site < 3; site++)
			world_fire(&w, site, &f);
		if (i % 20 == 0)
			world_fire(&w, 3, &f);
		world_fire(&w, 4, &f);
	}
}

/* -- What hark does with it -- */

static int look(void *ctx, const struct board_record *r, struct hark_err *err)
{
	struct show show = {.program = w.program};
	FILE *nowhere = ctx;
	uint32_t at = 0;

	(void)err;
	ck_assert_uint_lt(r->site, WORLD_SITES);
	ck_assert_uint_lt(r->clause, w.program->clauses.n);
	while (r->len - at >= sizeof(struct probe_entry)) {
		const struct probe_entry *e =
		    (const struct probe_entry *)(const void *)(r->entries + at);

		if (e->size < sizeof *e || e->size % 8 != 0 ||
		    e->size > r->len - at ||
		    show_entry(&show, e, r->len - at, nowhere) < 0)
			break;
		at += e->size;
	}
	return 0;
}

static void ignore(void *ctx, const char *text)
{
	*(size_t *)ctx += strlen(text);
}

static void do_everything(FILE *nowhere)
{
	struct show show = {.program = w.program};
	struct collect_outside o = {.plan = w.plan,
				    .board = w.board,
				    .area = board_area(w.b),
				    .site = &w.site[7],
				    .pid = 1};
	struct collect_account account;
	struct hark_err err;
	size_t len = 0;

	for (uint32_t i = 0; i < 4; i++)
		collect_run(&o, 5 + i);
	ck_assert_int_eq(board_drain(w.b, 0, look, nowhere, &err), 0);
	for (uint32_t i = 0; i < w.program->aggregations.n; i++) {
		struct show_row *rows;
		size_t n;

		ck_assert_int_eq(board_rows(w.b, i, &rows, &n, &err), 0);
		show_sort(w.program, i, (struct show_order){0}, rows, n);
		for (size_t k = 0; k < n; k++)
			show_row(&show, &(struct show_column){i, 1}, 1,
				 &rows[k], "", nowhere);
		if (number(2))
			ck_assert_int_eq(board_clear(w.b, i, &err), 0);
		else
			ck_assert_int_eq(
			    board_trunc(w.b, i, (int64_t)number(7) - 3, &err),
			    0);
	}
	for (uint32_t i = 0; i <= WORLD_SITES; i++)
		board_account(w.b, i, &account);
	board_explain(w.b, ignore, &len);
	board_gone(w.b, (uint32_t)getpid());
	board_wait(w.b, 0);
	ck_assert_int_eq(board_drain(w.b, 1, look, nowhere, &err), 0);
}

/* -- What the program does to it -- */

static const uint64_t odd[] = {0,	   1,	       7,	   8,
			       0x7fffffff, 0xffffffff, 0xfffffff8, UINT64_MAX,
			       4096,	   1 << 20,    64,	   40};

/* Where hark and the threads keep lengths and offsets. */
static uint64_t interesting(const struct collect_layout *l)
{
	uint64_t area = l->parts + number(2) * l->part_stride;
	uint64_t to[] = {0,
			 l->generations,
			 l->nobody,
			 l->texts,
			 l->arrays,
			 l->arrays + number(4096),
			 l->speculations,
			 l->speculations + l->speculation_stride,
			 area,
			 area + l->slots,
			 area + l->rows,
			 area + l->rows + sizeof(struct collect_rows) +
			     4ULL * l->n_buckets + number(8192),
			 area + l->ring,
			 area + l->ring_bytes + number(8192),
			 l->parts};

	return to[number(sizeof to / sizeof *to)] + number(256);
}

static void damage(const struct collect_layout *l)
{
	uint64_t at = number(4) ? interesting(l) : number(w.board_size);
	uint64_t value = odd[number(sizeof odd / sizeof *odd)];
	size_t len = (size_t)1 << number(4);

	if (number(3) == 0)
		value = number(1 << 16);
	if (number(4) == 0)
		value = number(UINT64_MAX);
	if (number(2))
		at &= ~(uint64_t)(len - 1);
	if (at + len > w.board_size)
		at = w.board_size - len;
	if (number(8) == 0)
		w.board[at] ^= (uint8_t)(1U << number(8));
	else
		memcpy(w.board + at, &value, len);
}

START_TEST(no_damage_harms_hark)
{
	struct collect_geometry g = world_geometry();
	FILE *nowhere = fopen("/dev/null", "w");
	struct collect_layout l;
	uint8_t *good;

	g.max_threads = 2;
	g.ring_size = _i < 3 ? 8192 : 4 * COLLECT_CHUNK_MIN;
	g.aggregation_size = 65536;
	g.array_size = 16384;
	g.speculation_size = 4096;
	g.policy = (uint32_t)_i % 3;
	fill(&g);
	collect_layout(&g, w.program, &l);
	good = malloc(w.board_size);
	ck_assert_ptr_nonnull(good);
	memcpy(good, w.board, w.board_size);
	for (unsigned round = 0; round < 500; round++) {
		struct hark_err err;
		uint64_t n = 1 + number(12);

		memcpy(w.board, good, w.board_size);
		board_close(w.b);
		ck_assert_int_eq(board_open(w.plan, w.board, &w.b, &err), 0);
		if (number(2))
			do_everything(nowhere);
		for (uint64_t i = 0; i < n; i++)
			damage(&l);
		do_everything(nowhere);
		do_everything(nowhere);
	}
	free(good);
	fclose(nowhere);
	world_close(&w);
}
END_TEST

/* Without damage the same steps say nothing of any. */
START_TEST(what_is_whole_is_not_called_damaged)
{
	FILE *nowhere = fopen("/dev/null", "w");
	struct collect_layout l;
	struct collect_ring *ring;

	fill(NULL);
	do_everything(nowhere);
	ck_assert_ptr_null(strstr(world_reasons(&w), "written over"));
	collect_layout(&w.plan->geometry, w.program, &l);
	ring = (struct collect_ring *)(void *)(w.board + l.parts + l.ring);
	ring->head = 3;
	do_everything(nowhere);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "written over"));
	fclose(nowhere);
	world_close(&w);
}
END_TEST

/* What a slot has counted belongs to a row; the first hit is in its cell. */
START_TEST(a_slot_whose_row_is_none_is_damage)
{
	struct collect_layout l;
	struct collect_slot *slot;
	uint64_t good;

	world_open(&w,
		   "pid1::f0:entry, pid1::f1:entry { @ = count(); }"
		   "pid1::f2:entry { @b = sum(arg0); }",
		   NULL, 0);
	for (unsigned i = 0; i < 9; i++)
		world_hit(&w, i % 3, 5);
	collect_layout(&w.plan->geometry, w.program, &l);
	slot = (struct collect_slot *)(void *)(w.board + l.parts + l.slots);
	ck_assert_uint_eq(slot[0].how, SLOT_COUNT);
	ck_assert_uint_eq(slot[0].counted, 2);
	good = slot[0].cell;
	ck_assert_uint_eq(slot[1].cell, good);
	for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++) {
		slot[0].cell = odd[i];
		ck_assert_int_eq(world_value(&w, 0, NULL), 4);
		slot[0].cell = good + odd[i];
		ck_assert_int_eq(world_value(&w, 0, NULL), odd[i] == 0 ? 6 : 4);
	}
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "written over"));
	slot[0].cell = good;
	ck_assert_int_eq(world_value(&w, 0, NULL), 6);
	ck_assert_int_eq(world_value(&w, 1, NULL), 15);
	world_check_accounts(&w);
	world_close(&w);
}
END_TEST

START_TEST(a_plan_that_is_none_is_refused)
{
	struct hark_err err;
	struct board *b;

	fill(NULL);
	w.plan->program.n -= 8;
	ck_assert_int_eq(board_open(w.plan, w.board, &b, &err), -1);
	ck_assert_int_eq(err.code, HARK_EBUG);
	w.plan->program.n += 8;
	w.plan->program.offset = UINT64_MAX - 7;
	ck_assert_int_eq(board_open(w.plan, w.board, &b, &err), -1);
	w.plan->magic = 0;
	ck_assert_int_eq(board_open(w.plan, w.board, &b, &err), -1);
	world_close(&w);
}
END_TEST

static int refuse(void *ctx, const struct board_record *r, struct hark_err *err)
{
	(void)r;
	++*(int *)ctx;
	return err_set(err, HARK_EIO, 0, "enough");
}

START_TEST(a_visitor_may_end_it)
{
	struct world_log log = {0};
	struct hark_err err;
	int n = 0;

	fill(NULL);
	ck_assert_int_eq(board_drain(w.b, 1, refuse, &n, &err), -1);
	ck_assert_int_eq(n, 1);
	ck_assert_str_eq(err.text, "enough");
	/* The others are still there. */
	world_drain(&w, &log, 1);
	ck_assert_uint_eq(log.n, 59);
	world_log_free(&log);
	world_close(&w);
}
END_TEST

START_TEST(there_are_only_so_many_aggregations)
{
	struct hark_err err;
	struct show_row *rows;
	size_t n;

	fill(NULL);
	ck_assert_int_eq(board_rows(w.b, 5, &rows, &n, &err), -1);
	ck_assert_int_eq(board_clear(w.b, 5, &err), -1);
	ck_assert_int_eq(board_trunc(w.b, 5, 1, &err), -1);
	ck_assert_int_eq(err.code, HARK_EINPUT);
	world_close(&w);
}
END_TEST

Suite *probe_board_suite(void)
{
	Suite *s = suite_create("probe/board");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, no_damage_harms_hark, 0, 4);
	tcase_add_test(t, what_is_whole_is_not_called_damaged);
	tcase_add_test(t, a_slot_whose_row_is_none_is_damage);
	tcase_add_test(t, a_plan_that_is_none_is_refused);
	tcase_add_test(t, a_visitor_may_end_it);
	tcase_add_test(t, there_are_only_so_many_aggregations);
	suite_add_tcase(s, t);
	return s;
}
