/* tests/guests/proc_ptrace_step.c - a child stepped by its tracer: it takes as
 * many steps as it has instructions, rip after rip, and a breakpoint that the
 * tracer writes into its code stops it. */
#include "guest.h"
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

/* clang-format off */
asm(".globl stepped\n.globl stepped_end\n"
    "stepped:	mov $10, %ecx\n	xor %eax, %eax\n"
    "1:	add %ecx, %eax\n	dec %ecx\n	jnz 1b\n	int3\n"
    "stepped_end:	ret\n");
/* clang-format on */
int stepped(void);
extern const char stepped_end[];

int main(void)
{
	struct user_regs_struct r;
	int status, steps = 0;
	long word;
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(stepped());
	}
	MUST(waitpid(pid, &status, 0) == pid);
	/* a breakpoint at the start of it */
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, stepped, NULL);
	MUST(errno == 0);
	MUST(ptrace(PTRACE_POKETEXT, pid, stepped, (word & ~0xffl) | 0xcc) ==
	     0);
	MUST(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	MUST(ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0);
	SAME(r.rip, (uint64_t)stepped + 1);
	MUST(ptrace(PTRACE_POKETEXT, pid, stepped, word) == 0);
	r.rip--;
	MUST(ptrace(PTRACE_SETREGS, pid, NULL, &r) == 0);
	/* 2 + 10 * 3 instructions, then its own int3 */
	while (r.rip != (uint64_t)stepped_end && steps < 100) {
		MUST(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0);
		MUST(waitpid(pid, &status, 0) == pid);
		MUST(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
		MUST(ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0);
		steps++;
	}
	SAME(steps, 33);
	SAME(r.rax, 55);
	r.rax = 66;
	MUST(ptrace(PTRACE_SETREGS, pid, NULL, &r) == 0);
	MUST(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0);
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 66 << 8);
	return guest_end();
}
