/* tests/unit/native_collect_threads_test.c - many threads, nothing lost.
 *
 * Threads hit as fast as they can while the test's own thread does what hark
 * would: drain, print, clear, truncate. */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "probe_world.h"
#include "script/aggregate.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 8 };

static struct world w;
static struct world_log out;
static uint64_t n_hits;
static unsigned n_left;

struct worker {
	pthread_t thread;
	void (*what)(uint64_t number, uint64_t i);
	uint64_t number;
};

static void *work(void *ctx)
{
	struct worker *me = ctx;

	for (uint64_t i = 0; i < n_hits; i++)
		me->what(me->number, i);
	collect_thread_ends(w.plan, sys_fs_base());
	__atomic_fetch_sub(&n_left, 1, __ATOMIC_RELEASE);
	return NULL;
}

static struct worker workers[THREADS_MAX];

static void start(unsigned n, uint64_t hits,
		  void (*what)(uint64_t number, uint64_t i))
{
	n_hits = hits;
	n_left = n;
	for (unsigned i = 0; i < n; i++) {
		workers[i].what = what;
		workers[i].number = i;
		ck_assert_int_eq(
		    pthread_create(&workers[i].thread, NULL, work, &workers[i]),
		    0);
	}
}

static bool are_running(void)
{
	return __atomic_load_n(&n_left, __ATOMIC_ACQUIRE) > 0;
}

static void join(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
}

static void end(void)
{
	world_check_accounts(&w);
	world_log_free(&out);
	world_close(&w);
}

/* -- Counting -- */

static void hit_hot(uint64_t number, uint64_t i)
{
	(void)number;
	world_hit(&w, 0, i);
	world_hit(&w, 1, i % 10);
	world_hit(&w, 2, i);
	world_hit(&w, 3, i % 10);
}

START_TEST(counts_are_exact)
{
	unsigned n = _i == 0 ? 2 : 8;
	uint64_t hits = 400000 / n, sum = 0;
	struct hark_err err;
	struct show_row *rows;
	size_t n_rows;

	world_open(&w,
		   "pid1::f0:entry { @a = count(); }"
		   "pid1::f1:entry { @b[arg0] = count(); }"
		   "pid1::f2:entry { @c = quantize(arg0); }"
		   "pid1::f3:entry /arg0 < 5/ { @d[arg0, \"x\"] = avg(arg0); }",
		   NULL, 0);
	start(n, hits, hit_hot);
	while (are_running()) {
		/* What hark sees meanwhile is never more than there is. */
		ck_assert_int_le(world_value(&w, 0, NULL), (int64_t)(n * hits));
		usleep(100);
	}
	join(n);
	ck_assert_int_eq(world_value(&w, 0, NULL), (int64_t)(n * hits));
	for (uint64_t k = 0; k < 10; k++)
		ck_assert_int_eq(world_value(&w, 1, &k),
				 (int64_t)(n * hits / 10));
	ck_assert_int_eq(board_rows(w.b, 2, &rows, &n_rows, &err), 0);
	for (uint32_t i = 0; i < AGGREGATE_QUANTIZE; i++)
		sum += rows[0].cells[i];
	ck_assert_uint_eq(sum, n * hits);
	ck_assert_uint_eq(rows[0].cells[AGGREGATE_ZERO], n);
	ck_assert_int_eq(board_rows(w.b, 3, &rows, &n_rows, &err), 0);
	ck_assert_uint_eq(n_rows, 5);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_uint_eq(rows[i].cells[0], n * hits / 10);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_uint_eq(world_account(&w, i).executed, n * hits);
		ck_assert_uint_eq(world_account(&w, i).recorded, n * hits);
	}
	end();
}
END_TEST

/* -- Records -- */

static void hit_record(uint64_t number, uint64_t i)
{
	world_hit(&w, 0, number << 32 | i);
	/* Let hark keep up: this is about exactness. */
	if (i % 256 == 255)
		while (i > 0 &&
		       world_account(&w, 0).recorded >
			   __atomic_load_n(&out.n, __ATOMIC_RELAXED) + 8000)
			usleep(100);
}

START_TEST(records_are_exact_while_hark_drains)
{
	unsigned n = _i == 0 ? 2 : 8;
	uint64_t hits = 80000 / n, next[THREADS_MAX] = {0}, last = 0;

	world_open(&w, "pid1::f0:entry { trace(arg0); trace(arg1); }", NULL, 0);
	start(n, hits, hit_record);
	while (are_running()) {
		world_drain(&w, &out, 0);
		board_wait(w.b, 1000000);
	}
	join(n);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 0);
	ck_assert_uint_eq(out.n, n * hits);
	for (size_t i = 0; i < out.n; i++) {
		uint64_t who = out.at[i].number >> 32;

		ck_assert_uint_lt(who, n);
		ck_assert_uint_eq(out.at[i].number & UINT32_MAX, next[who]++);
		if (i > 0 && out.at[i].record.time_ns < last)
			ck_assert_uint_lt(last - out.at[i].record.time_ns,
					  1000000000);
		last = out.at[i].record.time_ns;
	}
	end();
}
END_TEST

static void hit_hard(uint64_t number, uint64_t i)
{
	world_hit(&w, 0, number << 32 | i);
}

/* Nobody waits: what was dropped and what came is all there was. */
START_TEST(drops_are_counted)
{
	struct collect_geometry g = world_geometry();
	uint64_t last[8] = {0};

	g.ring_size = 4096;
	world_open(&w, "pid1::f0:entry { trace(arg0); }", &g, 0);
	start(8, 20000, hit_hard);
	while (are_running()) {
		world_drain(&w, &out, 0);
		usleep(100);
	}
	join(8);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(world_account(&w, 0).executed, 8 * 20000);
	ck_assert_uint_eq(world_account(&w, 0).recorded, out.n);
	for (size_t i = 0; i < out.n; i++) {
		uint64_t who = out.at[i].number >> 32;

		ck_assert_uint_gt((out.at[i].number & UINT32_MAX) + 1,
				  last[who]);
		last[who] = (out.at[i].number & UINT32_MAX) + 1;
	}
	end();
}
END_TEST

START_TEST(the_bell_wakes_hark)
{
	struct collect_geometry g = world_geometry();
	struct collect_board *board;

	g.ring_size = 4096;
	world_open(&w, "pid1::f0:entry { trace(arg0); }", &g, 0);
	board = (struct collect_board *)(void *)w.board;
	for (int i = 0; i < 40; i++)
		world_hit(&w, 0, 0);
	ck_assert_uint_eq(board->bell, 0);
	for (int i = 0; i < 20; i++)
		world_hit(&w, 0, 0);
	ck_assert_uint_eq(board->bell, 1);
	board_wait(w.b, 100ULL * 1000000000); /* rung already */
	world_drain(&w, &out, 0);
	start(1, 60, hit_hard);
	board_wait(w.b, 100ULL * 1000000000);
	join(1);
	end();
}
END_TEST

/* -- Clearing while they run -- */

static void hit_sums(uint64_t number, uint64_t i)
{
	world_hit(&w, 0, number + 8 * i);
}

/* Each value is shown once: what all intervals show adds up. */
START_TEST(nothing_is_lost_between_print_and_clear)
{
	struct hark_err err;
	struct show_row *rows;
	uint64_t counted = 0, summed = 0, want = 0, least = UINT64_MAX,
		 most = 0;
	size_t n;

	world_open(&w,
		   "pid1::f0:entry { @a[arg0 % 3] = count();"
		   "@b = stddev(arg0); @i = min(arg0); @x = max(arg0); }",
		   NULL, 0);
	start(8, 20000, hit_sums);
	for (bool is_over = false; !is_over;) {
		is_over = !are_running();
		world_drain(&w, &out, 0);
		for (uint32_t k = 0; k < 4; k++) {
			ck_assert_int_eq(board_rows(w.b, k, &rows, &n, &err),
					 0);
			for (size_t i = 0; i < n; i++) {
				counted += k == 0 ? rows[i].cells[0] : 0;
				summed += k == 1 ? rows[i].cells[1] : 0;
				if (k == 2 && rows[i].cells[0] < least)
					least = rows[i].cells[0];
				if (k == 3 &&
				    (int64_t)rows[i].cells[0] > (int64_t)most)
					most = rows[i].cells[0];
			}
			ck_assert_int_eq(board_clear(w.b, k, &err), 0);
		}
	}
	join(8);
	for (uint64_t i = 0; i < 8; i++)
		for (uint64_t k = 0; k < 20000; k++)
			want += i + 8 * k;
	ck_assert_uint_eq(counted, 8 * 20000);
	ck_assert_uint_eq(summed, want);
	ck_assert_uint_eq(least, 0);
	ck_assert_uint_eq(most, 7 + 8 * 19999);
	end();
}
END_TEST

/* Each value is a new maximum and a new minimum: none may be missed, whenever
 * it is cleared. */
static void hit_extremes(uint64_t number, uint64_t i)
{
	(void)number;
	world_hit(&w, 0, i + 1);
}

START_TEST(extremes_are_carried_over)
{
	struct hark_err err;
	uint64_t shown = 0;

	world_open(&w, "pid1::f0:entry { @x = max(arg0); }", NULL, 0);
	start(1, 200000, hit_extremes);
	for (bool is_over = false; !is_over;) {
		int64_t value;

		is_over = !are_running();
		world_drain(&w, &out, 0);
		value = world_value(&w, 0, NULL);
		ck_assert_int_eq(board_clear(w.b, 0, &err), 0);
		if (value > 0) {
			ck_assert_uint_gt((uint64_t)value, shown);
			shown = (uint64_t)value;
		}
	}
	join(1);
	world_drain(&w, &out, 0);
	if (world_value(&w, 0, NULL) > 0)
		shown = (uint64_t)world_value(&w, 0, NULL);
	ck_assert_uint_eq(shown, 200000);
	end();
}
END_TEST

START_TEST(rows_may_be_truncated_while_they_grow)
{
	struct hark_err err;
	uint64_t counted = 0;

	world_open(&w, "pid1::f0:entry { @a[arg0 % 50] = count(); }", NULL, 0);
	start(8, 20000, hit_sums);
	for (bool is_over = false; !is_over;) {
		struct show_row *rows;
		size_t n;

		is_over = !are_running();
		world_drain(&w, &out, 0);
		ck_assert_int_eq(board_rows(w.b, 0, &rows, &n, &err), 0);
		for (size_t i = 0; i < n; i++)
			counted += rows[i].cells[0];
		ck_assert_int_eq(board_trunc(w.b, 0, 0, &err), 0);
	}
	join(8);
	ck_assert_uint_eq(counted, 8 * 20000);
	ck_assert_uint_eq(world_rows(&w, 0), 0);
	end();
}
END_TEST

/* -- In the middle of a row -- */

/* The only row of the thread that has hit: there is one area. */
static struct collect_row *only_row(void)
{
	struct collect_layout l;
	uint8_t *area;

	collect_layout(&w.plan->geometry, w.program, &l);
	area = w.board + l.parts;
	return (struct collect_row *)(void *)(area + l.rows +
					      sizeof(struct collect_rows) +
					      4ULL * l.n_buckets);
}

/* A thread that lost its CPU between two cells, and gets it back. */
static void *finish_row(void *ctx)
{
	struct collect_row *row = ctx;

	usleep(2000);
	__atomic_store_n(&collect_cells(row, 0)[1], 30, __ATOMIC_RELAXED);
	__atomic_store_n(&row->sequence, row->sequence + 1, __ATOMIC_RELEASE);
	return NULL;
}

START_TEST(who_is_in_the_middle_is_waited_for)
{
	struct collect_row *row;
	struct show_row *rows;
	struct hark_err err;
	pthread_t thread;
	size_t n;

	world_open(&w, "pid1::f0:entry { @x = avg(arg0); }", NULL, 0);
	world_hit(&w, 0, 10);
	row = only_row();
	ck_assert_uint_eq(row->sequence, 2);
	ck_assert_uint_eq(collect_cells(row, 0)[1], 10);
	row->sequence |= 1;
	collect_cells(row, 0)[0] = 2;
	ck_assert_int_eq(pthread_create(&thread, NULL, finish_row, row), 0);
	ck_assert_int_eq(board_rows(w.b, 0, &rows, &n, &err), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(rows[0].cells[0], 2);
	ck_assert_uint_eq(rows[0].cells[1], 30);
	end();
}
END_TEST

/* It was killed there: hark goes on, with what there is. */
START_TEST(who_stays_in_the_middle_is_not)
{
	world_open(&w, "pid1::f0:entry { @x = avg(arg0); }", NULL, 0);
	world_hit(&w, 0, 10);
	only_row()->sequence |= 1;
	ck_assert_int_eq(world_value(&w, 0, NULL), 1);
	end();
}
END_TEST

/* -- What threads share -- */

static void hit_shared(uint64_t number, uint64_t i)
{
	world_hit(&w, 0, number << 32 | i % 100);
	world_hit(&w, 1, number << 32 | i % 100);
	world_hit(&w, 2, number << 32 | i % 100);
}

/* Each thread has keys of its own in one array: what it put is there. */
START_TEST(arrays_are_shared_safely)
{
	world_open(&w,
		   "uint64_t a[uint64_t]; string s[uint64_t];"
		   "pid1::f0:entry { a[arg0] = arg0 + 1;"
		   "s[arg0] = lltostr(arg0); }"
		   "pid1::f1:entry /a[arg0] == arg0 + 1 &&"
		   "s[arg0] == lltostr(arg0)/ { @ok = count(); }"
		   "pid1::f2:entry { a[arg0] = 0; s[arg0] = NULL; }",
		   NULL, 0);
	start(8, 5000, hit_shared);
	join(8);
	ck_assert_int_eq(world_value(&w, 0, NULL), 8 * 5000);
	ck_assert_str_eq(world_reasons(&w), "");
	end();
}
END_TEST

static void hit_speculating(uint64_t number, uint64_t i)
{
	world_hit(&w, 0, 0);
	world_hit(&w, 1, number << 32 | i);
	world_hit(&w, 1, number << 32 | i);
	world_hit(&w, i % 2 ? 2 : 3, 0);
}

START_TEST(speculations_are_shared_safely)
{
	struct collect_geometry g = world_geometry();
	uint64_t last[8] = {0};

	g.n_speculations = 8;
	g.ring_size = 4 << 20;
	world_open(&w,
		   "pid1::f0:entry { self->s = speculation(); }"
		   "pid1::f1:entry { speculate(self->s); trace(arg0); }"
		   "pid1::f2:entry { commit(self->s); }"
		   "pid1::f3:entry { discard(self->s); }",
		   &g, 0);
	start(8, 5000, hit_speculating);
	join(8);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 8 * 5000);
	for (size_t i = 0; i < out.n; i++) {
		uint64_t who = out.at[i].number >> 32;
		uint64_t k = out.at[i].number & UINT32_MAX;

		ck_assert_uint_eq(k % 2, 1);
		ck_assert_uint_eq(k, last[who] / 2 * 2 + 1);
		last[who]++;
	}
	ck_assert_str_eq(world_reasons(&w), "");
	end();
}
END_TEST

/* -- Threads that come and go -- */

static void *live_shortly(void *ctx)
{
	(void)ctx;
	for (uint64_t i = 0; i < 50; i++) {
		world_hit(&w, 0, i);
		world_hit(&w, 1, i);
	}
	collect_thread_ends(w.plan, sys_fs_base());
	return NULL;
}

START_TEST(areas_are_handed_on_safely)
{
	struct collect_geometry g = world_geometry();

	g.max_threads = 8;
	world_open(&w,
		   "self int n; pid1::f0:entry { @a = count(); self->n++; }"
		   "pid1::f1:entry /self->n == arg0 + 1/ { @b = count(); }",
		   &g, 0);
	for (int round = 0; round < 100; round++) {
		pthread_t t[8];

		for (int i = 0; i < 8; i++)
			ck_assert_int_eq(
			    pthread_create(&t[i], NULL, live_shortly, NULL), 0);
		for (int i = 0; i < 8; i++)
			pthread_join(t[i], NULL);
	}
	ck_assert_int_eq(world_value(&w, 0, NULL), 100 * 8 * 50);
	ck_assert_int_eq(world_value(&w, 1, NULL), 100 * 8 * 50);
	end();
}
END_TEST

Suite *native_collect_threads_suite(void)
{
	Suite *s = suite_create("native_collect_threads");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, counts_are_exact, 0, 2);
	tcase_add_loop_test(t, records_are_exact_while_hark_drains, 0, 2);
	tcase_add_test(t, drops_are_counted);
	tcase_add_test(t, the_bell_wakes_hark);
	tcase_add_test(t, nothing_is_lost_between_print_and_clear);
	tcase_add_test(t, extremes_are_carried_over);
	tcase_add_test(t, rows_may_be_truncated_while_they_grow);
	tcase_add_test(t, who_is_in_the_middle_is_waited_for);
	tcase_add_test(t, who_stays_in_the_middle_is_not);
	tcase_add_test(t, arrays_are_shared_safely);
	tcase_add_test(t, speculations_are_shared_safely);
	tcase_add_test(t, areas_are_handed_on_safely);
	suite_add_tcase(s, t);
	return s;
}
