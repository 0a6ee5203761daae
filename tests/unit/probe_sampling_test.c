/* tests/unit/probe_sampling_test.c - samples on their way from a ring to
 * whoever wants them: in one part, in several, and such that cannot be. */
#include "native_collect_world.h"
#include "probe/sampling.h"

enum { MOST = 64 };

static struct session_sample got[MOST];
static struct session_frame frames[MOST][MOST];
static size_t n_got;

static int put(void *ctx, const struct session_sample *s, struct hark_err *err)
{
	(void)ctx;
	(void)err;
	ck_assert_uint_lt(n_got, MOST);
	ck_assert_uint_le(s->n, MOST);
	got[n_got] = *s;
	memcpy(frames[n_got], s->frames, s->n * sizeof *s->frames);
	n_got++;
	return 0;
}

static int maps(void *ctx, pid_t pid, struct modules *m, struct hark_err *err)
{
	(void)ctx;
	(void)pid;
	(void)m;
	(void)err;
	return 0;
}

static pid_t gone[MOST];
static size_t n_gone;

static void leave(void *ctx, pid_t pid, pid_t tid)
{
	(void)ctx;
	ck_assert_int_eq(pid, 1);
	ck_assert_uint_lt(n_gone, MOST);
	gone[n_gone++] = tid;
}

static char said[2048];
static size_t n_said;

static int differs(void *ctx, const char *text, struct hark_err *err)
{
	(void)ctx;
	(void)err;
	ck_assert_uint_lt(strlen(text), sizeof said);
	strcpy(said, text);
	n_said++;
	return 0;
}

static struct session_samples want = {.period_ns = 1000000,
				      .put = put,
				      .maps = maps,
				      .gone = leave,
				      .differs = differs};
static struct sampling *sampling;
static size_t n_taken;

static int take(void *ctx, const struct board_record *r, struct hark_err *err)
{
	(void)ctx;
	ck_assert_int_eq(r->is_sample + r->is_difference, 1);
	n_taken++;
	return sampling_record(sampling, r, err);
}

static void begin(void)
{
	struct hark_err err;

	open_world("pid1::f0:entry { trace(arg0); }");
	n_got = n_taken = n_gone = n_said = 0;
	ck_assert_int_eq(sampling_new(&want, false, NULL, &sampling, &err), 0);
}

static void end(void)
{
	sampling_free(sampling);
	close_world();
}

/* Another base stands for another thread, which needs a number of its own. */
static struct collect_area *area_with(uint64_t fs)
{
	struct collect_area *area = collect_area(w.plan, fs);

	if (fs != (uint64_t)pthread_self())
		area->tid = (uint32_t)fs | 1u << 30;
	return area;
}

/* Into the ring of the thread with that base: frames from s->from on, each with
 * its number as its address. */
static void write_as(uint64_t fs, uint32_t tid, const struct collect_sample *s,
		     uint32_t n)
{
	struct collect_work *work = collect_work(area_with(fs));
	uint32_t len = (uint32_t)(sizeof *s + 8ul * n);
	uint8_t *body = collect_reserve(work, len);
	uint64_t *word = (uint64_t *)(void *)(body + sizeof *s);
	struct collect_record *r =
	    (struct collect_record *)(void *)(body - sizeof *r);

	ck_assert_ptr_nonnull(body);
	*r = (struct collect_record){.size = (uint32_t)sizeof *r + len,
				     .kind = COLLECT_SAMPLE,
				     .time_ns = 5,
				     .pid = 1,
				     .tid = tid};
	memcpy(body, s, sizeof *s);
	for (uint32_t i = 0; i < n; i++)
		word[i] = 1000 + s->from + i;
	collect_publish(work, r->size);
}

static void write_part(const struct collect_sample *s, uint32_t n)
{
	write_as((uint64_t)pthread_self(), 2, s, n);
}

static void drain(void)
{
	struct hark_err err;

	ck_assert_int_eq(board_drain(w.b, 1, take, NULL, &err), 0);
}

START_TEST(a_sample_in_one_part)
{
	const struct collect_sample s = {
	    .map = 1, .kept = 2, .depth = 5, .from = 2, .n = 3, .ticks = 4};

	begin();
	write_part(&s, 3);
	drain();
	ck_assert_uint_eq(n_got, 1);
	ck_assert_uint_eq(got[0].map, 1);
	ck_assert_uint_eq(got[0].kept, 2);
	ck_assert_uint_eq(got[0].n, 3);
	ck_assert_uint_eq(got[0].ticks, 4);
	ck_assert_int_eq(got[0].pid, 1);
	ck_assert_int_eq(got[0].tid, 2);
	ck_assert_uint_eq(frames[0][0].pc, 1002);
	ck_assert_uint_eq(frames[0][0].is_return, 1);
	ck_assert_uint_eq(frames[0][2].pc, 1004);
	ck_assert_uint_eq(frames[0][2].is_return, 0);
	end();
}
END_TEST

START_TEST(parts_are_put_together)
{
	struct collect_sample s = {.kept = 1, .depth = 12, .from = 1, .n = 4};

	begin();
	write_part(&s, 4);
	drain(); /* between two parts */
	ck_assert_uint_eq(n_got, 0);
	s.from = 5;
	write_part(&s, 4);
	s.from = 9;
	s.n = 3;
	write_part(&s, 3);
	drain();
	ck_assert_uint_eq(n_got, 1);
	ck_assert_uint_eq(got[0].kept, 1);
	ck_assert_uint_eq(got[0].n, 11);
	for (uint32_t i = 0; i < 11; i++) {
		ck_assert_uint_eq(frames[0][i].pc, 1001 + i);
		ck_assert_uint_eq(frames[0][i].is_return, i != 10);
	}
	end();
}
END_TEST

START_TEST(nothing_comes_of_a_sample_that_was_given_up)
{
	struct collect_sample s = {.depth = 8, .n = 4};

	begin();
	write_part(&s, 4);
	s.from = 6; /* one is missing */
	s.n = 2;
	write_part(&s, 2);
	drain();
	ck_assert_uint_eq(n_taken, 2);
	ck_assert_uint_eq(n_got, 0);
	s = (struct collect_sample){.depth = 2, .n = 2};
	write_part(&s, 2);
	drain();
	ck_assert_uint_eq(n_got, 1);
	ck_assert_uint_eq(got[0].n, 2);
	end();
}
END_TEST

static void pause_now(void)
{
	struct hark_err err;

	ck_assert_int_eq(sampling_pause(sampling, w.b, &err), 0);
}

static uint32_t owner_of(uint64_t fs)
{
	return area_with(fs)->owner;
}

START_TEST(a_thread_is_gone_when_all_of_it_was_put)
{
	const uint64_t fs = (uint64_t)pthread_self();
	struct collect_sample s = {.depth = 2, .n = 2};

	begin();
	s.owner = owner_of(fs);
	write_part(&s, 2);
	drain();
	pause_now();
	ck_assert_uint_eq(n_gone, 0);
	write_part(&s, 2);
	collect_thread_ends(w.plan, fs);
	pause_now(); /* the last sample has not been taken */
	ck_assert_uint_eq(n_gone, 0);
	drain();
	pause_now();
	pause_now();
	ck_assert_uint_eq(n_gone, 1);
	ck_assert_int_eq(gone[0], 2);
	ck_assert_uint_eq(n_got, 2);
	end();
}
END_TEST

START_TEST(another_owner_of_an_area_is_another_thread)
{
	const uint64_t fs = (uint64_t)pthread_self();
	struct collect_sample s = {.depth = 2, .n = 2};

	begin();
	s.owner = owner_of(fs);
	write_part(&s, 2);
	collect_thread_ends(w.plan, fs);
	ck_assert_uint_ne(owner_of(fs), s.owner);
	s.owner = owner_of(fs);
	write_part(&s, 2); /* with the same number */
	drain();
	pause_now();
	ck_assert_uint_eq(n_gone, 1);
	ck_assert_int_eq(gone[0], 2);
	end();
}
END_TEST

START_TEST(a_number_that_comes_elsewhere_is_another_thread)
{
	const uint64_t fs = (uint64_t)pthread_self(), next = fs + 64;
	struct collect_sample s = {.depth = 2, .n = 2};

	begin();
	s.owner = owner_of(fs);
	write_part(&s, 2);
	drain();
	s.owner = owner_of(next);
	write_as(next, 3, &s, 2);
	drain();
	ck_assert_uint_eq(n_gone, 0);
	s.owner = owner_of(next + 64);
	write_as(next + 64, 2, &s, 2);
	drain();
	ck_assert_uint_eq(n_gone, 1);
	ck_assert_int_eq(gone[0], 2);
	end();
}
END_TEST

/* Of frames as write_part() makes them. */
static uint64_t hash_of(uint32_t n, uint8_t end_of_it)
{
	uint64_t hash = 0;

	while (n-- > 0)
		hash = unwind_mix(hash, 1000 + n);
	return unwind_mix(hash, end_of_it);
}

START_TEST(a_stack_that_is_put_together_is_checked)
{
	struct collect_sample s = {.depth = 4, .n = 4, .check = hash_of(4, 0)};

	want.checks = true;
	begin();
	write_part(&s, 4);
	s.kept = s.from = 3;
	s.depth = 6;
	s.n = 3;
	s.check = hash_of(6, 0);
	write_part(&s, 3);
	drain();
	ck_assert_uint_eq(n_said, 0);
	s.check = hash_of(7, 0); /* the walk has seen one more */
	write_part(&s, 3);
	drain();
	ck_assert_uint_eq(n_said, 1);
	s.end = UNWIND_LOST;
	s.check = hash_of(6, 0); /* another end */
	write_part(&s, 3);
	drain();
	ck_assert_uint_eq(n_said, 2);
	s = (struct collect_sample){
	    .map = 1, .kept = 2, .depth = 3, .from = 2, .n = 1};
	write_part(&s, 1); /* of what was never there */
	drain();
	ck_assert_uint_eq(n_said, 3);
	ck_assert_uint_eq(sampling_differing(sampling), 3);
	ck_assert_uint_eq(n_got, 5);
	end();
}
END_TEST

START_TEST(a_difference_is_told_and_counted)
{
	struct collect_difference d = {.depth = 9, .pc = 0x1234, .sp = 0x5678};
	struct collect_area *area;
	uint64_t checked, differing;

	begin();
	area = collect_area(w.plan, (uint64_t)pthread_self());
	d.check.at = 7;
	d.check.walked[0] = 0xabcd;
	collect_checked(area, 5, NULL);
	for (int i = 0; i < 20; i++)
		collect_checked(area, 5, &d);
	drain();
	ck_assert_uint_eq(n_said, 8); /* the first few */
	ck_assert_ptr_nonnull(strstr(said, "frame 7: pc 1234, sp 5678"));
	ck_assert_ptr_nonnull(strstr(said, "walk abcd"));
	board_checks(w.b, &checked, &differing);
	ck_assert_uint_eq(checked, 21);
	ck_assert_uint_eq(differing, 20);
	end();
}
END_TEST

START_TEST(what_cannot_be_a_sample_is_damage)
{
	static const struct collect_sample bad[] = {
	    {.map = UNWIND_MAPS, .depth = 2, .n = 2},
	    {.depth = 2, .n = 3},
	    {.depth = 1, .n = 2},
	    {.depth = 9, .from = 8, .n = 2},
	    {.kept = 3, .depth = 9, .from = 2, .n = 2},
	    {.depth = 2, .from = 3, .n = 2},
	    {.depth = 2, .from = UINT32_MAX, .n = 2},
	    {.depth = UINT32_MAX, .n = UINT32_MAX},
	};

	begin();
	write_part(&bad[_i], 2);
	drain();
	ck_assert_uint_eq(n_taken, 0);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "written over"));
	end();
}
END_TEST

Suite *probe_sampling_suite(void)
{
	Suite *s = suite_create("probe/sampling");
	TCase *t = tcase_create("all");

	suite_add_tcase(s, t);
	tcase_add_test(t, a_sample_in_one_part);
	tcase_add_test(t, parts_are_put_together);
	tcase_add_test(t, nothing_comes_of_a_sample_that_was_given_up);
	tcase_add_test(t, a_stack_that_is_put_together_is_checked);
	tcase_add_test(t, a_difference_is_told_and_counted);
	tcase_add_test(t, a_thread_is_gone_when_all_of_it_was_put);
	tcase_add_test(t, another_owner_of_an_area_is_another_thread);
	tcase_add_test(t, a_number_that_comes_elsewhere_is_another_thread);
	tcase_add_loop_test(t, what_cannot_be_a_sample_is_damage, 0, 8);
	return s;
}
