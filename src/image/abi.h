/* image/abi.h - where a function finds its arguments, and leaves its result.
 *
 * By the System V ABI for x86-64, from the types alone, so at the first
 * instruction of any function that others can call; what compilers do to
 * functions that only they see (clones, .isra) is not known here. */
#ifndef IMAGE_ABI_H
#define IMAGE_ABI_H

#include "image/types.h"

enum abi_where {
	ABI_NONE,
	ABI_REGISTERS, /* one or two, 8 bytes in each */
	ABI_STACK,     /* at an offset from the stack pointer at entry */
	ABI_POINTER,   /* its address is in a register, or on the stack */
	ABI_X87,       /* a result: on top of the x87 stack; its imaginary part
			* below that */
	ABI_VECTOR,    /* the whole of one vector register */
};

enum { ABI_XMM = 16 };

/* Registers: 0 to 15 general ones by hardware number, then xmm, of which
 * ABI_REGISTERS means the low 8 bytes. */
struct abi_place {
	enum abi_where where;
	uint8_t reg[2];
	uint8_t n_regs; /* of ABI_POINTER 0: it is on the stack */
	uint64_t offset;
	uint64_t size;
};

struct abi_state {
	unsigned ints, floats; /* registers that are taken */
	uint64_t stack;
};

/* Call it for the result first, then for each argument in turn. */
struct abi_place abi_result(struct type t, struct abi_state *s);
struct abi_place abi_argument(struct type t, struct abi_state *s);

#endif
