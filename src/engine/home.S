/* engine/home.S - where threads wait for hark: see park.c. */
#include "engine/vcpu.h"
#include "engine/macros.inc"

	.section .text.park, "ax"

/* hark sends a thread here that was in a system call: esi says why the call is
 * to be made again. All signals are blocked. */
function park_entry
	mov %gs:VCPU_SELF, %rdi
	mov %gs:VCPU_STACK, %rsp
	xor %ebp, %ebp
	pushq $2
	popfq
	call park_called
	jmp engine_resume
	.size park_entry, . - park_entry

/* void park_wait(p): ppoll of nothing, for a moment. hark looks for the address
 * behind the call, and for p in rbx. */
function park_wait
	push %rbx
	mov %rdi, %rbx
	pushq $20000000			/* a struct timespec */
	pushq $0
	mov %rsp, %rdx
	mov $271, %eax
	xor %edi, %edi
	xor %esi, %esi
	xor %r10d, %r10d
	xor %r8d, %r8d
	syscall
label park_waits
	add $16, %rsp
	pop %rbx
	ret
	.size park_wait, . - park_wait

/* void park_home(p, gs): natively on, without hark (inside/entry.S; where there
 * is no image, nobody is parked). */
	.weak hark_home
	.hidden hark_home
function park_home
	wrgsbase %rsi
	mov %rdi, %rbx
	jmp hark_home
	.size park_home, . - park_home

	.section .note.GNU-stack, "", @progbits
