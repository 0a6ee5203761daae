/* Two threads and two mutexes: one is held while its owner sleeps, so that the
 * other thread waits; one is hardly ever waited for. The threads keep their own
 * account of every lock. Prints for each mutex: its address, how often it was
 * locked, and for how many ns that took in all. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 200 };

struct account {
	pthread_mutex_t mutex;
	_Atomic unsigned long locks, ns;
};

static struct account slow = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct account quick = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static unsigned long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long)ts.tv_sec * 1000000000ul +
	       (unsigned long)ts.tv_nsec;
}

static void lock(struct account *a)
{
	unsigned long begin = now();

	pthread_mutex_lock(&a->mutex);
	a->ns += now() - begin;
	a->locks++;
}

static void *work(void *arg)
{
	const struct timespec half_ms = {.tv_nsec = 500000};

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		lock(&slow);
		nanosleep(&half_ms, NULL);
		pthread_mutex_unlock(&slow.mutex);
		for (int k = 0; k < 10; k++) {
			lock(&quick);
			pthread_mutex_unlock(&quick.mutex);
		}
	}
	return NULL;
}

static void tell(const struct account *a)
{
	printf("%lu %lu %lu\n", (unsigned long)(uintptr_t)&a->mutex, a->locks,
	       a->ns);
}

int main(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, work, NULL) != 0)
		return 1;
	work(NULL);
	pthread_join(other, NULL);
	tell(&slow);
	tell(&quick);
	return 0;
}
