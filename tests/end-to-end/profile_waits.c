/* tests/end-to-end/profile_waits.c - waits in functions of known names, for
 * times that it takes itself.
 *
 *	waits all	each kind of wait once; says "NAME NS" of each
 *	waits handler	waits in a handler that has interrupted a computation
 *	waits deep	waits at the end of 3000 calls
 *	waits crowd	400 threads, one after the other and some at once, which
 *			wait a little
 *	waits storm	two threads that wake each other as often as they can
 *	waits fork	a child waits, as long as another one lives, which
 *			executes waits all
 *	waits server	threads wait for good; says "ready"; ends with its input
 *
 * What is said is how long the call took. It ends with "ok". */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KNOWN  __attribute__((noinline, noclone)) static
#define BEHIND __asm__ volatile("") /* no tail call */

enum { MS = 1000000, WAIT_MS = 250 };

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void bad(const char *what)
{
	printf("bad: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* -- Kinds of waits -- */

KNOWN void in_sleep(void)
{
	struct timespec t = {0, WAIT_MS * MS};

	if (nanosleep(&t, NULL) != 0)
		bad("nanosleep");
	BEHIND;
}

KNOWN void in_poll(void)
{
	if (poll(NULL, 0, WAIT_MS) != 0)
		bad("poll");
	BEHIND;
}

KNOWN void in_epoll(void)
{
	struct epoll_event e;
	int fd = epoll_create1(0);

	if (epoll_wait(fd, &e, 1, WAIT_MS) != 0)
		bad("epoll_wait");
	close(fd);
}

KNOWN void in_select(void)
{
	struct timeval t = {0, WAIT_MS * 1000};

	if (select(0, NULL, NULL, NULL, &t) != 0)
		bad("select");
	BEHIND;
}

/* With a mask of its own. */
KNOWN void in_pselect(void)
{
	struct timespec t = {0, WAIT_MS * MS};
	sigset_t none;

	sigemptyset(&none);
	if (pselect(0, NULL, NULL, NULL, &t, &none) != 0)
		bad("pselect");
	BEHIND;
}

KNOWN void in_sigwait(void)
{
	struct timespec t = {0, WAIT_MS * MS};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	if (sigtimedwait(&set, NULL, &t) >= 0 || errno != EAGAIN)
		bad("sigtimedwait");
	BEHIND;
}

/* By syscall(), whose number nobody knows beforehand. */
KNOWN void in_futex(void)
{
	struct timespec t = {0, WAIT_MS * MS};
	uint32_t word = 0;

	if (syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, NULL, 0) != -1 ||
	    errno != ETIMEDOUT)
		bad("futex");
}

/* A frame whose size is known at run time only. */
KNOWN void in_alloca(volatile size_t n)
{
	char room[n];

	memset(room, 1, n);
	BEHIND;
	if (poll(NULL, 0, WAIT_MS) != 0 || room[n - 1] != 1)
		bad("poll");
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

KNOWN void in_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	BEHIND;
}

KNOWN void in_read(void)
{
	char c;

	if (read(ends[0], &c, 1) != 1)
		bad("read");
	BEHIND;
}

/* CPU time; what is said of it is that. */
KNOWN void in_burn(void)
{
	int64_t until = now(CLOCK_THREAD_CPUTIME_ID) + WAIT_MS * (int64_t)MS;
	volatile uint64_t n = 0;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		for (int i = 0; i < 100000; i++)
			n += i;
}

/* -- Whoever makes others wait -- */

static void *keep_mutex(void *locked)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(locked);
	usleep(WAIT_MS * 1000);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *write_late(void *unused)
{
	usleep(WAIT_MS * 1000);
	if (write(ends[1], "", 1) != 1)
		bad("write");
	return unused;
}

static void timed(const char *name, void (*f)(void))
{
	int64_t began = now(CLOCK_MONOTONIC);

	f();
	printf("%s %ld\n", name, (long)(now(CLOCK_MONOTONIC) - began));
}

static void fixed_alloca(void)
{
	in_alloca(5000);
}

static void all(void)
{
	pthread_barrier_t locked;
	pthread_t other;

	timed("in_sleep", in_sleep);
	timed("in_poll", in_poll);
	timed("in_epoll", in_epoll);
	timed("in_select", in_select);
	timed("in_pselect", in_pselect);
	timed("in_sigwait", in_sigwait);
	timed("in_futex", in_futex);
	timed("in_alloca", fixed_alloca);
	pthread_barrier_init(&locked, NULL, 2);
	pthread_create(&other, NULL, keep_mutex, &locked);
	pthread_barrier_wait(&locked);
	timed("in_mutex", in_mutex);
	pthread_join(other, NULL);
	if (pipe(ends) != 0)
		bad("pipe");
	pthread_create(&other, NULL, write_late, NULL);
	timed("in_read", in_read);
	pthread_join(other, NULL);
	in_burn();
	printf("in_burn %ld\n", (long)WAIT_MS * MS);
}

/* -- Signals, depth, many -- */

KNOWN void in_handler(int sig)
{
	(void)sig;
	in_sleep();
	BEHIND;
}

KNOWN void in_interrupted(void)
{
	raise(SIGUSR1);
	BEHIND;
}

static void handler(void)
{
	signal(SIGUSR1, in_handler);
	in_interrupted();
}

KNOWN int in_deep(int n)
{
	if (n == 0) {
		in_sleep();
		return 1;
	}
	n = in_deep(n - 1) + 1;
	BEHIND;
	return n;
}

static void deep(void)
{
	if (in_deep(2999) != 3000)
		bad("deep");
}

static void *wait_little(void *ms)
{
	usleep((uint32_t)(uintptr_t)ms * 1000);
	return NULL;
}

static void crowd(void)
{
	enum { ROUNDS = 50, AT_ONCE = 8 };
	pthread_t t[AT_ONCE];

	for (int i = 0; i < ROUNDS; i++) {
		for (uintptr_t k = 0; k < AT_ONCE; k++)
			if (pthread_create(&t[k], NULL, wait_little,
					   (void *)(k % 4)) != 0)
				bad("pthread_create");
		for (int k = 0; k < AT_ONCE; k++)
			pthread_join(t[k], NULL);
	}
}

enum { STORM = 20000 };
static int there[2], back[2];

KNOWN void *in_echo(void *unused)
{
	char c;

	for (int i = 0; i < STORM; i++)
		if (read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1)
			bad("echo");
	return unused;
}

static void storm(void)
{
	pthread_t t;
	char c = 0;

	if (pipe(there) != 0 || pipe(back) != 0)
		bad("pipe");
	pthread_create(&t, NULL, in_echo, NULL);
	for (int i = 0; i < STORM; i++)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			bad("storm");
	pthread_join(t, NULL);
}

/* -- Processes -- */

/* Until the other one has ended. */
KNOWN void in_child(void)
{
	char c;

	close(ends[1]);
	if (read(ends[0], &c, 1) != 0)
		bad("read");
	BEHIND;
}

static void end_children(void)
{
	int status;

	while (wait(&status) > 0)
		if (status != 0)
			bad("a child");
}

static void children(const char *self)
{
	if (pipe(ends) != 0)
		bad("pipe");
	if (fork() == 0) {
		timed("in_child", in_child);
		_exit(0);
	}
	if (fork() == 0) {
		execl(self, self, "all", NULL);
		_exit(1);
	}
	close(ends[0]);
	close(ends[1]);
	end_children();
}

KNOWN void *in_forever(void *unused)
{
	uint32_t word = 0;

	for (;;)
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
	return unused;
}

KNOWN void in_input(void)
{
	char c;

	while (read(0, &c, 1) > 0)
		;
}

static void server(void)
{
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, in_forever, NULL);
	puts("ready");
	in_input();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"all", all},     {"handler", handler},
		     {"deep", deep},   {"crowd", crowd},
		     {"storm", storm}, {"server", server}};
	const char *mode = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(mode, "fork") == 0)
		children(argv[0]);
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (strcmp(mode, modes[i].name) == 0)
			modes[i].run();
	puts("ok");
	return 0;
}
