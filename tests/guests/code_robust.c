/* tests/guests/code_robust.c - a robust mutex that lies in a page of code that
 * is being run: its owner's death is marked there by the kernel. */
#include "guest.h"
#include <pthread.h>

static pthread_mutex_t *m;
static uint8_t *p;

static void *holds(void *arg)
{
	pthread_mutex_lock(m);
	SAME(((uint32_t(*)(void))p)(), 5);
	return arg;
}

int main(void)
{
	pthread_mutexattr_t a;
	pthread_t t;

	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED);
	memcpy(p, "\xb8\x05\0\0\0\xc3", 6);
	m = (pthread_mutex_t *)(p + 1024);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(m, &a);
	for (int i = 0; i < 20; i++) {
		struct timespec soon;

		SAME(((uint32_t(*)(void))p)(), 5);
		MUST(pthread_create(&t, NULL, holds, NULL) == 0);
		pthread_join(t, NULL);
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_sec += 100;
		SAME(pthread_mutex_timedlock(m, &soon), EOWNERDEAD);
		SAME(pthread_mutex_consistent(m), 0);
		pthread_mutex_unlock(m);
	}
	return guest_end();
}
