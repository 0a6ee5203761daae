/* site/hooks.c - finds system calls, and what they ask for. */
#include "site/hooks.h"

#include <stdlib.h>

enum {
	FAR_ENOUGH = 16, /* instructions looked at, backwards */
	BLOCK = 64,	 /* bytes that are looked at together */
};

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

/* Does a system call begin in these BLOCK bytes? Without a branch: compilers
 * make a few vector instructions of it. */
static bool has_call(const uint8_t *b)
{
	uint8_t found = 0;

	for (unsigned i = 0; i < BLOCK; i++)
		found |= (uint8_t)(b[i] == 0x0f) & (uint8_t)(b[i + 1] == 0x05);
	return found != 0;
}

bool hooks_likely(const struct survey *s, bool (*wanted)(uint64_t number),
		  uint64_t *at)
{
	uint64_t k = *at - s->start;

	while (k + 2 <= s->len) {
		if (k + BLOCK < s->len && !has_call(s->bytes + k)) {
			k += BLOCK;
			continue;
		}
		for (uint64_t end = k + BLOCK; k < end && k + 2 <= s->len; k++)
			if (s->bytes[k] == 0x0f && s->bytes[k + 1] == 0x05 &&
			    likely_at(s, k, wanted)) {
				*at = s->start + k;
				return true;
			}
	}
	return false;
}

/* All places that hooks_likely() finds, ascending; owned by the caller. */
static int all_likely(const struct survey *s, bool (*wanted)(uint64_t number),
		      uint64_t **out, size_t *n, struct hark_err *err)
{
	uint64_t at = s->start, *found = NULL, *more;
	size_t room = 0;

	*n = 0;
	for (; hooks_likely(s, wanted, &at); at++) {
		if (*n == room) {
			room = room ? room * 2 : 64;
			more = reallocarray(found, room, sizeof *more);
			if (more == NULL) {
				free(found);
				return err_set(err, HARK_ENOMEM, 0,
					       "out of memory");
			}
			found = more;
		}
		found[(*n)++] = at;
	}
	*out = found;
	return 0;
}

int hooks_possible(struct survey *s, struct image_file *f,
		   bool (*wanted)(uint64_t number), struct hark_err *err)
{
	uint64_t *at = NULL;
	size_t n;
	int rc;

	if (all_likely(s, wanted, &at, &n, err) < 0)
		return -1;
	rc = n == 0 ? 0 : survey_functions_with(s, f, at, n, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = (survey_at(s, at[i]) & SURVEY_START) != 0;
	if (rc > 0)
		survey_forget(s);
	free(at);
	return rc;
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
