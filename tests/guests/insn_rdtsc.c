/* tests/guests/insn_rdtsc.c - rdtsc and rdtscp only grow, clear the upper
 * halves and leave flags alone; rdtscp and rdpid agree on the processor. */
#include "guest.h"
#include <sched.h>

int main(void)
{
	uint64_t last = 0;
	cpu_set_t one;
	int cpu = sched_getcpu();
	unsigned a, b, c, d;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	MUST(sched_setaffinity(0, sizeof one, &one) == 0);
	for (int i = 0; i < 1000; i++) {
		struct regs r = {.a = -1ull, .d = -1ull, .c = 77, .f = STATUS};
		uint64_t t;

		RUN("rdtsc", r);
		SAME((r.a | r.d) >> 32, 0);
		SAME(r.c, 77);
		SAME(r.f, STATUS);
		t = r.d << 32 | r.a;
		CHECK(t > last);
		RUN("rdtscp", r);
		CHECK((r.d << 32 | r.a) >= t);
		SAME(r.c & 0xfff, cpu);
		last = t;
	}
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && c >> 22 & 1) {
		struct regs r = {.a = -1ull};

		RUN("rdpid %%rax", r);
		SAME(r.a & 0xfff, cpu);
	}
	return guest_end();
}
