/* tests/guests/sig_autodisarm.c - SS_AUTODISARM: the alternate stack is off
 * while a handler runs on it, may be replaced there, and is back after. */
#include "guest.h"
#include <signal.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

static char one[65536], two[65536];
static volatile int n, off, on_two, on_one;

static int within(void *p, char *stack)
{
	return (char *)p >= stack && (char *)p < stack + 65536;
}

static void inner(int sig)
{
	int here;

	(void)sig;
	on_two = within(&here, two);
}

static void outer(int sig)
{
	stack_t now, other = {.ss_sp = two, .ss_size = sizeof two};
	int here;

	(void)sig;
	n++;
	on_one = within(&here, one);
	sigaltstack(NULL, &now);
	off = (now.ss_flags & SS_DISABLE) != 0;
	MUST(sigaltstack(&other, NULL) == 0);
	raise(SIGUSR2);
}

int main(void)
{
	stack_t ss = {.ss_sp = one,
		      .ss_size = sizeof one,
		      .ss_flags = (int)SS_AUTODISARM},
		now;
	struct sigaction sa = {.sa_handler = outer, .sa_flags = SA_ONSTACK};

	MUST(sigaltstack(&ss, NULL) == 0);
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	sa.sa_handler = inner;
	MUST(sigaction(SIGUSR2, &sa, NULL) == 0);
	for (int i = 0; i < 20; i++) {
		raise(SIGUSR1);
		SAME(off, 1);
		SAME(on_one, 1);
		SAME(on_two, 1);
		sigaltstack(NULL, &now); /* restored by the return */
		SAME(now.ss_sp, one);
		SAME((unsigned)now.ss_flags, SS_AUTODISARM);
	}
	SAME(n, 20);
	return guest_end();
}
