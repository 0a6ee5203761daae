/* tests/x86/trampoline_run.c - does a probe leave the program as it was?
 *
 *   trampoline-run [-n CASES] [-s SEED] [-k KIND]
 *
 * Each case (one instruction, one machine state) is executed in place, and
 * then from a trampoline whose handler spoils all that a handler may. The
 * handler must have seen the program's registers, once; registers, flags,
 * vector state, memory, signal and pc must be the same afterwards, and the
 * stack from the red zone up. Half of the runs are single-stepped, and at
 * every step within the trampoline the state that trampoline_native() says
 * must be the one before or after the instruction.
 *
 * Half of the probes may count by themselves, and half of those can: then the
 * handler is not called, and nothing but the one number has changed. The others
 * lack one of the things that are needed for it.
 *
 * Speaks TAP, one claim a kind. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "machine.h"
#include "native/trampoline.h"
#include "wire/collect.h"

enum { ROOM = 1024, REDZONE = 128, COOKIE = 0x1234 };

struct run {
	const struct kase *k;
	struct trampoline info;
	uint64_t slot; /* where the trampoline is */
	const struct machine *home;
	int stepped;
	int taken;	   /* the handler is called only if the jump is taken */
	int counts;	   /* it is not: the probe counts by itself */
	int could;	   /* it might have */
	const char *wrong; /* the first thing that differs */
};

static struct {
	unsigned long cases, runs, steps, refused, passed_over;
} sum;

/* -- The handler -- */

static struct {
	struct probe_frame frame;
	uint64_t cookie, aligned, calls, flags;
} seen;

__attribute__((target("general-regs-only"), used)) static void
look(const struct probe_frame *frame, uint64_t cookie, uint64_t rsp,
     uint64_t flags)
{
	const uint64_t *from = (const uint64_t *)frame;
	uint64_t *to = (uint64_t *)&seen.frame;

	for (unsigned i = 0; i < sizeof *frame / 8; i++)
		to[i] = from[i];
	seen.cookie = cookie;
	seen.aligned = (rsp & 15) == 8;
	seen.flags = flags;
	seen.calls++;
}

/* Spoils every register that a C function may, and the flags. */
void spoil(void);
__asm__(".text\n"
	"spoil:\n"
	"	mov %rsp, %rdx\n"
	"	pushf\n"
	"	mov (%rsp), %rcx\n"
	"	cld\n"
	"	call look\n"
	"	popf\n"
	"	mov $-1, %rax\n"
	"	mov %rax, %rcx\n"
	"	mov %rax, %rdx\n"
	"	mov %rax, %rsi\n"
	"	mov %rax, %rdi\n"
	"	mov %rax, %r8\n"
	"	mov %rax, %r9\n"
	"	mov %rax, %r10\n"
	"	mov %rax, %r11\n"
	"	add $1, %al\n"
	"	ret\n");

static uint64_t fires(const struct run *r)
{
	return !r->taken || r->home->pc == r->info.moved[0].target;
}

static const char *handler_differs(const struct run *r)
{
	const struct machine *in = &r->k->in;
	uint64_t calls = r->counts ? 0 : fires(r);

	if (seen.calls != calls)
		return "how often the handler was called";
	if (calls == 0)
		return NULL;
	if (memcmp(seen.frame.gpr, in->gpr, sizeof in->gpr) != 0)
		return "what the handler saw";
	if (seen.frame.pc != r->k->from || seen.cookie != COOKIE)
		return "where the handler was";
	if ((seen.flags ^ in->flags) & X86_DF)
		return "the direction that the handler saw";
	return seen.aligned ? NULL : "the alignment of the stack";
}

/* -- Counting -- */

/* A thread's area, with a slot in the part that is the collector's own. */
static struct {
	struct collect_area area, before;
	struct collect_table table;
	uint32_t waiting;
} count;

enum { SLOT_AT = offsetof(struct collect_area, collector) };

static void set_slot(struct collect_area *a, enum collect_how how,
		     uint64_t counted)
{
	struct collect_slot slot = {.how = how, .counted = counted};

	memcpy((uint8_t *)a + SLOT_AT, &slot, sizeof slot);
}

/* What keeps a probe from counting by itself. */
enum lack {
	LACKS_NOTHING,
	LACKS_SELF,
	LACKS_ENTRY,
	LACKS_AREA,
	LACKS_SLOT,
	IS_BUSY,
	HAS_TOKEN,
	IS_WAITED_FOR,
	LACK_MAX
};

static uint64_t self(void)
{
	uint64_t fs;

	__asm__("mov %%fs:0, %0" : "=r"(fs));
	return fs;
}

static void prepare_count(enum lack lack)
{
	struct collect_who *who = &count.table.who[collect_first(self())];

	count.table.has_self = lack != LACKS_SELF;
	who->fs = lack == LACKS_ENTRY ? COLLECT_NOBODY : self();
	who->area = lack == LACKS_AREA ? 0 : (uint64_t)(uintptr_t)&count.area;
	count.area.part = (uint64_t)(uintptr_t)&count.area;
	count.area.busy = lack == IS_BUSY;
	count.area.n_tokens = lack == HAS_TOKEN;
	count.waiting = lack == IS_WAITED_FOR;
	set_slot(&count.area, lack == LACKS_SLOT ? SLOT_GENERAL : SLOT_COUNT,
		 ~0ull);
	memcpy(&count.before, &count.area, sizeof count.area);
}

static const char *count_differs(const struct run *r)
{
	if (!r->could)
		return NULL;
	if (r->counts)
		set_slot(&count.before, SLOT_COUNT, ~0ull + fires(r));
	return memcmp(&count.before, &count.area, sizeof count.area) != 0
		   ? "what was counted"
		   : NULL;
}

/* -- Comparing -- */

/* Below the red zone the stack is the handler's. */
static const char *stack_differs(const struct run *r, const uint8_t *home)
{
	uint64_t from = r->k->in.gpr[X86_RSP] - REDZONE - r->k->world->stack;
	const uint8_t *now = (const uint8_t *)r->k->world->stack;

	return memcmp(now + from, home + from, PAGE - from) ? "stack" : NULL;
}

static int translate(const struct run *r, struct machine *m)
{
	uint64_t offset = m->pc - r->slot;

	if (offset >= r->info.len)
		return 0;
	return trampoline_native(&r->info, (unsigned)offset, m->gpr, &m->flags,
				 &m->pc);
}

static const char *state_differs(const struct run *r, struct machine *m)
{
	if (translate(r, m) < 0)
		return "no point at the pc";
	if (m->pc != r->home->pc)
		return "pc";
	m->flags &= MACHINE_FLAGS;
	return machine_differs(m, r->home);
}

static void on_step(void *ctx, const struct machine *now)
{
	struct run *r = ctx;
	struct machine m = *now;
	const struct machine *want;

	if (now->pc - r->slot >= r->info.len || r->wrong)
		return; /* in the handler, or on its way to the int3 */
	sum.steps++;
	if (translate(r, &m) < 0) {
		r->wrong = "no point at a step";
		return;
	}
	want = m.pc == r->k->from ? &r->k->in : r->home;
	if (m.pc != want->pc)
		r->wrong = "pc at a step";
	else if (memcmp(m.gpr, want->gpr, sizeof m.gpr) != 0)
		r->wrong = "a register at a step";
	else if ((m.flags & MACHINE_FLAGS) != (want->flags & MACHINE_FLAGS))
		r->wrong = "flags at a step";
}

/* -- One case -- */

static int can_step(const struct kase *k)
{
	const struct x86_insn *i = &k->insn;

	return !(i->row->attr & X86_A_STRING) && i->row->flow != X86_SYSCALL &&
	       i->row->special != X86_PUSHF && i->row->special != X86_POPF;
}

static uint64_t operand_of(const struct kase *k)
{
	const struct x86_insn *i = &k->insn;
	uint64_t at = (uint64_t)i->disp;

	if (i->base == X86_RIP)
		at += k->from + i->len;
	if (i->base < 16)
		at += k->in.gpr[i->base];
	if (i->index < 16)
		at += k->in.gpr[i->index] << i->scale;
	if (i->prefixes & X86_P_67)
		at = (uint32_t)at;
	return i->seg == X86_GS ? at + k->world->data : at;
}

/* The handler needs a stack, and an operand below the red zone is nobody's:
 * what a handler (or a signal) left there differs. */
static int is_fit(const struct kase *k)
{
	uint64_t depth = k->in.gpr[X86_RSP] - k->world->stack;
	uint64_t operand = operand_of(k) - k->world->stack;

	return depth >= ROOM && depth < PAGE &&
	       !(k->insn.is_mem && operand < depth - REDZONE);
}

static enum x86_move build(struct run *r)
{
	static const uint8_t off[1] = {0};
	const struct kase *k = r->k;
	unsigned offset = random_below(PAGE - ROOM);
	uint8_t *at = k->world->near_rw + offset;
	struct x86_buf out = {at, at, at + ROOM, k->world->near + offset, 0};
	struct trampoline_want want = {.bytes = k->code,
				       .at = k->from,
				       .window = k->insn.len,
				       .n = 1,
				       .off = off,
				       .probed = 1,
				       .handler = (uint64_t)(uintptr_t)spoil,
				       .cookie = {COOKIE}};

	want.flags[0] = k->in.flags & X86_DF || random_below(4) == 0
			    ? TRAMPOLINE_ALL
			    : TRAMPOLINE_STATUS;
	r->taken = k->insn.row->flow == X86_JCC && random_below(2);
	want.taken = (unsigned)r->taken;
	r->could = random_below(2) == 0;
	if (r->could) {
		enum lack lack =
		    random_below(2) ? random_below(LACK_MAX) : LACKS_NOTHING;

		prepare_count(lack);
		r->counts = lack == LACKS_NOTHING && !r->taken;
		want.slot[0] = SLOT_AT;
		want.table = (uint64_t)(uintptr_t)&count.table;
		want.waiting = (uint64_t)(uintptr_t)&count.waiting;
	}
	memset(k->world->near_rw, 0xcc, PAGE);
	r->slot = out.pc;
	return trampoline_build(&want, &out, &r->info);
}

static void run_probed(struct run *r, const uint8_t *data, const uint8_t *stack)
{
	struct machine in = r->k->in, out;

	if (build(r) != X86_MOVE_OK ||
	    r->info.moved[0].notes & X86_MOVED_APART) {
		sum.refused++;
		return;
	}
	sum.runs++;
	world_load(r->k);
	memset(&seen, 0, sizeof seen);
	in.pc = r->slot;
	machine_run(&in, &out, r->stepped ? on_step : NULL, r);
	if (!r->wrong)
		r->wrong = handler_differs(r);
	if (!r->wrong)
		r->wrong = count_differs(r);
	if (!r->wrong)
		r->wrong = state_differs(r, &out);
	if (!r->wrong && memcmp((void *)r->k->world->data, data, PAGE) != 0)
		r->wrong = "data";
	if (!r->wrong && r->home->sig == SIGTRAP)
		r->wrong = stack_differs(r, stack);
}

static int run_case(const struct kase *k, const char *kind, unsigned long n)
{
	static uint8_t data[PAGE], stack[PAGE];
	struct machine home;
	struct run r = {.k = k, .home = &home, .stepped = n & 1 && can_step(k)};

	sum.cases++;
	if (!is_fit(k)) {
		sum.passed_over++;
		return 0;
	}
	case_text(k, k->code, k->insn.len);
	world_load(k);
	machine_run(&k->in, &home, NULL, NULL);
	memcpy(data, (const void *)k->world->data, PAGE);
	memcpy(stack, (const void *)k->world->stack, PAGE);
	run_probed(&r, data, stack);
	case_text(k, NULL, k->insn.len);
	if (!r.wrong)
		return 0;
	printf("# %s, case %lu%s: %s differs; code", kind, n,
	       r.stepped ? ", stepped" : "", r.wrong);
	for (unsigned i = 0; i < k->insn.len; i++)
		printf(" %02x", k->code[i]);
	puts("");
	return -1;
}

static int run_kind(unsigned kind, unsigned long cases, uint64_t seed)
{
	unsigned failed;

	memset(&sum, 0, sizeof sum);
	failed = cases_run(kind, cases, seed, run_case);
	if (sum.runs == 0 && sum.refused == 0)
		failed++; /* nothing was shown */
	printf("%s %u - %s: %lu cases, %lu probed runs and %lu steps are as at "
	       "home\n",
	       failed ? "not ok" : "ok", kind + 1, kind_name(kind), sum.cases,
	       sum.runs, sum.steps);
	printf("# %lu refused, %lu without a stack\n", sum.refused,
	       sum.passed_over);
	fflush(stdout);
	return failed ? -1 : 0;
}

int main(int argc, char **argv)
{
	const struct program p = {300, n_kinds, kind_name, run_kind};

	return program_main(&p, argc, argv);
}
