/* tests/guests/dispatch.c - a thread whose system calls are handed to itself.
 *
 * Syscall user dispatch (as Wine uses it): while the selector says so, every
 * system call of this thread becomes SIGSYS. It says "ready" and makes none
 * until SIGUSR1 comes, so none may be counted, whoever visits meanwhile; then
 * it makes one, which must. Exit status 0 if so, 3 if the kernel has no such
 * thing. */
#define _GNU_SOURCE
#include <linux/prctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile char selector = SYSCALL_DISPATCH_FILTER_ALLOW;
static volatile sig_atomic_t over, caught, number;

static void on_sigsys(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	selector = SYSCALL_DISPATCH_FILTER_ALLOW; /* for sigreturn */
	caught++;
	number = info->si_syscall;
}

static void on_end(int sig)
{
	(void)sig;
	selector = SYSCALL_DISPATCH_FILTER_ALLOW; /* for sigreturn */
	over = 1;
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_sigsys,
				.sa_flags = SA_SIGINFO};
	int early;

	sigaction(SIGSYS, &act, NULL);
	signal(SIGUSR1, on_end);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0,
		  &selector) < 0)
		return 3;
	puts("ready");
	fflush(stdout);
	selector = SYSCALL_DISPATCH_FILTER_BLOCK;
	while (caught == 0 && !over)
		continue;
	early = caught;
	selector = SYSCALL_DISPATCH_FILTER_BLOCK;
	syscall(SYS_getppid);
	selector = SYSCALL_DISPATCH_FILTER_ALLOW;
	if (early == 0 && caught == 1 && number == SYS_getppid)
		return 0;
	printf("%d before the call, %d in all, the last was call %d\n", early,
	       (int)caught, (int)number);
	return 1;
}
