// runs: 100000
/* tests/fuzz/x86_decode.c - whatever the bytes, the decoder keeps its word.
 *
 * D1 to D3 of x86/decode.c, and what an accepted instruction promises: its
 * masks and offsets are sound, the bytes after it do not matter, and all its
 * beginnings are truncated. The input lies in a block of just its size, so
 * that the sanitizer sees a byte too many. */
#include "x86/access.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* All but the padding at the end. */
enum { INSN_LEN = offsetof(struct x86_insn, flag_kill) + sizeof(uint16_t) };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int truth)
{
	if (!truth)
		abort();
}

/* Decodes a copy of exactly n bytes. */
static enum x86_status decode(const uint8_t *data, unsigned n,
			      struct x86_insn *out)
{
	uint8_t *copy = malloc(n ? n : 1);
	enum x86_status status;

	must(copy != NULL);
	memcpy(copy, data, n);
	status = x86_decode(copy, n, out);
	if (status == X86_OK) {
		struct x86_access access[X86_ACCESS_MAX];

		x86_imm(copy, out);
		x86_target(copy, out, 0x400000);
		must(x86_accesses(copy, out, access) <= X86_ACCESS_MAX);
	}
	free(copy);
	return status;
}

static void check_sound(const struct x86_insn *i)
{
	const struct x86_row *r = i->row;

	must(i->len >= 1 && i->len <= X86_MAX_LEN);
	must(i->opcode_off < i->len && i->imm_off <= i->len);
	must(i->imm_off + r->imm == i->len);
	must(i->disp_off + i->disp_size == i->imm_off);
	must(!(r->attr & X86_A_MODRM) || i->modrm_off < i->len);
	must((i->gpr_kill & ~i->gpr_write) == 0);
	must((i->flag_kill & ~i->flag_write) == 0);
	must(i->base < 16 || i->base == X86_RIP || i->base == X86_NOREG);
	must(i->index < 32 || i->index == X86_NOREG);
	must(i->is_mem || (i->base == X86_NOREG && i->index == X86_NOREG));
	must(i->space < X86_SPACE_MAX && r->flow < X86_FLOW_MAX);
	must(r->special < X86_SPECIAL_MAX);
}

static void check_beginnings(const uint8_t *data, const struct x86_insn *i)
{
	struct x86_insn j;

	for (unsigned n = 0; n < i->len; n++)
		must(decode(data, n, &j) == X86_TRUNCATED);
	must(decode(data, i->len, &j) == X86_OK);
	must(memcmp(i, &j, INSN_LEN) == 0);
}

static void check_rest(const uint8_t *data, const struct x86_insn *i)
{
	uint8_t padded[64];
	struct x86_insn j;

	memset(padded, 0xff, sizeof padded);
	memcpy(padded, data, i->len);
	must(x86_decode(padded, sizeof padded, &j) == X86_OK);
	must(memcmp(i, &j, INSN_LEN) == 0);
}

/* What is invalid stays so, whatever follows. */
static void check_invalid(const uint8_t *data, unsigned n)
{
	static const uint8_t fill[] = {0x00, 0xff, 0xc0, 0x7f, 0x0f};
	uint8_t padded[64];
	struct x86_insn i;

	for (unsigned k = 0; k < sizeof fill; k++) {
		memset(padded, fill[k], sizeof padded);
		memcpy(padded, data, n);
		must(x86_decode(padded, sizeof padded, &i) == X86_INVALID);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned n = size > 64 ? 64 : (unsigned)size;
	struct x86_insn i;

	switch (decode(data, n, &i)) {
	case X86_OK:
		check_sound(&i);
		check_beginnings(data, &i);
		check_rest(data, &i);
		break;
	case X86_INVALID:
		check_invalid(data, n);
		break;
	case X86_TRUNCATED:
		must(n < X86_MAX_LEN);
		break;
	}
	return 0;
}
