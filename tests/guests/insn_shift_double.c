/* tests/guests/insn_shift_double.c - shld and shrd, by cl and by an immediate,
 * in registers and memory, of 16, 32 and 64 bits; zero leaves flags alone. */
#include "guest.h"

uint64_t cell;

int main(void)
{
	uint64_t seed = 7;
	struct regs r;

	for (unsigned n = 0; n < 64; n++)
		for (int i = 0; i < 10; i++) {
			uint64_t a = guest_random(&seed),
				 d = guest_random(&seed);
			unsigned __int128 both = (unsigned __int128)a << 64 | d;
			uint64_t left = (uint64_t)(both << n >> 64);
			unsigned __int128 down = (unsigned __int128)d << 64 | a;
			uint64_t right = (uint64_t)(down >> n);

			r = (struct regs){.a = a, .d = d, .c = n, .f = STATUS};
			RUN("shld %%cl, %%rdx, %%rax", r);
			SAME(r.a, left);
			SAME(r.f & CF, n ? a >> (64 - n) & 1 : 1);
			if (n == 0)
				SAME(r.f, STATUS);
			r = (struct regs){.a = a, .d = d, .c = n};
			cell = a;
			RUN("shrd %%cl, %%rdx, cell(%%rip)", r);
			SAME(cell, right);
			SAME(r.f & CF, n ? a >> (n - 1) & 1 : 0);
			r = (struct regs){.a = a, .d = d, .c = n & 31};
			RUN("shld %%cl, %%edx, %%eax", r);
			SAME(r.a,
			     (uint32_t)(((a << 32 | (uint32_t)d) << (n & 31)) >>
					32));
			r = (struct regs){.a = a, .d = d};
			RUN("shrd $13, %%edx, %%eax", r);
			SAME(r.a, (uint32_t)((d << 32 | (uint32_t)a) >> 13));
			r = (struct regs){.a = a, .d = d};
			RUN("shld $5, %%dx, %%ax", r);
			SAME(r.a, (a & ~0xffffull) |
				      (uint16_t)(a << 5 | (d & 0xffff) >> 11));
		}
	return guest_end();
}
