/* tests/guests/thread_setuid.c - setting ids is told to every thread by the C
 * library's own signal, wherever the threads are. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static atomic_int ready, stop, wrong;
static uid_t want;

static void *thread(void *arg)
{
	volatile unsigned spins = 0;

	ready++;
	while (!stop)
		if (arg != NULL)
			usleep(200);
		else if (++spins % 100000 == 0)
			sched_yield();
	if (syscall(SYS_getuid) != want || syscall(SYS_geteuid) != want)
		wrong++;
	return NULL;
}

static int child(void)
{
	pthread_t t[4];

	want = getuid() == 0 ? 12345 : getuid();
	for (uintptr_t i = 0; i < 4; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)(i & 1)) == 0);
	while (ready < 4)
		usleep(100);
	MUST(setgid(getgid()) == 0);
	MUST(setuid(want) == 0);
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return wrong;
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(child());
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status, 0);
	}
	return guest_end();
}
