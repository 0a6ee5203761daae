/* ask/abi_read.c - the bytes of an argument or a result. */
#include "ask/abi_read.h"

#include <string.h>

enum { XMM_AT = 160, ST0_AT = 32 }; /* in an xsave area */

static void reg_bytes(const struct hark_registers *r, uint8_t reg,
		      uint8_t out[8])
{
	if (reg < ABI_XMM)
		memcpy(out, &r->gpr[reg], 8);
	else if ((r->xstate_bv & 2) != 0)
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
		len = len < 10 ? len : 10;
		memcpy(out, r->xsave + ST0_AT, len);
		memset(known, 1, len);
		return len;
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
