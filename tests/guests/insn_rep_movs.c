/* tests/guests/insn_rep_movs.c - movs in four sizes, forward and backward,
 * overlapping, of no elements, with and without rep, and with 67h: memory and
 * the three registers afterwards against a loop in C. */
#include "guest.h"

static uint8_t mem[1024], model[1024];

/* One element after the other, as the manual says. */
static void move(long to, long from, long n, int size, int back)
{
	for (; n > 0; n--) {
		uint8_t e[8];

		memcpy(e, model + from, (size_t)size);
		memcpy(model + to, e, (size_t)size);
		to += back ? -size : size;
		from += back ? -size : size;
	}
}

#define MOVS(insn, size)                                       \
	do {                                                   \
		long step = (back ? -size : size) * n;         \
		for (int i = 0; i < 1024; i++)                 \
			mem[i] = model[i] = (uint8_t)(i * 7);  \
		struct regs r = {.c = (uint64_t)n,             \
				 .f = (back ? DF : 0) | ZF,    \
				 .si = (uint64_t)(mem + from), \
				 .di = (uint64_t)(mem + to)};  \
		RUN("rep " insn, r);                           \
		move(to, from, n, size, back);                 \
		CHECK(memcmp(mem, model, sizeof mem) == 0);    \
		SAME(r.c, 0);                                  \
		SAME(r.si - (uint64_t)mem, from + step);       \
		SAME(r.di - (uint64_t)mem, to + step);         \
		SAME(r.f, (back ? DF : 0) | ZF);               \
	} while (0)

int main(void)
{
	static const long at[][2] = {{712, 300}, {300, 299}, {299, 300},
				     {300, 293}, {400, 400}, {308, 300}};
	static const long counts[] = {0, 1, 2, 7, 25};
	struct regs r;

	for (int k = 0; k < 6 * 5 * 2; k++) {
		long to = at[k / 10][0], from = at[k / 10][1],
		     n = counts[k / 2 % 5], back = k & 1;

		MOVS("movsb", 1);
		MOVS("movsw", 2);
		MOVS("movsl", 4);
		MOVS("movsq", 8);
	}
	r = (struct regs){
	    .si = (uint64_t)mem, .di = (uint64_t)mem + 8, .c = 99, .f = CF};
	mem[0] = 200;
	RUN("movsb\nstd\nmovsb\nmovsb", r); /* without rep */
	SAME(mem[8], 200);
	SAME(r.c, 99);
	SAME(r.si, (uint64_t)mem - 1);
	SAME(r.di, mem + 7);
	SAME(r.f, CF | DF);
	return guest_end();
}
