/* tests/guests/insn_x87_control.c - rounding and precision control, and the
 * stores that round: fist, fistp, fisttp in three sizes, with overflow. */
#include "guest.h"

static uint16_t control(unsigned rounding, unsigned precision)
{
	return (uint16_t)(0x3f | rounding << 10 | precision << 8);
}

static void rounds(void)
{
	static const int want[4][4] = {
	    {2, -2, 4, -4}, {2, -3, 3, -4}, {3, -2, 4, -3}, {2, -2, 3, -3}};
	static const double in[4] = {2.5, -2.5, 3.5, -3.5};

	for (unsigned mode = 0; mode < 4; mode++)
		for (int k = 0; k < 4; k++) {
			uint16_t cw = control(mode, 3), back;
			int32_t w = 0;
			int16_t s = 0;
			int64_t q = 0;

			asm volatile("fldcw %4\n\tfldl %5\n\tfistl %0\n\t"
				     "fists %1\n\tfistpll %2\n\tfnstcw %3\n\t"
				     "fninit"
				     : "=m"(w), "=m"(s), "=m"(q), "=m"(back)
				     : "m"(cw), "m"(in[k])
				     : "st");
			SAME(w, want[mode][k]);
			SAME(s, want[mode][k]);
			SAME(q, want[mode][k]);
			SAME(back, cw | 0x40);
			asm volatile(
			    "fldcw %1\n\tfldl %2\n\tfisttpl %0\n\tfninit"
			    : "=m"(w)
			    : "m"(cw), "m"(in[k])
			    : "st");
			SAME(w, want[3][k]); /* whatever the mode */
		}
}

static void precision(void)
{
	static const unsigned modes[3] = {0, 2, 3};

	for (int i = 0; i < 3; i++) {
		uint16_t cw = control(0, modes[i]);
		long double third;
		uint64_t m;

		asm volatile("fldcw %1\n\tfld1\n\tfld1\n\tfadd %%st, %%st\n\t"
			     "fld1\n\tfaddp\n\tfdivrp\n\tfstpt %0\n\tfninit"
			     : "=m"(third)
			     : "m"(cw)
			     : "st", "st(1)");
		memcpy(&m, &third, 8);
		SAME(m & 0x7ff, i == 2 ? 0x2ab : 0);
		SAME(m >> 40, i == 0 ? 0xaaaaab : 0xaaaaaa);
	}
}

int main(void)
{
	double big = 1e10, nan = __builtin_nan("");
	int32_t w;
	int64_t q;
	uint16_t sw;

	rounds();
	precision();
	asm volatile("fldl %2\n\tfistpl %0\n\tfnstsw %1\n\tfnclex"
		     : "=m"(w), "=a"(sw)
		     : "m"(big)
		     : "st");
	SAME(w, INT32_MIN);
	CHECK(sw & 1);
	asm volatile("fldl %2\n\tfistpll %0\n\tfnstsw %1\n\tfnclex"
		     : "=m"(q), "=a"(sw)
		     : "m"(nan)
		     : "st");
	SAME(q, INT64_MIN);
	return guest_end();
}
