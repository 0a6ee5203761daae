/* tests/unit/trap_flag.h - the flag that makes each instruction a SIGTRAP. */
#ifndef TRAP_FLAG_H
#define TRAP_FLAG_H

#include <stdbool.h>

static inline void set_trap_flag(bool on)
{
	__asm__ volatile("sub $128, %%rsp\n\t"
			 "pushf\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "orq %0, (%%rsp)\n\t"
			 "popf\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "r"(on ? 0x100ul : 0ul)
			 : "memory", "cc");
}

#endif
