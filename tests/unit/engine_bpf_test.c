/* tests/unit/engine_bpf_test.c - filters: what is accepted, and what they
 * answer.
 *
 * The kernel is the oracle of the check: random programs are offered to both.
 */
#include "engine/bpf.h"

#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *engine_bpf_suite(void);

static const struct bpf_data data = {
    .nr = 39,
    .arch = 0xc000003e,
    .ip = 0x123456789abc,
    .args = {1, 2, 0xfedcba9876543210, 4, 5, 6},
};

START_TEST(a_program_must_end_with_a_return)
{
	const struct bpf_insn none[] = {{0x00, 0, 0, 7}};
	const struct bpf_insn one[] = {{0x06, 0, 0, 7}};

	ck_assert_int_eq(bpf_check(none, 1), -1);
	ck_assert_int_eq(bpf_check(one, 1), 0);
	ck_assert_int_eq(bpf_check(one, 0), -1);
	ck_assert_uint_eq(bpf_run(one, &data), 7);
}
END_TEST

START_TEST(jumps_stay_inside)
{
	const struct bpf_insn good[] = {
	    {0x15, 1, 0, 0}, {6, 0, 0, 1}, {6, 0, 0, 2}};
	const struct bpf_insn bad[] = {
	    {0x15, 2, 0, 0}, {6, 0, 0, 1}, {6, 0, 0, 2}};
	const struct bpf_insn far[] = {{0x05, 0, 0, 0xffffffff}, {6, 0, 0, 1}};

	ck_assert_int_eq(bpf_check(good, 3), 0);
	ck_assert_uint_eq(bpf_run(good, &data), 2);
	ck_assert_int_eq(bpf_check(bad, 3), -1);
	ck_assert_int_eq(bpf_check(far, 2), -1);
}
END_TEST

START_TEST(loads_see_the_call)
{
	/* the low and the high half of the third argument, added */
	const struct bpf_insn sum[] = {{0x20, 0, 0, 32}, {0x02, 0, 0, 3},
				       {0x20, 0, 0, 36}, {0x61, 0, 0, 3},
				       {0x0c, 0, 0, 0},	 {0x16, 0, 0, 0}};
	const struct bpf_insn odd[] = {{0x20, 0, 0, 34}, {6, 0, 0, 0}};
	const struct bpf_insn behind[] = {{0x20, 0, 0, 64}, {6, 0, 0, 0}};

	ck_assert_int_eq(bpf_check(sum, 6), 0);
	ck_assert_uint_eq(bpf_run(sum, &data), 0x76543210u + 0xfedcba98u);
	ck_assert_int_eq(bpf_check(odd, 2), -1);
	ck_assert_int_eq(bpf_check(behind, 2), -1);
}
END_TEST

START_TEST(arithmetic_is_32_bits_wide)
{
	static const struct {
		uint16_t code;
		uint32_t a, k, result;
	} cases[] = {
	    {0x04, 0xffffffff, 2, 1},
	    {0x14, 1, 2, 0xffffffff},
	    {0x24, 0x10000, 0x10001, 0x10000},
	    {0x34, 7, 2, 3},
	    {0x44, 5, 2, 7},
	    {0x54, 7, 2, 2},
	    {0x64, 3, 31, 0x80000000},
	    {0x74, 0x80000000, 31, 1},
	    {0x84, 1, 0, 0xffffffff},
	    {0xa4, 5, 1, 4},
	};

	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct bpf_insn p[] = {{0x00, 0, 0, cases[i].a},
					     {cases[i].code, 0, 0, cases[i].k},
					     {0x16, 0, 0, 0}};

		ck_assert_int_eq(bpf_check(p, 3), 0);
		ck_assert_uint_eq(bpf_run(p, &data), cases[i].result);
	}
}
END_TEST

START_TEST(division_by_zero_answers_zero)
{
	const struct bpf_insn by_k[] = {{0x34, 0, 0, 0}, {6, 0, 0, 0}};
	const struct bpf_insn by_x[] = {
	    {0x00, 0, 0, 9}, {0x3c, 0, 0, 0}, {0x16, 0, 0, 0}};

	ck_assert_int_eq(bpf_check(by_k, 2), -1);
	ck_assert_int_eq(bpf_check(by_x, 3), 0);
	ck_assert_uint_eq(bpf_run(by_x, &data), 0);
}
END_TEST

/* -- The kernel's word -- */

static struct bpf_insn random_insn(unsigned left)
{
	static const uint16_t codes[] = {
	    0x20, 0x00, 0x01, 0x60, 0x61, 0x80, 0x81, 0x02, 0x03, 0x04,
	    0x0c, 0x34, 0x3c, 0x64, 0x6c, 0x74, 0x84, 0x8c, 0x94, 0xa4,
	    0x05, 0x0d, 0x15, 0x1d, 0x25, 0x35, 0x45, 0x06, 0x16, 0x0e,
	    0x07, 0x87, 0x28, 0x30, 0x40, 0xb1, 0x55, 0x22, 0x106};
	struct bpf_insn i = {
	    .code = codes[(unsigned)random() % (sizeof codes / 2)],
	    .jt = (uint8_t)((unsigned)random() % (left + 2)),
	    .jf = (uint8_t)((unsigned)random() % (left + 2)),
	};

	i.k = (uint32_t)random() % 40;
	if (random() % 4 == 0)
		i.k = 4 * ((uint32_t)random() % 20);
	if ((i.code & 7) == 5 && random() % 4 != 0)
		i.k %= left + 1;
	if (i.code == 0x06)
		i.k = SECCOMP_RET_ALLOW;
	return i;
}

/* 0 or -1, as bpf_check has it. A process is spent on each question. */
static int kernel_check(struct bpf_insn *code, unsigned n)
{
	struct sock_fprog program = {(unsigned short)n, (void *)code};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		long got =
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);

		if (got != 0)
			_exit(errno == EINVAL ? 1 : 2);
		for (;;)
			syscall(SYS_exit_group, 0); /* or it is killed for it */
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(!WIFEXITED(status) || WEXITSTATUS(status) != 2);
	return WIFEXITED(status) && WEXITSTATUS(status) == 1 ? -1 : 0;
}

START_TEST(the_kernel_accepts_the_same_programs)
{
	enum { PROGRAMS = 1500, LONGEST = 8 };
	struct bpf_insn code[LONGEST];
	unsigned accepted = 0;

	srandom(7);
	for (unsigned p = 0; p < PROGRAMS; p++) {
		unsigned n = 1 + (unsigned)random() % (LONGEST - 1);

		for (unsigned i = 0; i < n; i++)
			code[i] = random_insn(n - i - 1);
		if (random() % 8 != 0)
			code[n - 1] = (struct bpf_insn){.code = 0x06,
							.k = SECCOMP_RET_ALLOW};
		ck_assert_msg(bpf_check(code, n) == kernel_check(code, n),
			      "program %u of %u instructions", p, n);
		accepted += bpf_check(code, n) == 0;
	}
	ck_assert_uint_gt(accepted, PROGRAMS / 20);
}
END_TEST

Suite *engine_bpf_suite(void)
{
	Suite *s = suite_create("engine_bpf");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, a_program_must_end_with_a_return);
	tcase_add_test(t, jumps_stay_inside);
	tcase_add_test(t, loads_see_the_call);
	tcase_add_test(t, arithmetic_is_32_bits_wide);
	tcase_add_test(t, division_by_zero_answers_zero);
	tcase_add_test(t, the_kernel_accepts_the_same_programs);
	suite_add_tcase(s, t);
	return s;
}
