/* tests/guests/sig_in_handler.c - a fault inside a handler for another signal
 * and a raise inside a fault's handler: both run, both return to the right
 * place, with their own infos. */
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

static volatile int usr, segv, usr2;
static volatile int *volatile bad = (int *)0x1238;

static void on_usr2(int sig)
{
	(void)sig;
	usr2++;
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	segv++;
	SAME(info->si_addr, 0x1238);
	raise(SIGUSR2);
	uc->uc_mcontext.gregs[REG_RAX] = (greg_t)&usr2;
	SAME(info->si_addr, 0x1238); /* not overwritten */
}

static void on_usr(int sig, siginfo_t *info, void *context)
{
	int before = usr2;

	(void)context;
	SAME(info->si_signo, sig);
	asm volatile("movl (%%rax), %%ecx" ::"a"(bad) : "rcx", "memory");
	SAME(usr2, before + 1);
	usr++;
	SAME(info->si_signo, sig);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = on_usr, .sa_flags = SA_SIGINFO};

	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	sa.sa_sigaction = on_segv;
	MUST(sigaction(SIGSEGV, &sa, NULL) == 0);
	signal(SIGUSR2, on_usr2);
	for (int i = 1; i <= 100; i++) {
		raise(SIGUSR1);
		SAME(usr, i);
		SAME(segv, i);
		SAME(usr2, i);
	}
	return guest_end();
}
