/* tests/guests/thread_stop_all.c - a process with busy and sleeping threads is
 * stopped and continued from outside, twenty times: none runs while it stands,
 * all run after. */
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static _Atomic uint32_t *ticks; /* shared with the parent */

static void *thread(void *arg)
{
	long i = (long)arg;

	while (!ticks[7]) {
		ticks[i]++;
		if (i >= 2)
			usleep(100);
		else if (ticks[i] % 10000 == 0)
			sched_yield();
	}
	return NULL;
}

static void child(void)
{
	pthread_t t[4];

	for (long i = 0; i < 4; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)i) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	_exit(19);
}

int main(void)
{
	int status;
	pid_t pid;

	ticks = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(ticks != MAP_FAILED);
	pid = fork();
	if (pid == 0)
		child();
	for (int r = 0; r < 20; r++) {
		uint32_t now[4];

		for (int i = 0; i < 4; i++) /* each has moved on */
			for (uint32_t v = ticks[i]; ticks[i] == v;)
				usleep(100);
		MUST(kill(pid, SIGSTOP) == 0);
		MUST(waitpid(pid, &status, WUNTRACED) == pid);
		SAME(WIFSTOPPED(status), 1);
		for (int i = 0; i < 4; i++)
			now[i] = ticks[i];
		usleep(500);
		for (int i = 0; i < 4; i++)
			SAME(ticks[i], now[i]);
		MUST(kill(pid, SIGCONT) == 0);
	}
	ticks[7] = 1;
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 19 << 8);
	return guest_end();
}
