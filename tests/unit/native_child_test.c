/* tests/unit/native_child_test.c - what becomes of probes and signals in
 * children, in other programs and in threads that end. */
#include "native_program.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

PROGRAM static void do_child(void)
{
	uint32_t done[8] = {0};

	if (program_trap(8, done) != 28 || program_jump(8, done) != 28)
		_exit(3);
	program_set_action(SIGUSR1, program_see, 0);
	program_probe[1].sends = BIT(SIGUSR1);
	if (program_jump(8, done) != 28 || seen.n != 8 || seen.ours != 0)
		_exit(4);
	program_mask(SIG_BLOCK, BIT(SIGTRAP));
	if (program_mask(SIG_BLOCK, 0) != BIT(SIGTRAP))
		_exit(5);
}

START_TEST(a_child_of_fork_is_a_process_of_its_own)
{
	uint32_t done[8] = {0};

	program_begin();
	program_put_all();
	expect_sum(8, program_trap(8, done));
	ck_assert_int_eq(0, program_end_of(do_child));
	ck_assert_uint_eq(0, program_mask(SIG_BLOCK, 0));
	ck_assert_ptr_eq(NULL, program_get_action(SIGUSR1).handler);
}
END_TEST

PROGRAM static int vfork_child(uint32_t *done)
{
	pid_t pid = vfork();
	int status;

	if (pid == 0) {
		program_mask(SIG_SETMASK, ~0ull);
		program_set_action(SIGTRAP, NULL, 0);
		program_set_action(SIGUSR1, NULL, 0);
		if (program_trap(8, done) != 28)
			_exit(3);
		program_mask(SIG_SETMASK, 0);
		_exit(program_get_action(SIGUSR1).handler != NULL ||
		      program_get_action(SIGUSR2).handler != program_see);
	}
	waitpid(pid, &status, 0);
	return status;
}

START_TEST(a_child_of_vfork_changes_nothing_of_its_parent)
{
	uint32_t done[8] = {0};

	program_begin();
	program_put_all();
	expect_sum(8, program_trap(8, done));
	program_mask(SIG_BLOCK, BIT(SIGTRAP));
	program_set_action(SIGUSR1, program_see, 0);
	program_set_action(SIGUSR2, program_see, 0);
	program_set_action(SIGTRAP, program_see, 0);
	ck_assert_int_eq(0, vfork_child(done));
	ck_assert_ptr_eq(program_see, program_get_action(SIGUSR1).handler);
	ck_assert_ptr_eq(program_see, program_get_action(SIGTRAP).handler);
	ck_assert_uint_eq(BIT(SIGTRAP), program_mask(SIG_SETMASK, 0));
	program_send(SIGUSR1);
	program_send(SIGTRAP);
	ck_assert_uint_eq(2, seen.n);
}
END_TEST

PROGRAM static void do_exec(void)
{
	const char *argv[] = {
	    "/bin/sh", "-c",
	    "exec awk '/^SigIgn/ { i = $2 } /^SigBlk/ { b = $2 } "
	    "/^SigPnd/ { p = $2 } END { exit !(i ~ /10$/ && b ~ /418$/ && "
	    "p ~ /400$/) }' /proc/self/status",
	    NULL};
	uint32_t done[4] = {0};

	program_set_action(SIGTRAP, (void *)1, 0);
	program_mask(SIG_BLOCK, BIT(SIGTRAP) | BIT(SIGILL) | BIT(SIGSEGV));
	program_send(SIGSEGV);
	if (program_call(SYS_execve, (uint64_t) "/nonexistent", (uint64_t)argv,
			 (uint64_t)environ, 0, 0) != -ENOENT)
		_exit(4);
	if (program_trap(4, done) != 6 ||
	    program_mask(SIG_BLOCK, 0) !=
		(BIT(SIGTRAP) | BIT(SIGILL) | BIT(SIGSEGV)))
		_exit(5);
	program_call(SYS_execve, (uint64_t)argv[0], (uint64_t)argv,
		     (uint64_t)environ, 0, 0);
	_exit(6);
}

START_TEST(another_program_inherits_what_it_should)
{
	program_begin();
	program_put_all();
	ck_assert_int_eq(0, program_end_of(do_exec));
}
END_TEST

PROGRAM static void *thread_ends(void *arg)
{
	uint32_t done[4] = {0};

	program_trap(4, done);
	(void)arg;
	return NULL;
}

PROGRAM static void *thread_exits(void *arg)
{
	thread_ends(arg);
	program_call(SYS_exit, 0, 0, 0, 0, 0);
	return NULL;
}

START_TEST(a_thread_that_ends_gives_its_area_back)
{
	pthread_t t;
	unsigned n = 0;

	program_begin();
	program_put_all();
	ck_assert_int_eq(0, pthread_create(&t, NULL, thread_exits, NULL));
	pthread_join(t, NULL);
	for (int i = 0; i < COLLECT_ENTRIES; i++)
		n += program_table->who[i].fs > COLLECT_NOBODY;
	ck_assert_uint_eq(0, n);
	ck_assert_uint_eq(4, program_probe[0].hits);
}
END_TEST

Suite *native_child_suite(void)
{
	Suite *s = suite_create("native_child");
	TCase *t = tcase_create("child");

	tcase_add_test(t, a_child_of_fork_is_a_process_of_its_own);
	tcase_add_test(t, a_child_of_vfork_changes_nothing_of_its_parent);
	tcase_add_test(t, another_program_inherits_what_it_should);
	tcase_add_test(t, a_thread_that_ends_gives_its_area_back);
	suite_add_tcase(s, t);
	return s;
}
