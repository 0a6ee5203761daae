/* tests/guests/thread_pi_mutex.c - mutexes with priority inheritance, recursive
 * and error-checking ones count and complain as they should. */
#include "guest.h"
#include <pthread.h>
#include <time.h>

static pthread_mutex_t pi, rec, chk;
static uint64_t count;

static void *thread(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		pthread_mutex_lock(&pi);
		count++;
		pthread_mutex_unlock(&pi);
		pthread_mutex_lock(&rec);
		pthread_mutex_lock(&rec);
		count += 0;
		pthread_mutex_unlock(&rec);
		pthread_mutex_unlock(&rec);
	}
	SAME(pthread_mutex_trylock(&chk), EBUSY);
	SAME(pthread_mutex_unlock(&chk), EPERM);
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec = t.tv_nsec / 2;
	t.tv_sec -= 1;
	SAME(pthread_mutex_timedlock(&chk, &t), ETIMEDOUT);
	return arg;
}

int main(void)
{
	pthread_mutexattr_t a;
	pthread_t t[4];

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	MUST(pthread_mutex_init(&pi, &a) == 0);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&rec, &a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&chk, &a);
	pthread_mutex_lock(&chk);
	SAME(pthread_mutex_lock(&chk), EDEADLK);
	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&t[i], NULL, thread, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	SAME(count, 4 * 3000);
	return guest_end();
}
