/* travel/touch.c - what the next instruction of a thread touches. */
#include "travel/touch.h"

#include "travel/touch_mask.h"
#include "x86/access.h"
#include "x86/decode.h"

static uint64_t operand_at(const struct x86_insn *x,
			   const struct wire_rec_state *s)
{
	uint64_t at = (uint64_t)x->disp;

	if (x->base == X86_RIP)
		at += s->pc + x->len;
	else if (x->base < 16)
		at += s->gpr[x->base];
	if (x->index < 16 && !(x->row->attr & X86_A_VSIB))
		at += s->gpr[x->index] << x->scale;
	if (x->row->attr & X86_A_BITSTRING) /* the word that has the bit */
		at += (uint64_t)x86_bit_disp(x, s->gpr[x->reg & 15]);
	if (x->prefixes & X86_P_67)
		at = (uint32_t)at;
	return at;
}

static unsigned add_touch(struct touch *out, unsigned n, uint64_t address,
			  uint64_t size, unsigned how)
{
	if (size == 0 || size > UINT32_MAX || n + 2 > TOUCHES_MAX)
		return n;
	if (how & X86_M_READ)
		out[n++] = (struct touch){address, address, (uint32_t)size, 0};
	if (how & X86_M_WRITE)
		out[n++] = (struct touch){address, address, (uint32_t)size, 1};
	return n;
}

/* A string instruction: all that is left of it, at rsi or rdi. */
static unsigned touch_string(const struct x86_insn *x,
			     const struct wire_rec_state *s, unsigned reg,
			     unsigned how, struct touch *out, unsigned n)
{
	uint64_t size = x->opcode & 1 ? (x->rex & 8		  ? 8
					 : x->prefixes & X86_P_66 ? 2
								  : 4)
				      : 1;
	uint64_t times = 1, at = s->gpr[reg];

	if (x->prefixes & (X86_P_F2 | X86_P_F3))
		times = s->gpr[X86_RCX];
	if (times > 1u << 28)
		times = 1u << 28;
	if (s->rflags & 0x400 && times > 0)
		at -= (times - 1) * size;
	return add_touch(out, n, at, times * size, how);
}

/* fxsave, xsave and their kin: what they store, or load. Of those that leave
 * gaps out, all that they might. */
static uint64_t saved_size(const struct walker *w, const struct x86_insn *x)
{
	enum { LEGACY = 512, HEADER = 64 };
	const uint64_t *gpr;
	unsigned reg = x->modrm >> 3 & 7;

	if (w == NULL || x->space >= X86_SPACE_VEX ||
	    (x->opcode != 0xae && x->opcode != 0xc7))
		return 0;
	if (x->opcode == 0xae && reg < 2)
		return LEGACY;
	gpr = walker_state(w)->gpr;
	return LEGACY + HEADER +
	       walker_saved_size(w,
				 gpr[X86_RDX] << 32 | (uint32_t)gpr[X86_RAX]);
}

/* w: whose masks are looked at; NULL: they are taken for ones. */
static unsigned touches(const struct wire_rec_state *s, const uint8_t *code,
			unsigned have, struct walker *w,
			struct touch out[TOUCHES_MAX])
{
	struct x86_insn x;
	unsigned n = 0;

	if (x86_decode(code, have, &x) != X86_OK)
		return 0;
	/* Its explicit operand comes first, alone with a base of fs. */
	if (x.is_mem && x.row->flow != X86_NEXT)
		n = add_touch(out, n, operand_at(&x, s), 8, X86_M_READ);
	else if (w != NULL && touch_is_masked(&x))
		n = touch_masked(w, &x, operand_at(&x, s), out);
	else if (x.is_mem && x.row->mem & (X86_M_READ | X86_M_WRITE))
		n = add_touch(out, n, operand_at(&x, s),
			      x.row->mem_size != 0 ? x.row->mem_size
						   : saved_size(w, &x),
			      x.row->mem);
	for (unsigned i = 0; x.seg == 0x64 && i < n; i++)
		out[i].address += s->fs_base;
	for (unsigned i = 0; i < 2; i++) {
		unsigned reg = x.row->imem[i] & 15, how = x.row->imem[i] >> 4;

		if (x.row->imem[i] == 0)
			continue;
		if (x.row->attr & X86_A_STRING)
			n = touch_string(&x, s, reg, how, out, n);
		else if (reg == X86_RSP)
			n = add_touch(out, n,
				      s->gpr[X86_RSP] -
					  (how & X86_M_WRITE ? 8 : 0),
				      8, how);
		else
			n = add_touch(out, n, s->gpr[reg], 8, how);
	}
	return n;
}

unsigned touches_at(const struct wire_rec_state *s, const uint8_t *code,
		    unsigned have, struct touch out[TOUCHES_MAX])
{
	return touches(s, code, have, NULL, out);
}

unsigned touches_of(struct walker *w, struct touch out[TOUCHES_MAX])
{
	const struct wire_rec_state *s = walker_state(w);
	uint8_t code[X86_MAX_LEN];

	walker_settle(w);
	return touches(s, code, walker_code(w, s->pc, code, sizeof code), w,
		       out);
}
