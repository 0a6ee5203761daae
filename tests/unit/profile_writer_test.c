/* tests/unit/profile_writer_test.c - samples into a file. */
#include "profile_make.h"

#include "outside/faults.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct profile *open_made(struct make *m)
{
	struct profile *p = NULL;
	struct hark_err err = {0};

	ck_assert_msg(profile_open(m->path, &p, &err) == 0, "%s", err.text);
	ck_assert_ptr_null(p->facts.damage);
	make_check(p);
	return p;
}

/* The frames of a sample, the outermost first; how many. */
static size_t stack_of(const struct profile *p, size_t sample,
		       struct tree_frame out[64])
{
	struct tree_frame up[64];
	size_t n = 0;

	for (uint32_t i = p->samples[sample].node; i != 0;
	     i = p->nodes[i].parent) {
		ck_assert_uint_lt(n, 64);
		up[n++] = p->frames[p->nodes[i].frame];
	}
	for (size_t i = 0; i < n; i++)
		out[i] = up[n - 1 - i];
	return n;
}

START_TEST(writer_gives_back_facts)
{
	struct hark_err err;
	struct profile *p;
	struct make m;

	make_begin(&m);
	make_maps(&m, 7);
	profile_thread(m.writer, 7, 8, "worker", &err);
	make_sample(&m, 8, 10, 0, (uint64_t[]){MAKE_BASE, 0}, &err);
	make_sample(&m, 9, 20, 0, (uint64_t[]){MAKE_BASE, 0}, &err);
	profile_lost(m.writer, "no room", 2);
	profile_lost(m.writer, "in the dark", 1);
	profile_lost(m.writer, "no room", 3);
	make_finish(&m);
	p = open_made(&m);
	ck_assert_str_eq("prog a b", p->facts.command);
	ck_assert_int_eq(PROFILE_WALL, p->facts.clock);
	ck_assert_uint_eq(1000000, p->facts.period_ns);
	ck_assert_uint_eq(1000000, p->facts.duration_ns);
	ck_assert_uint_eq(700000, p->facts.cpu_user_ns);
	ck_assert_uint_eq(300000, p->facts.cpu_system_ns);
	ck_assert_uint_eq(2, p->facts.samples);
	ck_assert_uint_eq(2, p->facts.threads);
	ck_assert_uint_eq(1, p->facts.processes);
	ck_assert_uint_eq(6, p->facts.lost);
	ck_assert_uint_eq(2, p->facts.n_lost_by);
	ck_assert_str_eq("no room", p->facts.lost_by[0].reason);
	ck_assert_uint_eq(5, p->facts.lost_by[0].n);
	ck_assert_int_eq(3, p->facts.exit);
	ck_assert_int_eq(-1, p->facts.signal);
	ck_assert(p->facts.is_complete);
	ck_assert_str_eq("worker", p->threads[0].name);
	ck_assert_int_eq(8, p->threads[0].tid);
	ck_assert_str_eq("prog", p->threads[1].name); /* of its program */
	ck_assert_uint_eq(1, p->n_modules); /* the others have no frame */
	ck_assert_str_eq("/nowhere/prog", p->modules[0].path);
	ck_assert_uint_eq(4, p->modules[0].id_len);
	ck_assert_mem_eq("\0\1\2\377", p->modules[0].id, 4);
	ck_assert(p->modules[0].main);
	profile_free(p);
	make_close(&m);
}
END_TEST

START_TEST(writer_puts_frames_where_modules_are)
{
	const uint64_t pcs[] = {MAKE_BASE + 16,	    MAKE_LIB + 0x1000,
				MAKE_ANON + 4,	    0x99,
				MAKE_BASE + 0xffff, 0};
	struct tree_frame f[64];
	struct hark_err err;
	struct profile *p;
	struct make m;

	make_begin(&m);
	make_maps(&m, 7);
	ck_assert_int_eq(0, make_sample(&m, 7, 0, 0, pcs, &err));
	make_finish(&m);
	p = open_made(&m);
	ck_assert_uint_eq(5, stack_of(p, 0, f));
	ck_assert_str_eq("/nowhere/prog", p->modules[f[0].module - 1].path);
	ck_assert_uint_eq(MAKE_BASE + 16 - 0x1000, f[0].address);
	/* Behind a call that is the last instruction of its module. */
	ck_assert_str_eq("/nowhere/lib.so", p->modules[f[1].module - 1].path);
	ck_assert_uint_eq(0x1000, f[1].address);
	ck_assert_uint_eq(TREE_RETURN, f[1].flags);
	ck_assert_int_eq(MODULE_ANON, p->modules[f[2].module - 1].kind);
	ck_assert_uint_eq(MAKE_ANON + 4, f[2].address);
	ck_assert_uint_eq(0, f[3].module);
	ck_assert_uint_eq(0x99, f[3].address);
	ck_assert_uint_eq(f[0].module, f[4].module);
	ck_assert_uint_eq(0, f[4].flags);
	profile_free(p);
	make_close(&m);
}
END_TEST

START_TEST(writer_keeps_frames_of_each_stack_of_each_thread)
{
	const uint64_t none[] = {0}, a[] = {1, 2, 3, 0}, b[] = {4, 0};
	struct tree_frame f[64];
	struct hark_err err;
	struct profile *p;
	struct make m;

	make_begin(&m);
	ck_assert_int_eq(0, make_sample(&m, 1, 0, 0, a, &err));
	ck_assert_int_eq(0, make_sample(&m, 2, 1, 0, b, &err));
	ck_assert_int_eq(0, make_sample(&m, 1, 2, 2, b, &err));
	ck_assert_int_eq(0, make_sample(&m, 1, 3, 1, none, &err));
	ck_assert_int_eq(0, make_sample(&m, 1, 4, 0, none, &err));
	make_finish(&m);
	p = open_made(&m);
	ck_assert_uint_eq(3, stack_of(p, 2, f));
	ck_assert_uint_eq(2, f[1].address);
	ck_assert_uint_eq(4, f[2].address);
	ck_assert_uint_eq(1, stack_of(p, 3, f));
	ck_assert_uint_eq(1, f[0].address);
	ck_assert_uint_eq(0, stack_of(p, 4, f));
	profile_free(p);
	make_close(&m);
}
END_TEST

START_TEST(writer_believes_no_kept_frames_that_were_not_there)
{
	const uint64_t a[] = {1, 2, 3, 0};
	struct profile_sample s = {.pid = 7, .tid = 1, .map = PROFILE_STACKS};
	struct hark_err err = {0};
	struct profile *p;
	struct make m;

	make_begin(&m);
	ck_assert_int_eq(-1, make_sample(&m, 1, 0, 1, a, &err));
	ck_assert_int_eq(HARK_EINPUT, err.code);
	ck_assert_int_eq(0, make_sample(&m, 1, 0, 0, a, &err));
	ck_assert_int_eq(-1, make_sample(&m, 1, 0, 4, a, &err));
	ck_assert_int_eq(0, make_sample(&m, 1, 0, 3, a, &err));
	ck_assert_int_eq(-1, make_sample(&m, 2, 0, 1, a, &err)); /* another */
	profile_thread_gone(m.writer, 7, 1);
	ck_assert_int_eq(-1, make_sample(&m, 1, 0, 1, a, &err));
	ck_assert_int_eq(-1, profile_put(m.writer, &s, &err));
	ck_assert_int_eq(HARK_EINPUT, err.code);
	make_finish(&m);
	p = open_made(&m);
	ck_assert_uint_eq(2, p->n_samples);
	profile_free(p);
	make_close(&m);
}
END_TEST

START_TEST(writer_takes_a_number_that_comes_again_for_another_thread)
{
	const uint64_t a[] = {1, 0};
	struct hark_err err;
	struct profile *p;
	struct make m;

	make_begin(&m);
	profile_thread(m.writer, 7, 5, "old", &err);
	make_sample(&m, 5, 0, 0, a, &err);
	profile_thread_gone(m.writer, 7, 5);
	profile_thread_gone(m.writer, 7, 5);
	profile_thread_gone(m.writer, 7, 6); /* nobody knows it */
	profile_thread(m.writer, 7, 5, "new", &err);
	make_sample(&m, 5, 1, 0, a, &err);
	profile_thread(m.writer, 7, 5, "newest", &err);
	make_finish(&m);
	p = open_made(&m);
	ck_assert_uint_eq(2, p->n_threads);
	ck_assert_uint_eq(0, p->samples[0].thread);
	ck_assert_uint_eq(1, p->samples[1].thread);
	ck_assert_str_eq("old", p->threads[0].name);
	ck_assert_str_eq("newest", p->threads[1].name);
	profile_free(p);
	make_close(&m);
}
END_TEST

START_TEST(writer_says_that_a_stack_has_no_outer_end)
{
	struct profile_frame frames[] = {{.pc = 1, .is_return = 1, .how = 3},
					 {.pc = 2}};
	struct profile_sample s = {.pid = 7,
				   .tid = 7,
				   .weight = 1,
				   .frames = frames,
				   .n = 2,
				   .end = 2};
	struct tree_frame f[64];
	struct hark_err err;
	struct profile *p;
	struct make m;

	make_begin(&m);
	ck_assert_int_eq(0, profile_put(m.writer, &s, &err));
	s.kept = 2; /* the same frames; but this one is whole */
	s.n = s.end = 0;
	ck_assert_int_eq(0, profile_put(m.writer, &s, &err));
	make_finish(&m);
	p = open_made(&m);
	ck_assert_uint_eq(3, stack_of(p, 0, f));
	ck_assert_uint_eq(TREE_BROKEN, f[0].flags);
	ck_assert_uint_eq(2, f[0].address);
	ck_assert_uint_eq(TREE_RETURN | 3 << TREE_HOW_SHIFT, f[1].flags);
	ck_assert_uint_eq(2, stack_of(p, 1, f));
	ck_assert_uint_eq(1, f[0].address);
	ck_assert_uint_eq(2, f[1].address);
	profile_free(p);
	make_close(&m);
}
END_TEST

/* Rings are drained thread by thread: times go back. */
START_TEST(reader_puts_samples_into_the_order_of_time)
{
	const uint64_t a[] = {1, 0};
	struct hark_err err;
	struct profile *p;
	struct make m;

	make_begin(&m);
	for (uint64_t i = 0; i < 100; i++)
		make_sample(&m, 1 + (int)i / 50, 10 * (i % 50) + i / 50, 0, a,
			    &err);
	make_sample(&m, 3, (uint64_t)-MAKE_BEGAN + 1, 0, a,
		    &err); /* too early */
	make_finish(&m);
	p = open_made(&m);
	ck_assert_uint_eq(101, p->n_samples);
	ck_assert_uint_eq(0, p->samples[0].time_ns);
	ck_assert_uint_eq(0, p->samples[0].thread);
	ck_assert_uint_eq(2, p->samples[1].thread);
	ck_assert_uint_eq(1, p->samples[2].thread);
	ck_assert_uint_eq(10, p->samples[3].time_ns);
	profile_free(p);
	make_close(&m);
}
END_TEST

/* Exec: the same addresses are other code. */
START_TEST(writer_looks_frames_up_in_what_is_mapped_now)
{
	const struct module_range r = {MAKE_BASE, MAKE_BASE + 0x1000};
	const struct module_spec spec = {.path = "/nowhere/other",
					 .bias = 0x2000,
					 .ranges = &r,
					 .n_ranges = 1,
					 .kind = MODULE_EXEC};
	const uint64_t a[] = {MAKE_BASE + 8, 0};
	struct tree_frame f[64];
	struct modules *other;
	struct hark_err err;
	struct profile *p;
	struct make m;

	make_begin(&m);
	make_maps(&m, 7);
	make_sample(&m, 7, 0, 0, a, &err);
	ck_assert_int_eq(0, modules_of_list(m.image, &spec, 1, &other, &err));
	ck_assert_int_eq(0, profile_maps(m.writer, 7, other, &err));
	modules_free(other); /* nothing of it is kept */
	make_sample(&m, 7, 1, 0, a, &err);
	make_finish(&m);
	p = open_made(&m);
	stack_of(p, 0, f);
	ck_assert_str_eq("/nowhere/prog", p->modules[f[0].module - 1].path);
	stack_of(p, 1, f);
	ck_assert_str_eq("/nowhere/other", p->modules[f[0].module - 1].path);
	ck_assert_uint_eq(MAKE_BASE + 8 - 0x2000, f[0].address);
	profile_free(p);
	make_close(&m);
}
END_TEST

/* The bar is 16 bytes a sample, at any depth. */
START_TEST(writer_needs_few_bytes_a_sample_at_any_depth)
{
	enum { DEPTH = 1000, CHANGED = 5, N = 20000, FUNCTIONS = 512 };
	struct profile_frame *frames = calloc(DEPTH, sizeof *frames);
	uint64_t state = 1;
	struct hark_err err;
	struct profile *p;
	struct make m;
	struct stat st;

	make_begin(&m);
	make_maps(&m, 7);
	for (uint32_t i = 0; i < N; i++) {
		struct profile_sample s = {.pid = 7,
					   .tid = 7,
					   .time_ns =
					       MAKE_BEGAN + 1003009ull * i,
					   .weight = 1,
					   .kept = i == 0 ? 0 : DEPTH - CHANGED,
					   .frames = frames};

		s.n = DEPTH - s.kept;
		for (uint32_t j = 0; j < s.n; j++) {
			state =
			    state * 6364136223846793005u + 1442695040888963407u;
			frames[j].pc =
			    MAKE_BASE + (state >> 33) % FUNCTIONS * 100;
			frames[j].is_return = j + 1 < s.n;
		}
		ck_assert_int_eq(0, profile_put(m.writer, &s, &err));
	}
	make_finish(&m);
	ck_assert_int_eq(0, fstat(m.fd, &st));
	ck_assert_msg(st.st_size <= 16 * N, "%.1f bytes a sample",
		      (double)st.st_size / N);
	p = open_made(&m);
	ck_assert_uint_eq(N, p->n_samples);
	profile_free(p);
	free(frames);
	make_close(&m);
}
END_TEST

/* P1: what is read of a file that was never finished is whole. */
START_TEST(writer_that_is_killed_leaves_what_was_flushed)
{
	const uint64_t a[] = {MAKE_BASE, MAKE_LIB, 0};
	struct hark_err err;
	struct profile *p;
	struct make m;

	make_begin(&m);
	make_maps(&m, 7);
	make_sample(&m, 7, 10, 0, a, &err);
	profile_lost(m.writer, "no room", 4);
	ck_assert_int_eq(0, profile_flush(m.writer, &err));
	make_sample(&m, 7, 20, 2, a, &err);
	make_cut(&m);
	p = open_made(&m);
	ck_assert(!p->facts.is_complete);
	ck_assert_uint_eq(1, p->n_samples);
	ck_assert_uint_eq(4, p->facts.lost);
	ck_assert_str_eq("no room", p->facts.lost_by[0].reason);
	ck_assert_uint_eq(10, p->facts.duration_ns);
	profile_free(p);
	make_close(&m);
}
END_TEST

/* W1: after a failure, frames that are said to be there are the right ones. */
START_TEST(writer_without_memory_says_so_and_stays_right)
{
	const uint64_t a[] = {1, 2, 3, 0}, b[] = {9, 0};
	struct tree_frame f[64];
	struct hark_err err;
	struct profile *p;
	struct make m;
	int happened = 1;

	for (long k = 1; happened; k++) {
		size_t n;

		make_begin(&m);
		faults_set(k);
		if (make_sample(&m, 1, 0, 0, a, &err) < 0)
			ck_assert_int_eq(HARK_ENOMEM, err.code);
		happened = faults_happened();
		faults_set(0);
		for (uint32_t kept = 3;
		     make_sample(&m, 1, 5, kept, b, &err) < 0; kept--)
			ck_assert_int_eq(HARK_EINPUT, err.code);
		make_finish(&m);
		p = open_made(&m);
		n = stack_of(p, p->n_samples - 1, f);
		ck_assert_uint_ge(n, 1);
		for (size_t i = 0; i + 1 < n; i++)
			ck_assert_uint_eq(i + 1, f[i].address);
		ck_assert_uint_eq(9, f[n - 1].address);
		profile_free(p);
		make_close(&m);
	}
}
END_TEST

Suite *profile_writer_suite(void)
{
	Suite *s = suite_create("profile_writer");
	TCase *t = tcase_create("writer");

	tcase_add_test(t, writer_gives_back_facts);
	tcase_add_test(t, writer_puts_frames_where_modules_are);
	tcase_add_test(t, writer_keeps_frames_of_each_stack_of_each_thread);
	tcase_add_test(t, writer_believes_no_kept_frames_that_were_not_there);
	tcase_add_test(
	    t, writer_takes_a_number_that_comes_again_for_another_thread);
	tcase_add_test(t, writer_says_that_a_stack_has_no_outer_end);
	tcase_add_test(t, reader_puts_samples_into_the_order_of_time);
	tcase_add_test(t, writer_looks_frames_up_in_what_is_mapped_now);
	tcase_add_test(t, writer_needs_few_bytes_a_sample_at_any_depth);
	tcase_add_test(t, writer_that_is_killed_leaves_what_was_flushed);
	tcase_add_test(t, writer_without_memory_says_so_and_stays_right);
	suite_add_tcase(s, t);
	return s;
}
