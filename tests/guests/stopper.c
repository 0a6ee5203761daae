/* tests/guests/stopper.c - stops a process for a moment.
 *
 *   stopper PID MICROSECONDS
 *
 * Waits so long, then sends SIGSTOP and, closely behind it, SIGCONT: whatever
 * else is done to the process meanwhile, it must go on. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	pid_t pid = argc > 2 ? (pid_t)atol(argv[1]) : 0;
	useconds_t when = argc > 2 ? (useconds_t)atol(argv[2]) : 0;

	if (pid <= 0)
		return 2;
	usleep(when);
	if (kill(pid, SIGSTOP) < 0)
		return 1;
	usleep(when % 300);
	return kill(pid, SIGCONT) < 0;
}
