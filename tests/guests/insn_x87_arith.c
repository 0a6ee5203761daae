/* tests/guests/insn_x87_arith.c - x87 arithmetic keeps all 64 bits of the
 * mantissa, in every form: memory operands, st(i), popping and reversed. */
#include "guest.h"

static void bits(const char *what, long double v)
{
	uint64_t m = 0;
	uint16_t e = 0;

	memcpy(&m, &v, 8);
	memcpy(&e, (char *)&v + 8, 2);
	printf("%s %04x %016lx\n", what, e, m);
}

static long double ask(long double a, long double b, int op)
{
	long double r = 0;

	switch (op) {
	case 0:
		asm("fldt %1\n\tfldt %2\n\tfaddp" : "=t"(r) : "m"(a), "m"(b));
		break;
	case 1:
		asm("fldt %1\n\tfldt %2\n\tfsubrp" : "=t"(r) : "m"(a), "m"(b));
		break;
	case 2:
		asm("fldt %1\n\tfldt %2\n\tfmul %%st(1), %%st\n\tfstp %%st(1)"
		    : "=t"(r)
		    : "m"(a), "m"(b));
		break;
	case 3:
		asm("fldt %2\n\tfldt %1\n\tfdiv %%st(1), %%st\n\tfstp %%st(1)"
		    : "=t"(r)
		    : "m"(a), "m"(b));
		break;
	default:
		asm("fldt %1\n\tfsqrt" : "=t"(r) : "m"(a));
	}
	return r;
}

int main(void)
{
	long double third = ask(1, 3, 3), x;
	float f = 0.1f;
	double d = 0.1;
	short s = -7;
	int i = 123456789;
	long long q = 0x7fffffffffffffff;

	bits("1/3", third);
	bits("sqrt 2", ask(2, 0, 4));
	bits("sum", ask(1e18L, third, 0));
	bits("product", ask(third, third, 2));
	CHECK(ask(third, 3, 2) == 1);
	CHECK(ask(1e18L, 1, 0) - 1e18L == 1); /* more than a double holds */
	CHECK(ask(5, 3, 1) == 2 || ask(5, 3, 1) == -2);
	asm("fildll %1" : "=t"(x) : "m"(q));
	CHECK(x == 0x7fffffffffffffffL);
	asm("flds %1\n\tfaddl %2\n\tfiadds %3\n\tfimull %4\n\tfsubs %1\n\t"
	    "fdivrl %2"
	    : "=t"(x)
	    : "m"(f), "m"(d), "m"(s), "m"(i));
	bits("mixed", x);
	asm("fldpi\n\tfldl2e\n\tfaddp\n\tfldl2t\n\tfsubrp\n\tfldlg2\n\tfmulp\n"
	    "\t"
	    "fldln2\n\tfaddp\n\tfld1\n\tfaddp\n\tfldz\n\tfaddp\n\tfchs\n\tfabs"
	    : "=t"(x));
	bits("constants", x);
	asm("fldt %1\n\tfrndint" : "=t"(x) : "m"((long double){2.5L}));
	CHECK(x == 2);
	return guest_end();
}
