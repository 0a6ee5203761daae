/* engine/replay_enter.S - into a replayed program, and out of it.
 *
 * The host's callee-saved registers stay on the host's stack; everything else,
 * extended registers included, is the program's while it runs. Its extended
 * registers are kept in the slot, at SLOT_TAPE. */
#include "engine/vcpu.h"
#include "engine/macros.inc"

#define GPR(n) %gs:(VCPU_GPR + 8 * (n))

	.section .text.replay, "ax"

/* void replay_enter(struct vcpu *v, uint64_t mask of components) */
function replay_enter
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	sub $24, %rsp
	stmxcsr (%rsp)
	mov %rsi, 8(%rsp)
	lea SLOT_SIZE(%rdi), %rax
	wrgsbase %rax
	mov %rsp, %gs:VCPU_STACK
	mov %esi, %eax
	mov %rsi, %rdx
	shr $32, %rdx
	xrstor64 SLOT_TAPE(%rdi)
	pushq %gs:VCPU_RFLAGS
	popfq
	mov GPR(0), %rax
	mov GPR(1), %rcx
	mov GPR(2), %rdx
	mov GPR(3), %rbx
	mov GPR(5), %rbp
	mov GPR(6), %rsi
	mov GPR(7), %rdi
	mov GPR(8), %r8
	mov GPR(9), %r9
	mov GPR(10), %r10
	mov GPR(11), %r11
	mov GPR(12), %r12
	mov GPR(13), %r13
	mov GPR(14), %r14
	mov GPR(15), %r15
	mov GPR(4), %rsp
	jmp *%gs:VCPU_ENTER
	.size replay_enter, . - replay_enter

/* All exits come here: replay_enter returns. */
function replay_leave
	mov %rax, GPR(0)
	mov %rcx, GPR(1)
	mov %rdx, GPR(2)
	mov %rbx, GPR(3)
	mov %rsp, GPR(4)
	mov %rbp, GPR(5)
	mov %rsi, GPR(6)
	mov %rdi, GPR(7)
	mov %r8, GPR(8)
	mov %r9, GPR(9)
	mov %r10, GPR(10)
	mov %r11, GPR(11)
	mov %r12, GPR(12)
	mov %r13, GPR(13)
	mov %r14, GPR(14)
	mov %r15, GPR(15)
	mov %gs:VCPU_STACK, %rsp
	pushfq
	popq %gs:VCPU_RFLAGS
	pushq $2
	popfq
	mov 8(%rsp), %rax
	mov %rax, %rdx
	shr $32, %rdx
	mov %gs:VCPU_SELF, %rdi
	xsave64 SLOT_TAPE(%rdi)
	fninit
	ldmxcsr (%rsp)
	vzeroupper
	xor %eax, %eax
	wrgsbase %rax
	add $24, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.size replay_leave, . - replay_leave

	.section .note.GNU-stack, "", @progbits
