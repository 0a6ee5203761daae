/* tests/guests/insn_x87_env.c - fnstenv, fldenv, fnsave and frstor carry
 * control, status and tags; fnsave also clears, frstor brings registers
 * back with their exact bits. */
#include "guest.h"

struct env {
	uint32_t control, status, tags, ip, cs_op, dp, ds;
};

int main(void)
{
	struct env e, e2;
	struct {
		struct env e;
		uint8_t st[80];
	} s, s2;
	uint16_t cw = 0xc7f;
	long double v[2];

	for (int i = 0; i < 20; i++) {
		asm volatile(
		    "fninit\n\tfldcw %2\n\tfldpi\n\tfldz\n\tfld1\n\t"
		    "fdivp\n\tfnstenv %0\n\tfldenv %0\n\tfnstenv %1\n\t"
		    "fldenv %1"
		    : "=m"(e), "=m"(e2)
		    : "m"(cw)
		    : "st", "st(1)", "st(2)");
		SAME(e.control & 0xffff, 0xc7f);
		SAME(e.status & 0x3fff & ~0x4700, 6 << 11 | (e.status & 0x47));
		CHECK(memcmp(&e, &e2, 12) == 0);
		asm volatile("fnsave %0\n\tfldpi\n\tfldpi\n\tfrstor %0\n\t"
			     "fnsave %1\n\tfninit"
			     : "=m"(s), "=m"(s2)::"st", "st(1)", "st(2)");
		CHECK(memcmp(&s, &s2, 12) == 0);
		CHECK(memcmp(s.st, s2.st, 80) == 0);
		memcpy(&v[1], s.st + 10, 10);
		CHECK(v[1] == 0xc.90fdaa22168c234p-2L); /* pi, cut */
		asm volatile("fldcw %2\n\tfnsave %0\n\tfnstenv %1\n\tfninit"
			     : "=m"(s), "=m"(e)
			     : "m"(cw));
		SAME(s.e.control & 0xffff, 0xc7f);
		SAME(e.control & 0xffff, 0x37f); /* fnsave initialised it */
		SAME(e.tags & 0xffff, 0xffff);
	}
	return guest_end();
}
