/* ask/abi_read.c - the bytes of an argument or a result. */
#include "ask/abi_read.h"

#include <string.h>

enum { /* in an xsave area */
       XMM_AT = 160,
       ST0_AT = 32,
       YMM_HIGH_AT = 576, /* of each 16 bytes */
       HAS_X87 = 1,
       HAS_SSE = 2,
       HAS_AVX = 4,
};

static void reg_bytes(const struct hark_registers *r, uint8_t reg,
		      uint8_t out[8])
{
	if (reg < ABI_XMM)
		memcpy(out, &r->gpr[reg], 8);
	else if ((r->xstate_bv & HAS_SSE) != 0)
		memcpy(out, r->xsave + XMM_AT + (size_t)16 * (reg - ABI_XMM),
		       8);
	else
		memset(out, 0, 8);
}

static size_t read_registers(const struct abi_place *p,
			     const struct hark_registers *r, uint8_t *out,
			     uint8_t *known, size_t len)
{
	uint8_t bytes[16] = {0};

	for (unsigned i = 0; i < p->n_regs; i++)
		reg_bytes(r, p->reg[i], bytes + (size_t)8 * i);
	len = len < 16 ? len : 16;
	memcpy(out, bytes, len);
	memset(known, 1, len);
	return len;
}

/* Half a vector register; one that is in its initial state is zeros. */
static void vector_half(const struct hark_registers *r, uint64_t has, size_t at,
			uint8_t *out, size_t len)
{
	if ((r->xstate_bv & has) != 0)
		memcpy(out, r->xsave + at, len);
	else
		memset(out, 0, len);
}

/* Of 64 bytes only 32: processors of different makers keep the others at
 * different places. */
static size_t read_vector(const struct abi_place *p,
			  const struct hark_registers *r, uint8_t *out,
			  uint8_t *known, size_t len)
{
	size_t i = (size_t)16 * (p->reg[0] - ABI_XMM);
	size_t high = len <= 16 ? 0 : len < 32 ? len - 16 : 16;

	if (r->xsave_len < YMM_HIGH_AT + i + 16)
		high = 0;
	len = len < 16 ? len : 16;
	vector_half(r, HAS_SSE, XMM_AT + i, out, len);
	vector_half(r, HAS_AVX, YMM_HIGH_AT + i, out + len, high);
	memset(known, 1, len + high);
	return len + high;
}

/* Each part is 10 bytes, in 16 of memory. */
static size_t read_x87(const struct hark_registers *r, uint8_t *out,
		       uint8_t *known, size_t len)
{
	enum { PART = 10, ROOM = 16, PARTS = 2 };
	size_t n = 0;

	for (size_t i = 0; i < PARTS && i * ROOM + PART <= len; i++) {
		if ((r->xstate_bv & HAS_X87) == 0)
			break; /* nothing is on that stack */
		memcpy(out + i * ROOM, r->xsave + ST0_AT + i * ROOM, PART);
		memset(known + i * ROOM, 1, PART);
		n += PART;
	}
	return n;
}

size_t abi_read(const struct abi_place *p, const struct ask_source *src,
		const struct hark_registers *r, uint64_t entry_rsp,
		uint8_t *out, uint8_t *known, size_t len)
{
	uint64_t addr = entry_rsp + p->offset;
	uint8_t known_word[8];

	memset(known, 0, len);
	switch (p->where) {
	case ABI_REGISTERS:
		return read_registers(p, r, out, known, len);
	case ABI_X87:
		return read_x87(r, out, known, len);
	case ABI_VECTOR:
		return read_vector(p, r, out, known, len);
	case ABI_POINTER:
		if (p->n_regs == 0 &&
		    src->read(src->ctx, addr, 8, (uint8_t *)&addr,
			      known_word) != 8)
			return 0;
		if (p->n_regs > 0)
			addr = r->gpr[p->reg[0]];
		return src->read(src->ctx, addr, len, out, known);
	case ABI_STACK:
		return src->read(src->ctx, addr, len, out, known);
	default:
		return 0;
	}
}
