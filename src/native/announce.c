/* native/announce.c - this thread is about to become another program.
 *
 * Nothing of hark's is in there any more; so hark is told, and the thread waits
 * until hark is with it (probe/along.h), or says that it need not. It does not
 * wait for a hark that is no more, nor for ever: then that is counted. Requests
 * are those of wire/run.h: a thread that is stopped or killed while it makes
 * one holds nothing that others need. */
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

static void ring(struct collect_board *b)
{
	__atomic_fetch_add(&b->bell, 1, __ATOMIC_SEQ_CST);
	sys_call3(SYS_NR_FUTEX, (uint64_t)(uintptr_t)&b->bell, SYS_FUTEX_WAKE,
		  1);
}

struct request {
	const struct collect_plan *plan;
	struct collect_board *board;
	uint32_t pid, tid;
	unsigned naps; /* how often it has waited */
};

static bool may_wait(struct request *r)
{
	return r->naps++ < NAPS && hark_lives(r->plan);
}

/* NULL: too late. A thread that runs reads its answer soon, so no answer is
 * replaced before there was time for that. */
static uint64_t *make_request(struct request *r, uint64_t word)
{
	enum { SOON = 20 };
	uint32_t nobody_wakes = 0;

	while (may_wait(r)) {
		uint64_t *at =
		    wire_ask_take(r->board->execs, r->board->exec_serial, word,
				  r->naps > SOON);

		if (at)
			return at;
		nap(&nobody_wakes, 0);
	}
	return NULL;
}

/* What hark says; NONE: nothing, for too long. */
static enum wire_ask_state ask_once(struct request *r)
{
	uint32_t serial =
	    __atomic_add_fetch(&r->board->exec_serial, 1, __ATOMIC_RELAXED);
	uint64_t word = wire_ask_of(r->pid, r->tid, serial), is = word;
	uint64_t *at = make_request(r, word);

	if (!at)
		return WIRE_ASK_NONE;
	while ((is = __atomic_load_n(at, __ATOMIC_ACQUIRE)) == word &&
	       may_wait(r)) {
		/* Each time: hark passes over threads that are stopped. */
		ring(r->board);
		nap((const uint32_t *)at, (uint32_t)word);
	}
	if (!wire_ask_same(is, word))
		return WIRE_ASK_LATER;
	if (!__atomic_compare_exchange_n(at, &is, 0, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED) &&
	    !wire_ask_same(is, word))
		return WIRE_ASK_LATER;
	return wire_ask_state(is) == WIRE_ASK_ASKED ? WIRE_ASK_NONE
						    : wire_ask_state(is);
}

bool native_announce(void)
{
	const struct collect_plan *plan = native_plan();
	struct request r = {.plan = plan,
			    .board = (struct collect_board *)plan->board,
			    .pid = (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0),
			    .tid = (uint32_t)sys_call3(SYS_NR_GETTID, 0, 0, 0)};
	enum wire_ask_state answer;
	uint32_t nobody_wakes = 0;

	if (!(plan->flags & COLLECT_EXECS) ||
	    (!(plan->flags & COLLECT_FOLLOWS) && r.pid != plan->pid))
		return true;
	while ((answer = ask_once(&r)) == WIRE_ASK_LATER)
		nap(&nobody_wakes, 0);
	if (answer != WIRE_ASK_NONE)
		return true;
	__atomic_fetch_add(&r.board->exec_missed, 1, __ATOMIC_RELAXED);
	return hark_is_dead(plan);
}
