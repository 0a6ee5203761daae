/* tests/guests/turns.c - threads that take turns.
 *
 * Each takes a lock, reads how many turns there were, adds one, gives the lock
 * back; first one after the other, so that there are many turns wherever this
 * runs, then as it comes. Whatever order a recording gives to the threads, in
 * it the number that they read must never fall. Prints the number's address. */
#include "guest.h"
#include <pthread.h>
#include <sched.h>

enum { THREADS = 4, STRICT = 50, ROUNDS = 2000 };

static struct {
	uint64_t turns;
	char apart[192];
	uint32_t lock;
} shared __attribute__((aligned(256)));

static pthread_barrier_t all;

/* 1 if it is this thread's turn, and is taken. */
static int take_turn(uint64_t me)
{
	int mine;

	while (__atomic_exchange_n(&shared.lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	mine = *(volatile uint64_t *)&shared.turns % THREADS == me;
	if (mine)
		*(volatile uint64_t *)&shared.turns = shared.turns + 1;
	__atomic_exchange_n(&shared.lock, 0, __ATOMIC_RELEASE);
	return mine;
}

static void *thread(void *arg)
{
	volatile uint64_t spare = 0;

	pthread_barrier_wait(&all);
	for (int i = 0; i < STRICT; i++)
		while (!take_turn((uintptr_t)arg))
			sched_yield();
	pthread_barrier_wait(&all);
	for (int i = 0; i < ROUNDS; i++) {
		while (__atomic_exchange_n(&shared.lock, 1, __ATOMIC_ACQUIRE))
			sched_yield();
		*(volatile uint64_t *)&shared.turns = shared.turns + 1;
		__atomic_exchange_n(&shared.lock, 0, __ATOMIC_RELEASE);
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
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], 0, thread, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], 0);
	printf("%p\n", (void *)&shared.turns);
	return shared.turns != THREADS * (STRICT + ROUNDS);
}
