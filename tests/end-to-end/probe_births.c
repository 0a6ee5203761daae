/* tests/end-to-end/probe_births.c - threads that come and go, and threads that
 * are not told apart as usual.
 *
 *	probe_births thousand | crowd | raw | base | nowhere | ready
 *
 *	thousand	a thousand, at most four at a time
 *	crowd		150 at once
 *	raw		made by a system call, with the fs base of their maker:
 *			three run at once with the same
 *	base		a thread changes its fs base time and again
 *	nowhere		a thread has no memory at its fs base
 *	ready		raw, but calls begin when there is a file `go`
 *
 * `hot` is called with the ordinals 0, 1, 2, ..., each once. */
#include "guest.h"
#include "probe_functions.h"
#include <asm/prctl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>

PLAIN(hot);

enum { CALLS = 100, RAW = 3 };

static pthread_barrier_t barrier;
static int go;
static uint64_t raw_calls = 200000;

static int calls(uint64_t first, uint64_t n)
{
	int bad = 0;

	for (uint64_t i = first; i < first + n; i++)
		bad |= hot(i) != 2 * i + 1;
	return bad;
}

static void *thread(void *p)
{
	CHECK(calls((uintptr_t)p * CALLS, CALLS) == 0);
	return NULL;
}

static void *waits(void *p)
{
	CHECK(calls((uintptr_t)p * CALLS, CALLS / 2) == 0);
	pthread_barrier_wait(&barrier);
	CHECK(calls((uintptr_t)p * CALLS + CALLS / 2, CALLS / 2) == 0);
	return NULL;
}

static uint64_t run_thousand(void)
{
	for (uintptr_t i = 0; i < 1000; i += 4) {
		pthread_t t[4];

		for (uintptr_t k = 0; k < 4; k++)
			MUST(pthread_create(&t[k], NULL, thread,
					    (void *)(i + k)) == 0);
		for (int k = 0; k < 4; k++)
			pthread_join(t[k], NULL);
	}
	return 1000 * CALLS;
}

static uint64_t run_crowd(void)
{
	enum { CROWD = 150 };
	static pthread_t t[CROWD];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&barrier, NULL, CROWD);
	for (uintptr_t i = 0; i < CROWD; i++)
		MUST(pthread_create(&t[i], &small, waits, (void *)i) == 0);
	for (int i = 0; i < CROWD; i++)
		pthread_join(t[i], NULL);
	return CROWD * CALLS;
}

/* -- By system calls of its own -- */

struct raw {
	int done, bad;
	uint64_t first;
};

/* No stack protector, no errno: it has no thread-local data of its own. */
__attribute__((used, noreturn)) void raw_main(struct raw *r);
__attribute__((used, noreturn)) void raw_main(struct raw *r)
{
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
	r->bad = calls(r->first, raw_calls);
	__atomic_store_n(&r->done, 1, __ATOMIC_RELEASE);
	__asm__ volatile("syscall" : : "a"(SYS_exit), "D"(0));
	__builtin_unreachable();
}

long raw_thread(unsigned long flags, void *stack, struct raw *r);

/* clang-format off */
__asm__(".text\n"
	".globl raw_thread\n.type raw_thread, @function\n"
	"raw_thread: mov %rdx, %r9\n"
	"	xor	%edx, %edx\n"
	"	xor	%r10d, %r10d\n"
	"	xor	%r8d, %r8d\n"
	"	mov	$56, %eax\n"	/* clone */
	"	syscall\n"
	"	test	%rax, %rax\n"
	"	jz	1f\n"
	"	ret\n"
	"1:	mov	%r9, %rdi\n"
	"	call	raw_main\n"
	".size raw_thread, .-raw_thread\n");
/* clang-format on */

static uint64_t run_raw(bool is_ready)
{
	static struct raw all[RAW];
	unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES |
			      CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

	raw_calls = (uint64_t)rounds_of((int)raw_calls);
	for (int i = 0; i < RAW - 1; i++) {
		char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		long tid;

		all[i].first = (uint64_t)i * raw_calls;
		tid = raw_thread(flags, stack + 65536, &all[i]);
		MUST(tid > 0);
	}
	while (is_ready && access("go", F_OK) != 0)
		usleep(10000);
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	CHECK(calls((RAW - 1) * raw_calls, raw_calls) == 0);
	for (int i = 0; i < RAW - 1; i++) {
		while (!__atomic_load_n(&all[i].done, __ATOMIC_ACQUIRE))
			sched_yield();
		SAME(all[i].bad, 0);
	}
	return RAW * raw_calls;
}

static long base(int what, unsigned long value)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(SYS_arch_prctl), "D"(what), "S"(value)
			 : "rcx", "r11", "memory");
	return r;
}

/* Each call with another base: there are only so many of them. */
static uint64_t run_base(void)
{
	static char blocks[100][256] __attribute__((aligned(64)));
	unsigned long own;
	uint64_t n = 0;
	int bad = 0;

	MUST(base(ARCH_GET_FS, (unsigned long)&own) == 0);
	for (int i = 0; i < 5000; i++) {
		base(ARCH_SET_FS, (unsigned long)blocks[i % 100]);
		bad |= calls(n++, 1);
		base(ARCH_SET_FS, own);
		bad |= calls(n++, 1);
	}
	SAME(bad, 0);
	return n;
}

/* First where all is as usual: then it is known how a thread is found. */
static uint64_t run_nowhere(void)
{
	unsigned long own;
	void *hole =
	    mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t n = 0;
	int bad = 0;

	MUST(hole != MAP_FAILED);
	MUST(base(ARCH_GET_FS, (unsigned long)&own) == 0);
	for (int i = 0; i < 50; i++) {
		bad |= calls(n, 10);
		base(ARCH_SET_FS, (unsigned long)hole);
		bad |= calls(n + 10, 5);
		base(ARCH_SET_FS, own);
		n += 15;
	}
	SAME(bad, 0);
	return n;
}

int main(int argc, char **argv)
{
	uint64_t n;

	MUST(argc == 2);
	if (strcmp(argv[1], "thousand") == 0)
		n = run_thousand();
	else if (strcmp(argv[1], "crowd") == 0)
		n = run_crowd();
	else if (strcmp(argv[1], "raw") == 0)
		n = run_raw(false);
	else if (strcmp(argv[1], "ready") == 0)
		n = run_raw(true);
	else if (strcmp(argv[1], "nowhere") == 0)
		n = run_nowhere();
	else
		n = run_base();
	printf("hit hot %lu\n", n);
	return guest_end();
}
