/* tests/lossless/gen_sparc64.c - pieces of SPARC V9 code.
 *
 * Registers of a piece: %i5 the state, %i3 its memory, %i4 a small multiple of
 * eight; these are only read. %g4 keeps the way back where %o7 is needed, and
 * counters are %l0 to %l7 and then %g1, %g2, %g3, %g5. */
#include "lossless/gen.h"

#include <stddef.h>
#include <string.h>

/* Words of a state. ORDER gen_call */
enum {
	G = 0,
	O = 8,
	L = 16,
	I = 24,
	CCR = 32,
	Y,
	FSR,
	F,
	MEMORY = 68,
	MEMORY_WORDS = 32
};
_Static_assert(MEMORY + MEMORY_WORDS <= STATE_WORDS, "a state is too small");

enum { G0 = 0, G4 = 4, G5 = 5, O0 = 8, O1 = 9, SP = 14, O7 = 15 };
enum { L0 = 16, I0 = 24, I3 = 27, I4 = 28, I5 = 29, I7 = 31 };

__asm__(".macro each_float insn:req, base:req\n"
	"	.irp n,0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,"
	"38,40,42,44,46,48,50,52,54,56,58,60,62\n"
	"	.ifc \\insn,ldd\n"
	"	ldd [%i5+\\base+4*\\n], %f\\n\n"
	"	.else\n"
	"	std %f\\n, [%i5+\\base+4*\\n]\n"
	"	.endif\n"
	"	.endr\n"
	".endm\n"
	".macro each_pair insn:req, letter:req, base:req, list:vararg\n"
	"	.irp n,\\list\n"
	"	.ifc \\insn,ldx\n"
	"	ldx [%i5+\\base+8*\\n], %\\letter\\n\n"
	"	.else\n"
	"	stx %\\letter\\n, [%i5+\\base+8*\\n]\n"
	"	.endif\n"
	"	.endr\n"
	".endm\n"
	".text\n"
	".align 4\n"
	".register %g2, #scratch\n"
	".register %g3, #scratch\n"
	".globl gen_call\n"
	".type gen_call, #function\n"
	"gen_call:\n"
	"	save %sp, -304, %sp\n"
	"	stx %fsr, [%fp+2047-8]\n"
	"	mov %i1, %i5\n"
	"	mov %i0, %i4\n"
	"	ldx [%i5+8*34], %fsr\n"
	"	each_float ldd, 8*35\n"
	"	ldx [%i5+8*33], %g1\n"
	"	wr %g1, 0, %y\n"
	"	ldx [%i5+8*32], %g1\n"
	"	wr %g1, 0, %ccr\n"
	"	each_pair ldx, g, 8*0, 1,2,3,4,5\n"
	"	each_pair ldx, o, 8*8, 0,1,2,3,4,5\n"
	"	each_pair ldx, l, 8*16, 0,1,2,3,4,5,6,7\n"
	"	each_pair ldx, i, 8*24, 0,1,2,3\n"
	"	jmpl %i4, %o7\n"
	"	 ldx [%i5+8*28], %i4\n"
	"	each_pair stx, g, 8*0, 1,2,3,4,5\n"
	"	each_pair stx, o, 8*8, 0,1,2,3,4,5,7\n"
	"	each_pair stx, l, 8*16, 0,1,2,3,4,5,6,7\n"
	"	each_pair stx, i, 8*24, 0,1,2,3,4,5\n"
	"	rd %ccr, %g1\n"
	"	stx %g1, [%i5+8*32]\n"
	"	rd %y, %g1\n"
	"	stx %g1, [%i5+8*33]\n"
	"	stx %fsr, [%i5+8*34]\n"
	"	each_float std, 8*35\n"
	"	ldx [%fp+2047-8], %fsr\n"
	"	ret\n"
	"	 restore\n");

const char *gen_word_name(unsigned word)
{
	static const char *const names[] = {
	    "g0", "g1", "g2", "g3", "g4", "g5",	 "g6", "g7", "o0",
	    "o1", "o2", "o3", "o4", "o5", "o6",	 "o7", "l0", "l1",
	    "l2", "l3", "l4", "l5", "l6", "l7",	 "i0", "i1", "i2",
	    "i3", "i4", "i5", "i6", "i7", "ccr", "y",  "fsr"};

	if (word < sizeof names / sizeof names[0])
		return names[word];
	return word < MEMORY ? "a floating point register" : "memory";
}

static unsigned counter_word(int counter)
{
	static const uint8_t globals[] = {G + 1, G + 2, G + 3, G + 5};

	return counter < 8 ? L + (unsigned)counter : globals[counter - 8];
}

uint64_t gen_counter(const struct state *s, int counter)
{
	return s->word[counter_word(counter)];
}

/* -- Encoding -------------------------------------------------------------- */

static uint32_t arith(unsigned op3, unsigned rd, unsigned rs1, unsigned rs2)
{
	return 2U << 30 | rd << 25 | op3 << 19 | rs1 << 14 | rs2;
}

static uint32_t arith_i(unsigned op3, unsigned rd, unsigned rs1, int imm)
{
	return arith(op3, rd, rs1, 1U << 13 | ((unsigned)imm & 0x1fff));
}

static uint32_t memory(unsigned op3, unsigned rd, unsigned rs1, unsigned rs2)
{
	return 1U << 30 | arith(op3, rd, rs1, rs2);
}

static uint32_t memory_i(unsigned op3, unsigned rd, unsigned rs1, int imm)
{
	return 1U << 30 | arith_i(op3, rd, rs1, imm);
}

static uint32_t bicc(unsigned op2, unsigned cond, unsigned annul, int words)
{
	return annul << 29 | cond << 25 | op2 << 22 |
	       ((unsigned)words & 0x3fffff);
}

static uint32_t bpcc(unsigned op2, unsigned cond, unsigned annul, unsigned cc,
		     unsigned predict, int words)
{
	return annul << 29 | cond << 25 | op2 << 22 | cc << 20 | predict << 19 |
	       ((unsigned)words & 0x7ffff);
}

static uint32_t bpr(unsigned cond, unsigned annul, unsigned predict,
		    unsigned rs1, int words)
{
	unsigned w = (unsigned)words;

	return annul << 29 | cond << 25 | 3U << 22 | (w >> 14 & 3) << 20 |
	       predict << 19 | rs1 << 14 | (w & 0x3fff);
}

static uint32_t call_to(int words)
{
	return 1U << 30 | ((unsigned)words & 0x3fffffff);
}

enum { ADD = 0, OR = 2, SUBCC = 0x14, RD = 0x28, JMPL = 0x38, RETURN = 0x39 };
enum { TCC = 0x3a, SAVE = 0x3c, RESTORE = 0x3d };
enum { BICC = 2, FBFCC = 6, BPCC = 1, FBPFCC = 5, ICC = 0, XCC = 2 };

static uint32_t rd_pc(unsigned rd)
{
	return arith(RD, rd, 5, 0);
}

static uint32_t jmp_back(void)
{
	return arith_i(JMPL, 0, G4, 8);
}

static uint32_t retl(void)
{
	return arith_i(JMPL, 0, O7, 8);
}

static uint32_t inc(int counter)
{
	static const uint8_t globals[] = {1, 2, 3, 5};
	unsigned reg =
	    counter < 8 ? L0 + (unsigned)counter : globals[counter - 8];

	return arith_i(ADD, reg, reg, 1);
}

static uint32_t keep_way_back(void)
{
	return arith(OR, G4, O7, 0);
}

/* -- Pieces ---------------------------------------------------------------- */

static void begin(struct piece *p, uint8_t **at, unsigned outcomes)
{
	memset(p, 0, sizeof *p);
	p->code = *at;
	p->outcomes = outcomes;
}

static void put_part(struct piece *p, uint32_t word, int counter, unsigned part)
{
	memcpy(p->code + p->len, &word, 4);
	p->insn[p->n++] = (struct piece_insn){.offset = (uint16_t)p->len,
					      .counter = (int8_t)counter,
					      .part = (uint8_t)part};
	p->len += 4;
}

static void put(struct piece *p, uint32_t word, int counter)
{
	put_part(p, word, counter, PART_OTHER);
}

static void put_inc(struct piece *p, int counter)
{
	put(p, inc(counter), counter);
}

/* What goes up, then back to the wrapper, counted by the delay slot. */
static void put_end(struct piece *p, uint32_t way_back, int counter)
{
	put(p, way_back, counter);
	put_inc(p, counter);
}

static void end(struct piece *p, uint8_t **at)
{
	*at += (p->len + 15) & ~15U;
}

/* -- Plain instructions ---------------------------------------------------- */

/* %i3, %i4, %i5 and the way back stay. */
static unsigned any_rd(void)
{
	static const uint8_t regs[] = {1,  2,  3,  4,  5,  8,  9,  10,
				       11, 12, 13, 16, 17, 18, 19, 20,
				       21, 22, 23, 24, 25, 26, 0};

	return regs[random_below(sizeof regs)];
}

static unsigned any_rs(void)
{
	static const uint8_t more[] = {I3, I4, I5, O7};

	return random_below(8) ? any_rd() : more[random_below(4)];
}

static unsigned any_even_rd(void)
{
	static const uint8_t regs[] = {2, 4, 8, 10, 12, 16, 18, 20, 22, 24, 0};

	return regs[random_below(sizeof regs)];
}

static uint32_t any_arith(unsigned op3)
{
	return random_below(2) ? arith(op3, any_rd(), any_rs(), any_rs())
			       : arith_i(op3, any_rd(), any_rs(),
					 (int)random_below(0x2000));
}

static uint32_t make_arith(void)
{
	static const uint8_t op3s[] = {
	    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
	    0x0a, 0x0b, 0x0c, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
	    0x17, 0x18, 0x1a, 0x1b, 0x1c, 0x20, 0x21, 0x24};

	return any_arith(op3s[random_below(sizeof op3s)]);
}

static uint32_t make_division(void)
{
	static const uint8_t op3s[] = {0x0d, 0x0e, 0x0f, 0x1e, 0x1f, 0x2d};
	unsigned op3 = op3s[random_below(sizeof op3s)];

	if (random_below(2)) /* what is never 0, in its lower half either */
		return arith(op3, any_rd(), any_rs(), I5);
	return arith_i(op3, any_rd(), any_rs(), (int)random_below(0xfff) + 1);
}

static uint32_t make_shift(void)
{
	unsigned op3 = 0x25 + random_below(3), x = random_below(2) << 12;

	if (random_below(2))
		return arith(op3, any_rd(), any_rs(), any_rs()) | x;
	return arith(op3, any_rd(), any_rs(),
		     1U << 13 | x | random_below(x ? 64 : 32));
}

static uint32_t make_move(void)
{
	unsigned cc = random_below(6), second = any_rs();
	unsigned cond = random_below(16);

	if (random_below(2))
		second = 1U << 13 | random_below(0x400);
	if (random_below(3) == 0) { /* movr */
		cond = 1 + random_below(3) + 4 * random_below(2);
		return arith(0x2f, any_rd(), any_rs(), cond << 10 | second);
	}
	if (second & 1U << 13)
		second = 1U << 13 | random_below(0x800);
	if (cc >= 4) /* icc, xcc; else fcc0 to fcc3 */
		return arith(0x2c, any_rd(), 0,
			     1U << 18 | (cc - 4) << 12 | second) |
		       cond << 14;
	return arith(0x2c, any_rd(), 0, cc << 11 | second) | cond << 14;
}

static uint32_t make_special(void)
{
	switch (random_below(10)) {
	case 0:
		return arith(RD, any_rd(), 0, 0); /* y */
	case 1:
		return arith(RD, any_rd(), 2, 0); /* ccr */
	case 2:
		return arith(0x30, 0, any_rs(), any_rs()); /* y */
	case 3:
		return arith_i(0x30, 2, any_rs(), (int)random_below(256));
	case 4:
		return arith_i(RD, 0, 15, (int)random_below(128)); /* membar */
	case 5:
		return arith(RD, 0, 15, 0); /* stbar */
	case 6:
		return arith_i(0x2e, any_rd(), 0, (int)random_below(0x1000));
	case 7:
		return 4U << 22; /* nop */
	case 8:
		return arith(0x3b, 0, I3, I4); /* flush */
	default:
		return any_rd() << 25 | 4U << 22 | random_below(1U << 22);
	}
}

/* size, a power of two: an address in memory. */
static uint32_t at_memory(unsigned op3, unsigned rd, unsigned size)
{
	if (random_below(3) == 0)
		return memory(op3, rd, I3, I4);
	return memory_i(op3, rd, I3,
			(int)(random_below(MEMORY_WORDS * 8 / size) * size));
}

static uint32_t make_memory(void)
{
	static const struct {
		uint8_t op3, size;
	} rows[] = {{0x00, 4}, {0x01, 1}, {0x02, 2}, {0x04, 4}, {0x05, 1},
		    {0x06, 2}, {0x08, 4}, {0x09, 1}, {0x0a, 2}, {0x0b, 8},
		    {0x0d, 1}, {0x0e, 8}, {0x0f, 4}};
	unsigned n = random_below(sizeof rows / sizeof rows[0]);

	return at_memory(rows[n].op3, any_rd(), rows[n].size);
}

static uint32_t make_memory_odd(void)
{
	enum { PRIMARY = 0x80, LITTLE = 0x88 };
	unsigned asi = random_below(2) ? PRIMARY : LITTLE;

	switch (random_below(7)) {
	case 0:
		return at_memory(0x03, any_even_rd(), 8); /* ldd */
	case 1:
		return at_memory(0x07, any_even_rd(), 8); /* std */
	case 2:						  /* casa, casxa */
		return memory(0x3c, any_rd(), I3, PRIMARY << 5 | any_rs());
	case 3:
		return memory(0x3e, any_rd(), I3, PRIMARY << 5 | any_rs());
	case 4: /* ldxa, stxa */
		return memory(0x1b, any_rd(), I3, asi << 5 | I4);
	case 5:
		return memory(0x1e, any_rd(), I3, asi << 5 | I4);
	default:
		return at_memory(0x2d, random_below(4), 8); /* prefetch */
	}
}

static uint32_t make_float_memory(void)
{
	switch (random_below(6)) {
	case 0:
		return at_memory(0x20, random_below(32), 4);
	case 1:
		return at_memory(0x23, random_below(32), 8);
	case 2:
		return at_memory(0x24, random_below(32), 4);
	case 3:
		return at_memory(0x27, random_below(32), 8);
	default:
		return at_memory(0x25, random_below(2), 8); /* st %fsr */
	}
}

static uint32_t float_op(unsigned op3, unsigned opf, unsigned rd)
{
	return arith(op3, rd, random_below(32), opf << 5 | random_below(32));
}

static uint32_t make_float(void)
{
	static const uint8_t ops[] = {0x01, 0x05, 0x09, 0x02, 0x06, 0x0a, 0x41,
				      0x42, 0x45, 0x46, 0x49, 0x4a, 0x4d, 0x4e,
				      0x29, 0x2a, 0x81, 0x82, 0x84, 0x88, 0xc4,
				      0xc8, 0xc6, 0xc9, 0xd1, 0xd2, 0x69};
	static const uint8_t one[] = {0x01, 0x05, 0x09, 0x02, 0x06, 0x0a,
				      0x29, 0x2a, 0x81, 0x82, 0x84, 0x88,
				      0xc4, 0xc8, 0xc6, 0xc9, 0xd1, 0xd2};
	static const uint8_t compares[] = {0x51, 0x52, 0x55, 0x56};
	unsigned op = ops[random_below(sizeof ops)], kind = random_below(4);

	if (kind == 0) /* of two, into one of four results */
		return float_op(0x35, compares[random_below(4)],
				random_below(4));
	if (kind == 1) /* fmovdcc, fmovscc with icc */
		return arith(0x35, random_below(32), 0,
			     1U << 13 | (1 + random_below(2)) << 5 |
				 random_below(32)) |
		       random_below(16) << 14;
	if (memchr(one, (int)op, sizeof one)) /* rs1 must be 0 */
		return arith(0x34, random_below(32), 0,
			     op << 5 | random_below(32));
	return float_op(0x34, op, random_below(32));
}

static uint32_t make_plain(void)
{
	static uint32_t (*const makers[])(void) = {
	    make_arith,	 make_arith,	    make_arith,	 make_shift,
	    make_move,	 make_special,	    make_memory, make_memory_odd,
	    make_memory, make_float_memory, make_float,	 make_division};

	return makers[random_below(sizeof makers / sizeof makers[0])]();
}

/* addccc and subccc. qemu 7.2 forgets their carry and overflow behind an
 * instruction that clears both, if it translates the two together: without a
 * probe, that is. So they come behind one that does not. */
static int is_carried(uint32_t word)
{
	unsigned op3 = word >> 19 & 63;

	return word >> 30 == 2 && (op3 == 0x18 || op3 == 0x1c);
}

static unsigned gen_plain(struct piece *out, unsigned max, uint8_t **at)
{
	unsigned n = max < 160 ? max : 160;
	uint32_t word;

	for (unsigned i = 0; i < n; i++) {
		begin(&out[i], at, 2);
		for (unsigned k = 0; k < 16; k++) {
			word = make_plain();
			if (is_carried(word))
				put(&out[i],
				    any_arith(random_below(2) ? 0x10 : 0x14),
				    ONCE);
			put(&out[i], word, ONCE);
		}
		put(&out[i], retl(), ONCE);
		do
			word = make_plain();
		while (is_carried(word));
		put(&out[i], word, ONCE);
		end(&out[i], at);
	}
	return n;
}

/* -- Branches -------------------------------------------------------------- */

enum shape { ANY, BY_CCR, BY_FCC, BY_REGISTER };

static void put_branch(struct piece *p, uint32_t word)
{
	put_part(p, word, ONCE, PART_BRANCH);
	put_part(p, inc(0), 0, PART_BEHIND);
	put_inc(p, 1);
	put_end(p, retl(), 2);
	put_inc(p, 3);
	put_end(p, retl(), 4);
}

/* The n-th of all branches, over five words; 0 after the last. */
static uint32_t nth_branch(unsigned n, unsigned *shape)
{
	enum { OVER = 5 };
	static const uint8_t registers[] = {1, O0, L0 + 5, I0};
	unsigned a = n & 1, cond = n >> 1 & 15, more = n >> 5;

	*shape = BY_CCR;
	if (more == 0)
		return bicc(BICC, cond, a, OVER);
	if (more <= 4)
		return bpcc(BPCC, cond, a, more & 1 ? ICC : XCC, more > 2,
			    OVER);
	*shape = BY_FCC;
	if (more == 5)
		return bicc(FBFCC, cond, a, OVER);
	if (more <= 13)
		return bpcc(FBPFCC, cond, a, more & 3, more > 9, OVER);
	*shape = BY_REGISTER;
	if (more <= 17 && (cond & 3) != 0 && cond < 8)
		return bpr(cond, a, more & 1, registers[more - 14], OVER);
	if (more <= 17)
		return bpcc(BPCC, 8, a, XCC, 0, OVER); /* once more */
	return 0;
}

static unsigned gen_branches(struct piece *out, unsigned max, uint8_t **at)
{
	static const uint8_t outcomes[] = {
	    [BY_CCR] = 16, [BY_FCC] = 4, [BY_REGISTER] = 5};
	unsigned n = 0, shape;
	uint32_t word;

	for (; n < max && (word = nth_branch(n, &shape)) != 0; n++) {
		begin(&out[n], at, outcomes[shape]);
		out[n].shape = shape;
		put_branch(&out[n], word);
		end(&out[n], at);
	}
	return n;
}

/* -- Calls, returns, jumps through registers ------------------------------- */

static void make_call(struct piece *p)
{
	put(p, keep_way_back(), ONCE);
	put_part(p, call_to(5), ONCE, PART_BRANCH);
	put_part(p, inc(0), 0, PART_BEHIND);
	put_inc(p, 1);
	put_end(p, jmp_back(), 2);
	put(p, arith(OR, G5, O7, 0), 3);
	put_end(p, retl(), 3);
}

/* %r holds pc, the address of the jump less 4. */
static void make_jump(struct piece *p, unsigned r, unsigned rd, int by_register)
{
	put(p, keep_way_back(), ONCE);
	if (by_register)
		put(p, arith_i(OR, O1, 0, 7 * 4), ONCE);
	put(p, rd_pc(r), ONCE);
	put_part(p,
		 by_register ? arith(JMPL, rd, r, O1)
			     : arith_i(JMPL, rd, r, 7 * 4),
		 ONCE, PART_BRANCH);
	put_part(p, inc(0), 0, PART_BEHIND);
	put_inc(p, 1);
	put_inc(p, 7);
	put_end(p, jmp_back(), 2);
	put_inc(p, 3);
	put_end(p, jmp_back(), 4);
}

static unsigned gen_calls(struct piece *out, unsigned max, uint8_t **at)
{
	static const uint8_t regs[] = {1, G5, O0, L0 + 5, I0, I0 + 2};
	static const uint8_t links[] = {0, O7, 2, L0 + 6, I0 + 1, 255};
	unsigned n = 0;

	begin(&out[n], at, 2);
	make_call(&out[n]);
	end(&out[n++], at);
	for (unsigned i = 0; i < sizeof regs; i++)
		for (unsigned k = 0; k < 2 * sizeof links && n < max; k++) {
			unsigned rd = links[k / 2];

			begin(&out[n], at, 2);
			make_jump(&out[n], regs[i], rd == 255 ? regs[i] : rd,
				  k & 1);
			end(&out[n++], at);
		}
	return n;
}

/* -- Transfers in delay slots ---------------------------------------------- */

/* All kinds, to so many words further; %g5 is the pc of word 1. */
enum { TRANSFERS = 14 };
static uint32_t nth_transfer(unsigned n, unsigned here, int words)
{
	switch (n) {
	case 0:
		return bicc(BICC, 8, 0, words); /* ba */
	case 1:
		return bicc(BICC, 0, 0, words); /* bn */
	case 2:
		return bicc(BICC, 9, 0, words); /* bne */
	case 3:
		return bpcc(BPCC, 1, 0, XCC, 1, words); /* be */
	case 4:
		return bpcc(BPCC, 3, 0, ICC, 1, words); /* bl */
	case 5:
		return bpr(1, 0, 0, I4, words); /* brz: not taken */
	case 6:
		return bpcc(FBPFCC, 9, 0, 2, 1, words);
	case 7:
		return arith_i(JMPL, 0, G5, ((int)here - 1 + words) * 4);
	case 8:
		return call_to(words);
	case 9:
		return arith_i(JMPL, O1, G5, ((int)here - 1 + words) * 4);
	case 10: /* from here on with the annul bit */
		return bicc(BICC, 8, 1, words);
	case 11:
		return bicc(BICC, 0, 1, words);
	case 12:
		return bpcc(BPCC, 9, 1, XCC, 1, words);
	default:
		return bpr(5, 1, 0, I4, words); /* brnz,a: taken */
	}
}

static void make_couple(struct piece *p, unsigned first, unsigned second)
{
	put(p, keep_way_back(), ONCE);
	put(p, rd_pc(G5), ONCE);
	put_part(p, nth_transfer(first, 2, 6), ONCE, PART_BRANCH);
	put_part(p, nth_transfer(second, 3, 9), ONCE, PART_BEHIND);
	put_inc(p, 0);
	put_inc(p, 1);
	put_end(p, jmp_back(), 2);
	put_inc(p, 3);
	put_inc(p, 4);
	put_end(p, jmp_back(), 5);
	put_inc(p, 6);
	put_inc(p, 7);
	put_end(p, jmp_back(), 8);
}

/* Each has a page's end between the two: qemu 7.2 crashes, without probes, at
 * many couples that it translates together. */
static unsigned gen_couples(struct piece *out, unsigned max, uint8_t **at)
{
	enum { PAGE = 8192, BEFORE = 3 * 4 };
	unsigned n = 0;

	for (unsigned i = 0; i < TRANSFERS; i++)
		for (unsigned k = 0; k < TRANSFERS && n < max; k++) {
			if (nth_transfer(i, 2, 0) >> 29 == 1)
				continue; /* the second might be annulled */
			*at += PAGE - ((uintptr_t)*at + BEFORE) % PAGE;
			begin(&out[n], at, 16);
			out[n].shape = BY_CCR;
			make_couple(&out[n], i, k);
			end(&out[n++], at);
		}
	return n;
}

/* -- The program counter as a value ---------------------------------------- */

static void make_pc_value(struct piece *p, unsigned rd, int is_delayed)
{
	put(p, keep_way_back(), ONCE);
	if (is_delayed)
		put_part(p, bicc(BICC, 8, 0, 3), ONCE, PART_BRANCH);
	put_part(p, rd_pc(rd), ONCE, PART_BEHIND);
	if (is_delayed)
		put(p, inc(7), NEVER);
	put_part(p, call_to(2), ONCE, PART_BRANCH); /* only for %o7 */
	put_part(p, arith(OR, G5, O7, 0), ONCE, PART_BEHIND);
	put(p, jmp_back(), ONCE);
	put(p, rd_pc(O7), ONCE);
}

static unsigned gen_pc_values(struct piece *out, unsigned max, uint8_t **at)
{
	static const uint8_t regs[] = {0, 1, 3, O0, O7, L0, L0 + 6, I0, I0 + 2};
	unsigned n = 0;

	for (unsigned i = 0; i < 2 * sizeof regs && n < max; i++) {
		begin(&out[n], at, 1);
		make_pc_value(&out[n], regs[i / 2], i & 1);
		end(&out[n++], at);
	}
	return n;
}

/* -- Register windows ------------------------------------------------------ */

/* Deeper than there are windows. */
static void make_recursion(struct piece *p, int depth, int by_return)
{
	enum { ONE = 8, TWO = 9, THREE = 10, FIVE = 11 }; /* %g1 ... */

	put(p, keep_way_back(), ONCE);
	put(p, arith_i(OR, O0, 0, depth), ONCE);
	put(p, call_to(5), ONCE);
	put_inc(p, ONE);
	put(p, arith(OR, O1, 0, O0), ONCE);
	put_end(p, jmp_back(), FIVE);
	put_part(p, arith_i(SAVE, SP, SP, -176), TWO, PART_BRANCH);
	put(p, arith_i(SUBCC, 0, I0, 0), TWO);
	put(p, bpcc(BPCC, 1, 0, XCC, 0, 6), TWO);
	put_inc(p, TWO);
	put(p, arith_i(0x04, O0, I0, 1), THREE); /* sub */
	put(p, call_to(-5), THREE);
	put_inc(p, THREE);
	put(p, arith(ADD, I0, O0, I0), THREE);
	if (by_return) {
		put_part(p, arith_i(RETURN, 0, I7, 8), TWO, PART_BRANCH);
		put_part(p, arith_i(ADD, O0, O0, 1), TWO, PART_BEHIND);
	} else {
		put_part(p, arith_i(JMPL, 0, I7, 8), TWO, PART_BRANCH);
		put_part(p, arith_i(RESTORE, O0, I0, 1), TWO, PART_BEHIND);
	}
}

/* save and restore that add between windows, in delay slots, too. */
static void make_windows(struct piece *p)
{
	put(p, arith(SAVE, SP, SP, 0) | 1U << 13 | (unsigned)(-176 & 0x1fff),
	    ONCE);
	put(p, arith_i(ADD, O0, I0, 5), ONCE);
	put(p, bicc(BICC, 8, 0, 2), ONCE);
	put(p,
	    arith(SAVE, O0 + 6, SP, 0) | 1U << 13 | (unsigned)(-192 & 0x1fff),
	    ONCE);
	put(p, arith_i(ADD, L0, I0, 7), ONCE);
	put(p, bicc(BICC, 8, 0, 2), ONCE);
	put(p, arith(RESTORE, O0 + 1, L0, I0), ONCE);
	put(p, arith(RESTORE, O0 + 2, O0 + 1, O0), ONCE);
	put(p, retl(), ONCE);
	put(p, arith(0x2b, 0, 0, 0), ONCE); /* flushw */
}

static unsigned gen_frames(struct piece *out, unsigned max, uint8_t **at)
{
	unsigned n = 0;

	for (int depth = 0; depth < 24 && n + 1 < max; depth += 3)
		for (int by_return = 0; by_return < 2; by_return++) {
			begin(&out[n], at, 1);
			make_recursion(&out[n], depth, by_return);
			end(&out[n++], at);
		}
	begin(&out[n], at, 2);
	make_windows(&out[n]);
	end(&out[n++], at);
	return n;
}

/* -- System calls ---------------------------------------------------------- */

enum { GETPID = 20, LINUX = 0x6d };

static uint32_t trap_if(unsigned cond, unsigned cc)
{
	return arith_i(TCC, cond, 0, LINUX) | cc << 11;
}

static unsigned gen_system(struct piece *out, unsigned max, uint8_t **at)
{
	unsigned n = 0;

	for (unsigned cond = 0; cond < 16 && n < max; cond++) {
		struct piece *p = &out[n];

		begin(p, at, 16);
		p->shape = BY_CCR;
		put(p, arith_i(OR, 1, 0, GETPID), ONCE);
		put_part(p, trap_if(cond, cond & 1 ? ICC : XCC), ONCE,
			 PART_BRANCH);
		put(p, bicc(BICC, 8, 0, 3), ONCE);
		put_part(p, trap_if(8, ICC), ONCE, PART_BEHIND);
		put(p, inc(0), NEVER);
		put(p, retl(), ONCE);
		put(p, inc(1), ONCE);
		end(p, at);
		n++;
	}
	return n;
}

unsigned gen_pieces(enum family family, struct piece *out, unsigned max,
		    uint8_t **at)
{
	static unsigned (*const makers[FAMILIES])(struct piece *, unsigned,
						  uint8_t **) = {
	    [PLAIN] = gen_plain,	 [BRANCHES] = gen_branches,
	    [CALLS] = gen_calls,	 [COUPLES] = gen_couples,
	    [PC_VALUES] = gen_pc_values, [FRAMES] = gen_frames,
	    [SYSTEM_CALLS] = gen_system};

	return makers[family](out, max, at);
}

/* -- States ---------------------------------------------------------------- */

void gen_prepare(const struct piece *piece, unsigned outcome, struct state *s)
{
	static const uint64_t values[] = {0, 1, ~0UL, 1UL << 31, 1UL << 63};
	const uint64_t fcc = 0x3f00000c00U, modes = 3UL << 30;

	for (unsigned i = 0; i < STATE_WORDS; i++)
		s->word[i] = random_next();
	for (unsigned i = 0; i < 8; i++) /* small numbers are frequent */
		s->word[G + random_below(32)] = random_below(64);
	s->word[CCR] &= 0xff;
	s->word[Y] &= 0xffffffff;
	s->word[FSR] &= fcc | modes;
	s->word[I + 3] = (uint64_t)&s->word[MEMORY];
	s->word[I + 4] = 8 * (1 + random_below(MEMORY_WORDS - 1));
	s->word[I + 5] = (uint64_t)s;
	if (piece->shape == BY_CCR) /* icc and xcc apart, all of each */
		s->word[CCR] = outcome | (outcome * 7 + 3) % 16 << 4;
	if (piece->shape == BY_FCC) {
		s->word[FSR] &= ~fcc;
		s->word[FSR] |= (uint64_t)outcome << 10 |
				(uint64_t)(outcome + 1) % 4 << 32 |
				(uint64_t)(outcome + 2) % 4 << 34 |
				(uint64_t)(outcome + 3) % 4 << 36;
	}
	if (piece->shape == BY_REGISTER)
		s->word[G + 1] = s->word[O] = s->word[L + 5] = s->word[I] =
		    values[outcome];
}

/* -- Odd things ------------------------------------------------------------ */

const char *gen_refused(unsigned n, uint8_t *code, unsigned *len)
{
	static const struct {
		const char *name;
		uint32_t word;
	} rows[] = {{"illtrap", 0x00000001},
		    {"done", 0x81f00000},
		    {"retry", 0x83f00000},
		    {"saved", 0x81880000},
		    {"restored", 0x83880000},
		    {"rdpr", 0x83508000},
		    {"wrpr", 0x81900000 | 1 << 25},
		    {"compare and branch", 0x12c00000},
		    {"an op2 that is none", 7U << 22},
		    {"an op3 that is none", 0x81f80000},
		    {"a load that is none", 0xc0600000}};

	if (n >= sizeof rows / sizeof rows[0])
		return NULL;
	memcpy(code, &rows[n].word, 4);
	*len = 4;
	return rows[n].name;
}

unsigned gen_own_trap(uint8_t *code)
{
	const uint32_t words[] = {0x00000007, retl(), inc(0)};

	memcpy(code, words, sizeof words);
	return sizeof words;
}

struct context {
	uint8_t info[128];
	uint64_t reg[16], tstate, tpc, tnpc;
};

void gen_skip_trap(void *context)
{
	struct context *c = context;

	c->tpc = c->tnpc;
	c->tnpc += 4;
}

unsigned gen_fault(uint8_t *code, unsigned *at, unsigned *next)
{
	const uint32_t words[] = {bicc(BICC, 8, 0, 3), memory_i(0, 1, 0, 8),
				  inc(0), retl(), inc(1)};

	memcpy(code, words, sizeof words);
	*at = 4;
	*next = 12;
	return sizeof words;
}

/* -- Functions ------------------------------------------------------------- */

/* call is written as a word: linkers turn it into a branch if what stands in
 * its delay slot gives the return address back. */
__asm__(".text\n"
	".align 4\n"
	"recursive:\n"
	"	save %sp, -176, %sp\n"
	"	brz,pn %i0, 1f\n"
	"	 mov 0, %o0\n"
	"	call recursive\n"
	"	 sub %i0, 1, %o0\n"
	"1:	ret\n"
	"	 restore %o0, 1, %o0\n"
	"tail:\n"
	"	andcc %o0, 1, %g0\n"
	"	bz,pt %xcc, 1f\n"
	"	 mov %o7, %g1\n"
	"2:	.word 0x40000000 + (other - 2b) / 4\n" /* call other */
	"	 mov %g1, %o7\n"
	"1:	retl\n"
	"	 nop\n"
	"tail_frame:\n"
	"	save %sp, -176, %sp\n"
	"	andcc %i0, 1, %g0\n"
	"	bz,pt %xcc, 1f\n"
	"	 nop\n"
	"2:	.word 0x40000000 + (other - 2b) / 4\n"
	"	 restore\n"
	"1:	return %i7 + 8\n"
	"	 nop\n"
	"tail_if:\n"
	"	andcc %o0, 1, %g0\n"
	"	bne,pn %xcc, other\n"
	"	 nop\n"
	"	retl\n"
	"	 nop\n"
	"tail_jump:\n"
	"	andcc %o0, 1, %g0\n"
	"1:	rd %pc, %g1\n"
	"	add %g1, 2f - 1b, %g2\n"
	"	add %g1, other - 1b, %g1\n"
	"	move %xcc, %g2, %g1\n"
	"	jmp %g1\n"
	"	 nop\n"
	"2:	retl\n"
	"	 nop\n"
	"tail_linked:\n"
	"	andcc %o0, 1, %g0\n"
	"	bz,pt %xcc, 2f\n"
	"	 mov %o7, %g1\n"
	"1:	rd %pc, %g2\n"
	"	jmpl %g2 + (other - 1b), %o7\n"
	"	 mov %g1, %o7\n"
	"2:	retl\n"
	"	 nop\n"
	"other:\n"
	"	retl\n"
	"	 add %o0, 100, %o0\n"
	"other_end:\n" GEN_STARTS);
