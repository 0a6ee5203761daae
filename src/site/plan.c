/* site/plan.c - all patches of one module, from low to high addresses.
 *
 * A window may reach forward over the next address (which joins it), and back
 * to the end of the patch before. A squeezed jump (JP) relies on bytes behind
 * its window: if one of those is asked for later, the jump becomes a trap. */
#include "site/plan.h"

#include <stdlib.h>

struct plan {
	struct former former;
	uint64_t *addr; /* owned */
	size_t n_addr, room_addr;
	struct patch *patch; /* owned, ascending */
	size_t n, room;
};

int plan_new(const struct former *f, struct plan **out, struct hark_err *err)
{
	struct plan *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	p->former = *f;
	*out = p;
	return 0;
}

void plan_free(struct plan *p)
{
	if (p == NULL)
		return;
	free(p->addr);
	free(p->patch);
	free(p);
}

int plan_add(struct plan *p, uint64_t addr, struct hark_err *err)
{
	uint64_t *more;

	if (p->n_addr == p->room_addr) {
		size_t room = p->room_addr ? p->room_addr * 2 : 64;

		more = realloc(p->addr, room * sizeof *more);
		if (more == NULL)
			return err_set(err, HARK_ENOMEM, 0, "out of memory");
		p->addr = more;
		p->room_addr = room;
	}
	p->addr[p->n_addr++] = addr;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* -- Making -- */

static int insn_at(const struct patch *p, uint64_t addr)
{
	for (unsigned k = 0; k < p->n; k++)
		if (p->at + p->off[k] == addr)
			return (int)k;
	return -1;
}

static int push(struct plan *p, const struct patch *what, struct hark_err *err)
{
	struct patch *more;

	if (p->patch == NULL || p->n == p->room) {
		size_t room = p->room ? p->room * 2 : 64;

		more = realloc(p->patch, room * sizeof *more);
		if (more == NULL)
			return err_set(err, HARK_ENOMEM, 0, "out of memory");
		p->patch = more;
		p->room = room;
	}
	p->patch[p->n++] = *what;
	return 0;
}

/* The last patch gives way: each of its instructions traps. */
static int demote_last(struct plan *p, struct hark_err *err)
{
	struct patch old = p->patch[--p->n], trap;

	form_release(&p->former, &old);
	for (unsigned k = 0; k < old.n; k++) {
		if (!(old.probed >> k & 1))
			continue;
		if (form_trap(&p->former, old.at + old.off[k], &trap, err) <
			0 ||
		    push(p, &trap, err) < 0)
			return -1;
	}
	return 0;
}

static int make_one(struct plan *p, uint64_t addr, struct hark_err *err)
{
	struct patch *last = p->n > 0 ? &p->patch[p->n - 1] : NULL, made;
	uint64_t lowest = last != NULL ? last->at + last->window : 0;
	struct hark_err why;
	int insn;

	if (last != NULL && addr < lowest) {
		insn = insn_at(last, addr);
		if (insn < 0) /* overlapping code: not asked for by name */
			return 0;
		last->probed |= (uint8_t)(1 << insn);
		return 0;
	}
	if (last != NULL && addr < last->at + last->len + last->relies &&
	    demote_last(p, err) < 0)
		return -1;
	/* What cannot be probed is left out: plan_find says so. */
	if (form_choose(&p->former, addr, lowest, &made, &why) < 0)
		return 0;
	if (patch_check(p->former.survey, p->former.bias, &made, err) < 0)
		return -1;
	return push(p, &made, err);
}

/* Several probes in one window need more code than was taken for one: then
 * what was taken only leads there. */
static int make_larger(struct plan *p, struct patch *it, struct hark_err *err)
{
	unsigned n = (unsigned)__builtin_popcount(it->probed);
	struct room_want w = {.next = it->at + p->former.bias,
			      .len = n * FORM_TRAMPOLINE};
	uint64_t code;

	if (n < 2 || it->form == FORM_T)
		return 0;
	if (!room_take(p->former.room, &w, &code, err))
		return err_set(err, HARK_ENOMEM, 0,
			       "no room for probes near 0x%lx",
			       (unsigned long)w.next);
	if (it->code != it->entry)
		room_give(p->former.room, it->code);
	it->code = code;
	return 0;
}

/* Padding that is asked for is no padding: another probe must not use it. */
static void keep_asked(const struct plan *p)
{
	struct survey *s = p->former.survey;
	struct x86_insn insn;

	for (size_t i = 0; i < p->n_addr; i++) {
		uint64_t at = p->addr[i];

		if (!(survey_at(s, at) & SURVEY_PAD) ||
		    !survey_insn(s, at, &insn))
			continue;
		for (unsigned k = 0; k < insn.len; k++)
			s->facts[at + k - s->start] &= (uint8_t)~SURVEY_PAD;
	}
}

int plan_make(struct plan *p, struct hark_err *err)
{
	keep_asked(p);
	if (p->n_addr > 0)
		qsort(p->addr, p->n_addr, sizeof *p->addr, by_value);
	for (size_t i = 0; i < p->n_addr; i++)
		if ((i == 0 || p->addr[i] != p->addr[i - 1]) &&
		    make_one(p, p->addr[i], err) < 0)
			return -1;
	for (size_t i = 0; i < p->n; i++)
		if (make_larger(p, &p->patch[i], err) < 0)
			return -1;
	return 0;
}

/* -- Asking -- */

size_t plan_count(const struct plan *p)
{
	return p->n;
}

const struct patch *plan_get(const struct plan *p, size_t i)
{
	return &p->patch[i];
}

const struct patch *plan_find(const struct plan *p, uint64_t addr,
			      unsigned *insn)
{
	size_t lo = 0, hi = p->n;
	int k;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->patch[mid].at + p->patch[mid].window > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo == p->n)
		return NULL;
	k = insn_at(&p->patch[lo], addr);
	if (k < 0 || !(p->patch[lo].probed >> k & 1))
		return NULL;
	*insn = (unsigned)k;
	return &p->patch[lo];
}
