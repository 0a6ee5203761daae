/* tests/guests/kernel_busy_family.c - one second of threads that live for a
 * moment, children by fork, programs by posix_spawn, code that is written,
 * executed and unmapped, and a timer, all at once. */
#include "guest.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;
static volatile int stop;
static volatile sig_atomic_t ticks;

static void on_alarm(int sig)
{
	(void)sig;
	ticks++;
}

static int status_of(pid_t pid)
{
	int status;

	MUST(waitpid(pid, &status, 0) == pid);
	return status;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *make_threads(void *arg)
{
	pthread_t t;

	while (!stop) {
		MUST(pthread_create(&t, NULL, nothing, NULL) == 0);
		MUST(pthread_join(t, NULL) == 0);
	}
	return arg;
}

static void *make_children(void *arg)
{
	while (!stop) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(11);
		SAME(status_of(pid), 11 << 8);
	}
	return arg;
}

static void *make_programs(void *arg)
{
	char *argv[] = {"/bin/true", NULL};
	pid_t pid;

	while (!stop) {
		MUST(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) ==
		     0);
		SAME(status_of(pid), 0);
	}
	return arg;
}

static void *make_code(void *arg)
{
	while (!stop) {
		uint8_t *p =
		    mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		MUST(p != MAP_FAILED);
		for (uint32_t i = 0; i < 20; i++) {
			p[0] = 0xb8; /* mov $i, %eax; ret */
			memcpy(p + 1, &i, 4);
			p[5] = 0xc3;
			SAME(((uint32_t(*)(void))p)(), i);
		}
		MUST(munmap(p, 4096) == 0);
	}
	return arg;
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 700}, {0, 700}};
	struct timespec left = {1, 0};
	pthread_t t[5];

	MUST(sigaction(SIGALRM, &act, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	pthread_create(&t[0], NULL, make_threads, NULL);
	pthread_create(&t[1], NULL, make_children, NULL);
	pthread_create(&t[2], NULL, make_programs, NULL);
	pthread_create(&t[3], NULL, make_code, NULL);
	pthread_create(&t[4], NULL, make_threads, NULL);
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		continue;
	stop = 1;
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	CHECK(ticks > 10);
	return guest_end();
}
