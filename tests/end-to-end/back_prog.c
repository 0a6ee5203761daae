/* tests/end-to-end/back_prog.c - corrupts memory long before it crashes.
 *
 * It prints what was true at known moments, for the debugger's answers to be
 * compared with. */
#define _GNU_SOURCE
#include <immintrin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

struct item {
	int id;
	char name[12];
	struct item *next;
};

static __thread int own = 40;
static int total;
static volatile int signals;
static struct item *list;

static int add(int a, int b)
{
	int sum = a + b;

	return sum;
}

static void name_item(struct item *i, const char *name)
{
	strcpy(i->name, name); /* the culprit: it may be too long */
}

static void count_signal(int sig)
{
	signals += sig;
}

static void skip_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void fault(void)
{
	struct sigaction act = {.sa_sigaction = skip_fault,
				.sa_flags = SA_SIGINFO};

	sigaction(SIGILL, &act, NULL);
	__asm__ volatile("ud2");
}

__attribute__((target("avx"), noinline)) static void use_avx(void)
{
	__m256i v = _mm256_set1_epi32(0x1234567);

	__asm__ volatile("vmovdqa %0, %%ymm7" : : "x"(v) : "xmm7");
	own++; /* here ymm7 is known */
	_mm256_zeroupper();
}

static int weigh(const struct item *i)
{
	int sum = 0;

	for (; i != NULL; i = i->next)
		sum += i->id; /* the crash */
	return sum;
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 3; i++) {
		struct item *n = calloc(1, sizeof *n);

		n->id = i;
		n->next = list;
		list = n;
	}
	printf("list %p pid %d\n", (void *)list, (int)getpid());
	name_item(list, "short");
	name_item(list->next, argc > 1 ? "fits" : "far too long a name");
	for (int i = 1; i <= 100; i++)
		total = add(total, i);
	signal(SIGUSR1, count_signal);
	raise(SIGUSR1);
	fault();
	if (__builtin_cpu_supports("avx"))
		use_avx();
	printf("total %d own %d signals %d\n", total, own, signals);
	fflush(stdout);
	return weigh(list);
}
