/* probe/native_sample.c - a clock of hark's has interrupted the thread.
 *
 * The signal is SIGTRAP, which is never really blocked (N3): from an event of
 * the kernel's that counts the thread's CPU time (CODE_PERF), or from a timer
 * of it where there are no such events (CODE_TIMER). Nothing of the program is
 * changed: its state is found out on a copy, the stack is walked, a record is
 * written, and the thread goes on.
 *
 *	in the program		its registers
 *	in a trampoline		as trampoline_native() tells
 *	in native.S		as the probe's frame has it
 *	in a hooked call	as the hook's frame has it
 *	in C of the image else	not to be told: counted as recursed
 *
 * The walk reads the program's memory by plain loads. What is not there ends
 * the sample (native_guarded), which is counted as faulted. SIGSEGV and SIGBUS
 * are open for that; one that somebody has sent ends the sample, too, and is
 * sent again: it comes when the handler is done. */
#include "inside/sys.h"
#include "probe/collect_priv.h"
#include "probe/native_numbers.h"
#include "probe/native_priv.h"

/* On an alternate stack there may be little room. */
enum { NEEDED = 4096 };

bool native_is_tick(const struct sig_info *info)
{
	if (info->signo != SIG_TRAP ||
	    !(native_plan()->flags & COLLECT_SAMPLES))
		return false;
	return info->code == CODE_PERF	  ? info->perf_data == COLLECT_TICK
	       : info->code == CODE_TIMER ? info->value == COLLECT_TICK
					  : false;
}

/* ORDER frame_cpu: DWARF's numbers of registers, and hardware's. */
static void set_cpu(const uint64_t gpr[16], uint64_t pc, struct frame_cpu *out)
{
	static const uint8_t hardware[16] = {0, 2, 1,  3,  6,  7,  5,  4,
					     8, 9, 10, 11, 12, 13, 14, 15};

	for (unsigned i = 0; i < 16; i++)
		out->reg[i] = gpr[hardware[i]];
	out->reg[FRAME_RIP] = pc;
	out->known = (1u << FRAME_REGS) - 1;
	out->exact = true;
}

static bool has_room(const struct sig_frame *frame)
{
	const struct sig_stack *s = &frame->uc.stack;
	uint64_t at = (uint64_t)frame;

	return at - s->sp >= s->size || at - s->sp >= NEEDED;
}

/* -- The walk -- */

struct walk {
	const struct collect_plan *plan;
	struct collect_area *area;
	struct unwind_maps *maps;
	const struct frame_cpu *cpu;
	bool asks; /* the kernel for the time: the processor does not tell */
	uint64_t time_ns, began;
	struct unwind_sample out;
};

/* Both signals are open in here alone: one that waits already comes at once. */
static void walk(void *ctx)
{
	struct walk *w = ctx;
	const struct collect_index *index = native_index(w->plan);
	const struct unwind_space space = {
	    .code = collect_at(w->plan, index->frames.offset),
	    .n_code = index->frames.n,
	    .base = (const uint8_t *)w->plan,
	    .generation = index->generation,
	    .cache = collect_cache(w->plan),
	    .scan = w->plan->scan,
	};

	native_set_mask(SIG_ALL & ~(SIG_BIT(SIG_SEGV) | SIG_BIT(SIG_BUS)));
	if (!w->asks) {
		w->began = collect_stopwatch(w->area);
		w->time_ns = collect_time(&w->plan->clock);
	}
	unwind_sample(&space, w->maps, w->cpu, &w->out);
	native_set_mask(SIG_ALL);
}

static bool guarded(struct native_thread *t, struct walk *w)
{
	const struct collect_clock unknown = {0};

	if (native_guarded(walk, w, &t->guard))
		return true;
	if (w->time_ns != 0)
		return false;
	/* The program has forbidden rdtsc (PR_SET_TSC), to itself, too. */
	w->asks = true;
	w->time_ns = collect_time(&unknown);
	return native_guarded(walk, w, &t->guard);
}

static enum collect_fate sample(struct collect_area *area,
				const struct frame_cpu *cpu)
{
	struct native_thread *t = (void *)area->native;
	struct walk w = {.plan = native_plan(), .area = area, .cpu = cpu};
	enum collect_fate fate;

	w.maps = collect_maps(area);
	if (!guarded(t, &w)) {
		collect_forget_sample(area);
		return FATE_FAULTED;
	}
	fate = collect_put_sample(area, w.time_ns, &w.out);
	if (!w.asks)
		collect_took(area, collect_stopwatch(area) - w.began);
	return fate;
}

static void take(const struct sig_frame *frame, struct collect_area *area,
		 const uint64_t gpr[16], uint64_t pc)
{
	const struct collect_plan *plan = native_plan();
	struct frame_cpu cpu;

	if (area->busy || !has_room(frame) || native_is_guest()) {
		collect_sampled(plan, area, FATE_RECURSED);
		return;
	}
	if (frame->info.code == CODE_TIMER) {
		native_ticked((void *)area->native);
		collect_overran(area, frame->info.uid);
	}
	if (collect_passes(area))
		return;
	set_cpu(gpr, pc, &cpu);
	collect_sampled(plan, area, sample(area, &cpu));
}

void native_sample(const struct sig_frame *frame, const uint64_t gpr[16],
		   uint64_t pc)
{
	const struct collect_plan *plan = native_plan();
	struct collect_area *area = collect_area(plan, sys_fs_base());

	if (!area) {
		if (((const struct collect_table *)plan->table)->pid !=
		    COLLECT_APART)
			collect_sampled(plan, NULL, FATE_DROPPED);
		return;
	}
	take(frame, area, gpr, pc);
}

/* It is making a system call for the program, or something of its own. */
void native_sample_in_image(const struct sig_frame *frame)
{
	const struct native_thread *t = native_find();
	struct collect_area *area =
	    t && t->fs == 0
		? (void *)((uint8_t *)t - offsetof(struct collect_area, native))
		: NULL;
	uint64_t gpr[16], flags = 0, pc;

	if (!area || t->hook == 0) {
		collect_sampled(native_plan(), area, FATE_RECURSED);
		return;
	}
	trampoline_frame_native((const struct probe_frame *)t->hook, gpr,
				&flags, &pc);
	take(frame, area, gpr, pc);
}

/* -- A signal of the program's that the tick has hidden -- */

/* Of one kind only one waits in a thread: a SIGTRAP that it sent to itself
 * (native_wake) while a tick was waiting was dropped. */
void native_uncover(void)
{
	const struct native_thread *t = native_find();
	uint64_t pending = 0;

	if (!t || !(t->pass & SIG_BIT(SIG_TRAP)))
		return;
	sys_call3(NR_PENDING, (uint64_t)&pending, SET_SIZE, 0);
	if (!(pending & SIG_BIT(SIG_TRAP)))
		native_send(native_held(t, SIG_TRAP));
}

/* -- What ends one -- */

bool native_ends_sample(struct sig_frame *frame)
{
	int64_t *g = frame->uc.context.gregs;
	struct native_thread *t;

	if (frame->info.signo != SIG_SEGV && frame->info.signo != SIG_BUS)
		return false;
	t = native_find();
	if (!t || t->guard == 0)
		return false;
	if (frame->info.code <= 0)
		native_send(&frame->info);
	frame->uc.mask = SIG_ALL;
	g[GREG_RSP] = (int64_t)t->guard;
	g[GREG_RIP] = (int64_t)native_guarded_bad;
	return true;
}
