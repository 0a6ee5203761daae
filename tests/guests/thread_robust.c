/* tests/guests/thread_robust.c - a thread, then a process, ends with a robust
 * mutex held: the next owner is told, and makes it consistent. */
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static pthread_mutex_t *m;

static void *holds(void *arg)
{
	pthread_mutex_lock(m);
	return arg;
}

int main(void)
{
	pthread_mutexattr_t a;
	pthread_t t;
	pid_t pid;

	m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		 -1, 0);
	MUST(m != MAP_FAILED);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(m, &a);
	for (int i = 0; i < 20; i++) {
		MUST(pthread_create(&t, NULL, holds, NULL) == 0);
		pthread_join(t, NULL);
		SAME(pthread_mutex_lock(m), EOWNERDEAD);
		SAME(pthread_mutex_consistent(m), 0);
		pthread_mutex_unlock(m);
		pid = fork();
		if (pid == 0) {
			pthread_mutex_lock(m);
			if (i & 1)
				raise(SIGKILL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		SAME(pthread_mutex_lock(m), EOWNERDEAD);
		SAME(pthread_mutex_consistent(m), 0);
		SAME(pthread_mutex_unlock(m), 0);
		SAME(pthread_mutex_lock(m), 0);
		pthread_mutex_unlock(m);
	}
	/* left as it was it can never be had again */
	MUST(pthread_create(&t, NULL, holds, NULL) == 0);
	pthread_join(t, NULL);
	SAME(pthread_mutex_lock(m), EOWNERDEAD);
	pthread_mutex_unlock(m);
	SAME(pthread_mutex_lock(m), ENOTRECOVERABLE);
	return guest_end();
}
