/* native/native.S - where threads come into the image, and how they leave it.
 *
 * In most places here the program's state can be told from registers alone, so
 * a signal need not wait: between native_asm and native_asm_end rbx is the
 * address of the probe's frame, as the trampoline left it; from
 * native_handler_open on r8 is the program's handler and r9 the signal frame.
 *
 * C in the image is interrupted anywhere. Then the signal is kept, and
 * NATIVE_WAITING of home is not 0: whoever comes back from C looks there. */
#include "inside/sigframe.h"
#include "native/home.h"

	.macro function name
	.globl \name
	.hidden \name
	.type \name, @function
\name:
	.endm
	.macro label name
	.globl \name
	.hidden \name
\name:
	.endm

	.hidden native_home_at

	.section .text.native, "ax", @progbits

/* -- From a trampoline: rdi = frame = rbx, rsi = cookie -- */

/* The direction flag is to be clear in C. Where it may be set, lods tells which
 * way it leads, faster than pushf. */
	.macro look_down now
	mov %rsi, %rdx
	mov %rbx, %rsi
	lodsl
	cmp %rbx, %rsi
	mov %rdx, %rsi
	jae \now
	movl $NATIVE_DOWN, NATIVE_FRAME_HOW(%rbx)
	cld
	call \now
label \now\()_done
	std
	ret
	.endm

label native_asm
label native_hit_look
	look_down native_hit_now
function native_hit
	cmpl $0, NATIVE_FRAME_HOW(%rbx)
	jne native_hit_look
label native_hit_now
	testb $0, -NATIVE_HIT_ROOM(%rsp)	/* overflow.c */
label native_hit_call
	call collect_hit
	cmpl $0, native_home_at + NATIVE_WAITING(%rip)
	jne native_late
	ret
	.size native_hit, . - native_hit

label native_hook_look
	look_down native_hook_now
function native_hook
	cmpl $0, NATIVE_FRAME_HOW(%rbx)
	jne native_hook_look
label native_hook_now
	testb $0, -NATIVE_HOOK_ROOM(%rsp)
label native_hook_call
	call native_call
	cmp $2, %eax
	je 1f
	cmpl $0, native_home_at + NATIVE_WAITING(%rip)
	jne native_late
	ret
1:	xor %eax, %eax
	ret
	.size native_hook, . - native_hook

/* rax is what the trampoline is to see. Signals that wait come where the mask
 * is open: native_late_open. */
function native_late
	push %rax
	sub $16, %rsp
	mov %rsp, %rdi
	mov %rbx, %rsi
	call native_wake
	mov $2, %edi			/* SIG_SETMASK */
	mov %rsp, %rsi
	xor %edx, %edx
	mov $8, %r10d
	mov $14, %eax			/* rt_sigprocmask */
	syscall
label native_late_open
	lea 8(%rsp), %rsi
	mov $14, %eax
	syscall
label native_late_back
	add $16, %rsp
	pop %rax
	ret
	.size native_late, . - native_late
label native_asm_end

/* -- From a trampoline: the thread ends -- */

/* r8 = rdi = status, r9 = the program's own instruction. A thread may have
 * unmapped its stack before it ends (musl's detached threads do), so nothing is
 * written there. Up to native_leave_shut a signal finds the thread before its
 * own instruction; what is not in r8 and r9 by then nobody will read but a
 * handler that looks at registers for their own sake. */
function native_leave
	mov $0, %edi			/* SIG_BLOCK; flags stay */
	lea every_signal(%rip), %rsi
	mov $0, %edx
	mov $8, %r10d
	mov $14, %eax			/* rt_sigprocmask */
	syscall
label native_leave_shut
	cld
	mov %r8, %rbx
	mov native_home_at(%rip), %rbp	/* the plan */
	mov NATIVE_PLAN_TABLE(%rbp), %rbp
1:	mov $1, %ecx
	xchg %ecx, NATIVE_TABLE_LEAVING(%rbp)
	test %ecx, %ecx
	je 2f
	mov $24, %eax			/* sched_yield */
	syscall
	jmp 1b
2:	lea native_home_at + NATIVE_LEAVE_STACK(%rip), %rsp
	call native_leaves
	mov %rbx, %rdi
	mov $60, %eax			/* exit */
	movl $0, NATIVE_TABLE_LEAVING(%rbp)
	syscall				/* the stack is another thread's */
	ud2
	.size native_leave, . - native_leave

	.section .rodata
	.balign 8
	.type every_signal, @object
every_signal:
	.quad -1
	.size every_signal, . - every_signal
	.section .text.native, "ax", @progbits

/* -- From the kernel: all signals are blocked -- */

/* rsp is the frame. With rax = 0 the state in it is gone on with. The kernel
 * leaves the program's alignment check on, which is not for C of ours. */
	.set CHECKS, 0x40000

function native_handler
	mov %rsp, %rdi
	pushf
	testl $CHECKS, (%rsp)
	jne 2f
	call native_caught
	add $8, %rsp
	jmp 3f
2:	pushf
	andl $~CHECKS, (%rsp)
	popf
	call native_caught
	popf
3:	test %rax, %rax
	je 1f
	mov %rax, %r8
	mov %rsp, %r9
	push %rdx
	mov $2, %edi
	mov %rsp, %rsi
	xor %edx, %edx
	mov $8, %r10d
	mov $14, %eax
	syscall
label native_handler_open
	mov %r9, %rsp
	mov SIG_FRAME_INFO(%rsp), %edi
	lea SIG_FRAME_INFO(%rsp), %rsi
	lea SIG_FRAME_UC(%rsp), %rdx
	xor %ecx, %ecx
	xor %eax, %eax
	jmp *%r8
label native_handler_end
1:	ret
	.size native_handler, . - native_handler

function native_restorer
	mov $15, %rax			/* rt_sigreturn: as unwinders know it */
	syscall
	ud2
	.size native_restorer, . - native_restorer

/* A handler of the program's returns here, if its end opens a signal that is
 * held: rsp is the frame plus 8, and below it all is free. */
function native_return
	mov %rsp, %rbx
	lea -8(%rsp), %rdi
	pushf
	andl $~CHECKS, (%rsp)
	popf
	call native_returned
	mov %rbx, %rsp
	mov $15, %eax			/* rt_sigreturn */
	syscall
	ud2
	.size native_return, . - native_return

/* -- bool native_read(const void *from, void *out, uint32_t len) -- */

/* The stack is not touched: whatever faults goes on at native_read_bad. */
function native_read
	cmp $8, %edx
	jne 1f
	mov (%rdi), %rax
	mov %rax, (%rsi)
	jmp 9f
1:	cmp $4, %edx
	jne 2f
	mov (%rdi), %eax
	mov %eax, (%rsi)
	jmp 9f
2:	cmp $1, %edx
	jne 3f
	movzbl (%rdi), %eax
	mov %al, (%rsi)
	jmp 9f
3:	mov %edx, %ecx
	cmp $256, %edx
	jae 7f
	sub $8, %ecx
	jb 5f
4:	mov (%rdi), %rax		/* eight at a time */
	mov %rax, (%rsi)
	add $8, %rdi
	add $8, %rsi
	sub $8, %ecx
	jae 4b
5:	add $8, %ecx
	je 9f
6:	movzbl (%rdi), %eax
	mov %al, (%rsi)
	inc %rdi
	inc %rsi
	dec %ecx
	jne 6b
	jmp 9f
7:	xchg %rdi, %rsi
	rep movsb
9:	mov $1, %eax
	ret
	.size native_read, . - native_read
function native_read_bad
	xor %eax, %eax
	ret
	.size native_read_bad, . - native_read_bad

/* -- bool native_guarded(void (*f)(void *), void *ctx, uint64_t *guard) -- */

function native_guarded
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	push %rdx
	mov %rsp, (%rdx)
	mov %rdi, %rax
	mov %rsi, %rdi
	call *%rax
	mov $1, %eax
1:	pop %rdx
	movq $0, (%rdx)
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
label native_guarded_bad
	xor %eax, %eax
	jmp 1b
	.size native_guarded, . - native_guarded

/* -- void native_on_stack(void (*f)(void *), void *ctx, void *top) -- */

function native_on_stack
	push %rbp
	mov %rsp, %rbp
	mov %rdx, %rsp
	mov %rdi, %rax
	mov %rsi, %rdi
	call *%rax
	mov %rbp, %rsp
	pop %rbp
	ret
	.size native_on_stack, . - native_on_stack

	.section .note.GNU-stack, "", @progbits
