/* tests/end-to-end/probe_early.c - something happens before main, and in it.
 *
 *	probe_early [threads]	built with -DTHREADS, before main, too */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone))

static volatile int sum;

FUNCTION void work(int n)
{
	sum += n;
}

#ifdef THREADS
static void *rest(void *p)
{
	(void)p;
	for (;;)
		pause();
	return NULL;
}
#endif

__attribute__((constructor)) static void before(void)
{
#ifdef THREADS
	pthread_t t;

	pthread_create(&t, NULL, rest, NULL);
#endif
	work(1);
	work(2);
}

__attribute__((destructor)) static void after(void)
{
	work(7);
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < argc; i++)
		work(4);
	printf("sum %d\n", sum);
	return sum;
}
