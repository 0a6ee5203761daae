/* tests/unit/probe_collect_test.c - what one thread's hits do. */
#include "inside/sys.h"
#include "probe/collect_priv.h"
#include "probe_world.h"

#include "probe/native.h"
#include "script/aggregate.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct world w;
static struct world_log out;

static void open_world(const char *script)
{
	world_open(&w, script, NULL, 0);
}

static void close_world(void)
{
	world_check_accounts(&w);
	world_log_free(&out);
	world_close(&w);
}

static struct show_row *only_row(uint32_t aggregation)
{
	struct hark_err err;
	struct show_row *rows;
	size_t n;

	ck_assert_int_eq(board_rows(w.b, aggregation, &rows, &n, &err), 0);
	ck_assert_uint_eq(n, 1);
	return rows;
}

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

/* -- Records -- */

START_TEST(records_tell_who_and_what)
{
	open_world("pid1::f0:entry { printf(\"%d %s\", arg0, \"abc\");"
		   "trace(arg0 + 1); } pid1::f1:entry { @ = count(); }"
		   "pid1::f2:entry {}");
	world_hit(&w, 0, 42);
	world_hit(&w, 1, 0);
	world_hit(&w, 2, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 2);
	ck_assert_uint_eq(out.at[0].number, 42);
	ck_assert_uint_eq(out.at[0].action, PROBE_PRINTF);
	ck_assert_uint_eq(out.at[0].record.site, 0);
	ck_assert_uint_eq(out.at[0].record.clause, 0);
	ck_assert_uint_eq(out.at[0].record.pid, (unsigned)getpid());
	ck_assert_uint_eq(out.at[0].record.tid, (unsigned)gettid());
	ck_assert_int_eq(out.at[0].record.is_fault, 0);
	ck_assert_str_eq((char *)out.at[0].bytes + 8 + 8 + 4, "abc");
	ck_assert_uint_eq(out.at[1].action, PROBE_DEFAULT);
	ck_assert_uint_eq(out.at[1].record.clause, 2);
	ck_assert_uint_ge(out.at[1].record.time_ns, out.at[0].record.time_ns);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 2);
	close_world();
}
END_TEST

START_TEST(every_action_arrives)
{
	static const uint8_t want[] = {
	    PROBE_PRINTF, PROBE_TRACE,	 PROBE_PRINT,	    PROBE_PRINTA,
	    PROBE_EXIT,	  PROBE_CLEAR,	 PROBE_TRUNC,	    PROBE_NORMALIZE,
	    PROBE_SYSTEM, PROBE_FREOPEN, PROBE_DENORMALIZE, PROBE_TRACE};
	uint64_t word = 0x1122334455667788;

	open_world("pid1::f0:entry { printf(\"x\"); }"
		   "pid1::f0:entry { trace(arg0); }"
		   "pid1::f0:entry { print(arg0); }"
		   "pid1::f0:entry { @ = count(); printa(@); }"
		   "pid1::f0:entry { exit(3); }"
		   "pid1::f0:entry { clear(@); }"
		   "pid1::f0:entry { trunc(@, 5); }"
		   "pid1::f0:entry { normalize(@, 10); }"
		   "pid1::f0:entry { system(\"ls\"); }"
		   "pid1::f0:entry { freopen(\"f\"); }"
		   "pid1::f0:entry { denormalize(@); }"
		   "pid1::f0:entry { tracemem(arg0, 8); }"
		   "pid1::f0:entry { ustack(3); }");
	world_hit(&w, 0, (uint64_t)(uintptr_t)&word);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 13);
	for (size_t i = 0; i < sizeof want; i++)
		ck_assert_uint_eq(out.at[i].action, want[i]);
	ck_assert_uint_eq(out.at[4].number, 3);
	ck_assert_uint_eq(out.at[11].number, word);
	/* The count, then the innermost address. */
	ck_assert_uint_ge(out.at[12].number, 1);
	memcpy(&word, out.at[12].bytes + 16, 8);
	ck_assert_uint_eq(word, w.site[0].pc);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 1);
	close_world();
}
END_TEST

/* Records of many sizes through a small ring, drained now and then: each comes
 * once, in order, or is dropped. */
START_TEST(a_ring_goes_around)
{
	struct collect_geometry g = world_geometry();
	static char text[256];
	uint64_t next = 0, seen;

	g.ring_size = 4096 + 24;
	world_open(&w,
		   "pid1::f0:entry { trace(arg0); trace(copyinstr(arg1)); }",
		   &g, 0);
	for (uint64_t i = 0; i < 5000; i++) {
		struct probe_frame f = {0};

		memset(text, 'a', sizeof text);
		text[i * 7 % 250] = '\0';
		f.gpr[7] = i;
		f.gpr[6] = (uint64_t)(uintptr_t)text;
		world_fire(&w, 0, &f);
		if (i % 5 == 4)
			world_drain(&w, &out, 0);
	}
	world_drain(&w, &out, 1);
	seen = out.n;
	ck_assert_uint_eq(world_account(&w, 0).recorded, seen);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 0);
	for (size_t i = 0; i < out.n; i++)
		ck_assert_uint_eq(out.at[i].number, next++);
	close_world();
}
END_TEST

START_TEST(a_full_ring_drops_until_it_is_emptied)
{
	struct collect_geometry g = world_geometry();
	uint64_t n;

	g.ring_size = 1024;
	world_open(&w, "pid1::f0:entry { trace(arg0); }", &g, 0);
	for (uint64_t i = 0; i < 100; i++)
		world_hit(&w, 0, i);
	n = world_account(&w, 0).recorded;
	ck_assert_uint_eq(n, 1024 / 48);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 100 - n);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "bufsize"));
	world_drain(&w, &out, 0);
	world_hit(&w, 0, 1000);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, n + 1);
	ck_assert_uint_eq(out.at[n].number, 1000);
	close_world();
}
END_TEST

START_TEST(fill_keeps_the_first)
{
	struct collect_geometry g = world_geometry();

	g.ring_size = 1024;
	g.policy = COLLECT_FILL;
	world_open(&w, "pid1::f0:entry { trace(arg0); }", &g, 0);
	for (uint64_t i = 0; i < 100; i++) {
		world_hit(&w, 0, i);
		world_drain(&w, &out, 0);
	}
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 1024 / 48);
	for (uint64_t i = 0; i < out.n; i++)
		ck_assert_uint_eq(out.at[i].number, i);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 100 - out.n);
	close_world();
}
END_TEST

START_TEST(ring_keeps_the_last)
{
	struct collect_geometry g = world_geometry();

	g.ring_size = 1000;
	g.policy = COLLECT_RING;
	world_open(&w, "pid1::f0:entry { trace(arg0); }", &g, 0);
	for (uint64_t i = 0; i < 1000; i++) {
		world_hit(&w, 0, i);
		world_drain(&w, &out, 0);
	}
	ck_assert_uint_eq(out.n, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_ge(out.n, 18);
	for (uint64_t i = 0; i < out.n; i++)
		ck_assert_uint_eq(out.at[i].number, 1000 - out.n + i);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 1000);
	world_hit(&w, 0, 1000);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.at[out.n - 1].number, 1000);
	ck_assert_uint_eq(out.at[out.n - 2].number, 999);
	close_world();
}
END_TEST

/* C3: a child of fork that writes until it is killed. */
START_TEST(records_survive_a_kill)
{
	static const uint32_t policy[] = {COLLECT_FILL, COLLECT_RING};
	struct collect_geometry g = world_geometry();

	for (unsigned k = 0; k < 2; k++) {
		pid_t pid;

		g.policy = policy[k];
		g.ring_size = k == 0 ? 1 << 20 : 8000;
		world_open(&w, "pid1::f0:entry { trace(arg0); }", &g,
			   COLLECT_FOLLOWS);
		pid = fork();
		if (pid == 0)
			for (uint64_t i = 0;; i++)
				world_hit(&w, 0, i);
		while (world_account(&w, 0).executed < 10000)
			usleep(100);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		world_drain(&w, &out, 1);
		ck_assert_uint_gt(out.n, 100);
		for (size_t i = 1; i < out.n; i++)
			ck_assert_uint_eq(out.at[i].number,
					  out.at[i - 1].number + 1);
		ck_assert_uint_eq(out.at[0].record.pid, (unsigned)pid);
		ck_assert_str_eq(k == 0 ? "" : world_reasons(&w), "");
		world_log_free(&out);
		world_close(&w);
	}
}
END_TEST

/* -- Faults -- */

START_TEST(a_fault_voids_the_output)
{
	open_world("pid1::f0:entry { trace(1); trace(*(int *)arg0); }"
		   "pid1::f0:entry { trace(2); }"
		   "pid1::f1:entry { trace(10 / arg0); }");
	world_hit(&w, 0, 16);
	world_hit(&w, 1, 0);
	world_hit(&w, 1, 5);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 4);
	ck_assert_int_eq(out.at[0].record.is_fault, 1);
	ck_assert_uint_eq(out.at[0].record.clause, 0);
	ck_assert_uint_eq(out.at[0].record.fault[0], 1);
	ck_assert_uint_eq(out.at[0].record.fault[1], 0);
	ck_assert_uint_eq(out.at[0].record.fault[2] % 8, 0);
	ck_assert_uint_gt(out.at[0].record.fault[2], 0);
	ck_assert_uint_eq(out.at[0].record.fault[3], MACHINE_BAD_ADDRESS);
	ck_assert_uint_eq(out.at[0].record.fault[4], 16);
	ck_assert_uint_eq(out.at[0].record.len, 0);
	ck_assert_uint_eq(out.at[1].number, 2);
	ck_assert_uint_eq(out.at[2].record.fault[3], MACHINE_DIVISION);
	ck_assert_uint_eq(out.at[2].record.fault[0], 3 * 1 + 2 + 1);
	ck_assert_uint_eq(out.at[3].number, 2);
	ck_assert_uint_eq(world_account(&w, 0).faulted, 1);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 0);
	ck_assert_uint_eq(world_account(&w, 1).faulted, 1);
	ck_assert_uint_eq(world_account(&w, 1).recorded, 1);
	close_world();
}
END_TEST

/* -- Variables -- */

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

static void in_thread(void *(*what)(void *))
{
	pthread_t t;

	ck_assert_int_eq(pthread_create(&t, NULL, what, NULL), 0);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
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

/* -- Speculation -- */

START_TEST(speculations_wait_for_commit)
{
	open_world("pid1::f0:entry { self->s = speculation(); }"
		   "pid1::f1:entry { speculate(self->s); trace(arg0); }"
		   "pid1::f2:entry { commit(self->s); self->s = 0; }"
		   "pid1::f3:entry { discard(self->s); self->s = 0; }"
		   "pid1::f4:entry { trace(self->s); }");
	world_hit(&w, 1, 99); /* of none: nothing happens */
	world_hit(&w, 0, 0);
	for (uint64_t i = 0; i < 10; i++)
		world_hit(&w, 1, i);
	world_drain(&w, &out, 0);
	ck_assert_uint_eq(out.n, 0);
	world_hit(&w, 2, 0);
	world_drain(&w, &out, 0);
	ck_assert_uint_eq(out.n, 10);
	for (uint64_t i = 0; i < 10; i++) {
		ck_assert_uint_eq(out.at[i].number, i);
		ck_assert_uint_eq(out.at[i].record.site, 1);
	}
	world_hit(&w, 0, 0);
	world_hit(&w, 1, 77);
	world_hit(&w, 3, 0);
	world_hit(&w, 0, 0);
	world_hit(&w, 2, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 10);
	/* None is left over; the fifth finds none free. */
	for (int i = 0; i < 5; i++) {
		world_hit(&w, 0, 0);
		world_hit(&w, 4, 0);
	}
	world_drain(&w, &out, 1);
	for (uint64_t i = 0; i < 5; i++)
		ck_assert_uint_eq(out.at[10 + i].number, (i + 1) % 5);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "nspec"));
	close_world();
}
END_TEST

START_TEST(speculations_without_room_are_dropped)
{
	struct collect_geometry g = world_geometry();
	uint64_t n;

	g.speculation_size = 1000;
	g.ring_size = 512;
	world_open(&w,
		   "pid1::f0:entry { self->s = speculation(); }"
		   "pid1::f1:entry { speculate(self->s); trace(arg0); }"
		   "pid1::f2:entry { commit(self->s); }",
		   &g, 0);
	world_hit(&w, 0, 0);
	for (uint64_t i = 0; i < 100; i++)
		world_hit(&w, 1, i);
	n = world_account(&w, 1).recorded;
	ck_assert_uint_eq(n, 1000 / 48);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "specsize"));
	world_hit(&w, 2, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 512 / 48);
	/* What was lost on commit is not recorded after all. */
	ck_assert_uint_eq(world_account(&w, 1).recorded, out.n);
	ck_assert_uint_eq(world_account(&w, 1).dropped, 100 - out.n);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "committed"));
	close_world();
}
END_TEST

/* -- What a script may ask -- */

static uint64_t nth(size_t k, size_t n)
{
	uint64_t value;

	memcpy(&value, out.at[k].bytes + 16 * n + 8, sizeof value);
	return value;
}

START_TEST(builtins_are_right)
{
	struct timespec now, wall;
	static _Thread_local int mine;

	open_world("pid1::f0:entry { trace(pid); trace(ppid); trace(tid);"
		   "trace(uid); trace(gid); trace(id); trace(epid);"
		   "trace(errno); trace(timestamp); trace(vtimestamp);"
		   "trace(walltimestamp); trace(cpu); trace(ustackdepth); }"
		   "pid1::f1:entry { trace(execname); trace(probefunc);"
		   "trace(probemod); trace(probeprov); trace(probename);"
		   "trace(threadname); }"
		   "pid1::f2:return { trace(retval); trace(arg0); }"
		   "pid1::f3:entry { this->a = timestamp; }"
		   "pid1::f3:entry { trace(timestamp - this->a);"
		   "trace(vtimestamp - vtimestamp); }");
	mine = 95;
	w.plan->errno_offset =
	    (int64_t)((uint64_t)(uintptr_t)&mine - sys_fs_base());
	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_REALTIME, &wall);
	w.plan->clock.wall_ns = (wall.tv_sec - now.tv_sec) * 1000000000 +
				wall.tv_nsec - now.tv_nsec;
	world_hit(&w, 0, 0);
	world_hit(&w, 1, 0);
	world_fire(&w, 2, &(struct probe_frame){.gpr = {77}});
	world_hit(&w, 3, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(nth(0, 0), (unsigned)getpid());
	ck_assert_uint_eq(nth(0, 1), (unsigned)getppid());
	ck_assert_uint_eq(nth(0, 2), (unsigned)gettid());
	ck_assert_uint_eq(nth(0, 3), getuid());
	ck_assert_uint_eq(nth(0, 4), getgid());
	ck_assert_uint_eq(nth(0, 5), 1);
	ck_assert_uint_eq(nth(0, 6), 1);
	ck_assert_uint_eq(nth(0, 7), 95);
	ck_assert_uint_ge(nth(0, 8), (uint64_t)now.tv_sec * 1000000000 +
					 (uint64_t)now.tv_nsec);
	ck_assert_uint_lt(nth(0, 8), (uint64_t)(now.tv_sec + 10) * 1000000000);
	ck_assert_uint_gt(nth(0, 9), 0);
	ck_assert_uint_eq(nth(0, 10) - nth(0, 8),
			  (uint64_t)w.plan->clock.wall_ns);
	ck_assert_uint_lt(nth(0, 11), (uint64_t)sysconf(_SC_NPROCESSORS_CONF));
	ck_assert_uint_ge(nth(0, 12), 1);
	ck_assert_str_eq((char *)out.at[1].bytes + 12, "guest");
	ck_assert_str_eq((char *)out.at[1].bytes + 24 + 12, "f1");
	ck_assert_uint_eq(nth(2, 0), 77);
	ck_assert_uint_eq(nth(2, 1), 0x10);
	ck_assert_uint_eq(nth(3, 0), 0);
	ck_assert_uint_eq(nth(3, 1), 0);
	close_world();
}
END_TEST

START_TEST(the_clock_is_the_tsc_if_hark_says_so)
{
	uint64_t before;

	open_world("pid1::f0:entry { trace(timestamp); }");
	before = __builtin_ia32_rdtsc();
	w.plan->clock = (struct collect_clock){
	    .base_tsc = before, .base_ns = 5000, .mult = 1ULL << 31};
	world_hit(&w, 0, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_ge(out.at[0].number, 5000);
	ck_assert_uint_le(out.at[0].number,
			  5000 + (__builtin_ia32_rdtsc() - before) / 2);
	close_world();
}
END_TEST

START_TEST(arguments_come_from_registers_and_stack)
{
	uint64_t stack[8] = {0, 106, 107, 108, 109};
	struct probe_frame f = {.gpr = {[7] = 100,
					[6] = 101,
					[2] = 102,
					[1] = 103,
					[8] = 104,
					[9] = 105}};

	open_world("pid1::f0:entry { trace(arg0); trace(arg1); trace(arg2);"
		   "trace(arg3); trace(arg4); trace(arg5); trace(arg6);"
		   "trace(arg7); trace(arg8); trace(arg9); }"
		   "pid1::f1:entry { @ = quantize(arg7); }");
	f.gpr[4] = (uint64_t)(uintptr_t)stack;
	world_fire(&w, 0, &f);
	world_fire(&w, 1, &f);
	world_drain(&w, &out, 1);
	for (uint64_t i = 0; i < 10; i++)
		ck_assert_uint_eq(nth(0, i), 100 + i);
	ck_assert_uint_eq(only_row(0)->cells[aggregate_quantize_of(107)], 1);
	f.gpr[4] = 0x10; /* no memory: 0, and no fault */
	world_fire(&w, 0, &f);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(nth(1, 6), 0);
	close_world();
}
END_TEST

START_TEST(arguments_of_usdt_are_where_the_note_says)
{
	int32_t memory[4] = {1, -2, 3, -4};
	struct probe_frame f = {
	    .gpr = {0x1122334455667788, 3, [12] = (uint64_t)-5}};

	open_world("pid1::f0:x { trace(arg0); trace(arg1); trace(arg2);"
		   "trace(arg3); trace(arg4); trace(arg5); trace(arg6); }");
	w.site[0].kind = COLLECT_USDT;
	w.site[0].args.n = 6;
	f.gpr[3] = (uint64_t)(uintptr_t)memory;
	w.arg[0] = (struct collect_arg){
	    .place = COLLECT_CONST, .size = 4, .value = -9};
	w.arg[1] = (struct collect_arg){
	    .place = COLLECT_REG, .size = 1, .base = 0, .high = 1};
	w.arg[2] = (struct collect_arg){
	    .place = COLLECT_REG, .size = 4, .base = 12, .is_signed = 1};
	w.arg[3] = (struct collect_arg){.place = COLLECT_MEM,
					.size = 4,
					.is_signed = 1,
					.base = 3,
					.index = 1,
					.scale = 2};
	w.arg[4] =
	    (struct collect_arg){.place = COLLECT_MEM,
				 .size = 4,
				 .base = COLLECT_NOREG,
				 .index = COLLECT_NOREG,
				 .value = (int64_t)(uintptr_t)&memory[1]};
	w.arg[5] = (struct collect_arg){.place = COLLECT_NOWHERE};
	world_fire(&w, 0, &f);
	world_drain(&w, &out, 1);
	ck_assert_int_eq((int64_t)nth(0, 0), -9);
	ck_assert_uint_eq(nth(0, 1), 0x77);
	ck_assert_int_eq((int64_t)nth(0, 2), -5);
	ck_assert_int_eq((int64_t)nth(0, 3), -4);
	ck_assert_uint_eq(nth(0, 4), (uint32_t)-2);
	ck_assert_uint_eq(nth(0, 5), 0);
	ck_assert_uint_eq(nth(0, 6), 0);
	close_world();
}
END_TEST

START_TEST(uregs_are_the_programs)
{
	struct probe_frame f = {.how = TRAMPOLINE_STATUS};

	/* lahf: ZF and CF in the second byte; seto: OF in the first */
	f.flags = 0x4300 | 1;
	for (unsigned i = 0; i < 16; i++)
		f.gpr[i] = 1000 + i;
	open_world("pid1::f0:entry { trace(uregs[R_RAX]); trace(uregs[R_RDX]);"
		   "trace(uregs[R_RCX]); trace(uregs[R_RBX]);"
		   "trace(uregs[R_RSI]); trace(uregs[R_RDI]);"
		   "trace(uregs[R_RBP]); trace(uregs[R_RSP]);"
		   "trace(uregs[R_R8]); trace(uregs[R_R15]);"
		   "trace(uregs[R_RIP]); trace(uregs[R_RFL]);"
		   "trace(uregs[R_FSBASE]); }");
	world_fire(&w, 0, &f);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(nth(0, 0), 1000);
	ck_assert_uint_eq(nth(0, 1), 1002);
	ck_assert_uint_eq(nth(0, 2), 1001);
	ck_assert_uint_eq(nth(0, 3), 1003);
	ck_assert_uint_eq(nth(0, 4), 1006);
	ck_assert_uint_eq(nth(0, 5), 1007);
	ck_assert_uint_eq(nth(0, 6), 1005);
	ck_assert_uint_eq(nth(0, 7), 1004);
	ck_assert_uint_eq(nth(0, 8), 1008);
	ck_assert_uint_eq(nth(0, 9), 1015);
	ck_assert_uint_eq(nth(0, 10), w.site[0].pc);
	ck_assert_uint_eq(nth(0, 11), 0x843);
	ck_assert_uint_eq(nth(0, 12), sys_fs_base());
	close_world();
}
END_TEST

/* -- Threads, processes, signals -- */

START_TEST(a_token_swallows_one_hit)
{
	struct probe_frame f = {.gpr = {[4] = 0x7000}};
	struct collect_area *area;

	open_world("pid1::f0:entry { @ = count(); }");
	world_fire(&w, 0, &f);
	area = collect_area(w.plan, sys_fs_base());
	f.gpr[4] = 0x7008;
	area->token[2].pc = w.site[0].pc;
	area->token[2].state = native_state(f.gpr);
	area->n_tokens = 1;
	f.gpr[4] = 0x7000;
	world_fire(&w, 0, &f);
	ck_assert_uint_eq(area->n_tokens, 1);
	f.gpr[4] = 0x7008;
	world_fire(&w, 0, &f);
	ck_assert_uint_eq(area->n_tokens, 0);
	world_fire(&w, 0, &f);
	ck_assert_int_eq(world_value(&w, 0, NULL), 3);
	close_world();
}
END_TEST

START_TEST(a_hit_within_a_hit_is_recursion)
{
	struct collect_area *area;

	open_world("pid1::f0:entry { @ = count(); }");
	world_hit(&w, 0, 0);
	area = collect_area(w.plan, sys_fs_base());
	ck_assert_uint_eq(area->busy, 0);
	area->busy = 1;
	world_hit(&w, 0, 0);
	ck_assert_uint_eq(area->busy, 1);
	area->busy = 0;
	ck_assert_uint_eq(world_account(&w, 0).recursed, 1);
	ck_assert_int_eq(world_value(&w, 0, NULL), 1);
	close_world();
}
END_TEST

START_TEST(the_signal_mask_is_as_it_was)
{
	sigset_t set, was;

	open_world("pid1::f0:entry { @ = count(); }");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
	for (int i = 0; i < 2; i++) {
		world_hit(&w, 0, 0);
		sigprocmask(SIG_SETMASK, NULL, &was);
		ck_assert_mem_eq(&was, &set, 8);
	}
	collect_thread_ends(w.plan, sys_fs_base());
	sigprocmask(SIG_SETMASK, NULL, &was);
	ck_assert_mem_eq(&was, &set, 8);
	close_world();
}
END_TEST

static int child_of(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(a_child_is_followed_or_left_alone)
{
	for (unsigned follow = 0; follow < 2; follow++) {
		pid_t pid;

		world_open(&w,
			   "self int s; pid1::f0:entry { @ = count();"
			   "trace(pid); self->s++; trace(self->s); }",
			   NULL, follow ? COLLECT_FOLLOWS : 0);
		world_hit(&w, 0, 0);
		pid = fork();
		if (pid == 0) {
			for (int i = 0; i < 100; i++)
				world_hit(&w, 0, 0);
			_exit(w.table->pid == (follow ? (uint32_t)getpid()
						      : COLLECT_APART)
				  ? 0
				  : 1);
		}
		ck_assert_int_eq(child_of(pid), 0);
		world_hit(&w, 0, 0);
		ck_assert_int_eq(world_value(&w, 0, NULL), follow ? 102 : 2);
		world_drain(&w, &out, 1);
		ck_assert_uint_eq(out.n, follow ? 102 : 2);
		for (size_t i = 0; i < out.n; i++)
			ck_assert_uint_eq(out.at[i].number,
					  out.at[i].record.pid);
		/* self-> of the child begins anew */
		ck_assert_uint_eq(nth(1, 1), follow ? 1 : 2);
		/* Its area is free once hark has seen it end. */
		if (follow) {
			struct collect_board *b =
			    (struct collect_board *)(void *)w.board;

			ck_assert_uint_eq(b->high, 2);
			board_gone(w.b, (uint32_t)pid);
			ck_assert_uint_eq(b->ended, 1);
		}
		close_world();
	}
}
END_TEST

static volatile int in_child;

START_TEST(a_child_of_vfork_counts_for_its_parent)
{
	pid_t pid;

	open_world("pid1::f0:entry { @ = count(); }");
	world_hit(&w, 0, 0);
	pid = vfork();
	if (pid == 0) {
		world_hit(&w, 0, 0);
		collect_thread_ends(w.plan, sys_fs_base());
		in_child++;
		_exit(0);
	}
	ck_assert_int_eq(child_of(pid), 0);
	ck_assert_int_eq(in_child, 1);
	world_hit(&w, 0, 0);
	ck_assert_int_eq(world_value(&w, 0, NULL), 3);
	ck_assert_uint_eq(((struct collect_board *)(void *)w.board)->high, 1);
	close_world();
}
END_TEST

static void *hit_once(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < 10; i++)
		world_hit(&w, 0, 0);
	return NULL;
}

START_TEST(threads_without_an_area_are_counted)
{
	struct collect_geometry g = world_geometry();

	g.max_threads = 2;
	world_open(&w, "pid1::f0:entry { @ = count(); }", &g, 0);
	for (int i = 0; i < 5; i++) {
		static uint8_t fs_of_others[5][64];

		/* Somebody else's entries: areas that are not given back. */
		if (i < 2)
			collect_area(w.plan,
				     (uint64_t)(uintptr_t)fs_of_others[i]);
		else
			in_thread(hit_once);
	}
	ck_assert_uint_eq(world_account(&w, 0).executed, 30);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 30);
	ck_assert_int_eq(world_value(&w, 0, NULL), -1);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "30 hits of threads"));
	close_world();
}
END_TEST

START_TEST(the_table_may_be_full)
{
	struct collect_who *who;

	open_world("pid1::f0:entry { @ = count(); }");
	who = w.table->who;
	for (unsigned i = 0; i < COLLECT_ENTRIES; i++)
		who[i] = (struct collect_who){.fs = 0x10000 + i, .area = 8};
	world_hit(&w, 0, 0);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 1);
	/* One who is gone makes room. */
	who[17].fs = COLLECT_NOBODY;
	world_hit(&w, 0, 0);
	world_hit(&w, 0, 0);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 2);
	ck_assert_uint_eq(who[17].fs, sys_fs_base());
	close_world();
}
END_TEST

START_TEST(a_thread_that_gets_its_fs_later_is_the_same)
{
	struct collect_area *area;

	open_world("pid1::f0:entry { @ = count(); }");
	area = collect_area(w.plan, 0);
	world_hit(&w, 0, 0);
	ck_assert_ptr_eq(collect_area(w.plan, sys_fs_base()), area);
	ck_assert_uint_eq(((struct collect_board *)(void *)w.board)->high, 1);
	close_world();
}
END_TEST

START_TEST(threads_that_share_their_fs_are_told_apart)
{
	struct collect_area *before, *mine;
	struct collect_who *w1;

	open_world("pid1::f0:entry { @ = count(); }");
	world_hit(&w, 0, 0);
	before = collect_area(w.plan, sys_fs_base());
	collect_share(w.plan, sys_fs_base());
	/* It keeps its area, by its id. */
	ck_assert_uint_eq(collect_key(w.plan, sys_fs_base()),
			  collect_tid_key((uint32_t)syscall(SYS_gettid)));
	ck_assert_ptr_eq(collect_area(w.plan, sys_fs_base()), before);
	world_hit(&w, 0, 0);
	/* Another one with the same base. */
	before->tid++;
	w1 = &w.table->who[collect_first(
	    collect_tid_key((uint32_t)syscall(SYS_gettid)))];
	ck_assert_uint_eq(w1->area, (uint64_t)(uintptr_t)before);
	w1->fs = collect_tid_key(before->tid);
	world_hit(&w, 0, 0);
	mine = collect_area(w.plan, sys_fs_base());
	ck_assert_ptr_ne(mine, before);
	/* A hit in a hit is one here, too. */
	mine->busy = 1;
	world_hit(&w, 0, 0);
	mine->busy = 0;
	ck_assert_uint_eq(world_account(&w, 0).executed, 4);
	ck_assert_uint_eq(world_account(&w, 0).recursed, 1);
	/* With a base of its own it takes its area along. */
	ck_assert_ptr_eq(collect_area(w.plan, 0x10000000), mine);
	ck_assert_uint_eq(mine->fs, 0x10000000);
	collect_thread_ends(w.plan, 0x10000000);
	ck_assert_uint_eq(mine->owner & 3, 0);
	close_world();
}
END_TEST

static void *share_and_hit(void *ctx)
{
	(void)ctx;
	collect_share(w.plan, sys_fs_base());
	world_hit(&w, 0, 0);
	return NULL;
}

START_TEST(those_that_end_unseen_leave_room_for_others)
{
	struct collect_geometry g = world_geometry();

	g.max_threads = 2;
	world_open(&w, "pid1::f0:entry { @ = count(); }", &g, 0);
	for (int i = 0; i < 20; i++)
		in_thread(share_and_hit);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 0);
	ck_assert_int_eq(world_value(&w, 0, NULL), 20);
	close_world();
}
END_TEST

START_TEST(threads_are_known_by_themselves_if_all_are)
{
	static uint64_t block[8];

	open_world("pid1::f0:entry { @ = count(); }");
	world_hit(&w, 0, 0);
	world_hit(&w, 0, 0);
	ck_assert_uint_eq(w.table->has_self, 1);
	/* None yet: no reason for distrust. */
	collect_area(w.plan, 0);
	ck_assert_uint_eq(w.table->has_self, 1);
	/* One who does not keep to the ABI: nobody is trusted any more. */
	collect_area(w.plan, (uint64_t)(uintptr_t)block);
	ck_assert_uint_eq(w.table->has_self, 0);
	in_thread(hit_once);
	ck_assert_uint_eq(w.table->has_self, 0);
	/* Without memory there: the same. */
	ck_assert_ptr_nonnull(collect_area(w.plan, 0x10000000));
	world_hit(&w, 0, 0);
	ck_assert_int_eq(world_value(&w, 0, NULL), 13);
	close_world();
}
END_TEST

static volatile sig_atomic_t n_signals;

static void on_signal(int sig)
{
	(void)sig;
	n_signals++;
}

START_TEST(raise_and_stop_are_meant_for_the_program)
{
	pid_t pid;
	int status;

	open_world("pid1::f0:entry { raise(10); } pid1::f1:entry { stop(); }");
	signal(SIGUSR1, on_signal);
	world_hit(&w, 0, 0);
	ck_assert_int_eq(n_signals, 1);
	w.plan->flags = COLLECT_FOLLOWS;
	pid = fork();
	if (pid == 0) {
		world_hit(&w, 1, 0);
		_exit(3);
	}
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	ck_assert_int_eq(child_of(pid), 3);
	close_world();
}
END_TEST

/* -- hark's own clauses -- */

static bool read_nothing(void *ctx, uint64_t addr, void *to, uint32_t len)
{
	(void)ctx;
	memset(to, 7, len);
	return addr == 0x1000;
}

START_TEST(hark_runs_clauses_of_its_own)
{
	struct collect_outside o = {.read = read_nothing};

	open_world("int g; BEGIN { g = 5; trace(arg1); trace(pid);"
		   "this->x = 9; }"
		   "BEGIN { trace(this->x); @ = count(); }"
		   "END { trace(*(char *)0x1000); ustack(4); }"
		   "END { trace(*(char *)0x2000); }"
		   "pid1::f0:entry { trace(g); }");
	o.plan = w.plan;
	o.board = w.board;
	o.area = board_area(w.b);
	o.site = &w.site[6];
	o.args[1] = 11;
	o.pid = 1234;
	ck_assert_int_eq(collect_run(&o, 0), MACHINE_DONE);
	o.goes_on = true;
	ck_assert_int_eq(collect_run(&o, 1), MACHINE_DONE);
	world_hit(&w, 0, 0);
	o.goes_on = false;
	o.site = &w.site[7];
	ck_assert_int_eq(collect_run(&o, 2), MACHINE_DONE);
	o.goes_on = true;
	ck_assert_int_eq(collect_run(&o, 3), MACHINE_FAULT);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 5);
	ck_assert_uint_eq(nth(0, 0), 11);
	ck_assert_uint_eq(nth(0, 1), 1234);
	ck_assert_uint_eq(out.at[0].record.area, w.plan->geometry.max_threads);
	ck_assert_uint_eq(nth(1, 0), 9);
	ck_assert_uint_eq(nth(2, 0), 5);
	ck_assert_uint_eq(nth(3, 0), 7);
	ck_assert_int_eq(out.at[4].record.is_fault, 1);
	ck_assert_int_eq(world_value(&w, 0, NULL), 1);
	ck_assert_uint_eq(world_account(&w, 6).executed, 1);
	ck_assert_uint_eq(world_account(&w, 6).recorded, 1);
	ck_assert_uint_eq(world_account(&w, 7).executed, 1);
	ck_assert_uint_eq(world_account(&w, 7).faulted, 1);
	close_world();
}
END_TEST

Suite *probe_collect_suite(void)
{
	Suite *s = suite_create("probe/collect");
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
	tcase_add_test(t, records_tell_who_and_what);
	tcase_add_test(t, every_action_arrives);
	tcase_add_test(t, a_ring_goes_around);
	tcase_add_test(t, a_full_ring_drops_until_it_is_emptied);
	tcase_add_test(t, fill_keeps_the_first);
	tcase_add_test(t, ring_keeps_the_last);
	tcase_add_test(t, records_survive_a_kill);
	tcase_add_test(t, a_fault_voids_the_output);
	tcase_add_test(t, variables_last_as_long_as_they_should);
	tcase_add_test(t, an_area_is_used_again_but_not_its_variables);
	tcase_add_test(t, arrays_hold_numbers_and_texts);
	tcase_add_test(t, a_full_array_drops_and_recovers);
	tcase_add_test(t, arrays_of_dead_threads_are_swept);
	tcase_add_test(t, a_lock_of_the_dead_is_given_up);
	tcase_add_test(t, speculations_wait_for_commit);
	tcase_add_test(t, speculations_without_room_are_dropped);
	tcase_add_test(t, builtins_are_right);
	tcase_add_test(t, the_clock_is_the_tsc_if_hark_says_so);
	tcase_add_test(t, arguments_come_from_registers_and_stack);
	tcase_add_test(t, arguments_of_usdt_are_where_the_note_says);
	tcase_add_test(t, uregs_are_the_programs);
	tcase_add_test(t, a_token_swallows_one_hit);
	tcase_add_test(t, a_hit_within_a_hit_is_recursion);
	tcase_add_test(t, the_signal_mask_is_as_it_was);
	tcase_add_test(t, a_child_is_followed_or_left_alone);
	tcase_add_test(t, a_child_of_vfork_counts_for_its_parent);
	tcase_add_test(t, threads_without_an_area_are_counted);
	tcase_add_test(t, the_table_may_be_full);
	tcase_add_test(t, a_thread_that_gets_its_fs_later_is_the_same);
	tcase_add_test(t, threads_are_known_by_themselves_if_all_are);
	tcase_add_test(t, threads_that_share_their_fs_are_told_apart);
	tcase_add_test(t, those_that_end_unseen_leave_room_for_others);
	tcase_add_test(t, raise_and_stop_are_meant_for_the_program);
	tcase_add_test(t, hark_runs_clauses_of_its_own);
	suite_add_tcase(s, t);
	return s;
}
