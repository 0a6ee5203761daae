/* probe/stack.c - walk the stack of the thread that hit a probe.
 *
 * One step: which module is the pc in, what is its rule there, where does the
 * caller's frame begin, which registers were saved below that. Nearly all
 * rules are of one shape (the CFA is a register plus a constant, the return
 * address is right below it, and the registers below that), and are followed
 * here with one read of memory, the seven words below the CFA. All others are
 * image/frame_rows's.
 *
 * Where there is no rule, three things are recognised and nothing else: a
 * restorer, by its bytes (C libraries leave out its rules); a trampoline of
 * hark's own; and a frame that rbp leads out of, into known code.
 *
 * S1  Memory is read by .read only: a damaged stack ends the walk.
 * S2  rsp rises with each step. Stacks may be switched (signals, code that
 *     calls on another stack), and code on its way to another frame (longjmp)
 *     is in that already, so it may fall or stay, but LEAPS times only.
 * S3  Nothing is written but out and this function's own stack. */
#include "probe/stack.h"

#include "image/frame_rows.h"
#include "probe/native.h"

enum {
	WORDS = 7, /* below a CFA: the return address, six registers */
	LEAPS = 8,
	FAR = 1 << 20, /* a frame that rbp leads out of is not larger */
	ALL = (1u << FRAME_REGS) - 1,
	LINKED = 1u << FRAME_RBP | 1u << FRAME_RSP | 1u << FRAME_RIP,
	CALLEES = LINKED | 1u << FRAME_RBX | 0xfu << 12,
};

struct walk {
	const struct collect_plan *plan;
	const struct collect_index *index;
	const struct collect_frames *frames, *last; /* last: of some pc */
	uint64_t n_frames;
	stack_read *read;
	struct frame_memory memory;
	struct frame_cpu cpu;
	unsigned leaps;
};

/* -- Where is it? -- */

static bool is_within(const struct collect_frames *f, uint64_t pc)
{
	return pc - f->start < f->end - f->start;
}

/* The code that pc is in, or NULL. */
static const struct collect_frames *find_code(struct walk *w, uint64_t pc)
{
	uint64_t low = 0, high = w->n_frames;

	if (w->last != NULL && is_within(w->last, pc))
		return w->last;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (w->frames[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || !is_within(&w->frames[low - 1], pc))
		return NULL;
	w->last = &w->frames[low - 1];
	return w->last;
}

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

/* -- Rules -- */

static bool get(const struct walk *w, uint64_t addr, void *out, uint32_t len)
{
	return w->read((const void *)(uintptr_t)addr, out, len);
}

static int read_word(void *ctx, uint64_t addr, uint64_t *out)
{
	return get(ctx, addr, out, sizeof *out) ? 0 : -1;
}

/* ORDER frame_saved: as long as it is registers. */
static const uint8_t saved_reg[WORDS - 1] = {
    FRAME_RBX, FRAME_RBP, 12, 13, 14, 15,
};

/* The common shape; false if the rule is another one, or memory is not there:
 * then nothing has changed. Which registers are saved differs from frame to
 * frame, so that is looked up without branches. */
static bool follow_common(struct walk *w, const struct frame_rule *rule)
{
	struct frame_cpu *cpu = &w->cpu;
	uint64_t word[WORDS], next[WORDS - 1], cfa;
	uint32_t known = cpu->known;
	bool odd = false;

	if (rule->kind != FRAME_REG || rule->flags != 0 ||
	    rule->saved[FRAME_SAVED_RIP] != -1 ||
	    (cpu->known >> rule->reg & 1) == 0)
		return false;
	cfa = cpu->reg[rule->reg] + (uint64_t)(int64_t)rule->cfa;
	if (!get(w, (cfa - sizeof word), word, sizeof word))
		return false;
	for (unsigned i = 0; i < WORDS - 1; i++) {
		unsigned at = (unsigned)(rule->saved[i] + WORDS);
		bool is_saved = at < WORDS;

		next[i] = *(is_saved ? &word[at] : &cpu->reg[saved_reg[i]]);
		known |= (uint32_t)is_saved << saved_reg[i];
		odd |= !is_saved && rule->saved[i] != FRAME_KEPT;
	}
	if (odd)
		return false;
	for (unsigned i = 0; i < WORDS - 1; i++)
		cpu->reg[saved_reg[i]] = next[i];
	cpu->reg[FRAME_RSP] = cfa;
	cpu->reg[FRAME_RIP] = word[WORDS - 1];
	cpu->known = known & CALLEES;
	cpu->exact = false;
	return true;
}

/* As frame_find(): but where the rows of a block of code begin is known, so
 * few are left to look at. */
static const struct frame_rule *find_rule(const struct collect_plan *plan,
					  const struct collect_frames *f,
					  const struct frame_table *t,
					  uint64_t pc)
{
	const uint32_t *block = (const uint32_t *)collect_at(plan, f->blocks) +
				(pc - f->start) / COLLECT_BLOCK;
	const struct frame_row *row = frame_rows(t);
	uint32_t first =
	    frame_rows_among(row, block[0], block[1], (uint16_t)(pc - f->bias));

	return &frame_rules(t)[first > 0 ? row[first - 1].rule : 0];
}

static enum frame_result
follow_rule(struct walk *w, const struct collect_frames *f, uint64_t pc)
{
	const struct frame_table *t = collect_at(w->plan, f->table);
	const struct frame_rule *rule = find_rule(w->plan, f, t, pc);

	if (follow_common(w, rule))
		return FRAME_STEPPED;
	if (rule->kind == FRAME_NONE)
		return FRAME_UNKNOWN;
	if (frame_apply(t, rule, &w->memory, &w->cpu) == FRAME_STEPPED)
		return FRAME_STEPPED;
	return FRAME_OUTERMOST; /* there was a rule: rbp knows no better */
}

/* -- Where there is none -- */

/* mov $15,%rax; syscall, with a 32-bit mov, too: the kernel's frame is at
 * rsp. */
static bool is_restorer(const struct walk *w, uint64_t pc)
{
	uint8_t code[9];

	if (!get(w, pc, code, sizeof code))
		return false;
	if (code[0] == 0x48 && code[1] == 0xc7 && code[2] == 0xc0)
		return code[3] == 15 && code[4] == 0 && code[5] == 0 &&
		       code[6] == 0 && code[7] == 0x0f && code[8] == 0x05;
	return code[0] == 0xb8 && code[1] == 15 && code[2] == 0 &&
	       code[3] == 0 && code[4] == 0 && code[5] == 0x0f &&
	       code[6] == 0x05;
}

static bool leave_signal(struct walk *w)
{
	static const struct frame_rule at_restorer = {
	    .cfa = 40, /* of uc_mcontext in the ucontext */
	    .kind = FRAME_CONTEXT,
	    .flags = FRAME_SIGNAL,
	    .reg = FRAME_RSP,
	};

	return is_restorer(w, w->cpu.reg[FRAME_RIP]) &&
	       frame_apply(NULL, &at_restorer, &w->memory, &w->cpu) ==
		   FRAME_STEPPED;
}

static bool leave_by_rbp(struct walk *w)
{
	struct frame_cpu *cpu = &w->cpu;
	uint64_t rbp = cpu->reg[FRAME_RBP], word[2];

	if ((cpu->known >> FRAME_RBP & 1) == 0 || rbp % 8 != 0 ||
	    rbp - cpu->reg[FRAME_RSP] >= FAR ||
	    !get(w, rbp, word, sizeof word) ||
	    find_code(w, word[1] - 1) == NULL)
		return false;
	cpu->reg[FRAME_RBP] = word[0];
	cpu->reg[FRAME_RSP] = rbp + sizeof word;
	cpu->reg[FRAME_RIP] = word[1];
	cpu->known = LINKED;
	cpu->exact = false;
	return true;
}

/* -- In a trampoline -- */

/* Hardware's number of each DWARF number; and the other way round. */
static const uint8_t swapped[16] = {0, 2, 1,  3,  6,  7,  5,  4,
				    8, 9, 10, 11, 12, 13, 14, 15};

/* Is there a frame where trampoline_native() may look for one? */
static bool has_frame(const struct walk *w, const struct trampoline *t,
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
static void make_native(struct walk *w)
{
	uint64_t pc = w->cpu.reg[FRAME_RIP], gpr[16], flags = 0;
	const struct collect_code *code = find_trampoline(w, pc);
	const struct trampoline *t;
	unsigned offset;

	if (code == NULL)
		return;
	t = collect_at(w->plan, code->trampoline);
	offset = (unsigned)(pc - code->start);
	for (unsigned i = 0; i < 16; i++)
		gpr[swapped[i]] = w->cpu.reg[i];
	if (!has_frame(w, t, offset, gpr) ||
	    trampoline_native(t, offset, gpr, &flags, &pc) < 0)
		return;
	for (unsigned i = 0; i < 16; i++)
		w->cpu.reg[i] = gpr[swapped[i]];
	w->cpu.reg[FRAME_RIP] = pc;
}

/* -- The walk -- */

static bool step(struct walk *w)
{
	struct frame_cpu *cpu = &w->cpu;
	uint64_t rsp = cpu->reg[FRAME_RSP];
	uint64_t pc = cpu->reg[FRAME_RIP] - !cpu->exact;
	const struct collect_frames *f = find_code(w, pc);
	enum frame_result got = FRAME_UNKNOWN;

	if (f != NULL && f->table != 0)
		got = follow_rule(w, f, pc);
	if (got == FRAME_OUTERMOST)
		return false;
	if (got == FRAME_UNKNOWN && !leave_signal(w) && !leave_by_rbp(w))
		return false;
	if (cpu->exact && cpu->known == ALL)
		make_native(w);
	if (cpu->reg[FRAME_RSP] <= rsp && ++w->leaps > LEAPS)
		return false;
	return cpu->reg[FRAME_RIP] != 0;
}

static void begin(struct walk *w, const struct probe_frame *frame)
{
	w->frames = collect_at(w->plan, w->index->frames.offset);
	w->n_frames = w->index->frames.n;
	w->last = NULL;
	w->memory.read = read_word;
	w->memory.ctx = w;
	w->leaps = 0;
	for (unsigned i = 0; i < 16; i++)
		w->cpu.reg[i] = frame->gpr[swapped[i]];
	w->cpu.reg[FRAME_RIP] = frame->pc;
	w->cpu.known = ALL;
	w->cpu.exact = true;
}

uint32_t stack_walk_by(const struct collect_plan *plan,
		       const struct probe_frame *frame, stack_read *read,
		       uint64_t *out, uint32_t n)
{
	struct walk w;
	uint32_t i = 0;

	if (n == 0)
		return 0;
	w.plan = plan;
	w.index = native_index(plan);
	w.read = read;
	begin(&w, frame);
	do
		out[i++] = w.cpu.reg[FRAME_RIP];
	while (i < n && step(&w));
	return i;
}

uint32_t stack_walk(const struct collect_plan *plan,
		    const struct probe_frame *frame, uint64_t *out, uint32_t n)
{
	return stack_walk_by(plan, frame, native_read, out, n);
}
