/* probe/hooks.c - finds system calls, and what they ask for. */
#include "probe/hooks.h"

enum { FAR_ENOUGH = 16 }; /* instructions looked at, backwards */

/* mov $n, %eax; mov $n, %rax; xor %eax, %eax. */
static bool sets_eax(const uint8_t *code, const struct x86_insn *i,
		     int64_t *out)
{
	bool is_legacy = i->space == X86_SPACE_LEGACY;

	if (is_legacy && i->opcode == 0xb8 + X86_RAX &&
	    !(i->prefixes & X86_P_66)) {
		*out = (int64_t)(uint32_t)x86_imm(code, i);
		return true;
	}
	if (is_legacy && i->opcode == 0xc7 && i->modrm == 0xc0 &&
	    !(i->prefixes & X86_P_66)) {
		*out = (int64_t)(uint32_t)x86_imm(code, i);
		return true;
	}
	if (is_legacy && (i->opcode == 0x31 || i->opcode == 0x33) &&
	    i->modrm == 0xc0 && !(i->rex & 5)) {
		*out = 0;
		return true;
	}
	return false;
}

int64_t hooks_number(const struct survey *s, uint64_t addr)
{
	struct x86_insn i;
	int64_t number;

	for (unsigned k = 0; k < FAR_ENOUGH; k++) {
		addr = survey_before(s, addr, &i);
		if (addr == 0)
			return -1;
		if (i.gpr_write >> X86_RAX & 1)
			return sets_eax(survey_bytes(s, addr), &i, &number)
				   ? number
				   : -1;
		if (i.row->flow != X86_NEXT && i.row->flow != X86_JCC)
			return -1;
	}
	return -1;
}

/* mov $n, %eax shortly before. */
static bool likely_at(const struct survey *s, uint64_t at,
		      bool (*wanted)(uint64_t number))
{
	enum { SHORTLY = 48, LEN = 5 };
	uint64_t from = at > SHORTLY ? at - SHORTLY : 0;

	for (uint64_t k = from; k + LEN <= at; k++) {
		const uint8_t *b = s->bytes + k;

		if (b[0] == 0xb8 && b[3] == 0 && b[4] == 0 &&
		    wanted(b[1] | (uint64_t)b[2] << 8))
			return true;
	}
	return false;
}

bool hooks_likely(const struct survey *s, bool (*wanted)(uint64_t number))
{
	for (uint64_t at = 0; at + 2 <= s->len; at++)
		if (s->bytes[at] == 0x0f && s->bytes[at + 1] == 0x05 &&
		    likely_at(s, at, wanted))
			return true;
	return false;
}

static bool is_call(const struct survey *s, uint64_t addr)
{
	const uint8_t *code = survey_bytes(s, addr);
	struct x86_insn i;

	return code[0] == 0x0f && code[1] == 0x05 && survey_insn(s, addr, &i) &&
	       i.row->flow == X86_SYSCALL;
}

int hooks_each(const struct survey *s, bool (*wanted)(uint64_t number),
	       int (*visit)(void *ctx, uint64_t addr), void *ctx)
{
	for (uint64_t at = 0; at + 2 <= s->len; at++) {
		uint64_t addr = s->start + at;
		int64_t number;
		int rc;

		if (s->bytes[at] != 0x0f || !is_call(s, addr))
			continue;
		number = hooks_number(s, addr);
		if (number >= 0 && !wanted((uint64_t)number))
			continue;
		rc = visit(ctx, addr);
		if (rc != 0)
			return rc;
	}
	return 0;
}
