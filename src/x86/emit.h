/* x86/emit.h - writes instructions, one call each, into the caller's bytes.
 *
 * Operations are rows of one table (emit.c); a call names the row, the width
 * in bytes (1, 2, 4 or 8) and the operands:
 *
 *	emit_rr(b, EMIT_ADD, 8, X86_RAX, X86_RCX)	add rax, rcx
 *	emit_rm(b, EMIT_MOV, 4, X86_RAX, mem)		mov eax, [mem]
 *	emit_mr(b, EMIT_MOV, 8, mem, X86_RDI)		mov [mem], rdi
 *	emit_mi(b, EMIT_ADD, 8, mem, 1)			add qword [mem], 1
 *	emit_m(b, EMIT_INC, 8, mem)			inc qword [mem]
 *
 * Errors are sticky: a buffer that is full, a target beyond 2 GiB or a form
 * that does not exist sets .bad, and from then on nothing more is written.
 * One test at the end is enough. An instruction is written whole or not.
 *
 * Pure: the engine emits inside the target, tests and replay in hark. */
#ifndef X86_EMIT_H
#define X86_EMIT_H

#include <stdint.h>

#include "x86/decode.h"

enum { /* .bad */
       X86_BUF_FULL = 1,
       X86_BUF_FAR = 2,	  /* a relative operand or jump does not reach */
       X86_BUF_WRONG = 4, /* no such form: a mistake of the caller */
};

struct x86_buf {
	uint8_t *start, *at, *end; /* borrowed */
	uint64_t pc;		   /* where *start is going to be executed */
	uint8_t bad;		   /* X86_BUF_* */
};

enum { X86_FS = 0x64, X86_GS = 0x65 };

/* A memory operand. With base X86_RIP, disp is the address that is meant, and
 * the emitter finds the displacement. Otherwise it must fit 32 bits. Make one
 * with the functions below: in a zeroed one the index is rax. */
struct x86_mem {
	uint8_t seg;	     /* X86_FS, X86_GS or 0 */
	uint8_t base, index; /* enum x86_reg */
	uint8_t scale;	     /* a shift, 0 to 3 */
	uint8_t addr32;	     /* 67h: the address is cut to 32 bits */
	int64_t disp;
};

static inline struct x86_mem x86_mem_at(unsigned base, int64_t disp)
{
	return (struct x86_mem){
	    .base = (uint8_t)base, .index = X86_NOREG, .disp = disp};
}

static inline struct x86_mem x86_mem_index(unsigned base, unsigned index,
					   unsigned scale, int64_t disp)
{
	return (struct x86_mem){.base = (uint8_t)base,
				.index = (uint8_t)index,
				.scale = (uint8_t)scale,
				.disp = disp};
}

/* gs:[disp], fs:[disp]; seg 0 is plain [disp]. disp is sign-extended. */
static inline struct x86_mem x86_mem_seg(unsigned seg, int64_t disp)
{
	return (struct x86_mem){.seg = (uint8_t)seg,
				.base = X86_NOREG,
				.index = X86_NOREG,
				.disp = disp};
}

/* What lies at this address, reached relative to rip. */
static inline struct x86_mem x86_mem_pc(uint64_t address)
{
	return x86_mem_at(X86_RIP, (int64_t)address);
}

/* The memory operand of an instruction that stands at pc. */
struct x86_mem x86_mem_of(const struct x86_insn *insn, uint64_t pc);

/* Conditions by their hardware number. */
enum x86_cc {
	X86_CC_O,
	X86_CC_NO,
	X86_CC_B,
	X86_CC_AE,
	X86_CC_E,
	X86_CC_NE,
	X86_CC_BE,
	X86_CC_A,
	X86_CC_S,
	X86_CC_NS,
	X86_CC_P,
	X86_CC_NP,
	X86_CC_L,
	X86_CC_GE,
	X86_CC_LE,
	X86_CC_G,
};

/* The rows of the table in emit.c, in its order: ORDER emit_op */
enum emit_op {
	EMIT_ADD,
	EMIT_OR,
	EMIT_ADC,
	EMIT_SBB,
	EMIT_AND,
	EMIT_SUB,
	EMIT_XOR,
	EMIT_CMP,
	EMIT_MOV,
	EMIT_TEST,
	EMIT_XCHG,
	EMIT_CMPXCHG,
	EMIT_XADD,
	EMIT_LEA,
	EMIT_MOVZX8,
	EMIT_MOVZX16,
	EMIT_MOVSX8,
	EMIT_MOVSX16,
	EMIT_MOVSXD,
	EMIT_IMUL,
	EMIT_BSF,
	EMIT_BSR,
	EMIT_BT,
	EMIT_BTS,
	EMIT_BTR,
	EMIT_BTC,
	EMIT_ROL, /* rol ... sar: emit_ri counts by imm8, emit_r by cl */
	EMIT_ROR,
	EMIT_SHL,
	EMIT_SHR,
	EMIT_SAR,
	EMIT_INC,
	EMIT_DEC,
	EMIT_NOT,
	EMIT_NEG,
	EMIT_MUL,
	EMIT_DIV,
	EMIT_PUSH, /* push ... jmp: width 8 only */
	EMIT_POP,
	EMIT_CALL,
	EMIT_JMP,
	EMIT_SETCC,  /* + enum x86_cc: width 1 */
	EMIT_CMOVCC, /* + enum x86_cc, see emit_setcc and emit_cmov */
	EMIT_OP_MAX
};

/* The forms. In rr and rm the first operand is the destination, in mr the
 * memory is. */
void emit_rr(struct x86_buf *b, enum emit_op op, unsigned width, unsigned dst,
	     unsigned src);
void emit_rm(struct x86_buf *b, enum emit_op op, unsigned width, unsigned dst,
	     struct x86_mem src);
void emit_mr(struct x86_buf *b, enum emit_op op, unsigned width,
	     struct x86_mem dst, unsigned src);
/* The immediate is sign-extended from 32 bits to width 8; it may be given
 * signed or unsigned for the smaller widths. */
void emit_ri(struct x86_buf *b, enum emit_op op, unsigned width, unsigned dst,
	     int64_t imm);
void emit_mi(struct x86_buf *b, enum emit_op op, unsigned width,
	     struct x86_mem dst, int64_t imm);
void emit_r(struct x86_buf *b, enum emit_op op, unsigned width, unsigned reg);
void emit_m(struct x86_buf *b, enum emit_op op, unsigned width,
	    struct x86_mem mem);

void emit_setcc_r(struct x86_buf *b, enum x86_cc cc, unsigned reg);
void emit_setcc_m(struct x86_buf *b, enum x86_cc cc, struct x86_mem mem);
void emit_cmov_rr(struct x86_buf *b, enum x86_cc cc, unsigned width,
		  unsigned dst, unsigned src);
void emit_cmov_rm(struct x86_buf *b, enum x86_cc cc, unsigned width,
		  unsigned dst, struct x86_mem src);

/* reg = value, in the shortest way that leaves the flags alone. */
void emit_set(struct x86_buf *b, unsigned reg, uint64_t value);
/* The same in ten bytes always, the value in the last eight. */
void emit_set_wide(struct x86_buf *b, unsigned reg, uint64_t value);
/* rax = [address], [address] = rax: any address, width 1 to 8. */
void emit_load_abs(struct x86_buf *b, unsigned seg, unsigned width,
		   uint64_t address);
void emit_store_abs(struct x86_buf *b, unsigned seg, unsigned width,
		    uint64_t address);
void emit_push_i(struct x86_buf *b, int32_t value);

/* Instructions without operands, and prefixes; the value is the bytes. */
enum emit_plain {
	EMIT_RET = 0xc3,
	EMIT_INT3 = 0xcc,
	EMIT_PUSHF = 0x9c,
	EMIT_POPF = 0x9d,
	EMIT_LAHF = 0x9f,
	EMIT_SAHF = 0x9e,
	EMIT_CLD = 0xfc,
	EMIT_LEAVE = 0xc9,
	EMIT_SYSCALL = 0x0f05,
	EMIT_UD2 = 0x0f0b,
	EMIT_RDTSC = 0x0f31,
	EMIT_RDTSCP = 0x0f01f9,
	EMIT_PAUSE = 0xf390,
	EMIT_LFENCE = 0x0faee8,
	EMIT_MFENCE = 0x0faef0,
	EMIT_ENDBR64 = 0xf30f1efa,
	EMIT_LOCK = 0xf0, /* for the next instruction */
	EMIT_NOTRACK = 0x3e,
};
void emit_plain(struct x86_buf *b, enum emit_plain what);
void emit_nop(struct x86_buf *b, unsigned len);
void emit_bytes(struct x86_buf *b, const uint8_t *bytes, unsigned len);
void emit_quad(struct x86_buf *b, uint64_t value);

/* -- Direct transfers ----------------------------------------------------- */

/* Where the next instruction will execute. */
uint64_t emit_pc(const struct x86_buf *b);
/* Would a rel32 that ends len bytes from here reach the target? */
int emit_reaches(const struct x86_buf *b, unsigned len, uint64_t target);

void emit_jmp(struct x86_buf *b, uint64_t target);
void emit_call(struct x86_buf *b, uint64_t target);
void emit_jcc(struct x86_buf *b, enum x86_cc cc, uint64_t target);
/* jmp [rip+0] and the address behind it: 14 bytes, reaches everything. */
void emit_jmp_far(struct x86_buf *b, uint64_t target);

/* A place in the buffer that jumps may name before it is known. Zeroed is
 * unbound. Unresolved fields chain to each other through their own bytes, so
 * a label takes any number of them. */
struct emit_label {
	uint32_t here;	  /* 1 + offset once bound */
	uint32_t chain32; /* 1 + offset of the last unresolved rel32 */
	uint32_t chain8;  /* likewise, rel8 */
};
void emit_jmp_label(struct x86_buf *b, struct emit_label *l);
void emit_jcc_label(struct x86_buf *b, enum x86_cc cc, struct emit_label *l);
void emit_call_label(struct x86_buf *b, struct emit_label *l);
/* rel8: X86_BUF_FAR if the label turns out to be too far. */
void emit_jmp8_label(struct x86_buf *b, struct emit_label *l);
void emit_jcc8_label(struct x86_buf *b, enum x86_cc cc, struct emit_label *l);
void emit_jrcxz_label(struct x86_buf *b, struct emit_label *l);
/* lea reg, [rip+label] and the like: rm form, no immediate. */
void emit_rm_label(struct x86_buf *b, enum emit_op op, unsigned width,
		   unsigned dst, struct emit_label *l);
void emit_m_label(struct x86_buf *b, enum emit_op op, struct emit_label *l);
void emit_bind(struct x86_buf *b, struct emit_label *l);

/* -- Patching ------------------------------------------------------------- */

/* Pads with nops until the rel32 that `before` opcode bytes precede lies
 * inside one aligned 8-byte word, so that it can be changed while others
 * execute it. */
void emit_align_rel32(struct x86_buf *b, unsigned before);

/* Points the rel32 at field, which executes at field_pc, to target, in one
 * 4-byte store. 0, or -1 if it does not reach: then nothing is written. */
int emit_patch_rel32(uint8_t *field, uint64_t field_pc, uint64_t target);

#endif
