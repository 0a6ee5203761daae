/* tools/x86/compare.c - holds the core against Zydis, fact by fact.
 *
 *   compare [-S SEED] INPUT...      exit status 1 if anything differs
 *
 *   FILE    every instruction of an ELF file's executable sections
 *   -r N    N uniformly random strings
 *   -g N    N random strings that favour prefixes and vector escapes
 *   -s      every space x opcode x variant x ModRM byte, the rest random
 *
 * Uniform strings are the weakest test: they hardly ever meet a reserved
 * encoding of a rare opcode. The sweep meets all of them.
 *
 * A difference is an error unless a line of excuses[] explains it; those say
 * why the core is right, and are counted. What generator and comparison share
 * (oracle.c) this test cannot refute: that is for sift and semantic. */
#include "cell.h"
#include "oracle.h"
#include "random.h"
#include "x86/access.h"

#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- Facts --------------------------------------------------------------- */

/* clang-format off */
#define FACTS(F) \
	F(valid) F(length) F(attr) F(mem) F(mem_size) F(imem) F(imem_size) \
	F(imm_size) F(imm) F(imm_off) F(flow) F(special) F(target) \
	F(flag_read) F(flag_write) F(flag_undef) F(flag_kill) \
	F(gpr_read) F(gpr_write) F(gpr_kill) F(base) F(index) F(scale) \
	F(disp) F(disp_off) F(disp_size) F(seg) F(imem_seg) F(modrm_off)
/* clang-format on */
#define NAME(name) #name,
#define FACT(name) F_##name,
enum fact { FACTS(FACT) F_MAX };
static const char *const fact_name[] = {FACTS(NAME)};
_Static_assert(F_MAX <= 64, "facts are bits of a mask");

struct facts {
	int64_t of[F_MAX];
};
#define ALL_BUT_LENGTH (~(1ull << F_valid | 1ull << F_length))

enum { PC = 0x10000000 }; /* where instructions pretend to be */

/* Derived by the core itself, or about how to decode. */
enum { UNSHARED = X86_A_FORCE_REG | X86_A_VENDOR };

static int is_relative(unsigned flow)
{
	return flow == X86_JCC || flow == X86_LOOP || flow == X86_JMP ||
	       flow == X86_CALL || flow == X86_XBEGIN;
}

static void row_facts(const struct x86_row *r, struct facts *out)
{
	out->of[F_mem] = r->mem;
	out->of[F_mem_size] = r->mem_size;
	out->of[F_imem] = r->imem[0] << 8 | r->imem[1];
	out->of[F_imem_size] = r->imem_size[0] << 8 | r->imem_size[1];
	out->of[F_imm_size] = r->imm;
	out->of[F_flow] = r->flow;
	out->of[F_special] = r->special;
	out->of[F_flag_undef] = r->flag_undef;
}

/* Overrides of the implicit operands, a byte each, in their order. */
static int64_t implicit_segments(const uint8_t *code, const struct x86_insn *i)
{
	struct x86_access a[X86_ACCESS_MAX];
	unsigned n = x86_accesses(code, i, a);
	unsigned first = (i->is_mem && i->row->mem & 3 ? 1u : 0u) +
			 (i->row->attr & X86_A_REG_ADDR ? 1u : 0u);
	int64_t segments = 0;

	for (unsigned k = first; k < n && i->row->imem[0]; k++)
		segments = segments << 8 | a[k].seg;
	return segments;
}

static void core_facts(const uint8_t *code, const struct x86_insn *i,
		       struct facts *out)
{
	uint32_t ignored = UNSHARED | (i->aaa ? X86_A_MEM_MAY : 0);

	memset(out, 0, sizeof *out);
	row_facts(i->row, out);
	out->of[F_valid] = 1;
	out->of[F_length] = i->len;
	out->of[F_attr] = i->row->attr & ~ignored;
	out->of[F_imm] = x86_imm(code, i);
	out->of[F_imm_off] = i->row->imm ? i->imm_off : 0;
	if (is_relative(i->row->flow))
		out->of[F_target] = (int64_t)x86_target(code, i, PC);
	out->of[F_flag_read] = i->flag_read;
	out->of[F_flag_write] = i->flag_write;
	out->of[F_flag_kill] = i->flag_kill;
	out->of[F_gpr_read] = i->gpr_read;
	out->of[F_gpr_write] = i->gpr_write;
	out->of[F_gpr_kill] = i->gpr_kill;
	out->of[F_base] = i->base;
	out->of[F_index] = i->index;
	out->of[F_scale] = i->index == X86_NOREG ? 0 : 1 << i->scale;
	out->of[F_disp] = i->disp;
	out->of[F_disp_size] = i->disp_size;
	out->of[F_disp_off] = i->disp_size ? i->disp_off : 0;
	if (i->is_mem && !(i->row->mem & X86_M_AGEN))
		out->of[F_seg] = i->seg;
	out->of[F_imem_seg] = implicit_segments(code, i);
	out->of[F_modrm_off] = i->row->attr & X86_A_MODRM ? i->modrm_off : 0;
}

/* -- The same from Zydis ------------------------------------------------- */

static unsigned gpr_number(ZydisRegister r)
{
	if (r == ZYDIS_REGISTER_NONE)
		return X86_NOREG;
	if (r == ZYDIS_REGISTER_RIP || r == ZYDIS_REGISTER_EIP)
		return X86_RIP;
	return (unsigned)ZydisRegisterGetId(r);
}

static void address_registers(const ZydisDecodedOperand *op,
			      struct gpr_effects *io)
{
	unsigned base = gpr_number(op->mem.base),
		 index = gpr_number(op->mem.index);

	if (base < 16)
		io->read |= (uint16_t)(1 << base);
	if (index < 16 && op->mem.type != ZYDIS_MEMOP_TYPE_VSIB &&
	    op->mem.type != ZYDIS_MEMOP_TYPE_MIB)
		io->read |= (uint16_t)(1 << index);
}

static unsigned segment_of(const ZydisDecodedOperand *op)
{
	if (op->mem.segment == ZYDIS_REGISTER_FS)
		return 0x64;
	return op->mem.segment == ZYDIS_REGISTER_GS ? 0x65 : 0;
}

static void gpr_facts(const struct opinion *o, struct facts *out)
{
	struct gpr_effects e = {0};

	for (unsigned k = 0; k < o->in.operand_count; k++) {
		const ZydisDecodedOperand *op = &o->op[k];
		unsigned role;
		int n = oracle_gpr(o, op, &role);

		if (n >= 0) {
			e.read |= (uint16_t)((role & X86_R_READ ? 1 : 0) << n);
			e.write |=
			    (uint16_t)((role & X86_R_WRITE ? 1 : 0) << n);
			e.kill |= (uint16_t)((role & X86_R_KILL ? 1 : 0) << n);
		}
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
			address_registers(op, &e);
		if (oracle_implicit_base(o, op) >= 0)
			out->of[F_imem_seg] =
			    out->of[F_imem_seg] << 8 | segment_of(op);
	}
	oracle_extra_gprs(o, &e);
	out->of[F_gpr_read] = e.read;
	out->of[F_gpr_write] = e.write;
	out->of[F_gpr_kill] = e.kill;
}

static void address_facts(const struct opinion *o, struct facts *out)
{
	const ZydisDecodedOperand *m = NULL;
	int moffs = (o->row.attr & X86_A_MOFFS) != 0;

	out->of[F_base] = out->of[F_index] = X86_NOREG;
	for (unsigned k = 0; k < o->in.operand_count && !m; k++)
		if (o->op[k].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (o->op[k].encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM ||
		     moffs))
			m = &o->op[k];
	if (!m)
		return;
	out->of[F_base] = gpr_number(m->mem.base);
	if (m->mem.type != ZYDIS_MEMOP_TYPE_MIB)
		out->of[F_index] = gpr_number(m->mem.index);
	if (out->of[F_index] != X86_NOREG)
		out->of[F_scale] = m->mem.scale;
	out->of[F_disp] = m->mem.disp.value;
	if (moffs && o->in.address_width == 32)
		out->of[F_disp] = (uint32_t)m->mem.disp.value;
	if (!(o->row.mem & X86_M_AGEN))
		out->of[F_seg] = segment_of(m);
}

/* The flags that are written whatever the operands hold. */
static uint16_t flags_killed(const struct opinion *o)
{
	unsigned mask = o->in.operand_width == 64 ? 63 : 31;

	if (o->row.attr & X86_A_FLAGS_MAY)
		return 0;
	if (o->row.attr & X86_A_FLAGS_IMM && !(o->in.raw.imm[0].value.u & mask))
		return 0;
	return o->row.flag_write & (uint16_t)~o->row.flag_undef;
}

/* Two immediates count as one number. */
static void immediate_facts(const struct opinion *o, struct facts *out)
{
	unsigned first = o->in.raw.imm[0].size;
	unsigned bits = first + o->in.raw.imm[1].size;
	uint64_t value = o->in.raw.imm[0].value.u;

	if (!bits)
		return;
	if (first < 64) {
		value &= (1ull << first) - 1;
		value |= o->in.raw.imm[1].value.u << first;
	}
	out->of[F_imm] = (int64_t)(value << (64 - bits)) >> (64 - bits);
	out->of[F_imm_off] = o->in.raw.imm[0].offset;
	if (is_relative(o->row.flow)) {
		uint64_t target = 0;

		ZydisCalcAbsoluteAddress(&o->in, &o->op[0], PC, &target);
		out->of[F_target] = (int64_t)target;
	}
}

static void oracle_facts(const struct opinion *o, const struct x86_insn *i,
			 struct facts *out)
{
	uint32_t ignored = UNSHARED | (i->aaa ? X86_A_MEM_MAY : 0);

	memset(out, 0, sizeof *out);
	row_facts(&o->row, out);
	out->of[F_valid] = 1;
	out->of[F_length] = o->in.length;
	out->of[F_attr] = o->row.attr & ~ignored;
	out->of[F_flag_read] = o->row.flag_read;
	out->of[F_flag_write] = o->row.flag_write;
	out->of[F_flag_kill] = flags_killed(o);
	out->of[F_disp_size] = o->in.raw.disp.size / 8;
	out->of[F_disp_off] = o->in.raw.disp.offset;
	out->of[F_modrm_off] = o->in.raw.modrm.offset;
	gpr_facts(o, out);
	address_facts(o, out);
	immediate_facts(o, out);
}

/* -- Differences --------------------------------------------------------- */

static int is_pause_with_rex_b(const struct opinion *o)
{
	return o->in.mnemonic == ZYDIS_MNEMONIC_PAUSE && o->in.raw.rex.B;
}

static int is_no_base_with_67(const struct opinion *o)
{
	return o->in.attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE &&
	       o->in.raw.sib.offset && o->in.raw.modrm.mod == 0 &&
	       o->in.raw.sib.base == 5;
}

static int is_3dnow(const struct opinion *o)
{
	return o->in.encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW;
}

static struct excuse {
	const char *what, *why;
	int (*applies)(const struct opinion *o);
	uint64_t facts; /* excused if they differ */
	unsigned long used;
} excuses[] = {
    {"F3 41 90", "Zydis: pause; the CPU exchanges r8 and rax",
     is_pause_with_rex_b, ALL_BUT_LENGTH, 0},
    {"67 SIB mod 0 base 5", "Zydis: base r13d, disp 0; the CPU has no base",
     is_no_base_with_67, 1ull << F_base | 1ull << F_disp | 1ull << F_gpr_read,
     0},
    {"3DNow!", "its opcode byte counts as an immediate here", is_3dnow,
     1ull << F_imm | 1ull << F_imm_off, 0},
};
enum { EXCUSES = sizeof excuses / sizeof excuses[0], SHOW = 60 };

static struct {
	unsigned long total, invalid, excused, bad, by_fact[F_MAX];
} count;

static void show(const uint8_t *code, const struct opinion *o, int valid,
		 enum fact f, const struct facts *mine,
		 const struct facts *theirs)
{
	count.by_fact[f]++;
	if (count.bad > SHOW)
		return;
	printf("  %s: core %lx zydis %lx  %s ", fact_name[f],
	       (unsigned long)mine->of[f], (unsigned long)theirs->of[f],
	       valid ? ZydisMnemonicGetString(o->in.mnemonic) : "(invalid)");
	for (unsigned k = 0; k < X86_MAX_LEN; k++)
		printf("%02x", code[k]);
	putchar('\n');
}

static uint64_t excuse_facts(const struct opinion *o, uint64_t differ)
{
	uint64_t left = differ;

	for (unsigned k = 0; k < EXCUSES && left; k++)
		if (excuses[k].facts & left && excuses[k].applies(o)) {
			left &= ~excuses[k].facts;
			excuses[k].used++;
		}
	if (!left)
		count.excused++;
	return left;
}

static void compare(const uint8_t *code, unsigned avail)
{
	struct opinion o;
	struct x86_insn i;
	struct facts mine = {0}, theirs = {0};
	uint64_t differ = 0;
	int valid =
	    oracle_ask(code, avail < X86_MAX_LEN ? avail : X86_MAX_LEN, &o);

	if (x86_decode(code, avail, &i) == X86_OK)
		core_facts(code, &i, &mine);
	if (valid)
		oracle_facts(&o, &i, &theirs);
	count.total++;
	count.invalid += !valid;
	if (mine.of[F_valid] != theirs.of[F_valid])
		differ = 1 << F_valid;
	for (unsigned f = 0; f < F_MAX && !(differ & 1 << F_valid); f++)
		if (mine.of[f] != theirs.of[f])
			differ |= 1ull << f;
	if (!differ)
		return;
	if (valid)
		differ = excuse_facts(&o, differ);
	count.bad += differ != 0;
	for (unsigned f = 0; f < F_MAX; f++)
		if (differ >> f & 1)
			show(code, &o, valid, f, &mine, &theirs);
}

/* -- Inputs -------------------------------------------------------------- */

static struct rng rng = {88172645463325252u};

static void compare_section(const uint8_t *code, size_t len)
{
	struct x86_insn i;
	size_t at = 0;

	while (at < len) {
		size_t left = len - at;
		unsigned avail = left > 64 ? 64 : (unsigned)left;

		compare(code + at, avail);
		if (x86_decode(code + at, avail, &i) == X86_OK)
			at += i.len;
		else
			at++;
	}
}

static void compare_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	const uint8_t *f;
	const Elf64_Ehdr *e;
	const Elf64_Shdr *s;

	if (fd < 0 || fstat(fd, &st) != 0)
		err(2, "%s", path);
	f = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (f == MAP_FAILED)
		err(2, "%s", path);
	e = (const Elf64_Ehdr *)f;
	if ((size_t)st.st_size < sizeof *e ||
	    memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
	    e->e_machine != EM_X86_64 ||
	    e->e_shoff + e->e_shnum * sizeof *s > (size_t)st.st_size)
		errx(2, "%s: not an x86-64 ELF file", path);
	s = (const Elf64_Shdr *)(f + e->e_shoff);
	for (unsigned k = 0; k < e->e_shnum; k++)
		if (s[k].sh_flags & SHF_EXECINSTR &&
		    s[k].sh_type == SHT_PROGBITS &&
		    s[k].sh_offset + s[k].sh_size <= (size_t)st.st_size)
			compare_section(f + s[k].sh_offset, s[k].sh_size);
	munmap((void *)f, (size_t)st.st_size);
	close(fd);
}

/* Makes the bytes after an escape likely to be accepted. */
static void favour_vector(uint8_t *c)
{
	uint64_t x = rng_next(&rng);

	if (c[0] == 0x62) {
		c[1] &= 0xf7;
		c[2] |= x & 1 ? 0x7c : 4;
		if (x & 2) {
			c[1] |= 0xf0;
			c[3] = (uint8_t)((c[3] & 0x7f) | 8);
		}
	} else {
		unsigned first = c[0] == 0x8f ? 8 : 1;

		c[1] = (uint8_t)((c[1] & 0xe0) | (first + rng_below(&rng, 3)));
		if (x & 1)
			c[2] |= 0x78;
	}
}

static void favour(uint8_t *c)
{
	static const uint8_t lead[] = {0x62, 0xc4, 0xc5, 0x8f, 0x0f,
				       0x0f, 0x66, 0xf3, 0xf2, 0x48,
				       0x67, 0xf0, 0x64, 0x2e};
	uint8_t *at = c + rng_below(&rng, 3);

	for (; c <= at; c++)
		*c = lead[rng_below(&rng, sizeof lead)];
	if (*at == 0x0f && rng_below(&rng, 2))
		at[1] = rng_below(&rng, 2) ? 0x38 : 0x3a;
	if (*at == 0x62 || *at == 0xc4 || *at == 0x8f)
		favour_vector(at);
}

static void compare_random(unsigned long n, int guided)
{
	while (n--) {
		uint8_t code[64] = {0};

		rng_fill(&rng, code, 32);
		if (guided)
			favour(code);
		compare(code, sizeof code);
	}
}

/* Half of the time a field has its usual value. */
static unsigned random_field(unsigned max, unsigned usual)
{
	uint64_t x = rng_next(&rng);

	return x & 1 << 16 ? usual : (unsigned)(x >> 32) % (max + 1);
}

static void compare_cell(unsigned space, unsigned variant, unsigned rest)
{
	uint8_t code[CELL_BYTES] = {0}, *p;
	unsigned extra = rng_below(&rng, 256);
	struct cell c = {.space = space,
			 .variant = variant,
			 .opcode = rest >> 8,
			 .p67 = extra < 16,
			 .lock = extra >= 16 && extra < 24,
			 .rex = extra & 1,
			 .r = random_field(1, 0),
			 .x = random_field(1, 0),
			 .b = random_field(1, 0),
			 .r2 = random_field(1, 0),
			 .v2 = random_field(1, 0),
			 .vvvv = random_field(15, 0),
			 .z = random_field(1, 0),
			 .aaa = random_field(7, 0)};

	rng_fill(&rng, code, 32);
	p = cell_opcode(code, &c);
	*p = (uint8_t)rest;
	compare(code, sizeof code);
}

static void compare_all(void)
{
	for (unsigned s = 0; s < X86_SPACE_MAX; s++)
		for (unsigned v = 0; v < cell_variants(s); v++)
			for (unsigned rest = 0; rest < 65536; rest++)
				compare_cell(s, v, rest);
}

/* -- Command line -------------------------------------------------------- */

static unsigned long number(const char *text)
{
	char *end;
	unsigned long n;

	if (!text)
		errx(2, "a number is missing");
	n = strtoul(text, &end, 0);
	if (*end || end == text)
		errx(2, "not a number: %s", text);
	return n;
}

static void report(const char *what)
{
	printf("%s: %lu decoded, %lu invalid, %lu excused, %lu differ", what,
	       count.total, count.invalid, count.excused, count.bad);
	for (unsigned f = 0; f < F_MAX; f++)
		if (count.by_fact[f])
			printf(" %s %lu", fact_name[f], count.by_fact[f]);
	putchar('\n');
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned long bad = 0;

	oracle_init();
	for (int k = 1; k < argc; k++) {
		const char *what = argv[k];

		memset(&count, 0, sizeof count);
		if (strcmp(what, "-S") == 0) {
			rng.state = number(argv[++k]) | 1;
			continue;
		}
		if (strcmp(what, "-s") == 0)
			compare_all();
		else if (strcmp(what, "-r") == 0 || strcmp(what, "-g") == 0)
			compare_random(number(argv[++k]), what[1] == 'g');
		else
			compare_file(what);
		report(what);
		bad += count.bad;
	}
	for (unsigned k = 0; k < EXCUSES; k++)
		printf("excused %lu: %s (%s)\n", excuses[k].used,
		       excuses[k].what, excuses[k].why);
	return bad != 0;
}
