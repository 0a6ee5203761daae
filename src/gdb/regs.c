/* gdb/regs.c - the table of registers.
 *
 * A row is a run of registers: r8 to r15 are one. The order of rows is the
 * order in packets. gdb knows registers by their names and features, and the
 * types below only tell it how to print them. */
#include "gdb/regs.h"

#include "base/fmt.h"

#include <cpuid.h>
#include <string.h>

enum feature { F_CORE, F_SSE, F_LINUX, F_SEGMENTS, F_AVX, F_AVX512, F_PKEYS };

enum source {
	S_GPR,
	S_RIP,
	S_RFLAGS,
	S_SELECTOR, /* as Linux sets them for 64-bit programs */
	S_ST,
	S_FPU,
	S_XMM,
	S_MXCSR,
	S_UNKNOWN, /* not recorded: all ones */
	S_FS_BASE,
	S_GS_BASE,
	S_YMM_HIGH,
	S_OPMASK,
	S_ZMM_LOW, /* the upper half of zmm0 to zmm15 */
	S_ZMM_HIGH,
	S_PKRU,
};

struct regs_row {
	uint8_t feature, n, size;
	uint8_t source, index; /* index of the first */
	uint8_t offset;	       /* in a register of the source */
	const char *name;      /* #: which, from `first` */
	unsigned first;
	const char *type, *group;
};

/* clang-format off */
#define GPR(name, index, type) \
	{F_CORE, 1, 8, S_GPR, index, 0, name, 0, type, NULL}
#define FPU(name, index) \
	{F_CORE, 1, 4, S_FPU, index, 0, name, 0, "int", "float"}
#define SELECTOR(name, value) \
	{F_CORE, 1, 4, S_SELECTOR, value, 0, name, 0, "int32", NULL}
static const struct regs_row rows[] = {
	GPR("rax", 0, "int64"), GPR("rbx", 3, "int64"),
	GPR("rcx", 1, "int64"), GPR("rdx", 2, "int64"),
	GPR("rsi", 6, "int64"), GPR("rdi", 7, "int64"),
	GPR("rbp", 5, "data_ptr"), GPR("rsp", 4, "data_ptr"),
	{F_CORE, 8, 8, S_GPR, 8, 0, "r#", 8, "int64", NULL},
	{F_CORE, 1, 8, S_RIP, 0, 0, "rip", 0, "code_ptr", NULL},
	{F_CORE, 1, 4, S_RFLAGS, 0, 0, "eflags", 0, "i386_eflags", NULL},
	SELECTOR("cs", 0x33), SELECTOR("ss", 0x2b), SELECTOR("ds", 0),
	SELECTOR("es", 0), SELECTOR("fs", 0), SELECTOR("gs", 0),
	{F_CORE, 8, 10, S_ST, 0, 0, "st#", 0, "i387_ext", NULL},
	FPU("fctrl", 0), FPU("fstat", 1), FPU("ftag", 2), FPU("fiseg", 3),
	FPU("fioff", 4), FPU("foseg", 5), FPU("fooff", 6), FPU("fop", 7),
	{F_SSE, 16, 16, S_XMM, 0, 0, "xmm#", 0, "vec128", NULL},
	{F_SSE, 1, 4, S_MXCSR, 0, 0, "mxcsr", 0, "i386_mxcsr", "vector"},
	{F_LINUX, 1, 8, S_UNKNOWN, 0, 0, "orig_rax", 0, "int", "system"},
	{F_SEGMENTS, 1, 8, S_FS_BASE, 0, 0, "fs_base", 0, "int", NULL},
	{F_SEGMENTS, 1, 8, S_GS_BASE, 0, 0, "gs_base", 0, "int", NULL},
	{F_AVX, 16, 16, S_YMM_HIGH, 0, 0, "ymm#h", 0, "uint128", NULL},
	{F_AVX512, 16, 16, S_ZMM_HIGH, 0, 0, "xmm#", 16, "vec128", NULL},
	{F_AVX512, 16, 16, S_ZMM_HIGH, 0, 16, "ymm#h", 16, "uint128", NULL},
	{F_AVX512, 8, 8, S_OPMASK, 0, 0, "k#", 0, "uint64", NULL},
	{F_AVX512, 16, 32, S_ZMM_LOW, 0, 0, "zmm#h", 0, "v2ui128", NULL},
	{F_AVX512, 16, 32, S_ZMM_HIGH, 0, 32, "zmm#h", 16, "v2ui128", NULL},
	{F_PKEYS, 1, 4, S_PKRU, 0, 0, "pkru", 0, "int", NULL},
};

#define FIELD(name, bit) \
	"<field name=\"" name "\" start=\"" #bit "\" end=\"" #bit "\"/>"
static const char core_types[] =
	"<flags id=\"i386_eflags\" size=\"4\">"
	FIELD("CF", 0) FIELD("", 1) FIELD("PF", 2) FIELD("AF", 4)
	FIELD("ZF", 6) FIELD("SF", 7) FIELD("TF", 8) FIELD("IF", 9)
	FIELD("DF", 10) FIELD("OF", 11) FIELD("NT", 14) FIELD("RF", 16)
	FIELD("VM", 17) FIELD("AC", 18) FIELD("VIF", 19) FIELD("VIP", 20)
	FIELD("ID", 21) "</flags>";
#define VEC128 \
	"<vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/>" \
	"<vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/>" \
	"<vector id=\"v16i8\" type=\"int8\" count=\"16\"/>" \
	"<vector id=\"v8i16\" type=\"int16\" count=\"8\"/>" \
	"<vector id=\"v4i32\" type=\"int32\" count=\"4\"/>" \
	"<vector id=\"v2i64\" type=\"int64\" count=\"2\"/>" \
	"<union id=\"vec128\"><field name=\"v4_float\" type=\"v4f\"/>" \
	"<field name=\"v2_double\" type=\"v2d\"/>" \
	"<field name=\"v16_int8\" type=\"v16i8\"/>" \
	"<field name=\"v8_int16\" type=\"v8i16\"/>" \
	"<field name=\"v4_int32\" type=\"v4i32\"/>" \
	"<field name=\"v2_int64\" type=\"v2i64\"/>" \
	"<field name=\"uint128\" type=\"uint128\"/></union>"
static const char sse_types[] = VEC128
	"<flags id=\"i386_mxcsr\" size=\"4\">"
	FIELD("IE", 0) FIELD("DE", 1) FIELD("ZE", 2) FIELD("OE", 3)
	FIELD("UE", 4) FIELD("PE", 5) FIELD("DAZ", 6) FIELD("IM", 7)
	FIELD("DM", 8) FIELD("ZM", 9) FIELD("OM", 10) FIELD("UM", 11)
	FIELD("PM", 12) FIELD("FZ", 15) "</flags>";
static const char avx512_types[] = VEC128
	"<vector id=\"v2ui128\" type=\"uint128\" count=\"2\"/>";

static const struct {
	const char *name, *types;
} features[] = { /* ORDER feature */
	{"core", core_types}, {"sse", sse_types}, {"linux", ""},
	{"segments", ""}, {"avx", ""}, {"avx512", avx512_types}, {"pkeys", ""},
};
/* clang-format on */

/* -- Which there are -- */

/* Those that the kernel lets programs use; a bit each. */
static uint64_t components_here(void)
{
	unsigned a, b, c, d, low, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0 ||
	    __get_cpuid_max(0, NULL) < 0xd)
		return 0;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

static uint32_t component(unsigned number)
{
	unsigned size, offset, c, d;

	if ((components_here() >> number & 1) == 0)
		return 0;
	__cpuid_count(0xd, number, size, offset, c, d);
	return size != 0 ? offset : 0;
}

void regs_layout_here(struct regs_layout *out)
{
	out->avx = component(2);
	out->opmask = component(5);
	out->zmm_low = component(6);
	out->zmm_high = component(7);
	out->pkru = component(9);
	if (out->avx == 0 || out->opmask == 0 || out->zmm_low == 0)
		out->zmm_high = 0; /* gdb wants all, or none */
}

static int has_feature(const struct regs_layout *l, unsigned feature)
{
	switch (feature) {
	case F_AVX:
		return l->avx != 0;
	case F_AVX512:
		return l->zmm_high != 0;
	case F_PKEYS:
		return l->pkru != 0;
	default:
		return 1;
	}
}

void regs_init(struct regs *r, const struct regs_layout *layout)
{
	r->layout = *layout;
	r->n = 0;
	for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
		for (unsigned i = 0; i < rows[k].n; i++) {
			if (!has_feature(layout, rows[k].feature))
				break;
			r->at[r->n].row = &rows[k];
			r->at[r->n++].i = i;
		}
}

/* -- The description -- */

static void describe_one(const struct regs_row *row, unsigned i,
			 struct doc *out)
{
	const char *mark = strchr(row->name, '#');
	char name[16];

	if (mark == NULL)
		fmt_text(name, sizeof name, "%s", row->name);
	else
		fmt_text(name, sizeof name, "%.*s%u%s", (int)(mark - row->name),
			 row->name, row->first + i, mark + 1);
	doc_text(out, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\"", name,
		 row->size * 8U, row->type);
	if (row->group != NULL)
		doc_text(out, " group=\"%s\"", row->group);
	doc_text(out, "/>");
}

void regs_describe(const struct regs *r, struct doc *out)
{
	int feature = -1;

	doc_text(out, "<?xml version=\"1.0\"?>"
		      "<!DOCTYPE target SYSTEM \"gdb-target.dtd\">"
		      "<target><architecture>i386:x86-64</architecture>"
		      "<osabi>GNU/Linux</osabi>");
	for (unsigned i = 0; i < r->n; i++) {
		const struct regs_row *row = r->at[i].row;

		if (row->feature != feature) {
			doc_text(out,
				 "%s<feature name=\"org.gnu.gdb.i386.%s\">"
				 "%s",
				 feature >= 0 ? "</feature>" : "",
				 features[row->feature].name,
				 features[row->feature].types);
			feature = row->feature;
		}
		describe_one(row, r->at[i].i, out);
	}
	doc_text(out, "</feature></target>");
}

/* -- Values -- */

enum { /* in what fxsave stores */
       FX_FTW = 4,
       FX_MXCSR = 24,
       FX_ST = 32,
       FX_XMM = 160,
       FX_LEN = 512,
};

static uint32_t half_of(const struct hark_registers *from, unsigned at)
{
	return (uint32_t)(from->xsave[at] | from->xsave[at + 1] << 8);
}

/* Two bits a register, where fxsave has one: valid, zero, special, empty. */
static uint32_t full_tags(const struct hark_registers *from)
{
	unsigned top = half_of(from, 2) >> 11 & 7;
	uint32_t tags = 0;

	for (unsigned i = 0; i < 8; i++) {
		const uint8_t *st =
		    from->xsave + FX_ST + (size_t)16 * ((i - top) & 7);
		unsigned exponent = (st[8] | st[9] << 8) & 0x7fff;
		uint64_t mantissa;
		uint32_t tag;

		memcpy(&mantissa, st, sizeof mantissa);
		if ((from->xsave[FX_FTW] >> i & 1) == 0)
			tag = 3;
		else if (exponent == 0 && mantissa == 0)
			tag = 1;
		else
			tag = exponent == 0 || exponent == 0x7fff ||
				      mantissa >> 63 == 0
				  ? 2
				  : 0;
		tags |= tag << 2 * i;
	}
	return tags;
}

static uint32_t fpu_field(const struct hark_registers *from, unsigned which)
{
	static const uint8_t at[] = {0, 2, 0, 12, 8, 20, 16, 6};
	uint32_t word;

	if ((from->xstate_bv & 1) == 0 || from->xsave_len < FX_LEN)
		return which == 0 ? 0x37f : which == 2 ? 0xffff : 0;
	if (which == 2)
		return full_tags(from);
	if (which != 4 && which != 6)
		return half_of(from, at[which]) & (which == 7 ? 0x7ff : 0xffff);
	memcpy(&word, from->xsave + at[which], sizeof word);
	return word;
}

static uint32_t mxcsr(const struct hark_registers *from)
{
	uint32_t word = 0;

	if (from->xsave_len >= FX_LEN)
		memcpy(&word, from->xsave + FX_MXCSR, sizeof word);
	return word != 0 || (from->xstate_bv & 6) != 0 ? word : 0x1f80;
}

/* A part of a component; all zeros if that is in its initial state. */
static void put_part(const struct hark_registers *from, unsigned number,
		     size_t at, unsigned size, uint8_t *out)
{
	if ((from->xstate_bv >> number & 1) != 0 &&
	    at + size <= from->xsave_len && at + size <= sizeof from->xsave)
		memcpy(out, from->xsave + at, size);
	else
		memset(out, 0, size);
}

static void put_extended(const struct regs *r, const struct regs_row *row,
			 unsigned i, const struct hark_registers *from,
			 uint8_t *out)
{
	size_t at = row->offset;

	switch (row->source) {
	case S_ST:
		put_part(from, 0, FX_ST + (size_t)16 * i, row->size, out);
		return;
	case S_XMM:
		put_part(from, 1, FX_XMM + (size_t)16 * i, row->size, out);
		return;
	case S_YMM_HIGH:
		at += r->layout.avx + (size_t)16 * i;
		put_part(from, 2, at, row->size, out);
		return;
	case S_OPMASK:
		at += r->layout.opmask + (size_t)8 * i;
		put_part(from, 5, at, row->size, out);
		return;
	case S_ZMM_LOW:
		at += r->layout.zmm_low + (size_t)32 * i;
		put_part(from, 6, at, row->size, out);
		return;
	case S_ZMM_HIGH:
		at += r->layout.zmm_high + (size_t)64 * i;
		put_part(from, 7, at, row->size, out);
		return;
	default:
		put_part(from, 9, r->layout.pkru, row->size, out);
	}
}

static int word_of(const struct regs_row *row, unsigned i,
		   const struct hark_registers *from, uint64_t *out)
{
	switch (row->source) {
	case S_GPR:
		*out = from->gpr[row->index + i];
		return 1;
	case S_RIP:
		*out = from->rip;
		return 1;
	case S_RFLAGS:
		*out = from->rflags;
		return 1;
	case S_SELECTOR:
		*out = row->index;
		return 1;
	case S_FPU:
		*out = fpu_field(from, row->index);
		return 1;
	case S_MXCSR:
		*out = mxcsr(from);
		return 1;
	case S_UNKNOWN:
		*out = UINT64_MAX;
		return 1;
	case S_FS_BASE:
		*out = from->fs_base;
		return 1;
	case S_GS_BASE:
		*out = from->gs_base;
		return 1;
	default:
		return 0;
	}
}

unsigned regs_get(const struct regs *r, const struct hark_registers *from,
		  unsigned number, uint8_t out[32])
{
	const struct regs_row *row;
	uint64_t word;

	if (number >= r->n)
		return 0;
	row = r->at[number].row;
	if (word_of(row, r->at[number].i, from, &word))
		memcpy(out, &word, row->size);
	else
		put_extended(r, row, r->at[number].i, from, out);
	return row->size;
}
