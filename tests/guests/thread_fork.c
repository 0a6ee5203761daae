/* tests/guests/thread_fork.c - fork from a thread among others: the child has
 * that thread alone, with its stack and TLS; atfork handlers run. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static __thread int mine;
static atomic_int stop, before, in_parent, in_child;

static void prepare(void)
{
	before++;
}

static void parent(void)
{
	in_parent++;
}

static void child(void)
{
	in_child++;
}

static void *computes(void *arg)
{
	uint64_t h = 5;

	while (!stop)
		if (guest_random(&h) % 10000 == 0)
			sched_yield();
	return arg;
}

static void *forks(void *arg)
{
	mine = 77;
	for (int i = 0; i < 10; i++) {
		int local = i, status;
		pid_t pid = fork();

		if (pid == 0) {
			pthread_t t;

			if (mine != 77 || local != i || in_child != 1 ||
			    syscall(SYS_gettid) != getpid())
				_exit(1);
			/* the child may have threads of its own */
			stop = 1;
			if (pthread_create(&t, NULL, computes, (void *)9) != 0)
				_exit(2);
			void *r;
			pthread_join(t, &r);
			_exit(r == (void *)9 ? 3 : 4);
		}
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		SAME(status, 3 << 8);
	}
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_atfork(prepare, parent, child);
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&t[i], NULL, i ? computes : forks, NULL) ==
		     0);
	pthread_join(t[0], NULL);
	stop = 1;
	pthread_join(t[1], NULL);
	SAME(before, 10);
	SAME(in_parent, 10);
	SAME(in_child, 0);
	return guest_end();
}
