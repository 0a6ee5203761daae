/* bench/fib.c - a long loop with one value worth watching.
 *
 *   fib N         Fibonacci's N-th number modulo 2^64
 *   fib N -t      first the truth: a line `STEP VALUE` for every write
 *
 * `watched` is written on every 1024th step and by nothing else, and what is
 * written at step k is the k-th Fibonacci number: so whoever navigates in a
 * recording of this program can be asked for the last write, the one before,
 * or the value at any moment, and the answer can be checked by arithmetic.
 * The loop calls nothing and uses general registers only, so that debuggers
 * which cannot step vector instructions may take part. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY = 1024 };

static volatile uint64_t watched;

/* A breakpoint here and `finish` enclose the work. */
__attribute__((noinline)) static uint64_t fib_run(uint64_t n)
{
	uint64_t now = 0, next = 1;

	for (uint64_t k = 1; k <= n; k++) {
		uint64_t sum = now + next;

		now = next;
		next = sum;
		if (k % EVERY == 0)
			watched = now;
	}
	return now;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t value;

	if (n == 0) {
		fprintf(stderr, "usage: fib N [-t]\n");
		return 2;
	}
	if (argc > 2 && strcmp(argv[2], "-t") == 0)
		for (uint64_t k = EVERY; k <= n; k += EVERY)
			printf("%ju %ju\n", (uintmax_t)k,
			       (uintmax_t)fib_run(k));
	value = fib_run(n);
	printf("%ju, %ju writes, last %ju\n", (uintmax_t)value,
	       (uintmax_t)(n / EVERY), (uintmax_t)watched);
	return 0;
}
