/* tests/end-to-end/profile_killed.c - `profile_killed HOW N`: N children, one
 * after the other, that work and then end in a way of which nobody inside hears
 * anything. Says ok if each ended as it should. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;
static volatile int *is_done; /* shared with the child */

__attribute__((noinline)) void in_child(void)
{
	struct timespec t;

	do {
		for (int i = 0; i < 1000; i++)
			sink++;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec == 0 && t.tv_nsec < 3000000);
}

static void *also(void *arg)
{
	in_child();
	*is_done = 1;
	for (;;)
		pause();
	return arg;
}

/* Killed by its parent, by itself, or by one thread of two. */
static void live(const char *how)
{
	pthread_t t;

	if (strcmp(how, "threads") == 0) {
		if (pthread_create(&t, NULL, also, NULL) != 0)
			abort();
		for (;;)
			pause();
	}
	in_child();
	*is_done = 1;
	if (strcmp(how, "crash") == 0)
		*(volatile int *)8 = 1;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "kill";
	int n = argc > 2 ? atoi(argv[2]) : 100, status = 0;
	const int want = strcmp(how, "crash") == 0 ? SIGSEGV : SIGKILL;
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	is_done = mmap(NULL, sizeof *is_done, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < n; i++) {
		pid_t pid;

		*is_done = 0;
		pid = fork();
		if (pid == 0)
			live(how);
		while (*is_done == 0)
			usleep(200);
		if (want == SIGKILL)
			kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
		    WTERMSIG(status) != want) {
			printf("child %d: %x\n", i, (unsigned)status);
			return 1;
		}
	}
	puts("ok");
	return 0;
}
