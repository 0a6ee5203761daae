/* tests/unit/engine_join_test.c - calls that are to be made again: J4. */
#include "engine/join.h"

#include <check.h>
#include <string.h>

enum { RAX, RCX, R11 = 11, PC = 0x1000, NR = 35, SYSCALL = 2 };

/* A thread at a call that is to be made again, and a handler. */
static struct vcpu at_call(uint32_t why)
{
	struct vcpu v = {.restart = why, .pc = PC, .rflags = 0x246};

	v.gpr[RAX] = NR;
	return v;
}

static int is_over(const struct vcpu *v)
{
	ck_assert_uint_eq(v->restart, 0);
	if (v->pc == PC) {
		ck_assert_uint_eq(v->gpr[RAX], NR);
		return 0;
	}
	ck_assert_uint_eq(v->pc, PC + SYSCALL);
	ck_assert_int_eq((int64_t)v->gpr[RAX], -4);
	ck_assert_uint_eq(v->gpr[RCX], PC + SYSCALL);
	ck_assert_uint_eq(v->gpr[R11], 0x246);
	return 1;
}

/* As signal(7) and the kernel have it. */
START_TEST(join_a_handler_ends_a_call_as_it_does_natively)
{
	static const struct {
		uint32_t why;
		uint64_t flags;
		int over;
	} rows[] = {
	    {0, 0, 0},
	    {0, ACT_RESTART, 0},
	    {512, 0, 1},
	    {513, 0, 0},
	    {512, ACT_RESTART, 0},
	    {513, ACT_RESTART, 0},
	    {514, 0, 1},
	    {514, ACT_RESTART, 1},
	    {516, 0, 1},
	    {516, ACT_RESTART, 1},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct vcpu v = at_call(rows[i].why);
		struct sig_action act = {.flags = rows[i].flags};

		join_interrupt(&v, &act);
		ck_assert_int_eq(is_over(&v), rows[i].over);
	}
}
END_TEST

START_TEST(join_a_call_is_ended_once)
{
	struct vcpu v = at_call(514);
	struct sig_action act = {0};

	join_interrupt(&v, &act);
	v.pc = PC;
	v.gpr[RAX] = NR;
	join_interrupt(&v, &act);
	ck_assert_int_eq(is_over(&v), 0);
}
END_TEST

Suite *engine_join_suite(void);
Suite *engine_join_suite(void)
{
	Suite *s = suite_create("engine_join");
	TCase *t = tcase_create("calls");

	tcase_add_test(t, join_a_handler_ends_a_call_as_it_does_natively);
	tcase_add_test(t, join_a_call_is_ended_once);
	suite_add_tcase(s, t);
	return s;
}
