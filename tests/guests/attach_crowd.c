/* tests/guests/attach_crowd.c - how long does a program stand still?
 *
 *   attach_crowd UNTIL [THREADS]       (lives.h says how long)
 *
 * The first thread looks at the clock all the time, one writes all the time,
 * the others (one, unless told otherwise) sleep, work and wait in turn. No wait
 * may end early, no call be made twice. At its end it says what it found, and
 * the longest time between two looks. */
#define _GNU_SOURCE
#include "lives.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1000, ROUND = 1000 };

static atomic_int done;
static volatile int failed;

static uint64_t work(uint64_t seed)
{
	for (int i = 0; i < ROUND; i++)
		seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed;
}

/* What goes into a pipe comes out of it, each number once. */
static void *writer(void *arg)
{
	int ends[2];

	if (pipe2(ends, O_NONBLOCK) != 0)
		failed = 1;
	for (uint64_t n = 0, got = ~0ull; !done && !failed; n++)
		if (write(ends[1], &n, sizeof n) != sizeof n ||
		    read(ends[0], &got, sizeof got) != sizeof got || got != n)
			failed = 1;
	return arg;
}

/* Each round ends where the last one began; a wait never ends early. */
static void *worker(void *arg)
{
	uint64_t seed = (uintptr_t)arg, want = work(seed);

	while (!done) {
		int64_t begun = lives_ns();
		struct timespec nap = {.tv_nsec = 20000000};

		if (nanosleep(&nap, NULL) != 0 || poll(NULL, 0, 20) != 0 ||
		    lives_ns() - begun < 40000000)
			failed = 1;
		if (work(seed) != want)
			failed = 1;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *until = argc > 1 ? argv[1] : "1";
	int n = argc > 2 ? atoi(argv[2]) : 1;
	int64_t last, longest = 0, reset = 0;
	static pthread_t t[MOST + 1];

	if (n > MOST)
		return 2;
	lives(until);
	for (intptr_t i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, worker, (void *)(i + 1)) != 0)
			return 2;
	if (pthread_create(&t[n], NULL, writer, NULL) != 0)
		return 2;
	puts("ready");
	fflush(stdout);
	for (last = lives_ns(); lives(until);) {
		int64_t now = lives_ns();

		if (now - last > longest && reset++ > 0)
			longest = now - last;
		last = now;
	}
	done = 1;
	for (int i = 0; i <= n; i++)
		pthread_join(t[i], NULL);
	fprintf(stderr, "longest %ld us\n", (long)(longest / 1000));
	puts(failed ? "failed" : "all as it should be");
	return failed;
}
