/* tests/guests/sig_resethand.c - SA_RESETHAND puts the default action back
 * before the handler runs; the second signal kills. */
#include "guest.h"
#include <signal.h>

static volatile int n, was_default;

static void handler(int sig)
{
	struct sigaction now;

	n++;
	sigaction(sig, NULL, &now);
	was_default = now.sa_handler == SIG_DFL;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler,
			       .sa_flags = (int)SA_RESETHAND};

	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	raise(SIGUSR1);
	SAME(n, 1);
	SAME(was_default, 1);
	if (guest_end() != 0)
		return 1;
	fflush(stdout);
	raise(SIGUSR1); /* the end */
	return 2;
}
