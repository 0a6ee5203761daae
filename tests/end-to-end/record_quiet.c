/* tests/end-to-end/record_quiet.c - computes alone, then is dead.
 *
 *	record_quiet TURNS [LONG]
 *
 * Needs nothing from outside while it computes: a recording has nothing to say
 * of it. The SIGKILL that it sends to itself never returns. With LONG a turn of
 * its loop takes a thousand instructions. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

volatile long turns;
volatile uint32_t cell = 1;

#define STEP(x)	   ((x)*1664525 + 1013904223)
#define STEPS_4(x) STEP(STEP(STEP(STEP(x))))
#define DO_4(x)	   (x) = STEPS_4(x), cell = (x)
#define DO_16(x)   DO_4(x), DO_4(x), DO_4(x), DO_4(x)
#define DO_64(x)   DO_16(x), DO_16(x), DO_16(x), DO_16(x)
#define DO_256(x)  DO_64(x), DO_64(x), DO_64(x), DO_64(x)

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;
	pid_t me = getpid();
	uint32_t x = 1;

	cell = x;
	for (turns = 0; turns < n; turns++) {
		if (argc > 2)
			DO_256(x);
		else
			DO_4(x);
	}
	/* By hand: on the way through the C library something would be read. */
	__asm__ volatile("syscall"
			 :
			 : "a"(SYS_kill), "D"(me), "S"(SIGKILL)
			 : "rcx", "r11", "memory");
	return 1; /* nobody comes here */
}
