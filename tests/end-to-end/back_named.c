/* tests/end-to-end/back_named.c - threads with names, which change.
 *
 * Each is named by itself or by another thread; both wait for each other, so
 * that every name is there before what is looked at. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/prctl.h>

static sem_t ready, named;
static volatile int moments;

__attribute__((noinline)) static void moment(void)
{
	moments++;
}

static void *work(void *arg)
{
	sem_post(&ready);
	sem_wait(&named);
	moment(); /* named by the main thread */
	prctl(PR_SET_NAME, "own name");
	moment();
	sem_post(&ready);
	sem_wait(&named);
	return arg;
}

int main(void)
{
	pthread_t t;

	sem_init(&ready, 0, 0);
	sem_init(&named, 0, 0);
	moment();
	if (pthread_create(&t, NULL, work, NULL) != 0)
		return 1;
	sem_wait(&ready);
	if (pthread_setname_np(t, "given <&>") != 0)
		return 1;
	sem_post(&named);
	sem_wait(&ready);
	pthread_setname_np(pthread_self(), "last of all");
	moment();
	sem_post(&named);
	pthread_join(t, NULL);
	printf("moments %d\n", moments);
	return 0;
}
