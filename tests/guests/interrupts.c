/* tests/guests/interrupts.c - signals must interrupt (or restart) blocking
 * calls exactly as they do undisturbed.
 *
 *   interrupts UNTIL       (lives.h says how long)
 *
 * Four threads block, each in its way; main sends each a signal only when the
 * kernel shows it inside its call, and waits for the effect. A signal whose
 * effect does not come within a minute is a complaint. Prints rounds and
 * complaints; exit status 1 if there was any. */
#define _GNU_SOURCE
#include "lives.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LONG = 60 }; /* seconds */

static atomic_int done, complaints;

struct subject {
	const char *name;
	long call; /* the number main waits to see */
	int signal;
	void *(*run)(void *);
	pthread_t thread;
	atomic_int tid, handled, effects;
	int pipe[2];
};

static _Thread_local struct subject *me;

static void handler(int sig)
{
	(void)sig;
	me->handled++;
}

static void complain(const char *who, const char *what)
{
	complaints++;
	fprintf(stderr, "interrupts: %s: %s\n", who, what);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void begin(struct subject *s)
{
	me = s;
	s->tid = (int)syscall(SYS_gettid);
}

/* -- The four -- */

static void *read_eintr(void *arg) /* no SA_RESTART: every signal ends it */
{
	struct subject *s = arg;
	char c;

	begin(s);
	while (!done)
		if (read(s->pipe[0], &c, 1) == -1 && errno == EINTR)
			s->effects++;
	return NULL;
}

static void *read_restart(void *arg) /* SA_RESTART: only bytes end it */
{
	struct subject *s = arg;
	char c;

	begin(s);
	while (!done) {
		ssize_t n = read(s->pipe[0], &c, 1);

		if (n == 1)
			s->effects++;
		else if (!done)
			complain(s->name, strerror(errno));
	}
	return NULL;
}

static void *suspend(void *arg)
{
	struct subject *s = arg;
	sigset_t block, open;

	sigemptyset(&block);
	sigaddset(&block, s->signal);
	pthread_sigmask(SIG_BLOCK, &block, &open);
	sigdelset(&open, s->signal);
	begin(s);
	while (!done) {
		int before = s->handled;

		sigsuspend(&open);
		if (s->handled == before && !done)
			complain(s->name, "ended without its signal");
		s->effects++;
	}
	return NULL;
}

static void *sleep_eintr(void *arg)
{
	struct subject *s = arg;

	begin(s);
	while (!done) {
		struct timespec t = {10 * LONG, 0}, rest = {0, 0};

		if (nanosleep(&t, &rest) == 0)
			complain(s->name, "slept through its signal");
		else if (errno != EINTR || rest.tv_sec > 10 * LONG ||
			 (rest.tv_sec == 10 * LONG && rest.tv_nsec > 1000000))
			complain(s->name, "wrong remainder");
		s->effects++;
	}
	return NULL;
}

static struct subject subjects[] = {
    {.name = "read", .call = SYS_read, .signal = SIGUSR1, .run = read_eintr},
    {.name = "read SA_RESTART",
     .call = SYS_read,
     .signal = SIGUSR2,
     .run = read_restart},
    {.name = "sigsuspend",
     .call = SYS_rt_sigsuspend,
     .signal = SIGALRM,
     .run = suspend},
    {.name = "nanosleep",
     .call = SYS_clock_nanosleep,
     .signal = SIGHUP,
     .run = sleep_eintr},
};
enum { N = sizeof subjects / sizeof subjects[0] };

/* -- main's part -- */

/* Is the thread asleep in its call? One that was restarted with the time it
 * had left shows as restart_syscall. */
static int blocked(struct subject *s)
{
	char path[64], text[64] = "";
	long call;
	FILE *f;
	int yes;

	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", s->tid);
	f = fopen(path, "r");
	if (f == NULL)
		return 0;
	yes = fgets(text, sizeof text, f) != NULL && text[0] != 'r';
	call = strtol(text, NULL, 10);
	yes = yes && (call == s->call || call == SYS_restart_syscall);
	fclose(f);
	return yes;
}

static int wait_for(atomic_int *what, int more_than)
{
	double end = now() + LONG;

	while (*what <= more_than) {
		if (now() > end)
			return -1;
		usleep(50);
	}
	return 0;
}

static void poke(struct subject *s)
{
	int handled = s->handled, effects = s->effects;
	double end = now() + LONG;

	while (s->tid == 0 || !blocked(s)) {
		if (now() > end) {
			complain(s->name, "is not in its call");
			return;
		}
		usleep(20);
	}
	pthread_kill(s->thread, s->signal);
	if (wait_for(&s->handled, handled) < 0)
		complain(s->name, "handler did not run");
	if (s->run == read_restart && write(s->pipe[1], "", 1) != 1)
		complain(s->name, "write");
	if (wait_for(&s->effects, effects) < 0)
		complain(s->name, "the signal had no effect on the call");
}

int main(int argc, char **argv)
{
	const char *until = argc > 1 ? argv[1] : "1";
	struct sigaction act = {.sa_handler = handler};
	int rounds = 0;

	for (int i = 0; i < N; i++) {
		act.sa_flags = subjects[i].run == read_restart ? SA_RESTART : 0;
		sigaction(subjects[i].signal, &act, NULL);
		if (pipe(subjects[i].pipe))
			return 2;
		pthread_create(&subjects[i].thread, NULL, subjects[i].run,
			       &subjects[i]);
	}
	puts("ready");
	fflush(stdout);
	while (lives(until)) {
		for (int i = 0; i < N; i++)
			poke(&subjects[i]);
		rounds++;
	}
	printf("rounds %s complaints %d\n", rounds > 0 ? "some" : "none",
	       (int)complaints);
	fprintf(stderr, "interrupts: %d rounds\n", rounds);
	fflush(stdout);
	_exit(complaints != 0);
}
