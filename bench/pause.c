/* bench/pause.c - a target that notices when it is stopped.
 *
 *   pause BOARD THREADS SECONDS
 *
 * Every thread reads the clock in a tight loop and keeps the longest time
 * between two looks. Two of them, because threads that outnumber the cpus
 * stand still anyway, waiting for their turn:
 *
 *   thread_ns   the longest that any one thread was away
 *   all_ns      the longest that *no* thread looked: the program stood still
 *
 * The observer and the target share BOARD, a file of struct board. The
 * observer opens a window by writing its number, and reads what the threads
 * have left in it after going on to the next: no signal, no system call, and
 * so nothing that a visitor could disturb or restart. A gap belongs to the
 * window in which it ends: the observer waits for a look before it goes on to
 * the next. The layout is known to bench/door: ORDER board.
 *
 * Ends when `stop` is set, when its parent dies, or after SECONDS. Exit
 * status 0 if every thread has looked to the end. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { WINDOWS = 1024, THREADS_MAX = 64 };

struct window {
	_Atomic uint64_t thread_ns;
	_Atomic uint64_t all_ns;
};

/* ORDER board */
struct board {
	_Atomic uint32_t window; /* written by the observer */
	_Atomic uint32_t stop;	 /* written by the observer */
	_Atomic uint32_t ready;	 /* threads that look */
	_Atomic uint32_t beat;	 /* changes with every look */
	struct window windows[WINDOWS];
};
_Static_assert(offsetof(struct board, windows) == 16, "bench/door knows");

static struct board *board;
static _Atomic uint64_t seen_ns; /* the latest look of anybody */
static uint64_t until_ns;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void keep_longest(_Atomic uint64_t *longest, uint64_t ns)
{
	uint64_t old = atomic_load_explicit(longest, memory_order_relaxed);

	while (old < ns && !atomic_compare_exchange_weak(longest, &old, ns))
		;
}

/* How long nobody had looked when this look was taken. A look that comes too
 * late to be news (its thread lost the cpu in between) says nothing. */
static uint64_t alone_ns(uint64_t now)
{
	uint64_t seen = atomic_load_explicit(&seen_ns, memory_order_relaxed);

	while (seen < now)
		if (atomic_compare_exchange_weak(&seen_ns, &seen, now))
			return now - seen;
	return 0;
}

static void *look(void *unused)
{
	uint64_t last = now_ns();

	(void)unused;
	atomic_fetch_add(&board->ready, 1);
	while (atomic_load_explicit(&board->stop, memory_order_relaxed) == 0) {
		uint64_t now = now_ns();
		struct window *w = &board->windows[board->window % WINDOWS];

		keep_longest(&w->thread_ns, now - last);
		keep_longest(&w->all_ns, alone_ns(now));
		last = now;
		atomic_fetch_add_explicit(&board->beat, 1,
					  memory_order_relaxed);
		if (now > until_ns)
			break;
	}
	return NULL;
}

static struct board *board_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *at = MAP_FAILED;

	if (fd >= 0) {
		at = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);
		close(fd);
	}
	if (at == MAP_FAILED) {
		fprintf(stderr, "pause: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return at;
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS_MAX];
	long n = argc == 4 ? strtol(argv[2], NULL, 10) : 0;

	if (n < 1 || n > THREADS_MAX) {
		fprintf(stderr, "usage: pause BOARD THREADS SECONDS\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	board = board_map(argv[1]);
	seen_ns = now_ns();
	until_ns = seen_ns + strtoull(argv[3], NULL, 10) * 1000000000;
	for (long i = 1; i < n; i++)
		if (pthread_create(&ids[i], NULL, look, NULL) != 0) {
			fprintf(stderr, "pause: cannot make a thread\n");
			return 1;
		}
	look(NULL);
	for (long i = 1; i < n; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
