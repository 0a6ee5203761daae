/* tests/lossless/gen_x86_64.c - pieces of x86-64 code.
 *
 * Registers of a piece: r15 the state, r13 its memory, r14 a small multiple of
 * eight; these are only read. Counters are r8 to r12, rbx, rbp, rsi. */
#include "lossless/gen.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "x86/emit.h"

/* Words of a state. ORDER gen_call */
enum {
	GPR = 0, /* by hardware number; that of rsp is the code's address */
	FLAGS = 16,
	XMM = 18,
	MEMORY = 50,
	MEMORY_WORDS = 32
};
_Static_assert(MEMORY + MEMORY_WORDS <= STATE_WORDS, "a state is too small");

__asm__(".macro each insn:req\n"
	"	\\insn 0, rax\n"
	"	\\insn 1, rcx\n"
	"	\\insn 2, rdx\n"
	"	\\insn 3, rbx\n"
	"	\\insn 5, rbp\n"
	"	\\insn 6, rsi\n"
	"	\\insn 7, rdi\n"
	"	\\insn 8, r8\n"
	"	\\insn 9, r9\n"
	"	\\insn 10, r10\n"
	"	\\insn 11, r11\n"
	"	\\insn 12, r12\n"
	"	\\insn 13, r13\n"
	"	\\insn 14, r14\n"
	".endm\n"
	".macro load n:req, r:req\n"
	"	mov 8*\\n(%r15), %\\r\n"
	".endm\n"
	".macro store n:req, r:req\n"
	"	mov %\\r, 8*\\n(%r15)\n"
	".endm\n"
	".text\n"
	".globl gen_call\n"
	".type gen_call, @function\n"
	"gen_call:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	sub $8, %rsp\n"
	"	mov %rsi, %r15\n"
	"	mov %rdi, 8*4(%r15)\n"
	"	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	movups 8*18+16*\\n(%r15), %xmm\\n\n"
	"	.endr\n"
	"	pushq 8*16(%r15)\n"
	"	popfq\n"
	"	each load\n"
	"	call *8*4(%r15)\n"
	"	each store\n"
	"	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	movups %xmm\\n, 8*18+16*\\n(%r15)\n"
	"	.endr\n"
	"	pushfq\n"
	"	popq 8*16(%r15)\n"
	"	cld\n"
	"	add $8, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	".size gen_call, .-gen_call\n");

const char *gen_word_name(unsigned word)
{
	static const char *const names[] = {
	    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",  "r8",
	    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "flags"};

	if (word < sizeof names / sizeof names[0])
		return names[word];
	return word < MEMORY ? "a vector register" : "memory";
}

static unsigned counter_register(int counter)
{
	static const uint8_t regs[] = {X86_R8,	X86_R9,	 X86_R10, X86_R11,
				       X86_R12, X86_RBX, X86_RBP, X86_RSI};

	return regs[counter];
}

uint64_t gen_counter(const struct state *s, int counter)
{
	return s->word[GPR + counter_register(counter)];
}

/* -- Pieces ---------------------------------------------------------------- */

struct maker {
	struct piece *p;
	struct x86_buf b;
};

static struct maker begin(struct piece *p, uint8_t *at, unsigned outcomes)
{
	memset(p, 0, sizeof *p);
	p->code = at;
	p->outcomes = outcomes;
	return (struct maker){
	    .p = p,
	    .b = {.start = at, .at = at, .end = at + 1024, .pc = (uint64_t)at}};
}

/* The next instruction is going to be one of these. */
static void note_part(struct maker *m, int counter, unsigned part)
{
	struct piece *p = m->p;

	p->insn[p->n++] =
	    (struct piece_insn){.offset = (uint16_t)(m->b.at - m->b.start),
				.counter = (int8_t)counter,
				.part = (uint8_t)part};
}

static void note(struct maker *m, int counter)
{
	note_part(m, counter, PART_OTHER);
}

/* lea leaves the flags alone. */
static void put_inc(struct maker *m, int counter)
{
	unsigned r = counter_register(counter);

	note(m, counter);
	emit_rm(&m->b, EMIT_LEA, 8, r, x86_mem_at(r, 1));
}

static void put_ret(struct maker *m, int counter)
{
	note(m, counter);
	emit_plain(&m->b, EMIT_RET);
}

static void end(struct maker *m, uint8_t **at)
{
	if (m->b.bad)
		__builtin_trap();
	m->p->len = (unsigned)(m->b.at - m->b.start);
	*at += (m->p->len + 15) & ~15U;
}

/* -- Plain instructions ---------------------------------------------------- */

static unsigned any_dst(void)
{
	static const uint8_t regs[] = {0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12};

	return regs[random_below(sizeof regs)];
}

static unsigned any_src(void)
{
	return random_below(8) ? any_dst() : X86_R13 + random_below(3);
}

static unsigned any_width(void)
{
	return 1U << random_below(4);
}

static struct x86_mem any_memory(const struct maker *m)
{
	unsigned off = random_below(MEMORY_WORDS) * 8;

	switch (random_below(4)) {
	case 0:
		return x86_mem_index(X86_R13, X86_R14, 0, 0);
	case 1: /* bytes of the code itself: only to be read */
		return x86_mem_pc((uint64_t)m->b.start + random_below(8));
	default:
		return x86_mem_at(X86_R13, off);
	}
}

static struct x86_mem any_target(void)
{
	return random_below(3)
		   ? x86_mem_at(X86_R13, random_below(MEMORY_WORDS) * 8)
		   : x86_mem_index(X86_R13, X86_R14, 0, 0);
}

static void make_alu(struct maker *m)
{
	static const uint8_t ops[] = {EMIT_ADD, EMIT_OR,  EMIT_ADC,
				      EMIT_SBB, EMIT_AND, EMIT_SUB,
				      EMIT_XOR, EMIT_CMP, EMIT_MOV};
	enum emit_op op = ops[random_below(sizeof ops)];
	unsigned width = any_width();

	switch (random_below(5)) {
	case 0:
		emit_rr(&m->b, op, width, any_dst(), any_src());
		break;
	case 1:
		emit_ri(&m->b, op, width, any_dst(),
			(int64_t)random_below(128));
		break;
	case 2: /* not the code: a trap may be among it */
		emit_rm(&m->b, op, width, any_dst(), any_target());
		break;
	case 3:
		emit_mr(&m->b, op, width, any_target(), any_src());
		break;
	default:
		emit_mi(&m->b, op, width, any_target(),
			(int64_t)random_below(128));
		break;
	}
}

static void make_one(struct maker *m)
{
	static const uint8_t ops[] = {EMIT_INC, EMIT_DEC, EMIT_NOT, EMIT_NEG};
	enum emit_op op = ops[random_below(sizeof ops)];

	if (random_below(2))
		emit_r(&m->b, op, any_width(), any_dst());
	else
		emit_m(&m->b, op, any_width(), any_target());
}

static void make_shift(struct maker *m)
{
	static const uint8_t ops[] = {EMIT_ROL, EMIT_ROR, EMIT_SHL, EMIT_SHR,
				      EMIT_SAR};
	enum emit_op op = ops[random_below(sizeof ops)];

	if (random_below(2))
		emit_ri(&m->b, op, 8, any_dst(), random_below(64));
	else
		emit_r(&m->b, op, 4, any_dst());
}

static void make_wide(struct maker *m)
{
	static const uint8_t ops[] = {EMIT_MOVZX8, EMIT_MOVZX16, EMIT_MOVSX8,
				      EMIT_MOVSX16, EMIT_IMUL};
	enum emit_op op = ops[random_below(sizeof ops)];

	switch (random_below(4)) {
	case 0:
		emit_rr(&m->b, op, 8, any_dst(), any_src());
		break;
	case 1:
		emit_rm(&m->b, op, 4, any_dst(), any_target());
		break;
	case 2: /* the address alone may be that of the code */
		emit_rm(&m->b, EMIT_LEA, 8, any_dst(), any_memory(m));
		break;
	default:
		emit_r(&m->b, EMIT_MUL, 8, any_src());
		break;
	}
}

static void make_condition(struct maker *m)
{
	enum x86_cc cc = random_below(16);

	switch (random_below(3)) {
	case 0:
		emit_setcc_r(&m->b, cc, any_dst());
		break;
	case 1:
		emit_setcc_m(&m->b, cc, any_target());
		break;
	default:
		emit_cmov_rr(&m->b, cc, 8, any_dst(), any_src());
		break;
	}
}

static void make_exchange(struct maker *m)
{
	static const uint8_t ops[] = {EMIT_XCHG, EMIT_CMPXCHG, EMIT_XADD};

	emit_mr(&m->b, ops[random_below(3)], 8, any_target(), any_dst());
}

/* As bytes: ModRM and so on are fixed. */
static void make_bytes(struct maker *m)
{
	static const struct {
		uint8_t len, bytes[12];
	} rows[] = {
	    {4, {0x66, 0x0f, 0xfe, 0xc1}},	 /* paddd xmm0, xmm1 */
	    {4, {0xf2, 0x0f, 0x58, 0xd3}},	 /* addsd xmm2, xmm3 */
	    {4, {0xf3, 0x0f, 0x59, 0xe5}},	 /* mulss xmm4, xmm5 */
	    {4, {0xf2, 0x0f, 0x2a, 0xc8}},	 /* cvtsi2sd xmm1, eax */
	    {5, {0x66, 0x49, 0x0f, 0x6e, 0xf0}}, /* movq xmm6, r8 */
	    {5, {0x66, 0x41, 0x0f, 0xef, 0xf8}}, /* pxor xmm7, xmm8 */
	    {4, {0x66, 0x0f, 0x2f, 0xc1}},	 /* comisd xmm0, xmm1 */
	    {5, {0x41, 0x0f, 0x10, 0x45, 0x10}}, /* movups xmm0, [r13+16] */
	    {1, {0x90}},			 /* nop */
	    {1, {0x98}},			 /* cwde */
	    {2, {0x48, 0x99}},			 /* cqo */
	    {1, {0xf5}},			 /* cmc */
	    {1, {0x9f}},			 /* lahf */
	    {3, {0x0f, 0xae, 0xf0}},		 /* mfence */
	    {4, {0xf3, 0x0f, 0x1e, 0xfa}},	 /* endbr64 */
	    {2, {0xf3, 0x90}},			 /* pause */
	    {4, {0x0f, 0x1f, 0x40, 0x00}},	 /* nop [rax] */
	    {3, {0x48, 0x0f, 0xc8}},		 /* bswap rax */
	};
	unsigned n = random_below(sizeof rows / sizeof rows[0]);

	emit_bytes(&m->b, rows[n].bytes, rows[n].len);
}

static void make_plain(struct maker *m)
{
	static void (*const makers[])(struct maker *) = {
	    make_alu,  make_alu,       make_alu,      make_one,	 make_shift,
	    make_wide, make_condition, make_exchange, make_bytes};

	note(m, ONCE);
	makers[random_below(sizeof makers / sizeof makers[0])](m);
}

/* push and pop, in pairs. */
static void put_pushes(struct maker *m)
{
	note(m, ONCE);
	emit_r(&m->b, EMIT_PUSH, 8, any_src());
	note(m, ONCE);
	emit_m(&m->b, EMIT_PUSH, 8, x86_mem_at(X86_RSP, 0));
	note(m, ONCE);
	emit_plain(&m->b, EMIT_PUSHF);
	note(m, ONCE);
	emit_m(&m->b, EMIT_POP, 8, any_target());
	note(m, ONCE);
	emit_m(&m->b, EMIT_POP, 8, any_target());
	note(m, ONCE);
	emit_r(&m->b, EMIT_POP, 8, any_dst());
}

static unsigned gen_plain(struct piece *out, unsigned max, uint8_t **at)
{
	unsigned n = max < 160 ? max : 160;

	for (unsigned i = 0; i < n; i++) {
		struct maker m = begin(&out[i], *at, 2);

		for (unsigned k = 0; k < 14; k++)
			make_plain(&m);
		put_pushes(&m);
		put_ret(&m, ONCE);
		end(&m, at);
	}
	return n;
}

/* -- Branches -------------------------------------------------------------- */

enum shape { ANY, BY_FLAGS, BY_RCX };

/* The n-th of all: 16 conditions, near and far; loops; jumps. */
static int put_branch(struct maker *m, unsigned n, unsigned *shape,
		      struct emit_label *target)
{
	static const uint8_t loops[][3] = {
	    {2, 0xe0},	     {2, 0xe1},	      {2, 0xe2},       {2, 0xe3},
	    {3, 0x67, 0xe0}, {3, 0x67, 0xe1}, {3, 0x67, 0xe2}, {3, 0x67, 0xe3}};
	const unsigned n_loops = sizeof loops / sizeof loops[0];

	*shape = BY_FLAGS;
	if (n < 16)
		emit_jcc8_label(&m->b, n, target);
	else if (n < 32)
		emit_jcc_label(&m->b, n - 16, target);
	else if (n == 32)
		emit_jmp8_label(&m->b, target);
	else if (n == 33)
		emit_jmp_label(&m->b, target);
	else if (n < 34 + n_loops) {
		/* Over the increment and the return: five bytes. */
		uint8_t bytes[4];
		unsigned len = loops[n - 34][0];

		*shape = BY_RCX;
		memcpy(bytes, loops[n - 34] + 1, len - 1);
		bytes[len - 1] = 5;
		emit_bytes(&m->b, bytes, len);
	} else
		return 0;
	return 1;
}

static unsigned gen_branches(struct piece *out, unsigned max, uint8_t **at)
{
	static const uint8_t outcomes[] = {[BY_FLAGS] = 32, [BY_RCX] = 8};
	unsigned n = 0, shape;

	for (; n < max; n++) {
		struct emit_label target = {0};
		struct maker m = begin(&out[n], *at, 1);

		note_part(&m, ONCE, PART_BRANCH);
		if (!put_branch(&m, n, &shape, &target))
			break;
		out[n].shape = shape;
		out[n].outcomes = outcomes[shape];
		note_part(&m, 0, PART_BEHIND);
		emit_rm(&m.b, EMIT_LEA, 8, X86_R8, x86_mem_at(X86_R8, 1));
		put_ret(&m, 0);
		emit_bind(&m.b, &target);
		put_inc(&m, 1);
		put_ret(&m, 1);
		end(&m, at);
	}
	return n;
}

/* -- Calls, returns, jumps through registers ------------------------------- */

/* way: 0 call rel32, 1 through a register, 2 through memory, 3 relative to
 * rip; 4 and on: the same as jumps. */
static void make_call(struct maker *m, unsigned way, unsigned reg)
{
	struct emit_label sub = {0}, cell = {0};
	enum emit_op op = way >= 4 ? EMIT_JMP : EMIT_CALL;
	struct x86_mem word = x86_mem_at(X86_R13, 8);

	note(m, ONCE);
	emit_rm_label(&m->b, EMIT_LEA, 8, reg, &sub);
	note(m, ONCE);
	emit_mr(&m->b, EMIT_MOV, 8, word, reg);
	note_part(m, ONCE, PART_BRANCH);
	if (way == 0)
		emit_call_label(&m->b, &sub);
	else if (way == 4)
		emit_jmp_label(&m->b, &sub);
	else if ((way & 3) == 1)
		emit_r(&m->b, op, 8, reg);
	else if ((way & 3) == 2)
		emit_m(&m->b, op, 8, word);
	else
		emit_m_label(&m->b, op, &cell);
	note_part(m, way >= 4 ? NEVER : 0, PART_BEHIND);
	emit_rm(&m->b, EMIT_LEA, 8, X86_R8, x86_mem_at(X86_R8, 1));
	put_ret(m, way >= 4 ? NEVER : 0);
	emit_bind(&m->b, &sub);
	put_inc(m, 1);
	note(m, 1); /* what a call has pushed is seen */
	emit_rm(&m->b, EMIT_MOV, 8, X86_RDX, x86_mem_at(X86_RSP, 0));
	if (way == 2) {
		note(m, 1);
		emit_bytes(&m->b, (const uint8_t[]){0xc2, 0, 0}, 3);
	} else
		put_ret(m, 1);
	emit_bind(&m->b, &cell);
	emit_quad(&m->b, (uint64_t)m->b.start + m->p->insn[5].offset);
}

static unsigned gen_calls(struct piece *out, unsigned max, uint8_t **at)
{
	static const uint8_t regs[] = {X86_RAX, X86_RBX, X86_R12, X86_RSI};
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof regs; i++)
		for (unsigned way = 0; way < 8 && n < max; way++) {
			struct maker m = begin(&out[n], *at, 2);

			make_call(&m, way, regs[i]);
			end(&m, at);
			n++;
		}
	return n;
}

/* -- Transfers behind transfers -------------------------------------------- */

static unsigned gen_couples(struct piece *out, unsigned max, uint8_t **at)
{
	unsigned n = 0;

	for (unsigned a = 0; a < 16; a += 3)
		for (unsigned b = 0; b < 16 && n < max; b++) {
			struct maker m = begin(&out[n], *at, 32);
			struct emit_label one = {0}, two = {0};
			struct emit_label three = {0}, four = {0};

			out[n++].shape = BY_FLAGS;
			note_part(&m, ONCE, PART_BRANCH);
			emit_jcc8_label(&m.b, a, &one);
			note_part(&m, 0, PART_BEHIND);
			emit_jmp8_label(&m.b, &two);
			emit_bind(&m.b, &one);
			put_inc(&m, 4);
			note(&m, 4);
			emit_jcc_label(&m.b, b, &three);
			note(&m, 2);
			emit_jmp_label(&m.b, &four);
			emit_bind(&m.b, &two);
			put_inc(&m, 0);
			put_ret(&m, 0);
			emit_bind(&m.b, &three);
			put_inc(&m, 1);
			put_ret(&m, 1);
			emit_bind(&m.b, &four);
			put_inc(&m, 2);
			put_ret(&m, 2);
			end(&m, at);
		}
	return n;
}

/* -- The program counter as a value ---------------------------------------- */

static unsigned gen_pc_values(struct piece *out, unsigned max, uint8_t **at)
{
	static const uint8_t regs[] = {X86_RAX, X86_RDI, X86_R9, X86_R12};
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof regs && n < max; i++) {
		struct maker m = begin(&out[n++], *at, 1);
		struct emit_label here = {0};

		note(&m, ONCE);
		emit_rm(&m.b, EMIT_LEA, 8, regs[i],
			x86_mem_pc((uint64_t)m.b.start));
		note_part(&m, ONCE, PART_BRANCH);
		emit_call_label(&m.b, &here);
		emit_bind(&m.b, &here);
		note_part(&m, ONCE, PART_BEHIND);
		emit_r(&m.b, EMIT_POP, 8, X86_RDX);
		note(&m, ONCE);
		emit_rm(&m.b, EMIT_LEA, 4, X86_RCX,
			x86_mem_pc((uint64_t)m.b.start));
		put_ret(&m, ONCE);
		end(&m, at);
	}
	return n;
}

/* -- Stack frames ---------------------------------------------------------- */

/* enter, leave and recursion; rdi is the depth. */
static void make_recursion(struct maker *m, int depth, int by_enter)
{
	struct emit_label rec = {0}, out = {0};

	note(m, ONCE);
	emit_r(&m->b, EMIT_PUSH, 8, X86_RBP);
	note(m, ONCE);
	emit_set_wide(&m->b, X86_RDI, (uint64_t)depth);
	note(m, ONCE);
	emit_call_label(&m->b, &rec);
	note(m, ONCE);
	emit_r(&m->b, EMIT_POP, 8, X86_RBP);
	put_ret(m, ONCE);
	emit_bind(&m->b, &rec);
	if (by_enter) {
		note_part(m, 0, PART_BRANCH);
		emit_bytes(&m->b, (const uint8_t[]){0xc8, 32, 0, 0}, 4);
	} else {
		note_part(m, 0, PART_BRANCH);
		emit_r(&m->b, EMIT_PUSH, 8, X86_RBP);
		note(m, 0);
		emit_rr(&m->b, EMIT_MOV, 8, X86_RBP, X86_RSP);
		note(m, 0);
		emit_ri(&m->b, EMIT_SUB, 8, X86_RSP, 32);
	}
	put_inc(m, 0);
	note(m, 0);
	emit_mr(&m->b, EMIT_MOV, 8, x86_mem_at(X86_RBP, -8), X86_RDI);
	note(m, 0);
	emit_rr(&m->b, EMIT_TEST, 8, X86_RDI, X86_RDI);
	note(m, 0);
	emit_jcc8_label(&m->b, 4, &out); /* je */
	note(m, 1);
	emit_r(&m->b, EMIT_DEC, 8, X86_RDI);
	put_inc(m, 1);
	note(m, 1);
	emit_call_label(&m->b, &rec);
	note(m, 1);
	emit_rm(&m->b, EMIT_ADD, 8, X86_RAX, x86_mem_at(X86_RBP, -8));
	emit_bind(&m->b, &out);
	note_part(m, 0, PART_BEHIND);
	emit_plain(&m->b, EMIT_LEAVE);
	put_ret(m, 0);
}

static unsigned gen_frames(struct piece *out, unsigned max, uint8_t **at)
{
	unsigned n = 0;

	for (int depth = 0; depth < 24 && n + 1 < max; depth += 3)
		for (int by_enter = 0; by_enter < 2; by_enter++) {
			struct maker m = begin(&out[n++], *at, 1);

			make_recursion(&m, depth, by_enter);
			end(&m, at);
		}
	return n;
}

/* -- System calls ---------------------------------------------------------- */

static unsigned gen_system(struct piece *out, unsigned max, uint8_t **at)
{
	enum { GETPID = 39 };
	unsigned n = 0;

	for (; n < 4 && n < max; n++) {
		struct maker m = begin(&out[n], *at, 8);

		out[n].shape = BY_FLAGS;
		note(&m, ONCE);
		emit_ri(&m.b, EMIT_MOV, 4, X86_RAX, GETPID);
		note_part(&m, ONCE, PART_BRANCH);
		emit_plain(&m.b, EMIT_SYSCALL);
		note_part(&m, ONCE, PART_BEHIND);
		emit_rr(&m.b, EMIT_MOV, 8, X86_RDX, X86_RCX);
		put_ret(&m, ONCE);
		end(&m, at);
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
	static const uint64_t counts[] = {0, 1, 2, 1UL << 32};
	uint64_t f = outcome;

	for (unsigned i = 0; i < STATE_WORDS; i++)
		s->word[i] = random_next();
	for (unsigned i = 0; i < 8; i++) /* small numbers are frequent */
		s->word[random_below(16)] = random_below(64);
	if (piece->shape != BY_FLAGS)
		f = random_next();
	if (piece->shape == BY_RCX) {
		s->word[GPR + X86_RCX] = counts[outcome >> 1];
		f = outcome & 1;
	}
	s->word[FLAGS] = 0x202 | (f & 1 ? X86_ZF : 0) | (f & 2 ? X86_CF : 0) |
			 (f & 4 ? X86_SF : 0) | (f & 8 ? X86_OF : 0) |
			 (f & 16 ? X86_PF : 0);
	s->word[GPR + X86_R13] = (uint64_t)&s->word[MEMORY];
	s->word[GPR + X86_R14] = 8 * (1 + random_below(MEMORY_WORDS - 1));
	s->word[GPR + X86_R15] = (uint64_t)s;
}

/* -- Odd things ------------------------------------------------------------ */

const char *gen_refused(unsigned n, uint8_t *code, unsigned *len)
{
	static const struct {
		const char *name;
		uint8_t len, bytes[4];
	} rows[] = {{"int3", 1, {0xcc}},	  {"int 0x80", 2, {0xcd, 0x80}},
		    {"ud2", 2, {0x0f, 0x0b}},	  {"hlt", 1, {0xf4}},
		    {"iret", 1, {0xcf}},	  {"sysenter", 2, {0x0f, 0x34}},
		    {"no instruction", 1, {0x06}}};

	if (n >= sizeof rows / sizeof rows[0])
		return NULL;
	memset(code, 0x90, 16);
	memcpy(code, rows[n].bytes, rows[n].len);
	*len = 16;
	return rows[n].name;
}

unsigned gen_own_trap(uint8_t *code)
{
	code[0] = 0xcc;
	code[1] = 0xc3;
	return 2;
}

void gen_skip_trap(void *context)
{
	(void)context; /* it is behind it already */
}

unsigned gen_fault(uint8_t *code, unsigned *at, unsigned *next)
{
	static const uint8_t bytes[] = {
	    0x90, 0x48, 0x8b, 0x04, 0x25,
	    8,	  0,	0,    0,    0xc3}; /* nop; mov rax, [8] */

	memcpy(code, bytes, sizeof bytes);
	*at = 1;
	*next = 0;
	return sizeof bytes;
}

/* -- Functions ------------------------------------------------------------- */

__asm__(".text\n"
	"recursive:\n"
	"	xor %eax, %eax\n"
	"	test %rdi, %rdi\n"
	"	jz 1f\n"
	"	dec %rdi\n"
	"	call recursive\n"
	"1:	inc %rax\n"
	"	ret\n"
	"tail:\n"
	"	mov %rdi, %rax\n"
	"	test $1, %dil\n"
	"	jz 1f\n"
	"	jmp other\n"
	"1:	ret\n"
	"tail_frame:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	mov %rdi, %rax\n"
	"	test $1, %dil\n"
	"	leave\n"
	"	jz 1f\n"
	"	jmp other\n"
	"1:	ret\n"
	"tail_if:\n"
	"	mov %rdi, %rax\n"
	"	test $1, %dil\n"
	"	jnz other\n"
	"	ret\n"
	"tail_jump:\n"
	"	mov %rdi, %rax\n"
	"	test $1, %dil\n"
	"	lea 1f(%rip), %rcx\n"
	"	lea other(%rip), %rdx\n"
	"	cmovnz %rdx, %rcx\n"
	"	mov %rcx, -8(%rsp)\n"
	"	jmp *-8(%rsp)\n"
	"1:	ret\n"
	"tail_linked:\n"
	"	mov %rdi, %rax\n"
	"	test $1, %dil\n"
	"	jz 1f\n"
	"	lea other(%rip), %rdx\n"
	"	jmp *%rdx\n"
	"1:	ret\n"
	"other:\n"
	"	lea 100(%rdi), %rax\n"
	"	ret\n"
	"other_end:\n" GEN_STARTS);
