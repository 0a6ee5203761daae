/* tests/guests/sig_abort.c - abort, blocked, then handled once, ends in SIGABRT
 * all the same; what was printed before is there. */
#include "guest.h"
#include <signal.h>
#include <sys/resource.h>

static void handler(int sig)
{
	(void)sig;
	dprintf(1, "handled\nok\n");
}

int main(void)
{
	struct rlimit none = {0, 0};
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	sigemptyset(&set);
	sigaddset(&set, SIGABRT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGABRT, handler);
	puts("before");
	fflush(stdout);
	abort();
}
