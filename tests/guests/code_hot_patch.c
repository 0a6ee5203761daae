/* tests/guests/code_hot_patch.c - a jump over a function's start is put in and
 * taken out by one aligned eight-byte store while it is in use, as live
 * patchers and tracers do: the old or the new one runs, nothing between. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

static uint8_t *code;
static atomic_int stop;
static atomic_long olds, news;

static void *runs(void *arg)
{
	uint32_t (*f)(void) = (uint32_t(*)(void))code;

	while (!stop) {
		uint32_t v = f();

		if (v == 1)
			olds++;
		else if (v == 2)
			news++;
		else
			SAME(v, 1);
	}
	return arg;
}

int main(void)
{
	pthread_t t;
	uint64_t plain, jump;

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(code != MAP_FAILED);
	/* one nop of eight bytes; mov 1, eax; ret */
	memcpy(code, "\x0f\x1f\x84\0\0\0\0\0\xb8\x01\0\0\0\xc3", 14);
	memcpy(code + 64, "\xb8\x02\0\0\0\xc3", 6);
	memcpy(&plain, code, 8);
	memcpy(&jump, "\xe9\x3b\0\0\0\xcc\xcc\xcc", 8); /* jmp +64 */
	MUST(pthread_create(&t, NULL, runs, NULL) == 0);
	for (int i = 0; i < 400; i++) {
		__atomic_store_n((uint64_t *)code, i & 1 ? plain : jump,
				 __ATOMIC_SEQ_CST);
		/* seen at once by the one who wrote it */
		SAME(((uint32_t(*)(void))code)(), i & 1 ? 1 : 2);
		if (i % 10 == 0)
			sched_yield();
	}
	stop = 1;
	pthread_join(t, NULL);
	return guest_end();
}
