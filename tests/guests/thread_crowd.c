/* tests/guests/thread_crowd.c - two hundred threads alive at once, meeting at a
 * barrier three times. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

enum { N = 200 };

static pthread_barrier_t barrier;
static atomic_int first, serial, late;

static void *thread(void *arg)
{
	(void)arg;
	first++;
	for (int i = 0; i < 3; i++)
		if (pthread_barrier_wait(&barrier) ==
		    PTHREAD_BARRIER_SERIAL_THREAD)
			serial++;
	if (first != N)
		late++;
	return NULL;
}

int main(void)
{
	pthread_t t[N];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_barrier_init(&barrier, NULL, N);
	for (int i = 0; i < N; i++)
		MUST(pthread_create(&t[i], &attr, thread, NULL) == 0);
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	SAME(serial, 3);
	SAME(late, 0);
	return guest_end();
}
