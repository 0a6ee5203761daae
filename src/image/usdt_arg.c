/* image/usdt_arg.c - one argument of a probe, as an assembler would write it.
 *
 *	[-]SIZE[f]@OPERAND	SIZE is negative if it is signed; f: a fraction
 *
 * OPERAND is a constant ($5), a register (%eax), or memory: a sum of numbers
 *and at most one name, and registers in brackets behind it; a segment before
 *it.
 *
 * A1  Nothing behind the end of the argument is looked at. */
#include "image/usdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *at, *end;
};

static bool is_next(const struct reader *r, char c)
{
	return r->at < r->end && *r->at == c;
}

static bool skip(struct reader *r, char c)
{
	if (!is_next(r, c))
		return false;
	r->at++;
	return true;
}

static bool skip_word(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	return true;
}

/* -- Registers -- */

struct reg {
	uint8_t number, width, high;
};

struct register_name {
	char name[4];
	struct reg reg;
};

static const struct register_name register_names[] = {
    {"rax", {0, 8, 0}},	       {"eax", {0, 4, 0}}, {"ax", {0, 2, 0}},
    {"al", {0, 1, 0}},	       {"ah", {0, 1, 1}},  {"rcx", {1, 8, 0}},
    {"ecx", {1, 4, 0}},	       {"cx", {1, 2, 0}},  {"cl", {1, 1, 0}},
    {"ch", {1, 1, 1}},	       {"rdx", {2, 8, 0}}, {"edx", {2, 4, 0}},
    {"dx", {2, 2, 0}},	       {"dl", {2, 1, 0}},  {"dh", {2, 1, 1}},
    {"rbx", {3, 8, 0}},	       {"ebx", {3, 4, 0}}, {"bx", {3, 2, 0}},
    {"bl", {3, 1, 0}},	       {"bh", {3, 1, 1}},  {"rsp", {4, 8, 0}},
    {"esp", {4, 4, 0}},	       {"sp", {4, 2, 0}},  {"spl", {4, 1, 0}},
    {"rbp", {5, 8, 0}},	       {"ebp", {5, 4, 0}}, {"bp", {5, 2, 0}},
    {"bpl", {5, 1, 0}},	       {"rsi", {6, 8, 0}}, {"esi", {6, 4, 0}},
    {"si", {6, 2, 0}},	       {"sil", {6, 1, 0}}, {"rdi", {7, 8, 0}},
    {"edi", {7, 4, 0}},	       {"di", {7, 2, 0}},  {"dil", {7, 1, 0}},
    {"rip", {USDT_RIP, 8, 0}},
};

/* %r8 to %r15, with d, w or b behind. */
static bool numbered_register(const char *name, size_t len, struct reg *out)
{
	static const struct {
		char letter;
		uint8_t width;
	} parts[] = {{'d', 4}, {'w', 2}, {'b', 1}};
	unsigned n = 0;
	size_t i = 1;

	if (len < 2 || name[0] != 'r' || name[1] == '0')
		return false;
	for (; i < len && i < 3 && name[i] >= '0' && name[i] <= '9'; i++)
		n = 10 * n + (unsigned)(name[i] - '0');
	if (n < 8 || n > 15 || len > i + 1)
		return false;
	*out = (struct reg){(uint8_t)n, 8, 0};
	if (i == len)
		return true;
	for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
		if (parts[k].letter == name[i]) {
			out->width = parts[k].width;
			return true;
		}
	return false;
}

static bool is_vector(const char *name, size_t len)
{
	return len > 3 && strchr("xyz", name[0]) != NULL && name[1] == 'm' &&
	       name[2] == 'm';
}

/* One with its %. */
static bool read_register(struct reader *r, struct usdt_arg *a, struct reg *out)
{
	const char *name;
	size_t len;

	if (!skip(r, '%'))
		return false;
	name = r->at;
	while (r->at < r->end && ((*r->at >= 'a' && *r->at <= 'z') ||
				  (*r->at >= '0' && *r->at <= '9')))
		r->at++;
	len = (size_t)(r->at - name);
	for (size_t i = 0; i < sizeof register_names / sizeof *register_names;
	     i++) {
		const struct register_name *known = &register_names[i];

		if (strnlen(known->name, sizeof known->name) == len &&
		    memcmp(known->name, name, len) == 0) {
			*out = known->reg;
			return true;
		}
	}
	if (is_vector(name, len))
		a->why = USDT_VECTOR;
	return numbered_register(name, len, out);
}

/* -- Sums -- */

static bool read_number(struct reader *r, uint64_t *out)
{
	char *end;

	if (r->at == r->end || *r->at < '0' || *r->at > '9')
		return false;
	errno = 0;
	*out = strtoull(r->at, &end, 0);
	if (errno != 0 || end > r->end) /* A1: a blank ends it */
		return false;
	r->at = end;
	return true;
}

static bool in_name(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '.' || (unsigned char)c >= 0x80 ||
	       (!first && ((c >= '0' && c <= '9') || c == '$'));
}

/* A name, and what the linker was asked to make of it. */
static bool read_name(struct reader *r, struct usdt_arg *a)
{
	const char *name = r->at;

	while (r->at < r->end && in_name(*r->at, r->at == name))
		r->at++;
	if (r->at == name || a->symbol != NULL)
		return false;
	a->symbol = name;
	a->symbol_len = (size_t)(r->at - name);
	if (!is_next(r, '@'))
		return true;
	if (skip_word(r, "@tpoff") || skip_word(r, "@TPOFF")) {
		a->is_tpoff = true;
		return true;
	}
	a->why = USDT_LOADER;
	return false;
}

/* Numbers and a name, with + and - between. */
static bool read_sum(struct reader *r, struct usdt_arg *a)
{
	uint64_t sum = 0, n = 0;

	do {
		bool minus = skip(r, '-');

		if (!minus)
			skip(r, '+');
		if (read_number(r, &n))
			sum = minus ? sum - n : sum + n;
		else if (minus || !read_name(r, a))
			return false;
	} while (is_next(r, '+') || is_next(r, '-'));
	a->value = (int64_t)sum;
	return true;
}

/* -- Operands -- */

/* What is between the brackets: base, index, scale. */
static bool read_registers(struct reader *r, struct usdt_arg *a)
{
	static const char scales[] = "1248";
	struct reg reg;
	const char *s;

	if (is_next(r, '%')) {
		if (!read_register(r, a, &reg) || reg.width != 8)
			return false;
		a->base = reg.number;
	}
	if (!skip(r, ','))
		return a->base != USDT_NOREG;
	if (!read_register(r, a, &reg) || reg.width != 8 || reg.number == 4 ||
	    reg.number == USDT_RIP || a->base == USDT_RIP)
		return false;
	a->index = reg.number;
	if (!skip(r, ','))
		return true;
	s = r->at < r->end ? strchr(scales, *r->at) : NULL;
	if (s == NULL || *s == '\0')
		return false;
	r->at++;
	a->scale = (uint8_t)(s - scales);
	return true;
}

/* Of something without a name, a distance from rip says nothing: nobody knows
 * from where. */
static bool read_memory(struct reader *r, struct usdt_arg *a)
{
	a->kind = USDT_MEMORY;
	if (skip_word(r, "%fs:"))
		a->segment = USDT_FS;
	else if (skip_word(r, "%gs:"))
		a->segment = USDT_GS;
	if (!is_next(r, '(') && !read_sum(r, a))
		return false;
	if (skip(r, '(') && (!read_registers(r, a) || !skip(r, ')')))
		return false;
	if (a->base == USDT_RIP && (a->symbol == NULL || a->segment != 0))
		return false;
	return a->is_tpoff == (a->symbol != NULL && a->segment == USDT_FS);
}

/* What the size says: of a constant, too. */
static int64_t cut(int64_t value, const struct usdt_arg *a)
{
	unsigned shift = 64 - 8U * a->size;
	uint64_t high = (uint64_t)value << shift;

	return a->is_signed ? (int64_t)high >> shift : (int64_t)(high >> shift);
}

static bool read_constant(struct reader *r, struct usdt_arg *a)
{
	a->kind = USDT_CONSTANT;
	if (!read_sum(r, a) || a->is_tpoff)
		return false;
	if (a->symbol == NULL)
		a->value = cut(a->value, a);
	return true;
}

/* A register that is smaller than what is read of it ends there. */
static bool read_whole_register(struct reader *r, struct usdt_arg *a)
{
	struct reg reg;

	a->kind = USDT_REGISTER;
	if (!read_register(r, a, &reg) || reg.number == USDT_RIP)
		return false;
	a->base = reg.number;
	a->high = reg.high;
	if (a->size > reg.width)
		a->size = reg.width;
	return true;
}

static bool read_operand(struct reader *r, struct usdt_arg *a)
{
	if (skip(r, '$'))
		return read_constant(r, a);
	if (is_next(r, '%') &&
	    !(r->end - r->at > 3 && r->at[3] == ':')) /* a segment */
		return read_whole_register(r, a);
	return read_memory(r, a);
}

/* -- The whole -- */

static bool is_size(uint64_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

/* What is before the '@', and the '@'. */
static bool read_size(struct reader *r, struct usdt_arg *a)
{
	uint64_t n;

	a->is_signed = skip(r, '-');
	if (!read_number(r, &n))
		return false;
	if (skip(r, 'f'))
		a->why = USDT_FRACTION;
	if (!skip(r, '@'))
		return false;
	if (!is_size(n)) {
		a->why = a->why == USDT_FRACTION ? a->why : USDT_SIZE;
		return false;
	}
	a->size = (uint8_t)n;
	return a->why != USDT_FRACTION;
}

bool usdt_parse(const char **text, struct usdt_arg *out)
{
	struct usdt_arg a = {
	    .size = 8, .base = USDT_NOREG, .index = USDT_NOREG};
	struct reader r = {*text + strspn(*text, " \t"), NULL};
	char first = *r.at;
	bool is_sized;

	if (first == '\0')
		return false;
	r.end = r.at + strcspn(r.at, " \t");
	a.text = r.at;
	a.text_len = (size_t)(r.end - r.at);
	*text = r.end;
	is_sized = (first == '-' || (first >= '0' && first <= '9')) &&
		   memchr(r.at, '@', a.text_len) != NULL;
	if ((is_sized && !read_size(&r, &a)) || !read_operand(&r, &a) ||
	    r.at != r.end)
		a.kind = USDT_UNKNOWN;
	if (a.kind == USDT_UNKNOWN && a.why == USDT_KNOWN)
		a.why = USDT_ODD;
	*out = a;
	return true;
}

const char *usdt_why(enum usdt_why why)
{
	static const char *const texts[] = {
	    [USDT_KNOWN] = "",
	    [USDT_ODD] = "it is not understood",
	    [USDT_SIZE] = "its size is none of 1, 2, 4 and 8 bytes",
	    [USDT_FRACTION] = "it is a fraction, which scripts do not have",
	    [USDT_VECTOR] = "it is in a vector register",
	    [USDT_LOADER] = "its address is in a table of the loader's",
	    [USDT_ABSENT] = "the file has nothing of that name",
	    [USDT_STRIPPED] = "the file has lost its names (it was stripped)",
	    [USDT_SEVERAL] = "the file has several of that name",
	    [USDT_APART] = "each thread has its own, and nobody tells where",
	};

	return texts[why];
}
