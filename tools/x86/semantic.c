/* tools/x86/semantic.c - does the CPU do what hark says an instruction does?
 *
 *   semantic [-t SECONDS] [-n ROUNDS] [-S SEED] [HEX...]
 *
 * Generator and comparison share one opinion of what opcodes do; a wrong fact
 * in it shows no difference there, and would corrupt programs silently. So
 * every row is executed, with operands and states that hurt, and held against
 * the masks:
 *
 * S1  What is not in a write mask, nor in a region written, stays as it was.
 *     x87 and vector state stay unless X86_A_X87 and X86_A_VEC are set.
 * S2  What is not in a read mask, nor in a region read, does not matter: the
 *     same run with all of that changed has the same results. A register or
 *     flag that is killed does not show its old value even in itself.
 * S3  A region ends where it says: right before a guard page it works, one
 *     byte further it faults.
 *
 * A difference is taken apart by changing one thing at a time, and printed.
 * Instructions that cannot be run here are counted with the reason.
 *
 * The work is done in a child, confined by seccomp. If it dies, that too is a
 * finding, and the next child goes on behind it. */
#include "oracle.h"
#include "trial.h"

#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* -- What is not run ----------------------------------------------------- */

enum reason {
	DONE,
	BY_FLOW,   /* leaves the sandbox */
	BY_HOST,   /* talks to a hypervisor */
	BY_VENDOR, /* differs between CPUs, and is marked */
	UNDEFINED, /* #UD: not on this CPU, or not enabled */
	PRIVILEGED,
	UNLUCKY, /* faults with every operand tried */
	REASONS
};
static const char *const reason_text[REASONS] = {
    [DONE] = "tested",
    [BY_FLOW] = "leaves the sandbox (system call, far transfer, trap)",
    [BY_HOST] = "talks to the hypervisor",
    [BY_VENDOR] = "66 before a branch (X86_A_VENDOR)",
    [UNDEFINED] = "#UD here: a feature that this CPU or kernel lacks",
    [PRIVILEGED] = "privileged: #GP in user mode",
    [UNLUCKY] = "faulted with every operand tried",
};

/* Findings that are no mistakes of the tables. */
static const struct {
	ZydisMnemonic mnemonic;
	const char *text, *why;
} excuses[] = {
    {ZYDIS_MNEMONIC_LFS, "operand 0 has less", "AMD ignores REX.W here"},
    {ZYDIS_MNEMONIC_LGS, "operand 0 has less", "AMD ignores REX.W here"},
    {ZYDIS_MNEMONIC_LSS, "never ran", "no valid selector in memory"},
    {ZYDIS_MNEMONIC_RDPMC, "never ran", "needs leave of the kernel"},
};
enum { EXCUSES = sizeof excuses / sizeof excuses[0] };

/* Another run gives another result: only S1 can be checked. */
static const ZydisMnemonic random_results[] = {
    ZYDIS_MNEMONIC_RDTSC,  ZYDIS_MNEMONIC_RDTSCP, ZYDIS_MNEMONIC_RDRAND,
    ZYDIS_MNEMONIC_RDSEED, ZYDIS_MNEMONIC_RDPRU,  ZYDIS_MNEMONIC_RDPMC,
};

static int is_random(ZydisMnemonic m)
{
	for (unsigned k = 0; k < sizeof random_results / sizeof(m); k++)
		if (random_results[k] == m)
			return 1;
	return 0;
}

static int leaves_sandbox(unsigned flow)
{
	switch (flow) {
	case X86_NEXT:
	case X86_JCC:
	case X86_LOOP:
	case X86_JMP:
	case X86_CALL:
	case X86_RET:
	case X86_JMP_IND:
	case X86_CALL_IND:
		return 0;
	default:
		return 1;
	}
}

static int talks_to_host(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_VMMCALL || m == ZYDIS_MNEMONIC_VMCALL;
}

/* -- Shared with the parent ---------------------------------------------- */

enum { MAX_ROWS = 4096, MNEMONICS = ZYDIS_MNEMONIC_MAX_VALUE + 1 };

struct shown {
	ZydisMnemonic mnemonic;
	unsigned times;
	char text[64];
};
enum { MAX_SHOWN = 4096, EXAMPLES = 2 };

static struct shared {
	uint64_t next; /* where a new child goes on */
	uint8_t running[CELL_BYTES];
	unsigned pass;
	double used; /* CPU seconds of children that died */
	unsigned long runs, encodings, findings;
	unsigned long by_reason[REASONS], excused[EXCUSES];
	uint8_t reason_of[MNEMONICS][REASONS];
	const struct x86_row *rows[MAX_ROWS];
	uint8_t row_done[MAX_ROWS];
	unsigned n_rows;
	struct shown shown[MAX_SHOWN];
} * shared;

static struct rng rng = {0x9e3779b97f4a7c15u};
static unsigned rounds = 6;

static unsigned row_number(const struct x86_row *row)
{
	for (unsigned k = 0; k < shared->n_rows; k++)
		if (shared->rows[k] == row)
			return k;
	if (shared->n_rows == MAX_ROWS)
		errx(2, "too many rows");
	shared->rows[shared->n_rows] = row;
	return shared->n_rows++;
}

static ZydisMnemonic mnemonic_of(const uint8_t *code)
{
	struct opinion o;

	return oracle_ask(code, X86_MAX_LEN, &o) ? o.in.mnemonic
						 : ZYDIS_MNEMONIC_INVALID;
}

/* -- Running ------------------------------------------------------------- */

struct outcome {
	int signal;
	uint32_t trap, taken;
	uint64_t address;
	struct cpu_state s;
	uint8_t mem[CPU_ARENA_LEN];
};

static size_t state_len(void)
{
	return CPU_XSTATE + cpu_xsave_len();
}

static void run(const struct trial *t, struct outcome *out)
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
	shared->runs++;
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

static void show_bytes(const uint8_t *code, unsigned len)
{
	for (unsigned k = 0; k < len; k++)
		printf("%02x", code[k]);
}

/* How often has this mnemonic shown this before? */
static unsigned shown_before(ZydisMnemonic m, const char *text)
{
	struct shown *s = shared->shown;

	for (; s < shared->shown + MAX_SHOWN && s->times; s++)
		if (s->mnemonic == m && strcmp(s->text, text) == 0)
			return s->times++;
	if (s == shared->shown + MAX_SHOWN)
		return ~0u;
	s->mnemonic = m;
	s->times = 1;
	snprintf(s->text, sizeof s->text, "%s", text);
	return 0;
}

__attribute__((format(printf, 2, 3))) static void
finding(const struct trial *t, const char *format, ...)
{
	ZydisMnemonic m = mnemonic_of(t->code);
	char text[sizeof shared->shown[0].text];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	for (unsigned k = 0; k < EXCUSES; k++)
		if (excuses[k].mnemonic == m &&
		    strncmp(text, excuses[k].text, strlen(excuses[k].text)) ==
			0) {
			shared->excused[k]++;
			return;
		}
	shared->findings++;
	if (shown_before(m, text) >= EXAMPLES)
		return;
	printf("  ");
	show_bytes(t->code, t->insn.len);
	printf(" %s: %s\n", ZydisMnemonicGetString(m), text);
	fflush(stdout);
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

static int check_writes(const struct trial *t, const struct outcome *o)
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
static struct outcome base, again;

/* Names the units that matter by themselves. */
static void take_apart(const struct trial *t, uint32_t units)
{
	const char *what;
	char text[16];
	int named = 0;

	run(t, &again);
	what = result_differs(t, &base, t, &again);
	if (what) {
		finding(t, "not deterministic: %s", what);
		return;
	}
	for (unsigned u = 0; u < UNITS; u++) {
		if (!(units >> u & 1))
			continue;
		change(&changed, t, 1u << u);
		run(&changed, &again);
		what = result_differs(t, &base, &changed, &again);
		if (what) {
			finding(t, "%s depends on %s", what,
				unit_name(u, text));
			named = 1;
		}
	}
	if (!named)
		finding(t, "depends on something unread");
}

static void check_reads(const struct trial *t)
{
	uint32_t units = unread_units(&t->insn);

	other.insn = t->insn;
	trial_fill(&other, &rng);
	change(&changed, t, units);
	run(&changed, &again);
	if (result_differs(t, &base, &changed, &again)) {
		take_apart(t, units);
		return;
	}
	check_writes(&changed, &again);
}

/* -- S3: sizes ----------------------------------------------------------- */

static int hit_guard(const struct outcome *o)
{
	return o->signal == SIGSEGV && o->trap == 14 &&
	       o->address >= CPU_ARENA_END &&
	       o->address < CPU_ARENA_END + CPU_PAGE;
}

static void check_sizes(const struct trial *t)
{
	for (unsigned k = 0; k < t->n; k++) {
		if (!t->region[k].exact)
			continue;
		changed = *t;
		if (trial_place(&changed, &rng, (int)k, 0)) {
			run(&changed, &again);
			if (hit_guard(&again))
				finding(t, "operand %u has more than %u bytes",
					k, t->region[k].len);
		}
		changed = *t;
		if (trial_place(&changed, &rng, (int)k, 1)) {
			run(&changed, &again);
			if (again.signal != SIGSEGV && again.signal != SIGBUS)
				finding(t, "operand %u has less than %u bytes",
					k, t->region[k].len);
		}
	}
}

/* -- One row of one opcode ----------------------------------------------- */

static enum reason reason_for(const struct trial *t)
{
	if (leaves_sandbox(t->insn.row->flow))
		return BY_FLOW;
	if (talks_to_host(mnemonic_of(t->code)))
		return BY_HOST;
	if (t->insn.row->attr & X86_A_VENDOR)
		return BY_VENDOR;
	return DONE;
}

static enum reason fault_reason(const struct trial *t, const struct outcome *o)
{
	if (o->signal == SIGILL)
		return UNDEFINED;
	if (t->insn.row->attr & X86_A_PRIV)
		return PRIVILEGED;
	return UNLUCKY;
}

/* Runs t once with random contents; DONE if it did not fault. */
static enum reason attempt(struct trial *t)
{
	enum reason why = UNLUCKY;

	memcpy(shared->running, t->code, sizeof t->code);
	for (unsigned tries = 0; tries < 12; tries++) {
		trial_fill(t, &rng);
		if (!trial_place(t, &rng, TRIAL_NO_EDGE, 0))
			continue;
		run(t, &base);
		if (!base.signal)
			return DONE;
		why = fault_reason(t, &base);
		if (why == UNDEFINED)
			break;
	}
	return why;
}

static enum reason test_encoding(struct trial *t)
{
	enum reason why = reason_for(t);

	if (why == DONE)
		why = attempt(t);
	if (why != DONE)
		return why;
	if (!check_writes(t, &base) || is_random(mnemonic_of(t->code)))
		return DONE;
	check_reads(t);
	check_sizes(t);
	return DONE;
}

static void note(const struct trial *t, enum reason why)
{
	ZydisMnemonic m = mnemonic_of(t->code);

	shared->encodings++;
	shared->by_reason[why]++;
	shared->reason_of[m][why] = 1;
	if (why == DONE)
		shared->row_done[row_number(t->insn.row)] = 1;
}

static struct trial trial;

/* Several operand choices for what cell c leads to. */
static void test_cell(const struct cell *c, unsigned n)
{
	const struct x86_row *row;
	enum reason why;
	unsigned unlucky = 0, k = 0;

	if (!trial_encode(&trial, &rng, c, NULL))
		return;
	row = trial.insn.row;
	do {
		why = test_encoding(&trial);
		note(&trial, why);
		unlucky += why == UNLUCKY;
		k++;
	} while (k < n && why != UNDEFINED && why != BY_FLOW &&
		 trial_encode(&trial, &rng, c, row));
	if (unlucky == k)
		finding(&trial, "never ran");
}

/* -- All rows of all opcodes --------------------------------------------- */

enum { OPCODES = 256, FIRST_PASS_ROUNDS = 3 };

static uint8_t slot_space[1024], slot_variant[1024];
static unsigned n_slots;

static void list_slots(void)
{
	for (unsigned s = 0; s < X86_SPACE_MAX; s++)
		for (unsigned v = 0; v < cell_variants(s); v++) {
			slot_space[n_slots] = (uint8_t)s;
			slot_variant[n_slots++] = (uint8_t)v;
		}
}

static int decode_form(const struct cell *c, struct x86_insn *out)
{
	static const uint8_t vvvv[] = {0, 5, 3};
	uint8_t code[CELL_BYTES];
	struct cell v = *c;

	for (unsigned k = 0; k < 12; k++) { /* reserved ones: see gen.c */
		v.vvvv = vvvv[k % 3];
		v.aaa = k / 3 & 1;
		v.r = k / 6;
		cell_encode(code, &v);
		if (x86_decode(code, sizeof code, out) == X86_OK)
			return 1;
	}
	return 0;
}

/* Every distinct row that this opcode and variant lead to. In the first pass
 * only rows that no other opcode has led to. */
static void test_opcode(unsigned space, unsigned variant, unsigned opcode)
{
	const struct x86_row *seen[CELL_FORMS];
	unsigned n = 0, k;

	for (unsigned f = 0; f < CELL_FORMS; f++) {
		struct cell c = {.space = space,
				 .variant = variant,
				 .opcode = opcode,
				 .is_reg = f >= CELL_MEM_FORMS,
				 .reg = f < CELL_MEM_FORMS ? f : f / 8 - 1,
				 .rm = f % 8,
				 .base = X86_RBX,
				 .index = f == 6 ? 7 : 6};
		struct x86_insn i;
		unsigned known = shared->n_rows;

		if (!decode_form(&c, &i))
			continue;
		for (k = 0; k < n && seen[k] != i.row; k++)
			;
		if (k < n)
			continue;
		seen[n++] = i.row;
		if (shared->pass == 0 && row_number(i.row) < known)
			continue;
		test_cell(&c, shared->pass ? rounds : FIRST_PASS_ROUNDS);
	}
}

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* Pass 0 meets every row once, pass 1 every opcode. */
static void test_all(double seconds)
{
	uint64_t n = (uint64_t)n_slots * OPCODES;

	for (; shared->pass < 2; shared->pass++, shared->next = 0)
		while (shared->next < n) {
			uint64_t at = shared->next++;

			/* scattered, so that a bounded run sees a bit of all */
			at = shared->pass ? at * 1000003 % n : at;
			if (shared->pass && seconds > 0 &&
			    shared->used + cpu_seconds() > seconds)
				return;
			if (!cell_is_escape(slot_space[at / OPCODES],
					    at % OPCODES))
				test_opcode(slot_space[at / OPCODES],
					    slot_variant[at / OPCODES],
					    at % OPCODES);
		}
}

/* -- Parent and child ---------------------------------------------------- */

static void child(double seconds)
{
	cpu_set_t one;

	CPU_ZERO(&one); /* cpuid and rdpid know where they run */
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
	cpu_init();
	cpu_confine();
	rng.state += shared->next * 2 + shared->pass;
	test_all(seconds);
	fflush(stdout);
	_exit(0);
}

static void test_in_children(double seconds)
{
	for (;;) {
		pid_t pid = fork();
		int status;

		if (pid < 0)
			err(2, "fork");
		if (pid == 0)
			child(seconds);
		if (waitpid(pid, &status, 0) < 0)
			err(2, "waitpid");
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			return;
		if (WIFEXITED(status))
			errx(2, "the tester gave up");
		printf("  ");
		show_bytes(shared->running, X86_MAX_LEN);
		printf(" %s: killed the tester (signal %d)\n",
		       ZydisMnemonicGetString(mnemonic_of(shared->running)),
		       WTERMSIG(status));
		shared->findings++;
	}
}

static void report(void)
{
	unsigned done = 0;

	for (unsigned k = 0; k < shared->n_rows; k++)
		done += shared->row_done[k];
	for (enum reason r = BY_FLOW; r < REASONS; r++) {
		if (!shared->by_reason[r])
			continue;
		printf("%lu not run: %s:", shared->by_reason[r],
		       reason_text[r]);
		for (unsigned m = 0; m < MNEMONICS; m++)
			if (shared->reason_of[m][r] &&
			    (r != UNLUCKY || !shared->reason_of[m][DONE]))
				printf(" %s", ZydisMnemonicGetString(m));
		putchar('\n');
	}
	for (unsigned k = 0; k < EXCUSES; k++)
		printf("excused %lu: %s: %s (%s)\n", shared->excused[k],
		       ZydisMnemonicGetString(excuses[k].mnemonic),
		       excuses[k].text, excuses[k].why);
	printf("%lu encodings, %lu tested in %lu runs; rows %u of %u; "
	       "%lu findings\n",
	       shared->encodings, shared->by_reason[DONE], shared->runs, done,
	       shared->n_rows, shared->findings);
}

int main(int argc, char **argv)
{
	double seconds = 0;
	int opt;

	while ((opt = getopt(argc, argv, "t:n:S:")) != -1)
		switch (opt) {
		case 't':
			seconds = atof(optarg);
			break;
		case 'n':
			rounds = (unsigned)atoi(optarg);
			break;
		case 'S':
			rng.state ^= strtoul(optarg, NULL, 0) << 1;
			break;
		default:
			errx(2, "usage: semantic [-t SECONDS] [-n ROUNDS] "
				"[-S SEED]");
		}
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(2, "mmap");
	oracle_init();
	list_slots();
	test_in_children(seconds);
	report();
	return shared->findings != 0;
}
