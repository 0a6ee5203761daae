/* native/rewrite.c - a program that makes probed code writable gets it back.
 *
 * Programs that change their own code (hot patches, static keys) would write
 * into the jumps of probes, or into instructions of which a trampoline has a
 * copy. Code is not writable as a rule: who wants to change it asks for that
 * first, by mprotect. So these calls are hooked: what they make writable loses
 * its probes, for good, before the call returns.
 *
 * Other threads may execute these bytes meanwhile. So each patch is taken back
 * in three steps, between which all processors come to see the same bytes:
 *
 *	e9 d0 d1 d2 d3		the jump
 *	cc d0 d1 d2 d3		who comes here tries again (native_is_giving)
 *	cc b1 b2 b3 b4		all but the first byte are the program's
 *	b0 b1 b2 b3 b4
 *
 * Trampolines stay: threads in one go on to the program's code.
 *
 * G1  .at of struct native_given has a range before a trap in it is no longer
 *     one of ours, and after all bytes in it are the program's.
 * G2  If a hooked system call is among what is given up, all is: without it
 *     hark does not know any more what the program does with signals, and
 *     traps must not depend on them. */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "native/home.h"
#include "native/numbers.h"

enum { PAGE = 4096, ERR_PERM = 1 };

/* What becomes writable, and by which call. */
struct rewrite {
	uint64_t from, to;   /* of the call: the program may write there */
	uint64_t low, high;  /* what is given up */
	const uint64_t *gpr; /* of the call */
	bool is_open;	     /* it may be written to from here */
	uint32_t n;	     /* patches */
};

static uint32_t pid_now(void)
{
	return (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
}

/* -- Changes -- */

static const struct collect_change *all_changes(uint64_t *n)
{
	const struct collect_plan *plan = native_plan();
	const struct collect_index *index = native_index(plan);

	*n = index->changes.n;
	return collect_at(plan, index->changes.offset);
}

/* How many begin at or before an address. */
static uint64_t changes_until(const struct collect_change *all, uint64_t n,
			      uint64_t addr)
{
	uint64_t lo = 0, hi = n;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (all[mid].at <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Those that may depend on [from, to) are among the k-th to the last before
 * *end: a patch is far smaller than a page. */
static uint64_t changes_near(const struct collect_change *all, uint64_t n,
			     uint64_t from, uint64_t to, uint64_t *end)
{
	*end = to < UINT64_MAX - PAGE ? changes_until(all, n, to + PAGE) : n;
	return from > PAGE ? changes_until(all, n, from - PAGE) : 0;
}

/* -- Asking -- */

/* The change that an address is in, or behind it with the instructions that are
 * moved; 0: none. */
static const struct collect_change *change_of(uint64_t pc)
{
	uint64_t n;
	const struct collect_change *all = all_changes(&n);
	uint64_t k = changes_until(all, n, pc);

	return k > 0 && pc < all[k - 1].at + all[k - 1].after ? &all[k - 1] : 0;
}

/* Is something else there, which was mapped over it? */
static bool is_replaced(const struct collect_change *c)
{
	uint8_t now[COLLECT_BYTES];

	if (c->len > COLLECT_BYTES ||
	    !native_read((const void *)c->at, now, c->len))
		return false;
	for (unsigned k = 0; k < c->len; k++)
		if (now[k] != c->bytes[k] && now[k] != c->old[k] &&
		    (k > 0 || now[k] != 0xcc))
			return true;
	return false;
}

bool native_is_given(uint64_t pc)
{
	const struct native_given *g = &native_home_all()->given;
	uint64_t n = __atomic_load_n(&g->n, __ATOMIC_ACQUIRE);
	const struct collect_change *c = change_of(pc);

	if (c && is_replaced(c))
		return true;
	for (uint64_t i = 0; c && i < n; i++)
		if (collect_depends(c, g->at[i].from, g->at[i].to))
			return true;
	return false;
}

/* -- Writing -- */

static int64_t protect(const struct rewrite *w, uint64_t prot)
{
	const uint64_t *g = w->gpr;

	return sys_call((int64_t)g[X86_RAX], g[X86_RDI], g[X86_RSI], prot,
			g[X86_R10], 0, 0);
}

/* All processors fetch instructions anew. Where membarrier is not to be had, a
 * page that loses a right for a moment makes the kernel interrupt them. */
static void sync_code(const struct rewrite *w)
{
	enum { NR_MEMBARRIER = 324, SYNC_CORE = 1 << 5, REGISTER = 1 << 6 };
	const uint64_t prot = w->gpr[X86_RDX];
	bool may_ask = !native_home_all()->calm.is_over;
	int64_t answer =
	    may_ask ? sys_call3(NR_MEMBARRIER, SYNC_CORE, 0, 0) : -1;

	if (answer == -ERR_PERM && may_ask &&
	    sys_call3(NR_MEMBARRIER, REGISTER, 0, 0) == 0)
		answer = sys_call3(NR_MEMBARRIER, SYNC_CORE, 0, 0);
	if (answer == 0)
		return;
	protect(w, prot & ~(uint64_t)SYS_PROT_WRITE);
	protect(w, prot);
}

/* Where it would fault (a key forbids it, or the call has failed half-way) the
 * kernel writes, or refuses to. */
static bool write_carefully(uint64_t at, const uint8_t *bytes, uint64_t len)
{
	enum { NR_PROCESS_VM_WRITEV = 311 };
	const uint64_t from[2] = {(uint64_t)bytes, len}, to[2] = {at, len};

	return sys_call(NR_PROCESS_VM_WRITEV, pid_now(), (uint64_t)from, 1,
			(uint64_t)to, 1, 0) == (int64_t)len;
}

static bool is_writable(uint64_t at)
{
	uint8_t byte;

	return native_read((const void *)at, &byte, 1) &&
	       write_carefully(at, &byte, 1);
}

static void write_bytes(const struct rewrite *w, uint64_t at,
			const uint8_t *bytes, uint64_t len)
{
	const uint64_t first = at & -(uint64_t)PAGE,
		       end = (at + len + PAGE - 1) & -(uint64_t)PAGE;
	const bool is_theirs = at >= w->from && at + len <= w->to;
	const uint64_t code = SYS_PROT_READ | SYS_PROT_EXEC;

	if (len == 0)
		return;
	if (is_theirs && !w->is_open) {
		write_carefully(at, bytes, len);
		return;
	}
	if (!is_theirs && sys_call3(SYS_NR_MPROTECT, first, end - first,
				    code | SYS_PROT_WRITE) != 0)
		return;
	for (uint64_t k = 0; k < len; k++)
		((volatile uint8_t *)at)[k] = bytes[k];
	/* A page of the call keeps the rights that the program gave it. */
	if (!is_theirs)
		sys_call3(SYS_NR_MPROTECT, first, end - first, code);
	if (!is_theirs && first < w->to && end > w->from)
		protect(w, w->gpr[X86_RDX]);
}

/* A call that fails has opened all before what it failed at, or nothing: what
 * it has not opened stays as it is. */
static void limit_to_opened(struct rewrite *w, const struct collect_change *all,
			    uint64_t n)
{
	uint64_t end, k = changes_near(all, n, w->from, w->to, &end);

	for (; k < end; k++)
		if (all[k].at >= w->from && all[k].at < w->to &&
		    !is_writable(all[k].at)) {
			w->to = all[k].at & -(uint64_t)PAGE;
			return;
		}
}

/* -- Giving up -- */

enum step { STEP_TRAP, STEP_REST, STEP_FIRST };

/* Is a patch as the step before has left it? */
static bool is_ready(const struct collect_change *c, enum step step)
{
	uint8_t now[COLLECT_BYTES];
	const uint8_t *rest = step == STEP_FIRST ? c->old : c->bytes;

	if (c->len == 0 || c->len > COLLECT_BYTES ||
	    !native_read((const void *)c->at, now, c->len) ||
	    now[0] != (step == STEP_TRAP ? c->bytes[0] : 0xcc))
		return false;
	for (unsigned k = 1; k < c->len; k++)
		if (now[k] != rest[k])
			return false;
	return true;
}

static void take_step(struct rewrite *w, const struct collect_change *c,
		      enum step step)
{
	static const uint8_t trap = 0xcc;

	if (!is_ready(c, step))
		return;
	if (step == STEP_TRAP)
		write_bytes(w, c->at, &trap, 1);
	else if (step == STEP_REST)
		write_bytes(w, c->at + 1, c->old + 1, c->len - 1u);
	else
		write_bytes(w, c->at, c->old, 1);
	w->n += step == STEP_FIRST;
}

static void take_steps(struct rewrite *w, const struct collect_change *all,
		       uint64_t n)
{
	uint64_t end, first = changes_near(all, n, w->low, w->high, &end);

	for (unsigned step = STEP_TRAP; step <= STEP_FIRST; step++) {
		for (uint64_t k = first; k < end; k++)
			if (collect_depends(&all[k], w->low, w->high))
				take_step(w, &all[k], (enum step)step);
		sync_code(w);
	}
}

/* Is there a patch, and is one of them a hook? */
static bool has_changes(const struct collect_change *all, uint64_t n,
			uint64_t from, uint64_t to, bool *has_hook)
{
	uint64_t end, k = changes_near(all, n, from, to, &end);
	bool any = false;

	for (; k < end; k++)
		if (collect_depends(&all[k], from, to)) {
			any = true;
			*has_hook |= all[k].is_hook != 0;
		}
	return any;
}

/* G1. Without room for one more, all is given up, which needs one alone. */
static void note_given(struct native_given *g, const struct rewrite *w)
{
	uint64_t n = w->high == UINT64_MAX ? 0 : g->n;

	g->at[n].from = w->low;
	g->at[n].to = w->high;
	__atomic_store_n(&g->n, n + 1, __ATOMIC_RELEASE);
}

static bool is_noted(const struct native_given *g, uint64_t from, uint64_t to)
{
	for (uint64_t i = 0; i < g->n; i++)
		if (from >= g->at[i].from && to <= g->at[i].to)
			return true;
	return false;
}

/* A child that is not followed says nothing to hark. */
static void count_given(uint32_t n)
{
	const struct collect_plan *plan = native_plan();
	const struct collect_table *table = (const void *)plan->table;
	struct collect_board *board = (void *)plan->board;

	if (plan->magic == COLLECT_MAGIC && plan->board != 0 &&
	    __atomic_load_n(&table->pid, __ATOMIC_ACQUIRE) != COLLECT_APART)
		__atomic_fetch_add(&board->given, n, __ATOMIC_RELAXED);
}

static void give_up(struct rewrite *w, const struct collect_change *all,
		    uint64_t n)
{
	struct native_given *g = &native_home_all()->given;
	bool has_hook = false;

	if (is_noted(g, w->from, w->to) ||
	    !has_changes(all, n, w->from, w->to, &has_hook))
		return;
	w->low = w->from;
	w->high = w->to;
	if (has_hook || g->n == NATIVE_GIVEN) { /* G2 */
		w->low = 0;
		w->high = UINT64_MAX;
	}
	__atomic_store_n(&g->giver, pid_now(), __ATOMIC_SEQ_CST);
	take_steps(w, all, n);
	note_given(g, w);
	__atomic_store_n(&g->giver, 0, __ATOMIC_RELEASE);
	count_given(w->n);
}

/* A child of fork has the bytes as they were while a thread of its parent was
 * at it, and only one thread. */
static void put_back(const struct collect_change *c)
{
	const uint64_t none[16] = {0};
	struct rewrite w = {.gpr = none};

	write_bytes(&w, c->at, c->old, c->len);
}

bool native_is_giving(uint64_t pc)
{
	const struct native_given *g = &native_home_all()->given;
	uint32_t giver = __atomic_load_n(&g->giver, __ATOMIC_ACQUIRE);
	const struct collect_change *c;

	if (giver == 0)
		return false;
	c = change_of(pc);
	if (!c || c->at != pc)
		return false;
	if (giver != pid_now() && !native_is_guest())
		put_back(c);
	return true;
}

uint64_t native_protect(const struct probe_frame *frame, int64_t *answer)
{
	const uint64_t *g = frame->gpr;
	struct rewrite w = {.from = g[X86_RDI] & -(uint64_t)PAGE, .gpr = g};
	uint64_t n, len = g[X86_RSI];
	const struct collect_change *all = all_changes(&n);
	bool has_hook = false;
	uint32_t pid;

	w.to = (g[X86_RDI] + len + PAGE - 1) & -(uint64_t)PAGE;
	if (!(g[X86_RDX] & SYS_PROT_WRITE) || w.to <= w.from ||
	    !has_changes(all, n, w.from, w.to, &has_hook))
		return 0;
	pid = native_lock();
	*answer = protect(&w, g[X86_RDX]);
	w.is_open = *answer == 0 && g[X86_RAX] == NR_MPROTECT;
	if (*answer != 0)
		limit_to_opened(&w, all, n);
	if (w.from < w.to)
		give_up(&w, all, n);
	native_unlock(pid);
	return 1;
}
