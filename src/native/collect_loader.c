/* native/collect_loader.c - a thread has loaded a library, or unloaded one.
 *
 * The loader calls an empty function before and after it changes its list, for
 * debuggers to stop at: there is a site of hark's own. The thread waits there
 * until hark has put probes into what is new, so that not even the library's
 * initialisers are missed. hark may have been killed: the wait is short then,
 * and it is the last one. */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "native/native.h"

enum {
	WAIT_NS = 50000000, /* then hark is looked for */
	WAITS = 100,
	NO_SUCH_PROCESS = -3,
};

static bool is_whole(const struct collect_plan *plan)
{
	const uint32_t *state = (const uint32_t *)(uintptr_t)plan->loader_state;

	return __atomic_load_n(state, __ATOMIC_RELAXED) == 0;
}

bool collect_hark_is_dead(const struct collect_plan *plan)
{
	return plan->hark != 0 &&
	       sys_call3(SYS_NR_KILL, plan->hark, 0, 0) == NO_SUCH_PROCESS;
}

static bool is_done(const struct collect_loader *l, uint32_t mine)
{
	uint32_t done = __atomic_load_n(&l->done, __ATOMIC_ACQUIRE);

	return (int32_t)(done - mine) >= 0 ||
	       __atomic_load_n(&l->away, __ATOMIC_ACQUIRE) != 0;
}

static void wait_for(struct collect_work *w, struct collect_loader *l,
		     uint32_t mine)
{
	const uint64_t time[2] = {0, WAIT_NS};

	for (unsigned i = 0; i < WAITS && !is_done(l, mine); i++) {
		uint32_t done = __atomic_load_n(&l->done, __ATOMIC_ACQUIRE);

		if (collect_hark_is_dead(w->plan))
			break;
		if ((int32_t)(done - mine) < 0)
			sys_call(SYS_NR_FUTEX, (uint64_t)(uintptr_t)&l->done,
				 SYS_FUTEX_WAIT, done,
				 (uint64_t)(uintptr_t)time, 0, 0);
	}
	if (!is_done(l, mine))
		__atomic_store_n(&l->away, 1, __ATOMIC_RELEASE);
}

/* A child of fork has libraries of its own; with the first one hark gives it a
 * plan of its own (insert_branch.c), at the same place. If that went wrong, the
 * index of the plan that is there is another process's. */
void collect_tell_loaded(struct collect_work *w)
{
	struct collect_loader *l = &w->board->loader;
	uint32_t mine;

	if (w->plan->loader_state == 0 || !is_whole(w->plan))
		return;
	mine = __atomic_add_fetch(&l->asked, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&w->board->loading[mine % COLLECT_LOADING],
			 w->area->pid, __ATOMIC_SEQ_CST);
	collect_ring(w->board);
	wait_for(w, l, mine);
	if (w->area->pid != *(const volatile uint32_t *)&w->plan->pid)
		return;
	/* What hark has published meanwhile, or sooner or later. */
	__atomic_store_n(&native_home()->index,
			 __atomic_load_n(&w->plan->index, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}
