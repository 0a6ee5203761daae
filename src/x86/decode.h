/* x86/decode.h - what hark knows of one instruction.
 *
 * The core (decode.c) understands prefixes, ModRM, SIB and lengths. All that
 * is *knowledge* (what an opcode does) sits in rows of tables.h, which
 * tools/x86/gen makes by asking Zydis about the whole encoding space. Engine,
 * probes, flight and context all use this one representation.
 *
 * Pure: the same code decodes inside the target and in hark itself. */
#ifndef X86_DECODE_H
#define X86_DECODE_H

#include <stdint.h>

enum { X86_MAX_LEN = 15 };

/* General registers by their hardware number: rax 0, rcx 1, ... r15 15. */
enum x86_reg {
	X86_RAX,
	X86_RCX,
	X86_RDX,
	X86_RBX,
	X86_RSP,
	X86_RBP,
	X86_RSI,
	X86_RDI,
	X86_R8,
	X86_R9,
	X86_R10,
	X86_R11,
	X86_R12,
	X86_R13,
	X86_R14,
	X86_R15,
	X86_RIP = 0xfe,	  /* only as the base of an address */
	X86_NOREG = 0xff, /* no base, no index */
};

/* Flag masks are bits of RFLAGS; everything above OF shares one bit. */
enum x86_flag {
	X86_CF = 1 << 0,
	X86_PF = 1 << 2,
	X86_AF = 1 << 4,
	X86_ZF = 1 << 6,
	X86_SF = 1 << 7,
	X86_TF = 1 << 8,
	X86_IF = 1 << 9,
	X86_DF = 1 << 10,
	X86_OF = 1 << 11,
	X86_FLAG_OTHER = 1 << 12,
	X86_FLAGS_STATUS = X86_CF | X86_PF | X86_AF | X86_ZF | X86_SF | X86_OF,
};

/* Where control goes after the instruction. ORDER x86_flow: from X86_JCC to
 * X86_CALL_IND near branches, the first four of them relative. */
enum x86_flow {
	X86_NEXT,     /* falls through */
	X86_JCC,      /* conditional, relative */
	X86_LOOP,     /* loop, loope, loopne, jrcxz, jecxz: rel8 only */
	X86_JMP,      /* relative */
	X86_CALL,     /* relative */
	X86_RET,      /* near */
	X86_JMP_IND,  /* through a register or memory */
	X86_CALL_IND, /* likewise */
	X86_FAR,      /* far call, jump or return */
	X86_SYSCALL,
	X86_SYSENTER,
	X86_INT3,
	X86_INT, /* int n, int1 */
	X86_IRET,
	X86_UD, /* ud0, ud1, ud2 */
	X86_HLT,
	X86_XBEGIN, /* relative, to the fallback */
	X86_XEND,   /* xend, xabort */
	X86_ODD,    /* anything else that changes rip (vmcall, sysret, ...) */
	X86_FLOW_MAX
};

/* Instructions that somebody treats one by one. */
enum x86_special {
	X86_ORDINARY,
	X86_CPUID,
	X86_RDTSC,
	X86_RDTSCP,
	X86_RDRAND,
	X86_RDSEED,
	X86_RDPID,
	X86_XGETBV,
	X86_XCHG,  /* locked even without a prefix if it has memory */
	X86_FENCE, /* mfence, lfence, sfence, serialize */
	X86_PAUSE,
	X86_NOP, /* with or without ModRM, reserved hints too */
	X86_ENDBR,
	X86_PUSHF,
	X86_POPF,
	X86_ENTER, /* with a level > 0 it copies that many words from rbp */
	X86_RDFSBASE,
	X86_RDGSBASE,
	X86_WRFSBASE,
	X86_WRGSBASE,
	X86_XLAT,   /* its index is al */
	X86_CLZERO, /* clears the line that rax points into */
	X86_X87ENV, /* fnstenv, fnsave: store the last x87 instruction's pc */
	X86_SETSEG, /* loads fs or gs (mov, pop, lfs, lgs) */
	X86_SPECIAL_MAX
};

/* What an (opcode, variant, ModRM form) says, whatever its operands. */
struct x86_row {
	uint32_t attr;		      /* X86_A_* */
	uint32_t must;		      /* X86_C_*: encodings that make it #UD */
	uint16_t mem_size;	      /* explicit memory operand, bytes */
	uint16_t gpr_read, gpr_write; /* implicit registers */
	uint16_t gpr_kill;	      /* written whole, always */
	uint16_t flag_read, flag_write;
	uint16_t flag_undef; /* written, but maybe with their old values */
	uint8_t role[4]; /* X86_R_* of ModRM.reg, ModRM.rm, vvvv, opcode bits */
	uint8_t
	    imem[2]; /* implicit memory: X86_I_PRESENT | X86_M_* << 4 | base */
	uint8_t imem_size[2]; /* bytes, one element if repeated */
	uint8_t mem;	      /* X86_M_* of the explicit memory operand */
	uint8_t imm;	      /* bytes of immediate */
	uint8_t flow;
	uint8_t disp8_shift; /* EVEX: disp8 counts in 1 << this */
	uint8_t special;     /* enum x86_special */
	uint8_t pad;	     /* rows are compared byte by byte */
};

enum { /* attr */
       X86_A_VALID = 1 << 0,
       X86_A_MODRM = 1 << 1,
       X86_A_MOFFS = 1 << 2,	 /* a 64-bit address in the instruction */
       X86_A_FORCE_REG = 1 << 3, /* ModRM.mod is ignored (mov cr) */
       X86_A_LOCKABLE = 1 << 4,
       X86_A_NONDET = 1 << 5, /* differs from run to run or CPU to CPU */
       X86_A_X87 = 1 << 6,
       X86_A_VEC = 1 << 7,
       X86_A_PRIV = 1 << 8, /* #GP in user mode (in and out: usually) */
       X86_A_VSIB = 1 << 9,
       X86_A_BITSTRING = 1 << 10, /* bt mem,reg: far from its operand */
       X86_A_FLAGS_MAY = 1 << 11, /* flags may stay (shift by CL) */
       X86_A_FLAGS_IMM = 1 << 12, /* ... when the masked immediate is 0 */
       X86_A_VENDOR = 1 << 13,	  /* 66 before a branch: Intel ignores it */
       X86_A_STRING = 1 << 14,
       X86_A_XSTATE = 1 << 15,	 /* xsave, fxsave and kin: what they store may
				  * differ from run to run */
       X86_A_SEGBASE = 1 << 16,	 /* rdfsbase and so on */
       X86_A_3DNOW = 1 << 17,	 /* the last byte is the opcode */
       X86_A_MEM_MAY = 1 << 18,	 /* memory access is conditional */
       X86_A_REG_ADDR = 1 << 19, /* ModRM.reg holds a second address */
       X86_A_COUNT6 = 1 << 20,	 /* shift counts are masked to 6 bits */
};
enum { /* role */
       X86_R_READ = 1,
       X86_R_WRITE = 2,
       X86_R_KILL = 4,
       X86_R_BYTE = 8,
       X86_R_GPR = 16,
};
enum { /* mem */
       X86_M_READ = 1,
       X86_M_WRITE = 2,
       X86_M_AGEN = 4, /* only the address is formed (lea, nop, prefetch) */
       X86_M_MIB = 8,
};
enum { X86_I_PRESENT = 0x80 }; /* imem */
enum { /* must: the field has to hold its default, or the two to differ */
       X86_C_R = 1 << 0,
       X86_C_X3 = 1 << 1,
       X86_C_B3 = 1 << 2,
       X86_C_R2 = 1 << 3,
       X86_C_V2 = 1 << 4,
       X86_C_VVVV = 1 << 5,
       X86_C_VVVV8 = 1 << 6,
       X86_C_Z = 1 << 7,
       X86_C_AAA0 = 1 << 8,
       X86_C_AAAN = 1 << 9,
       X86_C_ZAAA = 1 << 10,
       X86_C_SIB = 1 << 11,
       X86_C_NORIP = 1 << 12,
       X86_C_67 = 1 << 13,
       X86_C_D_RV = 1 << 14,
       X86_C_D_RI = 1 << 15,
       X86_C_D_IV = 1 << 16,
       X86_C_D_RM = 1 << 17,
       X86_C_D_VM = 1 << 18,
};

/* Opcode spaces: legacy maps 0-3, VEX 1-3, XOP 8-10, EVEX 1 2 3 5 6. */
enum {
	X86_SPACE_LEGACY = 0,
	X86_SPACE_VEX = 4,
	X86_SPACE_XOP = 7,
	X86_SPACE_EVEX = 10,
	X86_SPACE_MAX = 15,
};

enum { /* prefixes */
       X86_P_66 = 1,
       X86_P_67 = 2,
       X86_P_LOCK = 4,
       X86_P_F2 = 8,
       X86_P_F3 = 16,
       X86_P_REX = 32,
       X86_P_SEG = 64,	 /* cs, ds, es, ss: ignored, except as hints */
       X86_P_FSGS = 128, /* .seg says which */
};

struct x86_insn {
	const struct x86_row *row; /* borrowed: the static tables */
	uint8_t len, space, opcode, variant;
	uint8_t prefixes; /* X86_P_* */
	uint8_t rex; /* 0x40 | WRXB, VEX and EVEX put into this form; or 0 */
	uint8_t seg; /* 0x64, 0x65 or 0; x86_accesses() knows its reach */
	uint8_t opcode_off, modrm_off, disp_off, disp_size, imm_off;
	uint8_t modrm, reg, rm, vvvv;
	uint8_t base, index, scale; /* enum x86_reg; scale is a shift */
	uint8_t aaa, z, v2, evex_r2;
	uint8_t is_mem;
	int64_t disp; /* scaled, sign-extended */
	/* All of it, address registers included. Whatever is written but not
	 * killed may keep its old value, or a part of it. */
	uint16_t gpr_read, gpr_write, gpr_kill;
	uint16_t flag_read, flag_write, flag_kill;
};

enum x86_status {
	X86_OK,
	X86_INVALID,
	X86_TRUNCATED, /* valid so far, but avail ends inside it */
};

/* Decodes one instruction of at most avail readable bytes. On anything but
 * X86_OK, out holds nothing to rely on. */
enum x86_status x86_decode(const uint8_t *code, unsigned avail,
			   struct x86_insn *out);

/* The immediate, sign-extended (0 if there is none). code as decoded. Two
 * immediates count as one number, the first in its low bits: enter has a size
 * of 16 bits and a level of 8. */
int64_t x86_imm(const uint8_t *code, const struct x86_insn *insn);

/* Target of a direct transfer (X86_JCC, LOOP, JMP, CALL, XBEGIN) at pc. */
uint64_t x86_target(const uint8_t *code, const struct x86_insn *insn,
		    uint64_t pc);

/* Does x86_target() apply? */
static inline int x86_is_direct(const struct x86_insn *insn)
{
	unsigned flow = insn->row->flow;

	return (flow >= X86_JCC && flow <= X86_CALL) || flow == X86_XBEGIN;
}

/* Can control arrive at the next instruction without a jump to it? Calls and
 * system calls come back; whether they do is not the decoder's affair. */
static inline int x86_falls_through(const struct x86_insn *insn)
{
	switch (insn->row->flow) {
	case X86_JMP:
	case X86_RET:
	case X86_JMP_IND:
	case X86_IRET:
	case X86_UD:
		return 0;
	case X86_FAR: /* only the calls */
		return (insn->opcode == 0xff && (insn->modrm >> 3 & 7) == 3);
	default:
		return 1;
	}
}

/* Is its read and write of memory one step for other threads? */
static inline int x86_is_locked(const struct x86_insn *insn)
{
	return insn->is_mem &&
	       (insn->prefixes & X86_P_LOCK || insn->row->special == X86_XCHG);
}

/* Does its meaning depend on where it stands (apart from branches)? */
static inline int x86_uses_rip(const struct x86_insn *insn)
{
	return insn->is_mem && insn->base == X86_RIP;
}

/* Names the knowledge in the tables: recordings carry it, because the shape
 * of superblocks depends on it. */
extern const uint64_t x86_tables_id;

#endif
