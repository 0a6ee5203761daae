/* tools/x86/cpu_enter.S - into the guest and out of it, without a register.
 *
 * mov changes no flags, and absolute addresses need no base: so flags and
 * registers can be loaded one by one, rsp last, and stored again. */
#include "cpu.h"

	.text
	.globl	cpu_enter, cpu_leave, cpu_leave_taken, cpu_leave_end

cpu_enter:
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, CPU_OWN_RSP
	movl	CPU_XMASK, %eax
	xorl	%edx, %edx
	xrstor64 CPU_IN+CPU_XSTATE
	cmpl	$0, CPU_HAS_BASES
	je	1f
	rdfsbase %rax
	movq	%rax, CPU_OWN_FS
	rdgsbase %rax
	movq	%rax, CPU_OWN_GS
	movl	$1, CPU_INSIDE
	movq	CPU_IN+CPU_GS, %rax
	wrgsbase %rax
	movq	CPU_IN+CPU_FS, %rax
	wrfsbase %rax
1:	movl	$1, CPU_INSIDE
	pushq	CPU_IN+CPU_FLAGS
	popfq
	movq	CPU_IN+0, %rax
	movq	CPU_IN+8, %rcx
	movq	CPU_IN+16, %rdx
	movq	CPU_IN+24, %rbx
	movq	CPU_IN+40, %rbp
	movq	CPU_IN+48, %rsi
	movq	CPU_IN+56, %rdi
	movq	CPU_IN+64, %r8
	movq	CPU_IN+72, %r9
	movq	CPU_IN+80, %r10
	movq	CPU_IN+88, %r11
	movq	CPU_IN+96, %r12
	movq	CPU_IN+104, %r13
	movq	CPU_IN+112, %r14
	movq	CPU_IN+120, %r15
	movq	CPU_IN+32, %rsp
	jmp	*CPU_IN+CPU_RIP

cpu_leave_taken:
	movl	$1, CPU_TAKEN
cpu_leave:
	movq	%rax, CPU_OUT+0
	movq	%rcx, CPU_OUT+8
	movq	%rdx, CPU_OUT+16
	movq	%rbx, CPU_OUT+24
	movq	%rsp, CPU_OUT+32
	movq	%rbp, CPU_OUT+40
	movq	%rsi, CPU_OUT+48
	movq	%rdi, CPU_OUT+56
	movq	%r8, CPU_OUT+64
	movq	%r9, CPU_OUT+72
	movq	%r10, CPU_OUT+80
	movq	%r11, CPU_OUT+88
	movq	%r12, CPU_OUT+96
	movq	%r13, CPU_OUT+104
	movq	%r14, CPU_OUT+112
	movq	%r15, CPU_OUT+120
	movq	CPU_OWN_RSP, %rsp
	pushfq
	popq	CPU_OUT+CPU_FLAGS
	pushq	$2
	popfq
	cmpl	$0, CPU_HAS_BASES
	je	1f
	rdfsbase %rax
	movq	%rax, CPU_OUT+CPU_FS
	rdgsbase %rax
	movq	%rax, CPU_OUT+CPU_GS
	movq	CPU_OWN_GS, %rax
	wrgsbase %rax
	movq	CPU_OWN_FS, %rax
	wrfsbase %rax
1:	movl	CPU_XMASK, %eax
	xorl	%edx, %edx
	xsave64	CPU_OUT+CPU_XSTATE
	movl	$0, CPU_INSIDE
	fninit
	pushq	$0x1f80
	ldmxcsr	(%rsp)
	popq	%rax
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	ret
cpu_leave_end:

	.section .note.GNU-stack, "", @progbits
