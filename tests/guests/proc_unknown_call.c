/* tests/guests/proc_unknown_call.c - numbers that are no system calls give
 * ENOSYS, whatever the upper half says; arguments of 32 bits ignore theirs. */
#include "guest.h"
#include <fcntl.h>
#include <sys/syscall.h>

static long raw(long n, long a, long b, long c)
{
	long r;

	asm volatile("syscall"
		     : "=a"(r)
		     : "a"(n), "D"(a), "S"(b), "d"(c)
		     : "rcx", "r11", "memory");
	return r;
}

int main(void)
{
	static const long none[] = {350,     400,      420, 1000, 5000,
				    0x10000, 99999999, -1,  -100};
	int p[2];
	char c = 0;

	for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++)
		SAME(raw(none[i], 0, 0, 0), -ENOSYS);
	/* eax alone names the call */
	SAME(raw((long)(0xabcd00000000 | SYS_getpid), 0, 0, 0), getpid());
	MUST(pipe(p) == 0);
	SAME(raw(SYS_write, (long)(0x1234500000000 | (unsigned)p[1]), (long)"x",
		 1),
	     1);
	SAME(
	    raw(SYS_read, (long)(0xffff00000000 | (unsigned)p[0]), (long)&c, 1),
	    1);
	SAME(c, 'x');
	/* the x32 numbers are as natively, here or not */
	long x32 = raw(0x40000000 | SYS_getpid, 0, 0, 0);
	CHECK(x32 == -ENOSYS || x32 == getpid());
	printf("x32 %s\n", x32 == -ENOSYS ? "no" : "yes");
	return guest_end();
}
