/* tests/guests/thread_spawn.c - four threads spawn programs at the same time,
 * under a timer's signals: every child runs and every status comes back. */
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>

static char *self;
static volatile int ticks;

static void handler(int sig)
{
	(void)sig;
	ticks++;
}

static void *spawns(void *arg)
{
	for (int i = 0; i < 6; i++) {
		char text[8], *args[] = {self, text, NULL};
		int status;
		pid_t pid;

		snprintf(text, sizeof text, "%d", (int)(long)arg * 10 + i);
		MUST(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args,
				 environ) == 0);
		while (waitpid(pid, &status, 0) != pid)
			MUST(errno == EINTR);
		SAME(status, ((int)(long)arg * 10 + i) << 8);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval t = {{0, 2000}, {0, 2000}}, never = {{0}};
	pthread_t th[4];

	if (argc > 1)
		return atoi(argv[1]);
	self = argv[0];
	MUST(sigaction(SIGALRM, &sa, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &t, NULL) == 0);
	for (long i = 0; i < 4; i++)
		MUST(pthread_create(&th[i], NULL, spawns, (void *)i) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(th[i], NULL);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	return guest_end();
}
