/* inside/entry.S - the way in and the way home.
 *
 * hark_entry (offset 0): rdi = slot, rsp = top of the slot's stack, all
 * signals blocked, hark attached. It calls the visit and then makes one
 * harmless system call at hark_leave. There hark, which waits for just that,
 * takes over: it gives the thread its own registers and mask back by ptrace,
 * so that the kernel restarts what was interrupted as if nothing had been. Or
 * it lets go of a thread that came to be translated and that the engine was
 * ready for: that one is in the engine from here on.
 *
 * If hark is dead by then, nobody stops the thread, and it goes home by
 * itself: mask first, then all registers. IRETQ sets rip, rflags and rsp at
 * once and touches neither the program's stack nor its red zone. (sigreturn
 * would do too, but forgets a pending restart_syscall.) */
	.section .text.entry, "ax"
	.globl hark_entry, hark_leave, hark_home
	.hidden hark_entry, hark_leave, hark_home
	.type hark_entry, @function
hark_entry:
	/* hark reads this number, at offset 2: where hark_leave's system call
	 * ends. An instruction, so that all of the image is code. */
	movabs $(hark_leave_end - hark_entry), %rax
	mov %rdi, %rbx
	call inside_enter
hark_leave:
	mov $39, %eax			/* getpid */
	syscall
hark_leave_end:
	cmpl $0, 248(%rbx)		/* slot->mode: WIRE_PASS */
	je hark_home
	mov %rbx, %rdi
	call engine_stay		/* may not return */
hark_home:				/* rbx: a slot, or a struct wire_park */
	mov $14, %eax			/* rt_sigprocmask(SIG_SETMASK, ...) */
	mov $2, %edi
	lea 216(%rbx), %rsi		/* &slot->sigmask */
	xor %edx, %edx
	mov $8, %r10d
	syscall
	mov %rbx, %rsp			/* slot->regs */
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	pop %r11
	pop %r10
	pop %r9
	pop %r8
	pop %rax
	pop %rcx
	pop %rdx
	pop %rsi
	pop %rdi
	lea 8(%rsp), %rsp		/* orig_rax */
	iretq
	.size hark_entry, . - hark_entry
