/* tests/guests/code_breakpoint.c - a program that debugs itself: int3 is
 * written over its own compiled code, the handler puts the byte back and steps
 * over it with TF, a second trap sets it again. */
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

static uint8_t *at, saved;
static volatile int hits, steps;

__attribute__((noinline, aligned(64))) static int watched(int x)
{
	asm volatile("" : "+r"(x));
	return x * 3 + 1;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	if (info->si_code != SI_KERNEL) { /* behind it: arm again */
		steps++;
		*at = 0xcc;
		g[REG_EFL] &= ~0x100;
		return;
	}
	hits++;
	SAME(g[REG_RIP], at + 1);
	*at = saved;
	g[REG_RIP]--;
	g[REG_EFL] |= 0x100;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	MUST(sigaction(SIGTRAP, &sa, NULL) == 0);
	at = (uint8_t *)watched;
	SAME(watched(1), 4);
	MUST(mprotect((void *)((uint64_t)at & ~4095ull), 4096,
		      PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	saved = *at;
	*at = 0xcc;
	for (int i = 0; i < 100; i++)
		SAME(watched(i), 3 * i + 1);
	SAME(hits, 100);
	SAME(steps, 100);
	*at = saved;
	SAME(watched(5), 16);
	SAME(hits, 100);
	return guest_end();
}
