/* tests/guests/insn_step_more.c - single steps through what is not simple: a
 * repeated string traps once an element, cpuid and rdtsc once, mov to ss hides
 * one trap, popf ends it late, a fault's handler is stepped over. */
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

static volatile int n, faults;
static uint64_t rips[64], rcxs[64];

static void step(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	if (n < 64) {
		rips[n] = (uint64_t)g[REG_RIP];
		rcxs[n] = (uint64_t)g[REG_RCX];
	}
	n++;
}

static void fault(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	faults++;
	SAME(g[REG_EFL] & 0x100, 0x100); /* still stepping */
	g[REG_RIP] += 2;
}

#define STEPS(insns)                                                   \
	do {                                                           \
		char a_[64] = "", b_[64] = "";                         \
		n = 0;                                                 \
		asm volatile(                                          \
		    "lea -128(%%rsp), %%rsp\n\tpushfq\n\t"             \
		    "orq $0x100, (%%rsp)\n\tpopfq\n\t" insns           \
		    "\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t" \
		    "lea 128(%%rsp), %%rsp"                            \
		    :                                                  \
		    : "S"(a_), "D"(b_)                                 \
		    : "rax", "rbx", "rcx", "rdx", "memory", "cc");     \
	} while (0)

int main(void)
{
	struct sigaction sa = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};

	MUST(sigaction(SIGTRAP, &sa, NULL) == 0);
	sa.sa_sigaction = fault;
	MUST(sigaction(SIGILL, &sa, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		STEPS("nop\n\tnop");
		SAME(n, 5); /* two nops, and the three that end it */
		STEPS("mov $5, %%ecx\n\trep movsb");
		SAME(n, 1 + 5 + 3);
		SAME(rcxs[1], 4); /* one element done, at the same address */
		SAME(rips[1], rips[0]);
		SAME(rcxs[5], 0);
		CHECK(rips[5] == rips[0] + 2);
		STEPS("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\tcpuid\n\trdtsc");
		SAME(n, 4 + 3);
		STEPS("xor %%ecx, %%ecx\n\trep stosb");
		SAME(n, 2 + 3);
		STEPS("mov %%ss, %%eax\n\tmov %%eax, %%ss\n\tnop\n\tnop");
		SAME(n, 3 + 3); /* none between mov ss and the nop */
		faults = 0;
		STEPS("ud2\n\tnop");
		SAME(faults, 1);
		printf(i ? "" : "around a fault: %d\n", n);
		STEPS("mov $3, %%ecx\n1:\tloop 1b");
		SAME(n, 1 + 3 + 3);
	}
	return guest_end();
}
