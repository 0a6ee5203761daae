/* tests/guests/code_tail_calls.c - a million mutual tail calls, direct and
 * through pointers, on one frame. */
#include "guest.h"

typedef uint64_t step(uint64_t n, uint64_t acc);
static step a, b, c;
static step *volatile next[3] = {a, b, c};

__attribute__((optimize("O2"), noinline)) static uint64_t a(uint64_t n,
							    uint64_t acc)
{
	return n == 0 ? acc : b(n - 1, acc + 1);
}

__attribute__((optimize("O2"), noinline)) static uint64_t b(uint64_t n,
							    uint64_t acc)
{
	return n == 0 ? acc : next[n % 3](n - 1, acc + 10);
}

__attribute__((optimize("O2"), noinline)) static uint64_t c(uint64_t n,
							    uint64_t acc)
{
	return n == 0 ? acc : a(n - 1, acc ^ 5);
}

int main(void)
{
	uint64_t acc = 0, n = 1000000;
	int at = 0;

	/* the same walk, as a loop */
	for (; n > 0; n--)
		if (at == 0)
			acc++, at = 1;
		else if (at == 1)
			acc += 10, at = (int)(n % 3);
		else
			acc ^= 5, at = 0;
	SAME(a(1000000, 0), acc);
	return guest_end();
}
