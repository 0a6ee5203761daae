/* site/check.c - is a patch right?
 *
 * Written apart from form.c, and from what it believes: the instructions are
 * decoded anew, the jumps are followed as the processor would, and each
 * instruction of the window is asked what becomes of whoever comes there. */
#include "site/form.h"

#include "site/barred.h"

#include <string.h>

enum { NEW_LEN = 32 };

struct look {
	const struct survey *s; /* borrowed */
	const struct patch *p;	/* borrowed */
	uint64_t bias;
	uint8_t now[NEW_LEN]; /* the bytes from .at on, changed */
	unsigned len;
	struct hark_err *err; /* borrowed */
};

static int wrong(const struct look *l, const char *what)
{
	return err_set(l->err, HARK_EBUG, 0, "patch %s at 0x%lx: %s",
		       form_name(l->p->form), (unsigned long)l->p->at, what);
}

/* #UD in 64-bit mode, or int3, whatever follows. */
static bool traps(uint8_t b)
{
	switch (b) {
	case 0xcc:
	case 0x06:
	case 0x07:
	case 0x0e:
	case 0x16:
	case 0x17:
	case 0x1e:
	case 0x1f:
	case 0x27:
	case 0x2f:
	case 0x37:
	case 0x3f:
	case 0x60:
	case 0x61:
	case 0xce:
		return true;
	default:
		return false;
	}
}

/* Where the jump leads that stands in bytes, executed at pc. */
static bool lands(const uint8_t *bytes, unsigned len, uint64_t pc,
		  uint64_t target)
{
	struct x86_insn i;

	return x86_decode(bytes, len, &i) == X86_OK && i.row->flow == X86_JMP &&
	       x86_target(bytes, &i, pc) == target;
}

static int check_jump(const struct look *l)
{
	const struct patch *p = l->p;
	uint64_t at = p->at + l->bias;

	if (p->form == FORM_T)
		return l->now[0] == 0xcc && p->len == 1
			   ? 0
			   : wrong(l, "is no trap");
	if (p->entry == 0 || p->code == 0)
		return wrong(l, "leads nowhere");
	if (p->form != FORM_J2)
		return lands(l->now, l->len, at, p->entry)
			   ? 0
			   : wrong(l, "does not lead to its code");
	if (!lands(l->now, l->len, at, p->hop + l->bias) ||
	    !lands(p->hop_bytes, FORM_LEN, p->hop + l->bias, p->entry))
		return wrong(l, "does not lead to its code by the padding");
	for (unsigned k = 0; k < FORM_LEN; k++)
		if (!(survey_at(l->s, p->hop + k) & SURVEY_PAD) ||
		    survey_at(l->s, p->hop + k) & SURVEY_TARGET)
			return wrong(l, "hops where code may be");
	return 0;
}

/* The instructions that are moved are those that stand there. */
static int check_window(const struct look *l)
{
	const struct patch *p = l->p;
	struct x86_insn i;
	unsigned off = 0;

	for (unsigned k = 0; k < p->n; k++) {
		uint64_t addr = p->at + off;

		if (p->off[k] != off || addr - l->s->start >= l->s->len ||
		    x86_decode(survey_bytes(l->s, addr), X86_MAX_LEN, &i) !=
			X86_OK)
			return wrong(l, "moves what is no instruction");
		if (k + 1u < p->n &&
		    (!x86_falls_through(&i) || i.row->flow == X86_CALL ||
		     i.row->flow == X86_CALL_IND || i.row->flow == X86_SYSCALL))
			return wrong(l, "moves what is come back into");
		off += i.len;
	}
	if (off != p->window || p->probed == 0 || p->probed >> p->n)
		return wrong(l, "has a window that does not fit");
	return 0;
}

/* Is off the start of a moved instruction? Its number, or -1. */
static int number_of(const struct patch *p, unsigned off)
{
	for (unsigned k = 0; k < p->n; k++)
		if (p->off[k] == off)
			return (int)k;
	return -1;
}

/* Every byte: it is as it was, or nobody comes there, or whoever comes is sent
 * to the copy. */
static int check_bytes(const struct look *l)
{
	const struct patch *p = l->p;

	for (unsigned k = 0; k < l->len; k++) {
		uint8_t facts = survey_at(l->s, p->at + k);
		bool same = l->now[k] == *survey_bytes(l->s, p->at + k);
		int insn = number_of(p, k);

		if (k >= p->len && !same)
			return wrong(l, "changes what it relies on");
		/* An unchanged byte hides nothing, unless it starts what has
		 * to be caught. */
		if (k == 0 || k >= p->len ||
		    (same && k >= FORM_LEN && insn <= 0))
			continue;
		if (facts & (SURVEY_TARGET | SURVEY_ENTRY | SURVEY_DATA))
			return wrong(l, "changes what is jumped to");
		if (k >= p->window && !(facts & SURVEY_PAD))
			return wrong(l, "changes what it does not move");
		if (k >= p->window)
			continue;
		if ((insn > 0) != !!(facts & SURVEY_START))
			return wrong(l, "changes an instruction unseen");
		if (insn > 0 && (!traps(l->now[k]) || !(p->traps >> insn & 1)))
			return wrong(l, "has an open door");
	}
	return 0;
}

int patch_check(const struct survey *s, uint64_t bias, const struct patch *p,
		struct hark_err *err)
{
	struct look l = {.s = s, .p = p, .bias = bias, .err = err};
	uint64_t left = s->start + s->len - p->at;

	if (p->at - s->start >= s->len || p->len > FORM_BYTES || p->n == 0 ||
	    p->n > FORM_INSNS || p->len > left)
		return wrong(&l, "is outside of the code");
	l.len = left < NEW_LEN ? (unsigned)left : NEW_LEN;
	memcpy(l.now, survey_bytes(s, p->at), l.len);
	memcpy(l.now, p->bytes, p->len);
	if (memcmp(p->old, survey_bytes(s, p->at), p->len) != 0 ||
	    (p->hop != 0 &&
	     memcmp(p->hop_old, survey_bytes(s, p->hop), FORM_LEN) != 0))
		return wrong(&l, "forgets what was there");
	if (barred_why(s, p->at, p->window > p->len ? p->window : p->len) ||
	    (p->hop != 0 && barred_why(s, p->hop, FORM_LEN)))
		return wrong(&l, "changes or moves what is barred");
	/* A jump is as long as its bytes: those that it relies on are there. */
	if (check_jump(&l) < 0 || check_window(&l) < 0)
		return -1;
	return check_bytes(&l);
}
