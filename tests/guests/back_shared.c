/* tests/guests/back_shared.c - threads that write the same variable in turn,
 * and tell what it is each time that they stop to tell.
 *
 * One line `ADDRESS STOP-ADDRESS`, then one for each time that tell() was
 * called with the lock held: what the variable is then, as the program sees it.
 */
#include "guest.h"
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 40 };

static uint64_t shared __attribute__((aligned(64)));
static uint64_t told[THREADS * ROUNDS];
static unsigned n;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void tell(uint64_t value)
{
	asm volatile("" ::"r"(value) : "memory");
}

static void *thread(void *arg)
{
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t value;

		pthread_mutex_lock(&lock);
		/* Others have been there: every third time only looked at. */
		if (i % 3 != 0)
			shared =
			    shared * 6364136223846793005ull + (uint64_t)arg;
		value = shared;
		told[n++] = value;
		tell(value);
		pthread_mutex_unlock(&lock);
		if (i % 8 == 0)
			sched_yield();
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	shared = 1;
	printf("%lx %lx\n", (unsigned long)&shared, (unsigned long)tell);
	for (uint64_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], 0, thread, (void *)(i * 2 + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], 0);
	for (unsigned i = 0; i < n; i++)
		printf("%lx\n", (unsigned long)told[i]);
	return 0;
}
