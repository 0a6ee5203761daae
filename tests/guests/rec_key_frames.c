/* tests/guests/rec_key_frames.c - runs long enough for several key frames, with
 * everything alive that one must hold: carry and direction flags, x87 stack and
 * rounding, mxcsr, vector registers, the base of fs. */
#include "guest.h"
#include <pthread.h>

enum { ROUNDS = 12000000 };

/* The carry goes round a loop whose branches do not touch it. */
static uint64_t carries(uint64_t n)
{
	uint64_t sum = 0, x = 0x9e3779b97f4a7c15;

	asm volatile("clc\n"
		     "1:\tadc %[x], %[sum]\n\t"
		     "lea 1(%[x], %[x], 4), %[x]\n\t"
		     "dec %[n]\n\t"
		     "jnz 1b"
		     : [sum] "+r"(sum), [x] "+r"(x), [n] "+r"(n)::"cc");
	return sum ^ x;
}

static uint64_t carries_in_c(uint64_t n)
{
	uint64_t sum = 0, x = 0x9e3779b97f4a7c15, carry = 0;

	for (; n > 0; n--) {
		unsigned __int128 s = (unsigned __int128)sum + x + carry;

		sum = (uint64_t)s;
		carry = (uint64_t)(s >> 64);
		x = 5 * x + 1;
	}
	return sum ^ x;
}

/* Six values stay on the x87 stack, rounded towards zero, all along. */
static long double stack(uint64_t n)
{
	uint16_t zero = 0x0f7f, usual = 0x037f;
	long double got;

	asm volatile("fldcw %[zero]\n\t"
		     "fld1\n\tfldpi\n\tfldl2e\n\tfldln2\n\tfldlg2\n\tfldz\n"
		     "1:\tfadd %%st(4)\n\t"
		     "fmul %%st(3)\n\t"
		     "fxch %%st(1)\n\tfxch %%st(1)\n\t"
		     "dec %[n]\n\tjnz 1b\n\t"
		     "faddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfaddp\n\t"
		     "fldcw %[usual]"
		     : "=t"(got), [n] "+r"(n)
		     : [zero] "m"(zero), [usual] "m"(usual)
		     : "cc", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)",
		       "st(6)", "st(7)");
	return got;
}

/* All sixteen vector registers turn in a ring; mxcsr says to zero. */
static double ring(uint64_t n)
{
	uint32_t zero = 0x7f80, usual = 0x1f80;
	double got[2], start[2] = {1.0, 3.0};

	asm volatile("ldmxcsr %[zero]\n\t"
		     "movupd %[start], %%xmm0\n\t"
		     "movapd %%xmm0, %%xmm7\n\t"
		     "movapd %%xmm0, %%xmm15\n"
		     "1:\tmovapd %%xmm15, %%xmm8\n\t"
		     "divpd %%xmm7, %%xmm8\n\t"
		     "addpd %%xmm8, %%xmm7\n\t"
		     "movapd %%xmm7, %%xmm15\n\t"
		     "divpd %%xmm0, %%xmm15\n\t"
		     "dec %[n]\n\tjnz 1b\n\t"
		     "movupd %%xmm7, %[got]\n\t"
		     "ldmxcsr %[usual]"
		     : [got] "=m"(got), [n] "+r"(n)
		     : [zero] "m"(zero), [usual] "m"(usual), [start] "m"(start)
		     : "cc", "xmm0", "xmm7", "xmm8", "xmm15");
	return got[0] + got[1];
}

static _Thread_local uint64_t mine;

static void *thread(void *arg)
{
	uint64_t state = (uint64_t)arg;

	for (int i = 0; i < ROUNDS / 2; i++)
		mine += guest_random(&state) & 1;
	return (void *)mine;
}

int main(void)
{
	pthread_t t;
	void *odd;
	uint64_t state = 99, want = 0;

	MUST(pthread_create(&t, NULL, thread, (void *)99) == 0);
	SAME(carries(ROUNDS), carries_in_c(ROUNDS));
	CHECK(stack(ROUNDS) == stack(ROUNDS));
	CHECK(ring(ROUNDS) == ring(ROUNDS));
	MUST(pthread_join(t, &odd) == 0);
	for (int i = 0; i < ROUNDS / 2; i++)
		want += guest_random(&state) & 1;
	SAME(odd, want);
	return guest_end();
}
