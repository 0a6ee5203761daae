/* tests/guests/code_spin.c - a thread spins in a generated jump to itself; from
 * outside the jump becomes a return, the page loses its right to execute, or
 * goes away: the thread must notice, though it never leaves its loop. */
#include "guest.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

static uint8_t *p;
static atomic_int ready;
static __thread sigjmp_buf out;

static void handler(int sig)
{
	siglongjmp(out, sig);
}

static void *spins(void *arg)
{
	int how = 0;

	(void)arg;
	if (sigsetjmp(out, 1) == 0) {
		ready = 1;
		((void (*)(void))p)();
		how = 1; /* returned */
	} else {
		how = 2; /* faulted */
	}
	return (void *)(uintptr_t)how;
}

int main(void)
{
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED);
	signal(SIGSEGV, handler);
	for (int i = 0; i < 15; i++) {
		pthread_t t;
		void *how;

		MUST(mmap(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
		memcpy(p, "\xeb\xfe\xc3", 3);
		ready = 0;
		MUST(pthread_create(&t, NULL, spins, NULL) == 0);
		while (!ready)
			sched_yield();
		usleep(1000);
		if (i % 3 == 0) /* jmp +0: falls out */
			__atomic_store_n(p + 1, 0, __ATOMIC_SEQ_CST);
		else if (i % 3 == 1)
			MUST(mprotect(p, 4096, PROT_READ) == 0);
		else
			MUST(munmap(p, 4096) == 0);
		pthread_join(t, &how);
		SAME(how, i % 3 == 0 ? 1 : 2);
	}
	return guest_end();
}
