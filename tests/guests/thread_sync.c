/* tests/guests/thread_sync.c - a queue between producers and consumers under a
 * mutex and two conditions: every item once; and a read-write lock, whose
 * readers never see half of a write. */
#include "guest.h"
#include <pthread.h>

enum { SIZE = 16, ITEMS = 3000 };

static int queue[SIZE], head, tail, made;
static uint64_t sum;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t room = PTHREAD_COND_INITIALIZER,
		      item = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static volatile uint64_t a, b;

static void *producer(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&m);
		while (tail - head == SIZE && made < ITEMS)
			pthread_cond_wait(&room, &m);
		if (made == ITEMS) {
			pthread_cond_broadcast(&item);
			pthread_cond_broadcast(&room);
			pthread_mutex_unlock(&m);
			return arg;
		}
		queue[tail++ % SIZE] = ++made;
		pthread_cond_signal(&item);
		pthread_mutex_unlock(&m);
		if (made % 64 == 0) {
			pthread_rwlock_wrlock(&rw);
			a++;
			b++;
			pthread_rwlock_unlock(&rw);
		}
	}
}

static void *consumer(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&m);
		while (tail == head && made < ITEMS)
			pthread_cond_wait(&item, &m);
		if (tail == head) {
			pthread_cond_broadcast(&item);
			pthread_mutex_unlock(&m);
			return arg;
		}
		sum += (uint64_t)queue[head++ % SIZE];
		pthread_cond_signal(&room);
		pthread_mutex_unlock(&m);
		pthread_rwlock_rdlock(&rw);
		if (a != b)
			SAME(a, b);
		pthread_rwlock_unlock(&rw);
	}
}

int main(void)
{
	pthread_t t[6];

	for (int i = 0; i < 6; i++)
		MUST(pthread_create(&t[i], NULL, i & 1 ? consumer : producer,
				    NULL) == 0);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	SAME(sum, ITEMS * (ITEMS + 1ul) / 2);
	return guest_end();
}
