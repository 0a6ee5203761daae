/* tests/guests/rec_meetings.c - many threads on the same few words, by locked
 * instructions of every size and form, with signals in between, with the
 * direction flag set, and at last without a clock.
 *
 * Sums tell whether an operation was lost. What a thread finds decides where
 * it goes on, so a replay that found anything else would go another way. */
#include "guest.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>

enum { THREADS = 8, ROUNDS = 4000, FEW = 200, WORDS = 64 }; /* even */

static struct {
	uint64_t eight, by_hand, backwards, token;
	uint32_t four, bits;
	uint16_t two;
	uint8_t one;
	uint64_t words[WORDS]; /* many, by one instruction */
} cells __attribute__((aligned(64)));
static uint64_t found[THREADS];
static volatile sig_atomic_t ticks;
static int rounds;
static pthread_barrier_t together;

static void tick(int sig)
{
	(void)sig;
	__atomic_fetch_add(&ticks, 1, __ATOMIC_SEQ_CST);
}

#define XADD(cell, by)                                    \
	({                                                \
		__typeof__(cell) old_ = (by);             \
		__asm__ volatile("lock xadd %0, %1"       \
				 : "+q"(old_), "+m"(cell) \
				 :                        \
				 : "cc", "memory");       \
		old_;                                     \
	})

/* The flags of a locked instruction are those of its result. */
static int dec_is_zero(uint32_t *cell)
{
	uint8_t zero;

	__asm__ volatile("lock decl %0\n\tsete %1"
			 : "+m"(*cell), "=q"(zero)
			 :
			 : "cc", "memory");
	return zero;
}

static uint64_t sizes(uint64_t hash)
{
	hash = hash * 31 + XADD(cells.one, (uint8_t)3);
	hash = hash * 31 + XADD(cells.two, (uint16_t)0xfff1);
	hash = hash * 31 + XADD(cells.four, 0x10001u);
	return hash * 31 + XADD(cells.eight, 0x100000001ull);
}

static uint64_t forms(uint64_t hash, unsigned self)
{
	uint64_t old = __atomic_load_n(&cells.by_hand, __ATOMIC_RELAXED);
	uint32_t bit = 1u << self;

	while (!__atomic_compare_exchange_n(&cells.by_hand, &old, old + 5, 0,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		hash++;
	__asm__ volatile("lock xorl %1, %0"
			 : "+m"(cells.bits)
			 : "r"(bit)
			 : "cc", "memory");
	__asm__ volatile("std\n\tlock incq %0\n\tcld"
			 : "+m"(cells.backwards)
			 :
			 : "cc", "memory");
	hash = hash * 31 + XADD(cells.words[hash % WORDS], 1ull);
	return hash * 31 + (uint64_t)dec_is_zero(&cells.four);
}

static void *thread(void *arg)
{
	unsigned self = (unsigned)(uint64_t)arg;
	uint64_t hash = self, held = 1;

	pthread_barrier_wait(&together);
	for (int i = 0; i < rounds; i++) {
		if (i % 50 == 0) /* they meet even if there is one CPU */
			sched_yield();
		hash = sizes(hash);
		hash = forms(hash, self);
		held =
		    __atomic_exchange_n(&cells.token, held, __ATOMIC_SEQ_CST);
		if (hash % 5 == 0) /* a load that others have changed */
			hash += *(volatile uint64_t *)&cells.words[held % 8];
	}
	found[self] = hash;
	return (void *)held;
}

/* So many rounds more; n in all. */
static void run(int more, uint64_t n)
{
	uint64_t tokens = 0, sum = 0;
	pthread_t t[THREADS];
	void *held;

	n *= THREADS;
	rounds = more;
	for (uint64_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++) {
		MUST(pthread_join(t[i], &held) == 0);
		tokens += (uint64_t)held;
	}
	for (int i = 0; i < WORDS; i++)
		sum += cells.words[i];
	CHECK(tokens + cells.token == THREADS);
	cells.token = 0;
	CHECK(cells.one == (uint8_t)(3 * n));
	CHECK(cells.two == (uint16_t)(0xfff1 * n));
	CHECK(cells.four == (uint32_t)(0x10000 * n));
	CHECK(cells.eight == 0x100000001ull * n);
	CHECK(cells.by_hand == 5 * n && cells.backwards == n && sum == n);
	CHECK(cells.bits == 0);
}

int main(void)
{
	const struct itimerval often = {{0, 2000}, {0, 2000}};
	const struct itimerval never = {{0, 0}, {0, 0}};

	MUST(pthread_barrier_init(&together, NULL, THREADS) == 0);
	signal(SIGALRM, tick);
	run(ROUNDS, ROUNDS);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	run(ROUNDS, 2 * ROUNDS);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	MUST(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
	run(FEW, 2 * ROUNDS + FEW);
	return guest_end();
}
