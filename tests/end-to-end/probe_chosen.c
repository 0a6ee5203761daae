/* tests/end-to-end/probe_chosen.c - functions that the loader chooses.
 *
 * Both a library (-DLIBRARY) and the program that calls it; or all in one. The
 * one that is chosen is known to nobody before: it depends on the processor,
 * and on nothing that a compiler can see through. */
#include <stdio.h>
#include <stdlib.h>

typedef long function(long x);

long by_name(long x), by_helper(long x), by_call(long x);

#if defined LIBRARY || defined WHOLE
/* clang-format off */
#define IMPLEMENTATION(name, n) \
	__attribute__((noinline)) long name(long x) { return x * (n) + (n); }
/* Others may take their place: their addresses come from the loader. */
IMPLEMENTATION(name_new, 3)
IMPLEMENTATION(name_old, 5)
static IMPLEMENTATION(helper_new, 7)
static IMPLEMENTATION(helper_old, 11)
static IMPLEMENTATION(call_new, 13)
static IMPLEMENTATION(call_old, 17)
    /* clang-format on */

    static int is_new(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse2") != 0;
}

function *choose_name(void)
{
	return is_new() ? name_new : name_old;
}

__attribute__((noinline, noclone)) static function *help(int new)
{
	return new ? helper_new : helper_old;
}

function *choose_helper(void)
{
	return help(is_new());
}

__attribute__((noinline, noclone)) static function *help_more(int new)
{
	return new ? call_new : call_old;
}

/* Not its last action. */
function *choose_call(void)
{
	function *f = help_more(is_new());

	__asm__ volatile("" : "+r"(f));
	return f;
}

long by_name(long x) __attribute__((ifunc("choose_name")));
long by_helper(long x) __attribute__((ifunc("choose_helper")));
long by_call(long x) __attribute__((ifunc("choose_call")));
#endif

#ifndef LIBRARY
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10, sum = 0;

	for (long i = 0; i < n; i++)
		sum += by_name(i) + by_helper(i) + by_call(i) + by_call(-i);
	printf("hit by_name %ld\nhit by_helper %ld\nhit by_call %ld\n", n, n,
	       2 * n);
	return sum == 0;
}
#endif
