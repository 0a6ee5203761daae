/* outside/blob.S - code that hark carries for others to run. */

/* The in-target image, as one flat blob. */
	.section .rodata
	.globl blob_start, blob_end
	.balign 4096
blob_start:
	.incbin IMAGE_BIN
blob_end:

/* struct blob_places; the Makefile reads them from the image's symbols. */
	.globl blob_places
	.balign 8
blob_places:
	.quad native_handler, native_restorer, native_hit, native_hook
	.quad native_leave

/* The gate: see outside/gate.h. Copied into the target's vdso, never run
 * here. It changes no flag and not the stack; whatever it needs lies behind
 * it, where hark has put it (struct gate_frame). */
	.globl gate_start, gate_frame_at, gate_end
	.balign 16
gate_start:
	syscall				/* hark stops the thread right here, */
	mov %rax, %r9
	mov $14, %eax			/* rt_sigprocmask(SIG_SETMASK, ...) */
	mov $2, %edi
	lea frame_mask(%rip), %rsi
	mov $0, %edx			/* no xor: it would change flags */
	mov $8, %r10d
	syscall				/* or here: see wire in gate.h */
	mov frame_rax(%rip), %rax
	mov frame_rcx(%rip), %rcx
	mov frame_rdx(%rip), %rdx
	mov frame_rsi(%rip), %rsi
	mov frame_rdi(%rip), %rdi
	mov frame_r8(%rip), %r8
	mov frame_r9(%rip), %r9
	mov frame_r10(%rip), %r10
	mov frame_r11(%rip), %r11
	jmp *frame_rip(%rip)
	.balign 8
gate_frame_at:
frame_mask:	.quad 0
frame_rip:	.quad 0
frame_rax:	.quad 0
frame_rcx:	.quad 0
frame_rdx:	.quad 0
frame_rsi:	.quad 0
frame_rdi:	.quad 0
frame_r8:	.quad 0
frame_r9:	.quad 0
frame_r10:	.quad 0
frame_r11:	.quad 0
gate_end:

/* The handler of SIGTRAP for a program that has lost its hark: see
 * outside/mend.h. Copied into the target's vdso, never run here. Whatever it
 * does to registers, sigreturn puts right. */
#define CONTEXT_RIP 168			/* in a ucontext */
	.macro small value, reg		/* it must fit: 256 bytes */
	push \value
	pop \reg
	.endm
	.section .rodata
	.globl mend_code, mend_restorer, mend_data_at, mend_code_end
	.balign 16
mend_code:
	mov %rdx, %rbx			/* the context */
	lea mend_places(%rip), %rbp
	mov 8(%rsi), %r12d		/* si_code: a step is ours: 1 or 2, */
	small $2, %r13
1:	mov (%rbp), %r14
	test %r14, %r14
	jz 2f
	small $7, %rdx
	call mend_protect		/* to be written, */
	mov 8(%rbp), %al
	mov %al, (%r14)
	mov 9(%rbp), %dl
	call mend_protect		/* and as it was */
	mov CONTEXT_RIP(%rbx), %rax
	sub %r14, %rax
	cmp $1, %rax			/* behind it; or hark has put it back */
	ja 2f
	mov %r14, CONTEXT_RIP(%rbx)
	small $1, %r12			/* and so are these */
2:	add $16, %rbp
	dec %r13d
	jnz 1b
	small $13, %rax			/* rt_sigaction(SIGTRAP, theirs, 0, 8) */
	small $5, %rdi
	lea mend_theirs(%rip), %rsi
	xor %edx, %edx
	small $8, %r10
	syscall
	dec %r12d
	cmp $1, %r12d
	jbe 3f
	small $39, %rax			/* kill(getpid(), SIGTRAP) */
	syscall
	mov %eax, %edi
	small $5, %rsi
	small $62, %rax
	syscall
3:	ret
mend_protect:				/* r14's page, as edx says */
	small $10, %rax
	mov %r14, %rdi
	and $-4096, %rdi
	mov $4096, %esi
	syscall
	ret
mend_restorer:
	small $15, %rax
	syscall
	.balign 8
mend_data_at:
mend_places:	.fill 4, 8, 0
mend_ours:	.fill 4, 8, 0
mend_theirs:	.fill 4, 8, 0
mend_code_end:
	.section .note.GNU-stack, "", @progbits
