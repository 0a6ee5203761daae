/* tests/guests/sig_overflow.c - a stack that overflows into its guard is
 * survived on the alternate stack: the fault lies near the stack pointer. */
#include "guest.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

static sigjmp_buf out;
static volatile int n, near_sp;
static char alt[65536];

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	int64_t d =
	    (char *)info->si_addr - (char *)uc->uc_mcontext.gregs[REG_RSP];

	(void)sig;
	n++;
	near_sp = d >= -4096 && d < 4096;
	siglongjmp(out, 1);
}

static int deeper(int depth)
{
	volatile char room[256];

	room[0] = (char)depth;
	return depth < 0 ? 0 : deeper(depth + 1) + room[0];
}

static void *thread(void *arg)
{
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};

	(void)arg;
	MUST(sigaltstack(&ss, NULL) == 0);
	for (volatile int i = 0; i < 5; i++)
		if (sigsetjmp(out, 1) == 0)
			deeper(0);
	return NULL;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler,
			       .sa_flags = SA_SIGINFO | SA_ONSTACK};
	pthread_attr_t attr;
	pthread_t t;

	MUST(sigaction(SIGSEGV, &sa, NULL) == 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	MUST(pthread_create(&t, &attr, thread, NULL) == 0);
	pthread_join(t, NULL);
	SAME(n, 5);
	SAME(near_sp, 1);
	return guest_end();
}
