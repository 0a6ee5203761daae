/* tests/end-to-end/probe_exact.c - functions whose calls are known one by one.
 *
 *	probe_exact FUNCTION THREADS CALLS	each thread so many calls
 *	probe_exact FUNCTION THREADS FILE	until there is such a file
 *
 * The n-th call of thread t (from 0) has the ordinal t * CALLS + n as its first
 * argument, so no two calls have the same. The result is 2 * ordinal + 1, and
 * is checked. At the end it says how often the function was called, and by
 * whom. The functions differ in the probe that their first instruction takes:
 *
 *	window	several instructions have to be moved
 *	jump, trap, plain	as probe_functions.h says */
#include "guest.h"
#include "probe_functions.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>

enum { THREADS_MAX = 64 };

typedef uint64_t function(uint64_t ordinal);
function window;

BY_JUMP(jump);

/* clang-format off */
__asm__(".text\n"
	".globl window\n.type window, @function\n"
	"window: push	%rbx\n"
	"	mov	%rdi, %rbx\n"
	"	add	%rbx, %rbx\n"
	"	mov	%rbx, %rax\n"
	"	inc	%rax\n"
	"	pop	%rbx\n"
	"	ret\n"
	".size window, .-window\n");
/* clang-format on */

BY_TRAP(trap);
PLAIN(plain);

static function *call;
static uint64_t calls;
static const char *until;
static int stop;

struct worker {
	pthread_t thread;
	uint64_t first, n;
	long tid;
} __attribute__((aligned(128)));

static void *work(void *p)
{
	struct worker *w = p;

	guest_begin();
	w->tid = syscall(SYS_gettid);
	while (until ? !__atomic_load_n(&stop, __ATOMIC_RELAXED)
		     : w->n < calls) {
		uint64_t ordinal = w->first + w->n;

		if (call(ordinal) != 2 * ordinal + 1)
			guest_wrong = 1;
		w->n++;
	}
	return NULL;
}

static void await_file(int threads)
{
	guest_await(threads);
	(void)access(until, F_OK); /* what is called first is bound then */
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (access(until, F_OK) != 0)
		usleep(2000);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	static struct worker w[THREADS_MAX];
	static const struct {
		const char *name;
		function *f;
	} all[] = {{"jump", jump},
		   {"window", window},
		   {"trap", trap},
		   {"plain", plain}};
	uint64_t sum = 0;
	char *end;
	int n;

	MUST(argc == 4);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strcmp(argv[1], all[i].name) == 0)
			call = all[i].f;
	n = atoi(argv[2]);
	MUST(call != NULL && n > 0 && n <= THREADS_MAX);
	calls = strtoull(argv[3], &end, 10);
	if (*end != '\0') {
		until = argv[3];
		calls = 1ull << 40;
	}
	for (int i = 0; i < n; i++) {
		w[i].first = (uint64_t)i * calls;
		MUST(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
	}
	if (until != NULL)
		await_file(n);
	for (int i = 0; i < n; i++) {
		pthread_join(w[i].thread, NULL);
		sum += w[i].n;
	}
	for (int i = 0; i < n; i++)
		printf("tid %ld %lu\n", w[i].tid, w[i].n);
	printf("hit %s %lu\n", argv[1], sum);
	return guest_end();
}
