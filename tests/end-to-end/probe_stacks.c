/* tests/end-to-end/probe_stacks.c - probed functions on small and strange
 * stacks.
 *
 *	probe_stacks alternate | small | contexts | tiny
 *
 *	alternate	handlers on a stack of their own, which call functions
 *			that are probed by a jump and by a trap
 *	small		the same by a jump alone, with little more room than the
 *			kernel needs
 *	contexts	coroutines by swapcontext, and setcontext out of them
 *	tiny		coroutines with 2 KiB each, by a jump
 *
 * Nothing may be written below a stack. */
#include "guest.h"
#include "probe_functions.h"
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>

BY_TRAP(trapped);
PLAIN(jumped);

enum { N = 2000, GUARD = 16384, FILL = 0x5a };

static uint64_t n_jumped, n_trapped;
static int with_traps;
static unsigned char *memory;

/* So many bytes, with bytes below that nobody may touch. */
static void *stack_new(size_t len)
{
	memory = mmap(NULL, GUARD + len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(memory != MAP_FAILED);
	memset(memory, FILL, GUARD);
	return memory + GUARD;
}

static void stack_check(void)
{
	size_t i = 0;

	while (i < GUARD && memory[i] == FILL)
		i++;
	SAME(i, GUARD);
}

static void both(uint64_t i)
{
	SAME(jumped(i), 2 * i + 1);
	n_jumped++;
	if (with_traps) {
		SAME(trapped(i), 2 * i + 1);
		n_trapped++;
	}
}

static void on_signal(int sig)
{
	char here;

	(void)sig;
	CHECK((unsigned char *)&here > memory);
	both(n_jumped);
}

static void run_alternate(size_t more)
{
	size_t least = getauxval(AT_MINSIGSTKSZ);
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack_t s = {.ss_size = least + more}, now;

	s.ss_sp = stack_new(s.ss_size);
	MUST(sigaltstack(&s, NULL) == 0);
	sigemptyset(&a.sa_mask);
	MUST(sigaction(SIGUSR1, &a, NULL) == 0);
	for (int i = 0; i < N; i++) {
		raise(SIGUSR1);
		both(n_jumped);
	}
	MUST(sigaltstack(NULL, &now) == 0);
	CHECK(now.ss_sp == s.ss_sp && now.ss_size == s.ss_size);
	SAME(now.ss_flags, 0);
	stack_check();
}

static ucontext_t here, there, out;
static volatile int rounds;

static void coroutine(void)
{
	for (;;) {
		both(n_jumped);
		rounds++;
		if (rounds == N)
			setcontext(&out);
		swapcontext(&there, &here);
	}
}

static void run_contexts(size_t len)
{
	volatile int done = 0;

	MUST(getcontext(&there) == 0);
	there.uc_stack.ss_sp = stack_new(len);
	there.uc_stack.ss_size = len;
	makecontext(&there, coroutine, 0);
	MUST(getcontext(&out) == 0);
	if (!done) {
		done = 1;
		for (;;)
			swapcontext(&here, &there);
	}
	SAME(rounds, N);
	stack_check();
}

int main(int argc, char **argv)
{
	MUST(argc == 2);
	with_traps = argv[1][0] == 'a' || argv[1][0] == 'c';
	if (strcmp(argv[1], "alternate") == 0)
		run_alternate(24576);
	else if (strcmp(argv[1], "small") == 0)
		run_alternate(2048);
	else if (strcmp(argv[1], "contexts") == 0)
		run_contexts(32768);
	else if (strcmp(argv[1], "tiny") == 0)
		run_contexts(2048);
	else
		return 2;
	printf("hit jumped %lu\n", n_jumped);
	if (with_traps)
		printf("hit trapped %lu\n", n_trapped);
	return guest_end();
}
