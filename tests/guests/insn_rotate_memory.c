/* tests/guests/insn_rotate_memory.c - what rotates of memory leave in the
 * flags.
 *
 * By more than one bit OF is undefined. On some processors a rotate by an
 * immediate computes it if it is of memory, and leaves it alone if it is of a
 * register. The sum must be that of the same instructions run natively: who
 * takes a register instead of the memory gets another one there. */
#include "guest.h"

static uint64_t sum = 1;

/* clang-format off */
#define ROTATE(op, size, n) \
	do { \
		struct regs r = {.f = flags}; \
		uint64_t memory = value; \
		r.si = (uint64_t)&memory; \
		RUN(op size " $" #n ", (%%rsi)", r); \
		sum = guest_hash(sum, &r.f, sizeof r.f); \
		sum = guest_hash(sum, &memory, sizeof memory); \
	} while (0)
#define SIZES(op, n) \
	ROTATE(op, "b", n); ROTATE(op, "w", n); \
	ROTATE(op, "l", n); ROTATE(op, "q", n)
#define COUNTS(op) \
	SIZES(op, 0); SIZES(op, 1); SIZES(op, 2); SIZES(op, 7); SIZES(op, 8); \
	SIZES(op, 9); SIZES(op, 17); SIZES(op, 28); SIZES(op, 32); SIZES(op, 63)
/* One function an instruction: gcc takes 15 s for all of them in one. */
#define ALL_OF(op) \
	static __attribute__((noinline)) void all_##op(uint64_t value, \
						       uint64_t flags) \
	{ \
		COUNTS(#op); \
	}
ALL_OF(rol) ALL_OF(ror) ALL_OF(rcl) ALL_OF(rcr)
ALL_OF(shl) ALL_OF(shr) ALL_OF(sar)

static void all(uint64_t value, uint64_t flags)
{
	all_rol(value, flags);
	all_ror(value, flags);
	all_rcl(value, flags);
	all_rcr(value, flags);
	all_shl(value, flags);
	all_shr(value, flags);
	all_sar(value, flags);
}
/* clang-format on */

int main(void)
{
	uint64_t state = 1;

	for (int i = 0; i < 50; i++) {
		all(guest_random(&state), 0);
		all(guest_random(&state), STATUS);
	}
	printf("%016lx\n", sum);
	return guest_end();
}
