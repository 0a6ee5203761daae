/* tests/guests/insn_rdrand.c - rdrand and rdseed in three sizes write CF and
 * clear the other flags; the numbers differ. */
#include "guest.h"

int main(void)
{
	uint64_t last = 0;
	int same = 0;
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 30 & 1))
		guest_absent("processor");
	for (int i = 0; i < 50; i++) {
		struct regs r = {.a = -1ull, .f = STATUS};

		RUN("1: rdrand %%rax\njnc 1b", r);
		SAME(r.f, CF);
		same += r.a == last;
		last = r.a;
		RUN("mov $-1, %%rax\n1: rdrand %%ax\njnc 1b", r);
		SAME(r.a >> 16, 0xffffffffffff);
		RUN("mov $-1, %%rax\n1: rdrand %%eax\njnc 1b", r);
		SAME(r.a >> 32, 0);
	}
	SAME(same, 0);
	return guest_end();
}
