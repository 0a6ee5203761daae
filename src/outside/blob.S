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
	.section .note.GNU-stack, "", @progbits
