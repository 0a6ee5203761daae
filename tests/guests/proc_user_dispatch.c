/* tests/guests/proc_user_dispatch.c - syscall user dispatch: outside of one
 * range of code, calls become SIGSYS while a byte says so. */
#include "guest.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static volatile uint8_t selector; /* 0: allow, 1: block */
static volatile int n;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	selector = 0;
	n++;
	SAME(info->si_code, 2); /* SYS_USER_DISPATCH */
	SAME(info->si_syscall, SYS_getuid);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 999;
}

static long ask(int block)
{
	long rc;

	asm volatile("movb %2, %1\n\tsyscall\n\tmovb $0, %1"
		     : "=a"(rc), "+m"(selector)
		     : "r"((char)block), "a"(SYS_getuid)
		     : "rcx", "r11", "memory");
	return rc;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	MUST(sigaction(SIGSYS, &sa, NULL) == 0);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector) != 0)
		guest_absent("kernel");
	for (int i = 1; i <= 30; i++) {
		SAME(ask(0), getuid());
		SAME(ask(1), 999);
		SAME(n, i);
	}
	MUST(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0) == 0);
	SAME(ask(1), getuid());
	return guest_end();
}
