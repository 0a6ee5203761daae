/* tests/guests/insn_x87_special.c - denormals, fprem and fprem1 with partial
 * remainders, fscale, fxtract, fxam, BCD: exact bits of each result. */
#include "guest.h"

static uint64_t hash = 1;

static void add(long double v, uint16_t sw)
{
	hash = guest_hash(hash, &v, 10);
	sw &= 0x47ff & ~0x3800; /* not TOP */
	hash = guest_hash(hash, &sw, 2);
}

static void remainders(void)
{
	static const long double in[][2] = {
	    {5, 3},	  {-5, 3},    {1e300L, 7},	{0x1p200L, 3.5L},
	    {1, 0x1p-60}, {7.5L, -2}, {3, 0x1p-16440L}, {0x1.8p100L, 0x1p40L}};

	for (int i = 0; i < 8; i++) {
		long double r;
		uint16_t sw;
		int rounds = 0;

		do { /* until C2 is clear, as programs do */
			asm volatile("fldt %3\n\tfldt %2\n\tfprem\n\t"
				     "fnstsw %1\n\tfstpt %0\n\tfstp %%st(0)"
				     : "=m"(r), "=a"(sw)
				     : "m"(in[i][0]), "m"(in[i][1])
				     : "st", "st(1)");
			add(r, sw);
			asm volatile("fldt %3\n\tfldt %2\n\tfprem1\n\t"
				     "fnstsw %1\n\tfstpt %0\n\tfstp %%st(0)"
				     : "=m"(r), "=a"(sw)
				     : "m"(in[i][0]), "m"(in[i][1])
				     : "st", "st(1)");
			add(r, sw);
		} while (sw & 0x400 && ++rounds < 3);
	}
}

static void classes(void)
{
	static const long double in[] = {
	    0,		 -0.0L,	     1, -1, __builtin_infl(), -__builtin_infl(),
	    0x1p-16440L, 0x1p-16382L};
	static const uint16_t want[] = {0x4000, 0x4200, 0x400,	0x600,
					0x500,	0x700,	0x4400, 0x400};

	for (int i = 0; i < 8; i++) {
		uint16_t sw;
		long double e, m;

		asm volatile("fldt %1\n\tfxam\n\tfnstsw %0\n\tfstp %%st(0)"
			     : "=a"(sw)
			     : "m"(in[i])
			     : "st");
		SAME(sw & 0x4700, want[i]);
		asm volatile("fldt %3\n\tfxtract\n\tfnstsw %2\n\tfstpt %0\n\t"
			     "fstpt %1\n\tfnclex"
			     : "=m"(m), "=m"(e), "=a"(sw)
			     : "m"(in[i])
			     : "st", "st(1)");
		add(m, sw);
		add(e, sw);
	}
}

static void decimal(void)
{
	uint8_t bcd[10];
	long double v = -123456789012345678.0L, back;
	static const uint8_t want[10] = {0x78, 0x56, 0x34, 0x12, 0x90,
					 0x78, 0x56, 0x34, 0x12, 0x80};

	asm volatile("fldt %1\n\tfbstp %0" : "=m"(bcd) : "m"(v) : "st");
	CHECK(memcmp(bcd, want, 10) == 0);
	asm volatile("fbld %1\n\tfstpt %0" : "=m"(back) : "m"(bcd) : "st");
	CHECK(back == v);
}

int main(void)
{
	long double r, tiny = 0x1p-16440L;

	asm volatile("fninit");
	remainders();
	classes();
	decimal();
	asm("fldt %1\n\tfld1\n\tfscale\n\tfstp %%st(1)"
	    : "=t"(r)
	    : "m"((long double){-16400}));
	CHECK(r == 0x1p-16400L);
	asm("fldt %1\n\tfmuls %2" : "=t"(r) : "m"(tiny), "m"((float){0.5f}));
	CHECK(r == 0x1p-16441L);
	printf("%016lx\n", hash);
	return guest_end();
}
