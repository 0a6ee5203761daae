/* tests/end-to-end/back_ring.c - threads that take in far more than a ring
 * keeps, each as much as the others, and say how far they came.
 *
 * Their buffers are not thread-local: without random addresses large
 * thread-local variables share indices of the shadow with the main stack, and
 * what was before the ring cannot tell the two apart. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORKERS = 3, ROUNDS = 120, PIECE = 1 << 15 };

static unsigned progress[WORKERS + 1], sums[WORKERS + 1];
static unsigned char pieces[WORKERS + 1][PIECE];
static int input;
static pthread_barrier_t all;

static void *work(void *number)
{
	unsigned *own = number, sum = 0;
	unsigned char *piece = pieces[own - progress];

	for (unsigned round = 1; round <= ROUNDS; round++) {
		if (read(input, piece, PIECE) != PIECE)
			abort();
		for (unsigned i = 0; i < PIECE; i++)
			sum = sum * 31 + piece[i];
		sums[own - progress] = sum;
		*own = round; /* the round is over */
		pthread_barrier_wait(&all);
	}
	return NULL;
}

int main(void)
{
	pthread_t worker[WORKERS];

	pthread_barrier_init(&all, NULL, WORKERS + 1);
	input = open("/dev/urandom", O_RDONLY);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_create(&worker[i], NULL, work, &progress[i + 1]);
	work(&progress[0]);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	for (unsigned i = 0; i <= WORKERS; i++)
		printf("thread %u sum %u\n", i + 1, sums[i]);
	fflush(stdout);
	abort();
}
