/* Large thread-local variables beside the main stack (ask-tls.sh).
 *
 * Without random addresses the low half of an address of the main stack is the
 * distance from fs of a variable more than 4 KiB below its base. Two threads
 * write to such pairs, in either order. Prints "ADDRESS VALUE" for each byte;
 * status 77 if the stack lies elsewhere. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { SIZE = 40000, PAIRS = 4, APART = 1500, FRAME = 2 * APART * PAIRS + 128 };

static __thread volatile uint8_t large[SIZE];
static pthread_barrier_t both;
static volatile uint8_t *frame;

__attribute__((noinline)) void mark(void)
{
	__asm__ volatile("" ::: "memory");
}

/* The place on the main stack with the same low half as the distance of
 * large[i]. */
static volatile uint8_t *twin_of(int i)
{
	char *base = __builtin_thread_pointer();
	uintptr_t away = (uintptr_t)((char *)&large[i] - base);

	return (volatile uint8_t *)(((uintptr_t)frame >> 32 << 32) |
				    (uint32_t)away);
}

static void print_byte(volatile uint8_t *at)
{
	printf("%p %d\n", (void *)at, *at);
}

static void write_pairs(int me)
{
	int first = (int)(frame - twin_of(0)) + 64 + me * APART;

	for (int i = 0; i < PAIRS; i++) {
		int at = first + 2 * APART * i;

		if (i % 2)
			*twin_of(at) = (uint8_t)(10 * me + i);
		large[at] = (uint8_t)(100 + 10 * me + i);
		if (i % 2 == 0)
			*twin_of(at) = (uint8_t)(10 * me + i);
		print_byte(&large[at]);
		print_byte(twin_of(at));

		/* Of these only one is written, and none is read. */
		*twin_of(at + 700) = 77;
		large[at + 800] = 88;
		printf("%p 0\n%p 77\n", (void *)&large[at + 700],
		       (void *)twin_of(at + 700));
		printf("%p 88\n%p 0\n", (void *)&large[at + 800],
		       (void *)twin_of(at + 800));
	}
}

static void *thread(void *unused)
{
	write_pairs(1);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return unused;
}

int main(void)
{
	volatile uint8_t here[FRAME] = {0};
	pthread_t t;

	frame = here;
	if (here < twin_of(0) || here + FRAME > twin_of(SIZE - 1))
		return 77;
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&t, NULL, thread, NULL);
	pthread_barrier_wait(&both);
	write_pairs(0);
	mark();
	pthread_barrier_wait(&both);
	pthread_join(t, NULL);
	return 0;
}
