/* tests/guests/insn_fsbase.c - rdfsbase, wrfsbase, arch_prctl and fs:0 agree;
 * the base may be moved and moved back under a running C library. */
#include "guest.h"
#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

static uint64_t other[8] = {11, 22, 33};

int main(void)
{
	uint64_t base, now, by_call = 0, word;

	asm volatile("mov %%fs:0, %0" : "=r"(base)); /* glibc keeps it there */
	MUST(syscall(SYS_arch_prctl, ARCH_GET_FS, &by_call) == 0);
	SAME(by_call, base);
	if (!(getauxval(AT_HWCAP2) & 2))
		guest_absent("kernel");
	for (int i = 0; i < 100; i++) {
		asm volatile("rdfsbase %0" : "=r"(now));
		SAME(now, base);
		asm volatile("wrfsbase %2\n\tmov %%fs:8, %0\n\trdfsbase %1\n\t"
			     "wrfsbase %3"
			     : "=&r"(word), "=&r"(now)
			     : "r"(other), "r"(base));
		SAME(word, 22);
		SAME(now, other);
		/* the 32-bit form clears the upper half */
		asm volatile("wrfsbase %2\n\trdfsbase %0\n\trdfsbase %k1\n\t"
			     "wrfsbase %3"
			     : "=&r"(now), "=&r"(word)
			     : "r"(0x123456789abul), "r"(base));
		SAME(now, 0x123456789ab);
		SAME(word, 0x456789ab);
		/* the kernel sees what the instruction wrote */
		long rc = SYS_arch_prctl;
		asm volatile("wrfsbase %3\n\tsyscall\n\twrfsbase %4"
			     : "+a"(rc)
			     : "D"(ARCH_GET_FS), "S"(&by_call), "r"(other),
			       "r"(base)
			     : "rcx", "r11", "memory");
		SAME(rc, 0);
		SAME(by_call, other);
	}
	return guest_end();
}
