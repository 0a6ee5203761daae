/* tests/guests/insn_rep_faults.c - movs and cmps that fault on their source, on
 * their destination, forward and backward, in all sizes: registers tell how far
 * they came, flags are untouched, what was done is done. */
#include "faults.h"

static uint8_t *hole;
static const uint64_t size[4] = {1, 2, 4, 8};

#define REP(insn, k, from, to, dir)                                            \
	do {                                                                   \
		uint64_t s_ = (uint64_t)(from), d_ = (uint64_t)(to), c_ = 100; \
		fault.n = 0;                                                   \
		asm volatile("lea 1f(%%rip), %%rax\n\tmov %%rax, %3\n\t"       \
			     "lea 2f(%%rip), %%rax\n\tmov %%rax, %4\n\t"       \
			     "xor %%eax, %%eax\n\t" dir "\n"                   \
			     "1:\t" insn "\n"                                  \
			     "2:\tcld"                                         \
			     : "+S"(s_), "+D"(d_), "+c"(c_), "=m"(fault.at),   \
			       "=m"(fault.resume)                              \
			     :                                                 \
			     : "rax", "memory", "cc");                         \
		FAULTED(SIGSEGV, SEGV_MAPERR, 14);                             \
		SAME(fault.r[REG_RIP], fault.at);                              \
		SAME(fault.r[REG_RCX], 100 - 10);                              \
		SAME(fault.r[REG_RSI],                                         \
		     (uint64_t)(from) +                                        \
			 (dir[0] == 's' ? -1 : 1) * 10 * (int64_t)size[k]);    \
		SAME(fault.r[REG_RDI],                                         \
		     (uint64_t)(to) +                                          \
			 (dir[0] == 's' ? -1 : 1) * 10 * (int64_t)size[k]);    \
		SAME(fault.r[REG_EFL] & DF, dir[0] == 's' ? DF : 0);           \
		SAME(s_, fault.r[REG_RSI]);                                    \
	} while (0)

int main(void)
{
	uint8_t *base = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		*good = base + 1024, *end;

	MUST(base != MAP_FAILED);
	hole = base + 3 * 4096;
	MUST(munmap(hole, 4096) == 0);
	end = hole + 4096;
	fault_catch(SIGSEGV);
#define ALL(k, movs, cmps)                                              \
	do {                                                            \
		REP("rep " movs, k, hole - 10 * size[k], good, "cld");  \
		REP("rep " movs, k, good, hole - 10 * size[k], "cld");  \
		REP("rep " movs, k, end + 9 * size[k], good, "std");    \
		REP("rep " movs, k, good, end + 9 * size[k], "std");    \
		memset(base, 0, 3 * 4096);                              \
		memset(end, 0, 4096);                                   \
		REP("repe " cmps, k, good, hole - 10 * size[k], "cld"); \
		REP("repe " cmps, k, end + 9 * size[k], good, "std");   \
	} while (0)
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 2048; k++)
			base[k] = (uint8_t)(k * 3 + i);
		ALL(0, "movsb", "cmpsb");
		ALL(1, "movsw", "cmpsw");
		ALL(2, "movsl", "cmpsl");
		ALL(3, "movsq", "cmpsq");
	}
	return guest_end();
}
