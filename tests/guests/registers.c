/* tests/guests/registers.c - whatever a thread can keep in registers stays.
 *
 *   registers UNTIL       (lives.h says how long)
 *
 * One thread each for vectors (zmm or ymm, masks, x87), flags (AC, NT, DF, ID
 * and the arithmetic ones), single-stepping by TF, the gs base, and the words
 * below the stack pointer. Each sets a pattern, spins long enough to be
 * stopped, and compares. Exit status 1 if anything changed. */
#define _GNU_SOURCE
#include "lives.h"
#include <asm/prctl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int done, complaints;

static void complain(const char *what)
{
	complaints++;
	fprintf(stderr, "registers: %s\n", what);
}

/* -- Vectors -- */

static struct area {
	uint8_t z[32][64];
	uint64_t k[8];
	double st[8];
} pattern, seen __attribute__((aligned(64)));

/* clang-format off */
#define R8(M, b)  M(b##0) M(b##1) M(b##2) M(b##3) M(b##4) M(b##5) M(b##6) M(b##7)
#define ALL_32 \
	R8(V, ) V(8) V(9) V(10) V(11) V(12) V(13) V(14) V(15) V(16) V(17) \
	V(18) V(19) V(20) V(21) V(22) V(23) V(24) V(25) V(26) V(27) V(28) \
	V(29) V(30) V(31)
#define FIRST_16 \
	R8(V, ) V(8) V(9) V(10) V(11) V(12) V(13) V(14) V(15)
#define X87_LOAD  "fninit; fldl 0(%2); fldl 8(%2); fldl 16(%2); fldl 24(%2);" \
		  "fldl 32(%2); fldl 40(%2); fldl 48(%2); fldl 56(%2);"
#define X87_STORE "fstpl 56(%3); fstpl 48(%3); fstpl 40(%3); fstpl 32(%3);" \
		  "fstpl 24(%3); fstpl 16(%3); fstpl 8(%3); fstpl 0(%3);"
#define SPIN "mov $20000, %%ecx; 1: dec %%ecx; jnz 1b;"

__attribute__((target("avx512f,avx512bw"), noinline)) static void spin_512(void)
{
	__asm__ volatile(
#define V(n) "vmovdqu64 64*" #n "(%0), %%zmm" #n ";"
	ALL_32
#undef V
#define K(n) "kmovq 8*" #n "(%4), %%k" #n ";"
	K(1) K(2) K(3) K(4) K(5) K(6) K(7)
#undef K
	X87_LOAD SPIN X87_STORE
#define K(n) "kmovq %%k" #n ", 8*" #n "(%5);"
	K(1) K(2) K(3) K(4) K(5) K(6) K(7)
#undef K
#define V(n) "vmovdqu64 %%zmm" #n ", 64*" #n "(%1);"
	ALL_32
#undef V
	"vzeroupper"
	: : "r"(pattern.z), "r"(seen.z), "r"(pattern.st), "r"(seen.st),
	    "r"(pattern.k), "r"(seen.k)
	: "rcx", "memory", "cc");
}

__attribute__((target("avx"), noinline)) static void spin_256(void)
{
	__asm__ volatile(
#define V(n) "vmovdqu 64*" #n "(%0), %%ymm" #n ";"
	FIRST_16
#undef V
	X87_LOAD SPIN X87_STORE
#define V(n) "vmovdqu %%ymm" #n ", 64*" #n "(%1);"
	FIRST_16
#undef V
	"vzeroupper"
	: : "r"(pattern.z), "r"(seen.z), "r"(pattern.st), "r"(seen.st)
	: "rcx", "memory", "cc");
}
/* clang-format on */

static void *vectors(void *arg)
{
	int wide = __builtin_cpu_supports("avx512bw") != 0;
	struct area expected;

	for (size_t i = 0; i < sizeof pattern.z; i++)
		(&pattern.z[0][0])[i] = (uint8_t)(i * 37 + 11);
	for (int i = 0; i < 8; i++) {
		pattern.k[i] = 0x0123456789abcdefull * (uint64_t)(i + 1);
		pattern.st[i] = i + 0.5;
	}
	seen = pattern;
	expected = pattern;
	while (!done) {
		if (wide)
			spin_512();
		else
			spin_256();
		if (memcmp(&seen, &expected, wide ? sizeof seen : 32) != 0)
			complain("a vector, mask or x87 register changed");
		if (memcmp(seen.st, expected.st, sizeof seen.st) != 0)
			complain("an x87 register changed");
	}
	return arg;
}

/* -- Flags -- */

static uint64_t flags_after(uint64_t flags)
{
	uint64_t after;

	__asm__ volatile("pushfq\n"
			 "push %1\n"
			 "popfq\n"
			 "mov $20000, %%rcx\n"
			 "1: lea -1(%%rcx), %%rcx\n"
			 "jrcxz 2f\n"
			 "jmp 1b\n"
			 "2: pushfq\n"
			 "pop %0\n"
			 "popfq\n"
			 : "=&r"(after)
			 : "r"(flags)
			 : "rcx", "memory", "cc");
	return after;
}

static void *flags(void *arg)
{
	/* CF, PF, AF, ZF, SF, DF, OF, NT, AC, ID one by one and together */
	static const uint64_t bits[] = {
	    0x1,     0x4,      0x10,   0x40,  0x80,	0x400,	 0x800,
	    0x40000, 0x200000, 0x4000, 0x8d5, 0x240400, 0x244cd5};
	enum { N = sizeof bits / sizeof bits[0], ALWAYS = 0x202 };

	for (unsigned i = 0; !done; i++) {
		uint64_t want = bits[i % N] | ALWAYS;

		if (flags_after(want) != want)
			complain("a flag changed");
	}
	return arg;
}

/* -- Single steps -- */

static _Thread_local volatile int steps;

static void on_step(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	if (info->si_code != TRAP_TRACE && info->si_code != TRAP_BRKPT)
		complain("a SIGTRAP that is no step");
	steps++;
}

static int count_steps(void)
{
	steps = 0;
	__asm__ volatile("lea -128(%%rsp), %%rsp\n"
			 "pushfq\n"
			 "orl $0x100, (%%rsp)\n"
			 "popfq\n"
			 ".rept 50\n"
			 "nop\n"
			 ".endr\n"
			 "pushfq\n"
			 "andl $~0x100, (%%rsp)\n"
			 "popfq\n"
			 "lea 128(%%rsp), %%rsp\n"
			 :
			 :
			 : "memory", "cc");
	return steps;
}

static void *stepper(void *arg)
{
	struct sigaction act = {.sa_sigaction = on_step,
				.sa_flags = SA_SIGINFO};
	int first;

	sigaction(SIGTRAP, &act, NULL);
	first = count_steps();
	if (first < 50)
		complain("too few steps");
	while (!done)
		if (count_steps() != first)
			complain("a step was lost or came twice");
	return arg;
}

/* -- The gs base -- */

static void *gs_user(void *arg)
{
	uint64_t block[2] = {0x1122334455667788ull, 0}, got;

	syscall(SYS_arch_prctl, ARCH_SET_GS, block);
	while (!done) {
		for (volatile int i = 0; i < 10000; i++) {
		}
		__asm__ volatile("mov %%gs:0, %0" : "=r"(got));
		if (got != block[0])
			complain("the gs base changed");
	}
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const all[])(void *) = {vectors, flags, stepper, gs_user};
	enum { N = sizeof all / sizeof all[0] };
	const char *until = argc > 1 ? argv[1] : "1";
	struct timespec nap = {.tv_nsec = 20000000};
	pthread_t t[N];

	for (int i = 0; i < N; i++)
		pthread_create(&t[i], NULL, all[i], NULL);
	puts("ready");
	fflush(stdout);
	while (lives(until))
		nanosleep(&nap, NULL);
	done = 1;
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	printf("complaints %d\n", (int)complaints);
	return complaints != 0;
}
