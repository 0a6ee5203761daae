/* engine/single.S - into the program's own code, for one instruction. */
#include "engine/vcpu.h"

	.section .text.step, "ax"

/* void step_enter(registers, gs): pops fifteen registers, then the frame of
 * iretq. From begin to iret a signal sends the thread back. */
	.globl step_enter, step_enter_begin, step_enter_iret
	.hidden step_enter, step_enter_begin, step_enter_iret
	.type step_enter, @function
step_enter:
step_enter_begin:
	cmpl $0, %gs:VCPU_HELD
	jne engine_enter_redo
	wrgsbase %rsi
	mov %rdi, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %r11
	pop %r10
	pop %r9
	pop %r8
	pop %rdi
	pop %rsi
	pop %rbp
	pop %rbx
	pop %rdx
	pop %rcx
	pop %rax
	.type step_enter_iret, @function
step_enter_iret:
	iretq
	.size step_enter_iret, . - step_enter_iret
	.size step_enter, . - step_enter

	.section .note.GNU-stack, "", @progbits
