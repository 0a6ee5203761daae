/* tests/unit/x86_rewrite_test.c - the same instruction with another operand.
 *
 * Random bytes that are an instruction with memory are rewritten and decoded
 * again: what the decoder sees must differ in the operand and nowhere else. */
#include "x86/rewrite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 400000, SKEW = 0x5840, ROOM = 32 };

static uint64_t state;

static uint64_t chance(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Likely to be an instruction: prefixes now and then, then anything. */
static void make(uint8_t code[X86_MAX_LEN])
{
	static const uint8_t starts[] = {0x66, 0xf2, 0xf3, 0xf0, 0x64, 0x67,
					 0x48, 0x41, 0x0f, 0xc5, 0xc4, 0x62};

	for (unsigned i = 0; i < X86_MAX_LEN; i++)
		code[i] = (uint8_t)chance();
	for (unsigned i = 0; i < 3 && chance() % 2; i++)
		code[i] = starts[chance() % sizeof starts];
}

static struct x86_buf buffer(uint8_t *out)
{
	return (struct x86_buf){.start = out, .at = out, .end = out + ROOM};
}

static void same_but_operand(const struct x86_insn *a, const struct x86_insn *b)
{
	ck_assert_uint_eq(a->space, b->space);
	ck_assert_uint_eq(a->opcode, b->opcode);
	ck_assert_uint_eq(a->reg, b->reg);
	ck_assert_uint_eq(a->vvvv, b->vvvv);
	ck_assert_uint_eq(a->v2, b->v2);
	ck_assert_uint_eq(a->aaa, b->aaa);
	ck_assert_uint_eq(a->z, b->z);
	ck_assert_uint_eq(a->evex_r2, b->evex_r2);
}

static void check_moved(const uint8_t *code, const struct x86_insn *x)
{
	uint8_t out[ROOM];
	struct x86_buf b = buffer(out);
	uint64_t pc = 0x7f1234567000;
	uint32_t disp = (uint32_t)x->disp + SKEW;
	struct x86_insn y;

	if (x86_put_moved32(&b, code, x, pc, X86_GS, SKEW) < 0) {
		ck_assert(!x86_can_move32(code, x));
		ck_assert(!x86_could_move32(code, x));
		return;
	}
	ck_assert(x86_can_move32(code, x));
	ck_assert_int_eq(X86_OK, x86_decode(out, (unsigned)(b.at - out), &y));
	ck_assert_uint_eq((unsigned)(b.at - out), y.len);
	same_but_operand(x, &y);
	ck_assert_ptr_eq(x->row, y.row);
	ck_assert_int_eq(1, y.is_mem);
	ck_assert_uint_eq(0x65, y.seg);
	ck_assert(y.prefixes & X86_P_67);
	ck_assert(!(y.prefixes & X86_P_LOCK));
	ck_assert_uint_eq(x->index, y.index);
	ck_assert_uint_eq(x->index == X86_NOREG ? y.scale : x->scale, y.scale);
	if (x->base == X86_RIP)
		disp += (uint32_t)(pc + x->len);
	ck_assert_uint_eq(x->base == X86_RIP ? X86_NOREG : x->base, y.base);
	ck_assert_uint_eq(disp, (uint32_t)y.disp);
	ck_assert_int_eq(x86_imm(code, x), x86_imm(out, &y));
}

static void check_register(const uint8_t *code, const struct x86_insn *x,
			   unsigned reg)
{
	uint8_t out[ROOM];
	struct x86_buf b = buffer(out);
	struct x86_insn y;

	if (x86_put_register(&b, code, x, reg) < 0 ||
	    x86_decode(out, (unsigned)(b.at - out), &y) != X86_OK)
		return; /* it may have no such form: callers know which have */
	ck_assert_uint_eq((unsigned)(b.at - out), y.len);
	ck_assert_int_eq(0, y.is_mem);
	ck_assert_uint_eq(reg, y.rm);
	ck_assert_uint_eq(x->opcode, y.opcode);
	ck_assert_uint_eq(x->reg, y.reg);
	ck_assert_int_eq(x86_imm(code, x), x86_imm(out, &y));
}

START_TEST(nothing_else_changes)
{
	unsigned tried = 0;

	state = 20261115;
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint8_t code[X86_MAX_LEN];
		struct x86_insn x;

		make(code);
		if (x86_decode(code, sizeof code, &x) != X86_OK || !x.is_mem)
			continue;
		tried++;
		check_moved(code, &x);
		if ((x.space == X86_SPACE_LEGACY && x.opcode < 0x40) ||
		    (x.space == X86_SPACE_LEGACY + 1 &&
		     (x.opcode & 0xf0) == 0x40))
			check_register(code, &x, (unsigned)(chance() % 16));
	}
	ck_assert_uint_gt(tried, ROUNDS / 10);
}
END_TEST

static void expect(const char *hex, const char *want, int reg)
{
	uint8_t code[X86_MAX_LEN] = {0}, out[ROOM];
	struct x86_buf b = buffer(out);
	char text[2 * ROOM + 1] = "";
	struct x86_insn x;

	for (unsigned i = 0; hex[2 * i] != 0; i++) {
		char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};

		code[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	ck_assert_int_eq(X86_OK, x86_decode(code, sizeof code, &x));
	if (reg < 0)
		ck_assert_int_eq(
		    0, x86_put_moved32(&b, code, &x, 0, X86_GS, SKEW));
	else
		ck_assert_int_eq(0,
				 x86_put_register(&b, code, &x, (unsigned)reg));
	for (const uint8_t *at = out; at < b.at; at++)
		snprintf(text + 2 * (at - out), 3, "%02x", *at);
	ck_assert_str_eq(want, text);
}

START_TEST(some_by_hand)
{
	expect("488b442408", "6567488b842448580000", -1); /* mov rax,[rsp+8] */
	expect("64488b042528000000", "6567488b042568580000", -1); /* fs:0x28 */
	expect("f0480fb111", "6567480fb19140580000", -1); /* lock is gone */
	expect("48031f", "4903da", X86_R10);		  /* add rbx, r10 */
	expect("3a07", "413ac2", X86_R10);		  /* cmp al, r10b */
}
END_TEST

START_TEST(ah_cannot_go_with_rex)
{
	const uint8_t code[] = {0x02, 0x27}; /* add ah, [rdi] */
	uint8_t out[ROOM];
	struct x86_buf b = buffer(out);
	struct x86_insn x;

	ck_assert_int_eq(X86_OK, x86_decode(code, sizeof code, &x));
	ck_assert_int_eq(-1, x86_put_register(&b, code, &x, X86_R10));
	ck_assert_int_eq(-1, x86_put_register(&b, code, &x, X86_RSI));
	ck_assert_int_eq(0, x86_put_register(&b, code, &x, X86_RDX));
}
END_TEST

Suite *x86_rewrite_suite(void);
Suite *x86_rewrite_suite(void)
{
	Suite *s = suite_create("x86_rewrite");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, nothing_else_changes);
	tcase_add_test(t, some_by_hand);
	tcase_add_test(t, ah_cannot_go_with_rex);
	suite_add_tcase(s, t);
	return s;
}
