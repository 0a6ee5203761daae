/* tests/guests/sig_async_longjmp.c - a timer's handler leaves by siglongjmp out
 * of computing code, a hundred times; the program is still itself after. */
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf out;
static volatile uint64_t sink;

static void handler(int sig)
{
	siglongjmp(out, sig);
}

static uint64_t compute(uint64_t n)
{
	uint64_t h = 1;

	for (uint64_t i = 0; i < n; i++)
		h = h * 6364136223846793005 + 1442695040888963407;
	return h;
}

int main(void)
{
	struct itimerval once = {{0, 0}, {0, 500}};
	volatile int left = 0;
	uint64_t want = compute(1000);

	signal(SIGALRM, handler);
	for (volatile int i = 0; i < 100; i++)
		if (sigsetjmp(out, 1) == 0) {
			MUST(setitimer(ITIMER_REAL, &once, NULL) == 0);
			for (;;)
				sink = compute(1000);
		} else {
			left++;
			SAME(compute(1000), want);
		}
	SAME(left, 100);
	return guest_end();
}
