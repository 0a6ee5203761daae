/* tools/x86/semantic.c - every row of the tables, executed.
 *
 *   semantic [-m] [-t SECONDS] [-n ROUNDS] [-S SEED]
 *
 * Generator and comparison share one opinion of what opcodes do; a wrong fact
 * in it shows no difference there, and would corrupt programs silently. So
 * every row is executed, with operands and states that hurt, and held against
 * the masks (judge.h). Instructions that cannot be run here are counted with
 * the reason.
 *
 * -m spoils one fact of each instruction first, and counts how many of these
 * lies are found: a test of the test.
 *
 * The work is done in a child, confined by seccomp. If it dies, that too is a
 * finding, and the next child goes on behind it. */
#include "judge.h"
#include "oracle.h"

#include <err.h>
#include <sched.h>
#include <signal.h>
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
	BY_VENDOR, /* differs between CPUs, and is marked */
	UNDEFINED, /* #UD: not on this CPU, or not enabled */
	PRIVILEGED,
	UNLUCKY, /* faults with every operand tried */
	REASONS
};
static const char *const reason_text[REASONS] = {
    [DONE] = "tested",
    [BY_FLOW] = "leaves the sandbox (system, far or host call, trap)",
    [BY_VENDOR] = "66 before a branch (X86_A_VENDOR)",
    [UNDEFINED] = "#UD here: a feature that this CPU or kernel lacks",
    [PRIVILEGED] = "privileged: #GP in user mode",
    [UNLUCKY] = "faulted with every operand tried",
};

/* Findings that are no mistakes of the tables. */
static const struct {
	ZydisMnemonic mnemonic;
	const char *text, *why;
	uint8_t opcode; /* this one only; 0: any */
} excuses[] = {
    {ZYDIS_MNEMONIC_LFS, "operand 0 has less", "AMD ignores REX.W here", 0},
    {ZYDIS_MNEMONIC_LGS, "operand 0 has less", "AMD ignores REX.W here", 0},
    {ZYDIS_MNEMONIC_POP, "operand 0 has less", "Intel reads 2 bytes: fs", 0xa1},
    {ZYDIS_MNEMONIC_POP, "operand 0 has less", "Intel reads 2 bytes: gs", 0xa9},
    {ZYDIS_MNEMONIC_MOVSXD, "operand 0 has less", "Intel reads 2 bytes by 66",
     0},
    {ZYDIS_MNEMONIC_LSS, "never ran", "no valid selector in memory", 0},
    {ZYDIS_MNEMONIC_RDPMC, "never ran", "needs leave of the kernel", 0},
    {ZYDIS_MNEMONIC_ENQCMD, "never ran", "needs a device to be opened", 0},
    {ZYDIS_MNEMONIC_ENQCMDS, "never ran", "needs a device to be opened", 0},
    {ZYDIS_MNEMONIC_MOVDIR64B, "never ran", "needs an aligned destination", 0},
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

/* -- Shared with the parent ---------------------------------------------- */

enum { MAX_ROWS = 4096, MNEMONICS = ZYDIS_MNEMONIC_MAX_VALUE + 1 };

struct shown {
	ZydisMnemonic mnemonic;
	unsigned times;
	char text[64];
};
enum { MAX_SHOWN = 4096, EXAMPLES = 2, LIES = 10 };

static struct shared {
	uint64_t next; /* where a new child goes on */
	uint8_t running[CELL_BYTES];
	unsigned pass;
	double used; /* CPU seconds of children that died */
	unsigned long runs, encodings, findings;
	unsigned long by_reason[REASONS], excused[EXCUSES];
	unsigned long lies_told[LIES], lies_found[LIES];
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

static int is_excused(const struct trial *t, ZydisMnemonic m, const char *text)
{
	for (unsigned k = 0; k < EXCUSES; k++)
		if (excuses[k].mnemonic == m &&
		    (excuses[k].opcode == 0 ||
		     excuses[k].opcode == t->insn.opcode) &&
		    strncmp(text, excuses[k].text, strlen(excuses[k].text)) ==
			0) {
			shared->excused[k]++;
			return 1;
		}
	return 0;
}

static void finding(const struct trial *t, const char *text)
{
	ZydisMnemonic m = mnemonic_of(t->code);

	if (is_excused(t, m, text))
		return;
	shared->findings++;
	if (shown_before(m, text) >= EXAMPLES)
		return;
	printf("  ");
	show_bytes(t->code, t->insn.len);
	printf(" %s: %s\n", ZydisMnemonicGetString(m), text);
	fflush(stdout);
}

/* -- One row of one opcode ----------------------------------------------- */

static enum reason reason_for(const struct trial *t)
{
	if (leaves_sandbox(t->insn.row->flow))
		return BY_FLOW;
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

static struct outcome base;

/* Runs t once with random contents; DONE if it did not fault. */
static enum reason attempt(struct trial *t)
{
	enum reason why = UNLUCKY;

	memcpy(shared->running, t->code, sizeof t->code);
	for (unsigned tries = 0; tries < 12; tries++) {
		trial_fill(t, &rng);
		if (!trial_place(t, &rng, TRIAL_NO_EDGE, 0))
			continue;
		judge_run(t, &base);
		if (!base.signal)
			return DONE;
		why = fault_reason(t, &base);
		if (why == UNDEFINED)
			break;
	}
	return why;
}

static void judge(const struct trial *t)
{
	if (!judge_writes(t, &base) || is_random(mnemonic_of(t->code)))
		return;
	judge_reads(t, &base);
	judge_sizes(t);
}

/* -- Lies: is what is wrong found? --------------------------------------- */

static int telling_lies, caught;
static struct x86_row spoiled; /* the row of the trial, with a lie in it */

static void lie_found(const struct trial *t, const char *text)
{
	(void)t;
	(void)text;
	caught = 1;
}

/* One random bit of a mask, 0 if there is none. */
static uint16_t some_bit(unsigned mask)
{
	unsigned n = rng_below(&rng, 16);

	mask &= 0xffff;
	if (!mask)
		return 0;
	while (!(mask >> n & 1))
		n = (n + 1) & 15;
	return (uint16_t)(1 << n);
}

static int drop(uint16_t *mask, unsigned of)
{
	uint16_t bit = some_bit(*mask & of);

	*mask &= (uint16_t)~bit;
	return bit != 0;
}

static int lie_gpr_read(struct trial *t)
{
	return drop(&t->insn.gpr_read, 0xffff);
}

static int lie_gpr_write(struct trial *t)
{
	return drop(&t->insn.gpr_write, 0xffff);
}

/* "Written whole", of a register that keeps something. */
static int lie_gpr_kill(struct trial *t)
{
	uint16_t bit =
	    some_bit(t->insn.gpr_write & ~t->insn.gpr_kill & ~t->insn.gpr_read);

	t->insn.gpr_kill |= bit;
	return bit != 0;
}

static int lie_flag_read(struct trial *t)
{
	return drop(&t->insn.flag_read, X86_FLAGS_STATUS | X86_DF);
}

static int lie_flag_write(struct trial *t)
{
	return drop(&t->insn.flag_write, X86_FLAGS_STATUS);
}

static int lie_size(struct trial *t, int by)
{
	if (!t->n || !t->region[0].exact || !t->insn.is_mem)
		return 0;
	t->region[0].len += (unsigned)by;
	spoiled.mem_size = (uint16_t)(spoiled.mem_size + by);
	return 1;
}

static int lie_shorter(struct trial *t)
{
	return lie_size(t, -1);
}

static int lie_longer(struct trial *t)
{
	return lie_size(t, 1);
}

static int lie_direction(struct trial *t)
{
	unsigned k = t->n ? rng_below(&rng, t->n) : 0;

	if (!t->n || t->region[k].may)
		return 0;
	t->region[k].access &=
	    t->region[k].access & X86_M_WRITE ? X86_M_READ : 0;
	return 1;
}

static int drop_attribute(uint32_t attr)
{
	int there = (spoiled.attr & attr) != 0;

	spoiled.attr &= ~attr;
	return there;
}

static int lie_vectors(struct trial *t)
{
	(void)t;
	return drop_attribute(X86_A_VEC);
}

static int lie_x87(struct trial *t)
{
	(void)t;
	return drop_attribute(X86_A_X87);
}

/* How many are found depends on the operands: an addend of 0 changes nothing,
 * and some rows say more than this instruction does. */
static const struct {
	const char *what;
	int (*tell)(struct trial *t);
	unsigned least; /* per cent that must be found */
} lies[LIES] = {
    {"a register read", lie_gpr_read, 50},
    {"a register written", lie_gpr_write, 50},
    {"a register killed", lie_gpr_kill, 50},
    {"a flag read", lie_flag_read, 50},
    {"a flag written", lie_flag_write, 50},
    {"an operand one byte shorter", lie_shorter, 50},
    {"an operand one byte longer", lie_longer, 50},
    {"a direction", lie_direction, 50},
    {"vector state", lie_vectors, 50},
    {"x87 state", lie_x87, 50},
};

static void judge_lie(struct trial *t)
{
	unsigned which = rng_below(&rng, LIES);

	spoiled = *t->insn.row;
	t->insn.row = &spoiled;
	if (!lies[which].tell(t))
		return;
	caught = 0;
	judge(t);
	shared->lies_told[which]++;
	shared->lies_found[which] += (unsigned)caught;
}

static enum reason test_encoding(struct trial *t)
{
	enum reason why = reason_for(t);

	if (why == DONE)
		why = attempt(t);
	if (why == DONE && telling_lies)
		judge_lie(t);
	else if (why == DONE)
		judge(t);
	return why;
}

static void note(const struct trial *t, const struct x86_row *row,
		 enum reason why)
{
	ZydisMnemonic m = mnemonic_of(t->code);

	shared->encodings++;
	shared->by_reason[why]++;
	shared->reason_of[m][why] = 1;
	if (why == DONE)
		shared->row_done[row_number(row)] = 1;
}

static struct trial trial;

enum { PATIENCE = 20 }; /* more choices if none has run yet */

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
		note(&trial, row, why);
		unlucky += why == UNLUCKY;
		k++;
	} while ((k < n || (unlucky == k && k < n + PATIENCE)) &&
		 why != UNDEFINED && why != BY_FLOW &&
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
	const struct x86_row *seen[CELL_FORMS] = {NULL};
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
	judge_init(&rng, telling_lies ? lie_found : finding, &shared->runs);
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

/* 0 if a kind of lie is found too rarely. */
static int report_lies(void)
{
	int ok = 1;

	for (unsigned k = 0; k < LIES; k++) {
		unsigned long n = shared->lies_told[k],
			      found = shared->lies_found[k];

		printf("%lu of %lu lies found: %s\n", found, n, lies[k].what);
		ok &= n > 0 && found * 100 >= n * lies[k].least;
	}
	return ok;
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

	while ((opt = getopt(argc, argv, "mt:n:S:")) != -1)
		switch (opt) {
		case 'm':
			telling_lies = 1;
			break;
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
			errx(2, "usage: semantic [-m] [-t SECONDS] [-n ROUNDS] "
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
	if (telling_lies && !report_lies())
		return 1;
	return shared->findings != 0;
}
