/* image/abi.c - where a function finds its arguments, and leaves its result.
 *
 * B1  Each 8 bytes of what fits into 16 have a class: floats only, or else
 *     integers. What is larger, or not aligned, is in memory. The second half
 *     of a vector of 16 bytes (UPPER) is in the register of the first. Vectors
 *     of 32 and 64 bytes have one register, too, but as members of a struct
 *     they are not looked for.
 * B2  A thing goes into registers as a whole, or not at all.
 * B3  Of an object that must not just be copied, which has a destructor or a
 *     copy constructor of its own, a virtual function, or such a part, the
 *     address is passed. */
#include "image/abi.h"

#include <string.h>

enum { INTS = 6, FLOATS = 8, NEST = 8 };

/* rdi rsi rdx rcx r8 r9 */
static const uint8_t int_order[INTS] = {7, 6, 2, 1, 8, 9};

/* Of two in the same 8 bytes the later one here counts. */
enum class { EMPTY, UPPER, FLOAT, INTEGER, MEMORY };

struct classes {
	enum class of[2];
	uint64_t base;
	int depth;
};

static void merge(struct classes *c, uint64_t at, uint64_t len,
		  enum class class)
{
	if (len == 0)
		return;
	if (at + len > 16 || class == MEMORY) {
		c->of[0] = c->of[1] = MEMORY;
		return;
	}
	for (uint64_t i = at / 8; i <= (at + len - 1) / 8; i++)
		c->of[i] = c->of[i] > class ? c->of[i] : class;
}

static void classify(struct classes *c, struct type t, uint64_t at);

// NOLINTNEXTLINE(misc-no-recursion): NEST
static int classify_field(void *ctx, const struct type_field *f)
{
	struct classes *c = ctx;
	uint64_t base = c->base;

	if (f->bit_size != 0)
		merge(c, base + f->offset, (f->bit_shift + f->bit_size + 7) / 8,
		      INTEGER);
	else
		classify(c, f->type, base + f->offset);
	c->base = base;
	return 0;
}

// NOLINTNEXTLINE(misc-no-recursion): NEST
static void classify(struct classes *c, struct type t, uint64_t at)
{
	struct type_facts f, of;

	type_look(t, &f);
	if (++c->depth > NEST)
		merge(c, 0, 1, MEMORY);
	else if (f.kind == TYPE_STRUCT || f.kind == TYPE_UNION) {
		c->base = at;
		type_each_field(t, classify_field, c);
	} else if (f.is_vector && f.size == 16) {
		merge(c, at, 8, FLOAT);
		merge(c, at + 8, 8, UPPER);
	} else if (f.kind == TYPE_ARRAY) {
		type_look(f.target, &of);
		for (uint64_t i = 0; of.size > 0 && i < f.count && i < 16; i++)
			classify(c, f.target, at + i * of.size);
	} else if (f.kind == TYPE_COMPLEX) {
		merge(c, at, f.size, f.size > 16 ? MEMORY : FLOAT);
	} else if (f.kind == TYPE_FLOAT) {
		merge(c, at, f.size, f.size > 8 ? MEMORY : FLOAT);
	} else {
		merge(c, at, f.size, INTEGER);
	}
	c->depth--;
}

/* MEMORY in of[0]: it does not fit into registers. */
static struct classes classes_of(struct type t, uint64_t size)
{
	struct classes c = {0};

	if (size == 0 || size > 16)
		c.of[0] = MEMORY;
	else
		classify(&c, t, 0);
	if (c.of[0] == EMPTY && c.of[1] == EMPTY)
		c.of[0] = MEMORY;
	if (c.of[1] == UPPER && c.of[0] != FLOAT)
		c.of[1] = FLOAT; /* a union with integers */
	return c;
}

/* Has it a vector register of its own, and the whole of it? */
static bool is_in_vector(const struct type_facts *f, const struct classes *c)
{
	return (f->is_vector && (f->size == 32 || f->size == 64)) ||
	       (c->of[0] == FLOAT && c->of[1] == UPPER);
}

static void put_vector(unsigned number, struct abi_place *out)
{
	out->where = ABI_VECTOR;
	out->reg[0] = (uint8_t)(ABI_XMM + number);
	out->n_regs = 1;
}

/* B2 */
static bool take(const struct classes *c, uint64_t size, struct abi_state *s,
		 struct abi_place *out)
{
	struct abi_state next = *s;
	unsigned n = size > 8 ? 2 : 1;

	for (unsigned i = 0; i < n; i++) {
		if (c->of[i] == FLOAT) {
			if (next.floats == FLOATS)
				return false;
			out->reg[i] = (uint8_t)(ABI_XMM + next.floats++);
		} else {
			if (next.ints == INTS)
				return false;
			out->reg[i] = int_order[next.ints++];
		}
	}
	out->where = ABI_REGISTERS;
	out->n_regs = (uint8_t)n;
	*s = next;
	return true;
}

static uint64_t push(struct abi_state *s, uint64_t size, uint64_t align)
{
	uint64_t at = (s->stack + align - 1) / align * align;

	s->stack = at + (size + 7) / 8 * 8;
	return at;
}

struct care {
	bool is_needed;
	int depth;
};

static void look_for_care(struct care *c, struct type t);

// NOLINTNEXTLINE(misc-no-recursion): NEST
static int field_needs_care(void *ctx, const struct type_field *f)
{
	struct care *c = ctx;

	if (f->name != NULL && strncmp(f->name, "_vptr", 5) == 0)
		c->is_needed = true;
	else
		look_for_care(c, f->type);
	return c->is_needed;
}

// NOLINTNEXTLINE(misc-no-recursion): NEST
static void look_for_care(struct care *c, struct type t)
{
	struct type_facts f;

	type_look(t, &f);
	if (f.kind == TYPE_ARRAY) {
		t = f.target;
		type_look(t, &f);
	}
	if ((f.kind != TYPE_STRUCT && f.kind != TYPE_UNION) ||
	    ++c->depth > NEST)
		return;
	c->is_needed = f.by_reference || type_has_own_copy(t);
	if (!c->is_needed)
		type_each_field(t, field_needs_care, c);
	c->depth--;
}

/* B3. Some compilers say so, of others it must be seen. */
static bool by_reference(struct type t)
{
	struct care c = {0};

	look_for_care(&c, t);
	return c.is_needed;
}

/* On the stack: long double and __int128 are of 16 bytes. */
static uint64_t alignment(const struct type_facts *f, const struct classes *c)
{
	if (f->kind == TYPE_COMPLEX)
		return f->size > 16 ? 16 : 8;
	if (is_in_vector(f, c))
		return f->size;
	return f->size == 16 && f->kind != TYPE_STRUCT && f->kind != TYPE_UNION
		   ? 16
		   : 8;
}

struct abi_place abi_argument(struct type t, struct abi_state *s)
{
	struct abi_place p = {0};
	struct type_facts f;
	struct classes c;

	type_look(t, &f);
	p.size = f.size;
	if (by_reference(t)) {
		p.where = ABI_POINTER;
		if (s->ints < INTS) {
			p.reg[0] = int_order[s->ints++];
			p.n_regs = 1;
		} else {
			p.offset = 8 + push(s, 8, 8);
		}
		return p;
	}
	if (f.size == 0 || f.size > UINT32_MAX)
		return p;
	c = classes_of(t, f.size);
	if (is_in_vector(&f, &c) && s->floats < FLOATS) {
		put_vector(s->floats++, &p);
		return p;
	}
	if (!is_in_vector(&f, &c) && c.of[0] != MEMORY &&
	    take(&c, f.size, s, &p))
		return p;
	p.where = ABI_STACK; /* after the return address */
	p.offset = 8 + push(s, f.size, alignment(&f, &c));
	return p;
}

struct abi_place abi_result(struct type t, struct abi_state *s)
{
	static const uint8_t ints[2] = {0, 2}; /* rax rdx */
	struct abi_place p = {0};
	unsigned n_ints = 0, n_floats = 0;
	struct type_facts f;
	struct classes c;

	type_look(t, &f);
	p.size = f.size;
	if (f.kind == TYPE_VOID || f.size == 0)
		return p;
	if ((f.kind == TYPE_FLOAT && f.size == 16) ||
	    (f.kind == TYPE_COMPLEX && f.size == 32)) {
		p.where = ABI_X87;
		return p;
	}
	c = classes_of(t, f.size);
	if (is_in_vector(&f, &c)) {
		put_vector(0, &p);
		return p;
	}
	if (by_reference(t) || c.of[0] == MEMORY) {
		p.where = ABI_POINTER;
		p.n_regs = 1; /* rax */
		s->ints++;    /* the caller said where, in rdi */
		return p;
	}
	p.where = ABI_REGISTERS;
	p.n_regs = f.size > 8 ? 2 : 1;
	for (unsigned i = 0; i < p.n_regs; i++)
		p.reg[i] = c.of[i] == FLOAT ? (uint8_t)(ABI_XMM + n_floats++)
					    : ints[n_ints++];
	return p;
}
