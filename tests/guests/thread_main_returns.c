/* tests/guests/thread_main_returns.c - main returns while threads are starting,
 * computing and ending: the status is main's, every time. */
#include "guest.h"
#include <pthread.h>
#include <sys/wait.h>

static void *thread(void *arg)
{
	uint64_t h = (uint64_t)arg + 1;

	for (int i = 0; i < 1000; i++)
		guest_random(&h);
	return (void *)h;
}

static int races(int n)
{
	pthread_t t;

	for (int i = 0; i < n; i++)
		if (pthread_create(&t, NULL, thread, NULL) != 0)
			return 99;
	return n;
}

int main(void)
{
	for (int i = 0; i < 40; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			exit(races(i % 7));
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status, (i % 7) << 8);
	}
	return guest_end();
}
