/* tests/guests/sig_exit_handler.c - exit called from a handler runs the exit
 * handlers and gives its status: 7. */
#include "guest.h"
#include <signal.h>

static void last(void)
{
	puts("ok");
}

static void handler(int sig)
{
	(void)sig;
	exit(7);
}

int main(void)
{
	atexit(last);
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	return 1;
}
