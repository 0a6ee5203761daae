/* tests/guests/thread_futex_waitv.c - futex_waitv waits for several words at
 * once and tells which one was woken. */
#include "guest.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

struct waitv {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

static _Atomic uint32_t words[4];

static void *waker(void *arg)
{
	_Atomic uint32_t *w = arg;

	*w = 1;
	while (syscall(SYS_futex, w, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0)
		if (*w == 2)
			break;
	return NULL;
}

int main(void)
{
	struct waitv w[4];
	struct timespec t;
	pthread_t th;

	for (int i = 0; i < 4; i++)
		w[i] = (struct waitv){.uaddr = (uint64_t)&words[i],
				      .flags = 2 | 128};
	clock_gettime(CLOCK_MONOTONIC, &t);
	if (syscall(SYS_futex_waitv, w, 4, 0, &t, CLOCK_MONOTONIC) == -1 &&
	    errno == ENOSYS)
		guest_absent("kernel");
	SAME(errno, ETIMEDOUT);
	t.tv_sec += 200;
	for (int i = 0; i < 20; i++) {
		int k = i % 4;
		long rc;

		words[k] = 0;
		MUST(pthread_create(&th, NULL, waker, &words[k]) == 0);
		rc = syscall(SYS_futex_waitv, w, 4, 0, &t, CLOCK_MONOTONIC);
		if (rc == -1)
			SAME(errno, EAGAIN); /* it was there first */
		else
			SAME(rc, k);
		words[k] = 2;
		pthread_join(th, NULL);
		words[k] = 0;
	}
	SAME(syscall(SYS_futex_waitv, w, 0, 0, NULL, 0), -1);
	SAME(errno, EINVAL);
	return guest_end();
}
