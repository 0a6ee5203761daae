/* tests/unit/x86_access_test.c - memory operands, the hidden ones too. */
#include "x86/access.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static uint8_t bytes[64];
static struct x86_insn insn;
static struct x86_access access_of[X86_ACCESS_MAX];

static unsigned accesses(const char *hex)
{
	unsigned n = 0;

	memset(bytes, 0, sizeof bytes);
	for (; *hex; hex += 2) {
		char pair[3] = {hex[0], hex[1], 0};

		bytes[n++] = (uint8_t)strtoul(pair, NULL, 16);
	}
	ck_assert_int_eq(X86_OK, x86_decode(bytes, sizeof bytes, &insn));
	ck_assert_uint_eq(n, insn.len);
	return x86_accesses(bytes, &insn, access_of);
}

static void expect(unsigned k, unsigned access, unsigned base, int64_t disp,
		   unsigned size)
{
	ck_assert_uint_eq(access, access_of[k].access);
	ck_assert_uint_eq(base, access_of[k].base);
	ck_assert_int_eq(disp, access_of[k].disp);
	ck_assert_uint_eq(size, access_of[k].size);
}

START_TEST(explicit_operands)
{
	ck_assert_uint_eq(1, accesses("488b448b08"));
	expect(0, X86_M_READ, X86_RBX, 8, 8);
	ck_assert_uint_eq(X86_RCX, access_of[0].index);
	ck_assert_uint_eq(2, access_of[0].scale);
	ck_assert_uint_eq(1, accesses("014424f8"));
	expect(0, X86_M_READ | X86_M_WRITE, X86_RSP, -8, 4);
	ck_assert_uint_eq(1, accesses("8b0500010000"));
	expect(0, X86_M_READ, X86_RIP, 0x100, 4);
}
END_TEST

START_TEST(addresses_that_are_only_formed)
{
	ck_assert_uint_eq(0, accesses("488d448b08")); /* lea */
	ck_assert_uint_eq(0, accesses("0f1f4000"));   /* nop */
	ck_assert_uint_eq(0, accesses("0f1808"));     /* prefetcht0 */
	ck_assert_uint_eq(0, accesses("0f0d17"));     /* prefetchwt1 */
	ck_assert_uint_eq(0, accesses("0fae38"));     /* clflush */
}
END_TEST

START_TEST(pushes_write_below_the_stack_pointer)
{
	ck_assert_uint_eq(1, accesses("50"));
	expect(0, X86_M_WRITE, X86_RSP, -8, 8);
	ck_assert_uint_eq(1, accesses("6650"));
	expect(0, X86_M_WRITE, X86_RSP, -2, 2);
	ck_assert_uint_eq(2, accesses("ff742408"));
	expect(0, X86_M_READ, X86_RSP, 8, 8);
	expect(1, X86_M_WRITE, X86_RSP, -8, 8);
	ck_assert_uint_eq(1, accesses("e800000000"));
	expect(0, X86_M_WRITE, X86_RSP, -8, 8);
	ck_assert_uint_eq(1, accesses("58"));
	expect(0, X86_M_READ, X86_RSP, 0, 8);
	ck_assert_uint_eq(1, accesses("c9"));
	expect(0, X86_M_READ, X86_RBP, 0, 8);
}
END_TEST

/* "pop 8(%rsp)" means 8 above where rsp then is. */
START_TEST(pop_forms_its_address_late)
{
	ck_assert_uint_eq(2, accesses("8f442408"));
	expect(0, X86_M_WRITE, X86_RSP, 16, 8);
	expect(1, X86_M_READ, X86_RSP, 0, 8);
	ck_assert_uint_eq(2, accesses("668f442408"));
	expect(0, X86_M_WRITE, X86_RSP, 10, 2);
	ck_assert_uint_eq(2, accesses("8f4308"));
	expect(0, X86_M_WRITE, X86_RBX, 8, 8);
}
END_TEST

START_TEST(enter_copies_frame_pointers)
{
	ck_assert_uint_eq(1, accesses("c8100000"));
	expect(0, X86_M_WRITE, X86_RSP, -8, 8);
	ck_assert_uint_eq(1, accesses("c8100001"));
	expect(0, X86_M_WRITE, X86_RSP, -16, 16);
	ck_assert_uint_eq(2, accesses("c8100003"));
	expect(0, X86_M_WRITE, X86_RSP, -32, 32);
	expect(1, X86_M_READ, X86_RBP, -16, 16);
	ck_assert_uint_eq(1, accesses("c8100020")); /* modulo 32 */
	expect(0, X86_M_WRITE, X86_RSP, -8, 8);
}
END_TEST

START_TEST(string_instructions_and_segments)
{
	ck_assert_uint_eq(2, accesses("64a4"));
	expect(0, X86_M_WRITE, X86_RDI, 0, 1);
	expect(1, X86_M_READ, X86_RSI, 0, 1);
	ck_assert_uint_eq(0, access_of[0].seg);
	ck_assert_uint_eq(0x64, access_of[1].seg);
	ck_assert_uint_eq(0, access_of[0].may);
	ck_assert_uint_eq(2, accesses("f348a5"));
	ck_assert_uint_eq(1, access_of[0].may);
	ck_assert_uint_eq(8, access_of[0].size);
	ck_assert_uint_eq(2, accesses("67a5"));
	ck_assert_uint_eq(1, access_of[0].addr32);
	/* maskmovdqu takes it, the stack does not */
	ck_assert_uint_eq(1, accesses("64660ff7c1"));
	ck_assert_uint_eq(0x64, access_of[0].seg);
	ck_assert_uint_eq(1, accesses("6450"));
	ck_assert_uint_eq(0, access_of[0].seg);
}
END_TEST

START_TEST(exceptions_have_names)
{
	ck_assert_uint_eq(1, accesses("64d7"));
	ck_assert_uint_eq(X86_AT_XLAT, access_of[0].where);
	ck_assert_uint_eq(0x64, access_of[0].seg);
	ck_assert_uint_eq(1, accesses("0fab08"));
	ck_assert_uint_eq(X86_AT_BIT, access_of[0].where);
	ck_assert_uint_eq(1, accesses("c4e26990043b"));
	ck_assert_uint_eq(X86_AT_VSIB, access_of[0].where);
	ck_assert_uint_eq(7, access_of[0].index);
	ck_assert_uint_eq(1, accesses("0fae20"));
	ck_assert_uint_eq(X86_AT_STATE, access_of[0].where);
	ck_assert_uint_eq(1, accesses("0fae00")); /* fxsave: 512, with holes */
	ck_assert_uint_eq(X86_AT_PLAIN, access_of[0].where);
	ck_assert_uint_eq(512, access_of[0].size);
	ck_assert_uint_eq(1, access_of[0].may);
	ck_assert_uint_eq(1, accesses("0f01fc"));
	ck_assert_uint_eq(X86_AT_LINE, access_of[0].where);
	expect(0, X86_M_WRITE, X86_RAX, 0, 64);
	ck_assert_uint_eq(1, accesses("c4e27b4b0408"));
	ck_assert_uint_eq(X86_AT_TILE, access_of[0].where);
}
END_TEST

START_TEST(movdir64b_has_a_second_address)
{
	ck_assert_uint_eq(2, accesses("660f38f80b"));
	expect(0, X86_M_READ, X86_RBX, 0, 64);
	expect(1, X86_M_WRITE, X86_RCX, 0, 64);
}
END_TEST

START_TEST(masked_accesses_are_conditional)
{
	ck_assert_uint_eq(1, accesses("62f17c492800")); /* {k1} */
	ck_assert_uint_eq(1, access_of[0].may);
	ck_assert_uint_eq(1, accesses("62f17c482800"));
	ck_assert_uint_eq(0, access_of[0].may);
	ck_assert_uint_eq(1, accesses("c4e2752c00")); /* vmaskmovps */
	ck_assert_uint_eq(1, access_of[0].may);
}
END_TEST

START_TEST(bits_lie_far_from_their_operand)
{
	accesses("0fab08"); /* bts %ecx,(%rax) */
	ck_assert_int_eq(0, x86_bit_disp(&insn, 31));
	ck_assert_int_eq(4, x86_bit_disp(&insn, 32));
	ck_assert_int_eq(-4, x86_bit_disp(&insn, (uint64_t)-1));
	ck_assert_int_eq(-4, x86_bit_disp(&insn, 0x1ffffffff)); /* 32 bits */
	accesses("480fab08");
	ck_assert_int_eq(-8, x86_bit_disp(&insn, (uint64_t)-64));
	accesses("660fab08");
	ck_assert_int_eq(2, x86_bit_disp(&insn, 0xffff0010));
}
END_TEST

Suite *x86_access_suite(void)
{
	Suite *s = suite_create("x86_access");
	TCase *t = tcase_create("access");

	tcase_add_test(t, explicit_operands);
	tcase_add_test(t, addresses_that_are_only_formed);
	tcase_add_test(t, pushes_write_below_the_stack_pointer);
	tcase_add_test(t, pop_forms_its_address_late);
	tcase_add_test(t, enter_copies_frame_pointers);
	tcase_add_test(t, string_instructions_and_segments);
	tcase_add_test(t, exceptions_have_names);
	tcase_add_test(t, movdir64b_has_a_second_address);
	tcase_add_test(t, masked_accesses_are_conditional);
	tcase_add_test(t, bits_lie_far_from_their_operand);
	suite_add_tcase(s, t);
	return s;
}
