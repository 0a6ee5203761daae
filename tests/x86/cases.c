/* tests/x86/cases.c - random instructions in states that suit them. */
#include "cases.h"

#include <asm/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "x86/emit.h"

static struct world worlds[WORLDS] = {
    {.text = 0x60000000},   /* fits push imm32 */
    {.text = 0x90000000},   /* fits 32 bits, but not signed ones */
    {.text = 0x1000000000}, /* needs all */
};

/* -- Random numbers -------------------------------------------------------- */

static uint64_t state;

void random_seed(uint64_t seed)
{
	state = seed * 2 + 1;
}

uint64_t random_next(void)
{
	uint64_t x;

	state += 0x9e3779b97f4a7c15;
	x = state;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

unsigned random_below(unsigned n)
{
	return (unsigned)(random_next() % n);
}

static int one_in(unsigned n)
{
	return random_below(n) == 0;
}

/* -- Worlds ---------------------------------------------------------------- */

static void *map_at(uint64_t address, uint64_t len, int prot, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *p;

	if (address)
		flags |= MAP_FIXED_NOREPLACE;
	p = mmap((void *)address, len, prot, flags, fd, 0);
	if (p == MAP_FAILED) {
		fprintf(stderr, "cannot map %lx: %m\n", address);
		exit(1);
	}
	return p;
}

/* Code is executable here and writable there, so that no case can write it. */
static uint8_t *map_code(uint64_t address, uint64_t len)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	uint8_t *rw;

	if (fd < 0 || ftruncate(fd, (off_t)len) < 0)
		exit(1);
	map_at(address, len, PROT_READ | PROT_EXEC, fd);
	rw = map_at(0, len, PROT_READ | PROT_WRITE, fd);
	close(fd);
	memset(rw, 0xcc, len);
	return rw;
}

void worlds_init(void)
{
	int rw = PROT_READ | PROT_WRITE;

	for (unsigned i = 0; i < WORLDS; i++) {
		struct world *w = &worlds[i];

		w->data = w->text + 0x10000;
		w->stack = w->text + 0x20000;
		w->near = w->text + 0x10000000;
		w->far = 0x3000000000 + i * 0x100000;
		w->text_rw = map_code(w->text, TEXT_LEN);
		w->near_rw = map_code(w->near, PAGE);
		w->far_rw = map_code(w->far, PAGE);
		map_at(w->data, PAGE, rw, -1);
		map_at(w->stack, PAGE, rw, -1);
		map_at(w->data + 0x8000, PAGE, rw, -1); /* a cell, by gs */
	}
	map_at(0x40000000, PAGE, rw, -1); /* a cell, by address */
}

const struct world *world_get(unsigned n)
{
	return &worlds[n];
}

static __thread uint8_t by_fs[FS_LEN];

const uint8_t *world_fs(void)
{
	return by_fs;
}

static uint64_t fs_offset(void)
{
	uint64_t self;

	__asm__("mov %%fs:0, %0" : "=r"(self));
	return (uint64_t)by_fs - self;
}

void world_load(const struct kase *k)
{
	static uint64_t gs;

	if (gs != k->world->data)
		syscall(SYS_arch_prctl, ARCH_SET_GS, k->world->data);
	gs = k->world->data;
	memcpy((void *)k->world->data, k->data, PAGE);
	memcpy((void *)k->world->stack, k->stack, PAGE);
	memcpy(by_fs, k->data, FS_LEN);
	/* A stray pointer may have hit the cells. */
	memset((void *)(k->world->data + 0x8000), 0, PAGE);
	memset((void *)0x40000000, 0, PAGE);
}

/* -- States ---------------------------------------------------------------- */

/* Somewhere to land: int3, and not in the instruction. */
static uint64_t random_pad(const struct kase *k)
{
	uint64_t to;

	do
		to = k->world->text + random_below(PADS_LEN);
	while (to - k->from < X86_MAX_LEN + 1);
	return to;
}

static uint64_t random_pointer(const struct kase *k)
{
	return k->world->data + 0x400 + random_below(0x800);
}

static uint64_t random_value(const struct kase *k)
{
	switch (random_below(8)) {
	case 0:
	case 1:
	case 2:
		return random_pointer(k);
	case 3:
		return random_below(64);
	case 4:
		return -(uint64_t)random_below(64);
	case 5:
		return random_next() >> random_below(64);
	case 6:
		return random_pad(k);
	default:
		return random_next();
	}
}

void case_registers(struct kase *k)
{
	for (unsigned i = 0; i < 16; i++)
		k->in.gpr[i] = random_value(k);
	k->in.gpr[X86_RSP] = k->world->stack + 0x700 + random_below(64) * 8;
	if (one_in(16))
		k->in.gpr[X86_RSP] += random_below(8);
	k->in.flags = random_next() & MACHINE_FLAGS;
}

static void fill_memory(struct kase *k)
{
	for (unsigned i = 0; i < PAGE; i += 8) {
		uint64_t a = random_next(), b = random_next();

		memcpy(k->data + i, &a, 8);
		memcpy(k->stack + i, &b, 8);
	}
}

/* Indirect transfers land, whatever they read. */
static void fill_memory_with_pads(struct kase *k)
{
	for (unsigned i = 0; i < PAGE; i += 8) {
		uint64_t a = random_pad(k), b = random_pad(k);

		memcpy(k->data + i, &a, 8);
		memcpy(k->stack + i, &b, 8);
	}
}

static void decode(struct kase *k)
{
	if (x86_decode(k->code, X86_MAX_LEN, &k->insn) == X86_OK)
		return;
	fprintf(stderr, "a case does not decode\n");
	abort();
}

static void set_code(struct kase *k, const uint8_t *bytes, unsigned len)
{
	memset(k->code, 0xcc, sizeof k->code);
	memcpy(k->code, bytes, len);
	decode(k);
}

static void set_gpr(struct kase *k, unsigned reg, uint64_t value)
{
	if (reg < 16 && reg != X86_RSP)
		k->in.gpr[reg] = value;
}

/* Where the operand should lie: aligned for vectors, mostly. */
static uint64_t random_spot(const struct kase *k)
{
	uint64_t spot = 0x400 + random_below(0x800);

	if (!one_in(4))
		spot &= ~63ull;
	return k->insn.seg == X86_GS ? spot : k->world->data + spot;
}

static void calm_vectors(struct kase *k)
{
	for (unsigned i = 160; i + 4 <= machine_xlen(); i += 4)
		if (i < 416 || i >= 576)
			memset(k->in.x + i + 1, 0, 3);
}

void case_aim(struct kase *k)
{
	const struct x86_insn *i = &k->insn;
	uint64_t spot = random_spot(k) - (uint64_t)i->disp;

	for (unsigned s = 0; s < 2; s++)
		if (i->row->imem[s])
			set_gpr(k, i->row->imem[s] & 15, random_spot(k));
	if (i->row->attr & X86_A_REG_ADDR)
		set_gpr(k, i->reg, random_spot(k));
	if (i->row->attr & X86_A_BITSTRING)
		k->in.gpr[i->reg] &= 0x1fff;
	if (i->row->attr & X86_A_VSIB)
		calm_vectors(k);
	if (i->row->attr & X86_A_STRING)
		set_gpr(k, X86_RCX, random_below(16));
	if (i->base == X86_RIP || i->base == X86_RSP)
		return;
	if (i->index < 16 && i->index != i->base &&
	    !(i->row->attr & X86_A_VSIB)) {
		set_gpr(k, i->index, random_below(64));
		spot -= k->in.gpr[i->index] << i->scale;
	}
	if (i->index == i->base)
		return; /* one value cannot be both; let it fault */
	set_gpr(k, i->base, spot);
}

/* -- Any instruction --------------------------------------------------------
 */

static int is_state_of_ours(const struct x86_insn *i)
{
	unsigned o = i->opcode;

	if (i->space == X86_SPACE_LEGACY && (o == 0xd9 || o == 0xdd))
		return i->is_mem && (i->modrm >> 3 & 7) == 6; /* fnstenv */
	if (i->space == X86_SPACE_LEGACY)
		return o == 0x8e || o == 0x9d; /* segments, popf */
	if (i->space == X86_SPACE_LEGACY + 1)
		return o == 0x01 || o == 0xa1 || o == 0xa9 || o == 0xb2 ||
		       o == 0xb4 || o == 0xb5;
	return 0;
}

/* Does the same every time, and leaves this process able to look. */
static int is_safe(const struct x86_insn *i)
{
	enum { ODD = X86_A_NONDET | X86_A_PRIV | X86_A_SEGBASE | X86_A_XSTATE };

	if (i->row->flow != X86_NEXT || i->row->attr & ODD)
		return 0;
	if (i->opcode == 0xc7 && i->space == X86_SPACE_LEGACY + 1)
		return i->is_mem; /* cmpxchg8b, 16b; not rdrand */
	return i->seg != X86_FS && !is_state_of_ours(i);
}

static unsigned random_prefixes(uint8_t *p)
{
	static const uint8_t some[] = {0x66, 0xf2, 0xf3, 0x67,
				       0x65, 0xf0, 0x3e, 0x66};
	unsigned n = 0;

	while (n < 3 && one_in(4))
		p[n++] = some[random_below(sizeof some)];
	return n;
}

/* VEX and EVEX bear no prefixes but 67h and segments. */
static void random_vector_bytes(uint8_t *p)
{
	static const uint8_t escapes[] = {0xc4, 0xc5, 0x62, 0x62};
	unsigned n = 0, map = 1 + random_below(3);

	if (one_in(8))
		p[n++] = one_in(2) ? 0x67 : 0x65;
	p[n] = escapes[random_below(4)];
	if (p[n] == 0xc4)
		p[n + 1] = (uint8_t)((p[n + 1] & 0xe0) | map);
	if (p[n] != 0x62)
		return;
	p[n + 1] = (uint8_t)((p[n + 1] & 0xf0) | map);
	p[n + 2] |= 4;
	if ((p[n + 3] & 0x60) == 0x60) /* no such length */
		p[n + 3] &= (uint8_t)~0x20;
}

static void random_bytes(uint8_t *p)
{
	unsigned n, kind = random_below(6);

	for (unsigned i = 0; i < 16; i++)
		p[i] = (uint8_t)random_next();
	if (kind == 0)
		return;
	if (kind >= 4) {
		random_vector_bytes(p);
		return;
	}
	n = random_prefixes(p);
	if (one_in(2))
		p[n++] = (uint8_t)(0x40 | random_below(16));
	if (kind >= 2)
		p[n++] = 0x0f;
	if (kind == 3 && one_in(2))
		p[n++] = one_in(2) ? 0x38 : 0x3a;
}

void case_any_insn(struct kase *k)
{
	do
		random_bytes(k->code);
	while (x86_decode(k->code, X86_MAX_LEN, &k->insn) != X86_OK ||
	       !is_safe(&k->insn));
}

static void make_any(struct kase *k)
{
	do
		case_any_insn(k);
	while (k->insn.base == X86_RIP);
	case_aim(k);
}

/* Points the disp32 of a rip-relative operand to its data. */
static void aim_rip(struct kase *k)
{
	uint64_t spot = random_spot(k);
	int32_t disp = (int32_t)(spot - (k->from + k->insn.len));

	memcpy(k->code + k->insn.disp_off, &disp, 4);
	decode(k);
	case_aim(k);
}

static void make_rip(struct kase *k)
{
	const struct x86_insn *i = &k->insn;
	int again;

	do {
		case_any_insn(k);
		again = !i->is_mem || !(i->row->attr & X86_A_MODRM);
		if (again)
			continue;
		/* The same operation on [rip+disp32]. */
		k->code[i->modrm_off] = (uint8_t)((i->modrm & 0x38) | 5);
		again = x86_decode(k->code, X86_MAX_LEN, &k->insn) != X86_OK ||
			i->base != X86_RIP || !is_safe(i);
	} while (again);
	aim_rip(k);
}

static int is_vector(const struct kase *k)
{
	const uint8_t *p = k->code;

	while (*p == 0x67 || *p == 0x65)
		p++;
	return *p == 0xc4 || *p == 0xc5 || *p == 0x62;
}

static void make_vector(struct kase *k)
{
	do
		make_any(k);
	while (!is_vector(k));
}

static void make_rip_vector(struct kase *k)
{
	do
		make_rip(k);
	while (!is_vector(k));
}

/* -- What names its own place -----------------------------------------------
 */

static struct x86_buf code_buf(struct kase *k)
{
	memset(k->code, 0xcc, sizeof k->code);
	return (struct x86_buf){k->code, k->code, k->code + sizeof k->code,
				k->from, 0};
}

/* The common loads, stores and lea, with every register and width. */
static void make_rip_mov(struct kase *k)
{
	static const enum emit_op loads[] = {
	    EMIT_MOV,	 EMIT_LEA,    EMIT_MOVZX8, EMIT_MOVZX16,
	    EMIT_MOVSX8, EMIT_MOVSXD, EMIT_CMP,	   EMIT_ADD};
	struct x86_buf b = code_buf(k);
	struct x86_mem m = x86_mem_pc(random_pointer(k));
	unsigned width = 2u << random_below(3), reg = random_below(16);
	enum emit_op op = loads[random_below(8)];

	m.addr32 = (uint8_t)one_in(8);
	if (one_in(3))
		reg = X86_RAX;
	if (op != EMIT_LEA && one_in(8))
		m.seg = X86_GS;
	if (one_in(4))
		emit_mr(&b, EMIT_MOV, one_in(4) ? 1 : width, m, reg);
	else
		emit_rm(&b, op, op == EMIT_MOVSXD ? 8 : width, reg, m);
	decode(k);
}

static void make_rip_any_far(struct kase *k)
{
	make_rip(k);
	if (one_in(4)) /* an operand that is not there */
		k->code[k->insn.disp_off + 2] ^= 0x40;
	decode(k);
}

/* A signed distance to a pad; small ones fit a rel8. */
static int64_t random_distance(const struct kase *k, unsigned len, int small)
{
	int64_t d;

	do
		d = small ? (int8_t)random_next()
			  : (int64_t)(random_pad(k) - (k->from + len));
	while (d >= -(int64_t)len - X86_MAX_LEN && d <= X86_MAX_LEN);
	return d;
}

static void put_relative(struct kase *k, uint8_t *bytes, unsigned n, int small)
{
	unsigned size = small ? 1 : 4;
	int64_t d = random_distance(k, n + size, small);

	memcpy(bytes + n, &d, size);
	set_code(k, bytes, n + size);
}

/* Also to what is behind it, as in "call, pop". */
static void put_relative_or_next(struct kase *k, uint8_t *bytes, unsigned n,
				 int small)
{
	unsigned size = small ? 1 : 4;

	if (!one_in(16)) {
		put_relative(k, bytes, n, small);
		return;
	}
	memset(bytes + n, 0, size);
	set_code(k, bytes, n + size);
}

static void make_jcc(struct kase *k)
{
	uint8_t bytes[12];
	unsigned n = 0, small = one_in(2), cc = random_below(16);

	if (one_in(4))
		bytes[n++] = one_in(2) ? 0x2e : 0x3e; /* hints */
	if (one_in(8))
		bytes[n++] = 0xf2; /* bnd */
	if (small) {
		bytes[n++] = (uint8_t)(0x70 | cc);
	} else {
		bytes[n++] = 0x0f;
		bytes[n++] = (uint8_t)(0x80 | cc);
	}
	put_relative(k, bytes, n, small);
}

static void make_jmp(struct kase *k)
{
	uint8_t bytes[8];
	unsigned n = 0, small = one_in(2);

	if (one_in(8))
		bytes[n++] = 0xf2; /* bnd */
	bytes[n++] = small ? 0xeb : 0xe9;
	put_relative_or_next(k, bytes, n, small);
}

static void make_loop(struct kase *k)
{
	static const uint64_t counts[] = {
	    0, 1, 2, 0x100000000, 0x100000001, 0x100000002, ~0ull, 1ull << 63};
	uint8_t bytes[8];
	unsigned n = 0;

	if (one_in(2))
		bytes[n++] = 0x67;
	bytes[n++] = (uint8_t)(0xe0 + random_below(4));
	put_relative(k, bytes, n, 1);
	k->in.gpr[X86_RCX] =
	    one_in(4) ? random_next() : counts[random_below(8)];
}

static void make_call(struct kase *k)
{
	static const char *const prefixes[] = {"", "\x48", "\x66\x48",
					       "\x66\x66\x48", "\xf2"};
	const char *prefix = prefixes[random_below(5)];
	uint8_t bytes[12];
	unsigned n = (unsigned)strlen(prefix);

	memcpy(bytes, prefix, n);
	bytes[n++] = 0xe8;
	put_relative_or_next(k, bytes, n, 0);
}

/* Any address: every base and index, rsp and near it, rip, gs, 67h. */
static struct x86_mem random_mem(struct kase *k)
{
	static const int near_rsp[] = {-8, -4, -1, -15, -16,
				       -7, 0,  8,  120, 127};
	unsigned base = random_below(18), index = random_below(16);
	struct x86_mem m;

	if (base >= 16) {
		m = x86_mem_pc(k->world->data + 0x400 + random_below(256) * 8);
		m.seg = one_in(8) ? X86_GS : 0;
		return m;
	}
	m = x86_mem_at(base, (int8_t)random_next());
	if (one_in(3))
		m.disp = (int32_t)random_next() >> random_below(28);
	if (one_in(2) && index != X86_RSP && index != base) {
		m.index = (uint8_t)index;
		m.scale = (uint8_t)random_below(4);
	}
	if (base == X86_RSP && m.index == X86_NOREG)
		m.disp = one_in(2) ? near_rsp[random_below(10)]
				   : (int8_t)random_next() & ~7;
	if (one_in(8))
		m.seg = X86_GS;
	m.addr32 = (uint8_t)one_in(12);
	return m;
}

static void put_indirect(struct kase *k, enum emit_op op)
{
	struct x86_buf b = code_buf(k);
	unsigned reg = random_below(16);

	if (one_in(8))
		emit_plain(&b, EMIT_NOTRACK);
	if (one_in(4))
		emit_r(&b, op, 8, reg);
	else
		emit_m(&b, op, 8, random_mem(k));
	decode(k);
	fill_memory_with_pads(k);
	if (!k->insn.is_mem)
		set_gpr(k, reg, random_pad(k));
	else
		case_aim(k);
	if (k->insn.is_mem && k->insn.index < 16)
		set_gpr(k, k->insn.index,
			k->in.gpr[k->insn.index] &
			    (k->insn.scale ? ~0ull : ~7ull));
}

static void make_call_indirect(struct kase *k)
{
	put_indirect(k, EMIT_CALL);
}

/* The operand lies where the call pushes, or just beside. */
static void make_call_overlap(struct kase *k)
{
	struct x86_buf b = code_buf(k);
	unsigned base = one_in(3) ? X86_RSP : random_below(16);
	int64_t at = one_in(4) ? (int)random_below(32) - 24 : -8;
	int64_t disp = base == X86_RSP ? at : (int8_t)random_next();

	emit_m(&b, EMIT_CALL, 8, x86_mem_at(base, disp));
	decode(k);
	fill_memory_with_pads(k);
	k->in.gpr[X86_RSP] &= ~7ull;
	set_gpr(k, base, k->in.gpr[X86_RSP] + (uint64_t)(at - disp));
}

static void make_jmp_indirect(struct kase *k)
{
	put_indirect(k, EMIT_JMP);
}

static void make_ret(struct kase *k)
{
	uint8_t bytes[8];
	unsigned n = 0;

	if (one_in(3))
		bytes[n++] = one_in(2) ? 0xf3 : 0xf2;
	if (one_in(2)) {
		bytes[n++] = 0xc3;
	} else {
		bytes[n++] = 0xc2;
		bytes[n++] = (uint8_t)random_below(256);
		bytes[n++] = one_in(4) ? 1 : 0;
	}
	fill_memory_with_pads(k);
	k->in.gpr[X86_RSP] &= ~7ull;
	set_code(k, bytes, n);
}

/* -- The stack --------------------------------------------------------------
 */

/* Two bytes of a register, of memory, or of the instruction. */
static void put_push_pop_16(struct kase *k)
{
	uint8_t bytes[16] = {0x66};

	for (unsigned i = 1; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)random_next();
	switch (random_below(4)) {
	case 0:
		bytes[1] = (uint8_t)(0x50 | random_below(16));
		break;
	case 1:
		bytes[1] = one_in(2) ? 0x68 : 0x6a;
		break;
	case 2: /* push */
		bytes[1] = 0xff;
		bytes[2] = (uint8_t)((bytes[2] & 0xc7) | 0x30);
		break;
	default: /* pop */
		bytes[1] = 0x8f;
		bytes[2] &= 0xc7;
	}
	if ((bytes[2] & 0xc7) == 5)
		bytes[2] ^= 1; /* not by rip: it would lie anywhere */
	memcpy(k->code, bytes, sizeof k->code);
}

static void make_push_pop(struct kase *k)
{
	struct x86_buf b = code_buf(k);
	enum emit_op op = one_in(2) ? EMIT_PUSH : EMIT_POP;

	switch (random_below(5)) {
	case 0:
		emit_r(&b, op, 8, one_in(4) ? X86_RSP : random_below(16));
		break;
	case 4:
		put_push_pop_16(k);
		break;
	case 1:
		emit_push_i(&b, (int32_t)random_next() >> random_below(32));
		break;
	default:
		emit_m(&b, op, 8, random_mem(k));
	}
	decode(k);
	case_aim(k);
}

static void make_frame(struct kase *k)
{
	uint8_t bytes[8];
	unsigned n = 0;
	uint64_t rsp = k->in.gpr[X86_RSP];

	k->in.gpr[X86_RBP] = rsp + random_below(64) * 8;
	if (one_in(8))
		bytes[n++] = 0x66;
	if (one_in(2)) {
		bytes[n++] = 0xc9; /* leave */
	} else {
		bytes[n++] = 0xc8;
		bytes[n++] = (uint8_t)(random_below(16) * 8);
		bytes[n++] = 0;
		bytes[n++] = (uint8_t)random_below(8);
	}
	set_code(k, bytes, n);
}

static void make_flags(struct kase *k)
{
	static const uint8_t ops[] = {0x9c, 0x9d, 0x9e, 0x9f, 0xf5,
				      0xf8, 0xf9, 0xfc, 0xfd};
	uint64_t flags = (random_next() & MACHINE_FLAGS) | 0x202;
	uint64_t at = k->in.gpr[X86_RSP] - k->world->stack;

	uint8_t bytes[2] = {0x66, ops[random_below(sizeof ops)]};

	memcpy(k->stack + at, &flags, 8);
	if (one_in(8))
		set_code(k, bytes, 2);
	else
		set_code(k, bytes + 1, 1);
}

/* -- The rest of the table ---------------------------------------------------
 */

static void make_string(struct kase *k)
{
	static const uint8_t ops[] = {0xa4, 0xa5, 0xa6, 0xa7, 0xaa,
				      0xab, 0xac, 0xad, 0xae, 0xaf};
	uint8_t bytes[8];
	unsigned n = 0;

	if (!one_in(4))
		bytes[n++] = one_in(2) ? 0xf3 : 0xf2;
	if (one_in(4))
		bytes[n++] = 0x66;
	if (one_in(8))
		bytes[n++] = 0x67;
	if (one_in(2))
		bytes[n++] = 0x48;
	bytes[n++] = ops[random_below(10)];
	set_code(k, bytes, n);
	case_aim(k);
	set_gpr(k, X86_RSI, random_pointer(k));
	set_gpr(k, X86_RDI, random_pointer(k));
	if (one_in(4))
		memset(k->data, 0x5a, PAGE);
}

static void make_locked(struct kase *k)
{
	static const enum emit_op ops[] = {EMIT_ADD, EMIT_XADD, EMIT_CMPXCHG,
					   EMIT_BTS, EMIT_OR,	EMIT_SUB};
	struct x86_buf b = code_buf(k);
	enum emit_op op = ops[random_below(6)];
	unsigned width = (op == EMIT_BTS ? 2u : 1u)
			 << random_below(op == EMIT_BTS ? 3 : 4);

	if (one_in(4)) /* xacquire, xrelease */
		*b.at++ = one_in(2) ? 0xf2 : 0xf3;
	emit_plain(&b, EMIT_LOCK);
	emit_mr(&b, op, width, random_mem(k), random_below(16));
	decode(k);
	case_aim(k);
}

static void make_segment(struct kase *k)
{
	static const enum emit_op ops[] = {EMIT_MOV, EMIT_ADD, EMIT_XADD,
					   EMIT_XCHG};
	struct x86_buf b = code_buf(k);
	uint64_t offset = fs_offset() + random_below(FS_LEN - 8);
	unsigned base = random_below(16), reg = random_below(16);
	struct x86_mem m = x86_mem_seg(X86_FS, (int64_t)offset);

	if (one_in(2) && base != X86_RSP && base != reg) {
		m = x86_mem_at(base, (int8_t)random_next());
		m.seg = X86_FS;
		set_gpr(k, base, offset - (uint64_t)m.disp);
	}
	if (one_in(4))
		m = x86_mem_seg(X86_GS, 0x400 + random_below(0x400));
	if (one_in(4))
		emit_rm(&b, EMIT_MOVZX8, 4, reg, m);
	else
		emit_mr(&b, ops[random_below(4)], 1u << random_below(4), m,
			reg);
	decode(k);
}

static void make_syscall(struct kase *k)
{
	static const uint8_t bytes[] = {0x0f, 0x05};

	k->in.gpr[X86_RAX] = one_in(2) ? SYS_getpid : 100000;
	set_code(k, bytes, 2);
}

static void make_nop(struct kase *k)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct x86_buf b = code_buf(k);

	if (one_in(2)) {
		set_code(k, endbr, 4);
		return;
	}
	emit_nop(&b, 1 + random_below(9));
	decode(k);
}

static void make_divide(struct kase *k)
{
	struct x86_buf b = code_buf(k);
	struct x86_mem m = x86_mem_pc(k->world->data + 0x400);
	unsigned width = 1u << random_below(4);

	if (one_in(2))
		emit_m(&b, EMIT_DIV, width, m);
	else
		emit_r(&b, EMIT_DIV, width, random_below(16));
	decode(k);
	if (one_in(2))
		memset(k->data + 0x400, (int)random_below(2), 8);
	if (one_in(2))
		k->in.gpr[X86_RDX] = 0;
}

const struct kind kinds[] = {
    {"copied", make_any},
    {"rip-relative", make_rip},
    {"rip-relative, may fault", make_rip_any_far},
    {"rip-relative mov and lea", make_rip_mov},
    {"VEX and EVEX", make_vector},
    {"VEX and EVEX, rip-relative", make_rip_vector},
    {"jcc", make_jcc},
    {"jmp", make_jmp},
    {"loop and jrcxz", make_loop},
    {"call", make_call},
    {"call *", make_call_indirect},
    {"call * of what it overwrites", make_call_overlap},
    {"jmp *", make_jmp_indirect},
    {"ret", make_ret},
    {"push and pop", make_push_pop},
    {"enter and leave", make_frame},
    {"flags", make_flags},
    {"string", make_string},
    {"locked", make_locked},
    {"fs: and gs:", make_segment},
    {"syscall", make_syscall},
    {"nop and endbr64", make_nop},
    {"divide", make_divide},
};
const unsigned n_kinds = sizeof kinds / sizeof kinds[0];

void case_make(struct kase *k, const struct kind *kind)
{
	k->world = &worlds[random_below(WORLDS)];
	k->from = k->world->text + 0x1000 - 0x100 + random_below(0x200);
	fill_memory(k);
	machine_random_x(&k->in, random_next);
	case_registers(k);
	kind->make(k);
	k->in.pc = k->from;
}

void case_text(const struct kase *k, const uint8_t *code, unsigned len)
{
	uint8_t *at = k->world->text_rw + (k->from - k->world->text);

	if (code)
		memcpy(at, code, len);
	else
		memset(at, 0xcc, len);
}

unsigned cases_run(unsigned kind, unsigned long cases, uint64_t seed,
		   case_run *run)
{
	static struct kase k;
	unsigned failed = 0;

	random_seed(seed * 1000 + kind);
	for (unsigned long n = 0; n < cases && failed < 10; n++) {
		case_make(&k, &kinds[kind]);
		failed += run(&k, kinds[kind].name, n) < 0;
	}
	return failed;
}

/* -- Programs -- */

const char *kind_name(unsigned kind)
{
	return kinds[kind].name;
}

int program_main(const struct program *p, int argc, char **argv)
{
	unsigned long cases = p->cases;
	uint64_t seed = 1;
	const char *only = NULL;
	int c, failed = 0;

	while ((c = getopt(argc, argv, "n:s:k:")) != -1) {
		if (c == 'n')
			cases = strtoul(optarg, NULL, 0);
		else if (c == 's')
			seed = strtoul(optarg, NULL, 0);
		else if (c == 'k')
			only = optarg;
		else
			return 2;
	}
	worlds_init();
	machine_init();
	printf("1..%u\n# seed %lu\n", p->n_kinds, seed);
	for (unsigned i = 0; i < p->n_kinds; i++)
		if (!only || strcmp(only, p->name(i)) == 0)
			failed |= p->run(i, cases, seed) < 0;
	return failed;
}
