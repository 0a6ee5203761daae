/* tests/guests/insn_cpuid.c - cpuid clears the upper halves, leaves flags and
 * other registers alone, and tells one story: leaf 0, 1, 7, 0xd, the brand;
 * what it promises also works. */
#include "guest.h"

int main(void)
{
	struct regs r = {.a = -1ull << 32,
			 .b = -1ull,
			 .c = -1ull << 32,
			 .d = -1ull,
			 .si = 5,
			 .di = 6,
			 .f = STATUS};
	uint64_t top, hash = 1;
	char vendor[13] = "";

	RUN("cpuid", r);
	SAME((r.a | r.b | r.c | r.d) >> 32, 0);
	SAME(r.f, STATUS);
	SAME(r.si, 5);
	SAME(r.di, 6);
	top = r.a;
	memcpy(vendor, &r.b, 4);
	memcpy(vendor + 4, &r.d, 4);
	memcpy(vendor + 8, &r.c, 4);
	printf("%s, leaves %lx\n", vendor, top);
	for (uint64_t leaf = 0x80000002; leaf <= 0x80000004; leaf++) {
		r = (struct regs){.a = leaf};
		RUN("cpuid", r);
		hash = guest_hash(hash, &r, 32);
	}
	r = (struct regs){.a = 1};
	RUN("cpuid", r);
	SAME(r.c >> 27 & 1, 1); /* OSXSAVE */
	printf("family %lx\n", r.a & 0xfffffff);
	printf("1: ecx %08lx edx %08lx\n", r.c, r.d);
	r = (struct regs){.a = 7};
	RUN("cpuid", r);
	printf("7: ebx %08lx ecx %08lx edx %08lx\n", r.b, r.c & ~(1ul << 22),
	       r.d);
	r = (struct regs){.a = 0xd};
	RUN("cpuid", r);
	printf("d: eax %08lx ebx %lx ecx %lx\n", r.a, r.b, r.c);
	r = (struct regs){.a = 0x80000001};
	RUN("cpuid", r);
	printf("80000001: ecx %08lx edx %08lx\n", r.c, r.d);
	printf("brand %016lx\n", hash);
	return guest_end();
}
