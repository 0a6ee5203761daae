/* tests/guests/thread_once.c - pthread_once, semaphores, spin locks, timed
 * joins and tries, names and ids of threads. */
#include "guest.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int ran, inside, most;
static sem_t two;
static pthread_spinlock_t spin;
static uint64_t count;

static void only_once(void)
{
	ran++;
	usleep(500);
}

static void *thread(void *arg)
{
	char name[32], comm[32];
	int now;

	pthread_once(&once, only_once);
	SAME(ran, 1);
	sem_wait(&two);
	now = ++inside;
	if (now > most)
		most = now;
	inside--;
	sem_post(&two);
	for (int i = 0; i < 500; i++) {
		pthread_spin_lock(&spin);
		count++;
		pthread_spin_unlock(&spin);
	}
	snprintf(name, sizeof name, "guest %d", (int)(uintptr_t)arg);
	pthread_setname_np(pthread_self(), name);
	prctl(PR_GET_NAME, comm);
	CHECK(strcmp(name, comm) == 0);
	CHECK(syscall(SYS_gettid) != getpid());
	return arg;
}

static void *sleeps(void *arg)
{
	sem_wait(arg);
	return NULL;
}

int main(void)
{
	struct timespec past = {1, 0};
	pthread_t t[8];
	sem_t hold;

	sem_init(&two, 0, 2);
	sem_init(&hold, 0, 0);
	pthread_spin_init(&spin, 0);
	for (uintptr_t i = 0; i < 8; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)i) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	CHECK(most <= 2 && most >= 1);
	SAME(count, 8 * 500);
	MUST(pthread_create(&t[0], NULL, sleeps, &hold) == 0);
	SAME(pthread_tryjoin_np(t[0], NULL), EBUSY);
	SAME(pthread_timedjoin_np(t[0], NULL, &past), ETIMEDOUT);
	sem_post(&hold);
	SAME(pthread_join(t[0], NULL), 0);
	return guest_end();
}
