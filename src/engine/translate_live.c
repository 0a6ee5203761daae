/* engine/translate_live.c - what the program will still look at.
 *
 * Instruments spoil flags and borrow registers where nobody minds. */
#include "engine/translate_priv.h"

#include "x86/live.h"

/* What of the flags is live where a direct branch goes. Code that may change
 * unseen is not asked. */
static struct x86_live live_at(struct work *w, uint64_t target)
{
	enum { LOOK = 64, INSNS = 8 };
	struct x86_live want = {0, X86_FLAGS_STATUS}, all = x86_live_all();
	uint8_t bytes[LOOK];
	struct x86_text text = {.bytes = bytes, .pc = target};

	if (!is_taped(w->e) || w->e->replays || !w->looks_ahead ||
	    w->e->exact_flags)
		return all;
	text.len = LOOK - guest_copy(bytes, (const void *)target, LOOK);
	all.flags = x86_live_ahead(&text, target, want, INSNS, 0, 0).flags;
	return all;
}

/* Behind the last instruction. */
static struct x86_live live_behind(struct work *w)
{
	const struct guest_block *g = w->g;
	const struct guest_insn *i = &g->insns[g->n - 1];
	uint64_t pc = g->pc + i->off;

	if (i->treat == TREAT_STEP)
		return x86_live_all();
	if (i->treat == TREAT_JMP || i->treat == TREAT_CALL)
		return live_at(w, x86_target(g->bytes + i->off, &i->x, pc));
	return i->treat < TREAT_JMP ? live_at(w, g->pc + g->len)
				    : x86_live_all();
}

static struct x86_live live_taken(struct work *w, const struct guest_insn *i)
{
	if (i->treat != TREAT_JCC && i->treat != TREAT_LOOP)
		return x86_live_all();
	return live_at(
	    w, x86_target(w->g->bytes + i->off, &i->x, w->g->pc + i->off));
}

/* Counting shows a handler the flags as they are when an instruction faults;
 * recording only those that the program itself will look at. */
void find_live(struct work *w)
{
	struct x86_live live = live_behind(w);
	unsigned how =
	    is_taped(w->e) && !w->e->exact_flags ? 0 : X86_LIVE_AT_FAULTS;
	uint16_t used = 0;

	w->flags_behind = live.flags & X86_FLAGS_STATUS;
	for (unsigned k = w->g->n; k-- > 0;) {
		const struct guest_insn *i = &w->g->insns[k];

		if (i->treat == TREAT_STEP) {
			live = x86_live_all();
			used = X86_LIVE_GPRS;
		} else {
			live =
			    x86_live_before(&i->x, live, live_taken(w, i), how);
			if (i->treat == TREAT_JCC || i->treat == TREAT_LOOP)
				used = 0; /* a run ends */
			used |= (uint16_t)(i->x.gpr_read | i->x.gpr_write);
		}
		w->flags_live[k] = live.flags & X86_FLAGS_STATUS;
		w->used_ahead[k] = used;
	}
}
