/* tests/unit/record_segment_test.c - a small program is replayed: as recorded,
 * and with one thing wrong at a time. */
#include "record/segment.h"

#include "record_sample.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* -- Replaying it -- */

static struct xstate_layout layout;

static void begin(struct segment *s)
{
	struct hark_err err = {0};

	xstate_layout_here(&layout);
	*s = (struct segment){.code = code_new(CODE_MEMORY_MAX),
			      .layout = &layout,
			      .process = 1,
			      .thread = 1};
	ck_assert_int_eq(code_add(s->code, 1, SAMPLE_START, sample_program,
				  SAMPLE_LEN, &err),
			 0);
	s->cpu = replay_new(code_fetch, s->code, WIRE_RECORD_VERSION);
	ck_assert_ptr_nonnull(s->cpu);
}

static void end(struct segment *s)
{
	replay_free(s->cpu);
	code_free(s->code);
}

/* How many events go well; err says what the next one complains of. */
static int replay_events(struct segment *s, const struct record_event *e, int n,
			 struct hark_err *err)
{
	if (segment_begin(s, &e[0], err) < 0)
		return 0;
	for (int i = 1; i < n; i++)
		if (segment_apply(s, &e[i], err) < 0 ||
		    segment_flush(s, err) < 0)
			return i;
	return n;
}

START_TEST(what_was_recorded_is_replayed)
{
	struct record_event e[SAMPLE_EVENTS];
	struct hark_err err = {0};
	struct segment s;

	sample_events(e);
	begin(&s);
	for (int round = 0; round < 3; round++) {
		ck_assert_msg(replay_events(&s, e, SAMPLE_EVENTS, &err) ==
				  SAMPLE_EVENTS,
			      "%s", err.text);
		ck_assert_int_eq(s.ended, 1);
		ck_assert_uint_eq(s.n_events, SAMPLE_EVENTS - 1);
	}
	end(&s);
}
END_TEST

/* Replays it with what `spoil` did to the events; it must fail at event `at`
 * with these words. */
static void must_fail(void (*spoil)(struct record_event *e), int at,
		      const char *words)
{
	struct record_event e[SAMPLE_EVENTS];
	struct hark_err err = {0};
	struct segment s;

	sample_events(e);
	spoil(e);
	begin(&s);
	ck_assert_int_eq(replay_events(&s, e, SAMPLE_EVENTS, &err), at);
	ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
	ck_assert_int_eq(err.code, HARK_EBUG);
	end(&s);
}

static void another_call(struct record_event *e)
{
	e[EV_CALL].call.number = 14;
}

static void call_elsewhere(struct record_event *e)
{
	e[EV_CALL].pc = SAMPLE_LOAD;
}

static void result_elsewhere(struct record_event *e)
{
	e[EV_RESULT].result.length = 3;
}

static void register_differs(struct record_event *e)
{
	e[EV_NEXT].key.state.gpr[RDX] = 8;
	e[EV_NEXT].key.state.gpr[RBX] = 0;
}

/* At LOAD, where a system call will read them. */
static void flag_differs(struct record_event *e)
{
	e[EV_BYTES].type = WIRE_REC_KEY;
	e[EV_BYTES].key = e[EV_KEY].key;
	e[EV_BYTES].key.state.gpr[RAX] = 15;
	e[EV_BYTES].key.state.pc = SAMPLE_LOAD;
	e[EV_BYTES].xstate = sample_xstate();
	e[EV_BYTES].xstate_len = RECORD_XSTATE_MIN;
	e[EV_BYTES].key.state.rflags ^= 0x40;
}

static void base_differs(struct record_event *e)
{
	e[EV_NEXT].key.state.fs_base = 0x7000;
}

static void loaded_differs(struct record_event *e)
{
	e[EV_BYTES].bytes++;
	e[EV_BYTES].len--;
}

static void place_differs(struct record_event *e)
{
	e[EV_NEXT].count = e[EV_NEXT].key.count = 106;
}

static void never_there(struct record_event *e)
{
	e[EV_BYTES].pc = SAMPLE_LOAD + 1;
}

static void very_far(struct record_event *e)
{
	e[EV_BYTES].count += 1ull << 33;
}

static void no_result(struct record_event *e)
{
	e[EV_RESULT] = e[EV_NEXT];
}

static void odd_xstate(struct record_event *e)
{
	static uint8_t odd[RECORD_XSTATE_MIN + 1];

	memcpy(odd, sample_xstate(), RECORD_XSTATE_MIN);
	e[EV_KEY].xstate = odd;
	e[EV_KEY].xstate_len = sizeof odd;
}

START_TEST(every_divergence_is_seen)
{
	must_fail(another_call, EV_CALL,
		  "1:104 at 0x100f: system call 14 was recorded, the replay "
		  "makes 15");
	must_fail(call_elsewhere, EV_CALL,
		  "system call 15 was recorded, but here is none");
	must_fail(result_elsewhere, EV_RESULT, "an instruction of 3 bytes");
	must_fail(register_differs, EV_NEXT,
		  "1:105 at 0x1000: rdx is 0x7, recorded 0x8, rbx is "
		  "0x8877665544332211, recorded 0x0");
	must_fail(flag_differs, EV_BYTES, "rflags is 0x44, recorded 0x4");
	must_fail(base_differs, EV_NEXT, "fs.base is 0x0, recorded 0x7000");
	must_fail(loaded_differs, EV_NEXT, "rbx is 0x88776655443322, recorded");
	must_fail(place_differs, EV_NEXT, "recorded was KEY 1:106 at 0x1000");
	must_fail(never_there, EV_BYTES, "recorded was BYTES 1:104 at 0x100d");
	must_fail(very_far, EV_BYTES,
		  "1:100 at 0x1000: the next record is too "
		  "far away");
	must_fail(no_result, EV_RESULT, "result was not recorded");
	must_fail(odd_xstate, EV_KEY, "extended registers");
}
END_TEST

/* At START, where an add overwrites them. */
START_TEST(flags_that_nobody_looks_at_are_not_compared)
{
	struct record_event e[SAMPLE_EVENTS];
	struct hark_err err = {0};
	struct segment s;

	sample_events(e);
	e[EV_NEXT].key.state.rflags ^= 0x40;
	begin(&s);
	ck_assert_msg(replay_events(&s, e, SAMPLE_EVENTS, &err) ==
			  SAMPLE_EVENTS,
		      "%s", err.text);
	end(&s);
}
END_TEST

/* Nor behind a jump, wherever it leads. */
START_TEST(flags_may_die_behind_a_jump)
{
	static const uint8_t jump[] = {0xe9, 0x00, 0xe0, 0xff, 0xff}; /* 1005 */
	struct record_event e[SAMPLE_EVENTS], again;
	struct hark_err err = {0};
	struct segment s;

	sample_events(e);
	e[EV_KEY].pc = e[EV_KEY].key.state.pc = 0x3000;
	again = e[EV_KEY];
	again.key.state.rflags ^= 0x40;
	begin(&s);
	code_add(s.code, 2, 0x3000, jump, sizeof jump, &err);
	ck_assert_int_eq(segment_begin(&s, &e[EV_KEY], &err), 0);
	ck_assert_msg(segment_apply(&s, &again, &err) == 0, "%s", err.text);
	end(&s);
}
END_TEST

START_TEST(other_processes_say_who_they_are)
{
	struct record_event e[SAMPLE_EVENTS];
	struct hark_err err = {0};
	struct segment s;

	sample_events(e);
	another_call(e);
	begin(&s);
	s.process = 3;
	s.thread = 2;
	replay_events(&s, e, SAMPLE_EVENTS, &err);
	ck_assert_msg(strncmp(err.text, "3.2:104 at", 10) == 0, "%s", err.text);
	end(&s);
}
END_TEST

/* -- Events of other kinds -- */

/* A STATE moves the thread, and counts. */
START_TEST(a_state_is_taken_whole)
{
	struct record_event e[SAMPLE_EVENTS], state;
	struct hark_err err = {0};
	struct segment s;

	sample_events(e);
	begin(&s);
	ck_assert_int_eq(replay_events(&s, e, EV_CALL, &err), EV_CALL);
	state = (struct record_event){
	    .type = WIRE_REC_STATE, .count = 104, .pc = SAMPLE_CALL};
	state.state = e[EV_KEY].key.state;
	state.state.gpr[RAX] = 100;
	ck_assert_msg(segment_apply(&s, &state, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(*replay_count(s.cpu), 105);
	e[EV_CALL].count = 109;
	e[EV_CALL].call.number = 115;
	ck_assert_msg(segment_apply(&s, &e[EV_CALL], &err) == 0, "%s",
		      err.text);
	end(&s);
}
END_TEST

/* The program changes: the loop is left after three rounds. */
START_TEST(an_epoch_brings_other_code)
{
	static const uint8_t three[] = {0x03};
	struct record_event e[SAMPLE_EVENTS];
	struct record_event epoch = {
	    .type = WIRE_REC_EPOCH, .count = 105, .pc = SAMPLE_START};
	struct record_event call = {
	    .type = WIRE_REC_CALL, .count = 107, .pc = SAMPLE_CALL};
	struct hark_err err = {0};
	struct segment s;

	sample_events(e);
	begin(&s);
	ck_assert_int_eq(code_add(s.code, 5, SAMPLE_START + 1, three, 1, &err),
			 0);
	for (int round = 0; round < 2; round++) { /* and back */
		ck_assert_msg(replay_events(&s, e, EV_NEXT, &err) == EV_NEXT,
			      "%s", err.text);
		epoch.epoch = 5;
		ck_assert_msg(segment_apply(&s, &epoch, &err) == 0, "%s",
			      err.text);
		call.call.number = 999 + 6;
		ck_assert_msg(segment_apply(&s, &call, &err) == 0, "%s",
			      err.text);
	}
	end(&s);
}
END_TEST

/* Flags that old code overwrites at once are looked at by new code. */
START_TEST(an_epoch_leaves_flags_alone)
{
	static const uint8_t loop[] = {
	    0x48, 0x01, 0xc8, /* 2000 add %rcx,%rax; later: adc */
	    0xf8,	      /* 2003 clc */
	    0xeb, 0xfa,	      /* 2004 jmp 2000 */
	};
	struct record_event e[SAMPLE_EVENTS];
	struct record_event epoch = {
	    .type = WIRE_REC_EPOCH, .count = 105, .pc = 0x2000};
	struct record_event later = {.type = WIRE_REC_BYTES,
				     .count = 106,
				     .pc = 0x2000,
				     .bytes = loop,
				     .len = 1};
	struct hark_err err = {0};
	struct segment s;

	sample_events(e);
	e[EV_KEY].pc = e[EV_KEY].key.state.pc = 0x2000;
	e[EV_KEY].key.state.gpr[RCX] = 1;
	epoch.epoch = 5;
	begin(&s);
	code_add(s.code, 2, 0x2000, loop, sizeof loop, &err);
	code_add(s.code, 5, 0x2001, (const uint8_t *)"\x11", 1, &err);
	ck_assert_int_eq(segment_begin(&s, &e[EV_KEY], &err), 0);
	ck_assert_msg(segment_apply(&s, &epoch, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(replay_state(s.cpu)->gpr[RAX], 5);
	ck_assert_msg(segment_apply(&s, &later, &err) == 0 &&
			  segment_flush(&s, &err) == 0,
		      "%s", err.text);
	ck_assert_uint_eq(replay_state(s.cpu)->gpr[RAX], 6);
	end(&s);
}
END_TEST

START_TEST(arch_prctl_sets_the_bases)
{
	struct record_event e[SAMPLE_EVENTS];
	struct hark_err err = {0};
	struct segment s;

	sample_events(e);
	e[EV_KEY].key.state.gpr[RAX] = 158 - 15;
	e[EV_KEY].key.state.gpr[RDI] = 0x1002;
	e[EV_CALL].call.number = 158;
	e[EV_CALL].call.answer = 0;
	begin(&s);
	ck_assert_int_eq(replay_events(&s, e, EV_RESULT, &err), EV_RESULT);
	ck_assert_uint_eq(replay_state(s.cpu)->fs_base, SAMPLE_DATA);
	e[EV_CALL].call.answer = -14;
	ck_assert_int_eq(replay_events(&s, e, EV_RESULT, &err), EV_RESULT);
	ck_assert_uint_eq(replay_state(s.cpu)->fs_base, 0);
	e[EV_KEY].key.state.gpr[RDI] = 0x1001;
	e[EV_CALL].call.answer = 0;
	ck_assert_int_eq(replay_events(&s, e, EV_RESULT, &err), EV_RESULT);
	ck_assert_uint_eq(replay_state(s.cpu)->gs_base, SAMPLE_DATA);
	end(&s);
}
END_TEST

/* What is executed step by step is told by STATEs, without its code. */
START_TEST(a_call_needs_no_code)
{
	enum { NOWHERE = 0x5000 };
	struct record_event e[SAMPLE_EVENTS];
	struct hark_err err = {0};
	struct segment s;

	sample_events(e);
	e[EV_KEY].pc = e[EV_KEY].key.state.pc = NOWHERE;
	e[EV_KEY].key.state.gpr[RAX] = 15;
	e[EV_CALL].pc = NOWHERE;
	e[EV_CALL].count = 100;
	begin(&s);
	ck_assert_int_eq(segment_begin(&s, &e[EV_KEY], &err), 0);
	ck_assert_msg(segment_apply(&s, &e[EV_CALL], &err) == 0, "%s",
		      err.text);
	ck_assert_uint_eq(replay_state(s.cpu)->pc, NOWHERE + 2);
	end(&s);
}
END_TEST

START_TEST(nothing_follows_the_end)
{
	struct record_event e[SAMPLE_EVENTS];
	struct hark_err err = {0};
	struct segment s;

	sample_events(e);
	begin(&s);
	ck_assert_int_eq(replay_events(&s, e, SAMPLE_EVENTS, &err),
			 SAMPLE_EVENTS);
	ck_assert_int_eq(segment_apply(&s, &e[EV_NEXT], &err), -1);
	end(&s);
}
END_TEST

/* -- Extended registers -- */

static void spoil_byte(unsigned at, const char *words)
{
	uint8_t a[RECORD_XSTATE_MIN], b[RECORD_XSTATE_MIN];
	char text[200] = "";

	memcpy(a, sample_xstate(), sizeof a);
	a[0] = 3;
	memcpy(b, a, sizeof b);
	b[8 + at] ^= 1;
	xstate_layout_here(&layout);
	ck_assert_int_eq(xstate_compare(&layout, a, b, text, sizeof text),
			 words != NULL);
	if (words != NULL)
		ck_assert_msg(strstr(text, words) == text, "%s", text);
}

START_TEST(extended_registers_are_compared_one_by_one)
{
	spoil_byte(0, "fcw is 037e, recorded 037f");
	spoil_byte(2, "fsw is 0001");
	spoil_byte(4, "ftw");
	spoil_byte(6, NULL);  /* fop */
	spoil_byte(8, NULL);  /* fip */
	spoil_byte(16, NULL); /* fdp */
	spoil_byte(25, "mxcsr is 00001e80, recorded 00001f80");
	spoil_byte(28, NULL); /* mask */
	spoil_byte(32 + 16 * 3, "st3 is 0000");
	spoil_byte(32 + 16 * 3 + 10, NULL);
	spoil_byte(160 + 16 * 15, "xmm15 is");
	spoil_byte(160 + 16 * 16, NULL);
}
END_TEST

/* Absent, and present in its initial state, are the same. */
START_TEST(what_is_absent_is_initial)
{
	uint8_t a[RECORD_XSTATE_MIN], b[RECORD_XSTATE_MIN];
	char text[200];

	memcpy(a, sample_xstate(), sizeof a);
	memcpy(b, sample_xstate(), sizeof b);
	b[0] = 3;
	ck_assert_int_eq(xstate_compare(&layout, a, b, text, sizeof text), 0);
	memset(a + 8 + 32, 0xff, 100); /* not looked at: mask bit 0 is off */
	ck_assert_int_eq(xstate_compare(&layout, a, b, text, sizeof text), 0);
	b[8 + 160] = 1;
	ck_assert_int_eq(xstate_compare(&layout, a, b, text, sizeof text), 1);
}
END_TEST

START_TEST(upper_halves_are_compared)
{
	uint8_t a[RECORD_XSTATE_MIN + 256] = {0}, b[sizeof a];
	struct xstate_layout avx = {.size = {[2] = 256}, .mxcsr = 0xffff};
	char text[200];

	a[0] = 4;
	memcpy(b, a, sizeof b);
	ck_assert_int_eq(xstate_check(&avx, a, sizeof a), 0);
	ck_assert_int_eq(xstate_check(&avx, a, sizeof a - 1), -1);
	ck_assert_int_eq(xstate_compare(&avx, a, b, text, sizeof text), 0);
	b[RECORD_XSTATE_MIN + 17] = 1;
	ck_assert_int_eq(xstate_compare(&avx, a, b, text, sizeof text), 1);
	ck_assert_ptr_eq(strstr(text, "upper half of ymm1 is"), text);
	a[0] = 0;
	ck_assert_int_eq(xstate_compare(&avx, a, b, text, sizeof text), 1);
	a[1] = 0x80; /* component 15: of no size here */
	ck_assert_int_eq(xstate_check(&avx, a, sizeof a), -1);
}
END_TEST

START_TEST(a_long_register_shows_where_it_differs)
{
	uint8_t a[RECORD_XSTATE_MIN + 64] = {[0] = 0x40}, b[sizeof a];
	struct xstate_layout wide = {.size = {[6] = 64}, .mxcsr = 0xffff};
	char text[200];

	memcpy(b, a, sizeof b);
	b[RECORD_XSTATE_MIN + 32 + 17] = 1;
	ck_assert_int_eq(xstate_compare(&wide, a, b, text, sizeof text), 1);
	ck_assert_str_eq(text, "upper half of zmm1 from byte 16 on is "
			       "00000000000000000000000000000100, recorded "
			       "00000000000000000000000000000000");
}
END_TEST

/* Loading them would fault. */
START_TEST(reserved_bits_of_mxcsr_are_refused)
{
	uint8_t a[RECORD_XSTATE_MIN];

	memcpy(a, sample_xstate(), sizeof a);
	xstate_layout_here(&layout);
	ck_assert_int_eq(xstate_check(&layout, a, sizeof a), 0);
	a[8 + 24 + 2] = 0x7f;
	ck_assert_int_eq(xstate_check(&layout, a, sizeof a), -1);
}
END_TEST

Suite *record_segment_suite(void)
{
	Suite *suite = suite_create("record_segment");
	TCase *tc = tcase_create("record_segment");

	tcase_add_test(tc, what_was_recorded_is_replayed);
	tcase_add_test(tc, every_divergence_is_seen);
	tcase_add_test(tc, flags_that_nobody_looks_at_are_not_compared);
	tcase_add_test(tc, flags_may_die_behind_a_jump);
	tcase_add_test(tc, other_processes_say_who_they_are);
	tcase_add_test(tc, a_state_is_taken_whole);
	tcase_add_test(tc, an_epoch_brings_other_code);
	tcase_add_test(tc, an_epoch_leaves_flags_alone);
	tcase_add_test(tc, arch_prctl_sets_the_bases);
	tcase_add_test(tc, a_call_needs_no_code);
	tcase_add_test(tc, nothing_follows_the_end);
	tcase_add_test(tc, extended_registers_are_compared_one_by_one);
	tcase_add_test(tc, what_is_absent_is_initial);
	tcase_add_test(tc, upper_halves_are_compared);
	tcase_add_test(tc, a_long_register_shows_where_it_differs);
	tcase_add_test(tc, reserved_bits_of_mxcsr_are_refused);
	suite_add_tcase(suite, tc);
	return suite;
}
