/* tests/guests/insn_x87_stack.c - the register stack: eight deep, exchanged,
 * rotated, freed; overflow and underflow raise IE and SF with C1 as the
 * direction; the status word shows TOP. */
#include "guest.h"

int main(void)
{
	double v[8];
	uint16_t sw, env[14];

	for (int round = 0; round < 20; round++) {
		asm volatile(
		    "fninit\n\tfldz\n\tfld1\n\tfldpi\n\tfldl2e\n\tfldln2\n\t"
		    "fldlg2\n\tfldl2t\n\tfld1\n\tfchs\n\t"
		    "fxch "
		    "%%st(3)\n\tfincstp\n\tfincstp\n\tfdecstp\n\tfdecstp\n\t"
		    "fnstsw %1\n\t"
		    "fstpl +%0\n\tfstpl 8+%0\n\tfstpl 16+%0\n\tfstpl 24+%0\n\t"
		    "fstpl 32+%0\n\tfstpl 40+%0\n\tfstpl 48+%0\n\tfstpl 56+%0"
		    : "=o"(v), "=m"(sw)
		    :
		    : "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)",
		      "st(6)", "st(7)");
		SAME(sw, 0);
		CHECK(v[0] == 0x1.62e42fefa39efp-1); /* ln 2 */
		CHECK(v[3] == -1);
		CHECK(v[6] == 1);
		CHECK(v[7] == 0);
		/* one too many, and one too few */
		asm volatile(
		    "fninit\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\t"
		    "fld1\n\tfld1\n\tfld1\n\tfld1\n\tfnstsw %0\n\t"
		    "fninit"
		    : "=a"(sw)::"st", "st(1)", "st(2)", "st(3)", "st(4)",
		      "st(5)", "st(6)", "st(7)");
		SAME(sw, 0x3a41); /* TOP 7, C1, SF, IE */
		asm volatile("fninit\n\tfld1\n\tfstp %%st(0)\n\tfstl %1\n\t"
			     "fnstsw %0\n\tfnclex"
			     : "=a"(sw), "=m"(v[0])::"st");
		SAME(sw, 0x0041);
		CHECK(v[0] != v[0]);
		/* tags: 3 empty, 0 valid, 1 zero, 2 special */
		asm volatile(
		    "fninit\n\tfld1\n\tfldz\n\tfld1\n\tfldz\n\tfdivrp\n\t"
		    "ffree %%st(2)\n\tfnstenv %0\n\tfninit"
		    : "=m"(env)::"st", "st(1)", "st(2)");
		printf(round ? "" : "tags %04x top %d\n", env[4],
		       env[2] >> 11 & 7);
	}
	return guest_end();
}
