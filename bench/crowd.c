/* bench/crowd.c - a hundred threads, each with data of its own, and some that
 * all share: crowd N
 *
 * Each takes N steps through 64 KB of its own; now and then it takes the lock.
 * What is written once at the start is asked for at the end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 100, WORDS = 1 << 13, STEPS_A_LOCK = 1 << 12 };

volatile long early = 7;
long shared;
static long steps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *number)
{
	unsigned random = (unsigned)(size_t)number + 1;
	long *mine = calloc(WORDS, sizeof *mine);

	if (mine == NULL)
		exit(1);
	for (long i = 0; i < steps; i++) {
		random = random * 1664525 + 1013904223;
		mine[random >> 16 & (WORDS - 1)] += i;
		if (i % STEPS_A_LOCK == 0) {
			pthread_mutex_lock(&lock);
			shared++;
			pthread_mutex_unlock(&lock);
		}
	}
	free(mine);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	steps = argc > 1 ? atol(argv[1]) : 0;
	early = 42;
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			return 1;
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %ld\n", early, shared);
	return 0;
}
