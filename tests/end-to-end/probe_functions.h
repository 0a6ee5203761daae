/* tests/end-to-end/probe_functions.h - functions by the probe that they take.
 *
 * All of them give 2 * n + 1. Their first instructions differ:
 *
 *	PLAIN(name)	what the compiler makes of it
 *	BY_JUMP(name)	five bytes long: a jump
 *	BY_TRAP(name)	one byte, before a target of a branch; the bytes behind
 *			it are no distance to anything that is free: a trap */
#ifndef PROBE_FUNCTIONS_H
#define PROBE_FUNCTIONS_H

#include <stdint.h>
#include <stdlib.h>

/* Rounds of a guest: n, or with PROBE_PERCENT in the environment so many
 * percent of them. */
static inline int rounds_of(int n)
{
	const char *percent = getenv("PROBE_PERCENT");

	return percent != NULL ? (int)(n * atol(percent) / 100) : n;
}

#define PLAIN(name)                                         \
	__attribute__((noinline)) uint64_t name(uint64_t n) \
	{                                                   \
		__asm__ volatile("" : "+r"(n));             \
		return 2 * n + 1;                           \
	}                                                   \
	uint64_t name(uint64_t n)

/* clang-format off */
#define BY_JUMP(name)						\
	__asm__(".text\n"					\
		".p2align 6\n"					\
		".globl " #name "\n"				\
		".type " #name ", @function\n"			\
		#name ": lea	1(%rdi,%rdi), %rax\n"		\
		"	ret\n"					\
		".size " #name ", .-" #name "\n");		\
	uint64_t name(uint64_t n)

/* The mov would be a distance of 0x1b8. */
#define BY_TRAP(name)						\
	__asm__(".text\n"					\
		".globl " #name "\n"				\
		".type " #name ", @function\n"			\
		#name ": push	%rbx\n"				\
		"1:	mov	$1, %eax\n"			\
		"	lea	(%rdi,%rdi), %rbx\n"		\
		"	add	%rbx, %rax\n"			\
		"	jz	1b\n"				\
		"	pop	%rbx\n"				\
		"	ret\n"					\
		".size " #name ", .-" #name "\n");		\
	uint64_t name(uint64_t n)
/* clang-format on */

#endif
