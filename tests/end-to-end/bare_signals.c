/* tests/end-to-end/bare_signals.c - every way in which a signal handler
 * returns.
 *
 * A timer's handler returns some hundred times by the C library's own code;
 * then by code of this program's, which has no symbol size, no type and no
 * call-frame rules. Threads begin and end meanwhile, and signals are blocked
 * and unblocked by the C library and by a system call that stands here. Prints
 * ok. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { TICKS = 40, THREADS = 8 };

static volatile int ticks, own, caught;

/* The number of the system call cannot be seen before it. */
__asm__(".text\n"
	"restorer:\n"
	"	push	$15\n"
	"	pop	%rax\n"
	"	syscall\n"
	"	int3\n"
	".globl mask_all\n"
	".type mask_all, @function\n"
	"mask_all:\n" /* (how, set, old) */
	"	mov	$8, %r10d\n"
	"	mov	$14, %eax\n"
	"	syscall\n"
	"	ret\n"
	".size mask_all, . - mask_all\n");
extern const char restorer[];
long mask_all(long how, const uint64_t *set, uint64_t *old);

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

static void tick_own(int sig)
{
	(void)sig;
	own++;
}

static void fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	(void)info;
	caught++;
	u->uc_mcontext.gregs[REG_RIP] += 2; /* over the ud2 */
}

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static void *thread(void *arg)
{
	uint64_t all = ~0ull, old;

	for (int i = 0; i < 100; i++) {
		mask_all(SIG_SETMASK, &all, &old);
		work(i);
		mask_all(SIG_SETMASK, &old, NULL);
	}
	return arg;
}

struct kernel_action {
	void (*handler)(int sig);
	uint64_t flags;
	const void *restorer;
	uint64_t mask;
};

static int use_own_restorer(void)
{
	enum { RESTORER = 0x04000000 };
	struct kernel_action a = {tick_own, RESTORER, restorer, 0};

	return (int)syscall(SYS_rt_sigaction, SIGALRM, &a, NULL, 8);
}

int main(void)
{
	struct sigaction a = {.sa_handler = tick};
	struct itimerval every = {{0, 500}, {0, 500}};
	pthread_t t[THREADS];
	sigset_t set, old;

	sigaction(SIGALRM, &a, NULL);
	a.sa_sigaction = fault;
	a.sa_flags = SA_SIGINFO;
	sigaction(SIGILL, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	sigfillset(&set);
	while (ticks < TICKS) {
		for (int i = 0; i < THREADS; i++)
			if (pthread_create(&t[i], NULL, thread, NULL) != 0)
				return 1;
		for (int i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
		__asm__ volatile("ud2");
		pthread_sigmask(SIG_SETMASK, &set, &old);
		work(0);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	if (use_own_restorer() != 0)
		return 1;
	while (own < TICKS)
		work(own);
	puts(caught > 0 ? "ok" : "no fault was caught");
	return caught > 0 ? 7 : 1;
}
