/* tests/unit/outside_rules_test.c - R1..R4 of outside/rules.h. */
#include "outside/rules.h"

#include <check.h>
#include <errno.h>
#include <sys/syscall.h>

static struct user_regs_struct in_call(long nr, long error)
{
	return (struct user_regs_struct){
	    .orig_rax = (unsigned long long)nr,
	    .rax = (unsigned long long)-error,
	    .rip = 0x1000,
	};
}

START_TEST(rules_give_the_kernel_what_the_stop_showed)
{
	static const int codes[] = {512, 513, 514, 516};

	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		struct user_regs_struct r = in_call(SYS_futex, codes[i]),
					was = r;

		ck_assert_int_eq(rules_kernel(&r), 0); /* R1 */
		ck_assert_mem_eq(&r, &was, sizeof r);
		ck_assert_int_eq(rules_in_call(&r), 1);
	}
}
END_TEST

START_TEST(rules_turn_the_eintr_of_a_mere_stop_into_a_restart)
{
	struct user_regs_struct r = in_call(SYS_epoll_wait, EINTR);

	ck_assert_int_eq(rules_kernel(&r), 1); /* R3 */
	ck_assert_int_eq((long)r.rax, -RULES_ERESTARTNOHAND);
	ck_assert_uint_eq(r.orig_rax, SYS_epoll_wait);
}
END_TEST

START_TEST(rules_leave_a_real_eintr_alone)
{
	struct user_regs_struct closed = in_call(SYS_close, EINTR),
				was = closed;
	struct user_regs_struct handled = in_call(-1, EINTR); /* sigreturn */

	ck_assert_int_eq(rules_kernel(&closed), 0);
	ck_assert_mem_eq(&closed, &was, sizeof was);
	ck_assert_int_eq(rules_in_call(&closed), 0);
	ck_assert_int_eq(rules_kernel(&handled), 0);
	ck_assert_int_eq(rules_in_call(&handled), 0);
}
END_TEST

START_TEST(rules_by_hand_rewinds_to_the_instruction)
{
	struct user_regs_struct plain = in_call(SYS_read, 512);
	struct user_regs_struct block = in_call(SYS_nanosleep, 516);
	struct user_regs_struct none = in_call(-1, 512);

	rules_by_hand(&plain); /* R2 */
	ck_assert_uint_eq(plain.rax, SYS_read);
	ck_assert_uint_eq(plain.rip, 0xffe);
	ck_assert_int_eq((long)plain.orig_rax, -1);
	rules_by_hand(&block);
	ck_assert_uint_eq(block.rax, SYS_restart_syscall);
	ck_assert_uint_eq(block.rip, 0xffe);
	rules_by_hand(&none);
	ck_assert_int_eq((long)none.rax, -512);
	ck_assert_uint_eq(none.rip, 0x1000);
}
END_TEST

START_TEST(rules_abort_a_restartable_sequence_from_inside_only)
{
	const struct rules_rseq_cs cs = {
	    .start = 0x1000, .len = 0x10, .abort = 0x2000};
	struct user_regs_struct r = {.rip = 0x1000};

	ck_assert_int_eq(rules_rseq(&r, &cs), 1); /* R4 */
	ck_assert_uint_eq(r.rip, 0x2000);
	r.rip = 0x1010; /* just behind its commit */
	ck_assert_int_eq(rules_rseq(&r, &cs), 0);
	ck_assert_uint_eq(r.rip, 0x1010);
	r.rip = 0xfff;
	ck_assert_int_eq(rules_rseq(&r, &cs), 0);
}
END_TEST

Suite *outside_rules_suite(void)
{
	Suite *s = suite_create("outside_rules");
	TCase *t = tcase_create("rules");

	tcase_add_test(t, rules_give_the_kernel_what_the_stop_showed);
	tcase_add_test(t, rules_turn_the_eintr_of_a_mere_stop_into_a_restart);
	tcase_add_test(t, rules_leave_a_real_eintr_alone);
	tcase_add_test(t, rules_by_hand_rewinds_to_the_instruction);
	tcase_add_test(t, rules_abort_a_restartable_sequence_from_inside_only);
	suite_add_tcase(s, t);
	return s;
}
