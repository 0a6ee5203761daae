/* tests/guests/insn_mmx.c - MMX arithmetic, packing, shuffling, and how it
 * shares its registers with the x87 stack: tags become valid, emms empties
 * them, the exponent becomes all ones. */
#include "guest.h"

static uint64_t op2(int op, uint64_t a, uint64_t b)
{
#define OP(n, name)                                                      \
	case n:                                                          \
		asm volatile("movq %1, %%mm3\n\tmovq %2, %%mm5\n\t" name \
			     " %%mm5, %%mm3\n\tmovq %%mm3, %0"           \
			     : "=m"(a)                                   \
			     : "m"(a), "r"(b)                            \
			     : "mm3", "mm5");                            \
		break;
	switch (op) {
		OP(0, "paddb")
		OP(1, "paddsw")
		OP(2, "paddusb")
		OP(3, "psubd")
		OP(4, "pmulhw")
		OP(5, "pmaddwd")
		OP(6, "pcmpgtb")
		OP(7, "packsswb")
		OP(8, "punpckhwd")
		OP(9, "pandn")
		OP(10, "psadbw")
		OP(11, "pavgb")
		OP(12, "pmuludq")
		OP(13, "pshufb")
	}
	return a;
}

int main(void)
{
	uint64_t seed = 5, hash = 1, v;
	uint16_t env[14], top[5];

	for (int i = 0; i < 50; i++)
		for (int op = 0; op < 14; op++) {
			v = op2(op, guest_random(&seed), guest_random(&seed));
			hash = guest_hash(hash, &v, 8);
		}
	SAME(op2(0, 0x01ff01ff01ff01ff, 0x0101010101010101),
	     0x0200020002000200);
	SAME(op2(7, 0x7fff8000000100ff, 0), 0x7f80017f);
	asm volatile("emms");
	asm volatile("fninit\n\tmovq %2, %%mm0\n\tfnstenv %0\n\tfldenv %0\n\t"
		     "fstpt %1\n\temms"
		     : "=m"(env), "=m"(top)
		     : "r"(0x123456789abcdef0)
		     : "mm0");
	SAME(env[4], 0x0002 | (env[4] & 0xfffc)); /* mm0: special */
	SAME(top[4], 0xffff);
	SAME(top[0], 0xdef0);
	SAME(top[3], 0x1234);
	asm volatile("fnstenv %0\n\tfldenv %0" : "=m"(env));
	SAME(env[4], 0xffff);
	/* masked store through rdi */
	uint64_t to = 0, mask = 0x80ff7f0000800080, data = 0x1122334455667788;
	asm volatile("movq %1, %%mm1\n\tmovq %2, %%mm2\n\t"
		     "maskmovq %%mm2, %%mm1\n\temms\n\tsfence"
		     :
		     : "D"(&to), "m"(data), "m"(mask)
		     : "memory", "mm1", "mm2");
	SAME(to, 0x1122000000660088);
	printf("%016lx\n", hash);
	return guest_end();
}
