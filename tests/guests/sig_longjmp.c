/* tests/guests/sig_longjmp.c - handlers left by siglongjmp, a thousand times:
 * from faults, from raise, from a nested handler; masks as asked for. */
#include "guest.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf out;
static volatile int *volatile bad = (int *)8;

static void leave(int sig)
{
	siglongjmp(out, sig);
}

static void nest(int sig)
{
	(void)sig;
	*bad = 1;
}

int main(void)
{
	sigset_t now;
	volatile int faults = 0, raised = 0, nested = 0;

	signal(SIGSEGV, leave);
	signal(SIGUSR1, leave);
	signal(SIGUSR2, nest);
	for (volatile int i = 0; i < 500; i++) {
		if (sigsetjmp(out, 1) == 0) {
			*(volatile int *)(long)(i * 8) = 1;
			SAME(i, -1); /* not here */
		} else {
			faults++;
		}
		if (sigsetjmp(out, 1) == 0)
			raise(SIGUSR1);
		else
			raised++;
		if (sigsetjmp(out, 1) == 0)
			raise(SIGUSR2);
		else
			nested++;
		sigprocmask(SIG_BLOCK, NULL, &now);
		CHECK(!sigismember(&now, SIGSEGV));
		CHECK(!sigismember(&now, SIGUSR2));
	}
	SAME(faults, 500);
	SAME(raised, 500);
	SAME(nested, 500);
	/* without the mask it stays blocked */
	if (sigsetjmp(out, 0) == 0)
		raise(SIGUSR1);
	sigprocmask(SIG_BLOCK, NULL, &now);
	CHECK(sigismember(&now, SIGUSR1));
	return guest_end();
}
