/* tests/guests/thread_exec_race.c - two threads exec at the same moment, others
 * start and end meanwhile: exactly one new program runs, with the old pid. */
#include "guest.h"
#include <pthread.h>
#include <sys/wait.h>

static char *self;
static pthread_barrier_t b;

static void *execs(void *arg)
{
	pthread_barrier_wait(&b);
	execl("/proc/self/exe", self, arg, NULL);
	return NULL;
}

static void *brief(void *arg)
{
	return arg;
}

static void *starts(void *arg)
{
	pthread_barrier_wait(&b);
	for (;;) {
		pthread_t t;

		if (pthread_create(&t, NULL, brief, NULL) == 0)
			pthread_join(t, NULL);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int status;

	if (argc > 1)
		_exit(argv[1][0] == 'a' || argv[1][0] == 'b' ? 15 : 1);
	self = argv[0];
	for (int i = 0; i < 15; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			pthread_t t[3];

			pthread_barrier_init(&b, NULL, 3);
			pthread_create(&t[0], NULL, execs, "a");
			pthread_create(&t[1], NULL, execs, "b");
			pthread_create(&t[2], NULL, starts, NULL);
			pthread_join(t[2], NULL);
			_exit(2);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status, 15 << 8);
	}
	return guest_end();
}
