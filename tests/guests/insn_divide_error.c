/* tests/guests/insn_divide_error.c - division by zero and a quotient that does
 * not fit are SIGFPE at the instruction, with all registers as before. */
#include "faults.h"

#define DIVIDES(insn, hi, lo, by)                                   \
	do {                                                        \
		uint64_t by_ = (uint64_t)(by);                      \
		FAULT(insn, "a"(lo), "d"(hi), "c"(by_), "D"(&by_)); \
		FAULTED(SIGFPE, FPE_INTDIV, 0);                     \
		SAME(fault.r[REG_RIP], fault.at);                   \
		SAME(fault.addr, fault.at);                         \
		SAME(fault.r[REG_RAX], lo);                         \
		SAME(fault.r[REG_RDX], hi);                         \
		SAME(fault.r[REG_RCX], by_);                        \
	} while (0)

int main(void)
{
	fault_catch(SIGFPE);
	for (int i = 0; i < 10; i++) {
		DIVIDES("divq %%rcx", 0ul, 5ul, 0);
		DIVIDES("divq (%%rdi)", 7ul, 5ul, 7);
		DIVIDES("idivq %%rcx", -1ul, 1ul << 63, -1);
		DIVIDES("divl %%ecx", 1ul, 0ul, 1);
		DIVIDES("idivl (%%rdi)", -1ul, 0x80000000ul, -1);
		DIVIDES("divw %%cx", 0ul, 1ul, 0);
		DIVIDES("divb %%cl", 9ul, 0x1000ul, 1);
		DIVIDES("idivb (%%rdi)", 9ul, 0x80ul, 1);
	}
	return guest_end();
}
