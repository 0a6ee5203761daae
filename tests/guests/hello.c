/* tests/guests/hello.c - the first program to try hark on.
 *
 * A few threads, one after the other, say hello through the lock that they
 * share; so the output is always the same. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3 };

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static long turn;

static void *greet(void *arg)
{
	long me = (long)arg;

	pthread_mutex_lock(&turn_lock);
	while (turn != me)
		pthread_cond_wait(&turn_changed, &turn_lock);
	printf("hello from thread %ld\n", me + 1);
	turn++;
	pthread_cond_broadcast(&turn_changed);
	pthread_mutex_unlock(&turn_lock);
	return NULL;
}

/* hello [STATUS]: what it ends with */
int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, greet, (void *)i) != 0)
			return 99;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("hello from main\n");
	return argc > 1 ? atoi(argv[1]) : 0;
}
