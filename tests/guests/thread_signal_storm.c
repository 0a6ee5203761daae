/* tests/guests/thread_signal_storm.c - two threads compute while a third sends
 * them signals as fast as they take them: sums stay right, none is lost. */
#include "guest.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

static __thread atomic_int mine;
static atomic_int handled, done;
static sem_t taken;

static void handler(int sig)
{
	double d = 1.5;

	(void)sig;
	mine++;
	handled++;
	asm volatile("mulsd %0, %0\n\tpxor %%xmm1, %%xmm1" : "+x"(d)::"xmm1");
	sem_post(&taken);
}

static uint64_t compute(void)
{
	uint64_t h = 7;
	double d = 1;

	for (int i = 0; i < 5000; i++) {
		guest_random(&h);
		d = d * 0.999 + (double)(h >> 60);
	}
	return guest_hash(h, &d, 8);
}

static void *thread(void *arg)
{
	uint64_t want = compute();

	while (!done)
		if (compute() != want)
			SAME(compute(), want);
		else
			sched_yield();
	return arg;
}

int main(void)
{
	pthread_t t[2];
	int sent = 0;

	sem_init(&taken, 0, 0);
	signal(SIGUSR1, handler);
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&t[i], NULL, thread, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		MUST(pthread_kill(t[i % 2], SIGUSR1) == 0);
		sent++;
		if (i % 2 == 1) /* both took theirs */
			for (int k = 0; k < 2; k++)
				while (sem_wait(&taken) != 0)
					;
	}
	done = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	SAME(handled, sent);
	return guest_end();
}
