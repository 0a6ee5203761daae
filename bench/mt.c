/* bench/mt.c - threads that work alone and sometimes meet.
 *
 *   mt STEPS [THREADS]      2 threads by default
 *
 * Every thread mixes a private table of 256 KiB. On 1 step in 64 it adds to
 * one atomic counter, on 1 in 256 it changes two shared tables under a mutex:
 * cache lines that travel, as in a program with a few hot locks.
 *
 * The result does not depend on the order in which threads meet: one table is
 * only added to, the other only xor-ed. So one lost update, of the atomic or
 * under the mutex, changes what is printed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRIVATE_N = 1 << 15, SHARED_N = 1 << 10, THREADS_MAX = 64 };

struct worker {
	pthread_t id;
	uint64_t seed;
	uint64_t steps;
	uint64_t sum;
	uint64_t table[PRIVATE_N];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t added[SHARED_N], xored[SHARED_N]; /* under lock */
static _Atomic uint64_t meetings;

static void meet(uint64_t random, uint64_t value)
{
	pthread_mutex_lock(&lock);
	added[random % SHARED_N] += value;
	xored[random / SHARED_N % SHARED_N] ^= random;
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t s = w->seed;

	for (uint64_t i = 0; i < PRIVATE_N; i++)
		w->table[i] = i * s;
	for (uint64_t i = 0; i < w->steps; i++) {
		uint64_t k;

		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		k = s % PRIVATE_N;
		w->table[k] = w->table[k] * 31 + w->table[k * 7 % PRIVATE_N];
		if (i % 64 == 0)
			atomic_fetch_add(&meetings, 1);
		if (i % 256 == 0)
			meet(s, w->table[k]);
	}
	for (int i = 0; i < PRIVATE_N; i++)
		s += w->table[i];
	w->sum = s;
	return NULL;
}

static uint64_t shared_sum(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < SHARED_N; i++)
		sum = sum * 31 + added[i] + 7 * xored[i];
	return sum;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	uint64_t steps, sum = 0;
	long n;

	steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	n = argc > 2 ? strtol(argv[2], NULL, 10) : 2;
	if (steps == 0 || n < 1 || n > THREADS_MAX) {
		fprintf(stderr, "usage: mt STEPS [THREADS]\n");
		return 2;
	}
	for (long i = 0; i < n; i++) {
		workers[i].steps = steps;
		workers[i].seed = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15 + 1;
		if (pthread_create(&workers[i].id, NULL, work, &workers[i])) {
			perror("mt: pthread_create");
			return 1;
		}
	}
	for (long i = 0; i < n; i++) {
		pthread_join(workers[i].id, NULL);
		sum += workers[i].sum;
	}
	printf("%ju %ju %ju\n", (uintmax_t)sum, (uintmax_t)shared_sum(),
	       (uintmax_t)atomic_load(&meetings));
	return 0;
}
