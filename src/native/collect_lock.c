/* native/collect_lock.c - locks whose holder may be gone.
 *
 * Whoever holds one may be preempted, stopped or killed. Nobody waits for ever:
 * after COLLECT_PATIENCE tries it is given up, and each failure halves the
 * patience of all until one of them succeeds, so that a program whose lock is
 * held by the dead goes on at its pace. */
#include "inside/sys.h"
#include "native/collect_board.h"

enum { SPINS = 64, IMPATIENT = 16 }; /* one try is left */

bool collect_lock(struct collect_lock *l, uint32_t area)
{
	uint32_t shift = __atomic_load_n(&l->impatience, __ATOMIC_RELAXED);
	uint32_t tries =
	    COLLECT_PATIENCE >> (shift < IMPATIENT ? shift : IMPATIENT);

	for (uint32_t i = 0; i < tries; i++) {
		uint32_t nobody = 0;

		if (__atomic_compare_exchange_n(&l->word, &nobody, area + 1,
						false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED)) {
			if (shift != 0)
				__atomic_store_n(&l->impatience, 0,
						 __ATOMIC_RELAXED);
			return true;
		}
		if (i < SPINS)
			__builtin_ia32_pause();
		else
			sys_call3(SYS_NR_SCHED_YIELD, 0, 0, 0);
	}
	if (shift < IMPATIENT)
		__atomic_store_n(&l->impatience, shift + 1, __ATOMIC_RELAXED);
	return false;
}

void collect_unlock(struct collect_lock *l)
{
	__atomic_store_n(&l->word, 0, __ATOMIC_RELEASE);
}
