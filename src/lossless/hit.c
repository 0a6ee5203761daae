/* lossless/hit.c - a thread has met a trap word.
 *
 * It looks up the original instruction, counts, puts the original into its own
 * scratch space and goes on there. The next program counter of a machine that
 * has one stays as the trap found it: a probe in a delay slot then needs
 * nothing special. What depends on its own address is emulated.
 *
 * All this runs with all signals blocked, so that nobody sees it half done, in
 * the middle of whatever the thread was doing: no function of libc is called,
 * which might have a probe, and memory comes from the kernel directly. (H1,
 * held by tests/end-to-end/lossless.sh: the object knows no name from
 * outside.) */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lossless/lossless_priv.h"

struct lossless lossless;

static __thread struct thread *self;

_Atomic(struct site *) *lossless_find(uint64_t at)
{
	uint64_t i = at * 0x9e3779b97f4a7c15U >> 20;

	for (;; i++) {
		_Atomic(struct site *) *place =
		    &lossless.table[i & lossless.table_mask];
		struct site *s =
		    atomic_load_explicit(place, memory_order_acquire);

		if (s == NULL || s->insn.at == at)
			return place;
	}
}

/* -- Memory ---------------------------------------------------------------- */

/* There is no way to go on without losing something. */
static _Noreturn void give_up(const char *why, size_t len)
{
	machine_call(SYS_write, 2, (long)why, (long)len, 0, 0, 0);
	machine_call(SYS_exit_group, 127, 0, 0, 0, 0, 0);
	__builtin_trap();
}
#define GIVE_UP(why) give_up("lossless: " why "\n", sizeof "lossless: " why)

static void *map(uint64_t at, size_t len, int protection, int flags)
{
	long p = machine_call(SYS_mmap, (long)at, (long)len, protection,
			      MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

/* The first free place from where the last one was found, in steps, in both
 * directions. */
static void *map_near(struct region *r, size_t len)
{
	enum { STEP = 1 << 20 };
	uint64_t from = atomic_load(&r->next);

	for (uint64_t d = 0; d < 2 * machine.reach; d += STEP)
		for (int up = 0; up < 2; up++) {
			uint64_t at = up ? from + d : from - d;
			void *p;

			if (at - (r->anchor - machine.reach) >
			    2 * machine.reach - len)
				continue; /* out of reach */
			p = map(at, len, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_FIXED_NOREPLACE);
			if (p != (void *)at) {
				if (p != NULL)
					machine_call(SYS_munmap, (long)p,
						     (long)len, 0, 0, 0, 0);
				continue;
			}
			atomic_store(&r->next, at);
			return p;
		}
	return NULL;
}

static uint8_t *map_scratch(struct region *r)
{
	size_t len = ((size_t)lossless.max_sites * machine.slot_len + 0xffff) &
		     ~(size_t)0xffff;
	uint8_t *p = machine.reach != 0
			 ? map_near(r, len)
			 : map(0, len, PROT_READ | PROT_WRITE | PROT_EXEC, 0);

	if (p == NULL)
		GIVE_UP("no memory for a thread's scratch space");
	return p;
}

static void thread_add(struct thread *t)
{
	t->is_loaded = (uint8_t *)&t->count[lossless.max_probes];
	t->number = atomic_fetch_add(&lossless.n_threads, 1);
	t->next = atomic_load(&lossless.threads);
	while (!atomic_compare_exchange_weak(&lossless.threads, &t->next, t))
		;
}

static struct thread *thread_new(void)
{
	size_t counts = lossless.max_probes * sizeof(uint64_t);
	struct thread *t =
	    map(0, sizeof(struct thread) + counts + lossless.max_sites,
		PROT_READ | PROT_WRITE, 0);

	if (t != NULL) {
		thread_add(t);
		return t;
	}
	GIVE_UP("no memory for a thread's counts");
}

/* L3 */
static const void *slot_of(struct thread *t, const struct site *s)
{
	uint8_t **scratch = &t->scratch[s->region], *slot;

	if (*scratch == NULL)
		*scratch = map_scratch(&lossless.regions[s->region]);
	slot = *scratch + (size_t)s->number * machine.slot_len;
	if (!t->is_loaded[s->number]) {
		machine_load(&s->insn, slot);
		t->is_loaded[s->number] = 1;
	}
	return slot;
}

/* -- Traps of others ------------------------------------------------------- */

/* The signal again, once more and to no handler: at the return from this one
 * the kernel does with it what it would have done at first. */
static void as_default(struct machine_trap *trap)
{
	long pid = machine_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	long tid = machine_call(SYS_gettid, 0, 0, 0, 0, 0, 0);

	machine_no_handler();
	machine_call(SYS_rt_tgsigqueueinfo, pid, tid, machine.signal,
		     (long)trap->info, 0, 0);
}

static void pass_on(struct machine_trap *trap)
{
	const struct sigaction *a = atomic_load(&lossless.previous);
	int is_sent = trap->info->si_code <= 0;
	uint64_t mask;

	if (a->sa_handler == SIG_IGN && is_sent)
		return;
	if (a->sa_handler == SIG_IGN || a->sa_handler == SIG_DFL) {
		as_default(trap);
		return;
	}
	mask = machine_mask(trap) | a->sa_mask.__val[0];
	mask &= ~(1UL << (machine.signal - 1));
	machine_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0,
		     sizeof mask, 0, 0);
	if (a->sa_flags & SA_SIGINFO)
		a->sa_sigaction(machine.signal, trap->info, trap->context);
	else
		a->sa_handler(machine.signal);
}

/* -- A hit ----------------------------------------------------------------- */

static void count(struct thread *t, const struct site *s,
		  const struct machine_trap *trap)
{
	const struct link *l =
	    atomic_load_explicit(&s->links, memory_order_acquire);

	for (; l != NULL; l = l->next_here) {
		_Atomic uint64_t *n = &t->count[l->probe];

		if (!atomic_load_explicit(&lossless.probes[l->probe].is_on,
					  memory_order_relaxed))
			continue;
		if (l->is_leaving && machine_target(trap, &s->insn) - l->start <
					 l->end - l->start)
			continue;
		atomic_store_explicit(
		    n, atomic_load_explicit(n, memory_order_relaxed) + 1,
		    memory_order_relaxed); /* L4 */
	}
}

void lossless_hit(struct machine_trap *trap)
{
	struct site *s = atomic_load(lossless_find(machine_trap_at(trap)));

	if (s == NULL || !machine_is_trap(trap, &s->insn)) {
		pass_on(trap);
		return;
	}
	if (self == NULL)
		self = thread_new();
	count(self, s, trap);
	if (!machine_emulate(trap, &s->insn))
		machine_resume(trap, slot_of(self, s));
}

/* -- What a thread may ask anywhere ---------------------------------------- */

int lossless_self(void)
{
	return self != NULL ? (int)self->number : -1;
}

/* All threads are looked through: a new one may still be in the slot in which
 * its parent made it. */
static int find_slot(uint64_t pc, unsigned *number, uint8_t **slot)
{
	const struct thread *t = atomic_load(&lossless.threads);
	uint64_t len = (uint64_t)lossless.max_sites * machine.slot_len;

	for (; t != NULL; t = t->next)
		for (unsigned r = 0; r < REGIONS; r++) {
			uint64_t off = pc - (uint64_t)t->scratch[r];

			if (t->scratch[r] == NULL || off >= len)
				continue;
			*number = (unsigned)(off / machine.slot_len);
			*slot =
			    t->scratch[r] + (size_t)*number * machine.slot_len;
			return 1;
		}
	return 0;
}

int lossless_native(const void *context, struct lossless_place *out)
{
	unsigned number;
	uint8_t *slot;

	machine_place(context, out);
	if (!find_slot(out->pc, &number, &slot))
		return 0;
	machine_native(context, &lossless.sites[number].insn, slot, out);
	return 1;
}
