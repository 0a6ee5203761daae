/* tools/x86/cell.c - from points of the encoding space to bytes. */
#include "cell.h"

#include "x86/decode.h"

#include <string.h>

unsigned cell_variants(unsigned space)
{
	if (space < X86_SPACE_VEX)
		return 12;
	return space < X86_SPACE_EVEX ? 16 : 64;
}

int cell_is_escape(unsigned space, unsigned byte)
{
	static const uint8_t first[] = {0x0f, 0x62, 0xc4, 0xc5, 0x66,
					0x67, 0xf0, 0xf2, 0xf3, 0x64,
					0x65, 0x26, 0x2e, 0x36, 0x3e};

	if (space == X86_SPACE_LEGACY + 1)
		return byte == 0x38 || byte == 0x3a;
	return space == X86_SPACE_LEGACY &&
	       ((byte & 0xf0) == 0x40 ||
		memchr(first, (int)byte, sizeof first) != NULL);
}

static uint8_t *put_text(uint8_t *p, const char *text)
{
	while (*text)
		*p++ = (uint8_t)*text++;
	return p;
}

static uint8_t *put_legacy(uint8_t *p, const struct cell *c)
{
	static const char pp[6][3] = {"",     "\x66",	  "\xf3",
				      "\xf2", "\x66\xf3", "\x66\xf2"};
	static const char map[4][3] = {"", "\x0f", "\x0f\x38", "\x0f\x3a"};
	unsigned rex = (c->variant & 1) << 3 | c->r << 2 | c->x << 1 | c->b;

	p = put_text(p, pp[c->variant / 2]);
	if (rex || c->rex)
		*p++ = (uint8_t)(0x40 | rex);
	return put_text(p, map[c->space]);
}

static uint8_t *put_vex(uint8_t *p, const struct cell *c)
{
	unsigned xop = c->space >= X86_SPACE_XOP;
	unsigned map =
	    xop ? c->space - X86_SPACE_XOP + 8 : c->space - X86_SPACE_VEX + 1;
	unsigned pp = c->variant >> 2, w = c->variant >> 1 & 1,
		 l = c->variant & 1;

	*p++ = xop ? 0x8f : 0xc4;
	*p++ = (uint8_t)((~(c->r << 2 | c->x << 1 | c->b) & 7) << 5 | map);
	*p++ = (uint8_t)(w << 7 | (~c->vvvv & 15) << 3 | l << 2 | pp);
	return p;
}

static uint8_t *put_evex(uint8_t *p, const struct cell *c)
{
	static const uint8_t map[5] = {1, 2, 3, 5, 6};
	unsigned pp = c->variant >> 4, w = c->variant >> 3 & 1,
		 ll = c->variant >> 1 & 3, b = c->variant & 1;

	*p++ = 0x62;
	*p++ = (uint8_t)((~(c->r << 2 | c->x << 1 | c->b) & 7) << 5 |
			 (c->r2 ^ 1) << 4 | map[c->space - X86_SPACE_EVEX]);
	*p++ = (uint8_t)(w << 7 | (~c->vvvv & 15) << 3 | 4 | pp);
	*p++ =
	    (uint8_t)(c->z << 7 | ll << 5 | b << 4 | (c->v2 ^ 1) << 3 | c->aaa);
	return p;
}

uint8_t *cell_opcode(uint8_t *p, const struct cell *c)
{
	if (c->p67)
		*p++ = 0x67;
	if (c->lock)
		*p++ = 0xf0;
	if (c->space < X86_SPACE_VEX)
		p = put_legacy(p, c);
	else if (c->space < X86_SPACE_EVEX)
		p = put_vex(p, c);
	else
		p = put_evex(p, c);
	*p++ = (uint8_t)c->opcode;
	return p;
}

uint8_t *cell_encode(uint8_t out[CELL_BYTES], const struct cell *c)
{
	uint8_t *p;

	memset(out, 0, CELL_BYTES);
	p = cell_opcode(out, c);
	if (c->is_reg) {
		*p++ = (uint8_t)(0xc0 | c->reg << 3 | c->rm);
	} else if (c->mod0_rm) {
		*p++ = (uint8_t)(c->reg << 3 | c->mod0_rm);
		if (c->mod0_rm == 5)
			p += 4;
	} else {
		*p++ = (uint8_t)(0x44 | c->reg << 3);
		*p++ = (uint8_t)(c->index << 3 | c->base);
		*p++ = (uint8_t)c->disp8;
	}
	return p;
}
