/* native/collect_outside.c - clauses that hark runs itself.
 *
 * hark is one more thread of the board, but its part is not there, but behind
 * its area: nobody else can write to it. What it shares, all threads can spoil:
 * globals, arrays and speculations are used with care. */
#include "inside/sys.h"
#include "native/collect_board.h"

static struct collect_work *work_of(const struct collect_outside *o)
{
	struct collect_area *area = o->area;
	struct collect_layout l;

	if (collect_state(area)->work == 0) {
		collect_layout(&o->plan->geometry, collect_program(o->plan),
			       &l);
		collect_area_init(o->plan, o->board, area,
				  collect_in(area, l.area_stride),
				  o->plan->geometry.max_threads);
	}
	area->pid = o->pid;
	area->tid = (uint32_t)sys_call3(SYS_NR_GETTID, 0, 0, 0);
	return collect_work(area);
}

static uint64_t *column(struct collect_account *a, enum machine_end end)
{
	if (end == MACHINE_FAULT)
		return &a->faulted;
	return end == MACHINE_DROPPED ? &a->dropped : &a->recorded;
}

/* C1: a hit of several clauses counts once, as the worst of them. */
static void account(struct collect_work *w, bool goes_on, enum machine_end end)
{
	struct collect_account *a = &w->slots[w->site->number].account;

	if (!goes_on)
		collect_add(&a->executed, 1);
	else if (end > w->worst && end >= MACHINE_DROPPED)
		collect_add(column(a, w->worst), (uint64_t)-1);
	else
		return;
	collect_add(column(a, end), 1);
	w->worst = end;
}

enum machine_end collect_run(struct collect_outside *o, uint32_t clause)
{
	struct collect_work *w = work_of(o);
	enum machine_end end;

	o->wants_stop = false;
	o->wants_signal = 0;
	w->outside = o;
	if (!o->goes_on)
		collect_begin(w, o->site);
	w->site = o->site;
	for (unsigned i = 0; i < PROBE_ARGUMENTS; i++)
		w->args[i] = o->args[i];
	end = collect_clause(w, clause);
	account(w, o->goes_on, end);
	return end;
}
