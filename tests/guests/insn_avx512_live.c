/* tests/guests/insn_avx512_live.c - all 32 registers of 512 bits and the eight
 * opmasks survive system calls, a signal handler that spoils them, and a
 * context switch. */
#include "guest.h"
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

static volatile int handled;

static void spoil(int sig)
{
	(void)sig;
	handled++;
	asm volatile(
	    "vpternlogd $0xff, %%zmm0, %%zmm0, %%zmm0\n\t"
	    "vmovdqa64 %%zmm0, %%zmm17\n\tvmovdqa64 %%zmm0, %%zmm31\n\t"
	    "vmovdqa64 %%zmm0, %%zmm9\n\tkxnorq %%k1, %%k1, %%k1\n\t"
	    "kxnorq %%k7, %%k7, %%k7" ::
		: "xmm0", "xmm9");
}

int main(void)
{
	uint64_t in[8], o[4][8], k[2];
	long pid = getpid(), rc;

	if (!__builtin_cpu_supports("avx512bw"))
		guest_absent("processor");
	signal(SIGUSR1, spoil);
	for (int i = 0; i < 200; i++) {
		for (unsigned j = 0; j < 8; j++)
			in[j] = (uint64_t)i * 8 + j;
		asm volatile(
		    "vmovdqu64 %7, %%zmm0\n\tvmovdqa64 %%zmm0, %%zmm9\n\t"
		    "vmovdqa64 %%zmm0, %%zmm17\n\tvmovdqa64 %%zmm0, %%zmm31\n\t"
		    "kmovq %8, %%k1\n\tkmovq %8, %%k7\n\t"
		    "syscall\n\tmov $24, %%eax\n\tsyscall\n\t"
		    "vmovdqu64 %%zmm0, %1\n\tvmovdqu64 %%zmm9, %2\n\t"
		    "vmovdqu64 %%zmm17, %3\n\tvmovdqu64 %%zmm31, %4\n\t"
		    "kmovq %%k1, %5\n\tkmovq %%k7, %6"
		    : "=a"(rc), "=m"(o[0]), "=m"(o[1]), "=m"(o[2]), "=m"(o[3]),
		      "=m"(k[0]), "=m"(k[1])
		    : "m"(in), "r"(0x123456789abcdef0 + (uint64_t)i),
		      "a"(SYS_kill), "D"(pid), "S"(SIGUSR1)
		    : "rcx", "r11", "memory", "xmm0", "xmm9");
		for (int j = 0; j < 4; j++)
			CHECK(memcmp(o[j], in, 64) == 0);
		SAME(k[0], 0x123456789abcdef0 + (uint64_t)i);
		SAME(k[1], k[0]);
	}
	SAME(handled, 200);
	return guest_end();
}
