/* native/collect_enter.S - the way into the collector.
 *
 *	site, fs -> table -> area -> busy = 1, collect_fire(), busy = 0
 *
 * rdfsbase makes the processor wait for all that came before, some 8 ns. Where
 * threads keep the address of their thread block at its start, as the ABI of
 * x86-64 asks for, it is read instead; collect_thread.c finds out whether all
 * of them do. Should one have no memory there all the same, the handler of
 * SIGSEGV (src/native) sends it from collect_hit_self to
 * collect_hit_by_base; rdx and rcx must be as they were.
 *
 * A thread that is not in the table blocks its signals first: whoever holds
 * the table's lock must not be interrupted by a handler with probes in it. */

/* ORDER collect_enter: held against the structs by collect.c. */
#define PLAN_TABLE 64
#define TABLE_SELF 8
#define TABLE_WHO 64
#define WHO_AREA 8
#define AREA_BUSY 32
#define HASH 0x9e3779b97f4a7c15
#define N_ENTRIES 4096
#define LAST_ENTRY 0xfff0
#define APART -1
/* Bytes that clauses need of the stack: by all ways through the collector, the
 * longest being a stack that is walked by expressions. */
#define COLLECT_ROOM 4096
#define SYS_SIGPROCMASK 14
#define SIG_BLOCK 0
#define SIG_SETMASK 2

	.section .text.collect_hit, "ax"
	.macro place name
	.globl \name
	.hidden \name
\name:
	.endm

	.p2align 4
	.type collect_hit, @function
/* rdi: frame, rsi: site */
place collect_hit
	mov (%rsi), %rcx
	movabs $HASH, %rdx
	mov PLAN_TABLE(%rcx), %rcx
	cmpl $0, TABLE_SELF(%rcx)
	je .Lby_base
place collect_hit_self
	mov %fs:0, %rax
.Lhash:
	mov %rax, %r8
	shr $6, %r8
	imul %rdx, %r8
	shr $48, %r8
	and $LAST_ENTRY, %r8d
	cmp %rax, TABLE_WHO(%rcx, %r8)
	jne .Lcollided
.Lfound:
	mov TABLE_WHO + WHO_AREA(%rcx, %r8), %rdx
	test %rdx, %rdx
	jz .Lunknown
	cmpl $0, AREA_BUSY(%rdx)
	jne .Lrecursed
	movl $1, AREA_BUSY(%rdx)
.Lfire:
	sub $8, %rsp
	call collect_fire
	add $8, %rsp
	movl $0, AREA_BUSY(%rax)
.Lleave:
	ret

/* Somebody else's entry. Nobody was ever behind one without an area. */
.Lcollided:
	mov $N_ENTRIES, %r9d
.Lnext:
	cmpq $0, TABLE_WHO + WHO_AREA(%rcx, %r8)
	je .Lunknown
	add $16, %r8d
	and $LAST_ENTRY, %r8d
	dec %r9d
	jz .Lunknown
	cmp %rax, TABLE_WHO(%rcx, %r8)
	jne .Lnext
	jmp .Lfound

/* Not all threads have a pointer to themselves, or this one has no memory. */
place collect_hit_by_base
.Lby_base:
	rdfsbase %rax
	jmp .Lhash

/* Once in a thread's life, unless it finds no area. */
.Lunknown:
	cmpl $APART, (%rcx)
	je .Lleave
	rdfsbase %rax
	push %rdi
	push %rsi
	push %rax
	sub $16, %rsp
	movq $-1, (%rsp)
	mov $SYS_SIGPROCMASK, %eax
	mov $SIG_BLOCK, %edi
	mov %rsp, %rsi
	lea 8(%rsp), %rdx
	mov $8, %r10d
	syscall
	mov 24(%rsp), %rdi
	mov 16(%rsp), %rsi
	call collect_new
	test %rax, %rax
	jz .Lnobody
	movl $1, AREA_BUSY(%rax)
	mov %rax, (%rsp)
	mov $SYS_SIGPROCMASK, %eax
	mov $SIG_SETMASK, %edi
	lea 8(%rsp), %rsi
	xor %edx, %edx
	mov $8, %r10d
	syscall
	mov (%rsp), %rdx
	add $24, %rsp
	pop %rsi
	pop %rdi
	jmp .Lfire

/* The area is busy: it stays so. */
.Lrecursed:
	mov %rsi, %rdi
	mov %rdx, %rsi
	jmp collect_recursed

/* It has been counted, as one without an area. */
.Lnobody:
	mov $SYS_SIGPROCMASK, %eax
	mov $SIG_SETMASK, %edi
	lea 8(%rsp), %rsi
	xor %edx, %edx
	mov $8, %r10d
	syscall
	add $40, %rsp
	ret

	.size collect_hit, . - collect_hit

/* -- struct collect_area *collect_fire_with_room(frame, site, area) -- */

	.p2align 4
	.type collect_fire_with_room, @function
place collect_fire_with_room
	testb $0, -COLLECT_ROOM(%rsp)
	jmp collect_fire_rest
	.size collect_fire_with_room, . - collect_fire_with_room

/* -- uint64_t collect_cpu(void) -- */

/* A program may forbid rdtscp to itself (PR_SET_TSC). Then it raises SIGSEGV,
 * whose handler (src/native) makes the thread go on at collect_cpu_refused. */
	.p2align 4
	.type collect_cpu, @function
place collect_cpu
	rdtscp
	mov %ecx, %eax
	ret
place collect_cpu_refused
	mov $-1, %rax
	ret
	.size collect_cpu, . - collect_cpu

	.section .note.GNU-stack, "", @progbits
