/* native/collect_clause.c - one clause of a hit: the machine and its host.
 *
 * The host's callbacks are those of the other parts. What the machine puts out
 * goes straight into the ring, behind room for a record's head. */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "native/stack.h"

enum { NR_KILL = 62, SIGSTOP_ = 19 };

/* -- The host -- */

static bool read_memory(struct machine_host *h, uint64_t addr, void *out,
			uint32_t len)
{
	const struct collect_work *w = (const struct collect_work *)h;

	if (w->outside == NULL)
		return native_read((const void *)(uintptr_t)addr, out, len);
	return w->outside->read != NULL &&
	       w->outside->read(w->outside->ctx, addr, out, len);
}

static uint32_t stack(struct machine_host *h, uint64_t *out, uint32_t n)
{
	const struct collect_work *w = (const struct collect_work *)h;

	return w->outside == NULL ? stack_walk(w->plan, w->frame, out, n) : 0;
}

static uint64_t random_number(struct machine_host *h)
{
	struct collect_work *w = (struct collect_work *)h;

	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random * COLLECT_HASH >> 32;
}

static void *on_board(struct collect_work *w, uint64_t offset)
{
	return (uint8_t *)w->board + offset;
}

void collect_host(struct collect_work *w, const struct collect_layout *l)
{
	struct machine_host *h = &w->h;

	h->program = collect_program(w->plan);
	h->args = w->args;
	h->uregs = w->uregs;
	h->builtin = collect_builtin;
	h->builtin_text = collect_builtin_text;
	h->read = read_memory;
	h->stack = stack;
	h->random = random_number;
	h->numbers[PROBE_GLOBAL] = on_board(w, l->numbers);
	h->texts[PROBE_GLOBAL] = on_board(w, l->texts);
	h->numbers[PROBE_SELF] = collect_in(w->area, l->self_numbers);
	h->texts[PROBE_SELF] = collect_in(w->area, l->self_texts);
	h->numbers[PROBE_THIS] = collect_in(w->area, l->this_numbers);
	h->texts[PROBE_THIS] = collect_in(w->area, l->this_texts);
	h->cell = collect_cell;
	h->cell_done = collect_cell_done;
	h->forget = collect_forget;
	h->aggregate = collect_aggregate;
	h->speculation = collect_speculation;
	h->speculate = collect_speculate;
	h->commit = collect_commit;
	h->discard = collect_discard;
	h->scratch = collect_in(w->area, l->scratch);
	h->scratch_room = COLLECT_SCRATCH;
}

/* -- A hit -- */

uint32_t collect_uses(const struct probe_program *p, const uint32_t *clauses,
		      uint64_t n)
{
	uint32_t uses = 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct probe_clause *c = &probe_clauses(p)[clauses[i]];
		const struct probe_insn *code = probe_code(p) + c->first_insn;

		for (uint32_t k = 0; k < c->n_insns; k++) {
			if (code[k].op == PROBE_ARG)
				uses |= 1U << code[k].imm;
			if (code[k].op == PROBE_UREG)
				uses |= SLOT_UREGS;
		}
	}
	return uses;
}

void collect_begin(struct collect_work *w, const struct collect_site *site)
{
	const struct probe_program *p = w->h.program;
	uint32_t text = machine_text_slot(p);

	w->site = site;
	w->timestamp = w->time_ns;
	w->vtimestamp = 0;
	for (uint32_t i = 0; i < p->n_slots[PROBE_THIS][0]; i++)
		w->h.numbers[PROBE_THIS][i] = 0;
	for (uint32_t i = 0; i < p->n_slots[PROBE_THIS][1]; i++)
		w->h.texts[PROBE_THIS][(uint64_t)i * text] = 0;
}

/* -- A clause -- */

/* stop() and raise(): a child of vfork is meant itself. */
static void be_destructive(struct collect_work *w)
{
	uint64_t pid, tid;

	if (w->outside != NULL) {
		w->outside->wants_stop = w->h.wants_stop;
		w->outside->wants_signal = w->h.wants_signal;
		return;
	}
	pid = (uint64_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
	tid = (uint64_t)sys_call3(SYS_NR_GETTID, 0, 0, 0);
	if (w->h.wants_signal != 0)
		sys_call3(SYS_NR_TGKILL, pid, tid, w->h.wants_signal);
	if (w->h.wants_stop)
		sys_call3(NR_KILL, pid, SIGSTOP_, 0);
}

/* ERROR's arg1 to arg5. */
static void put_fault(struct collect_work *w)
{
	uint64_t *out =
	    (uint64_t *)(void *)collect_reserve(w, 5 * sizeof(uint64_t));

	if (out == NULL) {
		collect_lack(w, COLLECT_NO_FAULT);
		return;
	}
	out[0] = collect_epid(w->h.program, w->site->number, w->clause);
	out[1] = w->clause;
	out[2] = w->h.fault_insn * sizeof(struct probe_insn);
	out[3] = w->h.fault;
	out[4] = w->h.fault_address;
	collect_put(w, COLLECT_FAULT, 5 * sizeof(uint64_t));
}

static void put_output(struct collect_work *w)
{
	if (w->speculating != 0)
		collect_keep(w);
	else if (w->h.output_len > 0)
		collect_put(w, COLLECT_RECORD, w->h.output_len);
}

static void open_output(struct collect_work *w, uint32_t len)
{
	w->h.output = len > 0 ? collect_reserve(w, len) : NULL;
	w->h.output_room = w->h.output != NULL ? len : 0;
	w->h.output_len = 0;
}

enum machine_end collect_clause(struct collect_work *w, uint32_t number)
{
	const struct probe_clause *clause =
	    &probe_clauses(w->h.program)[number];
	enum machine_end end;

	w->clause = number;
	w->speculating = 0;
	w->is_lacking = false;
	open_output(w, clause->output_max);
	end = machine_run(&w->h, clause);
	if (end == MACHINE_DONE)
		put_output(w);
	if (end == MACHINE_DROPPED)
		collect_lack(w, COLLECT_NO_RECORD);
	if (end == MACHINE_FAULT)
		put_fault(w);
	if (w->n_commits > 0)
		collect_copy_commits(w);
	if (w->h.wants_stop || w->h.wants_signal != 0)
		be_destructive(w);
	return w->is_lacking && end != MACHINE_FAULT ? MACHINE_DROPPED : end;
}
