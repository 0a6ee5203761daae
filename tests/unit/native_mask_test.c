/* tests/unit/native_mask_test.c - masks and handlers are what the program
 * has asked for; signals that come in the middle of a probe come behind it. */
#include "native_program.h"

#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

/* -- Masks -- */

START_TEST(blocked_signals_of_ours_are_only_believed_to_be)
{
	struct run *r = run_new(100, &program_probe[0]);
	uint64_t ours = native_home()->ours;

	program_begin();
	ours = native_home()->ours;
	program_put_all();
	program_set_action(SIGTRAP, program_see, 0);
	ck_assert_uint_eq(0, program_mask(SIG_SETMASK, ~0ull) & ours);
	expect_sum(r->n, program_trap(r->n, r->done));
	expect_each(r->done, r->fired, r->n);
	ck_assert_uint_eq(~(BIT(SIGKILL) | BIT(SIGSTOP)),
			  program_mask(SIG_BLOCK, 0) | ours);
	ck_assert_uint_eq(ours, program_mask(SIG_BLOCK, 0) & ours);
	program_send(SIGTRAP);
	program_send(SIGTRAP);
	ck_assert_uint_eq(0, seen.n);
	program_mask(SIG_UNBLOCK, BIT(SIGUSR1));
	ck_assert_uint_eq(0, seen.n);
	program_mask(SIG_UNBLOCK, BIT(SIGTRAP));
	ck_assert_uint_eq(1, seen.n);
	ck_assert_int_eq(SI_TKILL, seen.code);
	ck_assert_uint_eq(ours & ~BIT(SIGTRAP),
			  program_mask(SIG_BLOCK, 0) & ours);
	ck_assert_uint_eq(0, seen.ours);
	program_send(SIGTRAP);
	ck_assert_uint_eq(2, seen.n);
	program_mask(SIG_SETMASK, 0);
	ck_assert_uint_eq(2, seen.n);
	ck_assert_uint_eq(0, program_mask(SIG_BLOCK, 0));
	run_free(r);
}
END_TEST

START_TEST(bad_arguments_are_the_kernels_to_refuse)
{
	uint64_t set = BIT(SIGTRAP), old = 5;

	program_begin();
	program_put_all();
	ck_assert_int_eq(-EINVAL, program_call(SYS_rt_sigprocmask, 0,
					       (uint64_t)&set, 0, 4, 0));
	ck_assert_int_eq(-EINVAL, program_call(SYS_rt_sigprocmask, 9,
					       (uint64_t)&set, 0, 8, 0));
	ck_assert_int_eq(-EFAULT,
			 program_call(SYS_rt_sigprocmask, 0, 8, 0, 8, 0));
	ck_assert_int_eq(-EFAULT, program_call(SYS_rt_sigprocmask, 0,
					       (uint64_t)&set, 8, 8, 0));
	ck_assert_uint_eq(set, program_mask(SIG_SETMASK, 0));
	ck_assert_int_eq(-EINVAL, program_call(SYS_rt_sigaction, 5, 0,
					       (uint64_t)&old, 4, 0));
	ck_assert_int_eq(-EINVAL, program_call(SYS_rt_sigaction, 65, 0,
					       (uint64_t)&old, 8, 0));
	ck_assert_int_eq(-EINVAL, program_set_action(SIGKILL, program_see, 0));
	ck_assert_int_eq(-EFAULT,
			 program_call(SYS_rt_sigaction, SIGTRAP, 8, 0, 8, 0));
	ck_assert_int_eq(-EFAULT,
			 program_call(SYS_rt_sigaction, SIGTRAP, 0, 8, 8, 0));
	ck_assert_int_eq(-EFAULT,
			 program_call(SYS_rt_sigsuspend, 8, 8, 0, 0, 0));
	ck_assert_int_eq(-EINVAL, program_call(SYS_rt_sigsuspend,
					       (uint64_t)&set, 4, 0, 0, 0));
}
END_TEST

START_TEST(actions_are_told_as_they_were_asked_for)
{
	struct program_action a;

	program_begin();
	program_put_all();
	program_set_action(SIGUSR2, program_see,
			   SA_RESTART | SA_ONSTACK | 0x400 | 0x10000);
	a = program_get_action(SIGUSR2);
	ck_assert_ptr_eq(program_see, a.handler);
	ck_assert_uint_eq((uint64_t)(SA_RESTART | SA_ONSTACK) | SA_SIGINFO |
			      RESTORER,
			  a.flags);
	ck_assert_ptr_eq(program_restorer, a.restorer);
	program_set_action(SIGSEGV, (void *)1, 0);
	ck_assert_ptr_eq((void *)1, program_get_action(SIGSEGV).handler);
	program_send(SIGSEGV);
	program_set_action(SIGUSR2, NULL, 0);
	ck_assert_ptr_eq(NULL, program_get_action(SIGUSR2).handler);
}
END_TEST

/* -- Handlers -- */

static volatile int depth, deepest, to_send;
static volatile uint64_t stack_seen;

PROGRAM static void nest(int sig, siginfo_t *info, void *context)
{
	int here;

	program_see(sig, info, context);
	stack_seen = (uint64_t)&here;
	if (++depth > deepest)
		deepest = depth;
	if (to_send-- > 0)
		program_send(sig);
	depth--;
}

START_TEST(flags_of_handlers_mean_what_they_mean)
{
	static uint8_t stack[65536];
	stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};

	program_begin();
	program_put_all();
	program_set_action(SIGUSR1, nest, SA_NODEFER);
	to_send = 2;
	program_send(SIGUSR1);
	ck_assert_int_eq(3, deepest);
	deepest = 0;
	to_send = 2;
	program_set_action(SIGUSR1, nest, 0);
	program_send(SIGUSR1); /* one after the other */
	ck_assert_int_eq(1, deepest);
	ck_assert_uint_eq(6, seen.n);
	ck_assert_int_eq(0, sigaltstack(&s, NULL));
	program_send(SIGUSR1);
	ck_assert(stack_seen - (uint64_t)stack >= sizeof stack);
	program_set_action(SIGUSR1, nest, SA_ONSTACK);
	program_send(SIGUSR1);
	ck_assert(stack_seen - (uint64_t)stack < sizeof stack);
	ck_assert_uint_eq(0, seen.ours);
}
END_TEST

/* SIGTRAP itself is blocked while its handler runs. */
START_TEST(what_a_handler_blocks_comes_behind_it)
{
	struct run *r = run_new(100, &program_probe[1]);

	program_begin();
	program_put_all();
	program_set_action(SIGTRAP, nest, 0);
	to_send = 2;
	program_send(SIGTRAP);
	ck_assert_uint_eq(3, seen.n); /* as each handler returns: M4 */
	expect_sum(r->n, program_jump(r->n, r->done));
	expect_each(r->done, r->fired, r->n);
	ck_assert_uint_eq(3, seen.n);
	ck_assert_int_eq(1, deepest);
	ck_assert_uint_eq(0, program_mask(SIG_BLOCK, 0));
	to_send = 1;
	program_send(SIGTRAP);
	ck_assert_uint_eq(5, seen.n);
	program_mask(SIG_BLOCK, 0);
	ck_assert_uint_eq(5, seen.n);
	/* And if it is blocked all the same, it waits on. */
	program_mask(SIG_BLOCK, BIT(SIGTRAP));
	program_send(SIGTRAP);
	expect_sum(r->n, program_jump(r->n, r->done));
	ck_assert_uint_eq(5, seen.n);
	to_send = 0;
	program_mask(SIG_UNBLOCK, BIT(SIGTRAP));
	ck_assert_uint_eq(6, seen.n);
	ck_assert_uint_eq(0, seen.ours);
	run_free(r);
}
END_TEST

static uint64_t blocked_seen, frame_mask_at, frame_blocked;
static int frames_seen;

/* What hark would find, if it left now. */
PROGRAM static void look_from_outside(int sig, siginfo_t *info, void *context)
{
	const struct collect_area *a = &stand_in_areas[0];
	uint64_t here = (uint64_t)__builtin_frame_address(0) - 128, at, set;

	program_see(sig, info, context);
	blocked_seen = native_blocked(a, here);
	frames_seen = 0;
	while (native_blocked_by_frame(a, here, (unsigned)frames_seen, &at,
				       &set)) {
		frame_mask_at = at;
		frame_blocked = set;
		frames_seen++;
	}
	frame_mask_at -= (uint64_t) & ((ucontext_t *)context)->uc_sigmask;
}

START_TEST(hark_can_tell_what_handlers_return_to)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);

	program_begin();
	program_put_all();
	program_mask(SIG_BLOCK, BIT(SIGILL));
	program_set_action(SIGTRAP, look_from_outside, 0);
	program_send(SIGTRAP);
	ck_assert_uint_eq(1, seen.n);
	ck_assert_uint_eq(BIT(SIGILL) | BIT(SIGTRAP), blocked_seen);
	ck_assert_int_eq(1, frames_seen);
	ck_assert_uint_eq(0, frame_mask_at);
	ck_assert_uint_eq(BIT(SIGILL), frame_blocked);
	/* It is not there any longer, though nobody has noticed. */
	ck_assert_uint_eq(BIT(SIGILL),
			  native_blocked(&stand_in_areas[0], here));
}
END_TEST

PROGRAM static void block_in_frame(int sig, siginfo_t *info, void *context)
{
	uint64_t set = BIT(SIGUSR2);

	program_see(sig, info, context);
	memcpy(&((ucontext_t *)context)->uc_sigmask, &set, 8);
}

START_TEST(a_handler_may_change_where_it_returns_to)
{
	program_begin();
	program_put_all();
	program_set_action(SIGUSR1, block_in_frame, 0);
	program_send(SIGUSR1);
	ck_assert_uint_eq(BIT(SIGUSR2), program_mask(SIG_SETMASK, 0));
	program_set_action(SIGTRAP, program_skip_ud2, 0);
	program_put(program_load_at, 3, AS_TRAP);
	program_set_action(SIGSEGV, program_skip_load, 0);
	ck_assert_uint_eq(5, program_load(NULL));
}
END_TEST

/* -- Deferred signals -- */

START_TEST(a_signal_in_the_middle_of_a_probe_comes_behind_it)
{
	uint32_t done[8] = {0};

	program_begin();
	program_put_all();
	program_set_action(SIGUSR1, program_see, 0);
	program_set_action(SIGTRAP, program_see, 0);
	program_probe[1].sends = BIT(SIGUSR1);
	expect_sum(8, program_jump(8, done));
	ck_assert_uint_eq(8, seen.n);
	ck_assert_uint_eq((uint64_t)program_jump_at, seen.rip);
	ck_assert_int_eq(SI_TKILL, seen.code);
	ck_assert_uint_eq(0, seen.mask);
	ck_assert_uint_eq(0, seen.ours);
	ck_assert_uint_eq(8, program_probe[1].hits);
	program_probe[0].sends = BIT(SIGUSR1) | BIT(SIGTRAP) | BIT(SIGUSR2);
	program_set_action(SIGUSR2, program_see, 0);
	expect_sum(8, program_trap(8, done));
	ck_assert_uint_eq(8 + 24, seen.n);
	ck_assert_uint_eq(8, program_probe[0].hits);
	ck_assert_uint_eq(0, seen.ours);
	ck_assert_uint_eq(0, program_mask(SIG_BLOCK, 0));
	for (int i = 0; i < 8; i++)
		ck_assert_uint_eq(2, done[i]);
}
END_TEST

/* -- Waiting with a mask -- */

START_TEST(a_wait_ends_by_what_its_mask_lets_through)
{
	uint64_t set = 0, all_but = ~BIT(SIGUSR1);
	struct timespec now = {0, 0}, soon = {0, 20000000};

	program_begin();
	program_put_all();
	program_set_action(SIGUSR1, program_see, 0);
	program_set_action(SIGTRAP, program_see, 0);
	program_mask(SIG_SETMASK, BIT(SIGUSR1) | BIT(SIGTRAP));
	program_send(SIGUSR1);
	ck_assert_int_eq(-EINTR, program_call(SYS_rt_sigsuspend, (uint64_t)&set,
					      8, 0, 0, 0));
	ck_assert_uint_eq(1, seen.n);
	ck_assert_uint_eq(BIT(SIGUSR1), seen.mask);
	ck_assert_uint_eq(BIT(SIGUSR1) | BIT(SIGTRAP),
			  program_mask(SIG_BLOCK, 0));
	program_send(SIGTRAP);
	ck_assert_uint_eq(1, seen.n);
	ck_assert_int_eq(0, program_call(SYS_ppoll, 0, 0, (uint64_t)&now,
					 (uint64_t)&all_but, 8));
	ck_assert_uint_eq(1, seen.n);
	ck_assert_int_eq(-EINTR, program_call(SYS_rt_sigsuspend, (uint64_t)&set,
					      8, 0, 0, 0));
	ck_assert_uint_eq(2, seen.n);
	ck_assert_int_eq(SIGTRAP, seen.sig);
	ck_assert_int_eq(0, program_call(SYS_ppoll, 0, 0, (uint64_t)&soon,
					 (uint64_t)&all_but, 8));
	program_send(SIGUSR1);
	soon.tv_nsec = 900000000;
	ck_assert_int_eq(-EINTR, program_call(SYS_ppoll, 0, 0, (uint64_t)&soon,
					      (uint64_t)&all_but, 8));
	ck_assert_uint_eq(3, seen.n);
	ck_assert_uint_eq(BIT(SIGUSR1), seen.mask);
	ck_assert_uint_eq(BIT(SIGUSR1) | BIT(SIGTRAP),
			  program_mask(SIG_BLOCK, 0));
	ck_assert_uint_eq(0, seen.ours);
}
END_TEST

Suite *native_mask_suite(void)
{
	Suite *s = suite_create("native_mask");
	TCase *t = tcase_create("mask");

	tcase_add_test(t, blocked_signals_of_ours_are_only_believed_to_be);
	tcase_add_test(t, bad_arguments_are_the_kernels_to_refuse);
	tcase_add_test(t, actions_are_told_as_they_were_asked_for);
	tcase_add_test(t, flags_of_handlers_mean_what_they_mean);
	tcase_add_test(t, what_a_handler_blocks_comes_behind_it);
	tcase_add_test(t, hark_can_tell_what_handlers_return_to);
	tcase_add_test(t, a_handler_may_change_where_it_returns_to);
	tcase_add_test(t, a_signal_in_the_middle_of_a_probe_comes_behind_it);
	tcase_add_test(t, a_wait_ends_by_what_its_mask_lets_through);
	suite_add_tcase(s, t);
	return s;
}
