/* tests/guests/insn_lea.c - every form of an address: lea in 16, 32 and 64 bits
 * and with 67h, over bases, indexes and scales, the odd encodings included. */
#include "guest.h"

#define LEA(text, want)                                                     \
	do {                                                                \
		r = (struct regs){.a = A, .b = B, .c = C, .d = D, .f = CF}; \
		RUN("lea " text, r);                                        \
		SAME(r.a, (want));                                          \
		SAME(r.f, CF);                                              \
	} while (0)

static const uint64_t A = 0xaaaaaaaaaaaaaaaa, B = 0x1000000080000001,
		      C = 0xfffffffffffffff0, D = 0x7fffffff0;

int main(void)
{
	struct regs r;
	uint64_t sp, x;

	for (int i = 0; i < 3; i++) {
		LEA("8(%%rbx), %%rax", B + 8);
		LEA("-128(%%rbx), %%rax", B - 128);
		LEA("0x12345678(%%rbx,%%rcx,8), %%rax", B + C * 8 + 0x12345678);
		LEA("(%%rbx,%%rdx,4), %%eax", (uint32_t)(B + D * 4));
		LEA("(%%ebx,%%edx,2), %%rax", (uint32_t)(B + D * 2));
		LEA("(%%rbx,%%rcx), %%ax",
		    (A & ~0xffffull) | (uint16_t)(B + C));
		LEA("0x70000000, %%rax", 0x70000000);
		LEA("-0x70000000, %%rax", -0x70000000ull);
		LEA("-8(,%%rdx,8), %%rax", D * 8 - 8);
		r = (struct regs){.a = A};
		RUN(".byte 0x67, 0x48, 0x8d, 0x04, 0x25, 0xf8, -1, -1, -1", r);
		SAME(r.a, 0xfffffff8);
		r = (struct regs){.b = B};
		RUN(".byte 0x64, 0x48, 0x8d, 0x03",
		    r); /* lea knows no segment */
		SAME(r.a, B);
		/* rsp and r12 need a SIB byte, rbp and r13 a displacement */
		asm("mov %%rsp, %0\n\tlea 0x10(%%rsp), %1"
		    : "=&r"(sp), "=r"(x));
		SAME(x, sp + 16);
		asm("mov %1, %%r12\n\tlea (%%r12), %0"
		    : "=r"(x)
		    : "r"(B)
		    : "r12");
		SAME(x, B);
		asm("mov %1, %%r13\n\tlea (%%r13), %0"
		    : "=r"(x)
		    : "r"(B)
		    : "r13");
		SAME(x, B);
		asm("mov %1, %%r12\n\tlea 1(%%r12,%%r12,8), %0"
		    : "=r"(x)
		    : "r"(B)
		    : "r12");
		SAME(x, B * 9 + 1);
		/* no index (100b) with any scale, base in rbx */
		r = (struct regs){.b = B};
		RUN(".byte 0x48, 0x8d, 0x04, 0xe3", r);
		SAME(r.a, B);
	}
	return guest_end();
}
