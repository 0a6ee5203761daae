/* tests/guests/code_patch_race.c - one thread runs a function over and over
 * while another rewrites its aligned immediate: only old or new values are
 * seen, never backwards, and the last one in the end. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

static uint8_t *code;
static atomic_int stop, finished;

static void *runs(void *arg)
{
	uint32_t (*f)(void) = (uint32_t(*)(void))(code + 63);
	uint32_t last = 0;

	while (!stop) {
		uint32_t v = f();

		if (v < last || v > 1000)
			SAME(v, last);
		last = v;
	}
	SAME(f(), 1000);
	finished++;
	return arg;
}

int main(void)
{
	pthread_t t[2];

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(code != MAP_FAILED);
	memcpy(code + 63, "\xb8\0\0\0\0\xc3", 6); /* immediate at 64 */
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&t[i], NULL, runs, NULL) == 0);
	for (uint32_t v = 1; v <= 1000; v++) {
		__atomic_store_n((uint32_t *)(code + 64), v, __ATOMIC_SEQ_CST);
		if (v % 20 == 0)
			sched_yield();
	}
	stop = 1;
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	SAME(finished, 2);
	return guest_end();
}
