/* tests/end-to-end/back_idle.c - a thread that waits for ever. */
#include <pthread.h>
#include <semaphore.h>

static sem_t ready, never;
static volatile int n;

static void *wait_for_ever(void *arg)
{
	sem_post(&ready);
	sem_wait(&never);
	return arg;
}

__attribute__((noinline)) static void after(void)
{
	n++;
}

int main(void)
{
	pthread_t thread;

	sem_init(&ready, 0, 0);
	sem_init(&never, 0, 0);
	pthread_create(&thread, NULL, wait_for_ever, NULL);
	sem_wait(&ready);
	after();
	return 0;
}
