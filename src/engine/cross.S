/* engine/cross.S - between the program and the engine.
 *
 *	cache --exit--> engine_leave --> engine_dispatch (C)
 *	  ^					|
 *	  +------------ engine_enter <----------+
 *
 * In the cache all registers are the program's. Out here they are in the vcpu
 * (gs), and C runs on the vcpu's engine stack.
 *
 * A signal may come at any instruction. Between engine_enter_begin and _end,
 * and between engine_call_check and _end, it must not be overlooked: the
 * handler sends a thread that it meets there to the labels *_redo, *_abort. */
#include "engine/vcpu.h"
#include "engine/macros.inc"

	.section .text.cross, "ax"

/* An indirect branch whose target is not in the table: r10 is the target; r10
 * and rcx are spilled. */
function engine_miss
	mov %r10, %gs:VCPU_PC
	mov %gs:VCPU_SPILL, %r10
	mov %gs:(VCPU_SPILL + 8), %rcx
	movl $1, %gs:VCPU_REASON	/* EXIT_INDIRECT */
	jmp *%gs:VCPU_LEAVE
	.size engine_miss, . - engine_miss

/* All exits come here; reason, argument and (but for links) pc are set. */
function engine_leave
	save_registers
	mov %gs:VCPU_STACK, %rsp
	pushfq
	popq %gs:VCPU_RFLAGS
	testl $0x44500, %gs:VCPU_RFLAGS	/* AC, NT, DF, TF: not for C */
	jz engine_again
	pushq $2
	popfq
	.size engine_leave, . - engine_leave
function engine_again
	mov %gs:VCPU_SELF, %rdi
	call engine_dispatch
label engine_enter_begin
	cmpl $0, %gs:VCPU_HELD
	jne engine_enter_redo
	load_spoiled
	load_kept
	load_rsp
	jmp *%gs:VCPU_ENTER
label engine_enter_end
	.size engine_again, . - engine_again

/* A load that was not foreseen (mirror.c): gs:VCPU_ARG says which. C logs it;
 * then the thread goes on at gs:VCPU_RESUME, whatever signal is held: it waits
 * for the budget. */
function engine_check
	save_registers
	mov %gs:VCPU_STACK, %rsp
	pushfq
	popq %gs:VCPU_RFLAGS
	flags_for_c
	mov %gs:VCPU_SELF, %rdi
	call tape_miss
	test %eax, %eax
	jnz engine_enter_redo		/* it is gone: execute it again */
label engine_check_back
	end_budget_if_held
	testl $0x44500, %gs:VCPU_RFLAGS
	jnz 3f
	load_status
	load_spoiled_registers
	load_rsp
	jmp *%gs:VCPU_RESUME
3:	load_spoiled
	load_rsp
	jmp *%gs:VCPU_RESUME
engine_locked_back:			/* nobody wants the status flags */
	end_budget_if_held
	testl $0x44500, %gs:VCPU_RFLAGS
	jnz 3b
	load_spoiled_registers
	load_rsp
	jmp *%gs:VCPU_RESUME
label engine_check_end
	.size engine_check, . - engine_check

/* A locked instruction has met somebody (mirror_order.c). The clock is read
 * behind it, and its line behind the clock: whoever draws a ticket after the
 * look has a later time. Both at once, while the line is still here. */
function engine_locked
	save_registers
	mov %gs:VCPU_STACK, %rsp
	pushfq
	popq %gs:VCPU_RFLAGS
	lfence
	call guest_tsc
	mov %rax, %gs:VCPU_TIME
	mov %gs:VCPU_LINE, %rcx
	and $0, %eax			/* so the load waits for the clock */
	mov (%rcx,%rax), %rax
	mov %rax, %gs:VCPU_SEEN
	flags_for_c
	mov %gs:VCPU_SELF, %rdi
	call tape_locked
	jmp engine_locked_back
	.size engine_locked, . - engine_locked

/* Starts over, whatever the registers are; the state is in the vcpu. Handlers
 * send threads here, too, when they have changed that state. */
function engine_resume
label engine_enter_redo
	mov %gs:VCPU_STACK, %rsp
	pushq $2
	popfq
	jmp engine_again
	.size engine_resume, . - engine_resume

/* void engine_begin(struct vcpu *v): the first time. */
function engine_begin
	lea SLOT_SIZE(%rdi), %rax
	wrgsbase %rax
	jmp engine_resume
	.size engine_begin, . - engine_begin

/* int64_t engine_guest_call(v, nr, args) */
function engine_guest_call
	mov %rsi, %rax
	mov %rdx, %r11
	mov 0(%r11), %rdi
	mov 8(%r11), %rsi
	mov 16(%r11), %rdx
	mov 24(%r11), %r10
	mov 32(%r11), %r8
	mov 40(%r11), %r9
label engine_call_check
	cmpl $0, %gs:VCPU_HELD
	jne engine_call_abort
	syscall
label engine_call_end
	ret
label engine_call_abort
	mov $-4096, %rax		/* ENGINE_ABORTED */
	ret
	.size engine_guest_call, . - engine_guest_call

/* uint64_t guest_copy(to, from, len) */
function guest_copy
	mov %rdx, %rcx
label guest_copy_begin
	rep movsb
label guest_copy_end
label guest_copy_fault
	mov %rcx, %rax
	ret
	.size guest_copy, . - guest_copy

/* uint64_t guest_words(to, from) */
function guest_words
	mov %rsi, %rcx			/* not 0 */
label guest_words_begin
	mov 0(%rsi), %rax
	mov 8(%rsi), %rdx
	mov 16(%rsi), %r8
	mov 24(%rsi), %r9
label guest_words_end
	mov %rax, 0(%rdi)
	mov %rdx, 8(%rdi)
	mov %r8, 16(%rdi)
	mov %r9, 24(%rdi)
	xor %eax, %eax
	ret
	.size guest_words, . - guest_words

/* uint64_t guest_tsc(void): the time stamp; 0 if the program forbids it. */
function guest_tsc
	xor %ecx, %ecx
label guest_tsc_begin
	rdtsc
label guest_tsc_end
	shl $32, %rdx
	or %rdx, %rax
	ret
	.size guest_tsc, . - guest_tsc

/* A trap on purpose: see signal.c. */
function engine_deliver_trap
label engine_deliver_insn
	ud2
	ret
	.size engine_deliver_trap, . - engine_deliver_trap

	.section .note.GNU-stack, "", @progbits
