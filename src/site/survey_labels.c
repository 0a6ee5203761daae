/* site/survey_labels.c - labels without a type: code, or data among code?
 *
 * Hand-written assembler puts tables and strings between its functions, under
 * labels that look like those of its code. To follow data as if it were code
 * would change it, so a label is code only if that is proved:
 *
 *	a direct branch or call of known code leads there, or known code falls
 *	through to it (not from a call, which may not return)
 *	a call-frame rule covers it: assemblers write these for code
 *	the program begins there
 *
 * Code that was proved to be some may prove others. What is left at the end is
 * data, as far as can be told: nothing there is changed or moved. Code that
 * only pointers lead to is among it. */
#include "site/survey_priv.h"

#include "image/frames.h"
#include "image/image.h"
#include "image/symbols.h"
#include "site/barred.h"

#include <stdlib.h>

struct label {
	uint64_t start, end;
	bool is_code;
};

struct labels {
	struct survey *s;     /* borrowed */
	struct image_file *f; /* borrowed */
	struct label *at;     /* owned, ascending */
	size_t n, room;
	struct hark_err *err; /* borrowed */
};

bool survey_is_strict(const struct symbol *y)
{
	return !y->sized &&
	       (y->kind == SYMBOL_FUNCTION || y->kind == SYMBOL_LABEL);
}

static int add_label(void *ctx, const struct symbol *y)
{
	struct labels *l = ctx;
	struct label *more;

	if (y->kind != SYMBOL_LABEL)
		return 0;
	if (l->n == l->room) {
		l->room = l->room ? l->room * 2 : 64;
		more = reallocarray(l->at, l->room, sizeof *more);
		if (more == NULL)
			return err_set(l->err, HARK_ENOMEM, 0, "out of memory");
		l->at = more;
	}
	l->at[l->n++] =
	    (struct label){.start = y->addr, .end = y->addr + y->size};
	return 0;
}

/* -- Proofs -- */

static bool is_followed(const struct survey *s, uint64_t addr)
{
	return (survey_at(s, addr) & (SURVEY_START | SURVEY_SWEPT)) ==
	       SURVEY_START;
}

static bool is_fallen_into(const struct survey *s, uint64_t addr)
{
	struct x86_insn i;
	uint64_t before = survey_before(s, addr, &i);

	return before != 0 && is_followed(s, before) &&
	       (i.row->flow == X86_NEXT || i.row->flow == X86_JCC ||
		i.row->flow == X86_LOOP) &&
	       !(survey_at(s, addr) & SURVEY_DATA);
}

static bool is_reached(const struct survey *s, uint64_t addr)
{
	return (addr - s->start < s->len &&
		s->shapes[addr - s->start] & SURVEY_LED) ||
	       is_followed(s, addr) || is_fallen_into(s, addr);
}

static bool is_ruled(struct image_file *f, uint64_t addr)
{
	const struct frame_table *t;

	return addr == image_file_entry(f) ||
	       (frames_of(f, &t, NULL) == 0 &&
		frame_find(t, addr)->kind != FRAME_NONE);
}

/* -- Looking -- */

static int look_at_label(struct labels *l, struct label *it)
{
	struct survey *s = l->s;

	it->is_code = true;
	if (it->start - s->start >= s->len)
		return 0;
	s->facts[it->start - s->start] &= (uint8_t)~SURVEY_DATA;
	s->is_strict = true;
	return survey_function(s, it->start, it->end, l->err);
}

static int look_at_reached(struct labels *l, bool *more)
{
	*more = false;
	for (size_t i = 0; i < l->n; i++)
		if (!l->at[i].is_code && is_reached(l->s, l->at[i].start)) {
			*more = true;
			if (look_at_label(l, &l->at[i]) < 0)
				return -1;
		}
	return 0;
}

static int look_at_all_reached(struct labels *l)
{
	bool more = true;

	while (more)
		if (look_at_reached(l, &more) < 0)
			return -1;
	return 0;
}

static int look_at_ruled(struct labels *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!l->at[i].is_code && is_ruled(l->f, l->at[i].start) &&
		    look_at_label(l, &l->at[i]) < 0)
			return -1;
	return 0;
}

static int bar_rest(const struct labels *l)
{
	struct survey *s = l->s;

	for (size_t i = 0; i < l->n; i++) {
		const struct label *it = &l->at[i];

		if (it->is_code)
			continue;
		for (uint64_t a = it->start; a < it->end; a++)
			if (a - s->start < s->len)
				s->facts[a - s->start] |= SURVEY_DATA;
		if (barred_add(s, it->start, it->end, BARRED_LABEL, l->err) < 0)
			return -1;
	}
	return 0;
}

int survey_labels(struct survey *s, struct image_file *f, survey_each *each,
		  struct hark_err *err)
{
	struct labels l = {.s = s, .f = f, .err = err};
	int rc = each(f, add_label, &l, err);

	if (rc == 0)
		rc = look_at_all_reached(&l);
	if (rc == 0)
		rc = look_at_ruled(&l);
	if (rc == 0)
		rc = look_at_all_reached(&l);
	if (rc == 0)
		rc = bar_rest(&l);
	free(l.at);
	return rc;
}
