/* tests/guests/thread_exec.c - exec from a thread that is not the first: the
 * others vanish, the new program has the old pid and its own main thread. */
#include "guest.h"
#include <pthread.h>
#include <sys/syscall.h>

static char **args;
static char pid[16];

static void *spins(void *arg)
{
	volatile uint64_t n = 0;

	for (;;)
		n++;
	return arg;
}

static void *replaces(void *arg)
{
	usleep(1000);
	execl("/proc/self/exe", args[0], pid, NULL);
	_exit(1);
	return arg;
}

static int threads(void)
{
	char line[128];
	int n = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (fgets(line, sizeof line, f))
		sscanf(line, "Threads: %d", &n);
	fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc == 2) {
		SAME(getpid(), atoi(argv[1]));
		SAME(syscall(SYS_gettid), getpid());
		SAME(threads(), 1);
		return guest_end();
	}
	args = argv;
	snprintf(pid, sizeof pid, "%d", getpid());
	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, spins, NULL);
	pthread_create(&t, NULL, replaces, NULL);
	pthread_join(t, NULL);
	return 1;
}
