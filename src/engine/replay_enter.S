/* engine/replay_enter.S - into a replayed program, and out of it.
 *
 * The host's callee-saved registers stay on the host's stack; everything else,
 * extended registers included, is the program's while it runs. Its extended
 * registers are kept in the slot, at SLOT_TAPE. */
#include "engine/vcpu.h"
#include "engine/macros.inc"

	.section .text.replay, "ax"

/* What C keeps. */
	.macro push_kept
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	.endm

	.macro pop_kept
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	.endm

/* gs, fs and the extended registers (of the mask in reg) are the program's from
 * here on; its vcpu is in rdi. Spoils rax, rdx. */
	.macro become_program reg
	lea SLOT_SIZE(%rdi), %rax
	wrgsbase %rax
	mov \reg, %rax
	mov \reg, %rdx
	shr $32, %rdx
	xrstor64 SLOT_TAPE(%rdi)
	mov %gs:VCPU_MAP, %rax
	wrfsbase %rax
	.endm

/* And here the host's again. Its mxcsr is at (%rsp), the mask at 8(%rsp).
 * Spoils rdx, rdi, and rax. */
	.macro become_host
	mov 8(%rsp), %rax
	mov %rax, %rdx
	shr $32, %rdx
	mov %gs:VCPU_SELF, %rdi
	xsave64 SLOT_TAPE(%rdi)
	fninit
	ldmxcsr (%rsp)
	vzeroupper
	mov %gs:VCPU_HOST, %rax
	wrfsbase %rax
	xor %eax, %eax
	wrgsbase %rax
	.endm

	.macro save_flags
	pushfq
	popq %gs:VCPU_RFLAGS
	pushq $2
	popfq
	.endm

/* void replay_enter(struct vcpu *v, uint64_t mask of components) */
function replay_enter
	push_kept
	sub $24, %rsp
	stmxcsr (%rsp)
	mov %rsi, 8(%rsp)
	become_program %rsi
	mov %rsp, %gs:VCPU_STACK
	load_spoiled
	load_kept
	load_rsp
	jmp *%gs:VCPU_ENTER
	.size replay_enter, . - replay_enter

/* All exits come here: replay_enter returns. */
function replay_leave
	save_registers
	mov %gs:VCPU_STACK, %rsp
	save_flags
	become_host
	add $24, %rsp
	pop_kept
	ret
	.size replay_leave, . - replay_leave

/* unsigned replay_loop_enter(struct replay *r, const struct replay_fill *fills,
 * unsigned n, struct vcpu *v, uint64_t mask): replay_loop(r, fills, n), with
 * the program's extended registers in the CPU. */
function replay_loop_enter
	push %rbx
	sub $32, %rsp
	stmxcsr (%rsp)
	mov %r8, 8(%rsp)
	mov %rdi, %r9
	mov %edx, %r10d
	mov %rcx, %rdi
	become_program %r8
	mov %r9, %rdi
	mov %r10d, %edx
	call replay_loop
	mov %eax, %ebx
	become_host
	mov %ebx, %eax
	add $32, %rsp
	pop %rbx
	ret
	.size replay_loop_enter, . - replay_loop_enter

/* void replay_cross(struct vcpu *v): in there. */
function replay_cross
	push_kept
	mov %rsp, %gs:VCPU_STACK
	load_spoiled
	load_kept
	load_rsp
	jmp *%gs:VCPU_ENTER
	.size replay_cross, . - replay_cross

function replay_cross_leave
	save_registers
	mov %gs:VCPU_STACK, %rsp
	save_flags
	pop_kept
	ret
	.size replay_cross_leave, . - replay_cross_leave

/* A signal: C wants the host's fs. Whoever was interrupted in the program is
 * not gone back to. */
function replay_caught_entry
	rdgsbase %rax
	test %rax, %rax
	jz 1f
	mov %gs:VCPU_HOST, %rax
	wrfsbase %rax
1:	jmp replay_caught
	.size replay_caught_entry, . - replay_caught_entry

	.section .note.GNU-stack, "", @progbits
