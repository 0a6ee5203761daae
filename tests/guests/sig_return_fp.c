/* tests/guests/sig_return_fp.c - the return from a handler brings back x87
 * stack, control words, MXCSR and the whole vector registers, upper halves
 * included, whatever the handler left there. */
#include "guest.h"
#include <signal.h>
#include <sys/syscall.h>

static volatile int n;

static void handler(int sig)
{
	uint32_t mx = 0x7f80;

	(void)sig;
	n++;
	asm volatile("fninit\n\tfldz\n\tfldz\n\tldmxcsr %0" ::"m"(mx));
	if (__builtin_cpu_supports("avx"))
		asm volatile("vzeroall");
	else
		asm volatile("pxor %%xmm9, %%xmm9" ::: "xmm9");
}

int main(void)
{
	uint64_t ymm[4], back[4], x87 = 0;
	uint16_t cw = 0xc7f, cw2;
	uint32_t mx = 0x3f80, mx2;
	long rc;
	int avx = __builtin_cpu_supports("avx") != 0;

	signal(SIGUSR1, handler);
	for (uint64_t i = 0; i < 200; i++) {
		for (unsigned k = 0; k < 4; k++)
			ymm[k] = i * 4 + k + 1;
		memset(back, 0, sizeof back);
		if (avx)
			asm volatile("vmovdqu %0, %%ymm9" ::"m"(ymm));
		asm volatile("movdqu %[y], %%xmm8\n\tldmxcsr %[mx]\n\t"
			     "fninit\n\tfldcw %[cw]\n\tfldpi\n\tfld1\n\t"
			     "syscall\n\t"
			     "fnstcw %[cw2]\n\tstmxcsr %[mx2]\n\tfaddp\n\t"
			     "fistpll %[x]\n\tfninit\n\tmovdqu %%xmm8, %[b]\n\t"
			     "ldmxcsr %[nx]"
			     : "=a"(rc), [cw2] "=m"(cw2), [mx2] "=m"(mx2),
			       [x] "=m"(x87), [b] "=m"(back)
			     : [y] "m"(ymm), [mx] "m"(mx), [cw] "m"(cw),
			       [nx] "m"((uint32_t){0x1f80}), "a"(SYS_kill),
			       "D"((long)getpid()), "S"(SIGUSR1)
			     : "rcx", "r11", "memory", "xmm8");
		SAME(n, i + 1);
		SAME(cw2, cw | 0x40);
		SAME(mx2, mx);
		SAME(x87, 4);
		SAME(back[1], ymm[1]);
		if (avx) {
			asm volatile("vmovdqu %%ymm9, %0\n\tvzeroupper"
				     : "=m"(back)
				     :
				     : "xmm9");
			CHECK(memcmp(back, ymm, sizeof ymm) == 0);
		}
	}
	return guest_end();
}
