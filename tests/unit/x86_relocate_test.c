/* tests/unit/x86_relocate_test.c - the shape of moved code, and its limits.
 *
 * That moved code does the same is shown by executing it (tests/x86). Here:
 * what is refused, exact reach, room, points, patching. */
#include "x86/relocate.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t home = 0x555500001000, place = 0x555510000000,
		      away = 0x7f0000000000;
static uint8_t bytes[128];
static struct x86_insn insn;
static struct x86_moved info;

static const struct x86_mem gs_cell = {
    .seg = X86_GS, .base = X86_NOREG, .index = X86_NOREG, .disp = -64};
static const struct x86_move_how with_cell = {.cell = &gs_cell};

static struct x86_buf room(uint64_t pc, unsigned len)
{
	memset(bytes, 0xee, sizeof bytes);
	return (struct x86_buf){bytes, bytes, bytes + len, pc, 0};
}

static enum x86_move move_from(uint64_t from, const char *code, unsigned len,
			       uint64_t to, const struct x86_move_how *how)
{
	struct x86_buf out = room(to, X86_MOVED_LEN);
	enum x86_move status;

	ck_assert_int_eq(X86_OK, x86_decode((const uint8_t *)code, len, &insn));
	ck_assert_uint_eq(len, insn.len);
	status =
	    x86_relocate((const uint8_t *)code, &insn, from, how, &out, &info);
	ck_assert_uint_eq(0, out.bad);
	ck_assert_int_eq(status == X86_MOVE_OK ? info.len : 0,
			 out.at - out.start);
	return status;
}

/* A string literal is the code; its NUL is not. */
#define MOVE(code, to, how) \
	move_from(home, code, (unsigned)sizeof(code) - 1, to, how)

/* The n-th written instruction. */
static struct x86_insn nth(unsigned n)
{
	struct x86_insn i;

	ck_assert_uint_lt(n, info.n);
	ck_assert_int_eq(X86_OK, x86_decode(bytes + info.point[n].off,
					    info.len - info.point[n].off, &i));
	return i;
}

static uint64_t nth_target(unsigned n, uint64_t to)
{
	struct x86_insn i = nth(n);

	return x86_target(bytes + info.point[n].off, &i,
			  to + info.point[n].off);
}

/* -- Refusals ---------------------------------------------------------------
 */

START_TEST(what_cannot_be_moved_is_refused_by_name)
{
	static const struct {
		const char *code;
		unsigned len;
		enum x86_move why;
	} want[] = {{"\xcc", 1, X86_MOVE_INT3},
		    {"\xcd\x80", 2, X86_MOVE_INT},
		    {"\xf1", 1, X86_MOVE_INT},
		    {"\x0f\x0b", 2, X86_MOVE_UD},
		    {"\x0f\xb9\xc0", 3, X86_MOVE_UD},
		    {"\xf4", 1, X86_MOVE_HLT},
		    {"\x48\xcf", 2, X86_MOVE_IRET},
		    {"\xcb", 1, X86_MOVE_FARCALL},
		    {"\xca\x08\x00", 3, X86_MOVE_FARCALL},
		    {"\xff\x18", 2, X86_MOVE_FARCALL},
		    {"\xff\x2d\x00\x00\x00\x00", 6, X86_MOVE_FARCALL},
		    {"\x0f\x34", 2, X86_MOVE_SYSENTER},
		    {"\x0f\x07", 2, X86_MOVE_ODD},
		    {"\x66\xff\xd0", 3, X86_MOVE_VENDOR},
		    {"\x66\x74\x10", 3, X86_MOVE_VENDOR},
		    {"\x66\xeb\x10", 3, X86_MOVE_VENDOR},
		    {"\x66\xe2\x10", 3, X86_MOVE_VENDOR}};

	for (unsigned k = 0; k < sizeof want / sizeof want[0]; k++) {
		info.len = 77;
		ck_assert_int_eq(want[k].why,
				 move_from(home, want[k].code, want[k].len,
					   place, &with_cell));
		ck_assert_uint_ge(want[k].why, X86_MOVE_REFUSED);
		ck_assert_uint_eq(77, info.len); /* untouched */
	}
}
END_TEST

START_TEST(rex_w_makes_66_harmless)
{
	/* glibc calls __tls_get_addr like this. */
	ck_assert_int_eq(X86_MOVE_OK,
			 MOVE("\x66\x66\x48\xe8\x10\x00\x00\x00", place, NULL));
}
END_TEST

START_TEST(every_outcome_has_a_text)
{
	for (unsigned why = 0; why < X86_MOVE_MAX; why++)
		ck_assert_uint_gt(strlen(x86_move_text(why)), 0);
	ck_assert_str_eq("unknown", x86_move_text(X86_MOVE_MAX));
}
END_TEST

/* -- Room and reach -----------------------------------------------------------
 */

static const struct {
	const char *code;
	unsigned len;
} samples[] = {{"\x90", 1},
	       {"\x8b\x05\x00\x10\x00\x00", 6},
	       {"\x0f\xb6\x0d\x00\x10\x00\x00", 7},
	       {"\xc4\xe1\x79\x6f\x05\x00\x10\x00\x00", 9},
	       {"\xe8\x00\x01\x00\x00", 5},
	       {"\xe9\x00\x01\x00\x00", 5},
	       {"\x74\x10", 2},
	       {"\xe2\x10", 2},
	       {"\x67\xe3\x10", 3},
	       {"\xff\xd0", 2},
	       {"\xff\x50\x08", 3},
	       {"\xff\x54\x24\xf8", 4},
	       {"\xff\xd4", 2},
	       {"\xff\x15\x00\x10\x00\x00", 6},
	       {"\xff\x25\x00\x10\x00\x00", 6},
	       {"\x0f\x05", 2},
	       {"\xc7\xf8\x00\x01\x00\x00", 6},
	       {"\xc3", 1}};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

START_TEST(too_little_room_leaves_nothing_behind)
{
	const uint64_t places[] = {place, away};

	for (unsigned k = 0; k < SAMPLES; k++)
		for (unsigned far = 0; far < 2; far++) {
			const uint8_t *code = (const void *)samples[k].code;
			struct x86_buf out;
			enum x86_move s;
			unsigned n = 0;

			x86_decode(code, samples[k].len, &insn);
			do {
				out = room(places[far], n);
				s = x86_relocate(code, &insn, home, &with_cell,
						 &out, &info);
				if (s == X86_MOVE_OK)
					break;
				ck_assert_int_eq(X86_MOVE_FULL, s);
				ck_assert_ptr_eq(out.start, out.at);
				ck_assert_uint_eq(0, out.bad);
				ck_assert_uint_eq(0xee, bytes[n]);
			} while (n++ < X86_MOVED_LEN);
			ck_assert_int_eq(X86_MOVE_OK, s);
			ck_assert_uint_eq(n, info.len);
			ck_assert_uint_eq(0xee, bytes[n]);
		}
}
END_TEST

START_TEST(a_bad_buffer_stays_bad)
{
	struct x86_buf out = room(place, 64);

	out.bad = X86_BUF_FAR;
	x86_decode((const uint8_t *)"\x90", 1, &insn);
	ck_assert_int_eq(X86_MOVE_FULL,
			 x86_relocate((const uint8_t *)"\x90", &insn, home,
				      NULL, &out, &info));
	ck_assert_uint_eq(X86_BUF_FAR, out.bad);
}
END_TEST

START_TEST(operands_are_moved_up_to_two_gigabytes)
{
	const char *code = "\x0f\xb6\x0d\x00\x00\x00\x00"; /* movzx ecx,[rip] */
	uint64_t operand = home + 7;

	for (int d = -100; d < 100; d++) {
		uint64_t up = operand + INT32_MIN + (uint64_t)(int64_t)d;
		uint64_t down = operand + INT32_MAX + (uint64_t)(int64_t)d;
		enum x86_move s = move_from(home, code, 7, down, NULL);

		/* A copy ends 7 bytes on; borrowing starts a little early. */
		if (s == X86_MOVE_OK)
			ck_assert_uint_eq(operand,
					  down + 7 + (uint64_t)nth(0).disp);
		ck_assert_int_eq(d <= -64 + 1 ? X86_MOVE_OK : X86_MOVE_FAR, s);
		s = move_from(home, code, 7, up, NULL);
		if (s == X86_MOVE_OK)
			ck_assert_uint_eq(operand,
					  up + 7 + (uint64_t)nth(0).disp);
		ck_assert_int_eq(d >= 1 ? X86_MOVE_OK : X86_MOVE_FAR, s);
		ck_assert_int_eq(X86_MOVE_OK,
				 move_from(home, code, 7, down, &with_cell));
	}
}
END_TEST

START_TEST(jumps_switch_form_exactly_at_the_limit)
{
	for (int d = -3; d <= 3; d++) {
		uint64_t target = home + 5 + 0x100;
		uint64_t to = target - 5 - INT32_MAX + (uint64_t)(int64_t)d;

		ck_assert_int_eq(
		    X86_MOVE_OK,
		    move_from(home, "\xe9\x00\x01\x00\x00", 5, to, NULL));
		ck_assert_uint_eq(target, info.target);
		ck_assert_uint_eq(d >= 0 ? 5 : 14, info.len);
		ck_assert_uint_eq(d >= 0 ? 1 : 0, info.rel32);
	}
}
END_TEST

/* -- Calls
 * ---------------------------------------------------------------------- */

START_TEST(call_pushes_the_original_return_address)
{
	struct x86_insn push;
	uint64_t pushed;

	ck_assert_int_eq(X86_MOVE_OK,
			 MOVE("\xe8\x00\x01\x00\x00", place, NULL));
	push = nth(0);
	ck_assert_int_eq(X86_RIP, push.base);
	memcpy(&pushed, bytes + push.len + push.disp, sizeof pushed);
	ck_assert_uint_eq(home + 5, pushed);
	ck_assert_uint_eq(home + 5 + 0x100, nth_target(1, place));
	ck_assert_uint_eq(19, info.len);
	ck_assert_uint_eq(0, info.falls);
}
END_TEST

START_TEST(call_in_the_first_two_gigabytes_needs_no_constant)
{
	struct x86_insn push;

	ck_assert_int_eq(
	    X86_MOVE_OK,
	    move_from(0x401000, "\xe8\x00\x01\x00\x00", 5, 0x501000, NULL));
	push = nth(0);
	ck_assert_int_eq(0x401005, x86_imm(bytes, &push));
	ck_assert_uint_eq(10, info.len);
	/* Sign extension would spoil the next. */
	ck_assert_int_eq(
	    X86_MOVE_OK,
	    move_from(0x80000000, "\xe8\x00\x01\x00\x00", 5, 0x80001000, NULL));
	ck_assert_uint_eq(19, info.len);
}
END_TEST

START_TEST(call_of_what_it_overwrites_needs_a_cell)
{
	char code[] = "\xff\x54\x24\x00"; /* call [rsp+disp8] */

	for (int disp = -24; disp <= 8; disp++) {
		int hit = disp > -16 && disp < 0;

		code[3] = (char)disp;
		ck_assert_int_eq(hit ? X86_MOVE_CELL : X86_MOVE_OK,
				 MOVE(code, place, NULL));
		ck_assert_int_eq(X86_MOVE_OK, MOVE(code, place, &with_cell));
		ck_assert_uint_eq(0, info.notes);
	}
	ck_assert_int_eq(X86_MOVE_CELL, MOVE("\xff\xd4", place, NULL));
	ck_assert_int_eq(X86_MOVE_OK, MOVE("\xff\xd4", place, &with_cell));
}
END_TEST

START_TEST(call_counts_rsp_from_below)
{
	/* disp8 120 + 8 no longer fits a disp8. */
	ck_assert_int_eq(X86_MOVE_OK, MOVE("\xff\x54\x24\x78", place, NULL));
	ck_assert_int_eq(128, nth(1).disp);
	ck_assert_int_eq(X86_RSP, nth(1).base);
	ck_assert_uint_eq(0, info.notes);
	/* Any other base may point anywhere, and the mover says so. */
	ck_assert_int_eq(X86_MOVE_OK, MOVE("\xff\x50\x78", place, NULL));
	ck_assert_int_eq(120, nth(1).disp);
	ck_assert_uint_eq(X86_MOVED_APART, info.notes);
	ck_assert_int_eq(X86_MOVE_OK, MOVE("\xff\x50\x78", place, &with_cell));
	ck_assert_uint_eq(0, info.notes);
}
END_TEST

START_TEST(notrack_survives)
{
	ck_assert_int_eq(X86_MOVE_OK, MOVE("\x3e\xff\xd0", place, NULL));
	ck_assert_uint_eq(0x3e, bytes[info.point[1].off]);
	ck_assert_int_eq(X86_MOVE_OK, MOVE("\x3e\xff\xe0", place, NULL));
	ck_assert_uint_eq(0x3e, bytes[0]);
	ck_assert_int_eq(X86_MOVE_OK,
			 MOVE("\x3e\xff\x15\0\0\0\0", away, &with_cell));
	ck_assert_uint_eq(0x3e, bytes[info.point[4].off]);
}
END_TEST

START_TEST(a_cell_on_a_register_is_refused)
{
	struct x86_mem bad = {.base = X86_RBX, .index = X86_NOREG};
	struct x86_move_how how = {.cell = &bad};

	ck_assert_int_eq(X86_MOVE_CELL, MOVE("\x90", place, &how));
	bad = (struct x86_mem){.base = X86_NOREG, .index = X86_RBX};
	ck_assert_int_eq(X86_MOVE_CELL, MOVE("\x90", place, &how));
	bad = (struct x86_mem){.base = X86_NOREG, .index = X86_NOREG};
	ck_assert_int_eq(X86_MOVE_OK, MOVE("\x90", place, &how));
}
END_TEST

/* -- Transactions, system calls, x87
 * -------------------------------------------- */

START_TEST(xbegin_falls_back_to_its_own_handler)
{
	struct x86_insn i;
	uint64_t to;

	ck_assert_int_eq(X86_MOVE_OK,
			 MOVE("\xc7\xf8\x00\x01\x00\x00", place, NULL));
	ck_assert_uint_eq(home + 6 + 0x100, nth_target(0, place));
	ck_assert_uint_eq(6, info.len);
	ck_assert_int_eq(X86_MOVE_OK,
			 MOVE("\xc7\xf8\x00\x01\x00\x00", away, NULL));
	/* xbegin 1f; jmp 2f; 1: jmp [constant]; 2: */
	ck_assert_uint_eq(away + info.point[2].off, nth_target(0, away));
	ck_assert_uint_eq(away + info.len, nth_target(1, away));
	i = nth(2);
	memcpy(&to, bytes + info.point[2].off + i.len, sizeof to);
	ck_assert_uint_eq(home + 6 + 0x100, to);
}
END_TEST

START_TEST(syscall_shows_its_own_address_in_rcx)
{
	uint64_t gpr[16] = {0}, pc;

	ck_assert_int_eq(X86_MOVE_OK, MOVE("\x0f\x05", place, NULL));
	ck_assert_uint_eq(X86_MOVED_RCX, info.notes);
	ck_assert_uint_eq(2, info.n);
	gpr[X86_RCX] = place + 2;
	ck_assert_int_eq(0, x86_moved_native(&info, 2, 0, gpr, &pc));
	ck_assert_uint_eq(home + 2, pc);
	ck_assert_uint_eq(home + 2, gpr[X86_RCX]);
}
END_TEST

START_TEST(x87_is_said_to_remember_its_place)
{
	ck_assert_int_eq(X86_MOVE_OK, MOVE("\xd8\xc1", place, NULL));
	ck_assert_uint_eq(X86_MOVED_FIP, info.notes);
}
END_TEST

/* -- Points
 * ------------------------------------------------------------------------ */

/* Walks the written instructions: each starts at a point, and each point is
 * one; behind the last stand only constants. */
static void walk(void)
{
	struct x86_point storage;
	unsigned at = 0, n = 0;

	for (; n < info.n; n++) {
		ck_assert_uint_eq(at, info.point[n].off);
		at += nth(n).len;
	}
	ck_assert_uint_le(at, info.len);
	ck_assert_uint_eq(0, (info.len - at) % 8);
	ck_assert_uint_le(info.len - at, 16);
	for (unsigned k = 0, next = 0; k <= info.len; k++) {
		int starts = next < n && info.point[next].off == k;
		int end = k == info.len && info.falls;

		next += starts;
		ck_assert_int_eq(starts || end,
				 x86_moved_point(&info, k, &storage) != NULL);
	}
}

START_TEST(every_instruction_is_a_point)
{
	static const struct x86_move_how lose = {.may_lose = 1};
	const struct x86_move_how *hows[] = {NULL, &with_cell, &lose};
	unsigned moved = 0;

	for (unsigned k = 0; k < SAMPLES; k++)
		for (unsigned h = 0; h < 6; h++) {
			enum x86_move s =
			    move_from(home, samples[k].code, samples[k].len,
				      h & 1 ? away : place, hows[h / 2]);

			if (s != X86_MOVE_OK)
				continue;
			walk();
			moved++;
		}
	ck_assert_uint_gt(moved, SAMPLES * 4);
}
END_TEST

START_TEST(borrowed_register_comes_back_from_the_cell)
{
	uint64_t gpr[16] = {0}, pc;

	/* add ecx, [rip]: rax is free */
	ck_assert_int_eq(X86_MOVE_OK,
			 MOVE("\x03\x0d\x00\x10\x00\x00", away, &with_cell));
	ck_assert_uint_eq(4, info.n);
	ck_assert_int_eq(
	    0, x86_moved_native(&info, info.point[2].off, 1234, gpr, &pc));
	ck_assert_uint_eq(home, pc);
	ck_assert_uint_eq(1234, gpr[X86_RAX]);
	ck_assert_int_eq(
	    0, x86_moved_native(&info, info.point[3].off, 99, gpr, &pc));
	ck_assert_uint_eq(home + 6, pc);
	ck_assert_uint_eq(99, gpr[X86_RAX]);
	ck_assert_int_eq(-1, x86_moved_native(&info, 1, 0, gpr, &pc));
}
END_TEST

START_TEST(a_segment_load_does_not_lose_the_cell)
{
	/* mov gs,[rip]   lgs rax,[rip] */
	ck_assert_int_eq(X86_MOVE_FAR,
			 MOVE("\x8e\x2d\x00\x10\x00\x00", away, &with_cell));
	ck_assert_int_eq(X86_MOVE_FAR, MOVE("\x48\x0f\xb5\x05\x00\x10\x00\x00",
					    away, &with_cell));
	ck_assert_int_eq(X86_MOVE_OK,
			 MOVE("\x8e\x2d\x00\x10\x00\x00", place, NULL));
}
END_TEST

START_TEST(nothing_is_lost_unasked)
{
	static const struct x86_move_how lose = {.may_lose = 1};
	const char *load = "\x8b\x0d\x00\x10\x00\x00"; /* mov ecx,[rip] */
	const char *add = "\x03\x0d\x00\x10\x00\x00";  /* reads ecx */

	ck_assert_int_eq(X86_MOVE_FAR, move_from(home, load, 6, away, NULL));
	ck_assert_int_eq(X86_MOVE_OK, move_from(home, load, 6, away, &lose));
	ck_assert_uint_eq(X86_FIX_LOST, info.point[1].fix);
	ck_assert_uint_eq(X86_RCX, info.point[1].reg);
	ck_assert_int_eq(X86_MOVE_FAR, move_from(home, add, 6, away, &lose));
}
END_TEST

/* -- Routes and patches
 * -------------------------------------------------------------- */

static uint64_t to_away(void *ctx, uint64_t target)
{
	*(uint64_t *)ctx = target;
	return target + 0x1000;
}

START_TEST(routes_are_asked_and_followed)
{
	uint64_t asked = 0;
	struct x86_move_how how = {.route = to_away, .ctx = &asked};

	ck_assert_int_eq(X86_MOVE_OK, MOVE("\x75\x10", place, &how));
	ck_assert_uint_eq(home + 2 + 0x10, asked);
	ck_assert_uint_eq(home + 2 + 0x10, info.target);
	ck_assert_uint_eq(asked + 0x1000, nth_target(0, place));
	ck_assert_uint_eq(1, info.falls);
}
END_TEST

START_TEST(targets_can_be_patched_afterwards)
{
	for (unsigned k = 0; k < SAMPLES; k++) {
		uint64_t gone = place + 0x4321;
		unsigned hits = 0;

		if (move_from(home, samples[k].code, samples[k].len, place,
			      NULL) != X86_MOVE_OK ||
		    !info.rel32)
			continue;
		ck_assert_int_eq(0, emit_patch_rel32(bytes + info.rel32,
						     place + info.rel32, gone));
		for (unsigned n = 0; n < info.n; n++) {
			unsigned flow = nth(n).row->flow;

			if (flow == X86_JMP || flow == X86_JCC ||
			    flow == X86_XBEGIN)
				hits += nth_target(n, place) == gone;
		}
		ck_assert_uint_eq(1, hits);
	}
}
END_TEST

Suite *x86_relocate_suite(void)
{
	Suite *s = suite_create("x86_relocate");
	TCase *t = tcase_create("relocate");

	tcase_add_test(t, what_cannot_be_moved_is_refused_by_name);
	tcase_add_test(t, rex_w_makes_66_harmless);
	tcase_add_test(t, every_outcome_has_a_text);
	tcase_add_test(t, too_little_room_leaves_nothing_behind);
	tcase_add_test(t, a_bad_buffer_stays_bad);
	tcase_add_test(t, operands_are_moved_up_to_two_gigabytes);
	tcase_add_test(t, jumps_switch_form_exactly_at_the_limit);
	tcase_add_test(t, call_pushes_the_original_return_address);
	tcase_add_test(t, call_in_the_first_two_gigabytes_needs_no_constant);
	tcase_add_test(t, call_of_what_it_overwrites_needs_a_cell);
	tcase_add_test(t, call_counts_rsp_from_below);
	tcase_add_test(t, notrack_survives);
	tcase_add_test(t, a_cell_on_a_register_is_refused);
	tcase_add_test(t, xbegin_falls_back_to_its_own_handler);
	tcase_add_test(t, syscall_shows_its_own_address_in_rcx);
	tcase_add_test(t, x87_is_said_to_remember_its_place);
	tcase_add_test(t, every_instruction_is_a_point);
	tcase_add_test(t, borrowed_register_comes_back_from_the_cell);
	tcase_add_test(t, a_segment_load_does_not_lose_the_cell);
	tcase_add_test(t, nothing_is_lost_unasked);
	tcase_add_test(t, routes_are_asked_and_followed);
	tcase_add_test(t, targets_can_be_patched_afterwards);
	suite_add_tcase(s, t);
	return s;
}
