/* tests/guests/thread_cancel.c - cancellation: deferred, in a blocking read, in
 * a condition's wait with clean-up handlers, asynchronous in a busy loop. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

static int p[2];
static atomic_int cleaned, ready;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void clean(void *arg)
{
	cleaned += (int)(uintptr_t)arg;
}

static void unlock(void *arg)
{
	cleaned += 100;
	pthread_mutex_unlock(arg);
}

static void *reads(void *arg)
{
	char b;

	pthread_cleanup_push(clean, (void *)1);
	pthread_cleanup_push(clean, (void *)10);
	ready = 1;
	SAME(read(p[0], &b, 1), -2); /* does not return */
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return arg;
}

static void *waits(void *arg)
{
	pthread_mutex_lock(&m);
	pthread_cleanup_push(unlock, &m);
	ready = 1;
	for (;;)
		pthread_cond_wait(&c, &m);
	pthread_cleanup_pop(0);
	return arg;
}

static void *spins(void *arg)
{
	volatile uint64_t n = 0;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	ready = 1;
	for (;;)
		n++;
	return arg;
}

static void *refuses(void *arg)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	ready = 1;
	while (ready != 2)
		sched_yield();
	pthread_testcancel();
	return arg;
}

static void *run(void *(*f)(void *), int after)
{
	pthread_t t;
	void *r;

	ready = 0;
	MUST(pthread_create(&t, NULL, f, (void *)5) == 0);
	while (!ready)
		sched_yield();
	pthread_cancel(t);
	if (after)
		ready = 2;
	pthread_join(t, &r);
	return r;
}

int main(void)
{
	MUST(pipe(p) == 0);
	for (int i = 1; i <= 20; i++) {
		SAME(run(reads, 0), PTHREAD_CANCELED);
		SAME(run(waits, 0), PTHREAD_CANCELED);
		SAME(cleaned, i * 111);
		SAME(pthread_mutex_trylock(&m), 0);
		pthread_mutex_unlock(&m);
		SAME(run(spins, 0), PTHREAD_CANCELED);
		SAME(run(refuses, 1), 5);
	}
	return guest_end();
}
