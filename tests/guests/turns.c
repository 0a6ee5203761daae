/* tests/guests/turns.c - threads that take turns.
 *
 * Each takes a lock, reads how many turns there were, adds one, gives the lock
 * back; first one after the other, so that there are many turns wherever this
 * runs, then as it comes. Whatever order a recording gives to the threads, in
 * it the number that they read must never fall. Prints the number's address. */
#include "guest.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

enum { THREADS = 4, STRICT = 50, ROUNDS = 2000 };

static struct {
	uint64_t turns;
	char apart[192];
	uint32_t lock;
} shared __attribute__((aligned(256)));

static pthread_barrier_t all;
static sem_t baton[THREADS];

static void take_turn(void)
{
	while (__atomic_exchange_n(&shared.lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	*(volatile uint64_t *)&shared.turns = shared.turns + 1;
	__atomic_exchange_n(&shared.lock, 0, __ATOMIC_RELEASE);
}

static void *thread(void *arg)
{
	uintptr_t me = (uintptr_t)arg;
	volatile uint64_t spare = 0;

	pthread_barrier_wait(&all);
	for (int i = 0; i < STRICT; i++) {
		while (sem_wait(&baton[me]) != 0)
			continue;
		take_turn();
		sem_post(&baton[(me + 1) % THREADS]);
	}
	pthread_barrier_wait(&all);
	for (int i = 0; i < ROUNDS; i++) {
		take_turn();
		for (int k = 0; k < 50 + i % 100; k++)
			spare++;
		if (i % 16 == 0)
			sched_yield();
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	pthread_barrier_init(&all, 0, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		sem_init(&baton[i], 0, i == 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], 0, thread, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], 0);
	printf("%p\n", (void *)&shared.turns);
	return shared.turns != THREADS * (STRICT + ROUNDS);
}
