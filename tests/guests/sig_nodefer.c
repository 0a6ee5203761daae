/* tests/guests/sig_nodefer.c - SA_NODEFER lets a handler interrupt itself,
 * without it the second one waits; sa_mask holds others back until the end. */
#include "guest.h"
#include <signal.h>

static volatile int depth, deepest, order[16], n, usr2;

static void again(int sig)
{
	(void)sig;
	if (++depth > deepest)
		deepest = depth;
	if (n++ < 4)
		raise(SIGUSR1);
	depth--;
}

static void other(int sig)
{
	(void)sig;
	usr2 = 1;
}

static void holds(int sig)
{
	(void)sig;
	raise(SIGUSR2);
	order[0] = usr2; /* not yet */
}

int main(void)
{
	struct sigaction sa = {.sa_handler = again, .sa_flags = SA_NODEFER};

	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	raise(SIGUSR1);
	SAME(deepest, 5);
	SAME(n, 5);
	sa.sa_flags = 0;
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	deepest = n = 0;
	raise(SIGUSR1);
	SAME(deepest, 1);
	SAME(n, 5);
	signal(SIGUSR2, other);
	sa.sa_handler = holds;
	sigaddset(&sa.sa_mask, SIGUSR2);
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	raise(SIGUSR1);
	SAME(order[0], 0);
	SAME(usr2, 1);
	/* NODEFER with its own number in the mask is blocked all the same */
	sa = (struct sigaction){.sa_handler = again, .sa_flags = SA_NODEFER};
	sigaddset(&sa.sa_mask, SIGUSR1);
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	deepest = n = 0;
	raise(SIGUSR1);
	SAME(deepest, 1);
	return guest_end();
}
