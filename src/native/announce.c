/* native/announce.c - this thread is about to become another program.
 *
 * Nothing of hark's is in there any more; so hark is told, and the thread waits
 * until hark is with it (probe/along.h), or says that it need not. It does not
 * wait for a hark that is no more, nor for ever: then that is counted. */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "native/home.h"

enum { NAP_NS = 5000000, NAPS = 2000, NR_KILL = 62, NO_SUCH = -3 };

static void nap(const uint32_t *word, uint32_t value)
{
	const int64_t time[2] = {0, NAP_NS};

	sys_call(SYS_NR_FUTEX, (uint64_t)(uintptr_t)word, SYS_FUTEX_WAIT, value,
		 (uint64_t)(uintptr_t)time, 0, 0);
}

static bool hark_lives(const struct collect_plan *plan)
{
	const struct collect_removal *r =
	    collect_at(plan, __atomic_load_n(&plan->removal, __ATOMIC_ACQUIRE));

	return sys_call3(NR_KILL, r->hark, 0, 0) != NO_SUCH;
}

/* Of what is not seen from another pid namespace nothing is known. */
static bool hark_is_dead(const struct collect_plan *plan)
{
	enum { NR_STAT = 4, INODE = 1, WORDS = 18 };
	const struct collect_removal *r =
	    collect_at(plan, __atomic_load_n(&plan->removal, __ATOMIC_ACQUIRE));
	uint64_t stat[WORDS] = {0};

	return !hark_lives(plan) &&
	       sys_call3(NR_STAT, (uint64_t)(uintptr_t) "/proc/self/ns/pid",
			 (uint64_t)(uintptr_t)stat, 0) == 0 &&
	       stat[INODE] == r->space;
}

/* From one value to another, as soon as that can be; false: too late. */
static bool change(const struct collect_plan *plan, uint32_t *word,
		   uint32_t from, uint32_t to)
{
	for (unsigned i = 0; i < NAPS && hark_lives(plan); i++) {
		uint32_t is = from;

		if (__atomic_compare_exchange_n(
			word, &is, to, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
		nap(word, is);
	}
	return false;
}

static void ring(struct collect_board *b)
{
	__atomic_fetch_add(&b->bell, 1, __ATOMIC_SEQ_CST);
	sys_call3(SYS_NR_FUTEX, (uint64_t)(uintptr_t)&b->bell, SYS_FUTEX_WAKE,
		  1);
}

bool native_announce(void)
{
	const struct collect_plan *plan = native_plan();
	uint32_t pid = (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0), is;
	struct collect_board *b = (struct collect_board *)plan->board;

	if (!(plan->flags & COLLECT_EXECS) ||
	    (!(plan->flags & COLLECT_FOLLOWS) && pid != plan->pid))
		return true;
	if (!change(plan, &b->exec, COLLECT_NO_EXEC, COLLECT_EXEC_TAKEN)) {
		__atomic_fetch_add(&b->exec_missed, 1, __ATOMIC_RELAXED);
		return hark_is_dead(plan);
	}
	b->exec_pid = pid;
	b->exec_tid = (uint32_t)sys_call3(SYS_NR_GETTID, 0, 0, 0);
	__atomic_store_n(&b->exec, COLLECT_EXEC_ASKED, __ATOMIC_RELEASE);
	ring(b);
	/* hark makes it free again when all is over. */
	if (change(plan, &b->exec, COLLECT_EXEC_HEARD, COLLECT_EXEC_ON))
		return true;
	__atomic_fetch_add(&b->exec_missed, 1, __ATOMIC_RELAXED);
	is = COLLECT_EXEC_ASKED;
	__atomic_compare_exchange_n(&b->exec, &is, COLLECT_NO_EXEC, 0,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return hark_is_dead(plan);
}
