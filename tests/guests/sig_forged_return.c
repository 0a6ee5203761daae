/* tests/guests/sig_forged_return.c - rt_sigreturn on a frame that the program
 * made itself, out of any handler, loads all registers from it. */
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

static struct {
	char room[4096];
	ucontext_t uc;
} area __attribute__((aligned(64)));

uint64_t result[6];

/* clang-format off */
asm(".globl forge\n.globl landed\n"
    "forge:\n" /* rdi: the frame */
    "	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
    "	mov %rsp, result+40(%rip)\n"
    "	mov %rdi, %rsp\n	mov $15, %eax\n	syscall\n	ud2\n"
    "landed:	mov %rax, result(%rip)\n	mov %rcx, result+8(%rip)\n"
    "	mov %r11, result+16(%rip)\n	mov %r15, result+24(%rip)\n"
    "	mov %rsp, result+32(%rip)\n"
    "	mov result+40(%rip), %rsp\n	cld\n"
    "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n	ret\n");
/* clang-format on */
void forge(ucontext_t *frame);
extern const char landed[];

int main(void)
{
	greg_t *g = area.uc.uc_mcontext.gregs;
	sigset_t now;
	uint16_t ss;

	asm("mov %%ss, %0" : "=r"(ss));
	for (int i = 0; i < 50; i++) {
		memset(&area, 0, sizeof area);
		g[REG_RIP] = (greg_t)landed;
		g[REG_RSP] = (greg_t)(area.room + 2048);
		g[REG_RAX] = 1001, g[REG_RCX] = 1002, g[REG_R11] = 1003;
		g[REG_R15] = 1004;
		g[REG_EFL] = 0x202;
		g[REG_CSGSFS] = 0x33 | (greg_t)ss << 48;
		sigaddset(&area.uc.uc_sigmask, SIGUSR2);
		area.uc.uc_stack.ss_flags = SS_DISABLE;
		forge(&area.uc);
		SAME(result[0], 1001);
		SAME(result[1], 1002); /* unlike after other calls */
		SAME(result[2], 1003);
		SAME(result[3], 1004);
		SAME(result[4], area.room + 2048);
		sigprocmask(SIG_BLOCK, NULL, &now);
		SAME(sigismember(&now, SIGUSR2), 1);
		sigemptyset(&now);
		sigprocmask(SIG_SETMASK, &now, NULL);
	}
	return guest_end();
}
