/* native/sample.c - the stack of a thread that a tick has interrupted.
 *
 * The stack is walked, and a record is written. The walk reads the program's
 * memory by plain loads. What is not there ends the sample (native_guarded),
 * which is counted as faulted. SIGSEGV and SIGBUS are open for that; one that
 * somebody has sent ends the sample, too, and is sent again: it comes when the
 * handler is done. */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "native/home.h"

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

/* -- The walk -- */

struct walk {
	const struct collect_plan *plan;
	const struct collect_index *index; /* another one may come meanwhile */
	struct collect_area *area;
	struct unwind_maps *maps;
	const struct frame_cpu *cpu;
	bool asks; /* the kernel for the time: the processor does not tell */
	uint64_t time_ns, began;
	bool has_looked;
	struct unwind_calm calm;
	struct unwind_sample out;
};

/* What is not there does not end the sample. */
static bool try_read(void *ctx, uint64_t at, void *out, uint32_t len)
{
	(void)ctx;
	return native_read((const void *)at, out, len);
}

static struct unwind_space space_of(const struct collect_plan *plan,
				    const struct collect_index *index)
{
	return (struct unwind_space){
	    .code = collect_at(plan, index->frames.offset),
	    .n_code = index->frames.n,
	    .base = (const uint8_t *)plan,
	    .generation = index->generation,
	    .cache = collect_cache(plan),
	    .scan = plan->scan,
	    .is_strict = (plan->flags & COLLECT_STRICT) != 0,
	    .try = try_read,
	};
}

/* Both signals are open in here alone: one that waits already comes at once. */
static void walk(void *ctx)
{
	struct walk *w = ctx;
	struct unwind_space space = space_of(w->plan, w->index);

	native_set_mask(SIG_ALL & ~(SIG_BIT(SIG_SEGV) | SIG_BIT(SIG_BUS)));
	if (!w->asks) {
		w->began = collect_stopwatch(w->area);
		w->time_ns = collect_time(&w->plan->clock);
	}
	if (w->has_looked) {
		native_touch(&w->calm);
		space.calm = &w->calm;
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

/* hark publishes what it has found in the process that it looks at, whether or
 * not that has told of it: code that was made. Children have what was there
 * when they were. */
static const struct collect_index *index_of(const struct collect_plan *plan,
					    const struct collect_area *area)
{
	return area->pid == plan->pid ? collect_index(plan)
				      : native_index(plan);
}

/* What a walk by nothing but the rules gives; 0: something else, or none. */
static uint64_t check(struct native_thread *t, const struct walk *w)
{
	const struct unwind_space space = space_of(w->plan, w->index);
	const struct native_check c = {
	    .space = &space,
	    .maps = w->maps,
	    .sample = &w->out,
	    .cpu = w->cpu,
	};

	return w->plan->flags & COLLECT_CHECKS
		   ? native_check(t, w->area, w->time_ns, &c)
		   : 0;
}

static enum collect_fate sample(struct collect_area *area,
				const struct frame_cpu *cpu)
{
	struct native_thread *t = (void *)area->native;
	struct walk w = {.plan = native_plan(), .area = area, .cpu = cpu};
	enum collect_fate fate;

	w.index = index_of(w.plan, area);
	w.maps = collect_maps(area);
	w.has_looked = native_look(area, cpu->reg[FRAME_RSP], &w.calm);
	if (!guarded(t, &w)) {
		collect_forget_sample(area);
		return FATE_FAULTED;
	}
	native_looked(area, w.has_looked ? &w.calm : NULL, &w.out);
	fate = collect_put_sample(area, w.time_ns, &w.out, check(t, &w));
	if (!w.asks)
		collect_took(area, collect_stopwatch(area) - w.began);
	return fate;
}

void native_sample(struct collect_area *area, const struct native_state *s)
{
	struct frame_cpu cpu;

	set_cpu(s->gpr, s->pc, &cpu);
	collect_sampled(native_plan(), area, sample(area, &cpu));
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
