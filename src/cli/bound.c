/* cli/bound.c - an end for a replay that takes too much. */
#include "cli/bound.h"

#include "cli/cli.h"
#include "present/say.h"
#include "record/bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TICK_NS = 100000000, IDLE_NS = TICK_NS / 10, IDLE_TICKS = 10 };
#define SECOND_NS ((uint64_t)1000000000)

static struct {
	uint64_t memory, time_ns;
	int statm; /* of this process */
	void (*clean_up)(void);
	sem_t is_watched; /* posted by the thread when it runs */
} bound = {.statm = -1};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* Bytes that are in memory: the second number. */
static uint64_t resident(void)
{
	char text[128] = "";
	const char *second;

	if (pread(bound.statm, text, sizeof text - 1, 0) <= 0)
		return 0;
	second = strchr(text, ' ');
	return second == NULL ? 0
			      : strtoull(second, NULL, 10) *
				    (uint64_t)sysconf(_SC_PAGESIZE);
}

static _Noreturn void give_up(const char *what, uint64_t most, const char *unit,
			      const char *variable)
{
	say_error("given up: the replay takes more than %llu %s of %s; "
		  "%s=%s allows more",
		  (unsigned long long)most, unit, what, variable,
		  strcmp(variable, BOUNDS_TIME) == 0 ? "SECONDS" : "BYTES");
	if (bound.clean_up != NULL)
		bound.clean_up();
	_exit(CLI_FAIL);
}

static void *watch(void *unused)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};
	uint64_t last = cpu_ns(), begun = last;
	unsigned idle = 0;

	(void)unused;
	sem_post(&bound.is_watched);
	for (;;) {
		uint64_t now;

		clock_nanosleep(CLOCK_MONOTONIC, 0, &tick, NULL);
		now = cpu_ns();
		idle = now - last < IDLE_NS ? idle + 1 : 0;
		last = now;
		if (idle >= IDLE_TICKS)
			begun = now;
		if (resident() > bound.memory)
			give_up("memory", bound.memory >> 20, "MiB",
				BOUNDS_MEMORY);
		if (now - begun > bound.time_ns)
			give_up("processor time", bound.time_ns / SECOND_NS,
				"s", BOUNDS_TIME);
	}
	return NULL;
}

static void await_watch(void)
{
	while (sem_wait(&bound.is_watched) < 0 && errno == EINTR)
		;
}

/* Signals are for the threads that were there before.
 *
 * The process forks soon afterwards, to replay. A thread that is being started
 * may hold a lock of a sanitizer's allocator, which the child would then wait
 * for without end. The thread that watches allocates nothing. */
static void start_watch(void)
{
	sigset_t all, old;
	pthread_t thread;

	sem_init(&bound.is_watched, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, watch, NULL) == 0) {
		pthread_detach(thread);
		await_watch();
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void bound_replay(void (*clean_up)(void))
{
	uint64_t seconds = bounds_time();

	bound.memory = bounds_memory();
	bound.time_ns =
	    seconds < UINT64_MAX / SECOND_NS ? seconds * SECOND_NS : UINT64_MAX;
	bound.clean_up = clean_up;
	if (bound.statm < 0) {
		bound.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
		start_watch();
	}
}
