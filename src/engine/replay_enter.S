/* engine/replay_enter.S - into a replayed program, and out of it.
 *
 * The host's callee-saved registers stay on the host's stack; everything else,
 * extended registers included, is the program's while it runs. Its extended
 * registers are kept in the slot, at SLOT_TAPE. */
#include "engine/vcpu.h"
#include "engine/macros.inc"

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
	load_spoiled
	load_kept
	load_rsp
	jmp *%gs:VCPU_ENTER
	.size replay_enter, . - replay_enter

/* All exits come here: replay_enter returns. */
function replay_leave
	save_registers
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
