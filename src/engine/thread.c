/* engine/thread.c - slots, and the calls that make and end threads.
 *
 * A thread of the program is a thread of the kernel, made by the program's own
 * call with its own flags; only its stack is the engine's, and the program's
 * is loaded when it enters the cache. So tids, tls, robust lists, pidfds and
 * exit signals are the kernel's business throughout.
 *
 *	with CLONE_VM	  a slot of its own, in the same memory
 *	without (fork)	  the same slot, in a copy of all memory; the other
 *			  threads' slots are free there
 *
 * L1  While a thread is made, forked or ended, its signals are blocked.
 * L2  A slot is given back by the thread itself, without a stack, at its very
 *     end; by its parent, if the parent waited for it (vfork).
 * L3  Slots are taken under threads_lock; given back without any lock. */
#include "engine/call_priv.h"

#include "engine/memory.h"
#include "engine/plan.h"
#include "engine/shadow.h"
#include "engine/sighand.h"
#include "engine/signal_priv.h"
#include "engine/tape.h"
#include "inside/mem.h"
#include "inside/sys.h"

enum {
	NR_CLONE = 56,
	NR_FORK = 57,
	NR_VFORK = 58,
	NR_CLONE3 = 435,
	SIG_CHLD = 17,
	PAGE = 4096,
};
#define CLONE_VM_	 0x100ull
#define CLONE_SIGHAND_	 0x800ull
#define CLONE_VFORK_	 0x4000ull
#define CLONE_THREAD_	 0x10000ull
#define CLONE_CLEAR_SIG_ 0x100000000ull

int64_t thread_clone_native(int64_t nr, const uint64_t args[6],
			    struct vcpu *child);
_Noreturn void thread_leave(struct vcpu *v, struct vcpu **free,
			    struct vcpu **free_slots, uint32_t *state,
			    uint64_t code, int64_t nr);

/* -- Slots ----------------------------------------------------------------- */

static int has_shadows(const struct engine *e)
{
	return (e->flags & WIRE_RUN_RECORD) != 0;
}

/* From one slot to the next: with a shadow behind it if it is recorded, and
 * its first pages again behind that (engine/shadow.h). */
static uint64_t slot_stride(const struct engine *e)
{
	return has_shadows(e) ? SLOT_SIZE + WIRE_SHADOW_SIZE + SLOT_SIZE
			      : SLOT_SIZE;
}

/* Aligned memory away from where the program's mappings go. */
static int64_t map_slots(struct engine *e, uint64_t len)
{
	enum { TRIES = 64 };
	const unsigned prot =
	    has_shadows(e) ? SYS_PROT_NONE : SYS_PROT_READ | SYS_PROT_WRITE;
	int64_t at;

	memory_allow(e->memory, len + SLOT_SIZE);
	if (e->slot_hint == 0)
		e->slot_hint = e->image_start - (1ull << 32);
	for (int i = 0; i < TRIES && e->slot_hint > len; i++) {
		e->slot_hint = (e->slot_hint - len) & ~(SLOT_SIZE - 1ull);
		at = sys_map(e->slot_hint, len, prot,
			     SYS_MAP_FIXED_NOREPLACE | SYS_MAP_NORESERVE);
		if (at == (int64_t)e->slot_hint) {
			memory_note(e->memory, (uint64_t)at, len);
			return at;
		}
		e->slot_hint -= len << i / 8;
	}
	at = sys_map(0, len + SLOT_SIZE, prot, SYS_MAP_NORESERVE);
	if (sys_failed(at)) {
		memory_allow(e->memory, 0);
		return at;
	}
	memory_note(e->memory, (uint64_t)at, len + SLOT_SIZE);
	return (int64_t)(((uint64_t)at + SLOT_SIZE - 1) & ~(SLOT_SIZE - 1ull));
}

/* A shadow is not inherited (a child's begins empty), not worth huge pages,
 * and not for core files. Nor is it locked in memory, if the program has asked
 * for that (do_mlockall): all of it would be there as soon as it could be
 * written to. -1: there is no memory. */
static int prepare_shadow(uint64_t slot, uint64_t len)
{
	static const uint8_t advice[] = {18, 15, 16};
	const unsigned rw = SYS_PROT_READ | SYS_PROT_WRITE;

	sys_call3(SYS_NR_MUNLOCK, slot, len, 0);
	if (sys_failed(sys_call3(SYS_NR_MPROTECT, slot, len, rw)))
		return -1;
	for (unsigned i = 0; i < sizeof advice; i++)
		sys_call3(SYS_NR_MADVISE, slot + SLOT_SIZE, len - SLOT_SIZE,
			  advice[i]);
	return 0;
}

static void push_free(struct engine *e, struct vcpu *v)
{
	v->free = __atomic_load_n(&e->free_slots, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&e->free_slots, &v->free, v, 0,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* As many again as there are, within reason. */
static void more_slots(struct engine *e)
{
	enum { AT_ONCE = 64 };
	uint64_t n = e->n_slots == 0 ? 1 : e->n_slots;
	uint64_t stride = slot_stride(e);
	int64_t at;

	if (n > AT_ONCE)
		n = AT_ONCE;
	if (has_shadows(e))
		n = 1;
	at = map_slots(e, n * stride);
	if (sys_failed(at) ||
	    (has_shadows(e) && prepare_shadow((uint64_t)at, stride) < 0))
		return;
	for (uint64_t i = 0; i < n; i++) {
		struct vcpu *v = (void *)((uint64_t)at + i * stride);

		v->next = e->vcpus;
		__atomic_store_n(&e->vcpus, v, __ATOMIC_RELEASE);
		push_free(e, v);
	}
	e->n_slots += (uint32_t)n;
}

/* Others push while this pops, but nobody else pops. */
static struct vcpu *pop_free(struct engine *e)
{
	struct vcpu *v = __atomic_load_n(&e->free_slots, __ATOMIC_ACQUIRE);

	while (v &&
	       !__atomic_compare_exchange_n(&e->free_slots, &v, v->free, 0,
					    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		;
	return v;
}

struct vcpu *thread_new(struct engine *e)
{
	const uint64_t behind = offsetof(struct vcpu, next) + sizeof(void *);
	struct vcpu *v;

	engine_lock(&e->threads_lock);
	v = pop_free(e);
	if (!v) {
		more_slots(e);
		v = pop_free(e);
	}
	engine_unlock(&e->threads_lock);
	if (!v)
		return 0;
	if (has_shadows(e) && shadow_join(vcpu_gs(v)) < 0) {
		push_free(e, v);
		return 0;
	}
	memset(v, 0, offsetof(struct vcpu, next));
	memset((uint8_t *)v + behind, 0, sizeof *v - behind);
	v->self = v;
	v->engine = e;
	v->stack = (uint64_t)v + SLOT_SIZE;
	v->cs = CS_64;
	v->ss = SS_USER;
	__atomic_store_n(&v->slot_state, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&e->n_threads, 1, __ATOMIC_RELAXED);
	return v;
}

void thread_free(struct vcpu *v)
{
	if (v->tape)
		tape_gone(v);
	sighand_drop(v->sighand);
	v->sighand = 0;
	__atomic_store_n(&v->slot_state, 0, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&v->engine->n_threads, 1, __ATOMIC_RELAXED);
	push_free(v->engine, v);
}

/* -- Counting -------------------------------------------------------------- */

#define RAN(field) offsetof(struct wire_stats, ran_##field)
static const uint16_t ran_at[COUNT_MAX] = {
    [COUNT_BLOCKS] = RAN(blocks),     [COUNT_INSTRUCTIONS] = RAN(instructions),
    [COUNT_LOADS] = RAN(loads),	      [COUNT_STORES] = RAN(stores),
    [COUNT_CALLS] = RAN(calls),	      [COUNT_RETURNS] = RAN(returns),
    [COUNT_BRANCHES] = RAN(branches), [COUNT_SYSCALLS] = RAN(syscalls),
};
#undef RAN

static void add_cells(struct vcpu *v)
{
	uint8_t *stats = (uint8_t *)&v->engine->run->stats;

	for (unsigned i = 0; i < COUNT_MAX; i++)
		if (v->cells[i] != 0)
			engine_count((uint64_t *)(stats + ran_at[i]),
				     v->cells[i]);
}

void thread_count(struct vcpu *v)
{
	if (!v->engine->run)
		return;
	add_cells(v);
	memset(v->cells, 0, sizeof v->cells);
}

static void count_all(struct engine *e)
{
	if (!e->run)
		return;
	for (struct vcpu *v = e->vcpus; v; v = v->next)
		if (v->slot_state != 0)
			add_cells(v);
}

/* -- L1 -------------------------------------------------------------------- */

static void native_mask(uint64_t mask)
{
	sys_call(SYS_NR_RT_SIGPROCMASK, MASK_SET, (uint64_t)&mask, 0, SET_SIZE,
		 0, 0);
}

/* -1: a signal goes first. */
static int begin_quiet(const struct vcpu *v, uint64_t mask)
{
	native_mask(mask);
	if (!__atomic_load_n(&v->held, __ATOMIC_RELAXED))
		return 0;
	native_mask(signal_native(v));
	return -1;
}

static void end_quiet(const struct vcpu *v)
{
	native_mask(signal_native(v));
}

/* -- What is asked for ----------------------------------------------------- */

/* struct clone_args, by 8 bytes */
enum { C3_FLAGS, C3_STACK = 5, C3_STACK_SIZE = 6, C3_MIN = 8, C3_MAX = 512 };

struct birth {
	uint64_t flags;
	uint64_t stack; /* the program's, for the child; 0: the same */
	int64_t nr;
	uint64_t args[6];
	uint64_t c3[C3_MAX]; /* clone3's own */
};

/* -1: the kernel will refuse it, whatever it is. */
static int birth_clone3(struct birth *p, const struct call *c)
{
	uint64_t len = c->args[1];

	if (len < C3_MIN * 8ull || len > sizeof p->c3 ||
	    guest_copy(p->c3, (const void *)c->args[0], len) != 0)
		return -1;
	p->flags = p->c3[C3_FLAGS];
	if ((p->c3[C3_STACK] == 0) != (p->c3[C3_STACK_SIZE] == 0))
		return -1;
	p->stack = p->c3[C3_STACK] + p->c3[C3_STACK_SIZE];
	p->args[0] = (uint64_t)p->c3;
	p->c3[C3_STACK] = p->c3[C3_STACK_SIZE] = 0;
	return 0;
}

static int birth_plan(struct birth *p, const struct call *c)
{
	p->nr = c->nr;
	p->stack = 0;
	for (unsigned i = 0; i < 6; i++)
		p->args[i] = c->args[i];
	if (c->nr == NR_CLONE3)
		return birth_clone3(p, c);
	if (c->nr == NR_CLONE) {
		p->flags = (uint32_t)c->args[0];
		p->stack = c->args[1];
	} else {
		p->flags = c->nr == NR_VFORK ? CLONE_VM_ | CLONE_VFORK_ : 0;
		memset(p->args, 0, sizeof p->args);
	}
	p->nr = NR_CLONE;
	p->args[0] = p->flags;
	if (c->nr != NR_CLONE)
		p->args[0] |= SIG_CHLD;
	p->args[1] = 0;
	return 0;
}

static void birth_stack(struct birth *p, const struct vcpu *child)
{
	enum { LEN = SLOT_SIZE - SLOT_SIGNAL };

	if (p->nr == NR_CLONE3) {
		p->c3[C3_STACK] = child->stack - LEN;
		p->c3[C3_STACK_SIZE] = LEN;
	} else {
		p->args[1] = child->stack;
	}
}

/* -- fork ------------------------------------------------------------------ */

/* had: what was kept of signals before. SIGSYS is not blocked, and may be the
 * child's own. */
static void child_of_fork(struct vcpu *v, const struct birth *p, uint64_t had)
{
	struct engine *e = v->engine;

	e->free_slots = 0;
	e->memory->lock = 0;
	for (struct vcpu *u = e->vcpus; u; u = u->next)
		if (u != v) {
			u->slot_state = 0;
			push_free(e, u);
		}
	e->n_threads = 1;
	memset(v->cells, 0, sizeof v->cells);
	v->tid = (uint32_t)sys_call3(SYS_NR_GETTID, 0, 0, 0);
	leave_forked(v);
	v->sighand->refs = 1;
	sent_drop(v, had | (SIG_ALL & ~SIG_BIT(SIG_SYS)));
	if (e->no_new_code & 2) /* not inherited */
		e->no_new_code = 0;
	v->call_dispatch = 0;
	e->lock_later = 0; /* nor are locks */
	v->is_vfork = v->is_process = 0;
	if (v->tape)
		tape_forked(v, 1);
	signal_recheck(v);
	if (p->stack != 0)
		v->gpr[RSP] = p->stack;
	if (p->flags & CLONE_CLEAR_SIG_)
		sighand_clear(v->sighand);
	if (e->run) {
		engine_count(&e->run->stats.processes, 1);
		engine_count(&e->run->stats.threads, 1);
	}
}

static int64_t do_fork(struct vcpu *v, const struct birth *p)
{
	struct engine *e = v->engine;
	const uint64_t *a = p->args;
	uint64_t had;
	int64_t answer;

	engine_lock(&e->lock);
	engine_lock(&e->threads_lock);
	engine_lock(&v->sighand->lock);
	had = v->sent;
	if (v->tape)
		tape_fork(v);
	answer = sys_call(p->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (answer == 0)
		child_of_fork(v, p, had);
	engine_unlock(&v->sighand->lock);
	engine_unlock(&e->threads_lock);
	engine_unlock(&e->lock);
	return answer;
}

/* -- Threads, and processes in the same memory ----------------------------- */

static int copy_state(struct vcpu *child, const struct vcpu *v,
		      const struct birth *p)
{
	vcpu_prepare(child, v->engine);
	if (v->tape)
		tape_new_thread(child, v, WIRE_START_THREAD);
	child->tid = 0; /* until it has begun */
	memcpy(child->gpr, v->gpr, sizeof child->gpr);
	child->gpr[RAX] = 0;
	child->gpr[RCX] = v->pc + SYSCALL_LEN;
	child->gpr[R11] = v->rflags;
	if (p->stack != 0)
		child->gpr[RSP] = p->stack;
	child->pc = v->pc + SYSCALL_LEN;
	child->rflags = v->rflags;
	child->gs_base = v->gs_base;
	child->stepping = v->stepping;
	child->cs = v->cs;
	child->ss = v->ss;
	child->exit_reason = EXIT_GO;
	child->seccomp = v->seccomp;
	child->filters = v->filters;
	child->is_vfork = (p->flags & CLONE_VFORK_) != 0;
	child->is_process = !(p->flags & CLONE_THREAD_);
	child->forgets = (p->flags & CLONE_CLEAR_SIG_) != 0;
	child->altstack = v->altstack;
	if (!child->is_vfork)
		child->altstack =
		    (struct vcpu_altstack){.flags = STACK_DISABLE};
	signal_start_thread(child, v);
	child->sighand = p->flags & CLONE_SIGHAND_ ? sighand_share(v->sighand)
						   : sighand_copy(v->sighand);
	return child->sighand ? 0 : -1;
}

/* Called by the new thread, on its own stack, all signals blocked. */
void thread_begin(struct vcpu *v);
void thread_begin(struct vcpu *v)
{
	struct wire_run *run = v->engine->run;

	v->tid = (uint32_t)sys_call3(SYS_NR_GETTID, 0, 0, 0);
	sent_offer(v); /* other threads had no name for this one */
	if (v->forgets)
		sighand_clear(v->sighand);
	if (run) {
		engine_count(&run->stats.threads, 1);
		engine_count(&run->stats.processes, v->is_process);
	}
	signal_open(v);
}

static int64_t do_thread(struct vcpu *v, struct birth *p)
{
	struct vcpu *child = thread_new(v->engine);
	int64_t answer;

	if (!child)
		return -ERR_AGAIN;
	if (copy_state(child, v, p) < 0) {
		thread_free(child);
		return -ERR_NOMEM;
	}
	birth_stack(p, child);
	answer = thread_clone_native(p->nr, p->args, child);
	/* If nobody waited for it, its slot may be another's already. */
	if (answer < 0 || (p->flags & CLONE_VFORK_))
		thread_free(child);
	return answer;
}

/* Recorded code does without tickets (mirror_order.c) while there is only one
 * thread. Whoever enters the cache next has it made anew. */
static void expect_company(struct vcpu *v, const struct birth *p)
{
	struct engine *e = v->engine;

	if (!v->tape || p->flags & CLONE_VFORK_ || e->has_company)
		return;
	e->has_company = 1;
	__atomic_store_n(&e->old_code, 1, __ATOMIC_SEQ_CST);
}

/* What is sent to a child of fork before it knows that it is one would be taken
 * for its parent's: it waits. A filter may answer the call itself with SIGSYS.
 * A thread begins with the mask of its maker. */
static uint64_t quiet_mask(const struct birth *p)
{
	if (p->flags & CLONE_VM_)
		return SIG_ALL & ~SIG_SYNC;
	return SIG_ALL & ~SIG_BIT(SIG_SYS);
}

int64_t call_clone(struct vcpu *v, const struct call *c)
{
	struct birth p;
	int64_t answer;

	if (birth_plan(&p, c) < 0)
		return call_pass(v, c);
	if (begin_quiet(v, quiet_mask(&p)) < 0)
		return ENGINE_ABORTED;
	if (p.flags & CLONE_VM_)
		expect_company(v, &p);
	answer = p.flags & CLONE_VM_ ? do_thread(v, &p) : do_fork(v, &p);
	end_quiet(v);
	return answer;
}

/* -- Ends ------------------------------------------------------------------ */

static _Noreturn void end_with_slot(struct vcpu *v, const struct call *c)
{
	struct engine *e = v->engine;

	sighand_drop(v->sighand);
	__atomic_fetch_sub(&e->n_threads, 1, __ATOMIC_RELAXED);
	thread_leave(v, &v->free, &e->free_slots, &v->slot_state, c->args[0],
		     c->nr);
}

static _Noreturn void end_simply(const struct call *c)
{
	for (;;)
		sys_call3(c->nr, c->args[0], 0, 0);
}

int64_t call_exit(struct vcpu *v, const struct call *c)
{
	if (begin_quiet(v, SIG_ALL) < 0)
		return ENGINE_ABORTED;
	thread_count(v);
	if (v->tape)
		tape_end(v, WIRE_END_THREAD, 0, 0, 0);
	if (v->is_vfork)
		end_simply(c);
	end_with_slot(v, c);
}

/* A process in others' memory counts for itself and leaves its slot there. */
int64_t call_exit_group(struct vcpu *v, const struct call *c)
{
	if (!v->is_process) {
		if (v->tape)
			tape_end(v, WIRE_END_PROCESS, 0, 0, 0);
		count_all(v->engine);
		end_simply(c);
	}
	if (begin_quiet(v, SIG_ALL) < 0)
		return ENGINE_ABORTED;
	thread_count(v);
	if (v->tape)
		tape_end(v, WIRE_END_PROCESS, 0, 0, 0);
	if (v->is_vfork)
		end_simply(c);
	end_with_slot(v, c);
}
