/* unwind/odd.c - steps that are not of the common shape.
 *
 * Rules of any kind, through image/frame_rows; frames of signals, by their rule
 * or by the bytes of the restorer (C libraries leave out its rules); and where
 * there is no rule at all, what can be believed:
 *
 *	outermost  rbp is 0 in a frame that has called: so the ABI marks it
 *	link	   rbp leads to a pair of words, the second behind a call
 *	scan	   the next word on the stack that is behind a call, and from
 *		   which rules lead on to such words
 *
 * Rules that count from rbp or rsp need no other register. For all others the
 * walk is done again from the last frame whose registers are all known, which
 * happens once in 10^5 frames.
 *
 * Plain loads look at code only where code is known to be.
 *
 * Freestanding, and hosted too. */
#include "unwind/rule_priv.h"

enum {
	FAR = 1 << 20, /* a frame that rbp leads out of is not larger */
	LINKED = 1u << FRAME_RBP | 1u << FRAME_RSP | 1u << FRAME_RIP,
	CALL_MAX = 7, /* bytes of an indirect call */
	AHEAD = 3,    /* steps that a scan tries by rules */
};

/* -- Memory -- */

static bool get_word(const struct unwind_work *w, uint64_t at, uint64_t *out)
{
	return unwind_load(w, w->s->read == NULL, at, out);
}

static int read_word(void *ctx, uint64_t at, uint64_t *out)
{
	return get_word(ctx, at, out) ? 0 : -1;
}

/* Bytes of code, which begin and end within what is known as such; or could be
 * anywhere, if asking does not hurt. */
static bool get_code(struct unwind_work *w, uint64_t at, uint8_t *out,
		     uint32_t len)
{
	const struct collect_frames *f;

	if (w->s->read != NULL)
		return w->s->read(w->s->ctx, at, out, len);
	f = unwind_code(w, at);
	if (f == NULL || f->end - at < len)
		return false;
	if (w->s->try != NULL) /* it may have gone since */
		return w->s->try(w->s->ctx, at, out, len);
	for (uint32_t i = 0; i < len; i++)
		out[i] = ((const volatile uint8_t *)(uintptr_t)at)[i];
	return true;
}

/* A word that a guess leads to. */
static bool try_word(const struct unwind_work *w, uint64_t at, uint64_t *out)
{
	if (w->s->read == NULL && w->s->try != NULL)
		return w->s->try(w->s->ctx, at, out, sizeof *out);
	return get_word(w, at, out);
}

static int try_read_word(void *ctx, uint64_t at, uint64_t *out)
{
	return try_word(ctx, at, out) ? 0 : -1;
}

/* -- Signals -- */

/* mov $15,%rax; syscall, with a 32-bit mov, too: the kernel's frame is at
 * rsp. */
static bool is_restorer(struct unwind_work *w, uint64_t pc)
{
	uint8_t code[9];

	if (!get_code(w, pc, code, sizeof code))
		return false;
	if (code[0] == 0x48 && code[1] == 0xc7 && code[2] == 0xc0)
		return code[3] == 15 && code[4] == 0 && code[5] == 0 &&
		       code[6] == 0 && code[7] == 0x0f && code[8] == 0x05;
	return code[0] == 0xb8 && code[1] == 15 && code[2] == 0 &&
	       code[3] == 0 && code[4] == 0 && code[5] == 0x0f &&
	       code[6] == 0x05;
}

static enum frame_result leave_signal(struct unwind_work *w,
				      const struct frame_memory *memory,
				      struct frame_cpu *cpu)
{
	static const struct frame_rule at_restorer = {
	    .cfa = 40, /* of uc_mcontext in the ucontext */
	    .kind = FRAME_CONTEXT,
	    .flags = FRAME_SIGNAL,
	    .reg = FRAME_RSP,
	};

	if (!is_restorer(w, cpu->reg[FRAME_RIP]))
		return FRAME_UNKNOWN;
	return frame_apply(NULL, &at_restorer, memory, cpu);
}

/* -- Guesses -- */

/* Bytes of the call that these are the last of, by the bytes behind 0xff. */
static unsigned call_length(uint8_t modrm, uint8_t sib)
{
	unsigned mod = modrm >> 6, rm = modrm & 7;
	unsigned len = rm == 4 && mod != 3 ? 3 : 2;

	if (mod == 1)
		return len + 1;
	if (mod == 2 || (mod == 0 && rm == 5) ||
	    (mod == 0 && rm == 4 && (sib & 7) == 5))
		return len + 4;
	return len;
}

static bool is_behind_call(struct unwind_work *w, uint64_t pc)
{
	const struct collect_frames *f = unwind_code(w, pc - 1);
	uint8_t code[CALL_MAX] = {0};
	uint32_t n;

	if (f == NULL)
		return false;
	n = pc - f->start < CALL_MAX ? (uint32_t)(pc - f->start) : CALL_MAX;
	if (!get_code(w, pc - n, code + CALL_MAX - n, n))
		return false;
	if (code[CALL_MAX - 5] == 0xe8)
		return true;
	for (unsigned len = 2; len <= CALL_MAX; len++) {
		const uint8_t *at = code + CALL_MAX - len;

		if (at[0] == 0xff && (at[1] >> 3 & 7) == 2 &&
		    call_length(at[1], len > 2 ? at[2] : 0) == len)
			return true;
	}
	return false;
}

static bool leave_by_link(struct unwind_work *w, struct frame_cpu *cpu)
{
	uint64_t rbp = cpu->reg[FRAME_RBP], outer, pc;

	if ((cpu->known >> FRAME_RBP & 1) == 0 || rbp % 8 != 0 ||
	    rbp - cpu->reg[FRAME_RSP] >= FAR || !try_word(w, rbp, &outer) ||
	    !try_word(w, rbp + 8, &pc) || !is_behind_call(w, pc))
		return false;
	cpu->reg[FRAME_RBP] = outer;
	cpu->reg[FRAME_RSP] = rbp + 16;
	cpu->reg[FRAME_RIP] = pc;
	cpu->known = LINKED;
	return true;
}

/* Do rules, as far as there are any, lead on to frames that have called? Of a
 * word that was left behind they seldom do. */
static bool leads_on(struct unwind_work *w, struct frame_cpu cpu)
{
	struct frame_memory memory = {try_read_word, w};

	for (unsigned i = 0; i < AHEAD; i++) {
		const struct frame_table *t = NULL;
		const struct frame_rule *rule =
		    unwind_look_up(w, cpu.reg[FRAME_RIP] - 1, &t);
		enum frame_result got;

		if (rule == NULL || rule->kind == FRAME_NONE)
			return true;
		got = frame_apply(t, rule, &memory, &cpu);
		if (got == FRAME_OUTERMOST || got == FRAME_UNKNOWN)
			return true;
		if (got == FRAME_UNREADABLE || cpu.exact ||
		    !is_behind_call(w, cpu.reg[FRAME_RIP]))
			return false;
	}
	return true;
}

static bool leave_by_scan(struct unwind_work *w, struct frame_cpu *cpu)
{
	uint64_t at = (cpu->reg[FRAME_RSP] + 7) & ~7ul, pc;

	for (uint32_t i = 0; i < w->s->scan / 8; i++, at += 8) {
		struct frame_cpu next = {.known =
					     1u << FRAME_RSP | 1u << FRAME_RIP};

		if (!try_word(w, at, &pc))
			return false;
		if (!is_behind_call(w, pc))
			continue;
		next.reg[FRAME_RSP] = at + 8;
		next.reg[FRAME_RIP] = pc;
		if (!leads_on(w, next))
			continue;
		*cpu = next;
		return true;
	}
	return false;
}

static enum unwind_step end_as(struct unwind_work *w, enum unwind_end end)
{
	w->end = (uint8_t)end;
	return STEP_END;
}

static enum unwind_step guess(struct unwind_work *w, struct frame_cpu *cpu,
			      bool has_rule, uint8_t *how)
{
	bool zero = (cpu->known >> FRAME_RBP & 1) != 0 &&
		    cpu->reg[FRAME_RBP] == 0 && !cpu->exact;

	if (!has_rule && zero)
		return end_as(w, UNWIND_OUTERMOST);
	if (w->s->is_strict)
		return end_as(w, UNWIND_LOST);
	if (!has_rule && leave_by_link(w, cpu)) /* else it knows no better */
		*how = UNWIND_LINK;
	else if (leave_by_scan(w, cpu))
		*how = UNWIND_SCAN;
	else
		return end_as(w, UNWIND_LOST);
	cpu->exact = false;
	return STEP_DONE;
}

/* -- One step of all registers -- */

/* A register that the rule needs, and nobody has saved. */
static bool find_rbp(struct unwind_work *w, const struct frame_rule *rule,
		     struct frame_cpu *cpu)
{
	if (w->s->find_rbp == NULL || rule->kind != FRAME_REG ||
	    rule->reg != FRAME_RBP || (cpu->known >> FRAME_RBP & 1) != 0 ||
	    !w->s->find_rbp(w->s->ctx, cpu->reg[FRAME_RIP], cpu->reg[FRAME_RSP],
			    &cpu->reg[FRAME_RBP]))
		return false;
	cpu->known |= 1u << FRAME_RBP;
	return true;
}

/* What was found out must lead to something that could be. */
static bool is_caller(struct unwind_work *w, uint64_t pc)
{
	return pc == 0 || is_behind_call(w, pc) || is_restorer(w, pc);
}

static enum unwind_step step(struct unwind_work *w, struct frame_cpu *cpu,
			     uint8_t *how)
{
	struct frame_memory memory = {read_word, w};
	uint64_t pc = cpu->reg[FRAME_RIP] - !cpu->exact;
	const struct frame_table *t = NULL;
	const struct frame_rule *rule = unwind_look_up(w, pc, &t);
	bool has_rule = rule != NULL && rule->kind != FRAME_NONE;
	bool was_found = has_rule && find_rbp(w, rule, cpu);
	enum frame_result got = has_rule ? frame_apply(t, rule, &memory, cpu)
					 : leave_signal(w, &memory, cpu);

	if (got == FRAME_OUTERMOST)
		return end_as(w, UNWIND_OUTERMOST);
	if (got == FRAME_UNREADABLE)
		return end_as(w, UNWIND_UNREADABLE);
	if (got == FRAME_UNKNOWN)
		return guess(w, cpu, has_rule, how);
	if (was_found && !is_caller(w, cpu->reg[FRAME_RIP]))
		return end_as(w, UNWIND_LOST);
	*how = cpu->exact ? UNWIND_SIGNAL : UNWIND_RULE;
	if (cpu->exact && cpu->known == UNWIND_ALL && w->s->interrupted != NULL)
		w->s->interrupted(w->s->ctx, cpu);
	return STEP_DONE;
}

/* -- From a state, and to one -- */

/* Registers that quick steps know. */
static void load_state(const struct unwind_work *w, struct frame_cpu *cpu)
{
	const struct unwind_state *a = &w->at;
	uint64_t rbp = 0;

	cpu->known = 1u << FRAME_RSP | 1u << FRAME_RIP;
	if (unwind_rbp(w, w->s->read == NULL, a, &rbp))
		cpu->known |= 1u << FRAME_RBP;
	cpu->reg[FRAME_RBP] = rbp;
	cpu->reg[FRAME_RSP] = a->sp;
	cpu->reg[FRAME_RIP] = a->pc;
	cpu->exact = a->exact;
}

static void store_state(struct unwind_work *w, const struct frame_cpu *cpu)
{
	struct unwind_state *a = &w->at;

	a->k++;
	a->pc = cpu->reg[FRAME_RIP];
	a->sp = cpu->reg[FRAME_RSP];
	a->exact = cpu->exact;
	a->rbp_at = RBP_HERE;
	a->rbp_known = (cpu->known >> FRAME_RBP & 1) != 0;
	a->rbp_since = a->k;
	w->rbp = cpu->reg[FRAME_RBP];
}

static bool needs_all(struct unwind_work *w)
{
	const struct frame_table *t;
	const struct frame_rule *rule =
	    unwind_look_up(w, w->at.pc - !w->at.exact, &t);

	return rule != NULL && rule->kind != FRAME_NONE &&
	       (rule->kind == FRAME_GENERAL ||
		(rule->kind != FRAME_PLT && rule->reg != FRAME_RSP &&
		 rule->reg != FRAME_RBP));
}

static void set_anchor(struct unwind_work *w, const struct frame_cpu *cpu)
{
	w->anchor_own = *cpu;
	w->anchor = &w->anchor_own;
	w->anchor_k = w->at.k;
}

/* All registers of w->at that can be known. The steps were made before, but
 * with fewer registers: memory that only the others need may not be there. */
static void load_all(struct unwind_work *w, struct frame_cpu *cpu)
{
	enum unwind_step got = STEP_DONE;
	uint8_t how;

	*cpu = *w->anchor;
	for (uint32_t k = w->anchor_k; got == STEP_DONE && k < w->at.k; k++)
		got = step(w, cpu, &how);
	if (got == STEP_DONE && cpu->reg[FRAME_RIP] == w->at.pc &&
	    cpu->reg[FRAME_RSP] == w->at.sp)
		set_anchor(w, cpu);
	else
		load_state(w, cpu);
}

enum unwind_step unwind_odd_step(struct unwind_work *w)
{
	uint64_t sp = w->at.sp;
	struct frame_cpu cpu;
	enum unwind_step got;

	if (w->at.k == w->anchor_k)
		cpu = *w->anchor;
	else if (needs_all(w))
		load_all(w, &cpu);
	else
		load_state(w, &cpu);
	got = step(w, &cpu, &w->how);
	if (got != STEP_DONE)
		return got;
	if (cpu.reg[FRAME_RIP] == 0)
		return end_as(w, UNWIND_OUTERMOST);
	if (cpu.reg[FRAME_RSP] <= sp) {
		if (w->leaps == UNWIND_LEAPS)
			return end_as(w, UNWIND_LOST);
		if (w->leaps++ == 0)
			w->base = sp;
	}
	store_state(w, &cpu);
	if (cpu.known == UNWIND_ALL)
		set_anchor(w, &cpu);
	return STEP_DONE;
}
