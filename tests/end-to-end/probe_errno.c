/* tests/end-to-end/probe_errno.c - errno of several threads, at work at once.
 *
 *	probe_errno ROUNDS [wait]
 *
 * seen(e) is called with errno being e; some are negative. `wait`: until there
 * is something to read. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 3 };

static long rounds;

__attribute__((noinline, noclone)) void seen(int e)
{
	__asm__ volatile("" : : "r"(e) : "memory");
}

static void *work(void *p)
{
	int thread = *(int *)p;

	for (long i = 0; i < rounds; i++) {
		errno = (int)(i * THREADS + thread) - 100;
		seen(errno);
	}
	if (close(-1) < 0)
		seen(EBADF);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int number[THREADS];
	char c;

	rounds = argc > 1 ? atol(argv[1]) : 100;
	if (argc > 2 && read(0, &c, 1) < 0)
		return 1;
	for (int i = 0; i < THREADS; i++) {
		number[i] = i;
		if (pthread_create(&thread[i], NULL, work, &number[i]) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("hit seen %ld\nok\n", THREADS * (rounds + 1));
	return 0;
}
