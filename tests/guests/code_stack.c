// build: -z execstack
/* tests/guests/code_stack.c - code on the stack: trampolines of nested
 * functions, and a function copied into a local array, which is itself and
 * its data in one page. */
#include "guest.h"

static int apply(int (*f)(int), int x)
{
	return f(x) + f(x + 1);
}

static int use(int k)
{
	int calls = 0;
	int inner(int x)
	{
		calls++;
		return x * k;
	}
	int r = apply(inner, 10);

	return r * 10 + calls;
}

static int deep(int n)
{
	int add(int x)
	{
		return x + n;
	}

	return n == 0 ? 0 : apply(add, 1) + deep(n - 1);
}

int main(void)
{
	for (int i = 0; i < 1000; i++)
		SAME(use(i), (21 * i) * 10 + 2);
	SAME(deep(100), 100 * 3 + 2 * 5050);
	for (uint32_t i = 0; i < 200; i++) {
		uint8_t code[16] = "\xb8\0\0\0\0\xc3";

		memcpy(code + 1, &i, 4);
		asm volatile("" ::: "memory");
		SAME(((uint32_t(*)(void))code)(), i);
	}
	return guest_end();
}
