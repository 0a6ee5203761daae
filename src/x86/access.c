/* x86/access.c - the memory operands of one instruction, hidden ones too.
 *
 * The rows know base, size and direction; what they cannot say is here:
 *
 *   push-like   write below rsp: [rsp - size]
 *   pop mem     a destination based on rsp is formed after the pop
 *   enter       with a level, copies of frame pointers
 *   overrides   reach the source of string instructions, never the stack nor
 *               what rdi names in them
 */
#include "x86/access.h"

enum { XSAVE_MIN = 576 }; /* legacy area and header */

static uint8_t where_of(const struct x86_insn *i)
{
	uint32_t attr = i->row->attr;

	if (attr & X86_A_VSIB)
		return X86_AT_VSIB;
	if (attr & X86_A_BITSTRING)
		return X86_AT_BIT;
	if (i->row->must & X86_C_SIB)
		return X86_AT_TILE;
	if (attr & X86_A_XSTATE && i->row->mem_size >= XSAVE_MIN)
		return X86_AT_STATE;
	return X86_AT_PLAIN;
}

int64_t x86_pop_shift(const struct x86_insn *i)
{
	const struct x86_row *r = i->row;

	if (i->base != X86_RSP || r->mem != X86_M_WRITE ||
	    r->imem[0] != (X86_I_PRESENT | X86_M_READ << 4 | X86_RSP))
		return 0;
	return r->imem_size[0];
}

static struct x86_access explicit_access(const struct x86_insn *i)
{
	return (struct x86_access){
	    .disp = i->disp + x86_pop_shift(i),
	    .size = i->row->mem_size,
	    .access = i->row->mem & (X86_M_READ | X86_M_WRITE),
	    .where = where_of(i),
	    .may = (i->row->attr & X86_A_MEM_MAY) != 0 || i->aaa,
	    .base = i->base,
	    .index = i->index,
	    .scale = i->scale,
	    .seg = i->seg,
	    .addr32 = (i->prefixes & X86_P_67) != 0,
	};
}

static uint8_t implicit_where(const struct x86_row *r)
{
	switch (r->special) {
	case X86_XLAT:
		return X86_AT_XLAT;
	case X86_CLZERO:
		return X86_AT_LINE;
	default:
		return X86_AT_PLAIN;
	}
}

static struct x86_access implicit_access(const struct x86_insn *i, unsigned k)
{
	const struct x86_row *r = i->row;
	uint8_t base = r->imem[k] & 15, access = r->imem[k] >> 4 & 3;
	int stack = base == X86_RSP || (base == X86_RBP && !i->is_mem);
	int fixed = stack || (r->attr & X86_A_STRING && base == X86_RDI);

	return (struct x86_access){
	    .disp = base == X86_RSP && access == X86_M_WRITE
			? -(int64_t)r->imem_size[k]
			: 0,
	    .size = r->imem_size[k],
	    .access = access,
	    .where = implicit_where(r),
	    .may = !stack && (r->attr & X86_A_MEM_MAY) != 0,
	    .base = base,
	    .index = r->special == X86_XLAT ? X86_RAX : X86_NOREG,
	    .seg = fixed ? 0 : i->seg,
	    .addr32 = !stack && i->prefixes & X86_P_67,
	};
}

/* enter size, level: pushes rbp; if level > 0, then copies level - 1 words
 * from below the old frame and pushes the new frame pointer. */
static unsigned enter_accesses(const uint8_t *code, const struct x86_insn *i,
			       struct x86_access *out)
{
	unsigned level = (unsigned)(x86_imm(code, i) >> 16) & 31;
	unsigned word = i->row->imem_size[0];

	out[0] = implicit_access(i, 0);
	out[0].size = (uint16_t)(word * (level + 1));
	out[0].disp = -(int64_t)out[0].size;
	if (level < 2)
		return 1;
	out[1] = (struct x86_access){
	    .access = X86_M_READ,
	    .size = (uint16_t)(word * (level - 1)),
	    .disp = -(int64_t)word * (level - 1),
	    .base = X86_RBP,
	    .index = X86_NOREG,
	};
	return 2;
}

unsigned x86_accesses(const uint8_t *code, const struct x86_insn *insn,
		      struct x86_access out[X86_ACCESS_MAX])
{
	const struct x86_row *r = insn->row;
	unsigned n = 0;

	if (r->special == X86_ENTER)
		return enter_accesses(code, insn, out);
	if (insn->is_mem && r->mem & (X86_M_READ | X86_M_WRITE))
		out[n++] = explicit_access(insn);
	if (r->attr & X86_A_REG_ADDR)
		out[n++] = (struct x86_access){
		    .access = X86_M_WRITE,
		    .size = 64,
		    .base = insn->reg,
		    .index = X86_NOREG,
		    .addr32 = (insn->prefixes & X86_P_67) != 0,
		};
	for (unsigned k = 0; k < 2; k++)
		if (r->imem[k] >> 4 & (X86_M_READ | X86_M_WRITE))
			out[n++] = implicit_access(insn, k);
	return n;
}

int64_t x86_bit_disp(const struct x86_insn *insn, uint64_t bit)
{
	switch (insn->row->mem_size) {
	case 2:
		return (int64_t)((int16_t)bit >> 4) * 2;
	case 4:
		return (int64_t)((int32_t)bit >> 5) * 4;
	default:
		return ((int64_t)bit >> 6) * 8;
	}
}
