/* engine/lock.c - a lock for threads that share nothing but memory.
 *
 * Three states: free, held, held with somebody asleep. A thread that holds it
 * cannot be entered by a signal handler that wants it: handlers take no lock
 * but AT_CACHE, where none is held. */
#include "engine/engine.h"

#include "inside/sys.h"

static int try_take(struct engine_lock *l)
{
	uint32_t is_free = 0;

	return __atomic_compare_exchange_n(&l->word, &is_free, 1, 0,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void engine_lock(struct engine_lock *l)
{
	enum { SPINS = 100 };

	for (int i = 0; i < SPINS; i++) {
		if (try_take(l))
			return;
		__builtin_ia32_pause();
	}
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
		sys_call(SYS_NR_FUTEX, (uint64_t)&l->word,
			 SYS_FUTEX_WAIT | SYS_FUTEX_PRIVATE, 2, 0, 0, 0);
}

void engine_unlock(struct engine_lock *l)
{
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		sys_call(SYS_NR_FUTEX, (uint64_t)&l->word,
			 SYS_FUTEX_WAKE | SYS_FUTEX_PRIVATE, 1, 0, 0, 0);
}
