/* tests/guests/insn_sse_mxcsr.c - ldmxcsr and stmxcsr: rounding, flush to zero,
 * denormals are zero, sticky exception bits; a signal handler has its own. */
#include "guest.h"
#include <signal.h>

static volatile uint32_t seen;

static uint32_t get(void)
{
	uint32_t v;

	asm volatile("stmxcsr %0" : "=m"(v));
	return v;
}

static void set(uint32_t v)
{
	asm volatile("ldmxcsr %0" ::"m"(v));
}

static void handler(int sig)
{
	(void)sig;
	seen = get();
	set(0x3f80);
}

static double divide(double a, double b)
{
	asm volatile("divsd %1, %0" : "+x"(a) : "x"(b));
	return a;
}

int main(void)
{
	double tiny = 0x1p-1060, x;

	signal(SIGUSR1, handler);
	for (int i = 0; i < 20; i++) {
		set(0x1f80);
		CHECK(divide(1, 3) == 0x1.5555555555555p-2);
		SAME(get(), 0x1fa0); /* precision */
		set(0x5f80);	     /* up */
		CHECK(divide(1, 3) == 0x1.5555555555556p-2);
		set(0x3f80); /* down */
		CHECK(divide(-1, 3) == -0x1.5555555555556p-2);
		set(0x7f80); /* toward zero */
		CHECK(divide(-1, 3) == -0x1.5555555555555p-2);
		set(0x1f80);
		CHECK(divide(tiny, 2) == 0x1p-1061);
		CHECK(get() & 2); /* denormal */
		set(0x1fc0);	  /* denormals are zero */
		CHECK(divide(tiny, 2) == 0);
		set(0x9f80); /* flush to zero */
		x = 0x1p-1022;
		CHECK(divide(x, 4) == 0);
		CHECK(get() & 0x10);
		set(0x1f80);
		divide(1, 0);
		SAME(get(), 0x1f84);
		raise(SIGUSR1); /* its own, and given back */
		SAME(seen, 0x1f80 | (seen & 0x3f));
		SAME(get(), 0x1f84);
	}
	return guest_end();
}
