/* tests/guests/code_longjmp.c - setjmp and longjmp over many frames, many
 * times, with values in registers and returns that never happen. */
#include "guest.h"
#include <setjmp.h>

static jmp_buf out, back;

__attribute__((noinline)) static int deep(int n, int v)
{
	volatile int keep = n;

	if (n == 0)
		longjmp(out, v);
	return n < 0 ? 0 : deep(n - 1, v) + keep;
}

int main(void)
{
	volatile int rounds = 0;
	int v = setjmp(back);

	if (v < 1000) {
		int got = setjmp(out);

		if (got == 0)
			deep(v % 100, v + 1);
		SAME(got, v + 1);
		rounds++;
		longjmp(back, v + 1);
	}
	SAME(rounds, 1000);
	/* zero becomes one */
	if ((v = setjmp(out)) == 0)
		longjmp(out, 0);
	SAME(v, 1);
	return guest_end();
}
