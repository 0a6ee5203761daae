/* tests/guests/sig_registers.c - a fault in the middle of a busy stretch: the
 * handler sees all sixteen registers, the flags and the vector registers
 * exactly as they were there, dead ones included; and all of them come back. */
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

static uint64_t out[18];
static volatile int n;

/* clang-format off */
asm(".globl busy\n.globl fault_1\n.globl fault_2\n"
    "busy:\n" /* rdi: a bad address, rsi: 18 words out */
    "	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
    "	push %rsi\n"
    "	mov $101, %eax\n	mov $102, %ebx\n	mov $103, %ecx\n	mov $104, %edx\n"
    "	mov $105, %ebp\n	mov $108, %r8d\n	mov $109, %r9d\n	mov $110, %r10d\n"
    "	mov $111, %r11d\n	mov $112, %r12d\n	mov $113, %r13d\n	mov $114, %r14d\n"
    "	mov $115, %r15d\n"
    "	movq %r15, %xmm13\n	movq %r8, %xmm2\n"
    "	mov $0x7fffffff, %esi\n	add $1, %esi\n" /* OF SF PF AF */
    "	mov $106, %esi\n"
    "fault_1:	mov (%rdi), %rax\n" /* rax is dead before it */
    "	xor %eax, %eax\n	mov $201, %eax\n	mov $203, %ecx\n	stc\n"
    "fault_2:	movq $5, (%rdi, %rcx, 8)\n"
    "	pop %rsi\n	pushfq\n	popq 16(%rsi)\n"
    "	mov %rax, (%rsi)\n	mov %rcx, 8(%rsi)\n"
    "	mov %rbx, 24(%rsi)\n	mov %rbp, 32(%rsi)\n	mov %r8, 40(%rsi)\n"
    "	mov %r15, 48(%rsi)\n	movq %xmm13, 56(%rsi)\n"
    "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n	ret\n");
/* clang-format on */
void busy(void *bad, uint64_t *out);
extern const char fault_1[], fault_2[];

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;
	int second = n & 1;
	uint64_t x;

	(void)sig;
	(void)info;
	n++;
	SAME(g[REG_RIP], second ? fault_2 : fault_1);
	SAME(g[REG_RAX], second ? 201 : 101);
	SAME(g[REG_RBX], 102);
	SAME(g[REG_RCX], second ? 203 : 103);
	SAME(g[REG_RDX], 104);
	SAME(g[REG_RBP], 105);
	SAME(g[REG_RSI], 106);
	SAME(g[REG_RDI], 4096);
	for (int i = 0; i < 8; i++)
		SAME(g[REG_R8 + i], 108 + i);
	SAME(g[REG_EFL] & (STATUS | DF),
	     second ? CF | ZF | PF : OF | SF | PF | AF);
	memcpy(&x, &uc->uc_mcontext.fpregs->_xmm[13], 8);
	SAME(x, 115);
	memcpy(&x, &uc->uc_mcontext.fpregs->_xmm[2], 8);
	SAME(x, 108);
	g[REG_RIP] += second ? 8 : 3; /* over it */
	asm volatile("pxor %%xmm13, %%xmm13" ::: "xmm13");
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	MUST(sigaction(SIGSEGV, &sa, NULL) == 0);
	for (int i = 0; i < 200; i++) {
		busy((void *)4096, out);
		SAME(n, 2 * i + 2);
		SAME(out[0], 201);
		SAME(out[1], 203);
		SAME(out[2] & STATUS, CF | ZF | PF);
		SAME(out[3], 102);
		SAME(out[4], 105);
		SAME(out[6], 115);
		SAME(out[7], 115);
	}
	return guest_end();
}
