/* tests/end-to-end/back_threads.c - two threads that take turns. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static __thread int own;
static int shared, last_writer;

static void *work(void *arg)
{
	int me = *(int *)arg;

	pthread_barrier_wait(&both);
	own = 100 * me;		     /* both are here */
	pthread_barrier_wait(&both); /* neither ends before the other was */
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&lock);
		shared++;
		last_writer = me;
		own++;
		pthread_mutex_unlock(&lock);
		if (i % 10 == 0)
			usleep(100);
	}
	return NULL;
}

static void report(void)
{
	printf("shared %d last %d own %d\n", shared, last_writer, own);
}

int main(void)
{
	int one = 1, two = 2;
	pthread_t thread;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&thread, NULL, work, &two);
	work(&one);
	pthread_join(thread, NULL);
	report();
	return 0;
}
