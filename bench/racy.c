/* bench/racy.c - a counter that is written many times, for bench/lists.
 *
 *	racy THREADS WRITES LOCK STRIDE
 *
 * Each thread writes the counter so often; LOCK 1: under a mutex. Between two
 * writes are STRIDE rounds of other work. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile long counter;
static volatile long elsewhere;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long writes, stride;
static int has_lock;

__attribute__((noinline)) static void add_one(long i)
{
	if (has_lock)
		pthread_mutex_lock(&lock);
	counter = counter + 1 + (i < 0);
	if (has_lock)
		pthread_mutex_unlock(&lock);
}

static void *work(void *unused)
{
	long rounds = 0;

	for (long i = 0; i < writes; i++) {
		for (long k = 0; k < stride; k++)
			rounds += k ^ i;
		add_one(i);
	}
	elsewhere = rounds;
	return unused;
}

int main(int argc, char **argv)
{
	enum { MOST = 64 };
	pthread_t threads[MOST];
	int n = argc == 5 ? atoi(argv[1]) : 0;

	if (n < 1 || n > MOST)
		return 2;
	writes = atol(argv[2]);
	has_lock = atoi(argv[3]);
	stride = atol(argv[4]);
	for (int i = 1; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	work(NULL);
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", counter);
	return 0;
}
