/* tools/x86/gen.c - asks Zydis about the whole encoding space, writes tables.
 *
 *   x86_op[space][opcode]    where its page of variants starts
 *   x86_var[page + variant]  2 bits of kind, 14 bits of index:
 *                            a row, or 2, 16 or 72 rows in x86_leaf
 *   x86_leaf[at + form]      a row (ORDER x86_leaf_kind)
 *
 * Equal rows, leaves and pages are shared; pages may overlap. Which encodings
 * are reserved is found by breaking one rule at a time and asking again.
 *
 * The result goes to stdout, figures to stderr. It depends on the version of
 * Zydis and on oracle.c alone, so it can be checked in and checked. */
#include "cell.h"
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMS = CELL_FORMS, MEM_FORMS = CELL_MEM_FORMS };
enum { MAX_ROWS = 16384, MAX_POOL = 65536 };

static void give_up(const char *why)
{
	fprintf(stderr, "gen: %s\n", why);
	exit(1);
}

/* -- Asking -------------------------------------------------------------- */

static int ask(const struct cell *c, struct opinion *out)
{
	uint8_t bytes[CELL_BYTES], *end = cell_encode(bytes, c);

	if (c->space == X86_SPACE_LEGACY + 1 && c->opcode == 0x0f)
		*end = 0x9e; /* 3DNow!: pfadd stands for all */
	return oracle_ask(bytes, X86_MAX_LEN, out);
}

static int is_valid(const struct cell *c)
{
	struct opinion ignored;

	return ask(c, &ignored);
}

/* -- Rules --------------------------------------------------------------- */

/* Gathers and tiles want distinct registers, gathers a mask too: try until
 * one is accepted. Legacy encodings have nothing to try. */
static int first_valid(struct cell *c, struct opinion *out)
{
	static const uint8_t vvvv[] = {0, 5, 3};

	if (c->space < X86_SPACE_VEX)
		return ask(c, out);
	for (unsigned k = 0; k < 12; k++) {
		if (c->space < X86_SPACE_EVEX && k >= 3)
			break;
		c->vvvv = vvvv[k % 3];
		c->aaa = k / 3 & 1;
		c->r = k / 6;
		if (ask(c, out))
			return 1;
	}
	return 0;
}

/* Does this change of c break it? */
#define BREAKS(...)                 \
	({                          \
		struct cell m = *c; \
		__VA_ARGS__;        \
		!is_valid(&m);      \
	})

static uint32_t common_rules(const struct cell *c)
{
	uint32_t must = 0;

	if (!c->r && BREAKS(m.r = 1))
		must |= X86_C_R;
	if (c->is_reg && BREAKS(m.x = 1))
		must |= X86_C_X3;
	if (c->is_reg && !c->r && BREAKS(m.b = 1))
		must |= X86_C_B3; /* !r: else reg and rm might meet by it */
	if (BREAKS(m.p67 = 1))
		must |= X86_C_67;
	if (!c->is_reg && BREAKS(m.mod0_rm = 1))
		must |= X86_C_SIB;
	if (!c->is_reg && !(must & X86_C_SIB) && BREAKS(m.mod0_rm = 5))
		must |= X86_C_NORIP;
	return must;
}

/* A rule on vvvv is probed with several values: one may happen to collide
 * with another register of the probe. */
static uint32_t vvvv_rules(const struct cell *c, int fixed_r)
{
	uint32_t must = 0;

	if (!c->vvvv && BREAKS(m.vvvv = 5) && BREAKS(m.vvvv = 2) &&
	    BREAKS(m.vvvv = 1))
		return X86_C_VVVV;
	if (BREAKS(m.vvvv = 13) && BREAKS(m.vvvv = 10))
		must |= X86_C_VVVV8;
	if (fixed_r ? BREAKS(m.vvvv = c->reg)
		    : BREAKS(m.r = m.r2 = 0; m.vvvv = c->reg))
		must |= X86_C_D_RV;
	if (c->is_reg && c->reg != c->rm && BREAKS(m.vvvv = c->rm))
		must |= X86_C_D_VM;
	if (!c->is_reg && BREAKS(m.vvvv = c->index))
		must |= X86_C_D_IV;
	return must;
}

static uint32_t evex_rules(const struct cell *c)
{
	uint32_t must = 0;

	if (BREAKS(m.r2 = 1))
		must |= X86_C_R2;
	if (BREAKS(m.v2 = 1))
		must |= X86_C_V2;
	if (BREAKS(m.aaa = 1))
		must |= X86_C_AAA0;
	if (BREAKS(m.aaa = 0))
		must |= X86_C_AAAN;
	if (BREAKS(m.aaa = 1; m.z = 1))
		must |= X86_C_Z;
	else if (BREAKS(m.aaa = 0; m.z = 1))
		must |= X86_C_ZAAA;
	return must;
}

static uint32_t rules(const struct cell *c)
{
	uint32_t must = common_rules(c);

	if (c->space < X86_SPACE_VEX)
		return must;
	must |= vvvv_rules(c, (must & X86_C_R) != 0);
	if (!c->is_reg && BREAKS(m.r = 0; m.index = c->reg))
		must |= X86_C_D_RI;
	if (c->is_reg &&
	    BREAKS(m.r = 0; m.rm = c->reg;
		   if (m.vvvv == c->reg && !(must & X86_C_VVVV)) m.vvvv ^= 1))
		must |= X86_C_D_RM;
	if (c->space >= X86_SPACE_EVEX)
		must |= evex_rules(c);
	return must;
}

/* -- Rows ---------------------------------------------------------------- */

static uint8_t *role_of(struct x86_row *r, ZydisOperandEncoding encoding)
{
	switch (encoding) {
	case ZYDIS_OPERAND_ENCODING_MODRM_REG:
		return &r->role[0];
	case ZYDIS_OPERAND_ENCODING_MODRM_RM:
		return &r->role[1];
	case ZYDIS_OPERAND_ENCODING_NDSNDD:
		return &r->role[2];
	case ZYDIS_OPERAND_ENCODING_OPCODE:
		return &r->role[3];
	default:
		return NULL;
	}
}

static void operand_roles(struct opinion *o)
{
	struct x86_row *r = &o->row;
	struct gpr_effects e = {0};

	for (unsigned k = 0; k < o->in.operand_count; k++) {
		unsigned role;
		int base = oracle_implicit_base(o, &o->op[k]);
		int n = oracle_gpr(o, &o->op[k], &role);
		uint8_t *named;

		if (base >= 0)
			e.read |= (uint16_t)(1 << base);
		if (n < 0)
			continue;
		named = role_of(r, o->op[k].encoding);
		if (named) {
			*named |= (uint8_t)role;
			continue;
		}
		e.read |= (uint16_t)((role & X86_R_READ ? 1 : 0) << n);
		e.write |= (uint16_t)((role & X86_R_WRITE ? 1 : 0) << n);
		e.kill |= (uint16_t)((role & X86_R_KILL ? 1 : 0) << n);
	}
	oracle_extra_gprs(o, &e);
	r->gpr_read = e.read;
	r->gpr_write = e.write;
	r->gpr_kill = e.kill;
}

/* The probe's disp8 is 1, so Zydis' answer is N. */
static uint8_t disp8_shift(const struct opinion *o)
{
	for (unsigned k = 0; k < o->in.operand_count; k++)
		if (o->op[k].encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM)
			return (uint8_t)__builtin_ctzll(
			    (uint64_t)o->op[k].mem.disp.value);
	return 0;
}

/* AMD takes 66 before a near branch as a 16-bit target. Zydis knows only of
 * the lengths; the CPU was seen to cut the target of the others too. */
static int is_short_branch(const struct opinion *o, const struct cell *c)
{
	unsigned flow = o->row.flow;

	return c->space < X86_SPACE_VEX && !(c->variant & 1) &&
	       (c->variant == 2 || c->variant >= 8) && flow >= X86_JCC &&
	       flow <= X86_CALL_IND;
}

static struct x86_row row_of(struct cell c)
{
	struct opinion o;
	struct x86_row *r = &o.row;
	uint8_t bytes[CELL_BYTES];

	if (!first_valid(&c, &o))
		return (struct x86_row){0};
	operand_roles(&o);
	if (is_short_branch(&o, &c))
		r->attr |= X86_A_VENDOR;
	if (!(r->attr & X86_A_MODRM)) {
		cell_encode(bytes, &c);
		if (oracle_amd_length(bytes, X86_MAX_LEN) != o.in.length)
			r->attr |= X86_A_VENDOR;
		if (c.space >= X86_SPACE_VEX)
			r->must = rules(&c);
		return *r;
	}
	if (!c.is_reg && !o.in.raw.sib.offset)
		r->attr |= X86_A_FORCE_REG;
	if (!c.is_reg && c.space >= X86_SPACE_EVEX)
		r->disp8_shift = disp8_shift(&o);
	r->must = rules(&c);
	return *r;
}

/* -- Pools: append unless there already ---------------------------------- */

static struct x86_row rows[MAX_ROWS];
static uint16_t leaf[MAX_POOL], var[MAX_POOL], op[X86_SPACE_MAX][256];
static unsigned n_rows, n_leaf, n_var;

static uint16_t row_id(const struct x86_row *r)
{
	for (unsigned k = 0; k < n_rows; k++)
		if (memcmp(&rows[k], r, sizeof *r) == 0)
			return (uint16_t)k;
	if (n_rows == MAX_ROWS)
		give_up("too many rows");
	rows[n_rows] = *r;
	return (uint16_t)n_rows++;
}

static unsigned pool_id(uint16_t *pool, unsigned *count, const uint16_t *item,
			unsigned n)
{
	for (unsigned k = 0; k + n <= *count; k++)
		if (memcmp(pool + k, item, n * sizeof *item) == 0)
			return k;
	if (*count + n > MAX_POOL)
		give_up("pool full");
	memcpy(pool + *count, item, n * sizeof *item);
	*count += n;
	return *count - n;
}

static unsigned form_at(unsigned form, unsigned kind)
{
	unsigned is_reg = form >= MEM_FORMS;
	unsigned reg = is_reg ? (form - MEM_FORMS) / 8 : form;

	switch (kind) {
	case 0:
		return 0;
	case 1:
		return is_reg;
	case 2:
		return is_reg * 8 + reg;
	default:
		return form;
	}
}

/* The smallest leaf that tells all forms apart. ORDER x86_leaf_kind */
static uint16_t leaf_ref(const uint16_t form[FORMS])
{
	static const uint8_t size[] = {1, 2, 16, FORMS};
	uint16_t small[FORMS];
	unsigned kind, f, at;

	for (kind = 0;; kind++) {
		for (f = FORMS; f-- > 0;)
			small[form_at(f, kind)] = form[f];
		for (f = 0; f < FORMS; f++)
			if (small[form_at(f, kind)] != form[f])
				break;
		if (f == FORMS)
			break;
	}
	at = kind ? pool_id(leaf, &n_leaf, small, size[kind]) : small[0];
	if (at >= 1 << 14)
		give_up("leaf index does not fit");
	return (uint16_t)(kind << 14 | at);
}

static uint16_t variant_ref(unsigned space, unsigned opcode, unsigned variant)
{
	uint16_t form[FORMS];

	for (unsigned f = 0; f < FORMS; f++) {
		struct cell c = {.space = space,
				 .opcode = opcode,
				 .variant = variant,
				 .base = X86_RBX,
				 .disp8 = 1,
				 .is_reg = f >= MEM_FORMS};
		struct x86_row r;

		c.reg = c.is_reg ? (f - MEM_FORMS) / 8 : f;
		c.rm = (f - MEM_FORMS) % 8;
		c.index = c.reg == 6 ? 7 : 6;
		r = row_of(c);
		form[f] = row_id(&r);
		if (f == 0 && (r.attr & X86_A_VALID) &&
		    !(r.attr & X86_A_MODRM)) /* nothing to vary */
			return form[0];
	}
	return leaf_ref(form);
}

static void sweep(void)
{
	struct x86_row none = {0};

	row_id(&none); /* row 0: invalid */
	for (unsigned s = 0; s < X86_SPACE_MAX; s++)
		for (unsigned b = 0; b < 256; b++) {
			uint16_t page[CELL_MAX_VARIANTS] = {0};
			unsigned n = cell_variants(s);

			for (unsigned v = 0; v < n; v++)
				if (!cell_is_escape(s, b))
					page[v] = variant_ref(s, b, v);
			op[s][b] = (uint16_t)pool_id(var, &n_var, page, n);
		}
}

/* -- Output -------------------------------------------------------------- */

static void print_u16(FILE *out, const char *name, const uint16_t *v,
		      unsigned n)
{
	fprintf(out, "static const uint16_t %s[%u] = {", name, n);
	for (unsigned k = 0; k < n; k++)
		fprintf(out, "%s%u,", k % 16 ? "" : "\n", v[k]);
	fputs("\n};\n\n", out);
}

/* ORDER x86_row */
static void print_row(FILE *out, const struct x86_row *r)
{
	fprintf(out, "{0x%x,0x%x,%u,0x%x,0x%x,0x%x,0x%x,0x%x,0x%x,", r->attr,
		r->must, r->mem_size, r->gpr_read, r->gpr_write, r->gpr_kill,
		r->flag_read, r->flag_write, r->flag_undef);
	fprintf(out, "{%u,%u,%u,%u},{%u,%u},{%u,%u},", r->role[0], r->role[1],
		r->role[2], r->role[3], r->imem[0], r->imem[1], r->imem_size[0],
		r->imem_size[1]);
	fprintf(out, "%u,%u,%u,%u,%u,0},\n", r->mem, r->imm, r->flow,
		r->disp8_shift, r->special);
}

static void print_3dnow(FILE *out)
{
	uint8_t map[32] = {0}, code[CELL_BYTES] = {0x0f, 0x0f, 0xc1};
	struct opinion ignored;

	for (unsigned k = 0; k < 256; k++) {
		code[3] = (uint8_t)k;
		if (oracle_ask(code, X86_MAX_LEN, &ignored))
			map[k / 8] |= (uint8_t)(1 << k % 8);
	}
	fputs("/* One bit an opcode byte. */\n"
	      "static const uint8_t x86_3dnow[32] = {",
	      out);
	for (unsigned k = 0; k < 32; k++)
		fprintf(out, "%s%u,", k % 16 ? "" : "\n", map[k]);
	fputs("\n};\n", out);
}

static void print_tables(FILE *out)
{
	fprintf(out, "static const struct x86_row x86_rows[%u] = {\n", n_rows);
	for (unsigned k = 0; k < n_rows; k++)
		print_row(out, &rows[k]);
	fputs("};\n\n", out);
	print_u16(out, "x86_leaf", leaf, n_leaf);
	print_u16(out, "x86_var", var, n_var);
	fprintf(out, "static const uint16_t x86_op[%u][256] = {\n",
		(unsigned)X86_SPACE_MAX);
	for (unsigned s = 0; s < X86_SPACE_MAX; s++) {
		fputs("{", out);
		for (unsigned b = 0; b < 256; b++)
			fprintf(out, "%s%u,", b % 16 ? "" : "\n", op[s][b]);
		fputs("\n},\n", out);
	}
	fputs("};\n\n", out);
	print_3dnow(out);
}

/* FNV-1a over the text of the tables. */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3u;
	return h;
}

int main(void)
{
	uint64_t version = ZydisGetVersion();
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		give_up("no memory");
	oracle_init();
	sweep();
	print_tables(out);
	if (fclose(out) != 0)
		give_up("no memory");
	printf("/* x86/tables.h - what opcodes do: %u rows.\n *\n"
	       " * Made by tools/x86/gen from Zydis %u.%u.%u and the "
	       "corrections in\n * tools/x86/oracle.c; do not edit. */\n"
	       "#ifndef X86_TABLES_H\n#define X86_TABLES_H\n\n"
	       "#include \"x86/decode.h\"\n\n"
	       "#define X86_TABLES_ID 0x%016lxu\n\n%s\n#endif\n",
	       n_rows, (unsigned)ZYDIS_VERSION_MAJOR(version),
	       (unsigned)ZYDIS_VERSION_MINOR(version),
	       (unsigned)ZYDIS_VERSION_PATCH(version), hash(text), text);
	fprintf(stderr,
		"gen: %u rows, %u leaves, %u variants: %zu bytes of tables\n",
		n_rows, n_leaf, n_var,
		n_rows * sizeof rows[0] + 2 * (n_leaf + n_var) + sizeof op +
		    32);
	free(text);
	return 0;
}
