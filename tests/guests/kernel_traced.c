/* tests/guests/kernel_traced.c - a parent that looks at its child through
 * ptrace finds the program's own registers, code and calls there. */
#include "guest.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

extern const char probe_break[], probe_call[], probe_end[];

static volatile sig_atomic_t caught;

static void on_usr1(int sig)
{
	caught = sig;
}

/* Stops at a breakpoint of its own, then makes a call. */
static void be_traced(void)
{
	MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	raise(SIGSTOP);
	asm volatile(".globl probe_break, probe_call, probe_end\n\t"
		     "mov $0x1234567, %%r12d\n"
		     "probe_break: int3\n\t"
		     "mov %0, %%eax\n"
		     "probe_call: syscall\n"
		     "probe_end:"
		     :
		     : "i"(SYS_getppid)
		     : "rax", "rcx", "r11", "r12", "memory");
	signal(SIGUSR1, on_usr1);
	raise(SIGUSR1);
	_exit(caught == SIGUSR1 ? 5 : 3);
}

static int stopped(pid_t pid)
{
	int status;

	MUST(waitpid(pid, &status, 0) == pid);
	return status;
}

static struct user_regs_struct registers(pid_t pid)
{
	struct user_regs_struct r;

	MUST(ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0);
	return r;
}

int main(void)
{
	struct user_regs_struct r;
	pid_t pid = fork();

	if (pid == 0)
		be_traced();
	SAME(stopped(pid), SIGSTOP << 8 | 0x7f);
	MUST(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD) == 0);
	MUST(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
	SAME(stopped(pid), SIGTRAP << 8 | 0x7f);
	r = registers(pid);
	SAME(r.rip, probe_break + 1);
	SAME(r.r12, 0x1234567);
	MUST(ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0);
	SAME(stopped(pid), (SIGTRAP | 0x80) << 8 | 0x7f);
	r = registers(pid);
	SAME(r.orig_rax, SYS_getppid);
	SAME(r.rip, probe_end);
	MUST(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
	SAME(stopped(pid), SIGUSR1 << 8 | 0x7f);
	MUST(ptrace(PTRACE_CONT, pid, NULL, (void *)SIGUSR1) == 0);
	SAME(stopped(pid), 5 << 8);
	return guest_end();
}
