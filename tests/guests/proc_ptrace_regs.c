/* tests/guests/proc_ptrace_regs.c - a tracer reads and writes general, floating
 * point and extended registers of its stopped child, and calls a function in
 * it. */
#include "guest.h"
#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

static volatile long called_with;

__attribute__((noinline, used)) static long called(long x)
{
	called_with = x;
	return x * 2;
}

/* clang-format off */
asm(".globl stops\n"
    "stops:\n" /* rdi: out */
    "	push %rbx\n	mov $111, %ebx\n	mov $222, %ecx\n	movq %rbx, %xmm4\n"
    "	int3\n"
    "	mov %rbx, (%rdi)\n	mov %rcx, 8(%rdi)\n	movq %xmm4, 16(%rdi)\n	pop %rbx\n	ret\n");
/* clang-format on */
void stops(long *out);

int main(void)
{
	struct user_regs_struct r, saved;
	struct user_fpregs_struct fp;
	struct iovec io = {&r, sizeof r};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		long out[3];

		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		stops(out);
		_exit(out[0] == 333 && out[1] == 222 && out[2] == 444 &&
			      called_with == 21
			  ? 0
			  : 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	MUST(ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io) == 0);
	SAME(io.iov_len, sizeof r);
	SAME(r.rbx, 111);
	SAME(r.rcx, 222);
	MUST(ptrace(PTRACE_GETFPREGS, pid, NULL, &fp) == 0);
	SAME(fp.xmm_space[4 * 4], 111);
	saved = r;
	/* call a function there */
	r.rdi = 21;
	r.rsp = (r.rsp & ~15ull) - 256 - 8;
	r.rip = (uint64_t)called;
	MUST(ptrace(PTRACE_POKEDATA, pid, r.rsp, 0) == 0); /* returns to 0 */
	MUST(ptrace(PTRACE_SETREGS, pid, NULL, &r) == 0);
	MUST(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSEGV);
	MUST(ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0);
	SAME(r.rip, 0);
	SAME(r.rax, 42);
	saved.rbx = 333;
	MUST(ptrace(PTRACE_SETREGS, pid, NULL, &saved) == 0);
	fp.xmm_space[4 * 4] = 444;
	MUST(ptrace(PTRACE_SETFPREGS, pid, NULL, &fp) == 0);
	MUST(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	return guest_end();
}
