/* tests/guests/rec_strings.c - repeated string instructions that are longer
 * than one part of them, in all directions and overlaps, on memory that others
 * have written; scans that end anywhere. */
#include "guest.h"

enum { SIZE = 100000 };

static uint8_t mem[SIZE + 64], model[SIZE + 64];

static void fill(uint64_t seed)
{
	for (int i = 0; i < SIZE; i++)
		mem[i] = model[i] = (uint8_t)guest_random(&seed);
}

static void moves(long to, long from, long n, int back)
{
	struct regs r = {.c = (uint64_t)n, .f = back ? DF : 0};

	fill(77);
	r.si = (uint64_t)(mem + from + (back ? n - 1 : 0));
	r.di = (uint64_t)(mem + to + (back ? n - 1 : 0));
	RUN("rep movsb", r);
	if (back)
		for (long i = n; i-- > 0;)
			model[to + i] = model[from + i];
	else
		for (long i = 0; i < n; i++)
			model[to + i] = model[from + i];
	CHECK(memcmp(mem, model, sizeof mem) == 0);
	SAME(r.c, 0);
}

static void scans(long at)
{
	struct regs r = {.a = 0x5a, .di = (uint64_t)mem, .c = SIZE};

	memset(mem, 1, SIZE);
	mem[at] = 0x5a;
	RUN("repne scasb", r);
	SAME(r.c, SIZE - at - 1);
	SAME(r.f & ZF, ZF);
	memset(model, 1, SIZE);
	r = (struct regs){
	    .si = (uint64_t)mem, .di = (uint64_t)model, .c = SIZE, .f = ZF};
	RUN("repe cmpsb", r);
	SAME(r.c, SIZE - at - 1);
	SAME(r.f & ZF, 0);
}

/* What the kernel wrote in between. */
static void read_by_kernel(void)
{
	int fds[2];
	struct regs r;

	MUST(pipe(fds) == 0);
	fill(5);
	for (int i = 0; i < 20; i++) {
		MUST(write(fds[1], model + 1000 * i, 1000) == 1000);
		MUST(read(fds[0], mem + SIZE / 2 + 1000 * i, 1000) == 1000);
	}
	r = (struct regs){.si = (uint64_t)(mem + SIZE / 2),
			  .di = (uint64_t)model,
			  .c = 2500,
			  .f = ZF};
	RUN("repe cmpsq", r);
	SAME(r.c, 0);
	SAME(r.f & ZF, ZF);
}

int main(void)
{
	static const long ends[] = {0, 1, 4095, 4096, 4097, 8191, 50000, 99999};

	for (int back = 0; back < 2; back++) {
		moves(0, 50000, 50000, back);
		moves(1, 0, 90000, back);
		moves(0, 1, 90000, back);
		moves(33, 0, 9000, back);
		moves(0, 4096, 4096, back);
		moves(5000, 0, 4097, back);
	}
	for (int i = 0; i < 8; i++)
		scans(ends[i]);
	memset(mem, 0, SIZE); /* stos, perhaps */
	for (int i = 0; i < SIZE; i++)
		CHECK(mem[i] == 0);
	read_by_kernel();
	return guest_end();
}
