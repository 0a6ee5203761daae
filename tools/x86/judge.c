/* tools/x86/judge.c - hold one run of an instruction against its masks. */
#include "judge.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct rng *rng;
static judge_found_fn *found;
static unsigned long *runs;

void judge_init(struct rng *r, judge_found_fn *f, unsigned long *n)
{
	rng = r;
	found = f;
	runs = n;
}

/* -- Running ------------------------------------------------------------- */

static size_t state_len(void)
{
	return CPU_XSTATE + cpu_xsave_len();
}

void judge_run(const struct trial *t, struct outcome *out)
{
	uint8_t *arena = (uint8_t *)(uintptr_t)CPU_ARENA;
	uint8_t *code = (uint8_t *)(uintptr_t)TRIAL_PC;
	unsigned len = t->insn.len;

	memset(code - 64, 0xcc, 64);
	memcpy(code, t->code, len);
	memset(code + len, 0xcc, 128);
	cpu_put_leave(code + len, CPU_LEAVE_AT);
	cpu_put_leave(code + len + TRIAL_TAKEN_DISP, CPU_TAKEN_AT);
	memcpy(arena, t->mem, CPU_ARENA_LEN);
	memcpy(cpu_in(), &t->in, state_len());
	memset(cpu_out()->xstate, 0, cpu_xsave_len());
	++*runs;
	out->signal = cpu_run();
	out->trap = cpu_control()->trap;
	out->address = cpu_control()->address;
	out->taken = cpu_control()->taken;
	memcpy(&out->s, cpu_out(), state_len());
	memcpy(out->mem, arena, CPU_ARENA_LEN);
	if (!cpu_control()->has_bases) {
		out->s.fs = t->in.fs;
		out->s.gs = t->in.gs;
	}
}

/* -- Findings ------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void
finding(const struct trial *t, const char *format, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	found(t, text);
}

static const char *const gpr_name[16] = {
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

/* Parts of the state that belong to x87 or to vectors. What x87 remembers of
 * its last instruction is left out: AMD stores it only after an exception. */
static int is_x87_byte(unsigned at)
{
	return at < 6 || (at >= 32 && at < CPU_XMM && (at & 15) < 10);
}

static int is_vector_byte(unsigned at)
{
	if ((at >= CPU_MXCSR && at < CPU_MXCSR + 4) ||
	    (at >= CPU_XMM && at < CPU_XMM + 256))
		return 1;
	for (unsigned k = CPU_AVX; k < CPU_PARTS; k++)
		if (at - cpu_part_offset(k) < cpu_part_len(k))
			return 1;
	return 0;
}

/* Offset of the first byte of a kind that differs, or -1. */
static int state_differs(const struct cpu_state *a, const struct cpu_state *b,
			 int (*kind)(unsigned at))
{
	unsigned n = cpu_xsave_len();

	if (memcmp(a->xstate, b->xstate, n) == 0)
		return -1;
	for (unsigned k = 0; k < n; k++)
		if (a->xstate[k] != b->xstate[k] && kind(k))
			return (int)k;
	return -1;
}

static int in_region(const struct trial *t, unsigned access, uint64_t at)
{
	for (unsigned k = 0; k < t->n; k++)
		if (t->region[k].access & access &&
		    at - t->region[k].at < t->region[k].len)
			return 1;
	return 0;
}

/* -- S1: what is not written stays --------------------------------------- */

static int check_memory_writes(const struct trial *t, const struct outcome *o)
{
	if (memcmp(t->mem, o->mem, CPU_ARENA_LEN) == 0)
		return 1;
	for (unsigned k = 0; k < CPU_ARENA_LEN; k++)
		if (t->mem[k] != o->mem[k] &&
		    !in_region(t, X86_M_WRITE, CPU_ARENA + k)) {
			finding(t, "writes memory %ld bytes from its operand",
				(long)(CPU_ARENA + k - t->region[0].at));
			return 0;
		}
	return 1;
}

static int may_jump(unsigned flow, unsigned taken)
{
	if (flow == X86_NEXT)
		return !taken;
	return taken || flow == X86_JCC || flow == X86_LOOP;
}

int judge_writes(const struct trial *t, const struct outcome *o)
{
	const struct x86_insn *i = &t->insn;
	uint64_t flags =
	    (t->in.flags ^ o->s.flags) & (X86_FLAGS_STATUS | X86_DF);
	uint32_t attr = i->row->attr;
	int ok = 1, at;

	for (unsigned r = 0; r < 16; r++)
		if (t->in.gpr[r] != o->s.gpr[r] && !(i->gpr_write >> r & 1)) {
			finding(t, "writes %s", gpr_name[r]);
			ok = 0;
		}
	if (flags & ~(uint64_t)i->flag_write) {
		finding(t, "writes flags %#lx",
			(unsigned long)(flags & ~(uint64_t)i->flag_write));
		ok = 0;
	}
	at = state_differs(&t->in, &o->s, is_x87_byte);
	if (at >= 0 && !(attr & X86_A_X87)) {
		finding(t, "writes x87 state at %d", at);
		ok = 0;
	}
	at = state_differs(&t->in, &o->s, is_vector_byte);
	if (at >= 0 && !(attr & X86_A_VEC)) {
		finding(t, "writes vector state at %d", at);
		ok = 0;
	}
	if ((t->in.fs != o->s.fs || t->in.gs != o->s.gs) &&
	    !(attr & X86_A_SEGBASE)) {
		finding(t, "writes fs or gs base");
		ok = 0;
	}
	if (!may_jump(i->row->flow, o->taken)) {
		finding(t, o->taken ? "jumps" : "does not jump");
		ok = 0;
	}
	return check_memory_writes(t, o) && ok;
}

/* -- S2: what is not read does not matter -------------------------------- */

/* Things that can be changed one by one. */
enum unit {
	U_GPR = 0,	/* .. 15 */
	U_FLAG = 16,	/* + number of the bit, 0 .. 11 */
	U_OUTSIDE = 28, /* memory that is not read */
	U_VECTORS,
	U_X87,
	UNITS
};

static uint32_t unread_units(const struct x86_insn *i)
{
	uint16_t flags = (X86_FLAGS_STATUS | X86_DF) & (uint16_t)~i->flag_read;
	uint32_t units = (uint16_t)~i->gpr_read | (uint32_t)flags << U_FLAG;

	units |= 1u << U_OUTSIDE;
	if (!(i->row->attr & X86_A_VEC))
		units |= 1u << U_VECTORS;
	if (!(i->row->attr & X86_A_X87))
		units |= 1u << U_X87;
	return units;
}

/* Other contents for everything, drawn once, applied in part. */
static struct trial other;

/* A masked or conditional store keeps old bytes: they count as read. */
static int matters(const struct trial *t, unsigned at)
{
	for (unsigned k = 0; k < t->n; k++)
		if (CPU_ARENA + at - t->region[k].at < t->region[k].len &&
		    (t->region[k].access & X86_M_READ || t->region[k].may))
			return 1;
	return 0;
}

static void change(struct trial *c, const struct trial *t, uint32_t units)
{
	*c = *t;
	for (unsigned r = 0; r < 16; r++)
		if (units >> r & 1)
			c->in.gpr[r] = other.in.gpr[r];
	c->in.flags ^= units >> U_FLAG & 0xfff;
	if (units >> U_OUTSIDE & 1)
		for (unsigned k = 0; k < CPU_ARENA_LEN; k++)
			if (!matters(t, k))
				c->mem[k] = other.mem[k];
	for (unsigned k = 0; k < cpu_xsave_len(); k++)
		if ((units >> U_VECTORS & 1 && is_vector_byte(k)) ||
		    (units >> U_X87 & 1 && is_x87_byte(k)))
			c->in.xstate[k] = other.in.xstate[k];
}

/* The first result that differs between two runs though it must not. */
static const char *result_differs(const struct trial *a,
				  const struct outcome *x,
				  const struct trial *b,
				  const struct outcome *y)
{
	const struct x86_insn *i = &a->insn;
	uint64_t flags = (x->s.flags ^ y->s.flags) & i->flag_write;
	uint64_t in = a->in.flags ^ b->in.flags;

	if (x->signal != y->signal)
		return "whether it faults";
	if (x->taken != y->taken)
		return "whether it jumps";
	for (unsigned r = 0; r < 16; r++) {
		uint64_t d = x->s.gpr[r] ^ y->s.gpr[r];

		if (!(i->gpr_kill >> r & 1)) /* may show its old value */
			d &= ~(a->in.gpr[r] ^ b->in.gpr[r]);
		if (d && i->gpr_write >> r & 1)
			return gpr_name[r];
	}
	if (flags & ~(uint64_t)i->row->flag_undef &
	    ~(in & ~(uint64_t)i->flag_kill))
		return "flags";
	for (unsigned k = 0; k < CPU_ARENA_LEN; k++)
		if (x->mem[k] != y->mem[k] &&
		    in_region(a, X86_M_WRITE, CPU_ARENA + k))
			return "memory";
	if (i->row->attr & X86_A_VEC &&
	    state_differs(&x->s, &y->s, is_vector_byte) >= 0)
		return "vector state";
	if (i->row->attr & X86_A_X87 &&
	    state_differs(&x->s, &y->s, is_x87_byte) >= 0)
		return "x87 state";
	return NULL;
}

static const char *unit_name(unsigned u, char out[16])
{
	if (u < 16)
		return gpr_name[u];
	if (u < U_OUTSIDE) {
		snprintf(out, 16, "flag %#x", 1u << (u - U_FLAG));
		return out;
	}
	return u == U_OUTSIDE	? "memory outside"
	       : u == U_VECTORS ? "vectors"
				: "x87";
}

static struct trial changed;
static struct outcome again;

/* Names the units that matter by themselves. */
static void take_apart(const struct trial *t, const struct outcome *base,
		       uint32_t units)
{
	const char *what;
	char text[16];
	int named = 0;

	judge_run(t, &again);
	what = result_differs(t, base, t, &again);
	if (what) {
		finding(t, "not deterministic: %s", what);
		return;
	}
	for (unsigned u = 0; u < UNITS; u++) {
		if (!(units >> u & 1))
			continue;
		change(&changed, t, 1u << u);
		judge_run(&changed, &again);
		what = result_differs(t, base, &changed, &again);
		if (what) {
			finding(t, "%s depends on %s", what,
				unit_name(u, text));
			named = 1;
		}
	}
	if (!named)
		finding(t, "depends on something unread");
}

void judge_reads(const struct trial *t, const struct outcome *base)
{
	uint32_t units = unread_units(&t->insn);

	other.insn = t->insn;
	trial_fill(&other, rng);
	change(&changed, t, units);
	judge_run(&changed, &again);
	if (result_differs(t, base, &changed, &again)) {
		take_apart(t, base, units);
		return;
	}
	judge_writes(&changed, &again);
}

/* -- S3: sizes ----------------------------------------------------------- */

static int hit_guard(const struct outcome *o)
{
	return o->signal == SIGSEGV && o->trap == 14 &&
	       o->address >= CPU_ARENA_END &&
	       o->address < CPU_ARENA_END + CPU_PAGE;
}

void judge_sizes(const struct trial *t)
{
	for (unsigned k = 0; k < t->n; k++) {
		if (!t->region[k].exact)
			continue;
		changed = *t;
		if (trial_place(&changed, rng, (int)k, 0)) {
			judge_run(&changed, &again);
			if (hit_guard(&again))
				finding(t, "operand %u has more than %u bytes",
					k, t->region[k].len);
		}
		changed = *t;
		if (trial_place(&changed, rng, (int)k, 1)) {
			judge_run(&changed, &again);
			if (again.signal != SIGSEGV && again.signal != SIGBUS)
				finding(t, "operand %u has less than %u bytes",
					k, t->region[k].len);
		}
	}
}
