/* tests/guests/thread_exit_group.c - exit from one thread while others compute,
 * sleep, and wait for locks ends them all, with its status: 17. */
#include "guest.h"
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t b;

static void *computes(void *arg)
{
	volatile uint64_t n = 0;

	pthread_barrier_wait(&b);
	for (;;)
		n++;
	return arg;
}

static void *sleeps(void *arg)
{
	pthread_barrier_wait(&b);
	for (;;)
		pause();
	return arg;
}

static void *locks(void *arg)
{
	pthread_barrier_wait(&b);
	pthread_mutex_lock(&m);
	return arg;
}

static void *leaves(void *arg)
{
	pthread_barrier_wait(&b);
	usleep(2000);
	puts("ok");
	exit(17);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_mutex_lock(&m);
	pthread_barrier_init(&b, NULL, 5);
	pthread_create(&t, NULL, computes, NULL);
	pthread_create(&t, NULL, sleeps, NULL);
	pthread_create(&t, NULL, locks, NULL);
	pthread_create(&t, NULL, leaves, NULL);
	pthread_barrier_wait(&b);
	pthread_mutex_lock(&m);
	return 1;
}
