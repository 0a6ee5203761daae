/* tests/guests/proc_brk.c - the program break grows, shrinks, gives zeros, and
 * fails where it must. */
#include "guest.h"
#include <sys/resource.h>
#include <sys/syscall.h>

int main(void)
{
	char *start = (char *)syscall(SYS_brk, 0), *now;
	struct rlimit small = {1 << 20, 1 << 20};

	for (int i = 1; i < 20; i++) {
		now = (char *)syscall(SYS_brk, start + i * 10000);
		SAME(now, start + i * 10000);
		start[i * 10000 - 1] = (char)i;
	}
	SAME(start[9999], 1);
	SAME(syscall(SYS_brk, start), start);
	SAME(syscall(SYS_brk, start + 100000), start + 100000);
	SAME(start[90000], 0); /* given back and zero again */
	/* nonsense changes nothing */
	SAME(syscall(SYS_brk, 1), start + 100000);
	SAME(syscall(SYS_brk, start + (1ull << 46)), start + 100000);
	MUST(setrlimit(RLIMIT_DATA, &small) == 0);
	SAME(syscall(SYS_brk, start + (64 << 20)), start + 100000);
	CHECK(sbrk(0) != (void *)-1);
	return guest_end();
}
