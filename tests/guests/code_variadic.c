/* tests/guests/code_variadic.c - calls as compilers make them: many arguments,
 * variadic ones with vector counts in al, structures by value, long double,
 * 128-bit integers, alloca of any size. */
#include "guest.h"
#include <alloca.h>
#include <stdarg.h>

struct big {
	uint64_t v[20];
};

__attribute__((noinline)) static double sum(int n, ...)
{
	va_list ap;
	double s = 0;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		s += i & 1 ? va_arg(ap, double) : va_arg(ap, int);
	va_end(ap);
	return s;
}

__attribute__((noinline)) static struct big twice(struct big b, long double l,
						  __int128 w)
{
	for (int i = 0; i < 20; i++)
		b.v[i] = b.v[i] * 2 + (uint64_t)l + (uint64_t)(w >> 64);
	return b;
}

__attribute__((noinline)) static uint64_t grow(unsigned n)
{
	volatile uint8_t *p = alloca(n);
	uint64_t s = 0;

	for (unsigned i = 0; i < n; i++)
		p[i] = (uint8_t)i;
	for (unsigned i = 0; i < n; i += 97)
		s += p[i];
	return s;
}

int main(void)
{
	struct big b;
	char text[64];

	CHECK(sum(12, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5) == 45);
	for (uint64_t i = 0; i < 20; i++)
		b.v[i] = i;
	b = twice(b, 3.7L, (__int128)5 << 64);
	for (uint64_t i = 0; i < 20; i++)
		SAME(b.v[i], 2 * i + 8);
	for (unsigned n = 1; n < 70000; n = n * 2 + 1) {
		uint64_t want = 0;

		for (unsigned i = 0; i < n; i += 97)
			want += i & 255;
		SAME(grow(n), want);
	}
	snprintf(text, sizeof text, "%d %.3f %Lg %lld %c %s", -5, 3.14159, 2.5L,
		 1ll << 40, 'x', "end");
	CHECK(strcmp(text, "-5 3.142 2.5 1099511627776 x end") == 0);
	return guest_end();
}
