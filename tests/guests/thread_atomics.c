/* tests/guests/thread_atomics.c - every locked instruction from four threads at
 * once on the same words: no addition, bit or exchange is lost. */
#include "guest.h"
#include <pthread.h>

enum { ROUNDS = 20000, THREADS = 4 };

static uint64_t sum, adds, incs, flips, bits[4],
    sixteen[2] __attribute__((aligned(16)));
static uint32_t locked, guarded;
static uint8_t bytes;

static void pair_add(void)
{
	uint64_t lo = sixteen[0], hi = sixteen[1];
	uint8_t done;

	do
		asm volatile("lock cmpxchg16b %1\n\tsetz %0"
			     : "=q"(done), "+m"(sixteen), "+a"(lo), "+d"(hi)
			     : "b"(lo + 1), "c"(hi + 2)
			     : "cc", "memory");
	while (!done);
}

static void *thread(void *arg)
{
	uint64_t id = (uint64_t)arg;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t one = 1, old;
		uint32_t v = 1;

		asm volatile("lock xaddq %0, %1" : "+r"(one), "+m"(sum)::"cc");
		asm volatile("lock addq $3, %0" : "+m"(adds)::"cc");
		asm volatile("lock incq %0" : "+m"(incs)::"cc");
		asm volatile("lock xorq %1, %0"
			     : "+m"(flips)
			     : "r"(1ul << id)
			     : "cc");
		asm volatile("lock addb $1, %0" : "+m"(bytes)::"cc");
		asm volatile("lock btcq %1, %0"
			     : "+m"(bits)
			     : "r"(id * 60 + i % 60)
			     : "cc", "memory");
		pair_add();
		do { /* a lock by xchg */
			v = 1;
			asm volatile("xchgl %0, %1" : "+r"(v), "+m"(locked));
			if (v)
				sched_yield();
		} while (v);
		guarded++;
		asm volatile("movl $0, %0" : "=m"(locked)::"memory");
		old = adds;
		asm volatile("lock cmpxchgq %2, %1"
			     : "+a"(old), "+m"(adds)
			     : "r"(old + 1)
			     : "cc");
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	for (uint64_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	SAME(sum, ROUNDS * THREADS);
	SAME(incs, ROUNDS * THREADS);
	SAME(flips, 0);
	SAME(bytes, (uint8_t)(ROUNDS * THREADS));
	SAME(guarded, ROUNDS * THREADS);
	SAME(sixteen[0], ROUNDS * THREADS);
	SAME(sixteen[1], 2 * ROUNDS * THREADS);
	CHECK(adds >= 3ul * ROUNDS * THREADS && adds <= 4ul * ROUNDS * THREADS);
	/* 20000 rounds over 60 bits: the first 20 were flipped once more */
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < 60; k++) {
			int at = i * 60 + k,
			    n = ROUNDS / 60 + (k < ROUNDS % 60);

			SAME(bits[at / 64] >> (at % 64) & 1, n & 1);
		}
	return guest_end();
}
