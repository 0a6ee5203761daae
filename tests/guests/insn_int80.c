/* tests/guests/insn_int80.c - the 32-bit way into the kernel still works from
 * 64-bit code, with its own numbers and its own rules: r8 to r11 survive or
 * are cleared as natively, rcx stays. */
#include "guest.h"
#include <signal.h>

static long call32(long n, long b, long c)
{
	long rc;

	asm volatile("int $0x80"
		     : "=a"(rc)
		     : "a"(n), "b"(b), "c"(c)
		     : "memory", "r8", "r9", "r10", "r11");
	return rc;
}

int main(void)
{
	long rc;
	uint64_t rcx = 0x1234;

	asm volatile("int $0x80"
		     : "=a"(rc), "+c"(rcx)
		     : "a"(20), "b"(0)
		     : "memory", "r8", "r9", "r10", "r11");
	if (rc == -ENOSYS)
		guest_absent("kernel");
	for (int i = 0; i < 20; i++) {
		SAME(call32(20, 0, 0), getpid()); /* getpid */
		SAME(call32(64, 0, 0), getppid());
		SAME((int)call32(6, -1, 0), -EBADF); /* close */
		SAME((int)call32(999, 0, 0), -ENOSYS);
	}
	SAME(rcx, 0x1234);
	return guest_end();
}
