/* tests/guests/back_handover.c - threads that take turns, and how.
 *
 *	back_handover HOW N	nothing else needed: 2 threads
 *
 * Each in its turn puts the next number into `shared`, which nobody ever reads:
 * 1 to N, whoever it is. So the order of all stores is certain, and is told by
 * nothing but what hands the turn over; that lies apart, in no granule with
 * anything else:
 *
 *	flag	plain loads and stores: whose turn it is, 0 or 1
 *	fresh	a flag of its own for each turn: seen once, for the first time
 *	spin	a lock: xchg takes it, a plain store gives it back
 *	mutex	the C library's
 *	count	lock xadd draws a number; the turn is a plain counter
 *
 * `counted` is added to in each turn, by an instruction that reads it. */
#include "guest.h"

#include <pthread.h>

enum { THREADS = 2, MOST = 4096 };

struct apart {
	volatile uint64_t value;
} __attribute__((aligned(256)));

struct apart shared, counted;
static struct apart turn, lock, numbers, fresh[MOST];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last; /* read and written in turns only; never stale */
static uint64_t n_turns;
static const char *how;

/* Compilers must not move anything across it; the processor does not. */
#define BARRIER() asm volatile("" ::: "memory")

static void store(uint64_t i)
{
	BARRIER();
	shared.value = i;
	asm volatile("addq $1, %0" : "+m"(counted.value)::"cc", "memory");
	BARRIER();
}

static void by_flag(unsigned me)
{
	for (uint64_t i = 1 + me; i <= n_turns; i += THREADS) {
		while (turn.value != me)
			;
		store(i);
		turn.value = 1 - me;
	}
}

static void by_fresh(unsigned me)
{
	for (uint64_t i = 1 + me; i <= n_turns; i += THREADS) {
		/* The counter is looked at so that the flag need not be. */
		while (turn.value + 1 != i)
			;
		CHECK(i == 1 || fresh[i - 1].value == i - 1);
		store(i);
		fresh[i].value = i;
		BARRIER();
		turn.value = i;
	}
}

/* Both want it all the time: whoever gets it has waited for a plain store. */
static void by_lock(void)
{
	uint64_t i = 0;

	while (i < n_turns) {
		while (__atomic_exchange_n(&lock.value, 1, __ATOMIC_ACQUIRE))
			;
		i = last;
		if (i < n_turns) {
			last = ++i;
			store(i);
		}
		BARRIER();
		lock.value = 0;
	}
}

static void by_mutex(void)
{
	uint64_t i = 0;

	while (i < n_turns) {
		pthread_mutex_lock(&mutex);
		i = last;
		if (i < n_turns) {
			last = ++i;
			store(i);
		}
		pthread_mutex_unlock(&mutex);
	}
}

static void by_number(void)
{
	for (;;) {
		uint64_t mine = 1;

		asm volatile("lock xaddq %0, %1"
			     : "+r"(mine), "+m"(numbers.value)::"memory");
		if (mine >= n_turns)
			return;
		while (turn.value != mine)
			;
		store(mine + 1);
		turn.value = mine + 1;
	}
}

static void *take_turns(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	if (strcmp(how, "flag") == 0)
		by_flag(me);
	else if (strcmp(how, "fresh") == 0)
		by_fresh(me);
	else if (strcmp(how, "spin") == 0)
		by_lock();
	else if (strcmp(how, "mutex") == 0)
		by_mutex();
	else if (strcmp(how, "count") == 0)
		by_number();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	how = argc > 1 ? argv[1] : "flag";
	n_turns = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
	MUST(n_turns < MOST);
	for (uintptr_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, take_turns, (void *)i) ==
		     0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	SAME(counted.value, n_turns);
	return guest_end();
}
