/* tests/guests/insn_illegal.c - what is no instruction in 64-bit mode, and lock
 * where it may not be, is SIGILL at its own address, registers untouched. */
#include "faults.h"

#define ILLEGAL(bytes)                                                     \
	do {                                                               \
		FAULT(".byte " bytes, "a"(0x1111), "c"(0x2222), "D"(cell), \
		      "d"(cell));                                          \
		FAULTED(SIGILL, ILL_ILLOPN, 6);                            \
		SAME(fault.r[REG_RIP], fault.at);                          \
		SAME(fault.addr, fault.at);                                \
		SAME(fault.r[REG_RAX], 0x1111);                            \
		SAME(fault.r[REG_RCX], 0x2222);                            \
		SAME(fault.r[REG_RDI], cell);                              \
	} while (0)

static uint64_t cell[8];

int main(void)
{
	fault_catch(SIGILL);
	for (int i = 0; i < 5; i++) {
		ILLEGAL("0x0f, 0x0b");		   /* ud2 */
		ILLEGAL("0x0f, 0xb9, 0xc0");	   /* ud1 */
		ILLEGAL("0x0f, 0xff, 0xc0");	   /* ud0 */
		ILLEGAL("0x06");		   /* push es */
		ILLEGAL("0x27");		   /* daa */
		ILLEGAL("0x60");		   /* pusha */
		ILLEGAL("0xce");		   /* into */
		ILLEGAL("0xd4, 0x0a");		   /* aam */
		ILLEGAL("0x9a, 1, 2, 3, 4, 5, 6"); /* far call */
		ILLEGAL("0xea, 1, 2, 3, 4, 5, 6"); /* far jump */
		ILLEGAL("0xf0, 0x01, 0xc8");	   /* lock add reg */
		ILLEGAL("0xf0, 0x8b, 0x07");	   /* lock mov */
		ILLEGAL("0xf0, 0x90");		   /* lock nop */
		ILLEGAL("0x8d, 0xc0");		   /* lea of a register */
		ILLEGAL("0xff, 0xf8");		   /* group 5, /7 */
		ILLEGAL("0xc7, 0xc8, 0, 0, 0, 0"); /* group 11, /1 */
		ILLEGAL("0x0f, 0xc7, 0xc8");	   /* cmpxchg8b of a register */
		ILLEGAL("0xf0, 0x48, 0xa3, 1, 2, 3, 4, 5, 6, 7, 8");
		ILLEGAL("0x0f, 0x04"); /* no such opcode */
	}
	return guest_end();
}
