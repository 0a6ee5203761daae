/* tests/guests/sig_seccomp.c - a filter that traps a system call: SIGSYS tells
 * its number, address and architecture, and the handler answers for it. */
#include "guest.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

static volatile int n;
extern const char behind[];

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	n++;
	SAME(info->si_syscall, SYS_getppid);
	SAME(info->si_arch, AUDIT_ARCH_X86_64);
	SAME(info->si_code, 1);	  /* SYS_SECCOMP */
	SAME(info->si_errno, 55); /* the filter's data */
	SAME(info->si_call_addr, behind);
	SAME(g[REG_RIP], behind);
	SAME(g[REG_RAX], SYS_getppid);
	g[REG_RAX] = 4242;
}

static long ask(void)
{
	long rc;

	asm volatile("syscall\n.globl behind\nbehind:"
		     : "=a"(rc)
		     : "a"(SYS_getppid)
		     : "rcx", "r11", "memory");
	return rc;
}

int main(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP | 55),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgrp, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof code / sizeof code[0], code};
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	MUST(sigaction(SIGSYS, &sa, NULL) == 0);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
	for (int i = 1; i <= 50; i++) {
		SAME(ask(), 4242);
		SAME(n, i);
		SAME(syscall(SYS_getpgrp), -1);
		SAME(errno, EDOM);
	}
	SAME(prctl(PR_GET_SECCOMP), 2);
	return guest_end();
}
