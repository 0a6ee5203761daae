/* tests/guests/proc_mlockall.c - memory that is locked: all that there is, and
 * all that comes; then enough is done for key frames, in threads and children,
 * and no more memory is taken than before. */
#include "guest.h"
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { SIZE = 1 << 20, MOST_KIB = 1 << 20 };

static char *memory[2];

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *work(void *arg)
{
	uint8_t *p = arg;
	double end = cpu_seconds() + 0.15;
	unsigned rounds = 0;

	do {
		for (unsigned i = 0; i < SIZE; i += 61)
			p[i]++;
		rounds++;
	} while (cpu_seconds() < end);
	for (unsigned i = 0; i < SIZE; i++)
		SAME(p[i], i % 61 == 0 ? (uint8_t)rounds : 0);
	memset(p, 0, SIZE);
	return NULL;
}

static void in_all(void)
{
	pthread_t t;
	int status;
	pid_t pid;

	MUST(pthread_create(&t, NULL, work, memory[1]) == 0);
	work(memory[0]);
	pthread_join(t, NULL);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		work(memory[0]);
		_exit(guest_wrong);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
}

int main(void)
{
	struct rusage u;

	memory[0] = calloc(1, SIZE);
	memory[1] = calloc(1, SIZE);
	MUST(memory[0] != NULL && memory[1] != NULL);
	SAME(mlockall(MCL_ONFAULT), -1);
	SAME(errno, EINVAL);
	SAME(mlockall(0), -1);
	SAME(mlockall(8), -1);
	if (mlockall(MCL_CURRENT) != 0)
		guest_absent("machine: memory cannot be locked");
	in_all();
	SAME(mlockall(MCL_CURRENT | MCL_FUTURE), 0);
	in_all();
	SAME(munlockall(), 0);
	SAME(mlockall(MCL_FUTURE), 0);
	in_all();
	MUST(getrusage(RUSAGE_SELF, &u) == 0);
	CHECK(u.ru_maxrss < MOST_KIB);
	return guest_end();
}
