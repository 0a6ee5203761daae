/* native/stack.c - walk the stack of the thread that hit a probe.
 *
 * The walk is src/unwind's. What is added here is what only probes know: where
 * the plan has its tables, and that an interrupted pc may be in a trampoline.
 * Nothing is guessed but frames that rbp leads out of: no scan. */
#include "native/stack.h"

#include "native/native.h"
#include "unwind/unwind.h"

struct walk {
	const struct collect_plan *plan;
	const struct collect_index *index;
	stack_read *read;
};

static bool get(void *ctx, uint64_t addr, void *out, uint32_t len)
{
	const struct walk *w = ctx;

	return w->read((const void *)(uintptr_t)addr, out, len);
}

/* -- In a trampoline -- */

static const struct collect_code *find_trampoline(const struct walk *w,
						  uint64_t pc)
{
	const struct collect_code *code =
	    collect_at(w->plan, w->index->codes.offset);
	uint64_t low = 0, high = w->index->codes.n;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (code[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || pc - code[low - 1].start >= code[low - 1].len)
		return NULL;
	return &code[low - 1];
}

/* Hardware's number of each DWARF number; and the other way round. */
static const uint8_t swapped[16] = {0, 2, 1,  3,  6,  7,  5,  4,
				    8, 9, 10, 11, 12, 13, 14, 15};

/* Is there a frame where trampoline_native() may look for one? */
static bool has_frame(struct walk *w, const struct trampoline *t,
		      unsigned offset, const uint64_t gpr[16])
{
	uint64_t copy[sizeof(struct probe_frame) / 8 + 1];
	uint64_t at = gpr[X86_RSP];

	for (unsigned k = 0; k < t->n; k++)
		if (offset >= t->fire[k].based && offset < t->fire[k].unbased)
			at = gpr[X86_RBX];
	return get(w, at, copy, sizeof copy);
}

/* All registers are known; if they were caught in a trampoline they become the
 * program's own. */
static void make_native(void *ctx, struct frame_cpu *cpu)
{
	struct walk *w = ctx;
	uint64_t pc = cpu->reg[FRAME_RIP], gpr[16], flags = 0;
	const struct collect_code *code = find_trampoline(w, pc);
	const struct trampoline *t;
	unsigned offset;

	if (code == NULL)
		return;
	t = collect_at(w->plan, code->trampoline);
	offset = (unsigned)(pc - code->start);
	for (unsigned i = 0; i < 16; i++)
		gpr[swapped[i]] = cpu->reg[i];
	if (!has_frame(w, t, offset, gpr) ||
	    trampoline_native(t, offset, gpr, &flags, &pc) < 0)
		return;
	for (unsigned i = 0; i < 16; i++)
		cpu->reg[i] = gpr[swapped[i]];
	cpu->reg[FRAME_RIP] = pc;
}

/* -- The walk -- */

uint32_t stack_walk_by(const struct collect_plan *plan,
		       const struct probe_frame *frame, stack_read *read,
		       uint64_t *out, uint32_t n)
{
	struct walk w = {plan, native_index(plan), read};
	struct unwind_space space = {
	    .code = collect_at(plan, w.index->frames.offset),
	    .n_code = w.index->frames.n,
	    .base = collect_at(plan, 0),
	    .read = get,
	    .ctx = &w,
	    .interrupted = make_native,
	};
	struct frame_cpu cpu = {.known = (1u << FRAME_REGS) - 1, .exact = true};
	enum unwind_end end;

	for (unsigned i = 0; i < 16; i++)
		cpu.reg[i] = frame->gpr[swapped[i]];
	cpu.reg[FRAME_RIP] = frame->pc;
	return unwind_pcs(&space, &cpu, out, n, &end);
}

uint32_t stack_walk(const struct collect_plan *plan,
		    const struct probe_frame *frame, uint64_t *out, uint32_t n)
{
	return stack_walk_by(plan, frame, native_read, out, n);
}
