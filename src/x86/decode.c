/* x86/decode.c - the decoder core: bytes in, knowledge out.
 *
 *   prefixes   opcode   ModRM SIB disp   immediate
 *      |          |        |
 *      |   space, opcode, variant  -->  page  -->  row, or a few rows
 *      |   (variant: 66, F2, F3, W, L, b)            that ModRM selects
 *      +---------------> rules that a row may set (X86_C_*, lock)
 *
 * 66 and W are part of the key, so operand, immediate and memory sizes need
 * no rules here: a row simply says them. What is left to do is lengths,
 * registers, and the few encodings that are undefined although the opcode is
 * not.
 *
 * D1  Nothing at or after code + avail is read.
 * D2  An accepted instruction has 1 <= len <= 15 and len <= avail.
 * D3  The answer is a function of the first 15 bytes alone.
 *
 * Plain branches are the fast way: selecting rows, ModRM and effects without
 * branches was measured slower (23-32 ns against 21 an instruction), and so
 * was a local result copied out at the end (27-35 ns). */
#include "x86/decode.h"

#include "x86/tables.h"

const uint64_t x86_tables_id = X86_TABLES_ID;

/* The furthest byte ever looked at: 14 prefixes, 5 of EVEX and opcode, ModRM,
 * SIB, disp32 and one of an immediate make 26. Longer is refused later. */
enum { PAD = 32 };

static const uint8_t prefix_bit[256] = {
    [0x66] = X86_P_66,	 [0x67] = X86_P_67,   [0xf0] = X86_P_LOCK,
    [0xf2] = X86_P_F2,	 [0xf3] = X86_P_F3,   [0x26] = X86_P_SEG,
    [0x2e] = X86_P_SEG,	 [0x36] = X86_P_SEG,  [0x3e] = X86_P_SEG,
    [0x64] = X86_P_FSGS, [0x65] = X86_P_FSGS, [0x40 ... 0x4f] = X86_P_REX,
};

static inline int64_t read_signed(const uint8_t *p, unsigned size)
{
	int16_t word;
	int32_t dword;
	int64_t qword;

	switch (size) {
	case 1:
		return (int8_t)p[0];
	case 2:
		__builtin_memcpy(&word, p, sizeof word);
		return word;
	case 4:
		__builtin_memcpy(&dword, p, sizeof dword);
		return dword;
	case 8:
		__builtin_memcpy(&qword, p, sizeof qword);
		return qword;
	default:
		return 0;
	}
}

/* The last of F2 and F3 wins, the last of FS and GS wins, and REX counts only
 * right before the opcode. */
static inline const uint8_t *read_prefixes(const uint8_t *p, const uint8_t *end,
					   struct x86_insn *restrict i)
{
	uint8_t bit;

	if (!prefix_bit[*p])
		return p;
	if ((*p & 0xf0) == 0x40 && !prefix_bit[p[1]]) {
		i->rex = *p;
		return p + 1;
	}
	for (; p < end && (bit = prefix_bit[*p]) != 0; p++) {
		i->rex = 0;
		if (bit & (X86_P_F2 | X86_P_F3))
			i->prefixes &= (uint8_t) ~(X86_P_F2 | X86_P_F3);
		else if (bit == X86_P_REX)
			i->rex = *p;
		else if (bit == X86_P_FSGS)
			i->seg = *p;
		i->prefixes |= bit;
	}
	return p;
}

/* -- Opcodes ------------------------------------------------------------- */

/* none 66 F3 F2 66F3 66F2, each without and with W. */
static inline unsigned legacy_variant(const struct x86_insn *i)
{
	unsigned pp = i->prefixes & X86_P_F3   ? 2
		      : i->prefixes & X86_P_F2 ? 3
					       : 0;

	if (i->prefixes & X86_P_66)
		pp = pp ? pp + 2 : 1;
	return pp * 2 + (i->rex >> 3 & 1);
}

static inline const uint8_t *legacy_opcode(const uint8_t *p,
					   struct x86_insn *restrict i)
{
	i->space = X86_SPACE_LEGACY;
	i->variant = (uint8_t)(i->prefixes ? legacy_variant(i)
					   : (unsigned)i->rex >> 3 & 1);
	if (*p != 0x0f) {
		i->opcode = *p;
		return p + 1;
	}
	i->space = X86_SPACE_LEGACY + 1;
	if (p[1] == 0x38 || p[1] == 0x3a) {
		i->space =
		    p[1] == 0x38 ? X86_SPACE_LEGACY + 2 : X86_SPACE_LEGACY + 3;
		p++;
	}
	i->opcode = p[1];
	return p + 2;
}

/* VEX and XOP share their layout. R, X and B are kept in REX form, so that
 * the rest need not care. */
static inline const uint8_t *vex3_opcode(const uint8_t *p,
					 struct x86_insn *restrict i)
{
	unsigned xop = p[0] == 0x8f, map = p[1] & 31, first = xop ? 8 : 1;

	if (map < first || map > first + 2)
		return 0;
	i->space =
	    (uint8_t)((xop ? X86_SPACE_XOP : X86_SPACE_VEX) + map - first);
	i->rex = (uint8_t)(0x40 | (~p[1] >> 5 & 7) | p[2] >> 7 << 3);
	i->vvvv = (uint8_t)(~p[2] >> 3 & 15);
	i->variant =
	    (uint8_t)(((p[2] & 3) * 2 + (p[2] >> 7)) * 2 + (p[2] >> 2 & 1));
	i->opcode = p[3];
	return p + 4;
}

static inline const uint8_t *vex2_opcode(const uint8_t *p,
					 struct x86_insn *restrict i)
{
	i->space = X86_SPACE_VEX;
	i->rex = (uint8_t)(0x40 | (~p[1] >> 7 & 1) << 2);
	i->vvvv = (uint8_t)(~p[1] >> 3 & 15);
	i->variant = (uint8_t)((p[1] & 3) * 4 + (p[1] >> 2 & 1));
	i->opcode = p[2];
	return p + 3;
}

static inline const uint8_t *evex_opcode(const uint8_t *p,
					 struct x86_insn *restrict i)
{
	static const uint8_t space_of_map[8] = {[1] = X86_SPACE_EVEX,
						[2] = X86_SPACE_EVEX + 1,
						[3] = X86_SPACE_EVEX + 2,
						[5] = X86_SPACE_EVEX + 3,
						[6] = X86_SPACE_EVEX + 4};

	i->space = space_of_map[p[1] & 7];
	if (!i->space || (p[1] & 8) || !(p[2] & 4))
		return 0; /* the last two: APX or Knights Corner */
	i->rex = (uint8_t)(0x40 | (~p[1] >> 5 & 7) | p[2] >> 7 << 3);
	i->evex_r2 = (uint8_t)(~p[1] >> 4 & 1);
	i->vvvv = (uint8_t)(~p[2] >> 3 & 15);
	i->v2 = (uint8_t)(~p[3] >> 3 & 1);
	i->aaa = p[3] & 7;
	i->z = p[3] >> 7;
	i->variant =
	    (uint8_t)((((p[2] & 3) * 2 + (p[2] >> 7)) * 4 + (p[3] >> 5 & 3)) *
			  2 +
		      (p[3] >> 4 & 1));
	i->opcode = p[4];
	return p + 5;
}

static inline const uint8_t *read_opcode(const uint8_t *p,
					 struct x86_insn *restrict i)
{
	uint8_t b = *p;

	if (b != 0xc4 && b != 0xc5 && b != 0x62 &&
	    !(b == 0x8f && (p[1] & 0x1f) >= 8))
		return legacy_opcode(p, i);
	if (i->prefixes & (X86_P_66 | X86_P_F2 | X86_P_F3 | X86_P_LOCK) ||
	    i->rex)
		return 0;
	if (b == 0x62)
		return evex_opcode(p, i);
	return b == 0xc5 ? vex2_opcode(p, i) : vex3_opcode(p, i);
}

/* -- Rows ---------------------------------------------------------------- */

static inline unsigned row_ref(const struct x86_insn *i)
{
	unsigned op = i->opcode;

	/* xchg r8,rax is no nop, and with F3 no pause */
	if (op == 0x90 && !i->space && i->rex & 1)
		op = 0x91;
	return x86_var[x86_op[i->space][op] + i->variant];
}

/* ORDER x86_leaf_kind */
static inline const struct x86_row *find_row(const struct x86_insn *i,
					     uint8_t modrm)
{
	unsigned ref = row_ref(i), at = ref & 0x3fff;
	unsigned is_reg = modrm >= 0xc0, reg = modrm >> 3 & 7;

	switch (ref >> 14) {
	case 0:
		return &x86_rows[at];
	case 1:
		return &x86_rows[x86_leaf[at + is_reg]];
	case 2:
		return &x86_rows[x86_leaf[at + is_reg * 8 + reg]];
	default:
		return &x86_rows[x86_leaf[at +
					  (is_reg ? 8u + (modrm & 63) : reg)]];
	}
}

/* -- Operands ------------------------------------------------------------ */

static inline const uint8_t *read_sib(const uint8_t *p, unsigned mod,
				      struct x86_insn *restrict i)
{
	uint8_t sib = *p++;

	i->base = (uint8_t)((sib & 7) | (i->rex & 1) << 3);
	i->index = (uint8_t)((sib >> 3 & 7) | (i->rex & 2) << 2);
	i->scale = sib >> 6;
	if (i->row->attr & X86_A_VSIB)
		i->index |= (uint8_t)(i->v2 << 4);
	else if (i->index == X86_RSP || i->row->mem & X86_M_MIB)
		i->index = X86_NOREG;
	if (mod == 0 && (sib & 7) == 5) {
		i->base = X86_NOREG;
		i->disp_size = 4;
	}
	return p;
}

static inline const uint8_t *memory_operand(const uint8_t *p,
					    struct x86_insn *restrict i)
{
	unsigned mod = i->modrm >> 6, rm = i->modrm & 7;

	i->is_mem = 1;
	i->disp_size = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	i->base = i->rm;
	if (rm == 4) {
		p = read_sib(p, mod, i);
	} else if (mod == 0 && rm == 5) {
		i->base = X86_RIP;
		i->disp_size = 4;
	}
	i->disp = read_signed(p, i->disp_size);
	if (i->disp_size == 1)
		i->disp *= 1 << i->row->disp8_shift;
	if (i->base < 16)
		i->gpr_read |= (uint16_t)(1 << i->base);
	if (i->index < 16 && !(i->row->attr & X86_A_VSIB))
		i->gpr_read |= (uint16_t)(1 << i->index);
	return p;
}

static inline const uint8_t *read_operands(const uint8_t *p,
					   struct x86_insn *restrict i)
{
	uint32_t attr = i->row->attr;

	if (attr & X86_A_MODRM) {
		i->modrm = *p++;
		i->reg = (uint8_t)((i->modrm >> 3 & 7) | (i->rex & 4) << 1);
		i->rm = (uint8_t)((i->modrm & 7) | (i->rex & 1) << 3);
		if (i->modrm < 0xc0 && !(attr & X86_A_FORCE_REG))
			p = memory_operand(p, i);
	} else if (attr & X86_A_MOFFS) {
		i->is_mem = 1;
		i->disp_size = i->prefixes & X86_P_67 ? 4 : 8;
		i->disp = read_signed(p, i->disp_size);
		if (i->disp_size == 4) /* an address, not an offset */
			i->disp = (uint32_t)i->disp;
	}
	return p + i->disp_size;
}

/* -- Effects ------------------------------------------------------------- */

static inline void apply_role(struct x86_insn *i, unsigned role, unsigned n)
{
	uint16_t bit;

	if ((role & X86_R_BYTE) && !i->rex && n >= 4)
		n -= 4; /* ah ch dh bh, only without any REX */
	bit = (uint16_t)(1 << (n & 15));
	if (role & X86_R_READ)
		i->gpr_read |= bit;
	if (role & X86_R_WRITE)
		i->gpr_write |= bit;
	if (role & X86_R_KILL)
		i->gpr_kill |= bit;
}

static inline void apply_effects(struct x86_insn *i, const uint8_t *imm)
{
	const struct x86_row *r = i->row;

	i->gpr_read |= r->gpr_read;
	i->gpr_write = r->gpr_write;
	i->gpr_kill = r->gpr_kill;
	if (r->role[0])
		apply_role(i, r->role[0], i->reg);
	if (r->role[1] && !i->is_mem)
		apply_role(i, r->role[1], i->rm);
	if (r->role[2])
		apply_role(i, r->role[2], i->vvvv);
	if (r->role[3])
		apply_role(i, r->role[3], (i->opcode & 7) | (i->rex & 1) << 3);
	i->flag_read = r->flag_read;
	i->flag_write = r->flag_write;
	i->flag_kill = (uint16_t)(r->flag_write & ~r->flag_undef);
	if (r->attr & X86_A_FLAGS_MAY)
		i->flag_kill = 0;
	if (r->attr & X86_A_FLAGS_IMM &&
	    !(*imm & (r->attr & X86_A_COUNT6 ? 63 : 31)))
		i->flag_kill = 0;
}

/* Reserved encodings. Most rows have none of these rules. */
static int breaks_rule(const struct x86_insn *i, uint32_t must)
{
	unsigned is_reg = !i->is_mem;
	unsigned reg = i->reg | i->evex_r2 << 4, v = i->vvvv | i->v2 << 4;
	/* EVEX.X is the fifth bit of rm */
	unsigned rm =
	    i->rm | (i->space >= X86_SPACE_EVEX ? (i->rex & 2) << 3 : 0);
	uint32_t broken =
	    (i->rex & 4 ? X86_C_R : 0) | (is_reg && i->rex & 2 ? X86_C_X3 : 0) |
	    (is_reg && i->rex & 1 ? X86_C_B3 : 0) |
	    (i->evex_r2 ? X86_C_R2 : 0) | (i->v2 ? X86_C_V2 : 0) |
	    (i->vvvv ? X86_C_VVVV : 0) | (i->vvvv & 8 ? X86_C_VVVV8 : 0) |
	    (i->z ? X86_C_Z : 0) | (i->aaa ? X86_C_AAA0 : X86_C_AAAN) |
	    (i->z && !i->aaa ? X86_C_ZAAA : 0) |
	    ((i->modrm & 7) != 4 ? X86_C_SIB : 0) |
	    (i->base == X86_RIP ? X86_C_NORIP : 0) |
	    (i->prefixes & X86_P_67 ? X86_C_67 : 0) |
	    (reg == v ? X86_C_D_RV : 0) | (reg == i->index ? X86_C_D_RI : 0) |
	    (i->index == v ? X86_C_D_IV : 0) |
	    (is_reg && reg == rm ? X86_C_D_RM : 0) |
	    (is_reg && v == rm ? X86_C_D_VM : 0);

	return (must & broken) != 0;
}

static inline int is_reserved(const struct x86_insn *i, const uint8_t *imm)
{
	const struct x86_row *r = i->row;

	return i->len > X86_MAX_LEN ||
	       (i->prefixes & X86_P_LOCK && !(r->attr & X86_A_LOCKABLE)) ||
	       (r->must && breaks_rule(i, r->must)) ||
	       (r->attr & X86_A_3DNOW &&
		!(x86_3dnow[*imm >> 3] >> (*imm & 7) & 1));
}

/* -- The whole ----------------------------------------------------------- */

static enum x86_status decode_padded(const uint8_t *code,
				     struct x86_insn *restrict i)
{
	const uint8_t *p = read_prefixes(code, code + X86_MAX_LEN, i);

	i->opcode_off = (uint8_t)(p - code);
	if (p == code + X86_MAX_LEN)
		return X86_INVALID;
	p = read_opcode(p, i);
	if (!p)
		return X86_INVALID;
	i->modrm_off = (uint8_t)(p - code);
	i->row = find_row(i, *p);
	if (!(i->row->attr & X86_A_VALID))
		return X86_INVALID;
	p = read_operands(p, i);
	i->imm_off = (uint8_t)(p - code);
	i->disp_off = (uint8_t)(i->imm_off - i->disp_size);
	i->len = (uint8_t)(i->imm_off + i->row->imm);
	if (is_reserved(i, p))
		return X86_INVALID;
	apply_effects(i, p);
	return X86_OK;
}

/* How many bytes said that i is invalid. */
static unsigned bytes_judged(const uint8_t *code, const struct x86_insn *i)
{
	if (i->len)
		return i->len;
	if (i->row) /* no such opcode; ModRM may have been asked */
		return i->modrm_off + (row_ref(i) >> 14 ? 1u : 0u);
	if (i->opcode_off == X86_MAX_LEN)
		return X86_MAX_LEN;
	if (i->prefixes & (X86_P_66 | X86_P_F2 | X86_P_F3 | X86_P_LOCK) ||
	    i->rex) /* before a vector escape; 8f needs its second byte */
		return i->opcode_off + (code[i->opcode_off] == 0x8f ? 2u : 1u);
	/* the map, and for EVEX the byte after it */
	return i->opcode_off + (code[i->opcode_off] == 0x62 ? 3u : 2u);
}

static enum x86_status decode_near_end(const uint8_t *code, unsigned avail,
				       struct x86_insn *out)
{
	uint8_t copy[PAD] = {0};
	enum x86_status status;
	unsigned needed;

	for (unsigned k = 0; k < avail; k++)
		copy[k] = code[k];
	status = decode_padded(copy, out);
	needed = status == X86_OK ? out->len : bytes_judged(copy, out);
	if (needed > avail && avail < X86_MAX_LEN)
		return X86_TRUNCATED;
	return status;
}

enum x86_status x86_decode(const uint8_t *code, unsigned avail,
			   struct x86_insn *out)
{
	*out = (struct x86_insn){.base = X86_NOREG, .index = X86_NOREG};
	if (avail >= PAD)
		return decode_padded(code, out);
	return decode_near_end(code, avail, out);
}

int64_t x86_imm(const uint8_t *code, const struct x86_insn *insn)
{
	const uint8_t *p = code + insn->imm_off;

	if (insn->row->imm == 3) /* enter */
		return (int64_t)((uint64_t)read_signed(p + 2, 1) << 16 |
				 (uint16_t)read_signed(p, 2));
	return read_signed(p, insn->row->imm);
}

uint64_t x86_target(const uint8_t *code, const struct x86_insn *insn,
		    uint64_t pc)
{
	return pc + insn->len + (uint64_t)x86_imm(code, insn);
}
