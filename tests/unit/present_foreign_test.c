/* tests/unit/present_foreign_test.c - other tools' files, byte by byte where
 * they are text. tests/end-to-end/profile-formats.sh decodes the rest. */
#include "outside/faults.h"
#include "present/flame.h"
#include "present/foreign.h"
#include "present/sums.h"
#include "stacks_sample.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef int (*writer)(const struct stacks *, FILE *, struct hark_err *);

static const writer writers[] = {
    present_folded,   present_perf_script, present_speedscope, present_pprof,
    present_perfetto, present_firefox,	   present_flame};
enum { N_WRITERS = sizeof writers / sizeof writers[0] };

static const struct stacks_frame frames[] = {
    {.name = "main", .module = "prog", .file = "a.c", .line = 7},
    {.name = "f;g\n", .module = "", .is_guess = true},
    {.name = "in \"line\" <b>", .module = "lib (x).so", .is_inlined = true},
    {.name = ""},
    {.name = "main", .module = "prog", .file = "a.c", .line = 9},
};
static const struct stacks_node nodes[] = {
    {0, 0}, {0, 0}, {1, 1}, {2, 2}, {1, 3}, {0, 4},
};
static const struct stacks_thread threads[] = {
    {10, 10, "one two"}, {10, 11, "pool"}, {10, 12, "pool"}, {10, 13, NULL}};
static const struct stacks_sample samples[] = {
    {1000, 0, 3, 1},	   {2000, 1, 2, 2}, {3000, 2, 2, 3},
    {4000, 0, 3, 4},	   {5000, 3, 0, 1}, {1500000000, 0, 4, 1},
    {1500001000, 0, 5, 2},
};

static struct stacks small(void)
{
	return (struct stacks){
	    .title = "prog",
	    .period_ns = 1000,
	    .duration_ns = 1500002000,
	    .frames = frames,
	    .nodes = nodes,
	    .threads = threads,
	    .samples = samples,
	    .n_frames = sizeof frames / sizeof frames[0],
	    .n_nodes = sizeof nodes / sizeof nodes[0],
	    .n_threads = sizeof threads / sizeof threads[0],
	    .n_samples = sizeof samples / sizeof samples[0],
	};
}

static char *written(writer w, const struct stacks *s)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct hark_err err = {0};

	ck_assert_ptr_nonnull(out);
	ck_assert_msg(w(s, out, &err) == 0, "%s", err.text);
	fclose(out);
	return text;
}

START_TEST(folded_is_a_line_a_stack)
{
	struct stacks s = small();
	char *text = written(present_folded, &s);

	ck_assert_str_eq(text, "one two;main;f:g\\n [guess];in \"line\" <b> 5\n"
			       "one two;main;[unknown] 1\n"
			       "one two;main 2\n"
			       "pool;main;f:g\\n [guess] 5\n"
			       "[unknown] 1\n");
	free(text);
}
END_TEST

START_TEST(perf_script_is_a_block_a_sample)
{
	struct stacks s = small();
	char *text;

	s.samples += 3;
	s.n_samples = 2;
	text = written(present_perf_script, &s);
	ck_assert_str_eq(text, "one_two 10/10 0.000004: 4000 cpu-clock:\n"
			       "\t               0 in \"line\" <b> (inlined)\n"
			       "\t               0 f:g\\n [guess] ([unknown])\n"
			       "\t               0 main (prog)\n"
			       "\n"
			       "[unknown] 10/13 0.000005: 1000 cpu-clock:\n"
			       "\n");
	free(text);
}
END_TEST

START_TEST(speedscope_has_frames_and_a_profile_a_thread)
{
	struct stacks s = small();
	char *text = written(present_speedscope, &s);

	ck_assert_ptr_nonnull(strstr(
	    text, "{\"name\":\"main\",\"file\":\"a.c\",\"line\":7},"
		  "{\"name\":\"f;g\\n [guess]\"},"
		  "{\"name\":\"in \\\"line\\\" <b>\",\"file\":\"lib (x).so\"},"
		  "{\"name\":\"[unknown]\"},"));
	/* Two samples of one stack in a row are one. */
	ck_assert_ptr_nonnull(strstr(
	    text, "\"name\":\"one two (10/10)\",\"unit\":\"none\","
		  "\"startValue\":0,\"endValue\":8,"
		  "\"samples\":[[0,1,2],[0,3],[4]],\"weights\":[5,1,2]}"));
	ck_assert_ptr_nonnull(strstr(text, "\"samples\":[[]],\"weights\":[1]"));
	free(text);
}
END_TEST

/* Frames that differ only by their line are one box, with the heavier's. */
START_TEST(flame_puts_lines_of_a_function_together)
{
	struct stacks s = small();
	char *text = written(present_flame, &s);

	ck_assert_ptr_nonnull(strstr(text, "\"up\":[0,0,0,2,2],"));
	ck_assert_ptr_nonnull(strstr(text, "\"line\":[7,0,0,0,0],"));
	ck_assert_ptr_nonnull(strstr(text, "\"total\":14,"));
	ck_assert_ptr_nonnull(strstr(text, "in \\\"line\\\" \\u003cb\\u003e"));
	ck_assert_ptr_null(strstr(text, "<b>"));
	ck_assert_ptr_null(strstr(text, "/*DATA*/"));
	free(text);
}
END_TEST

START_TEST(every_writer_refuses_what_is_damaged)
{
	struct stacks s = small();
	struct stacks_node bad_node[] = {{0, 0}, {1, 0}};
	struct stacks_node bad_frame[] = {{0, 0}, {0, 5}};
	struct stacks_sample bad_thread = {.thread = 4};
	struct stacks_sample bad_sample = {.node = 6};
	struct stacks_sample heavy[] = {{.weight = UINT64_MAX}, {.weight = 2}};
	struct stacks broken[6];
	FILE *out = fopen("/dev/null", "w");
	size_t i;

	for (i = 0; i < 6; i++)
		broken[i] = s;
	broken[0].nodes = bad_node;
	broken[0].n_nodes = 2;
	broken[1].nodes = bad_frame;
	broken[1].n_nodes = 2;
	broken[2].samples = &bad_thread;
	broken[2].n_samples = 1;
	broken[3].samples = &bad_sample;
	broken[3].n_samples = 1;
	broken[4].samples = heavy;
	broken[4].n_samples = 2;
	broken[5].n_nodes = 0;
	ck_assert_ptr_nonnull(out);
	for (i = 0; i < 6 * N_WRITERS; i++) {
		struct hark_err err = {0};

		ck_assert_int_eq(
		    writers[i % N_WRITERS](&broken[i / N_WRITERS], out, &err),
		    -1);
		ck_assert_int_eq(err.code, HARK_EINPUT);
	}
	fclose(out);
}
END_TEST

/* Any one allocation may fail: no crash, no leak, and it is told. */
START_TEST(every_writer_lives_without_memory)
{
	struct stacks_sample_set g;
	FILE *out = fopen("/dev/null", "w");
	long k, n = 0;
	int rc;

	ck_assert_int_eq(stacks_sample_make(&g, "hostile", 100, 20), 0);
	ck_assert_ptr_nonnull(out);
	for (k = 1;; k++) {
		struct hark_err err = {0};

		faults_set(k);
		rc = writers[_i](&g.s, out, &err);
		n = faults_happened();
		faults_set(0);
		if (!n)
			break;
		ck_assert_msg(rc == -1, "writer %d, fault %ld", _i, k);
		ck_assert_int_eq(err.code, HARK_ENOMEM);
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_int_gt(k, 3);
	fclose(out);
	stacks_sample_free(&g);
}
END_TEST

Suite *present_foreign_suite(void)
{
	Suite *s = suite_create("present_foreign");
	TCase *t = tcase_create("foreign");

	tcase_add_test(t, folded_is_a_line_a_stack);
	tcase_add_test(t, perf_script_is_a_block_a_sample);
	tcase_add_test(t, speedscope_has_frames_and_a_profile_a_thread);
	tcase_add_test(t, flame_puts_lines_of_a_function_together);
	tcase_add_test(t, every_writer_refuses_what_is_damaged);
	tcase_add_loop_test(t, every_writer_lives_without_memory, 0, N_WRITERS);
	suite_add_tcase(s, t);
	return s;
}
