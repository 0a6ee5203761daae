/* tests/guests/code_coroutines.c - a hundred coroutines by swapcontext, each on
 * a stack of its own, and a hand-written switch that only changes rsp. */
#include "guest.h"
#include <ucontext.h>

enum { N = 100, ROUNDS = 50 };

static ucontext_t center, each[N];
static uint64_t sums[N];

static void body(int id)
{
	for (int i = 0; i < ROUNDS; i++) {
		sums[id] += (uint64_t)(id * i);
		swapcontext(&each[id], &center);
	}
}

/* clang-format off */
asm(".globl switch_to\n"
    "switch_to:\n" /* rdi: where to keep rsp, rsi: the other one */
    "	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
    "	mov %rsp, (%rdi)\n	mov %rsi, %rsp\n"
    "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n"
    "	ret\n");
/* clang-format on */
void switch_to(void **keep, void *other);

static void *main_sp, *side_sp;
static volatile int ping;

static void side(void)
{
	for (;;) {
		ping++;
		switch_to(&side_sp, main_sp);
	}
}

int main(void)
{
	uint64_t *stack = malloc(65536), *top = stack + 8192;

	for (int i = 0; i < N; i++) {
		getcontext(&each[i]);
		each[i].uc_stack.ss_sp = malloc(16384);
		each[i].uc_stack.ss_size = 16384;
		each[i].uc_link = &center;
		makecontext(&each[i], (void (*)(void))(void *)body, 1, i);
	}
	for (int r = 0; r <= ROUNDS; r++)
		for (int i = 0; i < N; i++)
			swapcontext(&center, &each[i]);
	for (int i = 0; i < N; i++)
		SAME(sums[i], i * (ROUNDS * (ROUNDS - 1) / 2));
	*--top = 0; /* alignment */
	*--top = (uint64_t)side;
	top -= 6;
	side_sp = top;
	for (int i = 1; i <= 20000; i++) {
		switch_to(&main_sp, side_sp);
		if (ping != i)
			SAME(ping, i);
	}
	return guest_end();
}
