/* tests/guests/code_two_writers.c - two threads patch functions that share a
 * page, and call their own all the time: no store is lost, no stale code runs,
 * however often the page changes hands. */
#include "guest.h"
#include <pthread.h>

static uint8_t *p;

static void *thread(void *arg)
{
	uint8_t *at = p + (uintptr_t)arg * 64;
	uint32_t (*f)(void) = (uint32_t(*)(void))at;

	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t v = i * 2 + (uint32_t)(uintptr_t)arg;

		__atomic_store_n((uint32_t *)(at + 4), v, __ATOMIC_RELAXED);
		if (f() != v)
			SAME(f(), v);
		*(volatile uint32_t *)(at + 32) = v; /* data beside it */
		if (*(volatile uint32_t *)(at + 32) != v)
			SAME(0, 1);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[3];

	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED);
	for (uintptr_t i = 0; i < 3; i++) /* three nops; mov imm, eax; ret */
		memcpy(p + i * 64, "\x90\x90\x90\xb8\0\0\0\0\xc3", 9);
	for (uintptr_t i = 0; i < 3; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)i) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return guest_end();
}
