/* tests/guests/thread_cold_code.c - eight threads enter code that nobody has
 * run before, all at the same moment, sixty-four functions of it. */
#include "guest.h"
#include <pthread.h>

enum { FUNCTIONS = 64, THREADS = 8 };

static uint8_t *code;
static pthread_barrier_t barrier;

/* Function i: return x * (i + 3) + i, after a chain of short jumps. */
static void make(int i)
{
	uint8_t *p = code + i * 128;
	int32_t m = i + 3;

	memcpy(p, "\x48\x69\xc7", 3); /* imul imm, rdi -> rax */
	memcpy(p + 3, &m, 4);
	p += 7;
	for (int k = 0; k < 10; k++) { /* jmp +1; int3 */
		memcpy(p, "\xeb\x01\xcc", 3);
		p += 3;
	}
	memcpy(p, "\x48\x05", 2);
	memcpy(p + 2, &i, 4);
	p[6] = 0xc3;
}

static void *thread(void *arg)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		uint64_t (*f)(uint64_t) =
		    (uint64_t(*)(uint64_t))(code + i * 128);

		pthread_barrier_wait(&barrier);
		for (uint64_t x = 0; x < 5; x++)
			if (f(x) != x * (uint64_t)(i + 3) + (uint64_t)i)
				SAME(f(x), x * (uint64_t)(i + 3) + (uint64_t)i);
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	code = mmap(NULL, FUNCTIONS * 128, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(code != MAP_FAILED);
	for (int i = 0; i < FUNCTIONS; i++)
		make(i);
	MUST(mprotect(code, FUNCTIONS * 128, PROT_READ | PROT_EXEC) == 0);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&t[i], NULL, thread, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return guest_end();
}
