/* tests/guests/thread_own_stack.c - stacks that the program mapped itself,
 * small ones, with guards of their own; and one that grows to its very last
 * page. */
#include "guest.h"
#include <limits.h>
#include <pthread.h>

static char *stack;
enum { SIZE = 128 << 10 };

static void *thread(void *arg)
{
	char here;
	volatile char room[SIZE - 48 * 1024];

	CHECK(&here > stack && &here < stack + SIZE);
	for (size_t i = 0; i < sizeof room; i += 512)
		room[i] = (char)i;
	return (void *)(uintptr_t)(room[512] == 0 ? 1 : 2) + (arg != NULL);
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t t;
	void *r;

	stack = mmap(NULL, SIZE + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	MUST(stack != MAP_FAILED);
	stack += 4096;
	MUST(mprotect(stack, SIZE, PROT_READ | PROT_WRITE) == 0);
	pthread_attr_init(&attr);
	MUST(pthread_attr_setstack(&attr, stack, SIZE) == 0);
	for (int i = 0; i < 20; i++) {
		MUST(pthread_create(&t, &attr, thread, NULL) == 0);
		pthread_join(t, &r);
		SAME(r, 1);
	}
	return guest_end();
}
