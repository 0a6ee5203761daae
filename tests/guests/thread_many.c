/* tests/guests/thread_many.c - two thousand threads come and go, eight at a
 * time; each computes, and its result is its own. */
#include "guest.h"
#include <pthread.h>

static void *thread(void *arg)
{
	uint64_t h = (uint64_t)arg + 1;

	for (int i = 0; i < 200; i++)
		guest_random(&h);
	return (void *)h;
}

int main(void)
{
	pthread_t t[8];
	void *r;

	for (uint64_t i = 0; i < 2000; i += 8) {
		for (uint64_t k = 0; k < 8; k++)
			MUST(pthread_create(&t[k], NULL, thread,
					    (void *)(i + k)) == 0);
		for (uint64_t k = 0; k < 8; k++) {
			pthread_join(t[k], &r);
			if (r != thread((void *)(i + k)))
				SAME(r, thread((void *)(i + k)));
		}
	}
	return guest_end();
}
