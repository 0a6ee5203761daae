/* tools/x86/trial.c - operands, states and addresses for one instruction. */
#include "trial.h"

#include <string.h>

/* -- Encoding ------------------------------------------------------------ */

static const uint64_t stack_at = CPU_ARENA + 0x800;
static const uint64_t frame_at = CPU_ARENA + 0xe00;
static const uint64_t other_at = CPU_ARENA + CPU_PAGE + 0x800;
static const uint64_t operand_at = CPU_ARENA + 2 * CPU_PAGE + 0x800;

static int one_in(struct rng *rng, unsigned n)
{
	return rng_below(rng, n) == 0;
}

/* Random values in fields that the cell leaves open. */
static struct cell vary(const struct cell *c, struct rng *rng)
{
	struct cell v = *c;

	v.r = rng_below(rng, 2);
	v.x = rng_below(rng, 2);
	v.b = rng_below(rng, 2);
	v.r2 = rng_below(rng, 2);
	v.v2 = rng_below(rng, 2);
	v.vvvv = one_in(rng, 2) ? 0 : rng_below(rng, 16);
	v.aaa = one_in(rng, 2) ? 0 : rng_below(rng, 8);
	v.z = one_in(rng, 4);
	v.p67 = one_in(rng, 16);
	v.lock = one_in(rng, 8);
	v.rex = one_in(rng, 2);
	return v;
}

static void patch(struct trial *t, unsigned at, int64_t value, unsigned size)
{
	memcpy(t->code + at, &value, size);
}

/* Branches go to one place; enter keeps to its page. */
static void tame_immediate(struct trial *t)
{
	const struct x86_insn *i = &t->insn;
	unsigned flow = i->row->flow;

	if (flow == X86_JCC || flow == X86_LOOP || flow == X86_JMP ||
	    flow == X86_CALL)
		patch(t, i->imm_off, TRIAL_TAKEN_DISP, i->row->imm);
	if (i->row->special == X86_ENTER)
		t->code[i->imm_off + 1] = 0;
	if (flow == X86_RET && i->row->imm)
		t->code[i->imm_off + 1] = 0;
}

/* Prefixes that must not matter, or not alone: the last of F2 and F3 counts,
 * the last of FS and GS, REX right before the opcode only. Whether what comes
 * out is still the same row, the decoder says. */
static uint8_t *stray_prefixes(uint8_t *p, struct rng *rng)
{
	static const uint8_t stray[] = {0x64, 0x65, 0x2e, 0x3e, 0x26, 0x36,
					0xf2, 0xf3, 0x41, 0x48, 0x66};

	while (one_in(rng, 8))
		*p++ = stray[rng_below(rng, sizeof stray)];
	return p;
}

int trial_encode(struct trial *t, struct rng *rng, const struct cell *c,
		 const struct x86_row *row)
{
	for (unsigned tries = 0; tries < 64; tries++) {
		struct cell v = vary(c, rng);
		uint8_t *p = t->code;

		rng_fill(rng, t->code, 32);
		p = stray_prefixes(p, rng);
		p = cell_opcode(p, &v);
		if (!row) /* first: the very form that was asked for */
			*p = (uint8_t)(v.is_reg ? 0xc0 | v.reg << 3 | v.rm
						: 0x44 | v.reg << 3);
		if (x86_decode(t->code, sizeof t->code, &t->insn) != X86_OK ||
		    (row && t->insn.row != row) ||
		    (t->insn.seg && !cpu_control()->has_bases))
			continue;
		tame_immediate(t);
		if (x86_decode(t->code, sizeof t->code, &t->insn) == X86_OK)
			return 1;
	}
	return 0;
}

/* -- States -------------------------------------------------------------- */

static uint64_t random_value(struct rng *rng)
{
	uint64_t x = rng_next(rng);

	switch (rng_below(rng, 8)) {
	case 0:
	case 1:
		return 0;
	case 2:
		return ~0ull;
	case 3:
		return x & 0xff;
	case 4:
		return 1ull << (x & 63);
	case 5:
		return x & 0xffffffff;
	default:
		return x;
	}
}

static void fill_part(struct cpu_state *s, struct rng *rng, enum cpu_part part)
{
	unsigned len = cpu_part_len(part);
	uint8_t *p = s->xstate + cpu_part_offset(part);

	rng_fill(rng, p, len);
	for (unsigned k = 0; k + 8 <= len; k += 8) {
		float f = (float)rng_below(rng, 2000) - 1000;
		double d = (double)f / 16;

		if (one_in(rng, 4))
			memcpy(p + k, &d, sizeof d);
		else if (one_in(rng, 4))
			memcpy(p + k, &f, sizeof f);
		else if (one_in(rng, 4))
			memset(p + k, 0, 8);
	}
}

void trial_fill_vectors(struct cpu_state *s, struct rng *rng)
{
	uint32_t mxcsr = 0x1f80 | rng_below(rng, 4) << 13 | rng_below(rng, 64);

	fill_part(s, rng, CPU_SSE);
	fill_part(s, rng, CPU_AVX);
	fill_part(s, rng, CPU_OPMASK);
	fill_part(s, rng, CPU_ZMM_HIGH);
	fill_part(s, rng, CPU_ZMM_16);
	memcpy(s->xstate + CPU_MXCSR, &mxcsr, sizeof mxcsr);
}

void trial_fill_x87(struct cpu_state *s, struct rng *rng)
{
	uint16_t control = (uint16_t)(0x37f | rng_below(rng, 4) << 10);
	uint16_t status =
	    (uint16_t)(rng_below(rng, 8) << 11 | rng_below(rng, 8) << 8);

	memset(s->xstate, 0, CPU_MXCSR);
	memcpy(s->xstate, &control, sizeof control);
	memcpy(s->xstate + 2, &status, sizeof status);
	s->xstate[4] = (uint8_t)rng_next(rng);
	for (unsigned k = 0; k < 8; k++) {
		uint8_t *st = s->xstate + 32 + 16 * k;

		memset(st, 0, 16);
		rng_fill(rng, st, 10);
		if (one_in(rng, 2)) { /* a number of moderate size */
			st[7] |= 0x80;
			st[8] = (uint8_t)rng_next(rng);
			st[9] = 0x40;
		}
	}
}

void trial_fill(struct trial *t, struct rng *rng)
{
	uint64_t present = cpu_control()->xmask;

	for (unsigned k = 0; k < 16; k++)
		t->in.gpr[k] = random_value(rng);
	t->in.flags = 0x202 | (rng_next(rng) & X86_FLAGS_STATUS) |
		      (one_in(rng, 4) ? X86_DF : 0);
	t->in.rip = TRIAL_PC;
	t->in.fs = rng_below(rng, 0x10000000);
	t->in.gs = rng_below(rng, 0x10000000);
	memset(t->in.xstate, 0, CPU_XMM);
	memset(t->in.xstate + CPU_HEADER, 0, 64);
	memcpy(t->in.xstate + CPU_HEADER, &present, sizeof present);
	trial_fill_vectors(&t->in, rng);
	trial_fill_x87(&t->in, rng);
	for (unsigned k = 0; k < sizeof t->mem; k += 8) {
		uint64_t x = random_value(rng);

		memcpy(t->mem + k, &x, sizeof x);
	}
}

/* -- Addresses ----------------------------------------------------------- */

static uint64_t segment_base(const struct trial *t, const struct x86_access *a)
{
	if (a->seg == 0x64)
		return t->in.fs;
	return a->seg == 0x65 ? t->in.gs : 0;
}

static uint64_t address_of(const struct trial *t, const struct x86_access *a)
{
	uint64_t at = (uint64_t)a->disp;

	if (a->base == X86_RIP)
		at += TRIAL_PC + t->insn.len;
	else if (a->base != X86_NOREG)
		at += t->in.gpr[a->base];
	if (a->where == X86_AT_XLAT)
		at += t->in.gpr[X86_RAX] & 0xff;
	else if (a->where != X86_AT_VSIB && a->index != X86_NOREG)
		at += t->in.gpr[a->index] << a->scale;
	if (a->where == X86_AT_BIT)
		at += (uint64_t)x86_bit_disp(&t->insn, t->in.gpr[t->insn.reg]);
	if (a->addr32)
		at = (uint32_t)at;
	at += segment_base(t, a);
	return a->where == X86_AT_LINE ? at & ~63ull : at;
}

/* Indices of gathers and scatters: 0 to 15, as words of 32 and 64 bits. */
static void small_indices(struct trial *t, struct rng *rng, unsigned n)
{
	uint32_t v[16] = {0};
	uint8_t *x = t->in.xstate;

	for (unsigned k = 0; k < 16; k += 2)
		v[k] = rng_below(rng, 16);
	if (n >= 16) {
		memcpy(x + cpu_part_offset(CPU_ZMM_16) + (n - 16) * 64, v, 64);
		return;
	}
	memcpy(x + CPU_XMM + n * 16, v, 16);
	if (cpu_part_len(CPU_AVX))
		memcpy(x + cpu_part_offset(CPU_AVX) + n * 16, v + 4, 16);
	if (cpu_part_len(CPU_ZMM_HIGH))
		memcpy(x + cpu_part_offset(CPU_ZMM_HIGH) + n * 32, v + 8, 32);
}

/* Chooses registers, or the displacement, so that a's address is `at`. */
static void solve(struct trial *t, struct rng *rng, const struct x86_access *a,
		  uint64_t at)
{
	const struct x86_insn *i = &t->insn;
	uint64_t *gpr = t->in.gpr;
	int has_index = a->index != X86_NOREG && a->where != X86_AT_VSIB;

	if (a->where == X86_AT_VSIB)
		small_indices(t, rng, a->index);
	if (a->where == X86_AT_BIT)
		gpr[i->reg] = (uint64_t)rng_below(rng, 4096) - 2048;
	if (a->base == X86_RIP || (a->base == X86_NOREG && !has_index)) {
		at -= segment_base(t, a);
		if (a->base == X86_RIP)
			at -= TRIAL_PC + i->len;
		patch(t, i->disp_off, (int64_t)at, i->disp_size);
		x86_decode(t->code, sizeof t->code, &t->insn);
		return;
	}
	if (a->base == X86_NOREG) {
		gpr[a->index] =
		    (at - segment_base(t, a) - (uint64_t)a->disp) >> a->scale;
		return;
	}
	if (has_index && a->where != X86_AT_XLAT && a->index != a->base)
		gpr[a->index] = rng_below(rng, 16);
	if (has_index && a->index == a->base)
		gpr[a->base] = (at - segment_base(t, a) - (uint64_t)a->disp) /
			       (1 + (1u << a->scale));
	else
		gpr[a->base] += at - address_of(t, a);
	if (a->addr32) /* what is above must not matter */
		gpr[a->base] ^= rng_next(rng) << 32;
}

static uint64_t wanted_at(const struct trial *t, unsigned k)
{
	const struct x86_access *a = &t->access[k];
	int explicit_base = t->insn.is_mem && k == 0;

	if (!explicit_base && a->base == X86_RSP)
		return stack_at - (uint64_t)a->disp;
	if (!explicit_base && a->base == X86_RBP)
		return frame_at;
	return k == 0 ? operand_at : other_at;
}

/* What a may touch, from the registers as they are. */
static struct region region_of(const struct trial *t,
			       const struct x86_access *a)
{
	struct region r = {.at = address_of(t, a),
			   .len = a->size,
			   .access = a->access,
			   .may = a->may,
			   .exact =
			       a->where == X86_AT_PLAIN && !a->may && a->size};
	uint64_t count = t->in.gpr[X86_RCX];

	if (a->where == X86_AT_STATE)
		r.len = cpu_xsave_len();
	if (a->where == X86_AT_VSIB)
		r.len = (15u << a->scale) + 8;
	if (t->insn.row->attr & X86_A_STRING &&
	    t->insn.prefixes & (X86_P_F2 | X86_P_F3)) {
		if (a->addr32)
			count = (uint32_t)count;
		r.exact = 0;
		r.may = 1;
		r.len = (unsigned)count * a->size;
		if (t->in.flags & X86_DF && count)
			r.at -= (count - 1) * a->size;
	}
	return r;
}

static int is_inside(const struct region *r)
{
	return r->at >= CPU_ARENA && r->at + r->len <= CPU_ARENA_END;
}

/* Contents that some instructions insist on: an image for xrstor, a way out
 * for indirect branches. */
static void furnish(struct trial *t)
{
	const struct x86_row *r = t->insn.row;
	uint64_t taken = TRIAL_PC + t->insn.len + TRIAL_TAKEN_DISP;
	int indirect = r->flow == X86_RET || r->flow == X86_JMP_IND ||
		       r->flow == X86_CALL_IND;

	for (unsigned k = 0; k < t->n; k++) {
		uint8_t *at = t->mem + (t->region[k].at - CPU_ARENA);

		if (!(t->region[k].access & X86_M_READ))
			continue;
		if (r->attr & X86_A_XSTATE)
			memcpy(at, t->in.xstate, t->region[k].len);
		if (indirect && t->region[k].len >= 8)
			memcpy(at, &taken, sizeof taken);
	}
	if (indirect && !t->insn.is_mem && r->flow != X86_RET)
		t->in.gpr[t->insn.rm] = taken;
}

/* An address that is only formed, so that clflush finds memory there. */
static void place_formed(struct trial *t, struct rng *rng)
{
	struct x86_access a = {.disp = t->insn.disp,
			       .base = t->insn.base,
			       .index = t->insn.index,
			       .scale = t->insn.scale,
			       .seg = t->insn.seg};

	if (t->insn.is_mem && t->insn.row->mem & X86_M_AGEN &&
	    !(t->insn.prefixes & X86_P_67))
		solve(t, rng, &a, operand_at);
}

int trial_place(struct trial *t, struct rng *rng, int edge, int beyond)
{
	unsigned inside = 1;

	t->n = x86_accesses(t->code, &t->insn, t->access);
	if (t->insn.row->attr & X86_A_STRING)
		t->in.gpr[X86_RCX] = rng_below(rng, 5);
	place_formed(t, rng);
	for (unsigned k = 0; k < t->n; k++) {
		struct x86_access *a = &t->access[k];
		uint64_t at = wanted_at(t, k);

		if (edge == (int)k)
			at = CPU_ARENA_END + (uint64_t)beyond - a->size;
		else if (edge == TRIAL_NO_EDGE && one_in(rng, 4))
			at += rng_below(rng, 64);
		solve(t, rng, a, at);
	}
	t->n = x86_accesses(t->code, &t->insn, t->access);
	for (unsigned k = 0; k < t->n; k++) {
		t->region[k] = region_of(t, &t->access[k]);
		if (edge == (int)k)
			inside &= t->region[k].at + t->region[k].len ==
				  CPU_ARENA_END + (uint64_t)beyond;
		else
			inside &= (unsigned)is_inside(&t->region[k]);
	}
	if (!inside || edge != TRIAL_NO_EDGE)
		return (int)inside;
	furnish(t);
	for (unsigned k = 0; k < t->n; k++) /* call *%rsp would move them */
		inside &= region_of(t, &t->access[k]).at == t->region[k].at;
	return (int)inside;
}
