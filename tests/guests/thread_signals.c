/* tests/guests/thread_signals.c - pthread_kill reaches the one thread it names,
 * running or asleep; a signal for the process goes to one that does not block
 * it; each thread has a mask of its own. */
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { N = 6 };

static __thread int my_id, hits;
static atomic_int ready, stop, total[N], process_hits, wrong;

static void handler(int sig)
{
	if (sig == SIGUSR1) {
		hits++;
		total[my_id]++;
	} else {
		process_hits++;
		if (my_id != 3)
			wrong++;
	}
}

static void *thread(void *arg)
{
	sigset_t set, now;
	volatile unsigned spins = 0;

	my_id = (int)(uintptr_t)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (my_id != 3)
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	ready++;
	while (!stop)
		if (my_id & 1)
			usleep(300);
		else if (++spins % 100000 == 0)
			sched_yield();
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	SAME(sigismember(&now, SIGUSR2), my_id != 3);
	SAME(hits, total[my_id]);
	return NULL;
}

int main(void)
{
	pthread_t t[N];
	sigset_t set;

	my_id = -1;
	signal(SIGUSR1, handler);
	signal(SIGUSR2, handler);
	for (uintptr_t i = 0; i < N; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)i) == 0);
	while (ready < N)
		usleep(100);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int round = 1; round <= 10; round++)
		for (int i = 0; i < N; i++) {
			MUST(pthread_kill(t[i], SIGUSR1) == 0);
			while (total[i] < round)
				sched_yield();
			SAME(total[i], round);
		}
	for (int i = 1; i <= 20; i++) {
		MUST(kill(getpid(), SIGUSR2) == 0);
		while (process_hits < i)
			sched_yield();
	}
	stop = 1;
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	SAME(wrong, 0);
	SAME(process_hits, 20);
	SAME(syscall(SYS_tgkill, getpid(), 1 << 22, 0), -1);
	SAME(errno, ESRCH);
	return guest_end();
}
