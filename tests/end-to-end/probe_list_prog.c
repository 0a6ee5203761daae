/* tests/end-to-end/probe_list_prog.c - functions with known sites. */
#include <stdio.h>

int twice(int n);
int tail(int n);

/* One entry, one return. */
__attribute__((noinline)) int twice(int n)
{
	__asm__ volatile("");
	return 2 * n; /* line of twice */
}

/* Ends in a jump to twice. */
__attribute__((noinline)) int tail(int n)
{
	__asm__ volatile("");
	return twice(n + 1);
}

int main(void)
{
	printf("%d\n", tail(20));
	return 0;
}
