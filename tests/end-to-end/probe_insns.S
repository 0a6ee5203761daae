/* tests/end-to-end/probe_insns.S - functions that notice if one of their
 * instructions is executed elsewhere, and something was different there.
 *
 * All get two numbers and a page of their own, and return one number
 * (probe_insns.c knows which). None changes memory that another thread reads.
 *
 *	rdi, rsi	the numbers
 *	rdx		the page, which holds 0, 1, 2, ... as bytes
 */
	.text

.macro CASE name
	.globl	case_\name
	.type	case_\name, @function
case_\name:
.endm
.macro DONE name
	.size	case_\name, . - case_\name
.endm

/* Values stay below the stack pointer through instructions of all lengths. */
CASE red_zone
	.set	i, 8
	.rept	16
	lea	i(%rdi), %rax
	mov	%rax, -i(%rsp)
	.set	i, i + 8
	.endr
	nop
	xchg	%ax, %ax
	nopl	(%rax)
	nopl	0(%rax,%rax,1)
	xor	%eax, %eax
	.set	i, 8
	.rept	16
	add	-i(%rsp), %rax
	.set	i, i + 8
	.endr
	ret
DONE red_zone

/* A sum of four words: the carry lives through moves and a loop. */
CASE carry
	mov	$4, %ecx
	xor	%eax, %eax
	clc
1:	mov	%rdi, %r8
	adc	%rsi, %r8
	lea	(%rax,%r8), %r9
	mov	%r9, %rax
	dec	%ecx
	jnz	1b
	adc	$0, %rax
	ret
DONE carry

/* Every flag of the program's is what popf made it, one instruction later. */
CASE flags
	mov	%rdi, %rax
	and	$0xcd5, %eax
	or	$0x202, %eax
	push	%rax
	popf
	nop
	lea	8(%rsi), %rcx
	mov	%rcx, %r8
	pushf
	cld
	pop	%r9
	xor	%rax, %r9
	and	$0xcd5, %r9d
	mov	%r9, %rax
	ret
DONE flags

/* Backwards through the page. */
CASE direction
	mov	%rdx, %r8
	lea	15(%r8), %rsi
	lea	255(%r8), %rdi
	mov	$16, %ecx
	std
	rep movsb
	lea	255(%r8), %rsi
	mov	$8, %ecx
	xor	%eax, %eax
1:	shl	$8, %rax
	movzbl	(%rsi), %r9d
	lodsb
	dec	%ecx
	jnz	1b
	cld
	ret
DONE direction

/* The stack pointer is odd. */
CASE misaligned
	sub	$3, %rsp
	push	%rdi
	nop
	mov	(%rsp), %rax
	sub	$4, %rsp
	xor	%rsi, %rax
	pushq	%rax
	pop	%rax
	add	$4, %rsp
	pop	%rcx
	add	$3, %rsp
	ret
DONE misaligned

CASE loops
	xor	%eax, %eax
	mov	%rsi, %rcx
	and	$7, %ecx
	jrcxz	2f
1:	add	$3, %eax
	loop	1b
2:	mov	$5, %ecx
	cmp	%ecx, %ecx
3:	lea	1(%rax), %rax
	loope	3b
	mov	$6, %ecx
	test	%ecx, %ecx
4:	lea	1(%rax), %rax
	loopne	4b
	movabs	$0x700000000, %rcx
	jecxz	5f
	ud2
5:	movabs	$0x100000003, %rcx
6:	inc	%eax
	addr32 loop 6b
	mov	$9, %ecx
7:	loop	7b
	ret
DONE loops

/* Addresses of its own. */
CASE own_address
	lea	1f(%rip), %rax
	call	1f
1:	pop	%rcx
	sub	%rcx, %rax
	lea	2f(%rip), %r8
2:	lea	2b(%eip), %r9
	mov	%r8d, %r8d
	sub	%r9, %r8
	or	%r8, %rax
	ret
DONE own_address

/* A call leaves the address behind it. */
	.type	told, @function
told:	mov	(%rsp), %rax
	ret
	.size	told, . - told

CASE calls
	push	%rbx
	push	%r12
	xor	%r12d, %r12d
	lea	told(%rip), %rbx
	call	told
0:	lea	0b(%rip), %rcx
	cmp	%rax, %rcx
	setne	%al
	or	%al, %r12b
	call	*%rbx
1:	lea	1b(%rip), %rcx
	cmp	%rax, %rcx
	setne	%al
	or	%al, %r12b
	push	%rbx
	call	*(%rsp)
2:	lea	2b(%rip), %rcx
	cmp	%rax, %rcx
	setne	%al
	or	%al, %r12b
	push	%rcx
	call	*8(%rsp)
3:	lea	3b(%rip), %rcx
	cmp	%rax, %rcx
	setne	%al
	or	%al, %r12b
	call	*pointer(%rip)
4:	lea	4b(%rip), %rcx
	cmp	%rax, %rcx
	setne	%al
	or	%al, %r12b
	add	$16, %rsp
	mov	%r12, %rax
	pop	%r12
	pop	%rbx
	ret
DONE calls

/* A table of distances in the text, as compilers make them. */
CASE table
	mov	%edi, %eax
	and	$3, %eax
	lea	5f(%rip), %rcx
	movslq	(%rcx,%rax,4), %rax
	add	%rcx, %rax
	jmp	*%rax
1:	mov	$11, %eax
	ret
2:	mov	$22, %eax
	ret
3:	xor	%eax, %eax
	ret
4:	or	$-1, %rax
	ret
DONE table
	.p2align 2
5:	.long	1b - 5b, 2b - 5b, 3b - 5b, 4b - 5b

/* Functions of one byte and of three, side by side. */
	.irpc	n, 0123
	.type	tiny_\n, @function
tiny_\n: ret
	.size	tiny_\n, . - tiny_\n
	.endr
	.irpc	n, 4567
	.type	tiny_\n, @function
tiny_\n: inc	%eax
	ret
	.size	tiny_\n, . - tiny_\n
	.endr

CASE tiny
	mov	%edi, %eax
	.irpc	n, 01234567
	call	tiny_\n
	.endr
	ret
DONE tiny

/* The head of the loop is one byte behind the entry. */
CASE loop_head
	nop
1:	inc	%esi
	dec	%rdi
	test	$7, %dil
	jnz	1b
	mov	%esi, %eax
	ret
DONE loop_head

/* A jump that nobody can foresee, to an instruction between two others. */
CASE unforeseen
	xor	%eax, %eax
	mov	%edi, %ecx
	and	$3, %ecx
	lea	case_unforeseen(%rip), %r8
	lea	(1f - case_unforeseen)(%r8,%rcx,2), %r8
	jmp	*%r8
1:	add	$1, %al
	add	$2, %al
	add	$4, %al
	add	$8, %al
	ret
DONE unforeseen

/* Into the middle of an instruction: without its lock. */
CASE overlap
	mov	%rsi, -8(%rsp)
	mov	%rsi, %rax
	test	$1, %dil
	jz	1f
	lock
1:	cmpxchg	%rdi, -8(%rsp)
	mov	-8(%rsp), %rax
	ret
DONE overlap

CASE strings
	mov	%rdx, %r8
	mov	%rdi, %rax
	lea	256(%r8), %rdi
	mov	$40, %ecx
	rep stosb
	mov	%r8, %rsi
	lea	300(%r8), %rdi
	mov	$33, %ecx
	rep movsb
	xor	%ecx, %ecx
	rep movsq
	mov	%r8, %rsi
	lea	300(%r8), %rdi
	mov	$40, %ecx
	repe cmpsb
	mov	%rcx, %r9
	lea	300(%r8), %rdi
	mov	$32, %ecx
	mov	$20, %al
	repne scasb
	lea	(%r9,%rcx,8), %rax
	ret
DONE strings

/* All that moves the stack pointer; for a while it is somewhere else. */
	.type	drops, @function
drops:	mov	8(%rsp), %rax
	ret	$16
	.size	drops, . - drops
	.type	old_ret, @function
old_ret:
	lea	1(%rax), %rax
	rep ret
	.size	old_ret, . - old_ret

CASE stack
	push	%rbp
	mov	%rsp, %r9
	push	%rsp
	pop	%rcx
	sub	%r9, %rcx
	push	%rsp
	pop	%rsp
	enter	$32, $0
	mov	%rdi, -8(%rbp)
	push	-8(%rbp)
	pop	-16(%rbp)
	mov	-16(%rbp), %rax
	leave
	sub	%rdi, %rax
	add	%rcx, %rax
	push	$-5
	pushw	$7
	popw	%cx
	pop	%rcx
	add	%rcx, %rax
	push	%rsi
	push	%rdi
	add	%rax, (%rsp)
	call	drops
	call	old_ret
	lea	2048(%rdx), %rcx
	xchg	%rcx, %rsp
	push	%rax
	push	%rcx
	call	old_ret
	pop	%rsp
	mov	%r9, %rcx
	sub	%rsp, %rcx
	add	%rcx, %rax
	pop	%rbp
	ret
DONE stack

/* Operands relative to rip, with nothing, one and four bytes behind them. */
CASE relative
	xor	%eax, %eax
	mov	value(%rip), %rcx
	cmpb	$0x77, value(%rip)
	setne	%al
	cmpl	$0x44556677, value(%rip)
	setne	%ah
	cmpw	$0x6677, value(%rip)
	mov	$0, %r8d
	cmovne	%ecx, %r8d
	add	%r8d, %eax
	imul	$3, value(%rip), %r9
	lea	(%rcx,%rcx,2), %r10
	sub	%r9, %r10
	add	%r10, %rax
	push	value(%rip)
	pop	%r11
	sub	%rcx, %r11
	add	%r11, %rax
	movdqu	value(%rip), %xmm7
	movq	%xmm7, %r11
	sub	%rcx, %r11
	add	%r11, %rax
	lea	value(%rip), %r11
	sub	(%r11), %rcx
	add	%rcx, %rax
	testb	$8, value(%rip)
	jnz	1f
	jmp	*there(%rip)
1:	ret
DONE relative
	.type	behind, @function
behind:	add	%rdi, %rax
	jmp	1f
1:	ret
	.size	behind, . - behind

/* A jump to another function for good, if, and in any case. */
CASE tail
	mov	%rsi, %rax
	test	$1, %dil
	jnz	behind
	add	$1, %rax
	jmp	behind
DONE tail

CASE prefixes
	movabs	$0x1122334455667788, %rax
	add	$0x1234, %ax
	xor	%di, %ax
	bswap	%rax
	movbe	(%rdx), %ecx
	add	%rcx, %rax
	mov	%fs:0, %rcx
	mov	%fs:0x10, %r8
	sub	%r8, %rcx
	add	%rcx, %rax
	shld	$7, %rdi, %rax
	bt	$3, %edi
	rcl	$1, %rax
	lahf
	or	$0x10, %ah	/* AF is not defined after shld */
	sahf
	sbb	%rcx, %rcx
	xor	%rcx, %rax
	nopw	0(%rax,%rax,1)
	nopl	0x12345678(%rax,%rax,1)
	nopw	%cs:0x12345678(%rax,%rax,1)
	ret
DONE prefixes

/* A system call leaves the address behind it in rcx, and the flags in r11. */
CASE system
	mov	$186, %eax
	stc
	syscall
1:	lea	1b(%rip), %rdx
	sub	%rdx, %rcx
	and	$1, %r11d
	xor	$1, %r11d
	mov	%eax, %eax
	or	%r11, %rax
	neg	%rcx
	sbb	%rdx, %rdx
	or	%rdx, %rax
	ret
DONE system

/* Where indirect branches may lead to. */
CASE landing
	endbr64
	lea	1f(%rip), %rax
	jmp	*%rax
	ud2
1:	endbr64
	lea	(%rdi,%rsi), %rax
	ret
DONE landing

/* Vectors and x87 across each other's instructions. */
CASE vectors
	movq	%rdi, %xmm0
	movq	%rsi, %xmm15
	fildll	(%rdx)
	push	%rdi
	movdqa	%xmm0, %xmm8
	paddq	%xmm15, %xmm8
	pxor	%xmm15, %xmm0
	paddq	%xmm8, %xmm0
	fistpll	(%rsp)
	pop	%rcx
	movq	%xmm0, %rax
	sub	(%rdx), %rcx
	add	%rcx, %rax
	ret
DONE vectors

CASE vectors_256
	vmovq	%rdi, %xmm0
	vpbroadcastq %xmm0, %ymm1
	vpaddq	wide(%rip), %ymm1, %ymm2
	nop
	vpxor	%ymm1, %ymm2, %ymm3
	vextracti128 $1, %ymm3, %xmm4
	vpextrq	$1, %xmm4, %rax
	vzeroupper
	ret
DONE vectors_256

CASE vectors_512
	mov	$0xa5, %ecx
	kmovb	%ecx, %k1
	vpbroadcastq %rdi, %zmm16
	vpaddq	wide(%rip), %zmm16, %zmm17{%k1}{z}
	nop
	vpaddq	wide(%rip){1to8}, %zmm17, %zmm18
	vextracti64x4 $1, %zmm18, %ymm19
	vextracti64x2 $1, %ymm19, %xmm20
	vpextrq	$1, %xmm20, %rax
	vzeroupper
	ret
DONE vectors_512

	.section .data.rel.ro, "aw"
	.p2align 3
pointer: .quad	told
there:	.quad	behind
	.section .rodata
	.p2align 6
value:	.quad	0x1122334444556677, 5
	.p2align 6
wide:	.quad	1, 2, 3, 4, 5, 6, 7, 8
	.section .note.GNU-stack, "", @progbits
