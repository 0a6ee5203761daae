/* tests/guests/thread_ordering.c - what one thread stores in order another sees
 * in order, a hundred thousand times: data, then a flag, without a lock. */
#include "guest.h"
#include <pthread.h>

enum { N = 100000 };

static volatile uint64_t data[8], flag, ack;

static void *writer(void *arg)
{
	for (uint64_t i = 1; i <= N; i++) {
		for (int k = 0; k < 8; k++)
			data[k] = i * (uint64_t)(k + 1);
		flag = i;
		if (i % 64 == 0) /* let the reader come along */
			for (int spin = 0; ack + 128 < i && spin < 1000000;
			     spin++)
				if (spin % 1000 == 999)
					sched_yield();
	}
	return arg;
}

int main(void)
{
	uint64_t seen = 0, wrong = 0;
	pthread_t t;

	MUST(pthread_create(&t, NULL, writer, NULL) == 0);
	while (seen < N) {
		uint64_t f = flag;

		for (int k = 7; k >= 0; k--)
			if (data[k] < f * (uint64_t)(k + 1))
				wrong++;
		if (f == seen)
			sched_yield();
		if (f < seen)
			wrong++;
		ack = seen = f;
	}
	pthread_join(t, NULL);
	SAME(wrong, 0);
	return guest_end();
}
