/* tests/guests/sig_return_odd.c - returns from handlers with an odd context:
 * without floating point state, to an address that is none, with flags that may
 * not be set, with a stack pointer of nothing. */
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>

static volatile int how, segv;
static volatile uint64_t at, rip;
static sigjmp_buf out;
static char alt[65536];

static void on_usr(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	if (how == 1)
		uc->uc_mcontext.fpregs = NULL;
	else if (how == 2)
		g[REG_RIP] = 0x123000;
	else if (how == 3)
		g[REG_RIP] = (greg_t)(1ull << 63);
	else if (how == 4)
		g[REG_EFL] |= 0x3000 | 0x20000 | CF; /* IOPL, VM */
	else if (how == 5)
		g[REG_RSP] = 0;
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	segv++;
	at = (uint64_t)info->si_addr;
	rip = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	siglongjmp(out, sig);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = on_usr,
			       .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
	uint32_t mx = 0x3f80, mx2;
	uint64_t f;

	MUST(sigaltstack(&ss, NULL) == 0);
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	sa.sa_sigaction = on_segv;
	MUST(sigaction(SIGSEGV, &sa, NULL) == 0);
	for (volatile int i = 0; i < 10; i++) {
		how = 1; /* the initial state */
		asm volatile("ldmxcsr %0" ::"m"(mx));
		raise(SIGUSR1);
		asm volatile("stmxcsr %0" : "=m"(mx2));
		SAME(mx2, 0x1f80);
		how = 2;
		if (sigsetjmp(out, 1) == 0)
			raise(SIGUSR1);
		SAME(at, 0x123000);
		SAME(rip, 0x123000);
		how = 3;
		if (sigsetjmp(out, 1) == 0)
			raise(SIGUSR1);
		SAME(rip, 1ull << 63);
		SAME(at, 0);
		how = 5;
		if (sigsetjmp(out, 1) == 0)
			raise(SIGUSR1);
		how = 4;
		raise(SIGUSR1);
		asm volatile("pushfq\n\tpop %0" : "=r"(f));
		SAME(f & (0x3000 | 0x20000), 0);
		SAME(segv, 3 * i + 3);
	}
	return guest_end();
}
