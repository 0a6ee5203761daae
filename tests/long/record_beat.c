/* tests/long/record_beat.c - beats, and leaves behind how often it did.
 *
 *	record_beat FILE [tcfsq]
 *
 * Each beater computes for some ten microseconds, looks at the clocks, and puts
 * them down in FILE, which is mapped and shared: what it last did is there,
 * however suddenly it ends. What a recording of it says of the same clocks is
 * held against that (record_kills.py, which knows the layout). Letters: t, a
 * second thread; c, a child that beats, too; f, the child has children all the
 * time; s, a thousand signals a second; q, quiet: all it does is to compute and
 * to count, of which a recording says nothing.
 *
 * Says "ready" when all of them are about to begin. Whoever writes to `stop` in
 * FILE ends it: then each beater says whether it has computed what it should.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { MAIN, THREAD, CHILD, BEATERS };
enum { KEPT = 1 << 15, STEPS = 2000, CELLS = 1 << 12 };
enum { LCG_FACTOR = 1664525, LCG_TERM = 1013904223 };

/* ORDER record_kills.py: LAYOUT */
struct beater {
	int64_t pid, tid;
	_Atomic int64_t n;	     /* beats that are below */
	int64_t tsc[KEPT], ns[KEPT]; /* beat b is at b % KEPT */
};
static struct shared {
	_Atomic int64_t stop;
	struct beater of[BEATERS];
} * shared;

/* What the recording is asked for. Nothing that a thread reads lies beside it:
 * what is in the same 32 bytes would be told, too, by a thread that has come
 * further in the file than the one that counts. */
volatile int64_t beats[BEATERS] __attribute__((aligned(64)));
static uint32_t cells[BEATERS][CELLS] __attribute__((aligned(64)));
static _Atomic int64_t all __attribute__((aligned(64)));
static volatile sig_atomic_t signals __attribute__((aligned(64)));
static const char *letters = "";

static int has(char letter)
{
	return strchr(letters, letter) != NULL;
}

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

static int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* The generator's n-th number after 1, the short way: its step n times. */
static uint32_t lcg_after(uint64_t n)
{
	uint32_t x = 1, factor = LCG_FACTOR, term = LCG_TERM;

	for (; n > 0; n >>= 1) {
		if (n & 1)
			x = x * factor + term;
		term += factor * term;
		factor *= factor;
	}
	return x;
}

/* Numbers on their way through memory: returns the last. */
static uint32_t compute(int me, uint32_t x, uint32_t *sum)
{
	for (int i = 0; i < STEPS; i++) {
		x = x * LCG_FACTOR + LCG_TERM;
		cells[me][x >> 20] += x;
		*sum += x;
	}
	return x;
}

static void say_end(int me, uint32_t x, uint32_t sum)
{
	char line[64];
	uint32_t found = 0;
	int right;

	for (int i = 0; i < CELLS; i++)
		found += cells[me][i];
	right = found == sum && x == lcg_after(STEPS * (uint64_t)beats[me]) &&
		shared->of[me].n == beats[me];
	snprintf(line, sizeof line, "%d %s\n", me, right ? "right" : "WRONG");
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		_exit(1);
}

static void have_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void look_at_clocks(struct beater *b, int64_t n)
{
	b->tsc[n % KEPT] = (int64_t)__rdtsc();
	b->ns[n % KEPT] = clock_ns();
	all++;
	if (n % 64 == 0)
		getppid();
}

static void beat_until_stopped(int me)
{
	struct beater *b = &shared->of[me];
	uint32_t x = 1, sum = 0;

	b->pid = getpid();
	b->tid = gettid();
	for (int64_t n = 1; !shared->stop; n++) {
		x = compute(me, x, &sum);
		if (!has('q'))
			look_at_clocks(b, n);
		beats[me] = n;
		b->n = n;
		if (me == CHILD && n % 32 == 0 && has('f'))
			have_child();
	}
	say_end(me, x, sum);
}

static void *thread_beats(void *arg)
{
	beat_until_stopped(THREAD);
	return arg;
}

static void begin_signals(void)
{
	struct itimerval each = {{0, 1000}, {0, 1000}};
	struct sigaction act = {.sa_handler = count_signal,
				.sa_flags = SA_RESTART};

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
}

static pid_t begin_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		beat_until_stopped(CHILD);
		_exit(0);
	}
	return pid;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	pthread_t thread;
	pid_t child = 0;

	if (fd < 0 || ftruncate(fd, sizeof *shared) < 0)
		return 1;
	letters = argc > 2 ? argv[2] : "";
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	if (shared == MAP_FAILED)
		return 1;
	puts("ready");
	fflush(stdout);
	if (has('c'))
		child = begin_child();
	if (has('t'))
		pthread_create(&thread, NULL, thread_beats, NULL);
	if (has('s'))
		begin_signals();
	beat_until_stopped(MAIN);
	if (has('t'))
		pthread_join(thread, NULL);
	if (has('c'))
		waitpid(child, NULL, 0);
	return 0;
}
