/* tests/unit/native_collect_ring_test.c - the memory that records go to: what
 * is touched of it, used again, or found full. */
#include "inside/sys.h"
#include "native_collect_world.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACE "pid1::f0:entry { trace(arg0); }"
enum { RECORD = 48, KB = 1024 };

static struct collect_ring *ring_of_first(void)
{
	struct collect_layout l;

	collect_layout(&w.plan->geometry, w.program, &l);
	return (struct collect_ring *)(void *)(w.board + l.parts + l.ring);
}

static uint32_t ring_size(void)
{
	struct collect_layout l;

	collect_layout(&w.plan->geometry, w.program, &l);
	return l.ring_size;
}

/* Bytes of the first ring that have memory. */
static size_t touched(void)
{
	struct collect_ring *r = ring_of_first();
	uintptr_t from = (uintptr_t)(r + 1) & ~(uintptr_t)4095;
	size_t n = ((uintptr_t)(r + 1) + ring_size() - from + 4095) / 4096;
	unsigned char *in = malloc(n);
	size_t sum = 0;

	ck_assert_ptr_nonnull(in);
	ck_assert_int_eq(0, mincore((void *)from, n * 4096, in));
	for (size_t i = 0; i < n; i++)
		sum += in[i] & 1U;
	free(in);
	return sum * 4096;
}

static void open_ring(const char *script, uint32_t size, uint32_t policy,
		      uint32_t flags)
{
	struct collect_geometry g = world_geometry();

	g.ring_size = size;
	g.policy = policy;
	world_open(&w, script, &g, flags);
}

static void check_order(void)
{
	for (size_t i = 1; i < out.n; i++)
		ck_assert_uint_eq(out.at[i].number, out.at[i - 1].number + 1);
}

/* -- What is touched -- */

START_TEST(memory_that_was_touched_is_used_again)
{
	uint64_t next = 0;

	open_ring(TRACE, 2048 * KB, COLLECT_SWITCH, 0);
	for (unsigned k = 0; k < 30; k++) {
		for (unsigned i = 0; i < 100 * KB / RECORD; i++)
			world_hit(&w, 0, next++);
		world_drain(&w, &out, 0);
	}
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, next);
	check_order();
	ck_assert_uint_le(touched(), 256 * KB);
	close_world();
}
END_TEST

/* Nobody reads: all of it is used, as before. And again after that. */
START_TEST(a_ring_grows_before_it_drops)
{
	uint64_t next = 0, n = 1024 * KB / RECORD - 16 * 2;

	open_ring(TRACE, 1024 * KB, COLLECT_SWITCH, 0);
	for (unsigned k = 0; k < 3; k++) {
		for (unsigned i = 0; i < 2000; i++)
			world_hit(&w, 0, next++);
		world_drain(&w, &out, 0);
	}
	for (unsigned k = 0; k < 3; k++) {
		for (uint64_t i = 0; i < n; i++)
			world_hit(&w, 0, next++);
		ck_assert_uint_eq(world_account(&w, 0).dropped, 0);
		ck_assert_uint_ge(touched(), 960 * KB);
		world_drain(&w, &out, 0);
	}
	for (uint64_t i = 0; i < 2 * n; i++)
		world_hit(&w, 0, next++);
	ck_assert_uint_ge(world_account(&w, 0).dropped, n - 16 * 2);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, world_account(&w, 0).recorded);
	check_order();
	close_world();
}
END_TEST

/* -- By chance -- */

static uint64_t seed;
static uint64_t number(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

/* Records of all sizes; hark comes now soon, now late, now not at all. What was
 * recorded comes once, in order. */
START_TEST(each_record_comes_once)
{
	static const uint32_t sizes[] = {600, 4096 + 24, 256 * KB,
					 256 * KB + 4000, 1000 * KB};
	static char text[256];
	uint64_t recorded = 0, last = 0, wrong = 0;

	seed = (uint64_t)_i + 1;
	open_ring("pid1::f0:entry { trace(arg0); trace(copyinstr(arg1)); }",
		  sizes[_i % 5], COLLECT_SWITCH, 0);
	for (uint64_t i = 1; i < 12000; i++) {
		static uint64_t until, many;
		struct probe_frame f = {0};

		memset(text, 'a', sizeof text);
		text[number(250)] = '\0';
		f.gpr[7] = i;
		f.gpr[6] = (uint64_t)(uintptr_t)text;
		world_fire(&w, 0, &f);
		if (until == 0)
			many = (uint64_t)1 << number(13);
		if (until++ == many) {
			until = 0;
			world_drain(&w, &out, 0);
		}
	}
	world_drain(&w, &out, 1);
	recorded = world_account(&w, 0).recorded;
	ck_assert_uint_eq(out.n, recorded);
	for (size_t i = 0; i < out.n; i++) {
		uint32_t len;

		wrong += out.at[i].number <= last;
		last = out.at[i].number;
		memcpy(&len, out.at[i].bytes + 16 + 8, sizeof len);
		for (uint32_t k = 0; k < len && k < 200; k++)
			wrong += out.at[i].bytes[16 + 8 + 4 + k] != 'a';
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_ptr_null(strstr(world_reasons(&w), "written over"));
	close_world();
}
END_TEST

/* -- Another process -- */

/* A child writes as fast as it can, until it is killed; hark reads meanwhile.
 * Nothing that was read is torn, twice there, or out of order. */
START_TEST(a_killed_writer_leaves_whole_records)
{
	struct collect_account a;
	uint64_t last = 0;
	pid_t pid;

	open_ring(TRACE, 256 * KB, COLLECT_SWITCH, COLLECT_FOLLOWS);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (uint64_t i = 1;; i++)
			world_hit(&w, 0, i);
	}
	while (out.n < 20000 &&
	       strstr(world_reasons(&w), "written over") == NULL)
		world_drain(&w, &out, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	world_drain(&w, &out, 1);
	a = world_account(&w, 0);
	/* It may have been killed between a record and its account. */
	ck_assert_uint_le(out.n - a.recorded, 1);
	ck_assert_uint_le(a.executed - a.recorded - a.dropped, 1);
	for (size_t i = 0; i < out.n; i++) {
		ck_assert_uint_gt(out.at[i].number, last);
		ck_assert_uint_le(out.at[i].number - last - 1, a.dropped);
		ck_assert_uint_eq(out.at[i].record.pid, (unsigned)pid);
		last = out.at[i].number;
	}
	ck_assert_ptr_null(strstr(world_reasons(&w), "written over"));
	world_log_free(&out);
	world_close(&w);
}
END_TEST

/* -- While hark shows -- */

struct writer {
	uint64_t next, seen;
	unsigned each; /* records that are written while one is shown */
};

static int write_more(void *ctx, const struct board_record *r,
		      struct hark_err *err)
{
	struct writer *v = ctx;
	uint64_t value;

	(void)err;
	for (unsigned i = 0; i < v->each; i++)
		world_hit(&w, 0, v->next++);
	/* It is still there. */
	memcpy(&value, r->entries + 8, sizeof value);
	ck_assert_uint_eq(value, v->seen);
	v->seen++;
	return 0;
}

START_TEST(a_ring_is_emptied_while_hark_shows)
{
	struct writer v = {.each = 40};
	struct hark_err err;

	open_ring(TRACE, 256 * KB, COLLECT_SWITCH, 0);
	while (v.next < 200)
		world_hit(&w, 0, v.next++);
	/* 375 KB, more than the ring holds. */
	ck_assert_int_eq(0, board_drain(w.b, 0, write_more, &v, &err));
	ck_assert_uint_eq(v.seen, 200);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 0);
	v.each = 0;
	ck_assert_int_eq(0, board_drain(w.b, 1, write_more, &v, &err));
	ck_assert_uint_eq(v.seen, v.next);
	close_world();
}
END_TEST

/* As much again as the ring holds, and not more. */
START_TEST(what_waits_in_hark_is_bounded)
{
	struct writer v = {.each = 1000};
	struct collect_account a;
	struct hark_err err;

	open_ring(TRACE, 256 * KB, COLLECT_SWITCH, 0);
	while (v.next < 200)
		world_hit(&w, 0, v.next++);
	ck_assert_int_eq(0, board_drain(w.b, 0, write_more, &v, &err));
	a = world_account(&w, 0);
	ck_assert_uint_gt(a.dropped, 0);
	ck_assert_uint_le(a.recorded, 200 + 3 * 256 * KB / RECORD);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, a.recorded - 200);
	check_order();
	close_world();
}
END_TEST

/* -- Damage -- */

START_TEST(a_chunk_that_is_none_is_damage)
{
	open_ring(TRACE, 256 * KB, COLLECT_SWITCH, 0);
	world_hit(&w, 0, 1);
	ring_of_first()->order[0] = 4;
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 0);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "written over"));
	close_world();
}
END_TEST

/* D1: a process has written over the ring: the thread drops records, and does
 * not crash, nor write elsewhere. */
#ifdef __SANITIZE_ADDRESS__
enum { ROUNDS = 600 };
#else
enum { ROUNDS = 3000 };
#endif

START_TEST(no_damage_harms_the_thread)
{
	static const uint32_t odd[] = {0,	   1,	       3,
				       4,	   7,	       64 * KB,
				       255 * KB,   256 * KB,   256 * KB + 8,
				       0x7fffffff, 0xffffffff, 0xfffffff8};
	struct collect_ring good, *r;

	seed = (uint64_t)_i + 1;
	open_ring(TRACE, 256 * KB, (uint32_t)_i % 3, 0);
	r = ring_of_first();
	for (uint64_t i = 0; i < 3000; i++)
		world_hit(&w, 0, i);
	good = *r;
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t *field[] = {&r->at,
				     &r->left,
				     &r->is_full,
				     &r->n_touched,
				     &r->tail_at,
				     (uint32_t *)&r->head,
				     (uint32_t *)&r->tail,
				     (uint32_t *)(void *)r->order};

		for (uint64_t n = 1 + number(3); n > 0; n--)
			*field[number(sizeof field / sizeof *field)] =
			    odd[number(sizeof odd / sizeof *odd)];
		/* The next owner begins with what it finds there. */
		if (round % 2)
			collect_thread_ends(w.plan, sys_fs_base());
		for (unsigned i = 0; i < 3; i++)
			world_hit(&w, 0, i);
		*r = good;
	}
	/* Nothing behind the ring. */
	ck_assert_uint_eq(((const uint64_t *)(const void *)((uint8_t *)(r + 1) +
							    ring_size()))[0],
			  0);
	world_close(&w);
}
END_TEST

Suite *native_collect_ring_suite(void)
{
	Suite *s = suite_create("native_collect_ring");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, memory_that_was_touched_is_used_again);
	tcase_add_test(t, a_ring_grows_before_it_drops);
	tcase_add_loop_test(t, each_record_comes_once, 0, 5);
	tcase_add_test(t, a_killed_writer_leaves_whole_records);
	tcase_add_test(t, a_ring_is_emptied_while_hark_shows);
	tcase_add_test(t, what_waits_in_hark_is_bounded);
	tcase_add_test(t, a_chunk_that_is_none_is_damage);
	tcase_add_loop_test(t, no_damage_harms_the_thread, 0, 3);
	suite_add_tcase(s, t);
	return s;
}
