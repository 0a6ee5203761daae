/* tests/guests/code_int80.c - mappings changed the 32-bit way, by int 80h: code
 * made, changed and unmapped so is as new as by any other call; a fork and an
 * exit that way, too. */
#include "faults.h"
#include <sys/wait.h>

static long call32(long n, long b, long c, long d, long si, long di)
{
	long rc;

	asm volatile("int $0x80"
		     : "=a"(rc)
		     : "a"(n), "b"(b), "c"(c), "d"(d), "S"(si), "D"(di)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)rc;
}

int main(void)
{
	int status;
	pid_t pid;

	if (call32(20, 0, 0, 0, 0, 0) == -ENOSYS)
		guest_absent("kernel");
	fault_catch(SIGSEGV);
	for (uint32_t i = 0; i < 50; i++) {
		/* mmap2: anonymous, private, fixed at 0x30000000 */
		long p = call32(192, 0x30000000, 4096, 3, 0x32, -1);
		uint8_t *m = (uint8_t *)0x30000000;

		MUST(p == 0x30000000);
		memcpy(m, "\xb8\0\0\0\0\xc3", 6);
		memcpy(m + 1, &i, 4);
		MUST(call32(125, p, 4096, 5, 0, 0) == 0); /* mprotect */
		SAME(((uint32_t(*)(void))m)(), i);
		MUST(call32(91, p, 4096, 0, 0, 0) == 0); /* munmap */
		FAULT("call *%%rcx", "c"(m));
		asm volatile("add $8, %%rsp" ::: "cc");
		FAULTED(SIGSEGV, SEGV_MAPERR, 14);
		SAME(fault.addr, m);
	}
	pid = (pid_t)call32(2, 0, 0, 0, 0, 0); /* fork */
	if (pid == 0)
		call32(252, 23, 0, 0, 0, 0); /* exit_group */
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	SAME(status, 23 << 8);
	return guest_end();
}
