/* engine/plan.c - sums over plans, and the counting instrument. */
#include "engine/plan.h"

#include "x86/access.h"

unsigned plan_run_end(const struct guest_block *g, unsigned first)
{
	unsigned i = first;

	while (i < g->n && g->insns[i].treat != TREAT_JCC &&
	       g->insns[i].treat != TREAT_LOOP)
		i++;
	return i < g->n ? i + 1 : i;
}

void plan_sum(const struct plan *p, unsigned from, unsigned to, uint64_t *cells)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->adds[i].insn >= from && p->adds[i].insn < to)
			cells[p->adds[i].cell] += p->adds[i].n;
}

/* -- Counting -------------------------------------------------------------- */

static void count_memory(const struct guest_block *g, unsigned k,
			 struct plan *out)
{
	struct x86_access at[X86_ACCESS_MAX];
	const struct guest_insn *i = &g->insns[k];
	unsigned n = x86_accesses(g->bytes + i->off, &i->x, at);
	unsigned loads = 0, stores = 0;

	for (unsigned a = 0; a < n; a++) {
		loads += (at[a].access & X86_M_READ) != 0;
		stores += (at[a].access & X86_M_WRITE) != 0;
	}
	plan_add(out, k, COUNT_LOADS, loads);
	plan_add(out, k, COUNT_STORES, stores);
}

/* Those that leave the cache for good are counted where they are done. */
void count_plan(const struct guest_block *g, struct plan *out)
{
	out->n = 0;
	plan_add(out, 0, COUNT_BLOCKS, 1);
	for (unsigned k = 0; k < g->n; k++) {
		unsigned t = g->insns[k].treat;

		if (t == TREAT_STEP || t == TREAT_SYSCALL)
			break;
		plan_add(out, k, COUNT_INSTRUCTIONS, 1);
		count_memory(g, k, out);
		plan_add(out, k, COUNT_CALLS,
			 t == TREAT_CALL || t == TREAT_CALL_IND);
		plan_add(out, k, COUNT_RETURNS, t == TREAT_RET);
		plan_add(out, k, COUNT_BRANCHES,
			 t == TREAT_JCC || t == TREAT_LOOP || t == TREAT_JMP ||
			     t == TREAT_JMP_IND);
	}
}
