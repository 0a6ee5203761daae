/* native/profile.c - clauses of profile-N, in a signal handler.
 *
 * They run as those of a hit do, with the frame that a trampoline would have
 * made. All signals are blocked but SIGSEGV and SIGBUS, for clauses read the
 * program's memory (native_read). One of these that somebody has sent must
 * not be blocked instead, or the next bad read would be deadly: it is kept on
 * the stack, and sent again when the clauses are done.
 *
 * Before that the time is taken, by an instruction that the program may have
 * forbidden to itself (PR_SET_TSC): under a guard, and the kernel is asked if
 * that does not go well. So clauses need not look themselves. */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "native/home.h"

enum { KINDS = 2 };

/* Signals that were sent meanwhile, one of each kind. */
struct kept {
	uint64_t set;
	struct sig_info info[KINDS];
};

static const uint64_t open_ones = SIG_BIT(SIG_SEGV) | SIG_BIT(SIG_BUS);

/* -- Time -- */

struct look {
	struct collect_area *area;
	uint64_t time_ns, began;
};

static void look_at_clock(void *ctx)
{
	struct look *l = ctx;

	native_set_mask(SIG_ALL & ~open_ones);
	l->began = collect_stopwatch(l->area);
	l->time_ns = collect_time(&native_plan()->clock);
	native_set_mask(SIG_ALL);
}

/* -- The program's state as a frame -- */

void native_fill_frame(const struct native_state *s, struct probe_frame *out)
{
	for (unsigned r = 0; r < 16; r++)
		out->gpr[r] = s->gpr[r];
	out->pc = s->pc;
	out->flags = (s->flags & 0xff) << 8 | ((s->flags & X86_OF) != 0);
	out->how = s->flags & X86_DF ? TRAMPOLINE_DOWN : TRAMPOLINE_STATUS;
	out->pad = 0;
}

/* -- Clauses -- */

void native_open_faults(struct native_thread *t, void (*f)(void *ctx),
			void *ctx)
{
	struct kept kept = {.set = 0};

	t->kept = (uint64_t)&kept;
	native_set_mask(SIG_ALL & ~open_ones);
	f(ctx);
	native_set_mask(SIG_ALL);
	t->kept = 0;
	for (unsigned i = 0; i < KINDS; i++)
		if (kept.set & 1u << i)
			native_send(&kept.info[i]);
}

struct clauses {
	struct collect_area *area;
	struct probe_frame frame;
	uint64_t time_ns;
};

static void run_clauses(void *ctx)
{
	struct clauses *c = ctx;

	collect_profile(c->area, &c->frame, c->time_ns);
}

void native_profile(struct collect_area *area, const struct native_state *s)
{
	const struct collect_clock unknown = {0};
	struct native_thread *t = (void *)area->native;
	struct look l = {.area = area};
	struct clauses c = {.area = area};
	bool knows = native_guarded(look_at_clock, &l, &t->guard);

	c.time_ns = knows ? l.time_ns : collect_time(&unknown);
	native_fill_frame(s, &c.frame);
	native_open_faults(t, run_clauses, &c);
	if (knows)
		collect_took(area, collect_stopwatch(area) - l.began);
}

bool native_keeps(const struct sig_frame *frame)
{
	const struct native_thread *t;
	struct kept *kept;
	unsigned i;

	if (!(SIG_BIT(frame->info.signo) & open_ones) || frame->info.code > 0)
		return false;
	t = native_find();
	if (!t || t->kept == 0)
		return false;
	kept = (struct kept *)t->kept;
	i = frame->info.signo == SIG_BUS;
	if (!(kept->set & 1u << i))
		kept->info[i] = frame->info;
	kept->set |= 1u << i;
	return true;
}
