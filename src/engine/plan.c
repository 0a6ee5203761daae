/* engine/plan.c - sums over plans, and the counting instrument. */
#include "engine/plan.h"

#include "engine/vcpu.h"
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

static void count_accesses(const uint8_t *code, const struct x86_insn *x,
			   unsigned *loads, unsigned *stores)
{
	struct x86_access at[X86_ACCESS_MAX];
	unsigned n = x86_accesses(code, x, at);

	*loads = *stores = 0;
	for (unsigned a = 0; a < n; a++) {
		*loads += (at[a].access & X86_M_READ) != 0;
		*stores += (at[a].access & X86_M_WRITE) != 0;
	}
}

static void count_memory(const struct guest_block *g, unsigned k,
			 struct plan *out)
{
	const struct guest_insn *i = &g->insns[k];
	unsigned loads, stores;

	count_accesses(g->bytes + i->off, &i->x, &loads, &stores);
	plan_add(out, k, COUNT_LOADS, loads);
	plan_add(out, k, COUNT_STORES, stores);
}

void count_one(const uint8_t *code, unsigned have, uint64_t *cells)
{
	unsigned loads, stores;
	struct x86_insn x;

	cells[COUNT_INSTRUCTIONS]++;
	if (x86_decode(code, have, &x) != X86_OK)
		return;
	count_accesses(code, &x, &loads, &stores);
	cells[COUNT_LOADS] += loads;
	cells[COUNT_STORES] += stores;
	cells[COUNT_CALLS] +=
	    x.row->flow == X86_CALL || x.row->flow == X86_CALL_IND;
	cells[COUNT_RETURNS] += x.row->flow == X86_RET;
	cells[COUNT_BRANCHES] +=
	    x.row->flow == X86_JCC || x.row->flow == X86_LOOP ||
	    x.row->flow == X86_JMP || x.row->flow == X86_JMP_IND;
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

/* The same, nothing but instructions. A cell that is added to again and again
 * makes the CPU wait for itself: they take turns. */
void count_instructions(const struct guest_block *g, struct plan *out)
{
	unsigned cell = (unsigned)(g->pc >> 3);

	out->n = 0;
	for (unsigned k = 0; k < g->n; k++) {
		unsigned t = g->insns[k].treat;

		if (t >= TREAT_SYSCALL)
			break;
		plan_add(out, k, cell % VCPU_N_CELLS, 1);
		cell += t == TREAT_JCC || t == TREAT_LOOP;
	}
}
