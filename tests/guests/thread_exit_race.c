/* tests/guests/thread_exit_race.c - a process ends by exit, by a signal or by
 * its last thread, while others start, fault, take signals and end: its status
 * is always the right one. */
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static volatile int *volatile nowhere = (int *)40;

static void handler(int sig)
{
	(void)sig;
}

static void *brief(void *arg)
{
	raise(SIGUSR1);
	return arg;
}

static void *starts(void *arg)
{
	for (;;) {
		pthread_t t;

		if (pthread_create(&t, NULL, brief, NULL) == 0)
			pthread_detach(t);
		sched_yield();
	}
	return arg;
}

static void *ends(void *arg)
{
	long how = (long)arg;

	usleep((useconds_t)(how * 37 % 900));
	if (how % 4 == 0)
		exit((int)how);
	if (how % 4 == 1)
		*nowhere = 1;
	if (how % 4 == 2)
		kill(getpid(), SIGKILL);
	_exit((int)how);
	return NULL;
}

int main(void)
{
	signal(SIGUSR1, handler);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	for (long i = 0; i < 32; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			pthread_t t;

			pthread_create(&t, NULL, starts, NULL);
			pthread_create(&t, NULL, ends, (void *)i);
			for (;;)
				pause();
		}
		MUST(waitpid(pid, &status, 0) == pid);
		if (i % 4 == 1)
			SAME(status & 0x7f, SIGSEGV);
		else if (i % 4 == 2)
			SAME(status, SIGKILL);
		else
			SAME(status, (int)i << 8);
	}
	return guest_end();
}
