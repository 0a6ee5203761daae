/* tests/guests/insn_partial.c - what a write to part of a register leaves of
 * the rest: ah to dh with and without REX, 8, 16 and 32 bits, moves that
 * extend, and those that write nothing but still clear the upper half. */
#include "guest.h"

static const uint64_t A = 0x8877665544332211, D = 0x1020304050607080;

#define PART(text, want)                                                   \
	do {                                                               \
		r = (struct regs){.a = A, .d = D, .c = 0x99, .b = 0xf0e0}; \
		RUN(text, r);                                              \
		SAME(r.a, (want));                                         \
	} while (0)

int main(void)
{
	struct regs r;

	for (int i = 0; i < 3; i++) {
		PART("mov %%dh, %%ah", 0x8877665544337011);
		PART("mov %%bh, %%al", 0x88776655443322f0);
		PART("mov %%sil, %%al\nmov %%dl, %%al", 0x8877665544332280);
		PART("mov %%ch, %%ah\nadd %%dh, %%ah", 0x8877665544337011);
		PART("xchg %%ah, %%al", 0x8877665544331122);
		PART("mov %%dx, %%ax", 0x8877665544337080);
		PART("mov %%edx, %%eax", 0x50607080);
		PART("mov %%eax, %%eax", 0x44332211);
		PART("xchg %%eax, %%edx", 0x50607080);
		PART("add $0, %%eax", 0x44332211);
		PART("movzbw %%dl, %%ax", 0x8877665544330080);
		PART("movsbw %%dl, %%ax", 0x887766554433ff80);
		PART("movsbl %%dl, %%eax", 0xffffff80);
		PART("movsbq %%dl, %%rax", 0xffffffffffffff80);
		PART("movzbl %%dh, %%eax", 0x70);
		PART("movswq %%bx, %%rax", 0xfffffffffffff0e0);
		PART("movslq %%edx, %%rax", 0x50607080);
		PART("movslq %%eax, %%rax", 0x44332211);
		PART("cbtw", 0x8877665544330011);
		PART("cwtl", 0x2211);
		PART("cltq", 0x44332211);
		PART("mov $-1, %%ax\ncltq", 0x4433ffff);
		PART("cqto\nmov %%rdx, %%rax", 0xffffffffffffffff);
		PART("cltd\nmov %%rdx, %%rax", 0);
		PART("bswap %%rax", 0x1122334455667788);
		PART("bswap %%eax", 0x11223344);
		PART("cmp %%rdx, %%rdx\ncmovne %%edx, %%eax", 0x44332211);
		PART("cmp %%rdx, %%rdx\ncmovne %%dx, %%ax", A);
		PART("xor %%ecx, %%ecx\nshl %%cl, %%eax", 0x44332211);
		PART("setz %%ah", 0x8877665544330011 + 0x0000);
		PART("movabs $0x123456789abcdef0, %%rax", 0x123456789abcdef0);
		PART("mov $-5, %%rax", -5);
		PART("mov $0xfffffffb, %%eax", 0xfffffffb);
		PART("mov $0x77, %%ah\nadd %%dh, %%ah\nmov $0x22, %%ah", A);
	}
	return guest_end();
}
