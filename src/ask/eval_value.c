/* ask/eval_value.c - the values that expressions have.
 *
 * A value is a thing in memory or in registers, which is read when its bytes
 * are needed, or computed, with its bytes in it. */
#include "ask/eval.h"

#include "ask/eval_priv.h"
#include "image/vars.h"

#include <string.h>

static struct expr_frame frame_of(const struct eval *e, const struct value *v,
				  struct unwind_context *room)
{
	if (v->module != NULL)
		return unwind_global(e->u, v->frame, v->module, room);
	return unwind_expr(e->u, v->frame, room);
}

static size_t read_computed(const struct value *v, uint64_t offset,
			    uint8_t *out, uint8_t *known, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		bool has = !v->is_unknown && offset < v->len &&
			   offset < sizeof v->bytes &&
			   i < sizeof v->bytes - offset && i < v->len - offset;

		known[i] = has;
		if (has)
			out[i] = v->bytes[offset + i];
		n += has;
	}
	return n;
}

size_t eval_read(const struct eval *e, const struct value *v, uint64_t offset,
		 uint8_t *out, uint8_t *known, size_t len)
{
	const struct ask_source *src = space_source(e->space);
	struct unwind_context room;
	struct expr_frame f;
	uint64_t addr;

	if (v->is_computed)
		return read_computed(v, offset, out, known, len);
	if (eval_address(v, &addr)) {
		memset(known, 0, len);
		return src->read(src->ctx, addr + offset, len, out, known);
	}
	f = frame_of(e, v, &room);
	return expr_read(&v->place, &f, v->offset + offset, out, known, len);
}

bool eval_address(const struct value *v, uint64_t *out)
{
	if (v->place.n != 1 || v->place.piece[0].kind != EXPR_MEMORY ||
	    v->place.piece[0].bits != 0)
		return false;
	*out = v->place.piece[0].u + v->offset;
	return true;
}

struct value eval_at(struct type type, uint64_t addr, uint64_t len)
{
	struct value v = {.is_typed = true, .type = type, .len = len};
	struct type_facts facts;

	v.place.n = 1;
	v.place.piece[0] = (struct expr_piece){.kind = EXPR_MEMORY, .u = addr};
	if (len == 0) {
		type_look(type, &facts);
		v.len = facts.size;
	}
	return v;
}

struct value eval_bytes_at(uint64_t addr, uint64_t len)
{
	struct value v = eval_at((struct type){0}, addr, len);

	v.is_typed = false;
	v.len = len;
	return v;
}

struct value eval_number_of(uint64_t u)
{
	struct value v = {.is_number = true, .len = EVAL_WORD};

	v.place.n = 1;
	v.place.piece[0] = (struct expr_piece){.kind = EXPR_VALUE, .u = u};
	return v;
}

struct value eval_pointer_to(struct type type, uint64_t addr)
{
	struct value v = eval_number_of(addr);

	v.is_number = false;
	v.is_typed = true;
	v.type = type;
	v.type.stars++;
	return v;
}

static bool is_scalar(enum type_kind k)
{
	return k == TYPE_SIGNED || k == TYPE_UNSIGNED || k == TYPE_CHAR ||
	       k == TYPE_BOOL || k == TYPE_POINTER || k == TYPE_REFERENCE ||
	       k == TYPE_ENUM;
}

static int64_t extend(uint64_t v, unsigned bits, bool is_signed)
{
	if (bits == 0 || bits >= 64)
		return (int64_t)v;
	v <<= 64 - bits;
	return is_signed ? (int64_t)v >> (64 - bits)
			 : (int64_t)(v >> (64 - bits));
}

int eval_number(const struct eval *e, const struct value *v, int64_t *out)
{
	struct type_facts facts = {.kind = TYPE_UNSIGNED};
	uint8_t bytes[16] = {0}, known[16];
	unsigned bits = v->bit_size;
	size_t len = v->len < EVAL_WORD ? v->len : EVAL_WORD;
	uint64_t word;

	if (v->is_typed)
		type_look(v->type, &facts);
	if (!is_scalar(facts.kind) || len == 0 || v->repeated != 0 ||
	    (v->is_typed && v->len > EVAL_WORD))
		return -1;
	if (bits != 0)
		len = (v->bit_shift + bits + 7) / 8;
	if (len > 9 || eval_read(e, v, 0, bytes, known, len) != len)
		return -1;
	memcpy(&word, bytes, sizeof word);
	if (bits == 0) {
		*out = extend(word, 8 * (unsigned)len, facts.is_signed);
		return 0;
	}
	word >>= v->bit_shift;
	if (len == 9 && v->bit_shift != 0)
		word |= (uint64_t)bytes[8] << (64 - v->bit_shift);
	*out = extend(word, bits, facts.is_signed);
	return 0;
}

void eval_var(const struct eval *e, const struct var *v, unsigned frame,
	      const struct space_module *m, struct value *out)
{
	struct unwind_context room;
	struct type_facts facts;
	struct expr_frame f;

	*out = (struct value){
	    .is_typed = true, .type = v->type, .frame = frame, .module = m};
	f = frame_of(e, out, &room);
	vars_place(v, &f, &out->place);
	type_look(v->type, &facts);
	out->len = facts.size;
}

/* -- Operands -- */

struct value eval_of_operand(const struct operand *o)
{
	struct value v = {.is_typed = true,
			  .is_computed = true,
			  .is_unknown = !o->is_known,
			  .type = o->type,
			  .len = o->size};

	arith_store(o, v.bytes);
	return v;
}

struct value eval_unknown(struct type type)
{
	struct value v = {.is_typed = true,
			  .is_computed = true,
			  .is_unknown = true,
			  .type = type};
	struct type_facts facts;

	type_look(type, &facts);
	v.len = facts.size;
	return v;
}

/* An array or a function, as C has it: where it is. */
static const char *operand_at(const struct value *v, struct type target,
			      struct operand *out)
{
	struct type pointer = target;
	uint64_t addr;

	pointer.stars++;
	arith_of_type(pointer, out);
	if (v->is_unknown)
		return NULL;
	if (!eval_address(v, &addr))
		return "is not in memory, so it has no address";
	out->u = addr;
	out->is_known = true;
	return NULL;
}

static const char *untyped_operand(const struct eval *e, const struct value *v,
				   struct operand *out)
{
	static const uint8_t basic[9] = {[1] = TYPE_BASIC_UCHAR,
					 [2] = TYPE_BASIC_USHORT,
					 [4] = TYPE_BASIC_UINT,
					 [8] = TYPE_BASIC_ULONG};
	enum type_basic type = v->len < sizeof basic ? basic[v->len] : 0;
	uint8_t bytes[16] = {0}, known[16];

	if (v->is_code)
		return operand_at(v, (struct type){0}, out);
	if (type == TYPE_BASIC_NONE)
		return "has no known type";
	arith_of_type(v->is_literal ? v->type : type_basic(type), out);
	if (eval_read(e, v, 0, bytes, known, (size_t)v->len) == v->len)
		arith_load(out, bytes);
	return NULL;
}

static void bit_field(const struct eval *e, const struct value *v,
		      struct operand *out)
{
	int64_t n;

	out->bits = v->bit_size;
	out->is_known = eval_number(e, v, &n) == 0;
	if (out->is_known)
		out->u = out->is_signed ? (arith_wide)n : (uint64_t)n;
}

/* Six of a long double's bytes mean nothing. */
static size_t significant(const struct operand *o)
{
	return o->kind == ARITH_FLOAT && o->size == 16 ? 10 : o->size;
}

/* The constants of an enum are int if they fit, in C++ variables, too; but in
 * C variables are what the compiler has made the enum of. */
static void promote_enum(const struct value *v, struct operand *o)
{
	if (o->is_known && o->size <= 4 && o->u <= INT32_MAX &&
	    (v->is_enumerator || !type_is_of_c(v->type)))
		o->bits = 31;
}

const char *eval_operand(const struct eval *e, const struct value *v,
			 struct operand *out)
{
	uint8_t bytes[16] = {0}, known[16];
	struct type_facts facts;

	*out = (struct operand){.kind = ARITH_INTEGER};
	if (!v->is_typed)
		return untyped_operand(e, v, out);
	type_look(v->type, &facts);
	if (facts.kind == TYPE_ARRAY)
		return operand_at(v, facts.target, out);
	if (facts.kind == TYPE_FUNCTION)
		return operand_at(v, v->type, out);
	if (facts.kind == TYPE_STRUCT || facts.kind == TYPE_UNION)
		return "is a struct or union: ask for one of its fields";
	if (!arith_of_type(v->type, out))
		return "has a type that there is no arithmetic for";
	if (v->bit_size != 0)
		bit_field(e, v, out);
	else if (eval_read(e, v, 0, bytes, known, significant(out)) ==
		 significant(out))
		arith_load(out, bytes);
	if (facts.kind == TYPE_ENUM && v->bit_size == 0)
		promote_enum(v, out);
	return NULL;
}
