/* native/wait.c - system calls that wait with a mask of their own, and
 * those that start another program.
 *
 * A wait is made from here, with all signals blocked until the kernel opens
 * the mask: so none can come in between and be slept over. One that ends it
 * arrives in C and waits (N2); then it is sent again under the mask of the
 * call, and the program's handler returns to the mask before it. */
#include "inside/sys.h"
#include "native/home.h"
#include "native/numbers.h"

struct wait {
	int64_t nr;
	uint64_t args[6];
	uint64_t mask;	  /* the program's */
	uint64_t real;	  /* .args point to it */
	uint64_t pair[2]; /* of pselect6 */
};

static bool take_mask(struct wait *w, uint64_t *at, uint64_t size)
{
	if (*at == 0 || size != SET_SIZE || !native_readable(*at, SET_SIZE))
		return false;
	w->mask = *(const uint64_t *)*at;
	w->real = w->mask & ~native_home()->ours;
	*at = (uint64_t)&w->real;
	return true;
}

static bool take_pair(struct wait *w, uint64_t *at)
{
	const uint64_t *pair = (const uint64_t *)*at;

	if (*at == 0 || !native_readable(*at, sizeof w->pair))
		return false;
	w->pair[0] = pair[0];
	w->pair[1] = pair[1];
	*at = (uint64_t)w->pair;
	return take_mask(w, &w->pair[0], w->pair[1]);
}

static bool take(struct wait *w)
{
	uint64_t *a = w->args;

	switch (w->nr) {
	case NR_SUSPEND:
		return take_mask(w, &a[0], a[1]);
	case NR_PSELECT:
		return take_pair(w, &a[5]);
	case NR_PPOLL:
		return take_mask(w, &a[3], a[4]);
	default:
		return take_mask(w, &a[4], a[5]);
	}
}

static void get_args(const struct probe_frame *frame, uint64_t args[6])
{
	static const uint8_t regs[6] = {X86_RDI, X86_RSI, X86_RDX,
					X86_R10, X86_R8,  X86_R9};

	for (unsigned i = 0; i < 6; i++)
		args[i] = frame->gpr[regs[i]];
}

static int64_t make(int64_t nr, const uint64_t a[6])
{
	return sys_call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* What ours have ended though nobody wants them is begun again. */
static int64_t wait(struct native_thread *t, const struct wait *w)
{
	int64_t answer;

	t->wait_mask = w->real;
	t->wait_blocked = w->mask & native_home()->ours;
	t->waits = 1;
	native_let_through(t, t->wait_blocked);
	do
		answer = t->counted ? -ERR_INTR : make(w->nr, w->args);
	while (answer == -ERR_INTR && !t->counted);
	return answer;
}

/* 0: with a signal that came before, that goes first and the call is made once
 * more afterwards. */
uint64_t native_wait(struct probe_frame *frame, int64_t *answer)
{
	struct wait w = {.nr = (int64_t)frame->gpr[X86_RAX]};
	struct native_thread *t;
	uint64_t old;

	get_args(frame, w.args);
	if (!take(&w))
		return 0;
	t = native_make();
	if (!t)
		t = native_find_or_spare();
	if (!t)
		return 0;
	old = native_set_mask(SIG_ALL) & ~native_home()->ours;
	if (t->counted) {
		native_come_back(t, old);
		return 0;
	}
	*answer = wait(t, &w);
	t->waits = t->counted;
	if (t->counted) {
		t->masked = 1;
		t->back = old;
	} else {
		native_drop(t);
		native_set_mask(old);
	}
	return 1;
}

/* -- Another program -- */

/* Signals of ours that the program ignores. */
static uint64_t ignored(const struct native_home *home)
{
	uint64_t set = 0;

	for (int sig = 1; sig <= SIG_MAX; sig++)
		if (home->known.ours & SIG_BIT(sig) &&
		    home->known.program[sig].handler == SIG_IS_IGNORED)
			set |= SIG_BIT(sig);
	return set;
}

static void set_actions(const struct collect_home *home, uint64_t set,
			bool real)
{
	for (; set != 0; set &= set - 1) {
		int sig = __builtin_ctzll(set) + 1;
		struct collect_action a = home->program[sig];

		if (!real)
			a = native_action(home, sig, &a,
					  (uint64_t)native_handler,
					  (uint64_t)native_restorer);
		native_set_action(sig, &a, 0);
	}
}

/* The event ends when the call is past its point of no return; a tick before
 * that comes when the new program begins, and would kill it. hark keeps it
 * away; where hark has not come along, only this does, and the new program has
 * SIGTRAP ignored. */
static void spare(bool from_tick)
{
	static const struct collect_action ignore = {.handler = SIG_IS_IGNORED};

	if (from_tick)
		native_set_action(SIG_TRAP, &ignore, 0);
}

/* Ignored and blocked signals are inherited, held ones go on pending. If it
 * fails they come back, here. */
uint64_t native_exec(struct probe_frame *frame, int64_t *answer)
{
	struct native_home *home = native_home_all();
	struct native_thread *t = native_make();
	uint64_t set = ignored(home), args[6], old;
	uint64_t blocked = native_own_blocked(t);
	bool alone = !native_announce() && native_plan()->flags & COLLECT_TICKS;

	if (set == 0 && blocked == 0 && !alone)
		return 0;
	old = native_set_mask(SIG_ALL) & ~home->known.ours;
	if (t && t->counted) {
		native_come_back(t, old);
		return 0;
	}
	set_actions(&home->known, set, true);
	spare(alone);
	for (unsigned i = 0; t && i < NATIVE_HELD; i++)
		if (t->held & SIG_BIT(t->held_info[i].signo))
			native_send(&t->held_info[i]);
	if (t)
		t->held = 0;
	native_set_mask(old | blocked);
	get_args(frame, args);
	*answer = make((int64_t)frame->gpr[X86_RAX], args);
	set_actions(&home->known, alone ? set | SIG_BIT(SIG_TRAP) : set, false);
	if (!t || !t->masked)
		native_set_mask(old);
	return 1;
}
