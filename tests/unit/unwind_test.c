/* tests/unit/unwind_test.c - samples of a real program's stack, at every
 * instruction.
 *
 * Code that compilers make, with all that moves a stack: alloca, callbacks,
 * linkage tables, longjmp, coroutines, signals in signals, a stack of their
 * own for these. At each instruction, or at some of them, a sample must be
 * what a walk gives; and that, what the C library's unwinder says.
 *
 * Then the two programs that fool whoever compares return addresses only. */
#include "trap_flag.h"
#include "unwind_self.h"

#include <alloca.h>
#include <check.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DEEP = 256 };
#ifndef SANITIZED
#define SANITIZED 0
#endif

static struct unwind_space space;
static struct unwind_maps *maps;

static struct {
	long samples, wrong, backtraces, kept, frames, maps[UNWIND_MAPS],
	    signals;
	uint32_t every, next, seed; /* instructions from sample to sample */
} seen;

static struct unwind_frame walked[DEEP];
static struct unwind_last last;

/* -- Comparing -- */

/* Keeps what differs first on stderr, where it can be seen. */
static void tell_wrong(const char *what, uint64_t pc)
{
	char text[256];
	Dl_info d = {0};
	int n;

	if (seen.wrong++ > 0)
		return;
	dladdr((void *)(uintptr_t)pc, &d);
	n = snprintf(text, sizeof text, "# sample %ld: %s, at %s+%#lx (%s)\n",
		     seen.samples, what, d.dli_fname ? d.dli_fname : "?",
		     pc - (uintptr_t)d.dli_fbase,
		     d.dli_sname ? d.dli_sname : "?");
	(void)!write(2, text, (size_t)n);
}

/* While stacks are being switched the oracle may fall over. */
static bool is_switching(void)
{
	Dl_info d = {0};

	return dladdr((void *)walked[0].pc, &d) != 0 && d.dli_sname != NULL &&
	       strcmp(d.dli_sname, "swapcontext") == 0;
}

/* Its innermost frames are this handler's. */
static __attribute__((noinline)) void compare_backtrace(uint32_t n)
{
	void *theirs[DEEP];
	int n_theirs = backtrace(theirs, DEEP), skip = n_theirs - (int)n;

	seen.backtraces++;
	if (skip < 2 || skip > 3)
		tell_wrong("another depth than backtrace()", walked[0].pc);
	else
		for (uint32_t i = 0; i < n; i++)
			if ((uint64_t)theirs[skip + (int)i] != walked[i].pc)
				tell_wrong("not as backtrace()", walked[i].pc);
}

/* How many frames. */
static uint32_t check_here(const ucontext_t *u)
{
	struct unwind_sample got;
	struct frame_cpu cpu;
	enum unwind_end end;
	uint32_t n;

	unwind_self_cpu(u, &cpu);
	unwind_sample(&space, maps, &cpu, &got);
	n = unwind_walk(&space, &cpu, walked, DEEP, &end);
	if (!unwind_self_same(maps, &got, walked, n, end))
		tell_wrong("sample and walk differ", walked[0].pc);
	if (!unwind_self_kept(&last, &got, walked))
		tell_wrong("what was kept was not there", walked[0].pc);
	seen.samples++;
	seen.kept += got.kept;
	seen.frames += got.depth;
	seen.maps[got.map]++;
	seen.signals += got.worst == UNWIND_SIGNAL;
	return n;
}

/* -- At every instruction -- */

static void on_trap(int number, siginfo_t *info, void *context)
{
	uint32_t n;

	(void)number;
	(void)info;
	if (seen.next-- > 0)
		return;
	seen.seed = seen.seed * 1664525 + 1013904223;
	seen.next = (seen.seed >> 16) % seen.every;
	n = check_here(context);
	if (!is_switching())
		compare_backtrace(n);
}

/* -- What moves a stack -- */

static __attribute__((noinline)) int leaf(volatile char *room)
{
	room[0]++;
	return room[0];
}

static __attribute__((noinline)) int recurse(int depth, volatile char *room)
{
	volatile char *more = alloca((size_t)(depth * 7 % 5) * 16 + 1);

	more[0] = room[0];
	if (depth == 0)
		return leaf(more);
	more[0] = (char)recurse(depth - 1, more);
	return more[0];
}

/* A stack that is aligned more than calls are: its CFA is in memory. */
static __attribute__((noinline)) int aligned(int depth)
{
	volatile char room[64] __attribute__((aligned(64)));

	room[depth] = (char)depth;
	return depth == 0 ? leaf(room) : aligned(depth - 1) + room[depth];
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void jump_away(jmp_buf *to, int depth)
{
	volatile char room[32] = {1};

	if (depth == 0)
		longjmp(*to, 1);
	if (depth > 0) /* always, but compilers would object */
		jump_away(to, depth - 1);
	leaf(room);
}

static void on_usr2(int number)
{
	volatile char room = (char)number;

	set_trap_flag(true);
	recurse(2, &room);
}

static void on_usr1(int number)
{
	volatile char room = (char)number;

	set_trap_flag(true);
	leaf(&room);
	raise(SIGUSR2);
	leaf(&room);
}

static ucontext_t main_context, co_context[2];

static void co_run(int which)
{
	volatile char room = 1;

	for (;;) {
		recurse(2 + which * 3, &room);
		swapcontext(&co_context[which],
			    which == 0 ? &co_context[1] : &main_context);
	}
}

static __attribute__((noinline)) long many_kinds(void)
{
	volatile char room = 1;
	int numbers[7] = {5, 3, 9, 1, 4, 8, 2};
	struct timespec t;
	char text[64];
	long sum = 0;
	jmp_buf here;

	for (int i = 0; i < 3; i++) {
		sum += recurse(5 + i, &room);
		sum += aligned(3);
		qsort(numbers, 7, sizeof numbers[0], by_value);
		numbers[i] = 7 - i;
		swapcontext(&main_context, &co_context[0]);
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	sum += snprintf(text, sizeof text, "%d %s %5.2f", numbers[2], "text",
			(double)sum);
	raise(SIGUSR1);
	if (setjmp(here) == 0)
		jump_away(&here, 4);
	raise(SIGUSR2);
	return sum + recurse(9, &room) + t.tv_nsec;
}

static void make_coroutine(int which)
{
	ucontext_t *c = &co_context[which];

	ck_assert_int_eq(getcontext(c), 0);
	c->uc_stack.ss_size = 65536;
	c->uc_stack.ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(c->uc_stack.ss_sp, MAP_FAILED);
	c->uc_link = &main_context;
	/* NOLINTNEXTLINE(bugprone-casting-through-void) */
	makecontext(c, (void (*)(void))(uintptr_t)co_run, 1, which);
}

static void set_handler(int number, void (*handler)(int), int flags)
{
	struct sigaction a = {.sa_handler = handler, .sa_flags = flags};

	ck_assert_int_eq(sigaction(number, &a, NULL), 0);
}

static void setup(void)
{
	void *load[1];

	backtrace(load, 1); /* loads what it needs */
	memset(&seen, 0, sizeof seen);
	memset(&last, 0, sizeof last);
	space = (struct unwind_space){.scan = 0};
	unwind_self_open(&space);
	maps = unwind_self_maps(DEEP);
}

static void teardown(void)
{
	free(maps);
	unwind_self_close(&space);
}

/* With samples at every instruction, and at ever fewer. */
static const uint32_t distances[] = {1, 3, 11, 47, 211};

START_TEST(samples_are_walks_at_every_instruction)
{
	static char room[65536];
	stack_t other = {.ss_sp = room, .ss_size = sizeof room};
	struct sigaction step = {.sa_sigaction = on_trap,
				 .sa_flags = SA_SIGINFO};
	uint32_t every = distances[_i];

	seen.every = every;
	ck_assert_int_eq(sigaltstack(&other, NULL), 0);
	set_handler(SIGUSR1, on_usr1, SA_ONSTACK);
	set_handler(SIGUSR2, on_usr2, SA_ONSTACK);
	make_coroutine(0);
	make_coroutine(1);
	ck_assert_int_eq(sigaction(SIGTRAP, &step, NULL), 0);
	for (uint32_t i = 0; i < (every + 3) / 4; i++) {
		set_trap_flag(true);
		many_kinds();
		set_trap_flag(false);
	}
	ck_assert_int_eq(seen.wrong, 0);
	ck_assert_int_ge(seen.samples, 4000);
	ck_assert_int_gt(seen.backtraces, seen.samples / 10 * 9);
	ck_assert_int_gt(seen.kept, seen.frames / 4);
	/* The program's stack, the signals', two coroutines'. */
	for (int i = 0; i < UNWIND_MAPS; i++)
		ck_assert_int_gt(seen.maps[i], 10);
	ck_assert_int_gt(seen.signals, 100);
}
END_TEST

/* -- What comparing return addresses would miss -- */

static uint64_t site, stale, slot;
static uint64_t *site_at;

/* The frame of cross(), and what is where its last frame was. */
static __attribute__((noinline)) void look(void)
{
	ucontext_t here;

	getcontext(&here);
	check_here(&here);
	__asm__ volatile("");
}

/* rbp is saved here, and so is cross()'s. */
static __attribute__((noinline)) long pushes_rbp(volatile char *room)
{
	volatile char *more = alloca((size_t)room[0] + 16);

	more[0] = room[0];
	look();
	return more[0];
}

/* Its frame begins where it is called, and ends at one place: the less the
 * caller has left, the more it takes. */
static __attribute__((noinline)) long cross(size_t take, bool link)
{
	volatile char *room = alloca(take);

	room[take - 1] = 0;
	room[0] = 0;
	site_at = (uint64_t *)__builtin_frame_address(0) + 1;
	slot = (uint64_t)room;
	if (link)
		pushes_rbp(room);
	else
		look();
	return room[0];
}

static __attribute__((noinline)) void twice(bool link, size_t gap)
{
	volatile char *base = alloca(gap), *more;
	uint64_t first_slot, *first_site;

	base[0] = 1;
	cross(gap * 3, link);
	first_slot = slot;
	first_site = site_at;
	site = *site_at;
	/* What is taken is not written: the old return address stays. */
	more = alloca(gap);
	__asm__ volatile("" : : "r"(more) : "memory");
	cross(gap * 3 - (size_t)(base - more), link);
	stale = *first_site;
	ck_assert_ptr_ne(first_site, site_at);
	/* If not so, then this test has proven nothing. */
	ck_assert_uint_eq(first_slot, slot);
	ck_assert_uint_eq(stale, site);
}

START_TEST(a_stale_return_address_is_no_frame)
{
	for (size_t gap = 256; gap <= 1024; gap *= 2) {
		twice(_i != 0, gap);
		ck_assert_int_eq(seen.wrong, 0);
	}
	ck_assert_int_eq(seen.samples, 6);
	ck_assert_int_gt(seen.kept, 0);
}
END_TEST

/* Two functions alike in all but their address, in the middle of a stack. */
static __attribute__((noinline)) int inner(int depth)
{
	volatile int kept = depth;

	if (depth == 0)
		look();
	else
		inner(depth - 1);
	return kept;
}

static __attribute__((noinline)) int fa(void)
{
	volatile int kept = 1;

	return inner(20) + kept;
}

static __attribute__((noinline)) int fb(void)
{
	volatile int kept = 2;

	return inner(20) + kept;
}

START_TEST(a_change_in_the_middle_is_seen)
{
	for (int i = 0; i < 100; i++)
		if (i * 37 % 5 < 2)
			fa();
		else
			fb();
	ck_assert_int_eq(seen.wrong, 0);
	ck_assert_int_eq(seen.samples, 100);
}
END_TEST

/* Frames on both sides of one that has changed are not walked again. */
START_TEST(unchanged_frames_inside_are_not_walked)
{
	struct unwind_sample got;
	struct frame_cpu cpu;
	ucontext_t here;

	fa();
	fb();
	ck_assert_int_eq(getcontext(&here), 0);
	unwind_self_cpu(&here, &cpu);
	unwind_sample(&space, maps, &cpu, &got);
	ck_assert_uint_lt(got.walked, 8);
	ck_assert_int_eq(seen.wrong, 0);
}
END_TEST

/* -- Code that comes and goes -- */

START_TEST(another_generation_keeps_nothing)
{
	struct unwind_sample got;
	struct frame_cpu cpu;
	ucontext_t here;

	ck_assert_int_eq(getcontext(&here), 0);
	unwind_self_cpu(&here, &cpu);
	unwind_sample(&space, maps, &cpu, &got);
	ck_assert_uint_eq(got.kept, 0);
	unwind_sample(&space, maps, &cpu, &got);
	ck_assert_uint_eq(got.kept, got.depth);
	unwind_self_open(&space);
	unwind_sample(&space, maps, &cpu, &got);
	ck_assert_uint_eq(got.kept, 0);
	unwind_maps_forget(maps);
	unwind_sample(&space, maps, &cpu, &got);
	ck_assert_uint_eq(got.kept, 0);
	ck_assert_uint_gt(got.depth, 3);
	ck_assert_uint_eq(got.end, UNWIND_OUTERMOST);
}
END_TEST

Suite *unwind_suite(void)
{
	Suite *s = suite_create("unwind");
	TCase *c = tcase_create("unwind");

	tcase_set_timeout(c, 120);
	tcase_add_checked_fixture(c, setup, teardown);
	suite_add_tcase(s, c);
	tcase_add_test(c, a_change_in_the_middle_is_seen);
	/* src/unwind is never sanitized, and a step through what a sanitizer
	 * puts in place of longjmp() and others takes minutes. */
	if (!SANITIZED)
		tcase_add_loop_test(c, samples_are_walks_at_every_instruction,
				    0, sizeof distances / sizeof distances[0]);
	tcase_add_loop_test(c, a_stale_return_address_is_no_frame, 0, 2);
	tcase_add_test(c, unchanged_frames_inside_are_not_walked);
	tcase_add_test(c, another_generation_keeps_nothing);
	return s;
}
