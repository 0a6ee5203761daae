/* engine/handler.S - where the kernel enters the engine, and is left again.
 *
 * One handler serves all signals, on the signal stack of the thread's slot or
 * further down on its engine stack: rounding rsp down gives the vcpu, whatever
 * gs is at that moment. What C answers is the gs that the interrupted place
 * wants to see again. */
#include "engine/vcpu.h"
#include "engine/macros.inc"

	.section .text.handler, "ax"

/* rdi = signal, rsi = siginfo, rdx = ucontext. The kernel has cleared DF and
 * TF, but not AC. */
function engine_handler
	pushq $2
	popfq
	lea -1(%rsp), %rax
	and $~(SLOT_SIZE - 1), %rax
	rdgsbase %rcx
	mov %rax, %rdi
	add $SLOT_SIZE, %rax
	wrgsbase %rax
	sub $8, %rsp			/* 16-aligned from here on */
	call signal_caught		/* (v, info, uc, gs) */
	wrgsbase %rax
	add $8, %rsp
	ret
	.size engine_handler, . - engine_handler

function engine_restorer
	mov $15, %eax			/* rt_sigreturn */
	syscall
	ud2
	.size engine_restorer, . - engine_restorer

/* void signal_return(struct sig_frame *native): sigreturn, which opens the
 * mask; so it does not happen while a signal is held. Comes back only then. */
function signal_return
	mov %rsp, %rdx
label signal_return_check
	testl $1, %gs:VCPU_HELD		/* HELD_SIGNAL */
	jne signal_return_abort
	lea 8(%rdi), %rsp
	mov $15, %eax
	syscall
label signal_return_end
	ud2
function signal_return_abort
	mov %rdx, %rsp
	ret
	.size signal_return_abort, . - signal_return_abort
	.size signal_return, . - signal_return

	.section .note.GNU-stack, "", @progbits
