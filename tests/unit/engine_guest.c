/* tests/unit/engine_guest.c - small random programs.
 *
 * One register, ptr, points to data throughout; an item that needs it for
 * something else sets it again. rsp wanders, but stays far from the ends of
 * the stack. The rest holds anything. */
#include "engine_guest.h"

#include "x86/emit.h"

#include <string.h>

enum { ITEMS = 24, SUBS = 4, MIDDLE = BENCH_DATA / 2 };

struct gen {
	uint64_t seed;
	const struct bench_place *p; /* borrowed */
	unsigned may, ptr;
	unsigned item, n_items; /* being written, of how many */
	struct x86_buf b;
	struct emit_label at[ITEMS + 1]; /* each item, and the end */
	struct emit_label sub[SUBS];
};

static unsigned roll(struct gen *g, unsigned n)
{
	return (unsigned)(bench_random(&g->seed) >> 20) % n;
}

static unsigned width(struct gen *g)
{
	return 1u << roll(g, 4);
}

static int is_low(const struct gen *g)
{
	return (uint64_t)g->p->far >> 32 == 0;
}

/* Any register but rsp and ptr. */
static unsigned any_reg(struct gen *g)
{
	unsigned reg;

	do
		reg = roll(g, 16);
	while (reg == X86_RSP || reg == g->ptr);
	return reg;
}

static void set_ptr(struct gen *g)
{
	emit_set(&g->b, g->ptr, (uint64_t)g->p->near + MIDDLE);
}

static int32_t small_disp(struct gen *g)
{
	return (int32_t)roll(g, 100) - 50;
}

/* -- Operands -------------------------------------------------------------- */

static struct x86_mem bad_mem(struct gen *g)
{
	uint8_t *data = roll(g, 2) ? g->p->near : g->p->far;
	int behind = roll(g, 2) != 0;

	/* Half of them just hang over the edge. */
	return x86_mem_pc((uint64_t)data + (behind ? BENCH_DATA - roll(g, 8)
						   : -1ull - roll(g, 64)));
}

static struct x86_mem any_mem(struct gen *g)
{
	unsigned index = any_reg(g), value = roll(g, 100);
	struct x86_mem mem;

	switch (roll(g, g->may & GUEST_FAULTS ? 24 : 23)) {
	case 0 ... 4:
		mem = x86_mem_at(g->ptr, small_disp(g));
		break;
	case 5 ... 7:
		mem = x86_mem_at(g->ptr, 20 * small_disp(g));
		break;
	case 8 ... 12:
		mem = x86_mem_pc((uint64_t)g->p->near + roll(g, 4000));
		break;
	case 13 ... 18:
		mem = x86_mem_pc((uint64_t)g->p->far + roll(g, 4000));
		break;
	case 19 ... 20:
		return x86_mem_at(X86_RSP, roll(g, 64));
	case 21 ... 22:
		emit_set(&g->b, index, value);
		mem = x86_mem_index(g->ptr, index, roll(g, 4), small_disp(g));
		break;
	default:
		return bad_mem(g);
	}
	/* Elsewhere a cut address is a fault. */
	mem.addr32 = roll(g, 16) == 0 && (is_low(g) || g->may & GUEST_FAULTS);
	return mem;
}

/* -- Plain instructions ---------------------------------------------------- */

static const uint8_t alu[] = {EMIT_ADD, EMIT_OR,  EMIT_ADC, EMIT_SBB,
			      EMIT_AND, EMIT_SUB, EMIT_XOR, EMIT_CMP,
			      EMIT_MOV, EMIT_TEST};

static void put_alu(struct gen *g)
{
	enum emit_op op = alu[roll(g, 10)];
	unsigned w = width(g), reg = any_reg(g);

	switch (roll(g, 6)) {
	case 0:
		emit_rr(&g->b, op, w, reg, roll(g, 16));
		break;
	case 1:
		emit_ri(&g->b, op, w, reg, small_disp(g));
		break;
	case 2:
		emit_mi(&g->b, op, w, any_mem(g), small_disp(g));
		break;
	case 3:
		emit_mr(&g->b, op, w, any_mem(g), roll(g, 16));
		break;
	default:
		if (op == EMIT_TEST)
			op = EMIT_CMP;
		emit_rm(&g->b, op, w, reg, any_mem(g));
		break;
	}
}

static void put_one(struct gen *g)
{
	static const uint8_t ops[] = {EMIT_INC, EMIT_DEC, EMIT_NOT,
				      EMIT_NEG, EMIT_ROL, EMIT_ROR,
				      EMIT_SHL, EMIT_SHR, EMIT_SAR};
	enum emit_op op = ops[roll(g, 9)];

	if (roll(g, 2))
		emit_r(&g->b, op, width(g), any_reg(g));
	else
		emit_m(&g->b, op, width(g), any_mem(g));
	if (roll(g, 3) == 0)
		emit_ri(&g->b, ops[4 + roll(g, 5)], width(g), any_reg(g),
			roll(g, 64));
}

static void put_two(struct gen *g)
{
	static const uint8_t ops[] = {EMIT_MOVZX8, EMIT_MOVSX8, EMIT_MOVZX16,
				      EMIT_MOVSX16};
	unsigned reg = any_reg(g);

	switch (roll(g, 8)) {
	case 0:
		emit_rm(&g->b, ops[roll(g, 4)], 8, reg, any_mem(g));
		break;
	case 1:
		emit_rm(&g->b, EMIT_MOVSXD, 8, reg, any_mem(g));
		break;
	case 2:
		emit_rm(&g->b, EMIT_IMUL, 8, reg, any_mem(g));
		break;
	case 3:
		emit_rm(&g->b, EMIT_LEA, 8, reg, any_mem(g));
		break;
	case 4:
		emit_setcc_m(&g->b, roll(g, 16), any_mem(g));
		break;
	case 5:
		emit_setcc_r(&g->b, roll(g, 16), reg);
		break;
	case 6:
		emit_cmov_rm(&g->b, roll(g, 16), 8, reg, any_mem(g));
		break;
	default:
		emit_cmov_rr(&g->b, roll(g, 16), 4, reg, roll(g, 16));
		break;
	}
}

static void put_locked(struct gen *g)
{
	static const uint8_t ops[] = {EMIT_XCHG, EMIT_XADD, EMIT_CMPXCHG,
				      EMIT_ADD};
	enum emit_op op = ops[roll(g, 4)];
	struct x86_mem mem = any_mem(g);
	unsigned reg = any_reg(g);

	if (op != EMIT_XCHG)
		emit_plain(&g->b, EMIT_LOCK);
	emit_mr(&g->b, op, width(g), mem, reg);
	set_ptr(g); /* cmpxchg writes rax */
}

/* op r32, [rip + far], whatever the opcode bytes say of it. */
static void put_far(struct gen *g)
{
	static const struct {
		uint8_t len, code[8];
	} heads[] = {
	    {5, {0xf2, 0x48, 0x0f, 0x38, 0xf1}}, /* crc32 */
	    {4, {0xf3, 0x48, 0x0f, 0xb8}},	 /* popcnt */
	    {3, {0x0f, 0x38, 0xf0}},		 /* movbe */
	    {3, {0x0f, 0x38, 0xf1}},		 /* movbe, store */
	    {4, {0xc4, 0xe2, 0x30, 0xf2}},	 /* andn ., r9d */
	    {4, {0xc4, 0xe2, 0xab, 0xf5}},	 /* pext ., r10 */
	    {4, {0xc4, 0x62, 0xf3, 0xf5}},	 /* pdep r8-15, rcx */
	    {4, {0xc4, 0xe2, 0xa9, 0xf7}},	 /* shlx ., r10 */
	    {3, {0x48, 0x0f, 0xa3}},		 /* bt, the word there */
	};
	unsigned k = roll(g, 9), reg, high;
	uint64_t to = (uint64_t)g->p->far + MIDDLE + roll(g, 100);
	uint8_t modrm;
	int32_t rel;

	do {
		reg = roll(g, 8);
		high = k == 6 ? 8 : 0;
	} while (reg + high == X86_RSP || reg + high == g->ptr);
	if (k == 8)
		emit_set(&g->b, reg, roll(g, 500));
	modrm = (uint8_t)(reg << 3 | 5);
	emit_bytes(&g->b, heads[k].code, heads[k].len);
	emit_bytes(&g->b, &modrm, 1);
	rel = (int32_t)(to - (emit_pc(&g->b) + 4));
	emit_bytes(&g->b, (const uint8_t *)&rel, 4);
}

/* lock cmpxchg16b [rip + rel] */
static void put_16b(struct gen *g, uint64_t to)
{
	static const uint8_t head[] = {0xf0, 0x48, 0x0f, 0xc7, 0x0d};
	uint32_t rel = (uint32_t)(to - emit_pc(&g->b) - sizeof head - 4);

	emit_bytes(&g->b, head, sizeof head);
	emit_bytes(&g->b, (const uint8_t *)&rel, 4);
}

/* Implicit registers of every kind. */
static void put_wide(struct gen *g)
{
	uint64_t to = (uint64_t)g->p->far + MIDDLE + 16 * roll(g, 8);

	switch (roll(g, g->may & GUEST_FAULTS ? 4 : 3)) {
	case 0:
		emit_m(&g->b, EMIT_MUL, width(g), x86_mem_pc(to));
		break;
	case 1:
		put_16b(g, to);
		break;
	case 2: /* xlat: from rbx + al */
		emit_set(&g->b, X86_RBX, (uint64_t)g->p->near + roll(g, 999));
		emit_bytes(&g->b, (const uint8_t[]){0xd7}, 1);
		break;
	default:
		emit_m(&g->b, EMIT_DIV, width(g), x86_mem_pc(to));
		break;
	}
	set_ptr(g);
}

/* -- The stack ------------------------------------------------------------- */

static void put_stack(struct gen *g)
{
	switch (roll(g, 9)) {
	case 0:
		emit_r(&g->b, EMIT_PUSH, 8, roll(g, 16));
		break;
	case 1:
		emit_r(&g->b, EMIT_POP, 8, any_reg(g));
		break;
	case 2:
		emit_m(&g->b, EMIT_PUSH, 8, any_mem(g));
		break;
	case 3:
		emit_m(&g->b, EMIT_POP, 8, any_mem(g));
		break;
	case 4:
		emit_r(&g->b, EMIT_PUSH, 8, X86_RSP);
		emit_r(&g->b, EMIT_POP, 8, X86_RSP);
		break;
	case 5:
		emit_push_i(&g->b, small_disp(g) * 99999);
		break;
	case 6: /* pop word [rsp]: its address is formed behind the pop */
		emit_bytes(&g->b, (const uint8_t[]){0x66, 0x8f, 0x04, 0x24}, 4);
		break;
	case 7: /* enter 16, 1; leave */
		emit_bytes(&g->b, (const uint8_t[]){0xc8, 16, 0, 1, 0xc9}, 5);
		set_ptr(g);
		break;
	default:
		emit_plain(&g->b, EMIT_PUSHF);
		emit_r(&g->b, EMIT_POP, 8, any_reg(g));
		break;
	}
}

static void put_flags(struct gen *g)
{
	uint32_t flags =
	    (uint32_t)bench_random(&g->seed) & (X86_FLAGS_STATUS | X86_DF);

	if (!(g->may & GUEST_POPF)) {
		emit_plain(&g->b, roll(g, 2) ? EMIT_LAHF : EMIT_SAHF);
		set_ptr(g);
		return;
	}
	emit_push_i(&g->b, (int32_t)flags | 0x202);
	emit_plain(&g->b, EMIT_POPF);
}

/* rep lodsq from gs: stepped, round by round. */
static void put_gs_string(struct gen *g)
{
	static const uint8_t code[] = {0xfc, 0x65, 0xf3, 0x48, 0xad};

	emit_set(&g->b, X86_RSI, roll(g, 1000));
	emit_set(&g->b, X86_RCX, roll(g, 4));
	emit_bytes(&g->b, code, sizeof code);
	set_ptr(g);
}

static void put_gs(struct gen *g)
{
	unsigned reg = any_reg(g), wide = roll(g, 2);
	uint8_t rd[] = {0xf3, (uint8_t)(0x40 | wide << 3 | reg >> 3), 0x0f,
			0xae, (uint8_t)(0xc0 | (reg & 7))};

	if (roll(g, 2)) {
		emit_bytes(&g->b, rd, sizeof rd); /* rdgsbase */
		return;
	}
	emit_set(&g->b, reg, (uint64_t)g->p->near + roll(g, 1000));
	rd[4] |= 3 << 3;
	emit_bytes(&g->b, rd, sizeof rd); /* wrgsbase */
	if (!(g->may & GUEST_GS) || !(wide || is_low(g)))
		return;
	emit_rm(&g->b, EMIT_ADD, 8, any_reg(g),
		x86_mem_seg(X86_GS, roll(g, 100)));
	if (roll(g, 3) == 0)
		put_gs_string(g);
}

static void put_string(struct gen *g)
{
	static const uint8_t ops[] = {0xa4, 0xa5, 0xa6, 0xa7, 0xaa,
				      0xab, 0xac, 0xad, 0xae, 0xaf};
	static const uint8_t reps[] = {0xf2, 0xf3}, sizes[] = {0x66, 0x48};
	uint64_t edge = (uint64_t)g->p->near + BENCH_DATA - roll(g, 24);

	emit_bytes(&g->b, (const uint8_t[]){(uint8_t)(0xfc + roll(g, 2))}, 1);
	emit_set(&g->b, X86_RSI, (uint64_t)g->p->near + 512);
	emit_set(&g->b, X86_RDI, (uint64_t)g->p->far + 512);
	if (g->may & GUEST_FAULTS && roll(g, 8) == 0)
		emit_set(&g->b, roll(g, 2) ? X86_RSI : X86_RDI, edge);
	emit_set(&g->b, X86_RCX, roll(g, 6));
	if (roll(g, 3))
		emit_bytes(&g->b, &reps[roll(g, 2)], 1);
	if (roll(g, 3))
		emit_bytes(&g->b, &sizes[roll(g, 2)], 1);
	emit_bytes(&g->b, &ops[roll(g, 10)], 1);
	emit_plain(&g->b, EMIT_CLD);
	set_ptr(g);
}

/* -- Branches -------------------------------------------------------------- */

/* An item further down, most often not the next one. */
static struct emit_label *ahead(struct gen *g)
{
	unsigned to = g->item + 1 + (roll(g, 8) != 0) + roll(g, 3);

	return &g->at[to < g->n_items ? to : g->n_items];
}

static void put_jcc(struct gen *g)
{
	if (roll(g, 2))
		emit_jcc8_label(&g->b, roll(g, 16), ahead(g));
	else
		emit_jcc_label(&g->b, roll(g, 16), ahead(g));
}

static void put_jmp(struct gen *g)
{
	if (roll(g, 2))
		emit_jmp8_label(&g->b, ahead(g));
	else
		emit_jmp_label(&g->b, ahead(g));
}

/* loop, loope, loopne, jrcxz, and with 67 their kin: over a jump, or back. */
static void put_loop(struct gen *g)
{
	uint8_t code[3] = {0x67, (uint8_t)(0xe0 + roll(g, 4)), 5};
	unsigned plain = roll(g, 4) != 0;
	uint64_t top;

	if (g->ptr == X86_RCX)
		return;
	emit_set(&g->b, X86_RCX, roll(g, 4));
	if (code[1] == 0xe3 || roll(g, 2)) {
		emit_bytes(&g->b, code + plain, 3 - plain);
		emit_jmp_label(&g->b, ahead(g)); /* 5 bytes */
		return;
	}
	emit_ri(&g->b, EMIT_ADD, 8, X86_RCX, 1);
	top = emit_pc(&g->b);
	emit_rr(&g->b, EMIT_CMP, 4, roll(g, 16), roll(g, 16));
	code[2] = (uint8_t)(top - emit_pc(&g->b) - (3 - plain));
	emit_bytes(&g->b, code + plain, 3 - plain);
}

static void put_call(struct gen *g)
{
	emit_call_label(&g->b, &g->sub[roll(g, SUBS)]);
}

static void put_indirect(struct gen *g)
{
	enum emit_op op = roll(g, 2) ? EMIT_CALL : EMIT_JMP;
	struct emit_label *to =
	    op == EMIT_CALL ? &g->sub[roll(g, SUBS)] : ahead(g);
	struct x86_mem mem = any_mem(g);
	unsigned reg;

	do
		reg = any_reg(g);
	while (reg == mem.index);
	emit_rm_label(&g->b, EMIT_LEA, 8, reg, to);
	if (roll(g, 2)) {
		emit_r(&g->b, op, 8, reg);
		return;
	}
	emit_mr(&g->b, EMIT_MOV, 8, mem, reg);
	emit_m(&g->b, op, 8, mem);
}

/* push; ret */
static void put_ret(struct gen *g)
{
	unsigned reg = any_reg(g);

	emit_rm_label(&g->b, EMIT_LEA, 8, reg, ahead(g));
	emit_r(&g->b, EMIT_PUSH, 8, reg);
	emit_plain(&g->b, EMIT_RET);
}

static void put_sub(struct gen *g, unsigned k)
{
	emit_bind(&g->b, &g->sub[k]);
	for (unsigned n = roll(g, 4); n > 0; n--)
		emit_rr(&g->b, alu[roll(g, 10)], width(g), any_reg(g),
			roll(g, 16));
	if (roll(g, 2))
		emit_plain(&g->b, EMIT_RET);
	else
		emit_bytes(
		    &g->b,
		    (const uint8_t[]){0xc2, (uint8_t)(8 * roll(g, 4)), 0}, 3);
}

/* -- The whole ------------------------------------------------------------- */

static void (*const items[])(struct gen *g) = {
    put_alu,   put_alu,	  put_alu,	put_one,      put_one,
    put_two,   put_two,	  put_locked,	put_far,      put_wide,
    put_stack, put_stack, put_flags,	put_gs,	      put_string,
    put_jcc,   put_jcc,	  put_jcc,	put_jmp,      put_loop,
    put_call,  put_call,  put_indirect, put_indirect, put_ret,
};
enum { KINDS = sizeof items / sizeof items[0] };

uint64_t guest_stop(const struct bench_place *p)
{
	return (uint64_t)p->code + BENCH_CODE - 64;
}

static void put_all(struct gen *g)
{
	set_ptr(g);
	g->n_items = 1 + roll(g, ITEMS);
	for (g->item = 0; g->item < g->n_items; g->item++) {
		emit_bind(&g->b, &g->at[g->item]);
		items[roll(g, KINDS)](g);
	}
	emit_bind(&g->b, &g->at[g->n_items]);
	emit_jmp(&g->b, guest_stop(g->p));
	for (unsigned k = 0; k < SUBS; k++)
		put_sub(g, k);
}

unsigned guest_make(const struct bench_place *p, uint64_t seed, unsigned may)
{
	static const uint8_t ud2[2] = {0x0f, 0x0b};
	struct gen g = {.seed = seed};

	do { /* a short branch may have come out too long */
		uint64_t next = g.seed;

		memset(&g, 0, sizeof g);
		g.seed = next;
		g.p = p;
		g.may = may;
		g.b = (struct x86_buf){.start = p->code,
				       .at = p->code,
				       .end = p->code + BENCH_CODE / 2,
				       .pc = (uint64_t)p->code};
		do
			g.ptr = roll(&g, 16);
		while (g.ptr == X86_RSP);
		put_all(&g);
	} while (g.b.bad);
	memcpy((void *)guest_stop(p), ud2, sizeof ud2);
	return (unsigned)(g.b.at - g.b.start);
}

struct bench_state guest_start(const struct bench_place *p, uint64_t seed)
{
	struct bench_state s = {.pc = (uint64_t)p->code, .flags = 0x202};

	for (unsigned i = 0; i < 16; i++)
		s.gpr[i] = bench_random(&seed) >> bench_random(&seed) % 60;
	s.flags |= bench_random(&seed) & X86_FLAGS_STATUS;
	s.gpr[X86_RSP] = (uint64_t)p->stack + BENCH_STACK / 2;
	return s;
}
