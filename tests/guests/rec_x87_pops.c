/* tests/guests/rec_x87_pops.c - stores of the x87 unit that only exist with a
 * pop: of values that memory cannot hold, and of registers that are empty. What
 * they leave behind is in registers when the thread ends, which is right behind
 * them: the dynamic linker would load all registers, which is recorded. */
#include "guest.h"

#include <sys/syscall.h>

static uint8_t to[10];

static void rounds(void)
{
	static const double halves = 2362232012.8;
	uint64_t out = 0;

	__asm__ volatile("fldl %1; fistpll %0" : "=m"(out) : "m"(halves));
	SAME(out, 2362232013);
}

/* An indefinite value is stored: the sign, all of the exponent, 11. */
static void empty(void)
{
	static const uint8_t indefinite[10] = {0, 0, 0,	   0,	 0,
					       0, 0, 0xc0, 0xff, 0xff};
	uint64_t out = 0;

	__asm__ volatile("fninit; fstpt %0; fistpll %1" : "=m"(to), "=m"(out));
	CHECK(memcmp(to, indefinite, sizeof to) == 0);
	SAME(out, 1ull << 63);
}

int main(void)
{
	int end;

	rounds();
	empty();
	end = guest_end();
	fflush(stdout);
	if (end == 0) {
		rounds();
		empty();
	}
	__asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(end));
	return 1;
}
