/* tests/guests/blocked.c - threads in every kind of blocking call, and four
 * that compute; none may notice that somebody stopped them.
 *
 *   blocked UNTIL [restartable|mended]       (lives.h says how long)
 *
 * With `restartable`, only calls that the kernel itself restarts after a stop:
 * the others show EINTR for the microseconds that a tracer needs to mend them,
 * and a tracer that is killed just then cannot. With `mended`, only those, and
 * each in many threads: whichever is the one where something fails, it is one
 * of them.
 *
 * Every blocking call must end as it would undisturbed: no EINTR, never before
 * its time. Prints a checksum of the computing threads and the number of
 * complaints; exit status 1 if there was any. A fixed amount of work a second
 * is not assumed: the checksum covers a fixed number of rounds, repeated. */
#define _GNU_SOURCE
#include "lives.h"
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_MS = 120 };

static atomic_int done, complaints;
static const char *last_complaint = "none";

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void complain(const char *what)
{
	last_complaint = what;
	complaints++;
	fprintf(stderr, "blocked: %s: %s\n", what, strerror(errno));
}

/* -- Blocking calls, each of LIMIT_MS, each once a round -- */

static const struct timespec limit_ts = {0, LIMIT_MS * 1000000L};
static int pipe_fds[2], epoll_fd, sem_id, pair[2];

static int call_nanosleep(void)
{
	return nanosleep(&limit_ts, NULL);
}

static int call_clock_nanosleep(void)
{
	struct timespec t;
	int e;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += limit_ts.tv_nsec;
	if (t.tv_nsec >= 1000000000L) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000L;
	}
	e = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	errno = e;
	return e;
}

static int call_futex(void)
{
	uint32_t word = 7;
	long rc = syscall(SYS_futex, &word, FUTEX_WAIT, 7, &limit_ts, 0, 0);

	return rc == -1 && errno == ETIMEDOUT ? 0 : -1;
}

static int call_poll(void)
{
	struct pollfd p = {.fd = pipe_fds[0], .events = POLLIN};

	return poll(&p, 1, LIMIT_MS);
}

static int call_ppoll(void)
{
	struct pollfd p = {.fd = pipe_fds[0], .events = POLLIN};
	sigset_t none;

	sigemptyset(&none);
	return ppoll(&p, 1, &limit_ts, &none);
}

static int call_select(void)
{
	struct timeval t = {0, LIMIT_MS * 1000};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pipe_fds[0], &set);
	return select(pipe_fds[0] + 1, &set, NULL, NULL, &t);
}

static int call_epoll(void)
{
	struct epoll_event e;

	return epoll_wait(epoll_fd, &e, 1, LIMIT_MS);
}

static int call_sigtimedwait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &limit_ts) == -1 && errno == EAGAIN
		   ? 0
		   : -1;
}

static int call_semtimedop(void)
{
	struct sembuf op = {0, -1, 0};

	return semtimedop(sem_id, &op, 1, &limit_ts) == -1 && errno == EAGAIN
		   ? 0
		   : -1;
}

static int call_recv(void) /* SO_RCVTIMEO */
{
	char c;

	return recv(pair[0], &c, 1, 0) == -1 && errno == EAGAIN ? 0 : -1;
}

static const struct call {
	const char *name;
	int (*make)(void); /* 0: ended as it should */
} calls[] = {
    /* first those that the kernel restarts */
    {"nanosleep", call_nanosleep},   {"clock_nanosleep", call_clock_nanosleep},
    {"futex", call_futex},	     {"poll", call_poll},
    {"ppoll", call_ppoll},	     {"select", call_select},
    {"epoll_wait", call_epoll},	     {"sigtimedwait", call_sigtimedwait},
    {"semtimedop", call_semtimedop}, {"recv", call_recv},
};
enum {
	N_CALLS = sizeof calls / sizeof calls[0],
	N_RESTARTABLE = 6,
	MAX_CALLERS = 40,
};

/* Which call the i-th thread makes; NULL: there are enough threads. */
static const struct call *call_of(const char *which, int i)
{
	if (which == NULL)
		return i < N_CALLS ? &calls[i] : NULL;
	if (strcmp(which, "restartable") == 0)
		return i < N_RESTARTABLE ? &calls[i] : NULL;
	return i < MAX_CALLERS
		   ? &calls[N_RESTARTABLE + i % (N_CALLS - N_RESTARTABLE)]
		   : NULL;
}

static void *caller(void *arg)
{
	const struct call *c = arg;

	while (!done) {
		double t = now_ms();

		if (c->make() != 0)
			complain(c->name);
		if (now_ms() - t < LIMIT_MS - 2) {
			errno = 0;
			complain("ended too early");
		}
	}
	return NULL;
}

/* -- Calls without a time limit -- */

static void *reader(void *arg)
{
	int fd = *(int *)arg;
	char c;

	while (read(fd, &c, 1) != 1)
		complain("read");
	return NULL;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *locker(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *waiter(void *arg) /* wait4 for a child that sleeps */
{
	pid_t pid = *(pid_t *)arg;

	while (waitpid(pid, NULL, 0) != pid)
		complain("waitpid");
	return NULL;
}

/* -- Computing -- */

enum { ROUNDS = 200000, N_BUSY = 4 };

static uint64_t compute(uint64_t seed)
{
	uint64_t s = seed * 0x9e3779b97f4a7c15ull + 1;
	double f = 1;

	for (int i = 0; i < ROUNDS; i++) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		f = f * 1.000001 + (double)(s & 3);
	}
	return s ^ (uint64_t)f;
}

static void *computer(void *arg)
{
	uint64_t seed = (uintptr_t)arg, first = compute(seed);

	while (!done)
		if (compute(seed) != first) {
			errno = 0;
			complain("computed something else");
		}
	return (void *)(uintptr_t)first;
}

/* -- All of it -- */

static void prepare(void)
{
	struct timeval t = {0, LIMIT_MS * 1000};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sem_id = semget(IPC_PRIVATE, 1, 0600 | IPC_CREAT);
	epoll_fd = epoll_create1(0);
	if (pipe(pipe_fds) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) ||
	    sem_id < 0 || epoll_fd < 0) {
		perror("blocked");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	const char *until = argc > 1 ? argv[1] : "1";
	const char *which = argc > 2 ? argv[2] : NULL;
	pthread_t busy[N_BUSY], call[MAX_CALLERS], rest[3];
	int n_calls = 0;
	int quiet_pipe[2];
	uint64_t sum = 0;
	pid_t child;

	lives(until);
	prepare();
	if (pipe(quiet_pipe))
		return 2;
	child = fork();
	if (child == 0) {
		char c;

		close(quiet_pipe[1]);
		_exit(read(quiet_pipe[0], &c, 1) == 0 ? 0 : 1);
	}
	close(quiet_pipe[0]);
	pthread_mutex_lock(&mutex);
	for (uintptr_t i = 0; i < N_BUSY; i++)
		pthread_create(&busy[i], NULL, computer, (void *)(i + 1));
	for (const struct call *c; (c = call_of(which, n_calls)) != NULL;)
		pthread_create(&call[n_calls++], NULL, caller, (void *)c);
	pthread_create(&rest[0], NULL, reader, &pipe_fds[0]);
	pthread_create(&rest[1], NULL, locker, NULL);
	pthread_create(&rest[2], NULL, waiter, &child);
	puts("ready");
	fflush(stdout);
	while (lives(until)) {
		struct timespec nap = {0, 50000000};

		if (nanosleep(&nap, NULL) != 0)
			complain("main's nanosleep");
	}
	done = 1;
	for (int i = 0; i < N_BUSY; i++) {
		void *one;

		pthread_join(busy[i], &one);
		sum = sum * 31 + (uintptr_t)one;
	}
	for (int i = 0; i < n_calls; i++)
		pthread_join(call[i], NULL);
	pthread_mutex_unlock(&mutex);
	close(quiet_pipe[1]);
	if (write(pipe_fds[1], "", 1) != 1)
		complain("write");
	for (int i = 0; i < 3; i++)
		pthread_join(rest[i], NULL);
	semctl(sem_id, 0, IPC_RMID);
	printf("checksum %016lx complaints %d\n", (unsigned long)sum,
	       (int)complaints);
	return complaints != 0;
}
