/* tests/guests/insn_rep_address32.c - string instructions with 67h count in
 * ecx and walk with esi and edi, in the low 4 GiB; xlat with it, too. */
#include "guest.h"

int main(void)
{
	uint8_t *low = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	uint64_t at = (uint64_t)low, junk = 0xdeadbeef00000000;
	struct regs r;

	MUST(low != MAP_FAILED && at < 1ull << 32);
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 256; k++)
			low[k] = (uint8_t)(255 - k);
		r = (struct regs){
		    .si = junk | at, .di = junk | (at + 4096), .c = junk | 256};
		RUN("addr32 rep movsb", r);
		CHECK(memcmp(low, low + 4096, 256) == 0);
		SAME(r.c, 0);
		SAME(r.si, at + 256);
		SAME(r.di, at + 4096 + 256);
		r = (struct regs){.a = 250, .c = junk | 256, .di = junk | at};
		RUN("addr32 repne scasb", r);
		SAME(r.di, at + 6);
		SAME(r.c, 250);
		r = (struct regs){.c = junk, .di = 5, .si = 7};
		RUN("addr32 rep stosb", r); /* no elements: ecx is 0 */
		SAME(r.di, 5);
		r = (struct regs){.b = junk | at, .a = 0xff00000000000010};
		RUN("addr32 xlat", r);
		SAME(r.a, 0xff000000000000ef);
	}
	r = (struct regs){.b = at, .a = 0xff00000000000011};
	RUN("xlat", r);
	SAME(r.a, 0xff000000000000ee);
	return guest_end();
}
