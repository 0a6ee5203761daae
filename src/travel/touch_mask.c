/* travel/touch_mask.c - which elements a vector instruction touches. */
#include "travel/touch_mask.h"

#include <string.h>

enum { VECTOR = 64, MAP1 = 1, MAP2 = 2, MAP3 = 3 };

int touch_is_masked(const struct x86_insn *x)
{
	return x->is_mem && (x->row->attr & (X86_A_MEM_MAY | X86_A_VSIB) ||
			     (x->space >= X86_SPACE_EVEX && x->aaa));
}

/* -- Registers -- */

/* Extended registers as recordings hold them: a mask, what fxsave stores, and
 * the components behind it. NULL: the component is in its initial state. */
static const uint8_t *component(const uint8_t *state, unsigned n)
{
	static const uint16_t sizes[] = {
	    [2] = 256, [3] = 64, [4] = 64, [5] = 64, [6] = 512, [7] = 1024};
	const uint8_t *at = state + 8 + 512;
	uint64_t mask;

	memcpy(&mask, state, sizeof mask);
	if (!(mask >> n & 1))
		return NULL;
	for (unsigned i = 2; i < n; i++)
		if (mask >> i & 1)
			at += sizes[i];
	return at;
}

static void part(const uint8_t *from, uint8_t *to, unsigned len)
{
	if (from != NULL)
		memcpy(to, from, len);
	else
		memset(to, 0, len);
}

static void vector_of(const uint8_t *state, unsigned n, uint8_t out[VECTOR])
{
	const uint8_t *high = component(state, 2), *top = component(state, 6);
	const uint8_t *upper = component(state, 7);

	if (n >= 16) {
		part(upper != NULL ? upper + (size_t)64 * (n - 16) : NULL, out,
		     64);
		return;
	}
	memcpy(out, state + 8 + 160 + (size_t)16 * n, 16);
	part(high != NULL ? high + (size_t)16 * n : NULL, out + 16, 16);
	part(top != NULL ? top + (size_t)32 * n : NULL, out + 32, 32);
}

static uint64_t opmask_of(const uint8_t *state, unsigned n)
{
	const uint8_t *all = component(state, 5);
	uint64_t mask = 0;

	if (all != NULL)
		memcpy(&mask, all + (size_t)8 * n, sizeof mask);
	return mask;
}

/* -- Elements -- */

static int is_evex(const struct x86_insn *x)
{
	return x->space >= X86_SPACE_EVEX;
}

static unsigned map_of(const struct x86_insn *x)
{
	return is_evex(x) ? x->space - X86_SPACE_EVEX + 1u
			  : x->space - X86_SPACE_VEX + 1u;
}

enum prefix { PREFIX_NONE, PREFIX_66, PREFIX_F3, PREFIX_F2 };

static enum prefix prefix_of(const struct x86_insn *x)
{
	return (enum prefix)(is_evex(x) ? x->variant >> 4 : x->variant >> 2);
}

/* Of the whole vector, in bytes. */
static unsigned length_of(const struct x86_insn *x)
{
	return is_evex(x) ? 16u << (x->variant >> 1 & 3)
			  : 16u << (x->variant & 1);
}

static unsigned by_w(const struct x86_insn *x, unsigned zero, unsigned one)
{
	return x->rex & 8 ? one : zero;
}

/* Bytes of an element in memory; 0: not known. */
static unsigned element_size(const struct x86_insn *x)
{
	unsigned map = map_of(x), op = x->opcode;
	enum prefix p = prefix_of(x);

	if (map == MAP1 && (op == 0x6f || op == 0x7f))
		return p == PREFIX_F2 ? by_w(x, 1, 2) : by_w(x, 4, 8);
	if (map == MAP1 && (op == 0x10 || op == 0x11))
		return p == PREFIX_F3 ? 4 : p == PREFIX_F2 ? 8 : by_w(x, 4, 8);
	if (map == MAP1 && (op == 0x28 || op == 0x29))
		return by_w(x, 4, 8);
	if (map == MAP2 && (op == 0x62 || op == 0x63))
		return by_w(x, 1, 2);
	if (map == MAP2 && op >= 0x88 && op <= 0x8e)
		return by_w(x, 4, 8);
	if (map == MAP2 && !is_evex(x) && op >= 0x2c && op <= 0x2f)
		return op & 1 ? 8 : 4;
	if (map == MAP3 && (op & 0xdd) == 0x19) /* extracts */
		return by_w(x, 4, 8);
	return 0;
}

/* Does it put elements together, so that those in memory have no gaps? */
static int is_packed(const struct x86_insn *x)
{
	unsigned op = x->opcode;

	return map_of(x) == MAP2 && is_evex(x) &&
	       (op == 0x62 || op == 0x63 || (op >= 0x88 && op <= 0x8b));
}

/* A bit for each element. */
static uint64_t mask_of(const uint8_t *state, const struct x86_insn *x,
			unsigned size, unsigned n)
{
	uint8_t vector[VECTOR];
	uint64_t mask = 0;

	if (is_evex(x)) {
		mask = opmask_of(state, x->aaa);
		return n < 64 ? mask & ((1ull << n) - 1) : mask;
	}
	vector_of(state, x->vvvv, vector);
	for (unsigned i = 0; i < n; i++)
		mask |= (uint64_t)(vector[size * (i + 1) - 1] >> 7) << i;
	return mask;
}

/* -- Pieces -- */

static unsigned add(struct touch *out, unsigned n, uint64_t address,
		    uint64_t size, unsigned how)
{
	if (size > 0 && how & X86_M_READ && n < TOUCHES_MAX)
		out[n++] = (struct touch){address, address, (uint32_t)size, 0};
	if (size > 0 && how & X86_M_WRITE && n < TOUCHES_MAX)
		out[n++] = (struct touch){address, address, (uint32_t)size, 1};
	return n;
}

static unsigned contiguous(const uint8_t *state, const struct x86_insn *x,
			   uint64_t at, struct touch *out)
{
	unsigned size = element_size(x), how = x->row->mem, n = 0;
	uint64_t mask;

	if (size == 0)
		return add(out, 0, at, x->row->mem_size, how);
	mask = mask_of(state, x, size, x->row->mem_size / size);
	if (is_packed(x)) {
		unsigned set = (unsigned)__builtin_popcountll(mask);

		return add(out, 0, at, (uint64_t)size * set, how);
	}
	while (mask != 0) {
		unsigned first = (unsigned)__builtin_ctzll(mask);
		uint64_t rest = ~(mask >> first);
		unsigned len = rest == 0 ? 64 : (unsigned)__builtin_ctzll(rest);

		n = add(out, n, at + (uint64_t)first * size,
			(uint64_t)len * size, how);
		mask &= first + len < 64 ? ~0ull << (first + len) : 0;
	}
	return n;
}

/* Gathers and scatters: their opcodes are in pairs, the odd ones with indices
 * of 8 bytes. */
static unsigned scattered(const uint8_t *state, const struct x86_insn *x,
			  uint64_t at, struct touch *out)
{
	unsigned size = by_w(x, 4, 8), step = x->opcode & 1 ? 8 : 4;
	unsigned most = length_of(x) / (size > step ? size : step), n = 0;
	uint8_t indices[VECTOR];
	uint64_t mask = mask_of(state, x, size, most);

	vector_of(state, x->index, indices);
	for (unsigned i = 0; i < most; i++) {
		int64_t index = 0;
		int32_t narrow;

		memcpy(&narrow, indices + (size_t)4 * i, sizeof narrow);
		if (step == 8)
			memcpy(&index, indices + (size_t)8 * i, sizeof index);
		else
			index = narrow;
		if (mask >> i & 1)
			n = add(out, n, at + ((uint64_t)index << x->scale),
				size, x->row->mem);
	}
	return n;
}

unsigned touch_masked(struct walker *w, const struct x86_insn *x, uint64_t at,
		      struct touch out[TOUCHES_MAX])
{
	uint8_t state[WIRE_XSTATE_MAX];

	if (x->space < X86_SPACE_VEX ||
	    (x->space >= X86_SPACE_XOP && x->space < X86_SPACE_EVEX))
		return add(out, 0, at, x->row->mem_size, x->row->mem);
	walker_xstate(w, state);
	return x->row->attr & X86_A_VSIB ? scattered(state, x, at, out)
					 : contiguous(state, x, at, out);
}
