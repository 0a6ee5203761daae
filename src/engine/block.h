/* engine/block.h - a superblock of the program, decoded.
 *
 * Straight on from pc, through conditional branches as if they fell through,
 * up to the first instruction that certainly goes elsewhere, or that the
 * translator does not take, or BLOCK_MAX of them.
 *
 * B1  The shape is a function of the code bytes, of pc, and of the flags. */
#ifndef ENGINE_BLOCK_H
#define ENGINE_BLOCK_H

#include "x86/decode.h"

#include <stdint.h>

enum { BLOCK_MAX = 48, BLOCK_BYTES = BLOCK_MAX * X86_MAX_LEN };

/* What is done with an instruction. Those from TREAT_JMP on end a block. */
enum treat {
	TREAT_COPY,
	TREAT_JCC,
	TREAT_LOOP,
	TREAT_RDGS, /* rdgsbase: the program's gs is in the vcpu */
	TREAT_POPF, /* copied, unless it sets the trap flag */
	TREAT_JMP,
	TREAT_CALL,
	TREAT_RET,
	TREAT_JMP_IND,
	TREAT_CALL_IND,
	TREAT_SYSCALL,
	TREAT_X87,    /* copied; then its environment is put right */
	TREAT_RESULT, /* BLOCK_RECORDED: see ways.h */
	TREAT_STATE,
	TREAT_STRING,
	TREAT_TRAP, /* copied, and the end */
	TREAT_STEP, /* natively, one instruction; also if it is none */
	TREAT_MAX
};

struct guest_insn {
	struct x86_insn x;
	uint16_t off; /* of its first byte */
	uint8_t treat;
	uint8_t pad;
};

struct guest_block {
	uint64_t pc;
	unsigned n;    /* instructions; one of TREAT_STEP may have no .x */
	unsigned len;  /* bytes of them, without a last TREAT_STEP */
	unsigned seen; /* bytes that the shape depends on */
	unsigned have;
	uint8_t bytes[BLOCK_BYTES + 128];
	struct guest_insn insns[BLOCK_MAX];
};

enum { /* flags */
       BLOCK_ENDS_AT_STORES = 1,
       BLOCK_STACK_APART = 4,	/* stores through rsp do not count */
       BLOCK_STEPS_POPF = 2,	/* no way out in the middle */
       BLOCK_RECORDED = 8,	/* some instructions end it: ways.h */
       BLOCK_OF_VERSION_2 = 16, /* more of them do: those that were left
				 * to the CPU up to version 2 of records
				 * (wire/record.h) */
};

/* Copies up to len bytes of code at pc; how many there are. */
typedef unsigned block_fetch(void *ctx, uint64_t pc, uint8_t *to, unsigned len);

struct block_how {
	uint64_t limit; /* code is readable below (a fault ends it, too) */
	uint64_t stop;	/* it ends before this instruction; 0: no matter */
	const struct observe *observe; /* nor does it go on at its stops; NULL:
					* no matter */
	unsigned flags;		       /* BLOCK_* */
	block_fetch *fetch;	       /* NULL: from memory */
	void *ctx;
};

void block_form(struct guest_block *g, uint64_t pc,
		const struct block_how *how);

#endif
