/* tests/guests/insn_gsbase.c - a program may use gs: set by arch_prctl or
 * wrgsbase, read back, used by loads, stores, locked and vector operands,
 * through rip and absolute addresses, and kept over calls and signals. */
#include "guest.h"
#include <asm/prctl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

static uint64_t area[64] __attribute__((aligned(64)));
static volatile uint64_t in_handler;

static void handler(int sig)
{
	uint64_t v;

	(void)sig;
	asm volatile("mov %%gs:16, %0" : "=r"(v));
	in_handler = v;
}

static void use(void)
{
	uint64_t v, i = 3;

	for (uint64_t k = 0; k < 64; k++)
		area[k] = k * 100;
	asm volatile("mov %%gs:8, %0" : "=r"(v));
	SAME(v, 100);
	asm volatile("mov %%gs:(,%1,8), %0" : "=r"(v) : "r"(i));
	SAME(v, 300);
	asm volatile("movq $5, %%gs:32\n\tlock addq $7, %%gs:32\n\t"
		     "incq %%gs:32" ::
			 : "memory", "cc");
	SAME(area[4], 13);
	asm volatile("movdqa %%gs:64, %%xmm1\n\tmovdqu %%xmm1, %%gs:168" ::
			 : "memory", "xmm1");
	SAME(area[21], 800);
	SAME(area[22], 900);
	v = 1;
	asm volatile("xchg %0, %%gs:40\n\tpushq %%gs:48\n\tpopq %%gs:56"
		     : "+r"(v)::"memory");
	SAME(v, 500);
	SAME(area[5], 1);
	SAME(area[7], 600);
	raise(SIGUSR1);
	SAME(in_handler, 200);
	asm volatile("mov %%gs:-8(%k1), %0" : "=r"(v) : "r"(16ul));
	SAME(v, 100);
	asm volatile("mov %%gs:-8(%1), %0" : "=r"(v) : "r"(16ul));
	SAME(v, 100);
}

int main(void)
{
	uint64_t v = 1;

	signal(SIGUSR1, handler);
	MUST(syscall(SYS_arch_prctl, ARCH_GET_GS, &v) == 0);
	SAME(v, 0); /* nobody else's is seen */
	for (int i = 0; i < 20; i++) {
		MUST(syscall(SYS_arch_prctl, ARCH_SET_GS, area) == 0);
		use();
		if (getauxval(AT_HWCAP2) & 2) {
			asm volatile("rdgsbase %0" : "=r"(v));
			SAME(v, area);
			asm volatile("wrgsbase %1\n\trdgsbase %0"
				     : "=r"(v)
				     : "r"(area + 1));
			SAME(v, area + 1);
			syscall(SYS_arch_prctl, ARCH_GET_GS, &v);
			SAME(v, area + 1);
			asm volatile("mov %%gs:0, %0" : "=r"(v));
			SAME(v, area[1]);
			asm volatile("wrgsbase %0" ::"r"(area));
			use();
		}
	}
	return guest_end();
}
