/* tests/guests/random_code.h - programs made by chance, and what they compute.
 *
 * A generated program works on twelve registers, the flags, sixteen vector
 * registers and a buffer; rbp points into the buffer, r14 is a small index, r11
 * is for jumps. It branches forward, loops a few times, calls, returns and
 * jumps through registers and memory. The same seed makes the same program, and
 * whoever runs it must find the same state behind it: the guests print a sum of
 * all states, natively and otherwise. */
#ifndef RANDOM_CODE_H
#define RANDOM_CODE_H

#include "guest.h"

enum { CODE_SIZE = 1 << 16, BUFFER = 1 << 20, BUFFER_LEN = 4096 };
enum { FAULT_LEN = 8 }; /* of the instruction that fails on purpose */

static uint8_t *area; /* code, and the buffer one megabyte behind it */
static uint8_t *out;  /* where the next byte goes */
static uint64_t chance;
static int keep_rcx; /* inside of a loop */
static unsigned leaf[8], n_leaves;
static int with_faults, rewritten; /* without a word to the kernel */
static unsigned keep_tf;	   /* for programs that are stepped */

struct state {
	uint64_t r[16], flags;
	uint8_t xmm[16][16];
};
struct state st;
uint64_t run_rsp;
void *run_code;

/* clang-format off */
asm(".globl run_program\n"
    "run_program:\n"
    "	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
    "	sub $8, %rsp\n	mov %rsp, run_rsp(%rip)\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "	movups st+136+16*\\n(%rip), %xmm\\n\n	.endr\n"
    "	pushq st+128(%rip)\n	popfq\n"
    "	mov st(%rip), %rax\n	mov st+8(%rip), %rcx\n	mov st+16(%rip), %rdx\n"
    "	mov st+24(%rip), %rbx\n	mov st+40(%rip), %rbp\n	mov st+48(%rip), %rsi\n"
    "	mov st+56(%rip), %rdi\n	mov st+64(%rip), %r8\n	mov st+72(%rip), %r9\n"
    "	mov st+80(%rip), %r10\n	mov st+88(%rip), %r11\n	mov st+96(%rip), %r12\n"
    "	mov st+104(%rip), %r13\n	mov st+112(%rip), %r14\n	mov st+120(%rip), %r15\n"
    "	call *run_code(%rip)\n"
    "	mov %rax, st(%rip)\n	mov %rcx, st+8(%rip)\n	mov %rdx, st+16(%rip)\n"
    "	mov %rbx, st+24(%rip)\n	mov %rsp, st+32(%rip)\n	mov %rbp, st+40(%rip)\n"
    "	mov %rsi, st+48(%rip)\n	mov %rdi, st+56(%rip)\n	mov %r8, st+64(%rip)\n"
    "	mov %r9, st+72(%rip)\n	mov %r10, st+80(%rip)\n	mov %r11, st+88(%rip)\n"
    "	mov %r12, st+96(%rip)\n	mov %r13, st+104(%rip)\n	mov %r14, st+112(%rip)\n"
    "	mov %r15, st+120(%rip)\n"
    "	pushfq\n	popq st+128(%rip)\n	pushq $0x202\n	popfq\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "	movups %xmm\\n, st+136+16*\\n(%rip)\n	.endr\n"
    "	add $8, %rsp\n"
    "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n	ret\n");
/* clang-format on */
void run_program(void);

/* -- Encoding -- */

static unsigned pick(unsigned n)
{
	return (unsigned)(guest_random(&chance) >> 20) % n;
}

static void put(unsigned b)
{
	*out++ = (uint8_t)b;
}

static void put4(uint32_t v)
{
	memcpy(out, &v, 4);
	out += 4;
}

/* A register that a program may write. */
static unsigned any_reg(void)
{
	static const uint8_t regs[] = {0, 2, 3, 6, 7, 8, 9, 10, 12, 13, 15, 1};

	return regs[pick(keep_rcx ? 11 : 12)];
}

struct operand {
	int memory; /* 0: a register; 1..4: kinds of address */
	unsigned reg, scale;
	int32_t disp;
};

static struct operand any_operand(void)
{
	struct operand o = {.memory = (int)pick(8), .scale = pick(4)};

	if (o.memory > 4)
		o.memory = 0;
	o.reg = any_reg();
	o.disp = (int32_t)pick(o.memory == 1 ? 100 : 1000);
	return o;
}

static struct operand any_memory(void)
{
	struct operand o = any_operand();

	if (o.memory == 0)
		o.memory = 1 + (int)pick(4), o.disp = (int32_t)pick(100);
	return o;
}

/* op is 0xMMoo: MM 0 (one byte), 0x0f, 0x38 or 0x3a. */
static void rm(unsigned prefix, int size, unsigned op, unsigned reg,
	       struct operand o, int imm_len)
{
	unsigned rex = (size == 8 ? 8 : 0) | (reg & 8 ? 4 : 0), map = op >> 8;

	if (o.memory == 0)
		rex |= o.reg >> 3;
	if (o.memory == 3)
		rex |= 2; /* r14 */
	if (size == 2)
		put(0x66);
	if (prefix != 0)
		put(prefix);
	if (rex != 0 || (size == 1 && (reg >= 4 || (!o.memory && o.reg >= 4))))
		put(0x40 | rex);
	if (map != 0)
		put(0x0f);
	if (map > 0x0f)
		put(map);
	put(op & 0xff);
	reg = (reg & 7) << 3;
	switch (o.memory) {
	case 0:
		put(0xc0 | reg | (o.reg & 7));
		break;
	case 1: /* disp8(rbp) */
		put(0x45 | reg);
		put((unsigned)o.disp);
		break;
	case 2: /* disp32(rbp) */
		put(0x85 | reg);
		put4((uint32_t)-o.disp);
		break;
	case 3: /* disp32(rbp, r14, scale) */
		put(0x84 | reg);
		put(o.scale << 6 | 6 << 3 | 5);
		put4((uint32_t)o.disp);
		break;
	default: /* disp32(rip) */
		put(0x05 | reg);
		put4((uint32_t)(area + BUFFER + o.disp - (out + 4 + imm_len)));
	}
}

static const struct operand none;
static struct operand reg_operand(unsigned r)
{
	struct operand o = none;

	o.reg = r;
	return o;
}

/* -- Instructions -- */

static int any_size(void)
{
	static const int sizes[] = {8, 4, 8, 4, 2, 1};

	return sizes[pick(6)];
}

static void put_imm(int size)
{
	for (int i = 0; i < (size == 8 ? 4 : size); i++)
		put(pick(256));
}

static void integer(void)
{
	int size = any_size(), wide = size != 1;
	int imm = size == 8 ? 4 : size;
	struct operand o = any_operand(), m;
	unsigned reg = any_reg();

	switch (pick(22)) {
	case 0:
	case 1:
	case 2: /* add ... cmp, either way */
		rm(0, size, pick(8) << 3 | (unsigned)wide | (pick(2) << 1), reg,
		   o, 0);
		break;
	case 3: /* the same with an immediate */
		rm(0, size, 0x80 | (unsigned)wide, pick(8), o, imm);
		put_imm(size);
		break;
	case 4: /* and locked */
		m = any_memory();
		rm(0xf0, size, pick(7) << 3 | (unsigned)wide, reg, m, 0);
		break;
	case 5: /* rol ... sar by an immediate */
		rm(0, size, 0xc0 | (unsigned)wide,
		   (unsigned[]){0, 1, 2, 3, 4, 5, 7}[pick(7)], o, 1);
		put(pick(70));
		break;
	case 6: /* by cl, by one */
		rm(0, size, (pick(2) ? 0xd2 : 0xd0) | (unsigned)wide,
		   (unsigned[]){0, 1, 2, 3, 4, 5, 7}[pick(7)], o, 0);
		break;
	case 7: /* inc, dec */
		rm(pick(4) == 0 && o.memory ? 0xf0 : 0, size,
		   0xfe | (unsigned)wide, pick(2), o, 0);
		break;
	case 8: /* not, neg, mul, imul of rax */
		if (!keep_rcx)
			rm(0, size, 0xf6 | (unsigned)wide, 2 + pick(4), o, 0);
		break;
	case 9: /* imul */
		rm(0, size == 1 ? 4 : size, 0x0faf, reg, o, 0);
		break;
	case 10: /* movzx, movsx */
		rm(0, size == 1 ? 4 : size,
		   (unsigned[]){0x0fb6, 0x0fb7, 0x0fbe, 0x0fbf}[pick(4)], reg,
		   o, 0);
		break;
	case 11: /* setcc, which may be of r/m8 only */
		rm(0, 1, 0x0f90 | pick(16), 0, o, 0);
		break;
	case 12: /* cmov */
		rm(0, size == 1 ? 8 : size, 0x0f40 | pick(16), reg, o, 0);
		break;
	case 13: /* xchg, xadd, cmpxchg */
		rm(o.memory && pick(2) ? 0xf0 : 0, size,
		   (unsigned[]){0x86, 0x0fc0, 0x0fb0}[pick(3)] | (unsigned)wide,
		   reg, o, 0);
		break;
	case 14: /* bt ... btc by an immediate */
		rm(0, size == 1 ? 8 : size, 0x0fba, 4 + pick(4), o, 1);
		put(pick(256));
		break;
	case 15: /* bsf, bsr, tzcnt, lzcnt, popcnt */
		rm(pick(2) ? 0xf3 : 0, size == 1 ? 8 : size, 0x0fbc | pick(2),
		   reg, o, 0);
		break;
	case 16: /* shld, shrd */
		rm(0, size == 1 ? 8 : size, pick(2) ? 0x0fa4 : 0x0fac, reg, o,
		   1);
		put(pick(16));
		break;
	case 17: /* lea: of what does not hold an address */
		put(0x4b);
		put(0x8d);
		put(0x84 | (reg & 7) << 3);
		out[-3] = (uint8_t)(0x48 | (reg & 8 ? 4 : 0) | 2);
		put(pick(4) << 6 | 6 << 3 | 0); /* (rax, r14, scale) */
		put4((uint32_t)guest_random(&chance));
		break;
	case 18: /* mov in and out */
		rm(0, size, (pick(2) ? 0x88 : 0x8a) | (unsigned)wide, reg, o,
		   0);
		break;
	case 19: /* mov imm */
		rm(0, size, 0xc6 | (unsigned)wide, 0, o, imm);
		put_imm(size);
		break;
	case 20: /* test */
		rm(0, size, 0x84 | (unsigned)wide, reg, o, 0);
		break;
	default: /* of one byte: stc clc cmc lahf sahf cbw cwd nop */
		put((unsigned[]){0xf8, 0xf9, 0xf5, 0x9f, 0x9e, 0x98, 0x99,
				 0x90}[pick(8)]);
	}
}

static void vector(void)
{
	static const uint8_t ops[] = {0xfe, 0xef, 0xd4, 0xf4, 0xf6, 0xdb, 0xeb,
				      0x66, 0x62, 0x6a, 0xf8, 0xe5, 0x67, 0x14};
	struct operand o = any_memory();
	unsigned x = pick(16);

	switch (pick(6)) {
	case 0: /* movups in, out */
		rm(0, 4, pick(2) ? 0x0f10 : 0x0f11, x, o, 0);
		break;
	case 1: /* movq between */
		put(0x66);
		rm(0, 8, pick(2) ? 0x0f6e : 0x0f7e, x, reg_operand(any_reg()),
		   0);
		break;
	case 2: /* pshufd */
		put(0x66);
		rm(0, 4, 0x0f70, x, reg_operand(pick(16)), 1);
		put(pick(256));
		break;
	case 3: /* scalar double arithmetic */
		rm(0xf2, 4,
		   (unsigned[]){0x0f58, 0x0f59, 0x0f5c, 0x0f5e}[pick(4)], x,
		   pick(2) ? o : reg_operand(pick(16)), 0);
		break;
	case 4: /* cvttsd2si, cvtsi2sd */
		rm(0xf2, 8, pick(2) ? 0x0f2c : 0x0f2a, pick(2) ? any_reg() : 0,
		   reg_operand(pick(4)), 0);
		break;
	default: /* packed integers */
		put(0x66);
		rm(0, 4, 0x0f00 | ops[pick(sizeof ops)], x,
		   reg_operand(pick(16)), 0);
	}
}

static void strings(void)
{
	uint32_t from = pick(1500), to = pick(1500), back = pick(4) == 0;

	if (keep_rcx)
		return;
	put(0x48), put(0x8d), put(0xb5), put4(from); /* lea from(rbp), rsi */
	put(0x48), put(0x8d), put(0xbd), put4(to);   /* lea to(rbp), rdi */
	put(0xb9), put4(pick(20));		     /* mov n, ecx */
	if (back)
		put(0xfd);
	put((unsigned[]){0xf3, 0xf2}[pick(2)]);
	if (pick(2))
		put(0x48);
	put((unsigned[]){0xa4, 0xa5, 0xaa, 0xab, 0xa6, 0xae}[pick(6)]);
	put(0xfc);
	put(0xbe), put4(pick(1000)); /* no addresses are left */
	put(0xbf), put4(pick(1000));
}

/* Of ah, ch, dh, bh, which only exist without a REX prefix. */
static void high_byte(void)
{
	struct operand o = any_operand();
	unsigned reg = 4 + pick(4);

	if (keep_rcx && reg == 5)
		reg = 4;
	if (o.memory == 3)
		o.memory = 2;
	if (o.memory == 0)
		o.reg = (unsigned[]){0, 2, 3, 4, 6, 7}[pick(6)];
	put(pick(9) << 3 & 0x38);
	out[-1] = (uint8_t)(pick(3) ? out[-1] | (pick(2) << 1) : 0x8a);
	switch (o.memory) {
	case 0:
		put(0xc0 | (reg & 7) << 3 | o.reg);
		break;
	case 1:
		put(0x45 | (reg & 7) << 3), put((unsigned)o.disp);
		break;
	case 2:
		put(0x85 | (reg & 7) << 3), put4((uint32_t)-o.disp);
		break;
	default:
		put(0x05 | (reg & 7) << 3);
		put4((uint32_t)(area + BUFFER + o.disp - (out + 4)));
	}
}

/* fldl, an operation with memory, another on the stack, fstpl. */
static void x87(void)
{
	rm(0, 4, 0xdd, 0, any_memory(), 0);
	rm(0, 4, 0xdc, (unsigned[]){0, 1, 4, 5, 6, 7}[pick(6)], any_memory(),
	   0);
	put(0xd9), put((unsigned[]){0xe0, 0xe1, 0xc0, 0xfc, 0xd0}[pick(5)]);
	if (out[-1] == 0xc0) /* fld st(0); faddp */
		put(0xde), put(0xc1);
	rm(0, 4, pick(2) ? 0xdd : 0xd9, 3, any_memory(), 0);
}

static void vex(unsigned map, unsigned pp, unsigned w, unsigned l, unsigned op,
		unsigned reg, unsigned v, struct operand o)
{
	unsigned b = o.memory == 0 ? o.reg >> 3 : 0, x = o.memory == 3;

	put(0xc4);
	put((~reg & 8) << 4 | (x ? 0 : 0x40) | (b ? 0 : 0x20) | map);
	put(w << 7 | (~v & 15) << 3 | l << 2 | pp);
	put(op);
	reg = (reg & 7) << 3;
	if (o.memory == 0)
		put(0xc0 | reg | (o.reg & 7));
	else if (o.memory == 3)
		put(0x84 | reg), put(o.scale << 6 | 6 << 3 | 5),
		    put4((uint32_t)o.disp);
	else if (o.memory == 4)
		put(0x05 | reg),
		    put4((uint32_t)(area + BUFFER + o.disp - (out + 4)));
	else
		put(0x85 | reg), put4((uint32_t)o.disp);
}

static void wide(void)
{
	static const uint8_t ops[] = {0xfe, 0xef, 0xd4, 0xf4, 0xfb, 0x6c, 0xda};

	if (!__builtin_cpu_supports("avx2"))
		return;
	switch (pick(4)) {
	case 0: /* packed, 128 or 256 bits */
		vex(1, 1, 0, pick(2), ops[pick(sizeof ops)], pick(16), pick(16),
		    pick(2) ? any_memory() : reg_operand(pick(16)));
		break;
	case 1: /* vmovdqu in, out */
		vex(1, 2, 0, pick(2), pick(2) ? 0x6f : 0x7f, pick(16), 0,
		    any_memory());
		break;
	case 2: /* andn, shlx, sarx, shrx, pdep, pext, bzhi */
		switch (pick(4)) {
		case 0:
			vex(2, 0, pick(2), 0, 0xf2, any_reg(), any_reg(),
			    any_operand());
			break;
		case 1:
			vex(2, 1 + pick(3), pick(2), 0, 0xf7, any_reg(),
			    any_reg(), any_operand());
			break;
		default:
			vex(2, (unsigned[]){0, 2, 3}[pick(3)], pick(2), 0, 0xf5,
			    any_reg(), any_reg(), any_operand());
		}
		break;
	default: /* vpermq-like: vpshufb, vpermd */
		vex(2, 1, 0, 1, pick(2) ? 0x00 : 0x36, pick(16), pick(16),
		    any_memory());
	}
}

/* Flags through the stack, both ways. */
static void flags(void)
{
	if (pick(2)) {
		unsigned r = any_reg();

		put(0x9c);
		if (r >= 8)
			put(0x41);
		put(0x58 | (r & 7));
	} else {
		put(0x68), put4((pick(1 << 12) & STATUS) | 0x202 | keep_tf);
		put(0x9d);
	}
}

/* A load that is SIGSEGV; the registers are told then. */
static void fails(void)
{
	static const uint8_t bytes[] = {0x48, 0x03, 0x04, 0x25, 16, 0, 0, 0};

	memcpy(out, bytes, FAULT_LEN); /* add 16, rax */
	out += FAULT_LEN;
}

static void simple(void)
{
	unsigned k = pick(24);

	if (k == 0)
		strings();
	else if (k == 1 && with_faults)
		fails();
	else if (k == 2)
		flags();
	else if (k == 3)
		x87();
	else if (k == 4)
		high_byte();
	else if (k < 7)
		wide();
	else if (k < 11)
		vector();
	else
		integer();
}

/* -- Control -- */

static void body(int n, int depth);

static void set_r11(void)
{
	put(0x41), put(0xbb), put4(pick(1 << 30));
}

static void call_leaf(void)
{
	unsigned k = pick(n_leaves);
	uint8_t *to = area + leaf[k];

	if (k >= 4) /* it takes its argument away */
		put(0x50 | (unsigned[]){0, 2, 3, 6}[pick(4)]);
	switch (pick(3)) {
	case 0:
		put(0xe8), put4((uint32_t)(to - (out + 4)));
		break;
	case 1: /* lea, call *r11 */
		put(0x4c), put(0x8d), put(0x1d),
		    put4((uint32_t)(to - (out + 4)));
		put(0x41), put(0xff), put(0xd3);
		break;
	default: /* pushed, with the return address */
		put(0x4c), put(0x8d), put(0x1d), put4(2 + 7 + 3);
		put(0x41), put(0x53); /* push r11 */
		put(0x4c), put(0x8d), put(0x1d),
		    put4((uint32_t)(to - (out + 4)));
		put(0x41), put(0xff), put(0xe3);
	}
	set_r11();
}

static void forward(int depth)
{
	uint8_t *at, kind = (uint8_t)pick(5);

	if (kind == 4) { /* lea r11; jmp *r11 */
		put(0x4c), put(0x8d), put(0x1d), put4(0);
		at = out;
		put(0x41), put(0xff), put(0xe3);
	} else if (kind == 3) {
		put(0xe3), put(0); /* jrcxz */
		at = out;
	} else if (kind == 2) {
		put(0xeb), put(0);
		at = out;
	} else {
		put(0x0f), put(0x80 | pick(16)), put4(0);
		at = out;
	}
	body(1 + (int)pick(3), kind == 3 || kind == 2 ? 0 : depth - 1);
	if (kind == 3 || kind == 2) {
		MUST(out - at < 128);
		at[-1] = (uint8_t)(out - at);
	} else {
		uint32_t d = (uint32_t)(out - at);

		memcpy(at - 4, &d, 4);
	}
	if (kind == 4)
		set_r11();
}

static void loop(int depth)
{
	uint8_t *at;

	if (keep_rcx)
		return;
	keep_rcx = 1;
	put(0xb9), put4(1 + pick(5)); /* mov n, ecx */
	at = out;
	body(3, depth - 1);
	put(0xff), put(0xc9); /* dec ecx */
	put(0x0f), put(0x85), put4((uint32_t)(at - (out + 4)));
	keep_rcx = 0;
}

static void pushed(int depth)
{
	unsigned r = any_reg();

	if (r >= 8)
		put(0x41);
	put(0x50 | (r & 7));
	body(2, depth - 1);
	r = any_reg();
	if (r >= 8)
		put(0x41);
	put(0x58 | (r & 7));
}

static void body(int n, int depth)
{
	while (n-- > 0)
		switch (depth > 0 ? pick(10) : 9) {
		case 0:
			forward(depth);
			break;
		case 1:
			loop(depth);
			break;
		case 2:
			pushed(depth);
			break;
		case 3:
			call_leaf();
			break;
		default:
			simple();
		}
}

/* A program with its leaves; returns where it begins. */
static void make_program(uint64_t seed)
{
	chance = seed * 0x9e3779b97f4a7c15 + 1;
	for (int i = 0; i < 4; i++)
		guest_random(&chance);
	MUST(rewritten ||
	     mprotect(area, CODE_SIZE, PROT_READ | PROT_WRITE) == 0);
	out = area;
	keep_rcx = 1; /* leaves may be called from loops */
	for (n_leaves = 0; n_leaves < 6; n_leaves++) {
		leaf[n_leaves] = (unsigned)(out - area);
		body(3, 0);
		if (n_leaves < 4)
			put(0xc3);
		else
			put(0xc2), put(8), put(0);
	}
	keep_rcx = 0;
	run_code = out;
	body(30, 3);
	put(0xc3);
	MUST(out < area + CODE_SIZE);
	MUST(rewritten ||
	     mprotect(area, CODE_SIZE, PROT_READ | PROT_EXEC) == 0);
}

static void prepare(void)
{
	uint8_t *buffer = area + BUFFER;

	for (int i = 0; i < BUFFER_LEN; i += 8) {
		uint64_t v = guest_random(&chance);

		memcpy(buffer + i, &v, 8);
	}
	for (int i = 0; i < 16; i++) {
		st.r[i] = guest_random(&chance) >> pick(64);
		memset(st.xmm[i], (int)pick(256), 16);
	}
	st.r[5] = (uint64_t)(buffer + 1024);
	st.r[11] = 0;
	st.r[14] = pick(200);
	st.flags = (guest_random(&chance) & STATUS) | 0x202;
	if (__builtin_cpu_supports("avx2"))
		asm volatile("vzeroupper");
}

static uint64_t sum_state(uint64_t h)
{
	st.r[4] = st.r[5] = st.r[11] = 0;
	st.flags &= STATUS | DF;
	h = guest_hash(h, &st, sizeof st);
	return guest_hash(h, area + BUFFER, BUFFER_LEN);
}

static void random_init(void)
{
	area = mmap(NULL, 2 << 20,
		    PROT_READ | PROT_WRITE | (rewritten ? PROT_EXEC : 0),
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(area != MAP_FAILED);
}

#endif
