/* tests/guests/thread_births.c - signals for the process rain down while
 * threads are born and die: each is handled once, by somebody, and nobody is
 * lost. */
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int handled, born, died;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *thread(void *arg)
{
	uint64_t h = (uint64_t)arg + 1;

	born++;
	for (int i = 0; i < 100; i++)
		guest_random(&h);
	died++;
	return (void *)h;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = (void *)handler,
			       .sa_flags = SA_RESTART};
	int go[2], status, sent = 0;
	char c;
	pid_t pid, me = getpid();

	MUST(pipe(go) == 0 && sigaction(SIGUSR1, &sa, NULL) == 0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 200; i++) {
			kill(me, SIGUSR1);
			if (read(go[0], &c, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < 400; i++) {
		pthread_t t;

		MUST(pthread_create(&t, NULL, thread, (void *)(long)i) == 0);
		if (handled > sent && sent < 200) { /* one at a time */
			sent++;
			MUST(write(go[1], "x", 1) == 1);
		}
		pthread_join(t, NULL);
	}
	while (sent < 200) {
		while (handled <= sent)
			sched_yield();
		sent++;
		MUST(write(go[1], "x", 1) == 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	SAME(handled, 200);
	SAME(born, 400);
	SAME(died, 400);
	return guest_end();
}
