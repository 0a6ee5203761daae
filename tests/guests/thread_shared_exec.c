/* tests/guests/thread_shared_exec.c - processes that share memory, as spawn
 * makes them, exec or die by a signal while their parent's threads compute. */
#include "guest.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

static char *self;
static atomic_int stop;
static volatile int *volatile nowhere = (int *)24;

static int execs(void *arg)
{
	(void)arg;
	execl("/proc/self/exe", self, "child", NULL);
	return 1;
}

static int dies(void *arg)
{
	(void)arg;
	*nowhere = 1;
	return 1;
}

static void *computes(void *arg)
{
	uint64_t h = 3, want = 0;

	while (!stop) {
		h = 3;
		for (int i = 0; i < 1000; i++)
			guest_random(&h);
		if (want != 0 && h != want)
			SAME(h, want);
		want = h;
		sched_yield();
	}
	return arg;
}

int main(int argc, char **argv)
{
	char *stack = malloc(65536);
	pthread_t t;
	int status;

	if (argc > 1)
		return 28;
	self = argv[0];
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	MUST(pthread_create(&t, NULL, computes, NULL) == 0);
	for (int i = 0; i < 10; i++) {
		pid_t pid =
		    clone(execs, stack + 65536,
			  CLONE_VM | (i & 1 ? CLONE_VFORK : 0) | SIGCHLD, NULL);

		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		SAME(status, 28 << 8);
		pid = clone(dies, stack + 65536, CLONE_VM | SIGCHLD, NULL);
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		SAME(status & 0x7f, SIGSEGV);
	}
	stop = 1;
	pthread_join(t, NULL);
	return guest_end();
}
