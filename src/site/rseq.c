/* site/rseq.c - finds restartable sequences by signature and descriptor.
 *
 * The kernel accepts an abort address only if four bytes of a signature stand
 * before it, and all programs for x86-64 use the same ones: so a file without
 * them in its code has no sequence, and of others all data is searched for
 * descriptors of these addresses.
 *
 *	descriptor	version 0, flags | start | length | abort
 *
 * Barred are the sequence; the instruction before it, which tells the kernel
 * that it begins: were that moved, then a preemption between it and the
 * sequence would make the kernel forget the sequence; and the signature.
 *
 * Where no descriptor has an abort address, the program makes it when it runs,
 * unless the signature is but a number that an instruction works with. Then the
 *function of that address is barred, and the functions that the code there
 *jumps to, one of which the sequence is in. */
#include "site/rseq.h"

#include "image/image.h"
#include "image/relocated.h"
#include "image/symbols.h"
#include "site/barred.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t signature[4] = {0x53, 0x30, 0x05, 0x53};

enum { ABORTS_MAX = 1 << 16, FOLLOWED = 16 };

struct found {
	struct survey *s; /* borrowed */
	uint64_t *abort;  /* owned: addresses, ascending */
	bool *is_known;	  /* owned: a descriptor has it */
	size_t n;
	struct hark_err *err; /* borrowed */
};

/* -- Signatures -- */

/* The abort addresses go to out, if that is not NULL; how many there are. */
static size_t find_signatures(const struct survey *s, uint64_t *out)
{
	const uint8_t *at = s->bytes, *end = s->bytes + s->len;
	size_t n = 0;

	while (n < ABORTS_MAX && (at = memmem(at, (size_t)(end - at), signature,
					      sizeof signature)) != NULL) {
		at += sizeof signature;
		if (out != NULL)
			out[n] = s->start + (uint64_t)(at - s->bytes);
		n++;
	}
	return n;
}

static int find_aborts(struct found *f)
{
	f->n = find_signatures(f->s, NULL);
	if (f->n == 0)
		return 0;
	f->abort = calloc(f->n, sizeof *f->abort);
	f->is_known = calloc(f->n, sizeof *f->is_known);
	if (f->abort == NULL || f->is_known == NULL)
		return err_set(f->err, HARK_ENOMEM, 0, "out of memory");
	find_signatures(f->s, f->abort);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The number of an abort address; f->n: it is none. */
static size_t number_of(const struct found *f, uint64_t addr)
{
	const uint64_t *at =
	    bsearch(&addr, f->abort, f->n, sizeof *f->abort, by_value);

	return at != NULL ? (size_t)(at - f->abort) : f->n;
}

/* -- Descriptors -- */

static int bar_sequence(const struct found *f, uint64_t start, uint64_t len,
			uint64_t abort)
{
	struct survey *s = f->s;

	s->facts[abort - s->start] |= SURVEY_TARGET;
	if (barred_add(s, abort - sizeof signature, abort, BARRED_SEQUENCE,
		       f->err) < 0)
		return -1;
	/* The last byte before the start is that of the instruction before. */
	return barred_add(s, start - 1, start + len, BARRED_SEQUENCE, f->err);
}

/* Addresses may be anywhere in memory, but compilers align descriptors. */
static int search_data(void *ctx, uint64_t addr, const uint8_t *bytes,
		       uint64_t len)
{
	enum { LONGEST = 1 << 20, ALIGNED = 8 };
	struct {
		uint32_t version, flags;
		uint64_t start, len, abort;
	} d;
	struct found *f = ctx;
	uint64_t at = (0 - addr) % ALIGNED;

	for (; len >= sizeof d && at <= len - sizeof d; at += ALIGNED) {
		size_t k;

		memcpy(&d, bytes + at, sizeof d);
		if (d.version != 0 || d.len == 0 || d.len > LONGEST ||
		    d.start - f->s->start >= f->s->len ||
		    d.abort - d.start < d.len)
			continue;
		k = number_of(f, d.abort);
		if (k == f->n)
			continue;
		f->is_known[k] = true;
		if (bar_sequence(f, d.start, d.len, d.abort) < 0)
			return -1;
	}
	return 0;
}

/* -- Sequences without a descriptor -- */

/* Does an instruction at addr end where an abort would begin, with the
 * signature as its immediate operand? */
static bool has_operand(const struct survey *s, uint64_t addr, uint64_t abort)
{
	struct x86_insn i;

	return x86_decode(survey_bytes(s, addr), X86_MAX_LEN, &i) == X86_OK &&
	       addr + i.len == abort && i.imm_off != 0 &&
	       (size_t)(i.len - i.imm_off) == sizeof signature;
}

/* ud1 or nop, with the signature as the distance to its operand. */
static bool is_usual(const struct survey *s, uint64_t abort)
{
	enum { BACK = 3 + sizeof signature };
	const uint8_t *b = survey_bytes(s, abort) - BACK;

	return abort - s->start >= BACK && b[0] == 0x0f &&
	       (b[1] == 0xb9 || b[1] == 0x1f);
}

/* A number in code that registers a thread, or compares signatures: what is
 * behind it is no abort code. Where the code was followed, that tells. */
static bool is_constant(const struct survey *s, uint64_t abort)
{
	bool is_looked_at = survey_at(s, abort - 1) & SURVEY_INSIDE;

	if (!is_looked_at && is_usual(s, abort))
		return false;
	for (uint64_t k = sizeof signature + 1; k <= X86_MAX_LEN; k++) {
		uint64_t at = abort - k;

		if (at - s->start < s->len &&
		    (!is_looked_at ||
		     (survey_at(s, at) & (SURVEY_START | SURVEY_SWEPT)) ==
			 SURVEY_START) &&
		    has_operand(s, at, abort))
			return true;
	}
	return false;
}

/* 1: there is a function there. */
static int bar_function(const struct found *f, struct image_file *file,
			uint64_t addr)
{
	struct symbol y;

	if (symbols_function(file, addr, &y, NULL) < 0)
		return 0;
	return barred_add(f->s, y.addr, y.addr + y.size, BARRED_SEQUENCES,
			  f->err) < 0
		   ? -1
		   : 1;
}

/* Where nothing is known, all code is barred. */
static int bar_around(const struct found *f, struct image_file *file,
		      uint64_t abort)
{
	const struct survey *s = f->s;
	uint64_t addr = abort;
	struct x86_insn i;
	int rc, any = bar_function(f, file, abort);

	for (unsigned n = 0; any >= 0 && n < FOLLOWED; n++) {
		if (addr - s->start >= s->len ||
		    x86_decode(survey_bytes(s, addr), X86_MAX_LEN, &i) !=
			X86_OK)
			break;
		if (i.row->flow == X86_JMP || i.row->flow == X86_JCC) {
			rc = bar_function(
			    f, file,
			    x86_target(survey_bytes(s, addr), &i, addr));
			any = rc < 0 ? rc : any | rc;
		}
		if (!x86_falls_through(&i))
			break;
		addr += i.len;
	}
	if (any != 0)
		return any < 0 ? -1 : 0;
	return barred_add(f->s, s->start, s->start + s->len, BARRED_SEQUENCES,
			  f->err);
}

int rseq_bar(struct survey *s, struct image_file *file, struct hark_err *err)
{
	struct found f = {.s = s, .err = err};
	int rc = find_aborts(&f);

	if (rc == 0 && f.n > 0)
		rc = relocated_each(file, search_data, &f, err);
	for (size_t k = 0; rc == 0 && k < f.n; k++)
		if (!f.is_known[k] && !is_constant(s, f.abort[k]))
			rc = bar_around(&f, file, f.abort[k]);
	free(f.abort);
	free(f.is_known);
	return rc;
}
