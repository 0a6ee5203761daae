/* tests/guests/code_recursion.c - recursion a hundred thousand deep, mutual
 * recursion, and returns through all of it: no stack of predictions may run
 * over. */
#include "guest.h"

__attribute__((noinline)) static uint64_t sum(uint64_t n)
{
	volatile uint64_t keep = n; /* no tail call */

	return n == 0 ? 0 : keep + sum(n - 1);
}

static int even(int n);

__attribute__((noinline)) static int odd(int n)
{
	volatile int keep = n;

	return keep == 0 ? 0 : even(n - 1);
}

__attribute__((noinline)) static int even(int n)
{
	volatile int keep = n;

	return keep == 0 ? 1 : odd(n - 1);
}

static int ackermann(int m, int n)
{
	return m == 0	? n + 1
	       : n == 0 ? ackermann(m - 1, 1)
			: ackermann(m - 1, ackermann(m, n - 1));
}

static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(void)
{
	for (int i = 0; i < 5; i++)
		SAME(sum(100000), 100000 * 100001ul / 2);
	SAME(even(50000), 1);
	SAME(odd(50001), 1);
	SAME(ackermann(2, 300), 603);
	SAME(ackermann(3, 6), 509);
	SAME(fib(25), 75025);
	return guest_end();
}
