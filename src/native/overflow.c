/* native/overflow.c - a hit for which the program's stack has no room.
 *
 * A trampoline saves registers below the program's stack pointer, and the
 * collector runs below them. A program may have less left than that, up to the
 * guard of its stack, and go on without ever meeting it; or it meets it, and
 * handles the fault on its alternate stack. Either must be as without probes.
 *
 * So each way into C first looks at the last byte that it may need
 * (native_hit_now, collect_fire_with_room()). If that faults, or a store of the
 * trampoline does, nothing has been done yet, and the program's state is known.
 * The hit then happens on a stack of hark's, in the handler of SIGSEGV, after
 * which the thread resumes at the moved instruction:
 *
 *	trampoline:  save registers   call handler   restore   instruction
 *			  |		  |			^
 *			fault		fault			|
 *			  +---------------+--> hit elsewhere ---+
 *
 * If the instruction itself needs more stack than there is, it faults as the
 * program's own.
 *
 * What is left: without an alternate stack the kernel ends the program, where
 * it would have got on. And a hooked system call is made by native_call(),
 * which changes masks and so cannot run here: the program then sees a fault at
 * the system call, as if its stack had overflowed there. */
#include "native/collect_board.h"
#include "native/home.h"

#define PLACE extern const uint8_t __attribute__((visibility("hidden")))
PLACE native_hit_look[], native_hit_call[];

/* A hit that is about to happen. */
struct hit {
	struct native_state s;
	struct probe_frame frame;
	uint64_t cookie;
	uint64_t next; /* where the thread goes on */
	struct native_thread *t;
};

/* -- Where -- */

/* At an address of a trampoline, with the state being s. */
static bool find_hit(uint64_t at, struct hit *out)
{
	unsigned offset;
	const struct trampoline *t = native_code_at(at, &offset);
	int k = t ? trampoline_firing(t, offset) : -1;

	if (k < 0)
		return false;
	out->cookie = t->fire[k].cookie;
	out->next = at - offset + t->fire[k].end;
	return true;
}

static bool in_trampoline(const struct sig_frame *frame, struct hit *out)
{
	const int64_t *g = frame->uc.context.gregs;
	uint64_t pc = (uint64_t)g[GREG_RIP];
	const struct trampoline *t;
	unsigned offset;

	if (!find_hit(pc, out))
		return false;
	for (unsigned r = 0; r < 16; r++)
		out->s.gpr[r] = (uint64_t)g[greg_of(r)];
	out->s.flags = (uint64_t)g[GREG_EFL];
	t = native_code_at(pc, &offset);
	return trampoline_native(t, offset, out->s.gpr, &out->s.flags,
				 &out->s.pc) == 0;
}

/* The trampoline has made its frame, and called. */
static bool with_frame(const struct sig_frame *frame, uint64_t at,
		       struct hit *out)
{
	const uint64_t back = *(const uint64_t *)((at & -16ull) - 8);

	if (!find_hit(back - 1, out))
		return false;
	out->s.flags = (uint64_t)frame->uc.context.gregs[GREG_EFL];
	trampoline_frame_native((const struct probe_frame *)at, out->s.gpr,
				&out->s.flags, &out->s.pc);
	return true;
}

/* It has entered its area as busy. */
static bool in_collector(const struct sig_frame *frame, struct hit *out)
{
	const int64_t *g = frame->uc.context.gregs;
	struct native_thread *t = native_find();

	if (!t || t->fs != 0 || !with_frame(frame, (uint64_t)g[GREG_RDI], out))
		return false;
	native_area(t)->busy = 0;
	return true;
}

static bool find_out(const struct sig_frame *frame, struct hit *out)
{
	const int64_t *g = frame->uc.context.gregs;
	uint64_t pc = (uint64_t)g[GREG_RIP];

	if (pc == (uint64_t)collect_fire_with_room)
		return in_collector(frame, out);
	if (pc >= (uint64_t)native_hit_look && pc <= (uint64_t)native_hit_call)
		return with_frame(frame, (uint64_t)g[GREG_RBX], out);
	return in_trampoline(frame, out);
}

/* -- Elsewhere -- */

static void fire(void *ctx)
{
	struct hit *h = ctx;

	collect_hit(&h->frame, h->cookie);
}

/* A thread without an area has no clauses, only a count. */
static void fire_here(void *ctx)
{
	struct hit *h = ctx;

	if (h->t)
		native_open_faults(h->t, fire, h);
	else
		fire(h);
}

/* There is no stack for it either: as if the thread were in a probe already. */
static void count_lost(const struct hit *h)
{
	const struct collect_site *site = (const void *)h->cookie;
	struct native_thread *t = h->t;

	if (t && t->fs == 0)
		collect_recursed(site, native_area(t));
	else
		collect_nobody(native_plan(), site);
}

bool native_overflows(struct sig_frame *frame)
{
	int64_t *g = frame->uc.context.gregs;
	struct hit h;

	if ((frame->info.signo != SIG_SEGV && frame->info.signo != SIG_BUS) ||
	    frame->info.code <= 0 || !find_out(frame, &h))
		return false;
	native_fill_frame(&h.s, &h.frame);
	h.t = native_make();
	if (!native_aside(frame, fire_here, &h))
		count_lost(&h);
	for (unsigned r = 0; r < 16; r++)
		g[greg_of(r)] = (int64_t)h.s.gpr[r];
	g[GREG_EFL] = (int64_t)h.s.flags;
	g[GREG_RIP] = (int64_t)h.next;
	return true;
}
