/* engine/replay*.c, alone.c: whatever registers and code a recording names, the
 * replay touches its own shadow and map, and hark's thread stays as it was. */
#include "engine/observe.h"
#include "engine/replay_priv.h"

#include <check.h>
#include <string.h>

Suite *engine_replay_suite(void);

enum { START = 0x1000, DF = 0x400, AC = 0x40000 };
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

struct program {
	const uint8_t *code;
	unsigned len;
};

static unsigned fetch(void *ctx, uint64_t pc, uint8_t *to, unsigned len)
{
	const struct program *p = ctx;

	if (pc < START || pc >= START + p->len)
		return 0;
	if (len > START + p->len - pc)
		len = (unsigned)(START + p->len - pc);
	memcpy(to, p->code + (pc - START), len);
	return len;
}

/* At the first instruction, with what it touches marked. */
static struct replay *begin(struct program *p, unsigned touches)
{
	static const uint8_t xstate[8 + 512] = {
	    [8] = 0x7f, [9] = 0x03, [8 + 24] = 0x80, [8 + 25] = 0x1f};
	const struct observe o = {.touches = touches};
	struct replay *r = replay_new(fetch, p, WIRE_RECORD_VERSION);

	ck_assert_ptr_nonnull(r);
	ck_assert_int_eq(replay_observe(r, &o), 0);
	ck_assert_int_eq(replay_put_xstate(r, xstate, sizeof xstate), 0);
	*replay_state(r) =
	    (struct wire_rec_state){.rflags = 0x202, .pc = START};
	return r;
}

static int is_marked(const struct replay *r, uint64_t address)
{
	uint32_t index = (uint32_t)(address + WIRE_SHADOW_SKEW);

	return replay_touched(r)[(uint32_t)(index + OBSERVE_SKEW)] != 0;
}

/* [low, end) is marked, and nothing around it. */
static void check_marks(const struct replay *r, uint64_t low, uint64_t end)
{
	for (uint64_t at = low; at != end; at++)
		ck_assert_msg(is_marked(r, at), "0x%lx", (unsigned long)at);
	for (uint64_t i = 1; i < 20000; i++) {
		ck_assert(!is_marked(r, low - i));
		ck_assert(!is_marked(r, end + i - 1));
	}
}

/* -- Strings -- */

static uint8_t stosb_code[] = {0xf3, 0xaa, 0x90};
static struct program stosb = {stosb_code, sizeof stosb_code};

START_TEST(a_string_that_passes_address_0_marks_what_it_stores)
{
	const uint64_t first = -8192ull, n = 8192 + 100;
	struct replay *r = begin(&stosb, OBSERVE_LOADS | OBSERVE_STORES);

	replay_state(r)->gpr[RDI] = first;
	replay_state(r)->gpr[RCX] = n;
	ck_assert_int_eq(replay_run(r, 1, START + 2), REPLAY_THERE);
	ck_assert_uint_eq(replay_state(r)->gpr[RDI], first + n);
	check_marks(r, first, first + n);
	replay_free(r);
}
END_TEST

START_TEST(a_string_that_passes_address_0_downwards_does_so_too)
{
	const uint64_t first = 99, n = 8192 + 100;
	struct replay *r = begin(&stosb, OBSERVE_LOADS | OBSERVE_STORES);

	replay_state(r)->gpr[RDI] = first;
	replay_state(r)->gpr[RCX] = n;
	replay_state(r)->rflags |= DF;
	ck_assert_int_eq(replay_run(r, 1, START + 2), REPLAY_THERE);
	ck_assert_uint_eq(replay_state(r)->gpr[RDI], first - n);
	check_marks(r, first - n + 1, first + 1);
	replay_free(r);
}
END_TEST

/* The shadow has an end where addresses have none. */
START_TEST(a_string_across_the_end_of_the_map_is_marked_at_both)
{
	static const uint64_t ends[] = {1ull << 32,
					(1ull << 32) - WIRE_SHADOW_SKEW};

	for (unsigned i = 0; i < 2; i++)
		for (unsigned apart = 0; apart < 2; apart++) {
			const uint64_t first = ends[i] - 50;
			struct replay *r =
			    begin(&stosb, OBSERVE_LOADS | OBSERVE_STORES |
					      (apart ? OBSERVE_APART : 0));

			replay_state(r)->gpr[RDI] = first;
			replay_state(r)->gpr[RCX] = 100;
			ck_assert_int_eq(replay_run(r, 0, START + 2),
					 REPLAY_THERE);
			if (apart)
				check_marks(r, first + OBSERVE_STORED,
					    first + OBSERVE_STORED + 100);
			else
				check_marks(r, first, first + 100);
			replay_free(r);
		}
}
END_TEST

/* As many bytes as a string instruction of a recording may have gone over: 8
 * GiB and some, or all addresses there are. */
START_TEST(marks_of_any_length_lie_in_the_map)
{
	static const uint64_t lens[] = {0,
					1,
					100,
					WIRE_SHADOW_SIZE - 1,
					WIRE_SHADOW_SIZE,
					WIRE_SHADOW_SIZE + 1,
					2 * WIRE_SHADOW_SIZE + 77,
					-8192ull,
					UINT64_MAX};
	static const uint32_t indices[] = {0,
					   1,
					   WIRE_SHADOW_SKEW - 1,
					   WIRE_SHADOW_SKEW,
					   WIRE_SHADOW_SKEW + 1,
					   0x80000000,
					   UINT32_MAX};

	for (unsigned i = 0; i < sizeof lens / sizeof lens[0]; i++)
		for (unsigned k = 0; k < sizeof indices / sizeof indices[0];
		     k++) {
			uint64_t want = lens[i], sum = 0;
			struct replay_span s[2];
			unsigned n = replay_spans(indices[k], lens[i], s);

			if (want > WIRE_SHADOW_SIZE)
				want = WIRE_SHADOW_SIZE;
			for (unsigned j = 0; j < n; j++) {
				ck_assert_uint_lt(s[j].at, WIRE_SHADOW_SIZE);
				ck_assert_uint_le(s[j].len,
						  WIRE_SHADOW_SIZE - s[j].at);
				sum += s[j].len;
			}
			ck_assert_uint_eq(sum, want);
		}
}
END_TEST

/* -- What is not executed -- */

START_TEST(the_ac_flag_is_kept_but_nothing_faults_for_it)
{
	static uint8_t code[] = {
	    0x48, 0x8b, 0x46, 0x01, /* mov 1(%rsi),%rax */
	    0x0f, 0x0b,		    /* ud2: hark's handler runs */
	};
	struct program p = {code, sizeof code};
	struct replay *r = begin(&p, OBSERVE_LOADS | OBSERVE_STORES);

	replay_state(r)->gpr[RSI] = 0x20000;
	replay_state(r)->rflags |= AC;
	ck_assert_int_eq(replay_run(r, 0, START + 4), REPLAY_THERE);
	ck_assert_uint_eq(replay_state(r)->rflags & AC, AC);
	ck_assert_int_eq(replay_run(r, 1, START), REPLAY_FAULT);
	ck_assert_uint_eq(replay_state(r)->rflags & AC, AC);
	replay_free(r);
}
END_TEST

static const uint8_t skipped[][4] = {
    {0x0f, 0x01, 0xef, 0x90}, /* wrpkru */
    {0x0f, 0x01, 0xfa, 0x90}, /* monitorx */
    {0x0f, 0x01, 0xfb, 0x90}, /* mwaitx */
    {0xf3, 0x0f, 0xae, 0xf0}, /* umonitor %rax */
};

/* All ones in eax would take every key's memory away, zeros in ecx and edx are
 * what the CPU wants. */
START_TEST(what_would_change_hark_itself_is_passed_over)
{
	struct program p = {skipped[_i], 4};
	struct replay *r = begin(&p, OBSERVE_LOADS | OBSERVE_STORES);

	replay_state(r)->gpr[RAX] = UINT32_MAX;
	ck_assert_int_eq(replay_run(r, 0, START + 4), REPLAY_THERE);
	ck_assert_uint_eq(replay_state(r)->gpr[RAX], UINT32_MAX);
	replay_free(r);
}
END_TEST

START_TEST(pkru_is_kept_as_data)
{
	static const uint8_t code[] = {0x0f, 0x01, 0xef, 0x90}; /* wrpkru */
	struct program p = {code, sizeof code};
	struct replay *r = begin(&p, OBSERVE_LOADS | OBSERVE_STORES);
	uint8_t in[8 + 512 + 8] = {[1] = 2, [8] = 0x7f, [9] = 0x03};
	uint8_t out[WIRE_XSTATE_MAX];
	const uint32_t pkru = 0x55555554, written = 0xfffffff4;
	const uint32_t len = sizeof in;

	memcpy(in + 8 + 512, &pkru, sizeof pkru);
	ck_assert_int_eq(replay_put_xstate(r, in, len - 1), -1);
	ck_assert_int_eq(replay_put_xstate(r, in, len), 0);
	ck_assert_uint_eq(replay_get_xstate(r, out), len);
	ck_assert_mem_eq(out, in, 8);
	ck_assert_mem_eq(out + 8 + 512, in + 8 + 512, 8);
	replay_state(r)->gpr[RAX] = 0x7700000000 | written;
	ck_assert_int_eq(replay_run(r, 0, START + 3), REPLAY_THERE);
	ck_assert_uint_ge(replay_get_xstate(r, out), len);
	ck_assert_uint_eq(out[1] & 2, 2);
	ck_assert_mem_eq(out + 8 + 512, &written, sizeof written);
	replay_set_key(r, 15, 2);
	replay_set_key(r, 0, 0);
	ck_assert_uint_ge(replay_get_xstate(r, out), len);
	ck_assert_uint_eq(out[8 + 512 + 3], 0xbf);
	ck_assert_uint_eq(out[8 + 512], 0xf4);
	in[1] = 0; /* in its initial state, which is 0 */
	ck_assert_int_eq(replay_put_xstate(r, in, 8 + 512), 0);
	ck_assert_uint_eq(replay_get_xstate(r, out), 8 + 512);
	replay_free(r);
}
END_TEST

static const uint8_t refused[][5] = {
    {0xf3, 0x0f, 0x01, 0xea},	    /* saveprevssp */
    {0xf3, 0x0f, 0x01, 0xee},	    /* clui */
    {0xf3, 0x0f, 0x01, 0xef},	    /* stui */
    {0xf3, 0x48, 0x0f, 0xae, 0xe8}, /* incsspq %rax */
    {0xf3, 0x0f, 0xc7, 0xf0},	    /* senduipi %rax */
};

START_TEST(what_is_hark_s_own_is_not_executed)
{
	struct program p = {refused[_i], sizeof refused[0]};
	struct replay *r = begin(&p, OBSERVE_LOADS | OBSERVE_STORES);

	ck_assert_int_eq(replay_run(r, 1, START), REPLAY_STATE);
	ck_assert_uint_eq(replay_state(r)->pc, START);
	replay_free(r);
}
END_TEST

/* -- Pops to memory -- */

static uint64_t *slot_of(struct replay *r, uint64_t address)
{
	return (uint64_t *)(replay_shadow(r) +
			    (uint32_t)(address + WIRE_SHADOW_SKEW));
}

static uint8_t pop_code[] = {0x8f, 0x44, 0x24, 0x10, 0x90}; /* [rsp+16] */
static struct program pop_to_stack = {pop_code, sizeof pop_code};

START_TEST(a_pop_to_memory_is_replayed_by_the_rsp_after_it)
{
	const uint64_t rsp = 0x7000;
	struct replay *r = begin(&pop_to_stack, OBSERVE_LOADS | OBSERVE_STORES);

	replay_state(r)->gpr[RSP] = rsp;
	*slot_of(r, rsp) = 0x1122334455667788;
	ck_assert_int_eq(replay_run(r, 0, START + 4), REPLAY_THERE);
	ck_assert_uint_eq(replay_state(r)->gpr[RSP], rsp + 8);
	ck_assert_uint_eq(*slot_of(r, rsp + 24), 0x1122334455667788);
	for (unsigned i = 0; i < 40; i++)
		ck_assert_int_eq(is_marked(r, rsp + i),
				 i < 8 || (i >= 24 && i < 32));
	replay_free(r);
}
END_TEST

START_TEST(in_recordings_of_version_2_a_pop_to_memory_has_a_state)
{
	struct replay *r = replay_new(fetch, &pop_to_stack, 2);

	ck_assert_ptr_nonnull(r);
	*replay_state(r) =
	    (struct wire_rec_state){.rflags = 0x202, .pc = START};
	ck_assert_int_eq(replay_run(r, 1, START + 4), REPLAY_STATE);
	ck_assert_uint_eq(replay_state(r)->pc, START);
	replay_free(r);
}
END_TEST

Suite *engine_replay_suite(void)
{
	Suite *suite = suite_create("engine_replay");
	TCase *tc = tcase_create("engine_replay");

	tcase_add_test(tc, a_string_that_passes_address_0_marks_what_it_stores);
	tcase_add_test(tc,
		       a_string_that_passes_address_0_downwards_does_so_too);
	tcase_add_test(tc,
		       a_string_across_the_end_of_the_map_is_marked_at_both);
	tcase_add_test(tc, marks_of_any_length_lie_in_the_map);
	tcase_add_test(tc, the_ac_flag_is_kept_but_nothing_faults_for_it);
	tcase_add_loop_test(tc, what_would_change_hark_itself_is_passed_over, 0,
			    sizeof skipped / sizeof skipped[0]);
	tcase_add_test(tc, pkru_is_kept_as_data);
	tcase_add_loop_test(tc, what_is_hark_s_own_is_not_executed, 0,
			    sizeof refused / sizeof refused[0]);
	tcase_add_test(tc, a_pop_to_memory_is_replayed_by_the_rsp_after_it);
	tcase_add_test(tc,
		       in_recordings_of_version_2_a_pop_to_memory_has_a_state);
	suite_add_tcase(suite, tc);
	return suite;
}
