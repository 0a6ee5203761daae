/* tests/guests/rec_patched_entry.c - code is patched while a thread runs next
 * to it, and is entered at two places: a thread that has not seen the new code
 * comes by the second one, from code that has not changed, by a jump that
 * another thread has linked.
 *
 * The threads take turns by a number in memory, without a system call. */
#include "guest.h"

#include <pthread.h>
#include <sys/mman.h>

typedef long function(volatile long *turn);

enum { FIRST = 0, SECOND = 16, PAGE = 4096, CALLER = PAGE, ROUNDS = 20 };

static uint8_t *code;
static volatile long turn;

/* mov eax, value; ret - entered at either end of a sled of nops. */
static void put_value(int32_t value)
{
	static const uint8_t mov = 0xb8, ret = 0xc3;

	memset(code + FIRST, 0x90, 32);
	code[FIRST + 32] = mov;
	memcpy(code + FIRST + 33, &value, sizeof value);
	code[FIRST + 37] = ret;
}

/* wait: cmp [rdi], 2; jne wait; jmp SECOND */
static void put_caller(void)
{
	uint8_t bytes[] = {0x48, 0x83, 0x3f, 2, 0x75, 0xfa, 0xe9, 0, 0, 0, 0};
	int32_t by = SECOND - (CALLER + (int32_t)sizeof bytes);

	memcpy(bytes + 7, &by, sizeof by);
	memcpy(code + CALLER, bytes, sizeof bytes);
}

static void *waits(void *arg)
{
	volatile long rounds = 0;
	long n;

	turn = 1;
	n = ((function *)(void *)(code + CALLER))(arg);
	while (n-- > 0) /* another value, another way */
		rounds++;
	return (void *)rounds;
}

static long call(int at)
{
	volatile long mine = 2;

	return ((function *)(void *)(code + at))(&mine);
}

static void one_round(int i)
{
	pthread_t thread;
	void *got;

	put_value(2 * i);
	SAME(call(FIRST), 2 * i);
	SAME(call(CALLER), 2 * i);
	turn = 0;
	MUST(pthread_create(&thread, NULL, waits, (void *)&turn) == 0);
	while (turn != 1)
		continue;
	usleep(1000);
	put_value(2 * i + 1);
	SAME(call(FIRST), 2 * i + 1);  /* tells what has changed */
	SAME(call(CALLER), 2 * i + 1); /* links the jump to what is known */
	SAME(call(CALLER), 2 * i + 1);
	turn = 2;
	MUST(pthread_join(thread, &got) == 0);
	SAME((long)got, 2 * i + 1);
}

int main(void)
{
	code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(code != MAP_FAILED);
	put_caller();
	for (int i = 0; i < ROUNDS; i++)
		one_round(i);
	return guest_end();
}
