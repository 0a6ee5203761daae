/* x86/rewrite.c - the same instruction with another operand. */
#include "x86/rewrite.h"

enum { MOD_SIB = 4, SIB_ABSOLUTE = 0x25 };

static int is_legacy_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 ||
	       byte == 0xf3 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
	       byte == 0x26 || byte == 0x64 || byte == 0x65;
}

/* Those of the prefixes that say what the instruction is. Behind a lock, f2
 * and f3 are hints. Returns how many bytes of code were prefixes. */
static unsigned keep_prefixes(const uint8_t *code, const struct x86_insn *insn,
			      uint8_t *out, unsigned *n)
{
	int locked = (insn->prefixes & X86_P_LOCK) != 0;
	unsigned i;

	for (i = 0; is_legacy_prefix(code[i]); i++)
		if (code[i] == 0x66 ||
		    (!locked && (code[i] == 0xf2 || code[i] == 0xf3)))
			out[(*n)++] = code[i];
	return i;
}

/* From the first byte behind the legacy prefixes up to ModRM: REX or VEX or
 * EVEX, escapes, opcode. A prefix among them made a REX void: not worth it. */
static int is_plain(const uint8_t *code, const struct x86_insn *insn,
		    unsigned at)
{
	if (insn->space >= X86_SPACE_VEX)
		return code[at] == 0xc4 || code[at] == 0xc5 ||
		       code[at] == 0x62 || code[at] == 0x8f;
	if ((code[at] & 0xf0) == 0x40)
		at++;
	return !is_legacy_prefix(code[at]) && (code[at] & 0xf0) != 0x40;
}

static void put_u32(uint8_t *to, uint32_t value)
{
	__builtin_memcpy(to, &value, sizeof value);
}

static unsigned count_prefixes(const uint8_t *code)
{
	unsigned n = 0;

	while (is_legacy_prefix(code[n]))
		n++;
	return n;
}

/* Is there a SIB byte after the move? */
static unsigned needs_sib(const struct x86_insn *insn)
{
	return insn->base == X86_RIP || insn->base == X86_NOREG ||
	       (insn->modrm & 7) == MOD_SIB;
}

static unsigned moved_len(const uint8_t *code, const struct x86_insn *insn)
{
	enum { SEGMENT_AND_67 = 2, MODRM = 1, DISP = 4 };
	uint8_t kept[X86_MAX_LEN];
	unsigned n = 0, had_sib = (insn->modrm & 7) == MOD_SIB;
	unsigned at = keep_prefixes(code, insn, kept, &n);

	return SEGMENT_AND_67 + n + (insn->modrm_off - at) + MODRM +
	       needs_sib(insn) + DISP +
	       (insn->len - insn->modrm_off - MODRM - had_sib -
		insn->disp_size);
}

int x86_can_move32(const uint8_t *code, const struct x86_insn *insn)
{
	return insn->is_mem && !(insn->row->attr & X86_A_MOFFS) &&
	       moved_len(code, insn) <= X86_MAX_LEN &&
	       is_plain(code, insn, count_prefixes(code));
}

int x86_could_move32(const uint8_t *code, const struct x86_insn *insn)
{
	enum { SEGMENT_AND_67 = 2, SIB = 1, DISP = 4 };

	return insn->is_mem && !(insn->row->attr & X86_A_MOFFS) &&
	       insn->len - insn->disp_size + DISP + SIB + SEGMENT_AND_67 <=
		   X86_MAX_LEN &&
	       is_plain(code, insn, count_prefixes(code));
}

/* An operand relative to rip has no index, so X is ignored; with SIB it is not.
 * code: up to the opcode, which is at the end. */
static void clear_x(uint8_t *code, unsigned prefixes, unsigned n,
		    const struct x86_insn *insn)
{
	if (!(insn->rex & 2))
		return;
	if (insn->space >= X86_SPACE_EVEX)
		code[n - 4] |= 0x40;
	else if (insn->space >= X86_SPACE_VEX)
		code[n - 3] |= 0x40;
	else
		code[prefixes] &= (uint8_t)~2;
}

int x86_put_moved32(struct x86_buf *b, const uint8_t *code,
		    const struct x86_insn *insn, uint64_t pc, unsigned seg,
		    uint32_t more)
{
	uint8_t out[2 * X86_MAX_LEN] = {(uint8_t)seg, 0x67};
	unsigned n = 2, at, reg = insn->modrm & 0x38, has_sib, prefixes;
	unsigned tail = (unsigned)insn->disp_off + insn->disp_size;
	uint32_t disp = (uint32_t)insn->disp + more;

	if (!insn->is_mem || insn->row->attr & X86_A_MOFFS)
		return -1;
	at = keep_prefixes(code, insn, out, &n);
	if (!is_plain(code, insn, at))
		return -1;
	prefixes = n;
	while (at < insn->modrm_off)
		out[n++] = code[at++];
	has_sib = (insn->modrm & 7) == MOD_SIB;
	if (insn->base == X86_RIP) {
		disp += (uint32_t)(pc + insn->len);
		clear_x(out, prefixes, n, insn);
		out[n++] = (uint8_t)(reg | MOD_SIB);
		out[n++] = SIB_ABSOLUTE;
	} else if (insn->base == X86_NOREG) {
		out[n++] = (uint8_t)(reg | MOD_SIB);
		out[n++] = code[insn->modrm_off + 1];
	} else {
		out[n++] = (uint8_t)(0x80 | reg | (insn->modrm & 7));
		if (has_sib)
			out[n++] = code[insn->modrm_off + 1];
	}
	put_u32(out + n, disp);
	n += 4;
	if (insn->disp_size == 0)
		tail = insn->modrm_off + 1u + has_sib;
	while (tail < insn->len)
		out[n++] = code[tail++];
	if (n > X86_MAX_LEN)
		return -1;
	emit_bytes(b, out, n);
	return 0;
}

/* Is a general register of one byte named that REX would rename? */
static int names_high_byte(const struct x86_insn *insn)
{
	return insn->row->role[0] & X86_R_BYTE && !(insn->rex & 0x40) &&
	       insn->reg >= 4;
}

int x86_put_register(struct x86_buf *b, const uint8_t *code,
		     const struct x86_insn *insn, unsigned reg)
{
	uint8_t out[2 * X86_MAX_LEN];
	unsigned n = 0, at, rex = insn->rex & ~3u;
	unsigned tail = (unsigned)insn->disp_off + insn->disp_size;
	int is_byte =
	    (insn->row->role[1] & X86_R_BYTE) != 0 || insn->row->mem_size == 1;

	if (!insn->is_mem || insn->space >= X86_SPACE_VEX ||
	    !(insn->row->attr & X86_A_MODRM))
		return -1;
	at = keep_prefixes(code, insn, out, &n);
	if (!is_plain(code, insn, at))
		return -1;
	if ((code[at] & 0xf0) == 0x40)
		at++;
	if (reg >= 8)
		rex |= 0x41;
	if (is_byte && reg >= 4)
		rex |= 0x40;
	if (rex != 0 && names_high_byte(insn))
		return -1;
	if (rex != 0)
		out[n++] = (uint8_t)(rex | 0x40);
	while (at < insn->modrm_off)
		out[n++] = code[at++];
	out[n++] = (uint8_t)(0xc0 | (insn->modrm & 0x38) | (reg & 7));
	if (insn->disp_size == 0)
		tail = insn->modrm_off + 1u + ((insn->modrm & 7) == MOD_SIB);
	while (tail < insn->len)
		out[n++] = code[tail++];
	if (n > X86_MAX_LEN)
		return -1;
	emit_bytes(b, out, n);
	return 0;
}
