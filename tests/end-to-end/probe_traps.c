/* tests/end-to-end/probe_traps.c - a program that uses SIGTRAP for itself, and
 * calls functions that can only be probed by a trap.
 *
 *	probe_traps own | blocked | threads | handler | masks | ignored | raw |
 *		die
 *
 *	own	a handler, int3 and raise() of its own
 *	blocked	blocked by sigprocmask; one that comes waits, as others do
 *	threads	threads that begin with everything blocked
 *	handler	in a handler that blocks everything
 *	masks	what is blocked in handlers, and after them
 *	ignored	SIGTRAP and SIGILL are ignored
 *	raw	all this by system calls of its own
 *	die	int3 while it is blocked is the end, by SIGTRAP */
#include "guest.h"
#include "probe_functions.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <time.h>

BY_TRAP(trapped);

uint64_t own_int3(uint64_t n);
long raw_call(long nr, long a, long b, long c, long d);
extern const char after_int3[];

/* clang-format off */
__asm__(".text\n"
	".globl own_int3\n.type own_int3, @function\n"
	"own_int3: lea	1(%rdi,%rdi), %rax\n"
	"	int3\n"
	".globl after_int3\n"
	"after_int3: ret\n"
	".size own_int3, .-own_int3\n"
	".globl raw_call\n.type raw_call, @function\n"
	"raw_call: mov	%rdi, %rax\n"
	"	mov	%rsi, %rdi\n"
	"	mov	%rdx, %rsi\n"
	"	mov	%rcx, %rdx\n"
	"	mov	%r8, %r10\n"
	"	syscall\n"
	"	ret\n"
	".size raw_call, .-raw_call\n");
/* clang-format on */

enum { N = 2000 };

static volatile sig_atomic_t n_traps, n_raised, n_other;
static uint64_t hits, ints;

static void calls(int n)
{
	for (int i = 0; i < n; i++)
		SAME(trapped((uint64_t)i), 2 * i + 1);
	__atomic_fetch_add(&hits, (uint64_t)n, __ATOMIC_RELAXED);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	SAME(sig, SIGTRAP);
	if (info->si_code == SI_KERNEL || info->si_code == TRAP_BRKPT) {
		SAME(u->uc_mcontext.gregs[REG_RIP], after_int3);
		n_traps++;
	} else {
		SAME(info->si_code, SI_TKILL);
		SAME(info->si_pid, getpid());
		n_raised++;
	}
	CHECK(sigismember(&u->uc_sigmask, SIGTRAP) == 0);
}

static void on_full(int sig)
{
	sigset_t now;

	(void)sig;
	n_other++;
	sigprocmask(SIG_BLOCK, NULL, &now);
	CHECK(sigismember(&now, SIGTRAP) == 1);
	CHECK(sigismember(&now, SIGILL) == 1);
	calls(10);
}

static void handle(int sig, void (*f)(int, siginfo_t *, void *))
{
	struct sigaction a = {.sa_sigaction = f, .sa_flags = SA_SIGINFO}, now;

	sigemptyset(&a.sa_mask);
	MUST(sigaction(sig, &a, NULL) == 0);
	MUST(sigaction(sig, NULL, &now) == 0);
	CHECK(now.sa_sigaction == f);
	SAME(now.sa_flags & SA_SIGINFO, SA_SIGINFO);
}

static void run_own(void)
{
	handle(SIGTRAP, on_trap);
	for (int i = 0; i < N; i++) {
		SAME(own_int3((uint64_t)i), 2 * i + 1);
		raise(SIGTRAP);
		calls(1);
	}
	ints = N;
	SAME(n_traps, N);
	SAME(n_raised, N);
}

static void run_blocked(void)
{
	sigset_t all, before, now;
	siginfo_t info;
	struct timespec zero = {0, 0};

	handle(SIGTRAP, on_trap);
	sigfillset(&all);
	MUST(sigprocmask(SIG_SETMASK, &all, &before) == 0);
	CHECK(sigismember(&before, SIGTRAP) == 0);
	calls(N);
	MUST(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
	CHECK(sigismember(&now, SIGTRAP) == 1);
	sigpending(&now);
	CHECK(sigismember(&now, SIGTRAP) == 0);
	raise(SIGTRAP);
	calls(N);
	SAME(n_raised, 0);
	sigpending(&now);
	CHECK(sigismember(&now, SIGTRAP) == 1);
	MUST(sigprocmask(SIG_SETMASK, &before, &now) == 0);
	CHECK(sigismember(&now, SIGTRAP) == 1);
	SAME(n_raised, 1);
	calls(N);
	/* and by sigtimedwait */
	sigprocmask(SIG_SETMASK, &all, NULL);
	raise(SIGTRAP);
	calls(N);
	sigemptyset(&now);
	sigaddset(&now, SIGTRAP);
	SAME(sigtimedwait(&now, &info, &zero), SIGTRAP);
	sigprocmask(SIG_SETMASK, &before, NULL);
	SAME(n_raised, 1);
}

static void *thread(void *unused)
{
	sigset_t now;

	(void)unused;
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	CHECK(sigismember(&now, SIGTRAP) == 1);
	calls(10);
	return NULL;
}

static void run_threads(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < 100; i++) {
		pthread_t t[2];

		for (int k = 0; k < 2; k++)
			MUST(pthread_create(&t[k], NULL, thread, NULL) == 0);
		for (int k = 0; k < 2; k++)
			pthread_join(t[k], NULL);
	}
}

static void run_handler(void)
{
	struct sigaction a = {.sa_handler = on_full};

	sigfillset(&a.sa_mask);
	MUST(sigaction(SIGUSR1, &a, NULL) == 0);
	for (int i = 0; i < N; i++)
		raise(SIGUSR1);
	SAME(n_other, N);
}

/* -- Masks in handlers -- */

static int blocked(int sig)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, sig);
}

static int is_pending(int sig)
{
	sigset_t now;

	sigpending(&now);
	return sigismember(&now, sig);
}

static void change(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	MUST(sigprocmask(how, &set, NULL) == 0);
}

static void with(int sig, void (*f)(int), int flags, int blocks)
{
	struct sigaction a = {.sa_handler = f, .sa_flags = flags};

	sigemptyset(&a.sa_mask);
	if (blocks != 0)
		sigaddset(&a.sa_mask, blocks);
	MUST(sigaction(sig, &a, NULL) == 0);
}

static volatile int depth;

/* SIGTRAP, which is blocked in here: another one waits. */
static void raise_once_more(int sig)
{
	n_raised++;
	SAME(depth, 0);
	depth++;
	SAME(blocked(sig), 1);
	if (n_raised % 2 == 1) {
		raise(sig);
		SAME(is_pending(sig), 1);
		calls(1);
	}
	depth--;
}

/* sa_mask: SIGTRAP; nothing of this is left afterwards. */
static void open_and_close(int sig)
{
	(void)sig;
	SAME(blocked(SIGTRAP), 1);
	SAME(blocked(SIGILL), 0);
	change(SIG_UNBLOCK, SIGTRAP);
	n_traps = 0;
	raise(SIGTRAP);
	SAME(n_traps, 1);
	change(SIG_BLOCK, SIGILL);
	SAME(blocked(SIGILL), 1);
	SAME(blocked(SIGTRAP), 0);
	calls(1);
}

static void count(int sig)
{
	(void)sig;
	n_traps++;
}

static void not_deferred(int sig)
{
	SAME(blocked(sig), 0);
	if (++depth < 3)
		raise(sig);
}

static void critical(int sig)
{
	sigset_t full, old;

	sigfillset(&full);
	sigprocmask(SIG_SETMASK, &full, &old);
	SAME(blocked(SIGTRAP), 1);
	calls(1);
	sigprocmask(SIG_SETMASK, &old, NULL);
	SAME(blocked(sig), 1);
}

static void take_it(int sig)
{
	struct timespec zero = {0, 0};
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	SAME(sigtimedwait(&set, &info, &zero), -1);
	raise(sig);
	calls(1);
	SAME(sigtimedwait(&set, &info, &zero), sig);
	SAME(info.si_signo, sig);
	SAME(info.si_code, SI_USER); /* so says libc */
	SAME(info.si_pid, getpid());
	SAME(is_pending(sig), 0);
	n_other++;
}

static sigjmp_buf away;

static void leave(int sig)
{
	(void)sig;
	calls(1);
	siglongjmp(away, 1);
}

static void deep(int sig)
{
	SAME(blocked(SIGTRAP), depth > 6 ? blocked(SIGTRAP) : 1);
	if (++depth < 20)
		raise(sig);
	calls(1);
}

static void leave_by_jump(int sig, int before)
{
	if (sigsetjmp(away, 1) == 0) {
		if (before != 0)
			change(SIG_BLOCK, before);
		raise(sig);
		CHECK(0);
	}
	SAME(blocked(SIGTRAP), 0);
	SAME(blocked(sig), 0);
}

static void run_masks(void)
{
	static char other[65536];
	stack_t stack = {.ss_sp = other, .ss_size = sizeof other};

	for (int i = 0, n = rounds_of(N); i < n; i++) {
		with(SIGTRAP, raise_once_more, 0, 0);
		n_raised = 0;
		raise(SIGTRAP);
		calls(1);
		SAME(n_raised, 2);
		SAME(blocked(SIGTRAP), 0);

		with(SIGTRAP, count, 0, 0);
		with(SIGUSR1, open_and_close, 0, SIGTRAP);
		raise(SIGUSR1);
		SAME(blocked(SIGTRAP), 0);
		SAME(blocked(SIGILL), 0);

		with(SIGTRAP, not_deferred, SA_NODEFER, 0);
		depth = 0;
		raise(SIGTRAP);
		SAME(depth, 3);

		with(SIGTRAP, critical, 0, 0);
		raise(SIGTRAP);
		SAME(blocked(SIGTRAP), 0);

		with(SIGTRAP, take_it, 0, 0);
		n_other = 0;
		raise(SIGTRAP);
		SAME(n_other, 1);
		SAME(blocked(SIGTRAP), 0);

		with(SIGTRAP, leave, 0, 0);
		leave_by_jump(SIGTRAP, 0);
		with(SIGUSR1, leave, 0, 0);
		leave_by_jump(SIGUSR1, SIGTRAP);

		MUST(sigaltstack(&stack, NULL) == 0);
		with(SIGTRAP, count, 0, 0);
		with(SIGUSR1, open_and_close, SA_ONSTACK, SIGTRAP);
		raise(SIGUSR1);
		SAME(blocked(SIGTRAP), 0);
		SAME(blocked(SIGILL), 0);
		with(SIGUSR1, leave, SA_ONSTACK, SIGTRAP);
		leave_by_jump(SIGUSR1, SIGILL);
		SAME(blocked(SIGILL), 0);

		/* Blocked before, and again. */
		with(SIGTRAP, count, 0, 0);
		with(SIGUSR1, open_and_close, 0, 0);
		change(SIG_BLOCK, SIGTRAP);
		raise(SIGUSR1);
		SAME(blocked(SIGTRAP), 1);
		n_traps = 0;
		raise(SIGTRAP);
		SAME(n_traps, 0);
		SAME(is_pending(SIGTRAP), 1);
		change(SIG_UNBLOCK, SIGTRAP);
		SAME(n_traps, 1);
		SAME(is_pending(SIGTRAP), 0);

		with(SIGUSR1, deep, SA_NODEFER, SIGTRAP);
		depth = 0;
		raise(SIGUSR1);
		SAME(depth, 20);
		SAME(blocked(SIGTRAP), 0);
		depth = 0;
	}
}

static void run_ignored(void)
{
	struct sigaction now;

	signal(SIGTRAP, SIG_IGN);
	signal(SIGILL, SIG_IGN);
	calls(N);
	raise(SIGTRAP);
	raise(SIGILL);
	MUST(sigaction(SIGTRAP, NULL, &now) == 0);
	CHECK(now.sa_handler == SIG_IGN);
	calls(N);
}

/* As the kernel has it. */
struct action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static void run_raw(void)
{
	struct action a, now;
	uint64_t all = ~0ull, before, mask;

	handle(SIGTRAP, on_trap);
	SAME(raw_call(SYS_rt_sigaction, SIGTRAP, 0, (long)&a, 8), 0);
	CHECK(a.handler == on_trap);
	SAME(raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all,
		      (long)&before, 8),
	     0);
	calls(N);
	SAME(raw_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, 8), 0);
	SAME(mask >> (SIGTRAP - 1) & 1, 1);
	SAME(raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, 8), 0);
	a.mask = 1u << (SIGUSR2 - 1);
	SAME(raw_call(SYS_rt_sigaction, SIGTRAP, (long)&a, 0, 8), 0);
	SAME(raw_call(SYS_rt_sigaction, SIGTRAP, 0, (long)&now, 8), 0);
	SAME(memcmp(&a, &now, sizeof a), 0);
	for (int i = 0; i < N; i++)
		SAME(own_int3((uint64_t)i), 2 * i + 1);
	ints = N;
	calls(N);
}

static void run_die(void)
{
	sigset_t all;

	handle(SIGTRAP, on_trap);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	calls(N);
	printf("hit trapped %lu\n", hits);
	guest_end();
	fflush(stdout);
	own_int3(0);
	_exit(99);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {{"own", run_own},	     {"blocked", run_blocked},
		   {"threads", run_threads}, {"handler", run_handler},
		   {"masks", run_masks},     {"ignored", run_ignored},
		   {"raw", run_raw},	     {"die", run_die}};

	MUST(argc == 2);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strcmp(argv[1], all[i].name) == 0)
			all[i].run();
	CHECK(hits > 0);
	printf("hit trapped %lu\n", hits);
	if (ints != 0)
		printf("hit own_int3 %lu\n", ints);
	return guest_end();
}
