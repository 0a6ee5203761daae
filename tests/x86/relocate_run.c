/* tests/x86/relocate_run.c - does a moved instruction do what it did at home?
 *
 *   relocate-run [-n CASES] [-s SEED] [-k KIND]
 *
 * Each case is executed once in place. Then it is moved (near, far; without
 * a cell, with one behind gs, with one at an address; routed) and executed
 * there from the same state. Registers, flags, vector state, memory, signal
 * and pc must be the same. Some runs are single-stepped, and at every step
 * the state that x86_moved_native() says must be the one before or after.
 *
 * Speaks TAP, one claim a kind. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "machine.h"
#include "x86/relocate.h"

enum { STEPPED = 1, ROUTED = 2, FAR = 4, CELL_GS = 8, CELL_AT = 16, LOSE = 32 };

static const unsigned ways[] = {
    0,
    STEPPED,
    ROUTED,
    FAR,
    FAR | CELL_GS,
    FAR | CELL_GS | STEPPED,
    FAR | CELL_AT,
    CELL_GS,
    CELL_AT | STEPPED,
    FAR | LOSE,
    FAR | ROUTED | CELL_GS,
    FAR | LOSE | STEPPED,
};
enum { WAYS = sizeof ways / sizeof ways[0] };

struct run {
	const struct kase *k;
	unsigned way;
	struct x86_moved info;
	uint64_t slot; /* where the moved code is */
	const struct machine *home;
	const uint8_t *home_data, *home_stack, *home_fs;
	const char *wrong; /* the first thing that differs */
};

static struct {
	unsigned long cases, moved, steps, refused[X86_MOVE_MAX], assumed;
	unsigned long faults;
} sum;

static uint64_t route(void *ctx, uint64_t target)
{
	(void)ctx;
	return target + PADS_LEN;
}

/* -- Comparing ----------------------------------------------------------------
 */

static int is_call(const struct kase *k)
{
	unsigned flow = k->insn.row->flow;

	return flow == X86_CALL || flow == X86_CALL_IND;
}

/* The eight bytes that a call pushes are its own, done or not. */
static int stack_differs(const struct kase *k, const uint8_t *a,
			 const uint8_t *b, int pushed_counts)
{
	uint64_t at = k->in.gpr[X86_RSP] - 8 - k->world->stack;

	if (pushed_counts || !is_call(k))
		return memcmp(a, b, PAGE) != 0;
	return memcmp(a, b, at) != 0 ||
	       memcmp(a + at + 8, b + at + 8, PAGE - at - 8) != 0;
}

/* fs starts like data. */
static const char *memory_differs(const struct run *r, const uint8_t *data,
				  const uint8_t *stack, const uint8_t *fs,
				  int pushed_counts)
{
	const struct world *w = r->k->world;

	if (memcmp((const void *)w->data, data, PAGE) != 0)
		return "data";
	if (memcmp(world_fs(), fs, FS_LEN) != 0)
		return "fs data";
	if (stack_differs(r->k, (const void *)w->stack, stack, pushed_counts))
		return "stack";
	return NULL;
}

/* Where the program believes to be; its registers are put right on the way. */
static int translate(const struct run *r, struct machine *m)
{
	static uint64_t *const at = (uint64_t *)0x40000000;
	uint64_t *gs = (uint64_t *)(r->k->world->data + 0x8000);
	uint64_t offset = m->pc - r->slot;

	if (offset > X86_MOVED_LEN)
		return 0;
	if (m->sig == SIGTRAP && offset == r->info.len && r->info.falls) {
		m->pc = r->info.next; /* fell off the end: nothing to mend */
		return 0;
	}
	return x86_moved_native(&r->info, (unsigned)offset,
				r->way & CELL_GS ? *gs : *at, m->gpr, &m->pc);
}

/* A register that may show something else if the instruction faults. */
static void forgive_lost(const struct run *r, struct machine *m,
			 const struct machine *home)
{
	for (unsigned i = 0; i < r->info.n; i++)
		if (r->info.point[i].fix == X86_FIX_LOST)
			m->gpr[r->info.point[i].reg] =
			    home->gpr[r->info.point[i].reg];
}

static const char *state_differs(const struct run *r, struct machine *m)
{
	const struct machine *home = r->home;
	uint64_t pc = home->pc;
	const char *what;

	if (translate(r, m) < 0)
		return "no point at the pc";
	if (home->sig != SIGTRAP)
		forgive_lost(r, m, home);
	if (r->way & ROUTED && r->info.target && pc == r->info.target)
		pc += PADS_LEN;
	if (m->pc != pc)
		return "pc";
	what = machine_differs(m, home);
	return what ? what
		    : memory_differs(r, r->home_data, r->home_stack, r->home_fs,
				     home->sig == SIGTRAP);
}

/* -- Stepping
 * ------------------------------------------------------------------ */

static const char *step_differs(const struct run *r, const struct machine *now)
{
	struct machine m = *now; /* .sig is 0 */
	const struct machine *want;
	int before;

	if (translate(r, &m) < 0)
		return "no point at a step";
	before = m.pc == r->k->from;
	want = before ? &r->k->in : r->home;
	if (before)
		forgive_lost(r, &m, want);
	if (r->k->insn.row->flow == X86_SYSCALL)
		m.gpr[X86_R11] = want->gpr[X86_R11]; /* it saves TF there */
	if (m.pc != want->pc)
		return "pc at a step";
	if (memcmp(m.gpr, want->gpr, sizeof m.gpr) != 0)
		return "a register at a step";
	if (m.flags != want->flags)
		return "flags at a step";
	if (before)
		return memory_differs(r, r->k->data, r->k->stack, r->k->data,
				      0);
	return memory_differs(r, r->home_data, r->home_stack, r->home_fs, 1);
}

static void on_step(void *ctx, const struct machine *now)
{
	struct run *r = ctx;

	if (now->pc - r->slot > X86_MOVED_LEN || r->wrong)
		return; /* on its way to the int3 */
	sum.steps++;
	r->wrong = step_differs(r, now);
}

/* Interruptible, or a witness of TF. */
static int can_step(const struct kase *k)
{
	const struct x86_insn *i = &k->insn;

	return !(i->row->attr & X86_A_STRING) &&
	       !(i->space == X86_SPACE_LEGACY &&
		 (i->opcode == 0x9c || i->opcode == 0x9d));
}

/* -- One case
 * -------------------------------------------------------------------- */

/* An operand of a call that its own push hits: exact with a cell only. */
static int breaks_assumption(const struct run *r)
{
	const struct x86_insn *i = &r->k->insn;
	uint64_t at = (uint64_t)i->disp, rsp = r->k->in.gpr[X86_RSP];

	if (!(r->info.notes & X86_MOVED_APART))
		return 0;
	if (i->base < 16)
		at += r->k->in.gpr[i->base];
	if (i->index < 16)
		at += r->k->in.gpr[i->index] << i->scale;
	if (i->seg)
		at += r->k->world->data;
	if (i->prefixes & X86_P_67)
		at = (uint32_t)at;
	return at + 7 >= rsp - 8 && at < rsp;
}

static enum x86_move move(struct run *r)
{
	static const struct x86_mem cells[2] = {
	    {.seg = X86_GS,
	     .base = X86_NOREG,
	     .index = X86_NOREG,
	     .disp = 0x8000},
	    {.base = X86_NOREG, .index = X86_NOREG, .disp = 0x40000000}};
	const struct world *w = r->k->world;
	uint8_t *rw = r->way & FAR ? w->far_rw : w->near_rw;
	unsigned offset = random_below(PAGE - 2 * X86_MOVED_LEN);
	struct x86_buf out = {rw + offset, rw + offset,
			      rw + offset + X86_MOVED_LEN, 0, 0};
	struct x86_move_how how = {.route = r->way & ROUTED ? route : NULL,
				   .may_lose = !!(r->way & LOSE)};

	if (r->way & (CELL_GS | CELL_AT))
		how.cell = &cells[r->way & CELL_AT ? 1 : 0];
	memset(rw, 0xcc, PAGE);
	out.pc = (r->way & FAR ? w->far : w->near) + offset;
	r->slot = out.pc;
	return x86_relocate(r->k->code, &r->k->insn, r->k->from, &how, &out,
			    &r->info);
}

/* What may fail: far without a cell, and a call that needs one. */
static int may_fail(const struct run *r, enum x86_move status)
{
	if (r->way & (CELL_GS | CELL_AT))
		return 0;
	if (status == X86_MOVE_FAR)
		return r->way & FAR && r->k->insn.base == X86_RIP;
	return status == X86_MOVE_CELL && is_call(r->k);
}

static void run_moved(struct run *r)
{
	struct machine in = r->k->in, out;
	enum x86_move status = move(r);
	unsigned stepped = r->way & STEPPED && can_step(r->k);

	if (status != X86_MOVE_OK) {
		sum.refused[status]++;
		r->wrong = may_fail(r, status) ? NULL : x86_move_text(status);
		return;
	}
	if (breaks_assumption(r)) {
		sum.assumed++;
		return;
	}
	sum.moved++;
	world_load(r->k);
	in.pc = r->slot;
	machine_run(&in, &out, stepped ? on_step : NULL, r);
	if (r->k->insn.row->flow == X86_SYSCALL && stepped)
		out.gpr[X86_R11] = r->home->gpr[X86_R11];
	if (!r->wrong)
		r->wrong = state_differs(r, &out);
}

static void complain(const struct run *r, const char *kind, unsigned long n)
{
	printf("# %s, case %lu, way %u: %s differs; code", kind, n, r->way,
	       r->wrong);
	for (unsigned i = 0; i < r->k->insn.len; i++)
		printf(" %02x", r->k->code[i]);
	printf(" at %lx, moved to %lx:", r->k->from, r->slot);
	for (unsigned i = 0; i < r->info.len; i++)
		printf(" %02x", ((const uint8_t *)r->slot)[i]);
	puts("");
}

static int run_case(const struct kase *k, const char *kind, unsigned long n)
{
	static uint8_t data[PAGE], stack[PAGE], fs[FS_LEN];
	struct machine home;
	struct run r = {.k = k,
			.home = &home,
			.home_data = data,
			.home_stack = stack,
			.home_fs = fs};

	case_text(k, k->code, k->insn.len);
	world_load(k);
	machine_run(&k->in, &home, NULL, NULL);
	sum.cases++;
	sum.faults += home.sig != SIGTRAP;
	memcpy(data, (const void *)k->world->data, PAGE);
	memcpy(stack, (const void *)k->world->stack, PAGE);
	memcpy(fs, world_fs(), FS_LEN);
	for (unsigned i = 0; i < WAYS && !r.wrong; i++) {
		r.way = ways[i];
		r.info = (struct x86_moved){0};
		run_moved(&r);
	}
	case_text(k, NULL, k->insn.len);
	if (!r.wrong)
		return 0;
	complain(&r, kind, n);
	return -1;
}

static int run_kind(unsigned kind, unsigned long cases, uint64_t seed)
{
	unsigned failed;

	memset(&sum, 0, sizeof sum);
	failed = cases_run(kind, cases, seed, run_case);
	printf("%s %u - %s: %lu cases, %lu moved runs and %lu steps are as at "
	       "home\n",
	       failed ? "not ok" : "ok", kind + 1, kind_name(kind), sum.cases,
	       sum.moved, sum.steps);
	printf("# %lu ended in a fault; %lu out of reach, %lu need a cell, %lu "
	       "operands under the push\n",
	       sum.faults, sum.refused[X86_MOVE_FAR],
	       sum.refused[X86_MOVE_CELL], sum.assumed);
	fflush(stdout);
	return failed ? -1 : 0;
}

int main(int argc, char **argv)
{
	const struct program p = {300, n_kinds, kind_name, run_kind};

	return program_main(&p, argc, argv);
}
