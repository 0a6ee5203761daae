/* tests/unit/site_form_test.c - which form a site takes, and that no wrong
 * patch passes the check. */
#include "site/plan.h"

#include "site/barred.h"

#include <check.h>
#include <string.h>

enum { HOME = 0x401000 };

static struct survey *survey;
static struct room *room;
static struct former former;

/* Code with everything free around it; entry at its begin. */
static void look(const char *bytes, size_t len, size_t extent)
{
	struct hark_err err;

	ck_assert_int_eq(0, survey_of_bytes((const uint8_t *)bytes, HOME, len,
					    &survey, &err));
	ck_assert_int_eq(0, survey_function(survey, HOME, HOME + extent, &err));
	survey_padding(survey);
	ck_assert_int_eq(0, room_new(&room, &err));
	ck_assert_int_eq(0, room_add(room, 0x10000000, 0x7ffff000, &err));
	former = (struct former){survey, room, 0};
}

#define LOOK(bytes) look(bytes, sizeof(bytes) - 1, sizeof(bytes) - 1)

static struct patch choose(uint64_t addr)
{
	struct hark_err err = {0};
	struct patch p;

	ck_assert_msg(form_choose(&former, addr, 0, &p, &err) == 0, "%s",
		      err.text);
	ck_assert_msg(patch_check(survey, 0, &p, &err) == 0, "%s", err.text);
	return p;
}

static void finish(void)
{
	room_free(room);
	survey_free(survey);
}

START_TEST(one_long_instruction_takes_a_plain_jump)
{
	struct patch p;

	LOOK("\xb8\x01\x00\x00\x00\xc3"); /* mov eax, 1; ret */
	p = choose(HOME);
	ck_assert_int_eq(FORM_J5, p.form);
	ck_assert_int_eq(1, p.n);
	ck_assert_int_eq(0xe9, p.bytes[0]);
	finish();
}
END_TEST

START_TEST(inner_instructions_of_a_window_trap)
{
	struct patch p;

	/* push r12; push rbp; push rbx; sub rsp, 8; ret */
	LOOK("\x41\x54\x55\x53\x48\x83\xec\x08\xc3");
	p = choose(HOME);
	ck_assert_int_eq(FORM_JW, p.form);
	ck_assert_int_eq(4, p.n);
	ck_assert_int_eq(8, p.window);
	ck_assert_int_eq(0xe, p.traps);
	for (unsigned k = 1; k < p.n; k++)
		ck_assert_ptr_nonnull(
		    memchr(room_traps, p.bytes[p.off[k]], room_n_traps));
	finish();
}
END_TEST

START_TEST(a_target_inside_is_not_covered)
{
	struct patch p;

	/* push rbp; 1: dec edi; jne 1b; pop rbp; ret: a loop at +1 */
	LOOK("\x55\xff\xcf\x75\xfc\x5d\xc3");
	p = choose(HOME);
	ck_assert(p.form == FORM_JP || p.form == FORM_T);
	ck_assert_int_eq(1, p.window);
	finish();
}
END_TEST

START_TEST(a_return_takes_what_is_before_it_along)
{
	struct patch p;

	/* add rsp, 0x98; ret; 1: jmp 1b */
	LOOK("\x48\x81\xc4\x98\x00\x00\x00\xc3\xeb\xfe");
	p = choose(HOME + 7);
	ck_assert_int_eq(FORM_JW, p.form);
	ck_assert_uint_eq(HOME, p.at);
	ck_assert_int_eq(2, p.n);
	ck_assert_int_eq(2, p.probed);
	ck_assert_int_eq(0xcc, p.bytes[7]);
	finish();
}
END_TEST

START_TEST(a_return_before_padding_takes_a_plain_jump)
{
	struct patch p;

	/* 1: dec edi; jne 1b; ret; nop; nop; nop; nop */
	look("\xff\xcf\x75\xfc\xc3\x90\x90\x90\x90", 9, 5);
	p = choose(HOME + 4);
	ck_assert_int_eq(FORM_J5, p.form);
	ck_assert_int_eq(1, p.window);
	ck_assert_int_eq(5, p.len);
	finish();
}
END_TEST

START_TEST(a_short_one_hops_by_padding)
{
	struct patch p;

	/* jmp 1f; five nops; 1: xor eax, eax; 2: dec edi; jne 2b; ret */
	LOOK("\xeb\x05\x90\x90\x90\x90\x90\x31\xc0\xff\xcf\x75\xfc\xc3");
	p = choose(HOME + 7);
	ck_assert_int_eq(FORM_J2, p.form);
	ck_assert_uint_eq(HOME + 2, p.hop);
	finish();
}
END_TEST

START_TEST(what_follows_a_call_is_never_covered)
{
	struct patch p;

	/* nop; call *rax; nop; ret: behind the call it comes back */
	LOOK("\x90\xff\xd0\x90\xc3");
	p = choose(HOME + 1);
	ck_assert_uint_le(p.at + p.window, HOME + 3);
	finish();
}
END_TEST

START_TEST(without_room_there_is_the_trap)
{
	struct patch p;

	LOOK("\xb8\x01\x00\x00\x00\xc3");
	former.room = NULL;
	p = choose(HOME);
	ck_assert_int_eq(FORM_T, p.form);
	ck_assert_int_eq(0xcc, p.bytes[0]);
	finish();
}
END_TEST

START_TEST(traps_of_the_program_are_refused)
{
	struct hark_err err;
	struct patch p;

	LOOK("\xcc\xb8\x01\x00\x00\x00\xc3");
	ck_assert_int_eq(-1, form_choose(&former, HOME, 0, &p, &err));
	ck_assert_str_eq("a breakpoint instruction", err.text);
	ck_assert_int_eq(-1, form_choose(&former, HOME + 2, 0, &p, &err));
	finish();
}
END_TEST

/* -- The check -- */

static int passes(const struct patch *p)
{
	struct hark_err err;

	return patch_check(survey, 0, p, &err) == 0;
}

START_TEST(barred_bytes_are_neither_changed_nor_moved)
{
	struct hark_err err = {0};
	struct patch p, old;

	/* push r12; push rbp; push rbx; sub rsp, 8; ret; nops */
	LOOK("\x41\x54\x55\x53\x48\x83\xec\x08\xc3\x90\x90\x90\x90\x90");
	old = choose(HOME);
	ck_assert_int_eq(FORM_JW, old.form);
	form_release(&former, &old);
	ck_assert_int_eq(
	    0, barred_add(survey, HOME + 7, HOME + 8, BARRED_SEQUENCE, &err));
	ck_assert_ptr_nonnull(form_refusal(survey, HOME + 4));
	ck_assert_ptr_null(form_refusal(survey, HOME + 8));
	ck_assert_int_lt(form_choose(&former, HOME + 4, 0, &p, &err), 0);
	ck_assert_int_lt(patch_check(survey, 0, &old, &err), 0);
	p = choose(HOME);
	ck_assert_int_le(p.window, 4);
	/* Padding, too. */
	ck_assert_int_eq(
	    0, barred_add(survey, HOME + 9, HOME + 10, BARRED_SEQUENCE, &err));
	p = choose(HOME + 8);
	ck_assert_int_le(p.len, 1);
	finish();
}
END_TEST

START_TEST(no_changed_patch_passes_the_check)
{
	struct patch p, q;

	LOOK("\x41\x54\x55\x53\x48\x83\xec\x08\xc3");
	p = choose(HOME);
	for (unsigned i = 0; i < p.len; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			q = p;
			q.bytes[i] ^= (uint8_t)(1 << bit);
			ck_assert(!passes(&q));
		}
	q = p;
	q.traps &= (uint8_t)~2;
	ck_assert(!passes(&q));
	q = p;
	q.window--;
	ck_assert(!passes(&q));
	q = p;
	q.entry += 0x100;
	ck_assert(!passes(&q));
	survey->facts[2] |= SURVEY_TARGET;
	ck_assert(!passes(&p));
	finish();
}
END_TEST

/* -- Plans -- */

START_TEST(addresses_in_one_window_share_a_patch)
{
	struct hark_err err;
	struct plan *plan;
	unsigned k;

	LOOK("\x41\x54\x55\x53\x48\x83\xec\x08\xc3");
	ck_assert_int_eq(0, plan_new(&former, &plan, &err));
	ck_assert_int_eq(0, plan_add(plan, HOME + 3, &err));
	ck_assert_int_eq(0, plan_add(plan, HOME, &err));
	ck_assert_int_eq(0, plan_add(plan, HOME, &err));
	ck_assert_int_eq(0, plan_make(plan, &err));
	ck_assert_uint_eq(1, plan_count(plan));
	ck_assert_ptr_eq(plan_get(plan, 0), plan_find(plan, HOME + 3, &k));
	ck_assert_uint_eq(2, k);
	ck_assert_ptr_null(plan_find(plan, HOME + 2, &k));
	ck_assert_uint_ne(plan_get(plan, 0)->entry, plan_get(plan, 0)->code);
	plan_free(plan);
	finish();
}
END_TEST

START_TEST(a_squeezed_jump_gives_way)
{
	struct hark_err err;
	struct plan *plan;
	unsigned k;

	/* nop; 1: push rbp x 4; pop rbp x 4; jmp 1b: only one byte can change,
	 * and the jump relies on the next four */
	LOOK("\x90\x55\x55\x55\x5d\x5d\x5d\xeb\xf8");
	ck_assert_int_eq(0, plan_new(&former, &plan, &err));
	ck_assert_int_eq(0, plan_add(plan, HOME, &err));
	ck_assert_int_eq(0, plan_add(plan, HOME + 1, &err));
	ck_assert_int_eq(0, plan_make(plan, &err));
	ck_assert_int_eq(FORM_T, plan_find(plan, HOME, &k)->form);
	ck_assert_int_eq(FORM_JW, plan_find(plan, HOME + 1, &k)->form);
	plan_free(plan);
	finish();
}
END_TEST

START_TEST(padding_that_is_asked_for_is_left_to_it)
{
	struct hark_err err;
	struct plan *plan;
	struct patch p;
	unsigned k;

	/* xor eax, eax; 1: dec edi; jne 1b; ret; five nops: the first would
	 * hop by them */
	LOOK("\x31\xc0\xff\xcf\x75\xfc\xc3\x90\x90\x90\x90\x90");
	p = choose(HOME);
	ck_assert_uint_eq(HOME + 7, p.hop);
	form_release(&former, &p);
	ck_assert_int_eq(0, plan_new(&former, &plan, &err));
	ck_assert_int_eq(0, plan_add(plan, HOME, &err));
	ck_assert_int_eq(0, plan_add(plan, HOME + 7, &err));
	ck_assert_int_eq(0, plan_make(plan, &err));
	ck_assert_ptr_nonnull(plan_find(plan, HOME, &k));
	ck_assert_ptr_nonnull(plan_find(plan, HOME + 7, &k));
	plan_free(plan);
	finish();
}
END_TEST

Suite *site_form_suite(void)
{
	Suite *s = suite_create("site_form");
	TCase *t = tcase_create("forms");

	tcase_add_test(t, one_long_instruction_takes_a_plain_jump);
	tcase_add_test(t, inner_instructions_of_a_window_trap);
	tcase_add_test(t, a_target_inside_is_not_covered);
	tcase_add_test(t, a_return_takes_what_is_before_it_along);
	tcase_add_test(t, a_return_before_padding_takes_a_plain_jump);
	tcase_add_test(t, a_short_one_hops_by_padding);
	tcase_add_test(t, what_follows_a_call_is_never_covered);
	tcase_add_test(t, without_room_there_is_the_trap);
	tcase_add_test(t, traps_of_the_program_are_refused);
	tcase_add_test(t, barred_bytes_are_neither_changed_nor_moved);
	tcase_add_test(t, no_changed_patch_passes_the_check);
	tcase_add_test(t, addresses_in_one_window_share_a_patch);
	tcase_add_test(t, a_squeezed_jump_gives_way);
	tcase_add_test(t, padding_that_is_asked_for_is_left_to_it);
	suite_add_tcase(s, t);
	return s;
}
