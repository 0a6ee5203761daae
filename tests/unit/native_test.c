/* tests/unit/native_test.c - probes, and what the program raises itself:
 * traps, illegal instructions, faults. */
#include "native_program.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* -- Traps and jumps -- */

START_TEST(a_hundred_thousand_traps_are_exact)
{
	struct run *r = run_new(100000, &program_probe[0]);

	program_begin();
	program_put_all();
	expect_sum(r->n, program_trap(r->n, r->done));
	expect_each(r->done, r->fired, r->n);
	run_free(r);
}
END_TEST

START_TEST(a_million_jumps_are_exact)
{
	struct run *r = run_new(1000000, &program_probe[1]);

	program_begin();
	program_put_all();
	expect_sum(r->n, program_jump(r->n, r->done));
	expect_each(r->done, r->fired, r->n);
	run_free(r);
}
END_TEST

enum { GONE = 5000, TOGGLES = 200 };
static uint32_t gone_done[GONE];
static volatile int toggle_ends;

/* Listed before it is there, and for no longer. It comes back when the program
 * has executed the instruction without it: whoever had hit it is out of the
 * image then, as when hark has left and comes again. */
static void *toggle(void *unused)
{
	volatile uint8_t *at = (uint8_t *)program_trap_at;
	const volatile uint32_t *first = gone_done;
	const volatile uint64_t *hits = &program_probe[0].hits;
	uint64_t all_signals = ~0ull, before;

	(void)unused;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all_signals, 0, 8);
	for (unsigned n = 0; n < TOGGLES; n++) {
		for (before = *hits; *hits <= before + n % 8;)
			sched_yield();
		*at = 0xff;
		program_list(0);
		for (before = *first; *first == before;)
			sched_yield();
		program_list(1);
		*at = 0xcc;
	}
	toggle_ends = 1;
	return NULL;
}

START_TEST(a_trap_that_is_gone_is_executed)
{
	pthread_t t;

	program_begin();
	program_put_all();
	ck_assert_int_eq(0, pthread_create(&t, NULL, toggle, NULL));
	while (!toggle_ends)
		expect_sum(GONE, program_trap(GONE, gone_done));
	pthread_join(t, NULL);
	for (unsigned i = 0; i < GONE; i++)
		ck_assert_uint_eq(gone_done[0], gone_done[i]);
}
END_TEST

/* Its parent has unloaded a library since, which the child has. */
START_TEST(a_child_goes_by_the_index_that_its_home_had)
{
	struct run *r = run_new(1000, &program_probe[0]);

	program_begin();
	program_put_all();
	native_home()->index =
	    ((const struct collect_plan *)native_home()->plan)->index;
	program_list(0);
	expect_sum(r->n, program_trap(r->n, r->done));
	expect_each(r->done, r->fired, r->n);
	run_free(r);
}
END_TEST

/* -- The program's own traps -- */

START_TEST(a_program_gets_its_own_traps)
{
	uint32_t done[8] = {0};

	program_begin();
	program_put_all();
	ck_assert_int_eq(0, program_set_action(SIGTRAP, program_see, 0));
	program_int3();
	ck_assert_uint_eq((uint64_t)program_int3_end, seen.rip);
	ck_assert_int_eq(SI_KERNEL, seen.code);
	program_int_3();
	ck_assert_uint_eq((uint64_t)program_int_3_end, seen.rip);
	expect_sum(8, program_trap(8, done));
	ck_assert_uint_eq(2, seen.n);
	program_send(SIGTRAP);
	ck_assert_uint_eq(3, seen.n);
	ck_assert_int_eq(SI_TKILL, seen.code);
	ck_assert_uint_eq(0, seen.ours);
	ck_assert_uint_eq(8, program_probe[0].hits);
	ck_assert_ptr_eq(program_see, program_get_action(SIGTRAP).handler);
}
END_TEST

START_TEST(a_program_gets_its_own_illegal_instructions)
{
	program_begin();
	program_put_all();
	ck_assert_int_eq(0, program_set_action(SIGILL, program_skip_ud2, 0));
	for (int i = 0; i < 3; i++)
		program_ud2();
	ck_assert_uint_eq(3, seen.n);
	ck_assert_uint_eq((uint64_t)program_ud2_at, seen.rip);
	ck_assert_uint_eq((uint64_t)program_ud2_at, seen.addr);
}
END_TEST

PROGRAM static void do_load_null(void)
{
	program_load(NULL);
}

PROGRAM static void do_load_ignored(void)
{
	program_set_action(SIGSEGV, (void *)1, 0);
	program_load(NULL);
}

PROGRAM static void do_load_blocked(void)
{
	program_mask(SIG_BLOCK, BIT(SIGSEGV));
	program_set_action(SIGSEGV, program_see, 0);
	program_load(NULL);
}

PROGRAM static void do_int3_once(void)
{
	program_set_action(SIGTRAP, program_see, SA_RESETHAND);
	program_int3();
	if (seen.n != 1 || program_get_action(SIGTRAP).handler != NULL)
		_exit(3);
	program_int3();
}

PROGRAM static void do_term_default(void)
{
	program_send(SIGTRAP);
}

PROGRAM static void do_usr1_once(void)
{
	uint32_t done[4] = {0};

	program_set_action(SIGUSR1, program_see, SA_RESETHAND);
	program_send(SIGUSR1);
	if (seen.n != 1 || program_trap(4, done) != 6)
		_exit(3);
	program_send(SIGUSR1);
}

START_TEST(a_program_dies_as_it_would_have)
{
	program_begin();
	program_put_all();
	program_put(program_load_at, 3, AS_TRAP);
	ck_assert_int_eq(SIGSEGV, WTERMSIG(program_end_of(do_load_null)));
	ck_assert_int_eq(SIGSEGV, WTERMSIG(program_end_of(do_load_ignored)));
	ck_assert_int_eq(SIGSEGV, WTERMSIG(program_end_of(do_load_blocked)));
	ck_assert_int_eq(SIGTRAP, WTERMSIG(program_end_of(do_int3_once)));
	ck_assert_int_eq(SIGTRAP, WTERMSIG(program_end_of(do_term_default)));
	ck_assert_int_eq(SIGUSR1, WTERMSIG(program_end_of(do_usr1_once)));
}
END_TEST

/* -- Faults of moved instructions -- */

static uint64_t good = 77;

PROGRAM static void mend(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	program_see(sig, info, context);
	u->uc_mcontext.gregs[REG_RDI] = (greg_t)&good;
}

PROGRAM static void unlock_page(int sig, siginfo_t *info, void *context)
{
	program_see(sig, info, context);
	mprotect((void *)((uint64_t)info->si_addr & -4096ull), 4096,
		 PROT_READ | PROT_WRITE);
}

START_TEST(a_fault_of_a_moved_instruction_is_the_programs)
{
	uint64_t *page =
	    mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	program_begin();
	program_put_all();
	program_put(program_load_at, 3, AS_TRAP);
	program_set_action(SIGSEGV, mend, 0);
	ck_assert_uint_eq(77, program_load((void *)0x1234));
	ck_assert_uint_eq(0x1234, seen.addr);
	ck_assert_uint_eq((uint64_t)program_load_at, seen.rip);
	ck_assert_uint_eq(0, seen.ours);
	/* The same execution, tried again with the same registers. */
	program_probe[3].hits = 0;
	program_set_action(SIGSEGV, unlock_page, 0);
	ck_assert_uint_eq(0, program_load(&page[3]));
	ck_assert_uint_eq((uint64_t)&page[3], seen.addr);
	ck_assert_uint_eq(1, program_probe[3].hits);
	ck_assert_uint_eq(0, program_load(&page[3]));
	ck_assert_uint_eq(2, program_probe[3].hits);
	program_set_action(SIGSEGV, program_skip_load, 0);
	ck_assert_uint_eq(5, program_load((void *)0x1234));
	ck_assert_uint_eq(3, seen.n);
}
END_TEST

START_TEST(what_is_not_there_is_not_read)
{
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static uint8_t from[700], to[700];
	static const unsigned sizes[] = {1, 2,	3,   4,	  7,  8,
					 9, 16, 255, 256, 600};

	program_begin();
	munmap(pages + 4096, 4096);
	for (unsigned i = 0; i < sizeof from; i++)
		from[i] = (uint8_t)(i * 7 + 1);
	memcpy(pages + 4096 - 700, from, 700);
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		unsigned n = sizes[i];

		memset(to, 0, sizeof to);
		ck_assert(native_read(pages + 4096 - n, to, n));
		ck_assert_mem_eq(from + 700 - n, to, n);
		ck_assert_uint_eq(0, to[n < 700 ? n : 0] & (n < 700 ? 255 : 0));
		ck_assert(!native_read(pages + 4097 - n, to, n));
		ck_assert(!native_read((void *)0x8000000000000000, to, n));
	}
	ck_assert(native_read(NULL, to, 0));
}
END_TEST

START_TEST(a_probe_may_read_what_is_not_there)
{
	uint32_t done[16] = {0};

	program_begin();
	program_put_all();
	program_probe[1].reads = 0x10;
	expect_sum(16, program_jump(16, done));
	program_probe[1].reads = (uint64_t)&good;
	expect_sum(16, program_jump(16, done));
	ck_assert_uint_eq(32, program_probe[1].hits);
	ck_assert_uint_eq(16, program_probe[1].read_ok);
}
END_TEST

Suite *native_suite(void)
{
	Suite *s = suite_create("native");
	TCase *t = tcase_create("native");

	tcase_add_test(t, a_hundred_thousand_traps_are_exact);
	tcase_add_test(t, a_million_jumps_are_exact);
	tcase_add_test(t, a_trap_that_is_gone_is_executed);
	tcase_add_test(t, a_child_goes_by_the_index_that_its_home_had);
	tcase_add_test(t, a_program_gets_its_own_traps);
	tcase_add_test(t, a_program_gets_its_own_illegal_instructions);
	tcase_add_test(t, a_program_dies_as_it_would_have);
	tcase_add_test(t, a_fault_of_a_moved_instruction_is_the_programs);
	tcase_add_test(t, what_is_not_there_is_not_read);
	tcase_add_test(t, a_probe_may_read_what_is_not_there);
	suite_add_tcase(s, t);
	return s;
}
