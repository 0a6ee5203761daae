/* tests/guests/sig_death_term.c - a process that kills itself with SIGTERM ends
 * by that signal, its exit handlers unheard. */
#include "guest.h"
#include <signal.h>

static void never(void)
{
	dprintf(1, "exit handler ran\n");
}

int main(void)
{
	atexit(never);
	signal(SIGTERM, SIG_DFL);
	puts("ok");
	fflush(stdout);
	kill(getpid(), SIGTERM);
	return 1;
}
