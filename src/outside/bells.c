/* outside/bells.c - a thread that waits for futexes; see the header. */
#include "outside/bells.h"

#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Linux 5.16; libc's headers may be older. ORDER futex_waitv */
struct waitv {
	uint64_t value, at;
	uint32_t flags, reserved;
};
enum { NR_FUTEX_WAITV = 449, WAITV_MAX = 128, WAITV_32 = 2 };
enum { STACK = 64 << 10, LOOK_NS = 1000000 };

struct bells {
	pthread_t thread;
	pthread_mutex_t lock; /* over list and n */
	struct bell *list;    /* owned */
	unsigned n, room;
	uint32_t turn; /* futex: another list, or the end */
	uint32_t rang; /* in this turn */
	int end, no_waitv;
	pid_t pid, listener;
};

static long futex(uint32_t *at, int op, uint32_t value,
		  const struct timespec *limit)
{
	return syscall(SYS_futex, at, op, value, limit, NULL, 0);
}

/* -- The thread -- */

/* The bells and, last, the turn; how many, 0: more than can be waited for. */
static unsigned copy_list(struct bells *b, uint32_t turn,
			  struct waitv out[WAITV_MAX])
{
	unsigned n;

	pthread_mutex_lock(&b->lock);
	n = b->n < WAITV_MAX ? b->n : 0;
	for (unsigned i = 0; i < n; i++)
		out[i] = (struct waitv){b->list[i].heard,
					(uint64_t)b->list[i].at, WAITV_32, 0};
	if (b->n < WAITV_MAX)
		out[n++] =
		    (struct waitv){turn, (uint64_t)&b->turn, WAITV_32, 0};
	pthread_mutex_unlock(&b->lock);
	return n;
}

/* Does any differ from what was heard? The kernel compares: EAGAIN, or EFAULT
 * for one that is gone. */
static int any_differs(struct bells *b)
{
	const struct timespec at_once = {0, 0};
	int differs = 0;

	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->n && !differs; i++)
		differs = futex(b->list[i].at, FUTEX_WAIT, b->list[i].heard,
				&at_once) < 0 &&
			  errno != ETIMEDOUT && errno != EINTR;
	pthread_mutex_unlock(&b->lock);
	return differs;
}

/* Returns when a bell may have been rung, or the turn is over. */
static void wait_for_ring(struct bells *b, uint32_t turn)
{
	const struct timespec look = {0, LOOK_NS};
	struct waitv v[WAITV_MAX];
	unsigned n = b->no_waitv ? 0 : copy_list(b, turn, v);

	if (n > 0 &&
	    (syscall(NR_FUTEX_WAITV, v, n, 0, NULL, 0) >= 0 || errno != ENOSYS))
		return;
	b->no_waitv |= n > 0;
	while (__atomic_load_n(&b->turn, __ATOMIC_ACQUIRE) == turn &&
	       !any_differs(b))
		futex(&b->turn, FUTEX_WAIT, turn, &look);
}

static void *listen_to_bells(void *arg)
{
	struct bells *b = arg;

	while (!__atomic_load_n(&b->end, __ATOMIC_ACQUIRE)) {
		uint32_t turn = __atomic_load_n(&b->turn, __ATOMIC_ACQUIRE);

		wait_for_ring(b, turn);
		if (__atomic_load_n(&b->turn, __ATOMIC_ACQUIRE) != turn)
			continue;
		__atomic_store_n(&b->rang, 1, __ATOMIC_RELEASE);
		syscall(SYS_tgkill, b->pid, b->listener, SIGCHLD);
		while (__atomic_load_n(&b->turn, __ATOMIC_ACQUIRE) == turn)
			futex(&b->turn, FUTEX_WAIT, turn, NULL);
	}
	return NULL;
}

/* -- Its master -- */

static void next_turn(struct bells *b)
{
	__atomic_add_fetch(&b->turn, 1, __ATOMIC_RELEASE);
	futex(&b->turn, FUTEX_WAKE, 1, NULL);
}

static int start_thread(struct bells *b)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int e;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&b->thread, &attr, listen_to_bells, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return e;
}

int bells_new(struct bells **out, struct hark_err *err)
{
	struct bells *b = calloc(1, sizeof *b);
	int e;

	if (b == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	pthread_mutex_init(&b->lock, NULL);
	b->pid = getpid();
	b->listener = (pid_t)syscall(SYS_gettid);
	e = start_thread(b);
	if (e != 0) {
		pthread_mutex_destroy(&b->lock);
		free(b);
		return err_set(err, HARK_ENOMEM, e, "cannot make a thread: %s",
			       strerror(e));
	}
	*out = b;
	return 0;
}

void bells_free(struct bells *b)
{
	if (b == NULL)
		return;
	__atomic_store_n(&b->end, 1, __ATOMIC_RELEASE);
	next_turn(b);
	pthread_join(b->thread, NULL);
	pthread_mutex_destroy(&b->lock);
	free(b->list);
	free(b);
}

int bells_room(struct bells *b, unsigned n, struct hark_err *err)
{
	struct bell *more;

	if (n <= b->room)
		return 0;
	pthread_mutex_lock(&b->lock);
	more = realloc(b->list, 2ul * n * sizeof *more);
	if (more != NULL) {
		b->list = more;
		b->room = 2 * n;
	}
	pthread_mutex_unlock(&b->lock);
	return more != NULL
		   ? 0
		   : err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

void bells_listen(struct bells *b, const struct bell *list, unsigned n)
{
	assert(n <= b->room);
	pthread_mutex_lock(&b->lock);
	if (n > 0)
		memcpy(b->list, list, n * sizeof *list);
	b->n = n;
	__atomic_store_n(&b->rang, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&b->lock);
	next_turn(b);
}

int bells_rang(const struct bells *b)
{
	return __atomic_load_n(&b->rang, __ATOMIC_ACQUIRE) != 0;
}
