/* site/hooks.c - finds system calls, and what they ask for. */
#include "site/hooks.h"

#include "image/image.h"
#include "site/barred.h"

#include <stdlib.h>

enum {
	FAR_ENOUGH = 16,  /* instructions looked at, backwards */
	SHORTLY = 48,	  /* bytes, the same for what is only likely */
	BLOCK = 64,	  /* bytes that are looked at together */
	PART = 128 << 10, /* that are read together: they stay in the cache */
	SYSCALL_LEN = 2
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
	enum { LEN = 5 };
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

/* The next system call at or behind this offset, as far as bytes tell; s->len
 * if there is none. */
static uint64_t next_call(const struct survey *s, uint64_t k)
{
	while (k + 2 <= s->len) {
		if (k + BLOCK < s->len && !has_call(s->bytes + k)) {
			k += BLOCK;
			continue;
		}
		for (uint64_t end = k + BLOCK; k < end && k + 2 <= s->len; k++)
			if (s->bytes[k] == 0x0f && s->bytes[k + 1] == 0x05)
				return k;
	}
	return s->len;
}

bool hooks_likely(const struct survey *s, bool (*wanted)(uint64_t number),
		  uint64_t *at)
{
	uint64_t k = *at - s->start;

	for (; (k = next_call(s, k)) < s->len; k++)
		if (likely_at(s, k, wanted)) {
			*at = s->start + k;
			return true;
		}
	return false;
}

uint64_t hooks_unproved(const struct survey *s, bool (*wanted)(uint64_t number))
{
	for (uint64_t at = s->start; hooks_likely(s, wanted, &at); at++)
		if (!(survey_at(s, at) & SURVEY_START) &&
		    !survey_is_inside(s, at) &&
		    barred_why(s, at, SYSCALL_LEN) == NULL)
			return at;
	return 0;
}

/* -- Of a file -- */

/* One piece of code. Parts have in common what is looked at together. */
static int sought_in(struct image_file *f, uint64_t addr, uint64_t end,
		     uint8_t *bytes, bool (*wanted)(uint64_t number),
		     struct hark_err *err)
{
	const uint64_t common = SHORTLY + 2;

	for (;;) {
		size_t want = end - addr < PART ? (size_t)(end - addr) : PART;
		struct survey part = {.start = addr, .bytes = bytes};
		uint64_t at = addr;
		size_t got;

		if (image_file_read(f, addr, bytes, want, &got, err) < 0)
			return -1;
		part.len = got;
		if (hooks_likely(&part, wanted, &at))
			return 1;
		if (got < PART) /* the end of it, or of what is loaded */
			return 0;
		addr += got - common;
	}
}

int hooks_sought(struct image_file *f, bool (*wanted)(uint64_t number),
		 struct hark_err *err)
{
	uint64_t low, high = 0;
	uint8_t *bytes = malloc(PART + BLOCK);
	int rc = 0;

	if (bytes == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	while (rc == 0 && image_file_next_code(f, high, &low, &high))
		rc = sought_in(f, low, high, bytes, wanted, err);
	free(bytes);
	return rc;
}

/* All places with the bytes of a system call, and also, ascending; owned by the
 * caller. */
static int all_places(const struct survey *s, uint64_t also, uint64_t **out,
		      size_t *n, struct hark_err *err)
{
	uint64_t k = 0, *found = NULL, *more;
	size_t room = 0;

	*n = 0;
	also = also != 0 ? also - s->start : s->len;
	while (k < s->len) {
		uint64_t next = next_call(s, k);

		if (k <= also && also < next)
			next = also;
		if (next >= s->len)
			break;
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
		found[(*n)++] = s->start + next;
		k = next + 1;
	}
	*out = found;
	return 0;
}

int hooks_survey(struct survey *s, struct image_file *f,
		 bool (*wanted)(uint64_t number), uint64_t also,
		 struct hark_err *err)
{
	uint64_t *at = NULL;
	size_t n;
	int rc;

	if (all_places(s, also, &at, &n, err) < 0)
		return -1;
	rc = n == 0 ? 0 : survey_functions_near(s, f, at, n, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = at[i] != also && survey_at(s, at[i]) & SURVEY_START &&
		     likely_at(s, at[i] - s->start, wanted);
	free(at);
	return rc;
}

static bool is_call(const struct survey *s, uint64_t addr)
{
	struct x86_insn i;

	return survey_insn(s, addr, &i) && i.row->flow == X86_SYSCALL;
}

int hooks_each(const struct survey *s, bool (*wanted)(uint64_t number),
	       int (*visit)(void *ctx, uint64_t addr), void *ctx)
{
	for (uint64_t k = 0; (k = next_call(s, k)) < s->len; k++) {
		uint64_t addr = s->start + k;
		int64_t number;
		int rc;

		if (!is_call(s, addr))
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
