/* tests/guests/sig_edit_context.c - what a handler writes into its context is
 * what the program finds: rip, registers, flags, xmm, MXCSR, even rsp. */
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

/* clang-format off */
asm(".globl asks\n.globl answer\n"
    "asks:\n" /* rdi: 8 words out */
    "	push %rbx\n	push %r15\n	mov %rsp, %rbx\n"
    "	mov $1, %eax\n	mov $2, %r15d\n	movq %rax, %xmm7\n	xor %ecx, %ecx\n"
    "	ud2\n	hlt\n"
    "answer:	pushfq\n	popq (%rdi)\n"
    "	mov %rax, 8(%rdi)\n	mov %r15, 16(%rdi)\n	movq %xmm7, 24(%rdi)\n"
    "	stmxcsr 32(%rdi)\n	mov %rbx, %rax\n	sub %rsp, %rax\n	mov %rax, 40(%rdi)\n"
    "	mov %rbx, %rsp\n	pop %r15\n	pop %rbx\n	ret\n");
/* clang-format on */
void asks(uint64_t *out);
extern const char answer[];

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	g[REG_RIP] = (greg_t)answer;
	g[REG_RAX] = 0x1234567890;
	g[REG_R15] = -7;
	g[REG_RSP] -= 256;
	g[REG_EFL] |= CF | OF | DF;
	g[REG_EFL] &= ~ZF;
	uc->uc_mcontext.fpregs->_xmm[7].element[0] = 0x55aa;
	uc->uc_mcontext.fpregs->mxcsr = 0x5f80;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	uint64_t out[8];

	MUST(sigaction(SIGILL, &sa, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		memset(out, 0, sizeof out);
		asks(out);
		asm volatile("cld\n\tldmxcsr %0" ::"m"((uint32_t){0x1f80}));
		SAME(out[0] & (CF | OF | DF | ZF), CF | OF | DF);
		SAME(out[1], 0x1234567890);
		SAME(out[2], -7);
		SAME(out[3], 0x55aa);
		SAME(out[4] & 0xffc0, 0x5f80);
		SAME(out[5], 256);
	}
	return guest_end();
}
