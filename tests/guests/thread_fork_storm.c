/* tests/guests/thread_fork_storm.c - three threads fork all the time while two
 * others rewrite and run code: each child finds a whole process, runs code it
 * makes itself, and ends. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int stop;

static uint32_t make(uint8_t *p, uint32_t v)
{
	memcpy(p, "\xb8\0\0\0\0\xc3", 6);
	memcpy(p + 1, &v, 4);
	return ((uint32_t(*)(void))p)();
}

static uint8_t *page(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	return p;
}

static void *rewrites(void *arg)
{
	uint8_t *p = page();

	for (uint32_t i = 0; !stop; i++) {
		if (make(p, i) != i)
			SAME(make(p, i), i);
		if (i % 64 == 0)
			sched_yield();
	}
	return arg;
}

static void *forks(void *arg)
{
	uint8_t *p = page();

	for (uint32_t i = 0; i < 12; i++) {
		int status;
		pid_t pid;

		make(p, i);
		pid = fork();
		if (pid == 0) {
			uint8_t *own = page();

			if (((uint32_t(*)(void))p)() != i ||
			    make(own, i + 9) != i + 9 || make(p, 5) != 5)
				_exit(1);
			_exit(40);
		}
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		SAME(status, 40 << 8);
		SAME(((uint32_t(*)(void))p)(), i);
	}
	return arg;
}

int main(void)
{
	pthread_t t[5];

	for (int i = 0; i < 5; i++)
		MUST(pthread_create(&t[i], NULL, i < 3 ? forks : rewrites,
				    NULL) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	stop = 1;
	pthread_join(t[3], NULL);
	pthread_join(t[4], NULL);
	return guest_end();
}
