/* tests/guests/insn_loop_jrcxz.c - loop, loope, loopne, jrcxz and jecxz, with
 * and without a 67h prefix: which count they use, and that flags stay. */
#include "guest.h"

static void counts(void)
{
	struct regs r = {.c = 5};

	RUN("1: inc %%rax\nloop 1b", r);
	SAME(r.a, 5);
	SAME(r.c, 0);
	r = (struct regs){.c = 0x700000003};
	RUN("1: inc %%rax\naddr32 loop 1b", r); /* ecx alone */
	SAME(r.a, 3);
	SAME(r.c, 0);
	r = (struct regs){.c = 0x100000000};
	RUN("1: inc %%rax\ncmp $9, %%rax\nje 2f\nloop 1b\n2:", r);
	SAME(r.a, 9);
	SAME(r.c, 0x100000000 - 8);
}

static void conditions(void)
{
	struct regs r = {.c = 10};

	RUN("1: inc %%rax\ncmp $4, %%rax\nloopne 1b", r);
	SAME(r.a, 4);
	SAME(r.c, 6);
	CHECK(r.f & ZF);
	r = (struct regs){.c = 10};
	RUN("1: inc %%rax\ncmp $4, %%rax\nloope 1b", r);
	SAME(r.a, 1);
	SAME(r.c, 9);
	r = (struct regs){.c = 3};
	RUN("1: inc %%rax\ntest %%eax, %%eax\nloopne 1b", r);
	SAME(r.a, 3);
	SAME(r.c, 0);
}

static void zero(void)
{
	struct regs r = {.c = 0x100000000, .f = CF | ZF | SF};

	RUN("jrcxz 1f\nmov $1, %%eax\n1:", r);
	SAME(r.a, 1);
	r.a = 0;
	RUN("jecxz 1f\nmov $2, %%eax\n1:", r);
	SAME(r.a, 0);
	SAME(r.f, CF | ZF | SF);
	r.c = 0;
	RUN("jrcxz 1f\nmov $3, %%eax\n1: loop 2f\nnop\n2:", r);
	SAME(r.a, 0);
	SAME(r.c, -1ull); /* a loop of nothing wraps */
	SAME(r.f, CF | ZF | SF);
	r.c = 0x500000000;
	RUN("addr32 loop 1f\nmov $4, %%eax\n1:", r);
	SAME(r.a, 0);
	SAME(r.c, 0xffffffff); /* and clears the upper half */
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		counts();
		conditions();
		zero();
	}
	return guest_end();
}
