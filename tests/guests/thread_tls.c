/* tests/guests/thread_tls.c - thread-local variables: initial values,
 * alignment, one each, destructors of keys in each thread. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

static __thread int initial = 42;
static __thread char zero[100];
static __thread struct {
	char c[64];
} aligned __attribute__((aligned(64)));
static pthread_key_t key;
static atomic_int destroyed;

static void destroy(void *v)
{
	destroyed += (int)(uintptr_t)v;
}

static void *thread(void *arg)
{
	int id = (int)(uintptr_t)arg;

	SAME(initial, 42);
	SAME(zero[50], 0);
	SAME((uintptr_t)&aligned & 63, 0);
	SAME(pthread_getspecific(key), 0);
	pthread_setspecific(key, arg);
	for (int i = 0; i < 200; i++) {
		initial = id * 1000 + i;
		zero[50] = (char)id;
		if (i % 50 == 0)
			sched_yield();
		if (initial != id * 1000 + i || zero[50] != (char)id)
			SAME(initial, id * 1000 + i);
	}
	errno = id; /* errno is one of them */
	sched_yield();
	SAME(errno, id);
	return &initial;
}

int main(void)
{
	pthread_t t[16];

	pthread_key_create(&key, destroy);
	for (uintptr_t i = 0; i < 16; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)(i + 1)) == 0);
	for (int i = 0; i < 16; i++)
		pthread_join(t[i], NULL);
	SAME(destroyed, 16 * 17 / 2);
	SAME(initial, 42);
	return guest_end();
}
