/* tests/guests/thread_futex.c - futexes by hand: wait, wake counts, requeue,
 * bitsets, a wrong value, a time-out. */
#include "guest.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

static _Atomic uint32_t one, two;
static atomic_int woken;

static long futex(_Atomic uint32_t *w, int op, uint32_t v, void *t,
		  _Atomic uint32_t *w2, uint32_t v3)
{
	return syscall(SYS_futex, w, op, v, t, w2, v3);
}

static void *waiter(void *arg)
{
	long rc;

	do
		rc = futex(&one, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	while (rc == -1 && errno == EINTR);
	SAME(rc, 0);
	woken++;
	return arg;
}

/* How many wait on one is only known from the kernel. */
static void until_waiting(int n)
{
	int moved = 0;

	while (moved < n) {
		long k = futex(&one, FUTEX_CMP_REQUEUE_PRIVATE, 0,
			       (void *)(long)(n - moved), &two, 0);

		MUST(k >= 0);
		moved += (int)k;
		if (moved < n)
			usleep(200);
	}
}

int main(void)
{
	struct timespec soon = {0, 2000000};
	pthread_t t[6];

	SAME(futex(&one, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0), -1);
	SAME(errno, EAGAIN);
	SAME(futex(&one, FUTEX_WAIT_PRIVATE, 0, &soon, NULL, 0), -1);
	SAME(errno, ETIMEDOUT);
	SAME(futex(&one, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0), 0);
	for (int round = 0; round < 5; round++) {
		woken = 0;
		for (int i = 0; i < 6; i++)
			MUST(pthread_create(&t[i], NULL, waiter, NULL) == 0);
		until_waiting(6);
		SAME(woken, 0);
		/* all of them now wait on the other word */
		SAME(futex(&one, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0), 0);
		SAME(futex(&two, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0), 2);
		SAME(futex(&two, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0), 4);
		for (int i = 0; i < 6; i++)
			pthread_join(t[i], NULL);
		SAME(woken, 6);
	}
	SAME(futex(&one, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)1, &two, 5), -1);
	SAME(errno, EAGAIN);
	SAME(futex((void *)1, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0), -1);
	SAME(errno, EINVAL);
	return guest_end();
}
