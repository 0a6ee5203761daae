/* tests/guests/image_names.c - names that are harder than they look: aliases,
 * weak and local ones, an ifunc, cold parts, code without a name of its own,
 * a stack that was realigned. Prints the sum of what it calls. */
#include <stdio.h>
#include <string.h>

int real_name(int x);
int other_name(int x) __attribute__((alias("real_name")));
int weak_name(int x) __attribute__((weak, alias("real_name")));
int chosen(int x);
int table[16] = {3, 1, 4, 1, 5, 9, 2, 6};
static int hidden[8];

__attribute__((noinline)) int real_name(int x)
{
	return x * 7 + table[x & 7];
}

static __attribute__((noinline)) int chosen_a(int x)
{
	return x + 1;
}

static __attribute__((noinline)) int chosen_b(int x)
{
	return x + 2;
}

static int (*choose(void))(int)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse2") ? chosen_a : chosen_b;
}

int chosen(int x) __attribute__((ifunc("choose")));

static __attribute__((noinline, cold)) int rarely(int x)
{
	return printf("rarely %d\n", x);
}

static __attribute__((noinline)) int maybe(int x)
{
	if (__builtin_expect(x > 1000000, 0)) {
		memset(hidden, x, sizeof hidden);
		return rarely(x);
	}
	return hidden[x & 7] + x;
}

/* gcc keeps the old stack pointer in a register here. */
static __attribute__((noinline)) int aligned(int n)
{
	_Alignas(64) volatile char wide[64];
	char *room = __builtin_alloca((size_t)n);

	memset(room, n, (size_t)n);
	wide[0] = room[0];
	return wide[0] + ((long)wide % 64 != 0);
}

__asm__(".text\n"
	"nameless: .cfi_startproc\n"
	"	lea 5(%rdi), %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type nameless, @function\n"
	"bare:	lea 6(%rdi), %eax\n"
	"	ret\n");
int nameless(int x);
int bare(int x);

int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", real_name(argc) + other_name(argc) + weak_name(2) +
			   chosen(argc) + maybe(argc) + aligned(argc + 40) +
			   nameless(argc) + bare(argc));
	return 0;
}
