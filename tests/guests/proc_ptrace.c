/* tests/guests/proc_ptrace.c - a program that traces its child: stops at exec
 * and signals, words read and written, registers seen and set, system calls
 * followed. */
#include "guest.h"
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

static volatile long cell = 1111;

static void child(void)
{
	MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	raise(SIGSTOP);
	if (cell == 2222)
		syscall(SYS_getppid);
	raise(SIGUSR1); /* the tracer swallows it */
	_exit((int)cell - 2200);
}

int main(void)
{
	struct user_regs_struct r;
	int status, calls = 0, usr1 = 0;
	pid_t pid = fork();

	if (pid == 0)
		child();
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	MUST(ptrace(PTRACE_SETOPTIONS, pid, NULL,
		    PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0);
	SAME(ptrace(PTRACE_PEEKDATA, pid, &cell, NULL), 1111);
	MUST(ptrace(PTRACE_POKEDATA, pid, &cell, 2222) == 0);
	SAME(ptrace(PTRACE_PEEKDATA, pid, &cell, NULL), 2222);
	SAME(cell, 1111); /* here it is another */
	for (int sig = 0;;) {
		MUST(ptrace(PTRACE_SYSCALL, pid, NULL, sig) == 0);
		MUST(waitpid(pid, &status, 0) == pid);
		sig = 0;
		if (!WIFSTOPPED(status))
			break;
		if (WSTOPSIG(status) == SIGUSR1) {
			usr1++;
			continue;
		}
		SAME(WSTOPSIG(status), SIGTRAP | 0x80);
		MUST(ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0);
		if (r.orig_rax == SYS_getppid)
			calls++;
	}
	CHECK(WIFEXITED(status));
	SAME(WEXITSTATUS(status), 22);
	SAME(calls, 2); /* in and out */
	SAME(usr1, 1);
	return guest_end();
}
