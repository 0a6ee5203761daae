/* tests/guests/insn_rip_relative.c - operands relative to rip in every kind of
 * instruction: with immediates of each size behind them, locked, as x87, SSE
 * and VEX operands, stored, pushed, popped, called, jumped through. */
#include "guest.h"

uint8_t b[4];
uint16_t w;
uint32_t l;
uint64_t q, q2, target;
double d;
__uint128_t o;

/* clang-format off */
asm(".globl rip_call\n"
    "rip_call:\n"
    "	lea 2f(%rip), %rax\n	mov %rax, target(%rip)\n"
    "	xor %eax, %eax\n	call *target(%rip)\n"
    "	lea 1f(%rip), %rcx\n	mov %rcx, target(%rip)\n	jmp *target(%rip)\n"
    "	ud2\n1:	ret\n2:	inc %eax\n	ret\n");
/* clang-format on */
unsigned rip_call(void);

static void integers(void)
{
	struct regs r = {.f = CF, .a = 100, .c = 7, .d = 0};

	b[0] = 1, w = 1, l = 1, q = 1;
	RUN("adcb $5, b(%%rip)", r);
	SAME(b[0], 7);
	RUN("addw $0x1234, w(%%rip)", r);
	SAME(w, 0x1235);
	RUN("addl $0x12345678, l(%%rip)", r);
	SAME(l, 0x12345679);
	RUN("addq $-0x12345678, q(%%rip)", r);
	SAME(q, 1 - 0x12345678ull);
	RUN("movq $-3, q(%%rip)\nimul $1000, q(%%rip), %%rax", r);
	SAME(r.a, -3000);
	RUN("imul $-2, q(%%rip), %%rdx", r);
	SAME(r.d, 6);
	RUN("lock xadd %%rcx, q(%%rip)", r);
	SAME(r.c, -3);
	SAME(q, 4);
	r.a = 4, r.c = 9;
	RUN("lock cmpxchg %%rcx, q(%%rip)", r);
	SAME(q, 9);
	RUN("btsq $33, q(%%rip)\nshll $4, q(%%rip)\nnotw w(%%rip)", r);
	SAME(q, 0x200000090);
	SAME(w, 0xedca);
	RUN("movsbq b(%%rip), %%rax\nmovzwl w(%%rip), %%edx", r);
	SAME(r.a, 7);
	SAME(r.d, 0xedca);
	RUN("testb $2, b(%%rip)\nsetnz b+3(%%rip)", r);
	SAME(b[3], 1);
	RUN("pushq q(%%rip)\npopq q2(%%rip)", r);
	SAME(q2, q);
	r.a = 91, r.d = 0, l = 9;
	RUN("divl l(%%rip)\ncmovz q(%%rip), %%rdx\nxchg %%al, b+1(%%rip)", r);
	SAME(b[1], 10);
	RUN("crc32w w(%%rip), %%ecx\nmovl $1, l(%%rip)", r);
	SAME(l, 1);
}

static void others(void)
{
	__uint128_t v;
	double x;

	d = 1.5;
	asm volatile("fldl d(%%rip)\n\tfaddl d(%%rip)\n\tfstpl d(%%rip)" ::
			 : "memory", "st");
	CHECK(d == 3);
	asm volatile("movsd d(%%rip), %0\n\taddsd d(%%rip), %0\n\t"
		     "movsd %0, d(%%rip)"
		     : "=x"(x)::"memory");
	CHECK(d == 6);
	o = 5;
	asm volatile("movdqa o(%%rip), %0\n\tpshufd $0x4e, o(%%rip), %0\n\t"
		     "pinsrb $0, b(%%rip), %0\n\tpextrw $4, %0, w(%%rip)"
		     : "=x"(v)::"memory");
	SAME(w, 5);
	CHECK((uint64_t)v == b[0]);
	if (__builtin_cpu_supports("avx2")) {
		asm volatile("vpaddq o(%%rip), %0, %0\n\t"
			     "vpblendd $3, o(%%rip), %0, %0\n\t"
			     "vpalignr $8, o(%%rip), %0, %0"
			     : "+x"(v)::"memory");
		SAME((uint64_t)v, 0);
		SAME((uint64_t)(v >> 64), 5);
	}
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		integers();
		others();
		SAME(rip_call(), 1);
	}
	return guest_end();
}
