/* tools/x86/sift.c - how long does this CPU think an instruction is?
 *
 *   sift [-t SECONDS] [-v]      exit status 1 if anything is unexplained
 *
 * The bytes are put right before a page that cannot be fetched. If the CPU
 * wants a byte more it faults on that page; so the least number of bytes that
 * it does not ask more of is its length, whatever the instruction then does.
 * An invalid one raises #UD instead. Nothing is trusted but the page table:
 * this is an opinion that shares no line with Zydis.
 *
 * With -t the cells come in a scattered order and the time is bounded. */
#include "cell.h"
#include "cpu.h"
#include "oracle.h"
#include "random.h"

#include <cpuid.h>
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* -- Explanations -------------------------------------------------------- */

enum cpuid_reg { EAX, EBX, ECX, EDX };

/* What the core accepts, and a CPU without the feature does not. The first
 * line whose text starts the name of Zydis' ISA set counts. */
static const struct feature {
	const char *set;
	uint32_t leaf, subleaf;
	enum cpuid_reg reg;
	unsigned bit;
} features[] = {
    {"ADOX_ADCX", 7, 0, EBX, 19},
    {"AES", 1, 0, ECX, 25},
    {"AMD3DNOW", 0x80000001, 0, EDX, 31},
    {"AMD_INVLPGB", 0x80000008, 0, EBX, 3},
    {"AVX2", 7, 0, EBX, 5},
    {"AVX512BW", 7, 0, EBX, 30},
    {"AVX512CD", 7, 0, EBX, 28},
    {"AVX512DQ", 7, 0, EBX, 17},
    {"AVX512ER", 7, 0, EBX, 27},
    {"AVX512F", 7, 0, EBX, 16},
    {"AVX512PF", 7, 0, EBX, 26},
    {"AVX512_4FMAPS", 7, 0, EDX, 3},
    {"AVX512_4VNNIW", 7, 0, EDX, 2},
    {"AVX512_BF16", 7, 1, EAX, 5},
    {"AVX512_BITALG", 7, 0, ECX, 12},
    {"AVX512_FP16", 7, 0, EDX, 23},
    {"AVX512_GFNI", 7, 0, ECX, 8},
    {"AVX512_IFMA", 7, 0, EBX, 21},
    {"AVX512_VAES", 7, 0, ECX, 9},
    {"AVX512_VBMI2", 7, 0, ECX, 6},
    {"AVX512_VBMI", 7, 0, ECX, 1},
    {"AVX512_VNNI", 7, 0, ECX, 11},
    {"AVX512_VP2INTERSECT", 7, 0, EDX, 8},
    {"AVX512_VPCLMULQDQ", 7, 0, ECX, 10},
    {"AVX512_VPOPCNTDQ", 7, 0, ECX, 14},
    {"AVXAES", 1, 0, ECX, 25},
    {"AVX_GFNI", 7, 0, ECX, 8},
    {"AVX_VNNI", 7, 1, EAX, 4},
    {"AVX", 1, 0, ECX, 28},
    {"BMI1", 7, 0, EBX, 3},
    {"BMI2", 7, 0, EBX, 8},
    {"CLDEMOTE", 7, 0, ECX, 25},
    {"CLFLUSHOPT", 7, 0, EBX, 23},
    {"CLWB", 7, 0, EBX, 24},
    {"CLZERO", 0x80000008, 0, EBX, 0},
    {"CMPXCHG16B", 1, 0, ECX, 13},
    {"ENQCMD", 7, 0, ECX, 29},
    {"F16C", 1, 0, ECX, 29},
    {"FMA4", 0x80000001, 0, ECX, 16},
    {"FMA", 1, 0, ECX, 12},
    {"GFNI", 7, 0, ECX, 8},
    {"HRESET", 7, 1, EAX, 22},
    {"INVPCID", 7, 0, EBX, 10},
    {"KEYLOCKER", 7, 0, ECX, 23},
    {"LZCNT", 0x80000001, 0, ECX, 5},
    {"MCOMMIT", 0x80000008, 0, EBX, 8},
    {"MONITORX", 0x80000001, 0, ECX, 29},
    {"MOVBE", 1, 0, ECX, 22},
    {"MOVDIR", 7, 0, ECX, 27},
    {"PCLMULQDQ", 1, 0, ECX, 1},
    {"PCONFIG", 7, 0, EDX, 18},
    {"PKU", 7, 0, ECX, 4},
    {"POPCNT", 1, 0, ECX, 23},
    {"PT", 7, 0, EBX, 25},
    {"RDPID", 7, 0, ECX, 22},
    {"RDPRU", 0x80000008, 0, EBX, 4},
    {"RDRAND", 1, 0, ECX, 30},
    {"RDSEED", 7, 0, EBX, 18},
    {"RDTSCP", 0x80000001, 0, EDX, 27},
    {"RDWRFSGS", 7, 0, EBX, 0},
    {"RTM", 7, 0, EBX, 11},
    {"SERIALIZE", 7, 0, EDX, 14},
    {"SGX", 7, 0, EBX, 2},
    {"SHA", 7, 0, EBX, 29},
    {"SMX", 1, 0, ECX, 6},
    {"SNP", 0x8000001f, 0, EAX, 4},
    {"SSE4A", 0x80000001, 0, ECX, 6},
    {"SVM", 0x80000001, 0, ECX, 2},
    {"TBM", 0x80000001, 0, ECX, 21},
    {"TDX", 0x21, 0, EAX, 0},
    {"TSX_LDTRK", 7, 0, EDX, 16},
    {"UINTR", 7, 0, EDX, 5},
    {"VAES", 7, 0, ECX, 9},
    {"VMFUNC", 1, 0, ECX, 5},
    {"VPCLMULQDQ", 7, 0, ECX, 10},
    {"VTX", 1, 0, ECX, 5},
    {"WAITPKG", 7, 0, ECX, 5},
    {"XOP", 0x80000001, 0, ECX, 11},
    {"XSAVEC", 0xd, 1, EAX, 1},
    {"XSAVEOPT", 0xd, 1, EAX, 0},
    {"XSAVES", 0xd, 1, EAX, 3},
    {"XSAVE", 1, 0, ECX, 26},
};
enum { FEATURES = sizeof features / sizeof features[0] };

/* Accepted by the core, #UD on a CPU that has the feature. */
static const struct {
	ZydisMnemonic mnemonic;
	const char *why;
} refused[] = {
    {ZYDIS_MNEMONIC_UD0, "made to be invalid"},
    {ZYDIS_MNEMONIC_UD1, "made to be invalid"},
    {ZYDIS_MNEMONIC_UD2, "made to be invalid"},
    {ZYDIS_MNEMONIC_RSM, "valid in system management mode only"},
    {ZYDIS_MNEMONIC_MONITOR, "#UD instead of #GP in user mode"},
    {ZYDIS_MNEMONIC_MWAIT, "#UD instead of #GP in user mode"},
    {ZYDIS_MNEMONIC_CLAC, "#UD instead of #GP in user mode"},
    {ZYDIS_MNEMONIC_STAC, "#UD instead of #GP in user mode"},
    {ZYDIS_MNEMONIC_RDPKRU, "#UD unless the kernel enables keys"},
    {ZYDIS_MNEMONIC_WRPKRU, "#UD unless the kernel enables keys"},
    {ZYDIS_MNEMONIC_NOP, "0F 0D with a register: a hint of Intel's"},
};
enum { REFUSED = sizeof refused / sizeof refused[0] };

static int has_feature(const struct feature *f)
{
	uint32_t r[4] = {0};

	if ((uint32_t)__get_cpuid_max(f->leaf & 0xffff0000, NULL) < f->leaf)
		return 0;
	__cpuid_count(f->leaf, f->subleaf, r[EAX], r[EBX], r[ECX], r[EDX]);
	return r[f->reg] >> f->bit & 1;
}

/* Why may this CPU refuse it? NULL if it should not. */
static const char *why_refused(const uint8_t *code)
{
	struct opinion o;
	const char *set;

	if (!oracle_ask(code, X86_MAX_LEN, &o))
		return NULL;
	for (unsigned k = 0; k < REFUSED; k++)
		if (refused[k].mnemonic == o.in.mnemonic)
			return refused[k].why;
	if (o.in.mnemonic == ZYDIS_MNEMONIC_CLZERO &&
	    memchr(code, 0xf2, o.in.length) != NULL)
		return "F2 before clzero: #UD on AMD's family 1Ah";
	set = ZydisISASetGetString(o.in.meta.isa_set);
	if (strcmp(set, "CET") == 0)
		return "#UD unless the kernel enables shadow stacks";
	if (strncmp(set, "AMX_", 4) == 0)
		return "#UD unless tiles are set up";
	for (unsigned k = 0; k < FEATURES; k++)
		if (strncmp(set, features[k].set, strlen(features[k].set)) == 0)
			return has_feature(&features[k]) ? NULL
							 : features[k].set;
	return NULL;
}

/* Instructions that are younger than the tables, by where they are. If the CPU
 * has the feature, it may accept what the core does not know. */
enum place { IN_0F38, IN_0F01, IN_VEX2, IN_VEX3, IN_VEX7, IN_REX2, IN_EVEX4 };
static const struct {
	enum place place;
	uint8_t first, last;
	struct feature feature;
} newer[] = {
    {IN_VEX2, 0xcb, 0xcd, {"SHA512", 7, 1, EAX, 0}},
    {IN_VEX2, 0xda, 0xda, {"SM3", 7, 1, EAX, 1}},
    {IN_VEX3, 0xde, 0xde, {"SM3", 7, 1, EAX, 1}},
    {IN_VEX2, 0xda, 0xda, {"SM4", 7, 1, EAX, 2}},
    {IN_0F38, 0xfc, 0xfc, {"RAO-INT", 7, 1, EAX, 3}},
    {IN_VEX2, 0xe0, 0xef, {"CMPCCXADD", 7, 1, EAX, 7}},
    {IN_0F01, 0xca, 0xca, {"FRED", 7, 1, EAX, 17}},
    {IN_0F01, 0xc6, 0xc6, {"WRMSRNS", 7, 1, EAX, 19}},
    {IN_VEX2, 0x5c, 0x5c, {"AMX-FP16", 7, 1, EAX, 21}},
    {IN_VEX2, 0xb4, 0xb5, {"AVX-IFMA", 7, 1, EAX, 23}},
    {IN_0F38, 0x8a, 0x8b, {"MOVRS", 7, 1, EAX, 31}},
    {IN_VEX2, 0x50, 0x51, {"AVX-VNNI-INT8", 7, 1, EDX, 4}},
    {IN_VEX2, 0x72, 0x72, {"AVX-NE-CONVERT", 7, 1, EDX, 5}},
    {IN_VEX2, 0xb0, 0xb1, {"AVX-NE-CONVERT", 7, 1, EDX, 5}},
    {IN_VEX2, 0x6c, 0x6c, {"AMX-COMPLEX", 7, 1, EDX, 8}},
    {IN_VEX2, 0xd2, 0xd3, {"AVX-VNNI-INT16", 7, 1, EDX, 10}},
    {IN_0F38, 0xf8, 0xf8, {"USER-MSR", 7, 1, EDX, 15}},
    {IN_VEX7, 0x00, 0xff, {"USER-MSR", 7, 1, EDX, 15}},
    {IN_REX2, 0x00, 0xff, {"APX", 7, 1, EDX, 21}},
    {IN_EVEX4, 0x00, 0xff, {"APX", 7, 1, EDX, 21}},
};
enum { NEWER = sizeof newer / sizeof newer[0] };

/* The opcode byte if code (without prefixes) is at that place, else -1. */
static int opcode_at(enum place place, const uint8_t *code)
{
	int vex = code[0] == 0xc4 ? code[1] & 31 : 0;

	switch (place) {
	case IN_0F38:
		return memcmp(code, "\x0f\x38", 2) == 0 ? code[2] : -1;
	case IN_0F01:
		return memcmp(code, "\x0f\x01", 2) == 0 ? code[2] : -1;
	case IN_VEX2:
		return vex == 2 ? code[3] : -1;
	case IN_VEX3:
		return vex == 3 ? code[3] : -1;
	case IN_VEX7:
		return vex == 7 ? code[3] : -1;
	case IN_REX2:
		return code[0] == 0xd5 ? code[2] : -1;
	case IN_EVEX4:
		return code[0] == 0x62 && (code[1] & 7) == 4 ? code[4] : -1;
	}
	return -1;
}

static const char *newer_feature(const uint8_t *code)
{
	for (unsigned k = 0; k < NEWER; k++) {
		int opcode = opcode_at(newer[k].place, code);

		if (opcode >= newer[k].first && opcode <= newer[k].last &&
		    has_feature(&newer[k].feature))
			return newer[k].feature.set;
	}
	return NULL;
}

/* Why may this CPU accept what the core refuses? Nothing that compilers
 * emit, and the engine stops before it: see docs/x86.md. */
static const char *why_accepted(const uint8_t *code)
{
	int lock = 0;

	for (; memchr("\x66\x67\xf2\xf3\xf0\x26\x2e\x36\x3e\x64\x65", *code,
		      11) != NULL ||
	       (*code & 0xf0) == 0x40;
	     code++)
		lock |= *code == 0xf0;
	if (*code == 0x62 && code[3] & 0x10 && code[5] >= 0xc0)
		return "EVEX.b with registers, where it does not round";
	if (*code == 0xc4 && (code[1] & 31) == 3 && code[3] <= 1 &&
	    (code[2] & 0x87) == 5)
		return "vpermq and vpermpd with VEX.W 0";
	if (memcmp(code, "\x0f\x01\xc1", 3) == 0)
		return "KVM completes vmcall, whatever its prefixes";
	if (lock && code[0] == 0x0f && (code[1] == 0x20 || code[1] == 0x22))
		return "lock mov cr: AMD's way to cr8, privileged";
	if (lock && memcmp(code, "\x0f\x00", 2) == 0 && (code[2] >> 3 & 7) == 5)
		return "lock verw: this CPU ignores the lock";
	return newer_feature(code);
}

/* -- Reasons are counted ------------------------------------------------- */

static struct reason {
	const char *what, *why;
	unsigned long used;
} reasons[FEATURES + REFUSED + NEWER + 16];

/* 1 if there is a reason. */
static int count_reason(const char *what, const char *why)
{
	struct reason *r = reasons;

	if (!why)
		return 0;
	while (r->why && (r->why != why || r->what != what))
		r++;
	r->what = what;
	r->why = why;
	r->used++;
	return 1;
}

/* -- One encoding -------------------------------------------------------- */

static struct {
	unsigned long asked, both, neither, explained, bad;
} count;

enum verdict { REJECTS, ACCEPTS, WANTS_MORE };

/* What does the CPU say if it gets n bytes? */
static enum verdict offer(const uint8_t *code, unsigned n)
{
	uint64_t start = CPU_CODE_END - n;
	struct cpu_control *c = cpu_control();
	int sig;

	memcpy((void *)start, code, n);
	cpu_in()->rip = start;
	sig = cpu_run();
	if (sig == SIGSEGV && c->trap == 14 && c->at == start &&
	    c->error & 16 && c->address == CPU_CODE_END)
		return WANTS_MORE;
	return sig == SIGILL && c->at == start ? REJECTS : ACCEPTS;
}

/* Its length, or 0 if the CPU refuses it: by #UD, or by #GP if it would be
 * longer than 15 bytes. */
static unsigned cpu_length(const uint8_t *code)
{
	unsigned n = 1;
	enum verdict v;

	if (offer(code, X86_MAX_LEN) == REJECTS)
		return 0;
	while ((v = offer(code, n)) == WANTS_MORE && n < X86_MAX_LEN)
		n++;
	if (v == ACCEPTS && n == X86_MAX_LEN && cpu_control()->trap == 13)
		return 0;
	return v == ACCEPTS ? n : 0;
}

/* Are these exactly as many bytes as it takes? */
static int takes(const uint8_t *code, unsigned n)
{
	return offer(code, n) == ACCEPTS &&
	       (n == 1 || offer(code, n - 1) == WANTS_MORE);
}

static void show(const uint8_t *code, unsigned core, unsigned cpu)
{
	struct opinion o;

	count.bad++;
	printf("  length: core %u cpu %u  ", core, cpu);
	for (unsigned k = 0; k < X86_MAX_LEN; k++)
		printf("%02x", code[k]);
	if (oracle_ask(code, X86_MAX_LEN, &o))
		printf(" %s (%s)", ZydisMnemonicGetString(o.in.mnemonic),
		       ZydisISASetGetString(o.in.meta.isa_set));
	putchar('\n');
}

/* These would act on the tester itself. */
static int is_system_call(const struct x86_insn *i)
{
	return i->row->flow == X86_SYSCALL || i->row->flow == X86_SYSENTER ||
	       i->row->flow == X86_INT;
}

static void ask(const uint8_t *code)
{
	struct x86_insn i;
	int core = x86_decode(code, CELL_BYTES, &i) == X86_OK;
	unsigned cpu;

	if (core && is_system_call(&i))
		return;
	count.asked++;
	if (core && takes(code, i.len)) {
		count.both++;
		return;
	}
	cpu = cpu_length(code);
	if (!core && !cpu)
		count.neither++;
	else if ((core && !cpu && count_reason("refused", why_refused(code))) ||
		 (!core && cpu &&
		  count_reason("accepted", why_accepted(code))) ||
		 (core && i.row->attr & X86_A_VENDOR &&
		  count_reason("length", "66 before a branch: as marked")))
		count.explained++;
	else
		show(code, core ? i.len : 0, cpu);
}

/* -- What to ask --------------------------------------------------------- */

static struct rng rng = {88172645463325252u};
static double deadline; /* in CPU seconds; 0: none */

static int is_over(void)
{
	return deadline > 0 && (double)clock() / CLOCKS_PER_SEC > deadline;
}

enum { OPCODES = 256 };

static void ask_cell(unsigned space, unsigned variant, unsigned opcode,
		     unsigned form)
{
	struct cell c = {.space = space,
			 .variant = variant,
			 .opcode = opcode,
			 .is_reg = form >= CELL_MEM_FORMS,
			 .reg = form < CELL_MEM_FORMS ? form : form / 8 - 1,
			 .rm = form % 8,
			 .base = X86_RBX,
			 .index = X86_RSI};
	uint8_t code[CELL_BYTES];
	struct x86_insn i;

	if (cell_is_escape(space, opcode))
		return;
	cell_encode(code, &c);
	if (form && x86_decode(code, sizeof code, &i) == X86_OK &&
	    !(i.row->attr & X86_A_MODRM))
		return; /* nothing to vary */
	ask(code);
	if (space < X86_SPACE_VEX)
		return;
	c.vvvv = 5;
	c.aaa = space >= X86_SPACE_EVEX;
	cell_encode(code, &c);
	ask(code);
}

/* Register forms differ by rm in the first two maps only. */
static int is_worth(unsigned space, unsigned form)
{
	return form < CELL_MEM_FORMS || form % 8 == 0 ||
	       space < X86_SPACE_LEGACY + 2;
}

/* All cells; in a scattered order if the time is bounded. */
static void ask_cells(void)
{
	static uint8_t slot_space[1024], slot_variant[1024];
	unsigned slots = 0;
	uint64_t n, step, at = 0;

	for (unsigned s = 0; s < X86_SPACE_MAX; s++)
		for (unsigned v = 0; v < cell_variants(s); v++) {
			slot_space[slots] = (uint8_t)s;
			slot_variant[slots++] = (uint8_t)v;
		}
	n = (uint64_t)slots * OPCODES * CELL_FORMS;
	step = deadline > 0 ? 1000003 : 1; /* a prime that is no factor */
	for (uint64_t k = 0; k < n && !is_over(); k++, at = (at + step) % n) {
		unsigned form = (unsigned)(at % CELL_FORMS);
		unsigned slot = (unsigned)(at / CELL_FORMS / OPCODES);

		if (is_worth(slot_space[slot], form))
			ask_cell(slot_space[slot], slot_variant[slot],
				 (unsigned)(at / CELL_FORMS % OPCODES), form);
	}
}

/* Prefixes in any order and number before some opcode. */
static void ask_prefixed(void)
{
	static const uint8_t lead[] = {0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x3e, 0x64,
				       0x65, 0xf0, 0x40, 0x41, 0x48, 0x4f};
	uint8_t code[CELL_BYTES] = {0}, *p = code;
	unsigned n = rng_below(&rng, 6);

	while (n--)
		*p++ = lead[rng_below(&rng, sizeof lead)];
	if (rng_below(&rng, 2))
		*p++ = 0x0f;
	*p++ = (uint8_t)rng_next(&rng);
	*p++ = (uint8_t)(rng_next(&rng) >> 8);
	*p++ = (uint8_t)(rng_next(&rng) >> 16);
	ask(code);
}

static void report(const char *what)
{
	printf("%s: %lu asked, %lu agreed on, %lu invalid for both, "
	       "%lu explained, %lu differ\n",
	       what, count.asked, count.both, count.neither, count.explained,
	       count.bad);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned long bad;
	double seconds = 0;

	if (argc == 3 && strcmp(argv[1], "-t") == 0)
		seconds = atof(argv[2]);
	else if (argc != 1)
		errx(2, "usage: sift [-t SECONDS]");
	oracle_init();
	cpu_init();
	cpu_confine();
	cpu_in()->flags = 2;
	cpu_in()->gpr[X86_RSP] = CPU_ARENA + CPU_PAGE;
	deadline = seconds * 0.8;
	ask_cells();
	report("cells");
	bad = count.bad;
	memset(&count, 0, sizeof count);
	deadline = seconds;
	for (unsigned k = 0; k < 2000000 && !is_over(); k++)
		ask_prefixed();
	report("prefixes");
	for (struct reason *r = reasons; r->why; r++)
		printf("%s %lu: %s\n", r->what, r->used, r->why);
	return bad || count.bad;
}
