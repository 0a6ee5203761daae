/* tests/unit/probe_above_test.c - rbp minus rsp, by code. */
#include "probe/above.h"

#include <check.h>
#include <string.h>

/* clang-format off */
#define PUSH_RBX  0x53
#define POP_RBX   0x5b
#define SUB(n)    0x48, 0x83, 0xec, (n)
#define ADD(n)    0x48, 0x83, 0xc4, (n)
#define SUB_L(n)  0x48, 0x81, 0xec, (n) & 0xff, (n) >> 8, 0, 0
#define LEA(n)    0x48, 0x8d, 0x65, (uint8_t)-(n) /* -n(%rbp), %rsp */
#define BY_RAX    0x48, 0x29, 0xc4		  /* sub %rax, %rsp */
#define ALIGN     0x48, 0x83, 0xe4, 0xe0	  /* and $-32, %rsp */
#define CALL      0xe8, 0, 0, 0, 0
#define JMP(n)    0xeb, (uint8_t)(n)
#define JNE(n)    0x75, (uint8_t)(n)
#define JMP_RAX   0xff, 0xe0
#define LEAVE     0xc9
#define RET       0xc3
#define NOP       0x90

static const struct {
	const char *what;
	int32_t at_start, above; /* -1: nobody knows */
	uint32_t where, len;
	uint8_t code[40];
} cases[] = {
	{"at once", 0, 0, 0, 2, {NOP, RET}},
	{"a frame", 0, 0x20, 9, 10, {SUB(0x20), CALL, RET}},
	{"a large one", 0, 0x1230, 12, 13, {SUB_L(0x1230), CALL, RET}},
	{"something is pushed before", 24, 0x38, 9, 10, {SUB(0x20), CALL, RET}},
	{"registers are saved", 0, 0x18, 10, 11, {PUSH_RBX, SUB(0x10), CALL, RET}},
	{"an argument is pushed", 0, 0x28, 10, 16,
	 {SUB(0x20), PUSH_RBX, CALL, ADD(8), LEAVE, RET}},
	{"and is gone again", 0, 0x20, 19, 21,
	 {SUB(0x20), PUSH_RBX, CALL, ADD(8), CALL, LEAVE, RET}},
	{"pop", 0, 0x20, 6, 7, {SUB(0x20), PUSH_RBX, POP_RBX, RET}},
	{"by rbp", 0, 0x10, 8, 9, {SUB(0x20), LEA(0x10), RET}},
	{"what is not known stays so", 0, -1, 7, 8, {BY_RAX, LEA(0x10), RET}},
	{"behind a return in the middle", 0, 0x20, 8, 9,
	 {SUB(0x20), JNE(2), LEAVE, RET, NOP}},
	{"a loop, entered at its end", 0, 0x10, 6, 14,
	 {SUB(0x10), JMP(5), CALL, JNE(-7), LEAVE, RET}},
	{"alloca", 0, -1, 8, 9, {BY_RAX, CALL, RET}},
	{"alloca on one of two ways", 0, -1, 9, 10,
	 {SUB(0x10), JNE(3), BY_RAX, NOP}},
	{"a frame that is aligned", 0, -1, 9, 10, {ALIGN, CALL, RET}},
	{"ways that differ", 0, -1, 7, 8, {SUB(0x10), JNE(1), PUSH_RBX, NOP}},
	{"a loop that pushes", 0, -1, 3, 4, {PUSH_RBX, JNE(-3), NOP}},
	{"by a table", 0, 0x10, 8, 12,
	 {SUB(0x10), JMP_RAX, JMP(3), NOP, NOP, NOP, LEAVE}},
	{"behind a jump, and no table", 0, -1, 6, 9,
	 {SUB(0x10), JMP(2), NOP, NOP, LEAVE}},
	{"the next function", 0, -1, 6, 8, {SUB(0x10), LEAVE, RET, NOP, RET}},
	{"in the middle of an instruction", 0, -1, 2, 5, {SUB(0x10), RET}},
	{"beyond the end", 0, -1, 9, 5, {SUB(0x10), RET}},
	{"no code", 0, -1, 3, 4, {0x06, 0x06, 0x06, NOP}},
};
/* clang-format on */

START_TEST(rbp_is_so_far_above_rsp)
{
	int32_t work[sizeof cases[0].code], above = 77;
	bool is_known =
	    above_find(cases[_i].code, cases[_i].len, cases[_i].at_start,
		       cases[_i].where, work, &above);

	ck_assert_msg(is_known == (cases[_i].above != -1), "%s",
		      cases[_i].what);
	ck_assert_msg(above == (is_known ? cases[_i].above : 77), "%s: %d",
		      cases[_i].what, (int)above);
}
END_TEST

/* Whatever the bytes are: no step beyond them, and an end. */
START_TEST(any_bytes_have_an_end)
{
	uint8_t code[512];
	int32_t work[512], above;
	uint32_t seed = 1;

	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < sizeof code; i++) {
			seed = seed * 1664525 + 1013904223;
			code[i] = (uint8_t)(seed >> 24);
			/* mostly jumps and pushes */
			if ((seed >> 20 & 3) == 0)
				code[i] = 0x75;
			else if ((seed >> 20 & 3) == 1)
				code[i] = 0x53;
		}
		above_find(code, sizeof code, 0, seed % sizeof code, work,
			   &above);
	}
}
END_TEST

Suite *probe_above_suite(void)
{
	Suite *s = suite_create("probe/above");
	TCase *t = tcase_create("all");

	suite_add_tcase(s, t);
	tcase_add_loop_test(t, rbp_is_so_far_above_rsp, 0,
			    sizeof cases / sizeof cases[0]);
	tcase_add_test(t, any_bytes_have_an_end);
	return s;
}
