/* engine/birth.S - the first and the last instructions of a thread. */
#include "engine/vcpu.h"

	.section .text.thread, "ax"

/* int64_t thread_clone_native(nr, args, child): the call that makes a thread
 * whose stack is child's own. It starts with the registers of this one: rbx
 * says who it is. */
	.globl thread_clone_native
	.hidden thread_clone_native
	.type thread_clone_native, @function
thread_clone_native:
	push %rbx
	mov %rdx, %rbx
	mov %rdi, %rax
	mov %rsi, %r11
	mov 0(%r11), %rdi
	mov 8(%r11), %rsi
	mov 16(%r11), %rdx
	mov 24(%r11), %r10
	mov 32(%r11), %r8
	mov 40(%r11), %r9
	syscall
	test %rax, %rax
	jz 1f
	pop %rbx
	ret
1:	lea SLOT_SIZE(%rbx), %rax
	wrgsbase %rax
	mov %rbx, %rdi
	xor %ebp, %ebp
	call thread_begin
	jmp engine_resume
	.size thread_clone_native, . - thread_clone_native

/* void thread_leave(v, &v->free, &free_slots, &v->slot_state, code, nr): ends
 * by system call nr; all signals are blocked. Once the slot is among the free
 * ones, another thread may be on its stack. */
	.globl thread_leave
	.hidden thread_leave
	.type thread_leave, @function
thread_leave:
	movl $0, (%rcx)
	mov (%rdx), %rax
1:	mov %rax, (%rsi)
	lock cmpxchg %rdi, (%rdx)
	jne 1b
	mov %r8d, %edi
	mov %r9d, %eax
	syscall
	ud2
	.size thread_leave, . - thread_leave

	.section .note.GNU-stack, "", @progbits
