/* tests/guests/sig_random_storm.c - programs made by chance while a timer
 * interrupts them at any instruction: the handler spoils what it may, and
 * whatever the moment, the results are the same. */
#include "random_code.h"
#include <signal.h>
#include <sys/time.h>

static volatile int signals;

static void handler(int sig)
{
	(void)sig;
	signals++;
	asm volatile("pcmpeqd %%xmm0, %%xmm0\n\tmovdqa %%xmm0, %%xmm7\n\t"
		     "movdqa %%xmm0, %%xmm15\n\txor %%eax, %%eax\n\tstc" ::
			 : "xmm0", "xmm7", "xmm15", "rax", "cc");
}

static uint64_t all(uint64_t seed, uint64_t n)
{
	uint64_t h = 1;

	for (uint64_t i = 0; i < n; i++) {
		make_program(seed + i);
		for (int k = 0; k < 20; k++) {
			prepare();
			run_program();
			h = sum_state(h);
		}
	}
	return h;
}

int main(int argc, char **argv)
{
	struct itimerval t = {{0, 150}, {0, 150}}, never = {{0}};
	uint64_t seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1,
		 n = argc > 2 ? strtoul(argv[2], NULL, 0) : 50, want;
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};

	random_init();
	want = all(seed, n);
	MUST(sigaction(SIGALRM, &sa, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &t, NULL) == 0);
	for (int i = 0; i < 5 || signals < 20; i++)
		SAME(all(seed, n), want);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	printf("%016lx\n", want);
	return guest_end();
}
