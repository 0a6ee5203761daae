/* tests/guests/code_patch_loop.c - a running loop has an immediate patched by a
 * function that it calls, and by another thread that waits for it to say so. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

static uint8_t *code;
static atomic_uint asked, given;
static int calls;

static void patch(void)
{
	code[64] = (uint8_t)++calls;
}

static void *patcher(void *arg)
{
	for (unsigned i = 1; i <= 200; i++) {
		while (asked < i)
			sched_yield();
		__atomic_store_n(code + 256 + 1, (uint8_t)(i * 3),
				 __ATOMIC_SEQ_CST);
		given = i;
	}
	return arg;
}

int main(void)
{
	uint64_t at = (uint64_t)patch;
	uint64_t (*sum)(uint64_t);
	uint32_t (*value)(void);
	pthread_t t;

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(code != MAP_FAILED);
	/* push rbx, rbp, r12; ebp = edi; ebx = 0; r12 = patch */
	memcpy(code + 32, "\x53\x55\x41\x54\x89\xfd\x31\xdb\x49\xbc", 10);
	memcpy(code + 42, &at, 8);
	/* 50: call r12; 12 nops; 62: add $imm8 (at 64), ebx; dec ebp; jnz 50 */
	memcpy(code + 50, "\x41\xff\xd4\x90\x90\x90\x90\x90\x90\x90\x90\x90",
	       12);
	memcpy(code + 62, "\x83\xc3\x00\xff\xcd\x75\xed", 7);
	/* mov rbx, rax; pops; ret */
	memcpy(code + 69, "\x48\x89\xd8\x41\x5c\x5d\x5b\xc3", 8);
	sum = (uint64_t(*)(uint64_t))(code + 32);
	for (int i = 0; i < 50; i++) {
		calls = 0;
		SAME(sum(100), 100 * 101 / 2);
	}
	memcpy(code + 256, "\xb8\0\0\0\0\xc3", 6);
	value = (uint32_t(*)(void))(code + 256);
	SAME(value(), 0);
	MUST(pthread_create(&t, NULL, patcher, NULL) == 0);
	for (unsigned i = 1; i <= 200; i++) {
		asked = i;
		while (given < i)
			sched_yield();
		if (value() != (uint8_t)(i * 3))
			SAME(value(), (uint8_t)(i * 3));
	}
	pthread_join(t, NULL);
	return guest_end();
}
