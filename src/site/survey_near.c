/* site/survey_near.c - a survey of a few functions that tells as much of them
 * as one of all.
 *
 * Most of what is known of a function comes from its own code. What others add
 * is where they jump to in it, and what they read there. To find that out one
 * need not follow them: a branch or an operand that leads into the function is
 * four bytes behind one of a few others, wherever it may stand. So all code is
 * looked at once, byte by byte, and each function that has such bytes is
 * followed in full: either they are what they look like, or they are not, and
 * then it tells nothing. A branch of one byte comes from nearby.
 *
 * A place may be in none of the known functions. Then all code between the two
 * functions around it, a gap, is near, and what leads into a gap may come from
 * another gap.
 *
 * N1  What is near is a function as a whole, and all that overlap it. So
 *     following it sees what a survey of all functions would have seen.
 * N2  Calls of entries are not followed: an entry is as good as a target.
 * N3  Jump tables lead within their function.
 * N4  If a label without a type is near, all functions are looked at. */
#include "site/survey_priv.h"

#include "image/image.h"
#include "image/symbols.h"

#include <stdlib.h>
#include <string.h>

struct piece { /* a function, or a gap */
	uint64_t start, end;
	bool is_near, is_asked, is_gap;
	bool is_label, is_strict;
};

struct near {
	struct survey *s; /* borrowed */
	struct piece *at; /* owned, ascending by .start */
	size_t n, room;
	const uint64_t *addr; /* borrowed, ascending */
	size_t n_addr;
	uint8_t *map; /* owned: a bit for each GRAIN bytes of near functions */
	struct hark_err *err; /* borrowed */
};

enum { GRAIN = 64 };

/* -- Which functions -- */

/* Is one of the addresses in it, or not far? */
static bool is_near(const struct near *t, uint64_t start, uint64_t end)
{
	uint64_t from = start > SURVEY_NEAR ? start - SURVEY_NEAR : 0;
	size_t low = 0, high = t->n_addr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->addr[middle] < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->n_addr && t->addr[low] < end + SURVEY_NEAR;
}

static int push_piece(struct near *t, const struct piece *p)
{
	if (t->n == t->room) {
		size_t room = t->room ? t->room * 2 : 1024;
		struct piece *more = reallocarray(t->at, room, sizeof *more);

		if (more == NULL)
			return err_set(t->err, HARK_ENOMEM, 0, "out of memory");
		t->at = more;
		t->room = room;
	}
	t->at[t->n++] = *p;
	return 0;
}

static int add_piece(void *ctx, const struct symbol *y)
{
	struct near *t = ctx;
	struct piece p = {.start = y->addr,
			  .end = y->addr + y->size,
			  .is_label = y->kind == SYMBOL_LABEL,
			  .is_strict = survey_is_strict(y)};

	if (p.end <= p.start || p.start < t->s->start ||
	    p.end - t->s->start > t->s->len)
		return 0;
	p.is_near = is_near(t, p.start, p.end);
	return push_piece(t, &p);
}

/* -- Gaps -- */

/* Is one of the addresses in it? */
static bool has_address(const struct near *t, uint64_t start, uint64_t end)
{
	size_t low = 0, high = t->n_addr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->addr[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->n_addr && t->addr[low] < end;
}

static int add_gap(struct near *t, uint64_t start, uint64_t end)
{
	const struct piece p = {.start = start,
				.end = end,
				.is_gap = true,
				.is_near = has_address(t, start, end)};

	return start < end ? push_piece(t, &p) : 0;
}

static int by_start(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Between functions, which ascend. */
static int add_gaps(struct near *t)
{
	uint64_t until = t->s->start;
	size_t n = t->n;

	for (size_t i = 0; i < n; i++) {
		if (add_gap(t, until, t->at[i].start) < 0)
			return -1;
		if (t->at[i].end > until)
			until = t->at[i].end;
	}
	if (add_gap(t, until, t->s->start + t->s->len) < 0)
		return -1;
	if (t->n > 0)
		qsort(t->at, t->n, sizeof *t->at, by_start);
	return 0;
}

/* N1, once in each direction; true if there are more now. */
static bool spread(struct near *t)
{
	uint64_t until = 0, from = UINT64_MAX;
	bool more = false;

	for (size_t i = 0; i < t->n; i++) {
		struct piece *p = &t->at[i];

		if (!p->is_near && p->start < until)
			more = p->is_near = true;
		if (p->is_near && !p->is_gap && p->end > until)
			until = p->end;
	}
	for (size_t i = t->n; i-- > 0;) {
		struct piece *p = &t->at[i];

		if (!p->is_near && p->end > from)
			more = p->is_near = true;
		if (p->is_near)
			from = p->start;
	}
	return more;
}

/* Whether a label is code depends on all code that may lead there. */
static bool has_near_label(const struct near *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->at[i].is_label && t->at[i].is_near)
			return true;
	return false;
}

/* -- Who leads there -- */

static void draw(struct near *t, const struct piece *p)
{
	uint64_t k = (p->start - t->s->start) / GRAIN;
	uint64_t end = (p->end - 1 - t->s->start) / GRAIN;

	for (; k <= end; k++)
		t->map[k / 8] |= (uint8_t)(1 << k % 8);
}

static int draw_map(struct near *t)
{
	t->map = calloc(t->s->len / GRAIN / 8 + 1, 1);
	if (t->map == NULL)
		return err_set(t->err, HARK_ENOMEM, 0, "out of memory");
	for (size_t i = 0; i < t->n; i++)
		if (t->at[i].is_near)
			draw(t, &t->at[i]);
	return 0;
}

static bool is_on_map(const struct near *t, uint64_t at)
{
	return at < t->s->len && t->map[at / GRAIN / 8] >> at / GRAIN % 8 & 1;
}

/* Of near functions, and of what follows them: padding ends there. */
static void mark_entries(struct near *t)
{
	bool follows = false;

	for (size_t i = 0; i < t->n; i++) {
		uint64_t at = t->at[i].start - t->s->start;

		if (t->at[i].is_gap) {
			follows |= t->at[i].is_near;
			continue;
		}
		if (is_on_map(t, at) || follows)
			t->s->facts[at] |= SURVEY_ENTRY;
		follows = t->at[i].is_near;
	}
}

/* Is this in a near function, and not its entry (N2)? */
static bool is_inside(const struct near *t, uint64_t at)
{
	return is_on_map(t, at) && !(t->s->facts[at] & SURVEY_ENTRY);
}

/* What may begin a branch, or stand before an operand? Of two bytes the rarer
 * one is looked for. */
enum {
	LEAD_NONE,
	LEAD_FAR,
	LEAD_FAR2, /* if the next byte is right, too */
	LEAD_SHORT,
	LEAD_OPERAND
};

/* clang-format off */
#define RIP(n) [(n) + 5] = LEAD_OPERAND /* modrm: rip and 32 bits */
static const uint8_t lead_of[256] = {
    RIP(0), RIP(8), RIP(16), RIP(24), RIP(32), RIP(40), RIP(48), RIP(56),
    [0x0f] = LEAD_FAR2,           /* 80 to 8f: jcc */
    [0x70 ... 0x7f] = LEAD_SHORT, /* jcc */
    [0xc7] = LEAD_FAR2,           /* f8: xbegin */
    [0xe0 ... 0xe3] = LEAD_SHORT, /* loop, jrcxz */
    [0xe8 ... 0xe9] = LEAD_FAR,   /* call, jmp */
    [0xeb] = LEAD_SHORT,          /* jmp */
};
#undef RIP
/* clang-format on */

static uint64_t far_target(const uint8_t *b, uint64_t k)
{
	int32_t far;

	memcpy(&far, b + k, sizeof far);
	return k + sizeof far + (uint64_t)(int64_t)far;
}

/* Do the bytes from b[k] on lead into a near function? */
static bool leads_there(const struct near *t, const uint8_t *b, uint64_t k)
{
	uint64_t to;

	switch (lead_of[b[k]]) {
	case LEAD_FAR:
		return is_inside(t, far_target(b, k + 1));
	case LEAD_FAR2:
		return (b[k] == 0x0f ? (b[k + 1] & 0xf0) == 0x80
				     : b[k + 1] == 0xf8) &&
		       is_inside(t, far_target(b, k + 2));
	case LEAD_SHORT:
		return is_inside(t,
				 k + 2 + (uint64_t)(int64_t)(int8_t)b[k + 1]);
	case LEAD_OPERAND: /* a constant of up to four bytes follows it */
		to = far_target(b, k + 1);
		return is_inside(t, to) || is_inside(t, to + 1) ||
		       is_inside(t, to + 2) || is_inside(t, to + 4);
	default:
		return false;
	}
}

/* There are X86_MAX_LEN bytes behind the last, so none is read too far. */
static bool has_lead(const struct near *t, const struct piece *p)
{
	const struct survey *s = t->s;

	for (uint64_t k = p->start - s->start; k < p->end - s->start; k++)
		if (lead_of[s->bytes[k]] != LEAD_NONE &&
		    leads_there(t, s->bytes, k))
			return true;
	return false;
}

/* Gaps that lead into near ones are near, too. */
static void spread_gaps(struct near *t)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < t->n; i++) {
			struct piece *p = &t->at[i];

			if (!p->is_gap || p->is_near || !has_lead(t, p))
				continue;
			more = p->is_near = true;
			draw(t, p);
		}
	}
}

/* -- The survey -- */

/* Its last instruction may fall through to what is behind it. */
static bool ends_at_near_gap(const struct near *t, size_t i)
{
	for (size_t k = i + 1; k < t->n && t->at[k].start <= t->at[i].end; k++)
		if (t->at[k].is_gap && t->at[k].is_near &&
		    t->at[k].start == t->at[i].end)
			return true;
	return false;
}

static int follow_gaps(struct near *t, const struct image_file *f)
{
	struct survey_gap *gap = calloc(t->n + 1, sizeof *gap);
	size_t n = 0;
	int rc;

	if (gap == NULL)
		return err_set(t->err, HARK_ENOMEM, 0, "out of memory");
	for (size_t i = 0; i < t->n; i++)
		if (t->at[i].is_gap && t->at[i].is_near)
			gap[n++] =
			    (struct survey_gap){t->at[i].start, t->at[i].end};
	rc = survey_reach(t->s, image_file_entry(f), t->err) < 0
		 ? -1
		 : survey_follow_gaps(t->s, gap, n, t->err);
	free(gap);
	return rc;
}

static int look(struct near *t, const struct image_file *f)
{
	for (size_t i = 0; i < t->n; i++)
		t->at[i].is_asked =
		    !t->at[i].is_gap &&
		    (t->at[i].is_near || ends_at_near_gap(t, i) ||
		     has_lead(t, &t->at[i]));
	for (size_t i = 0; i < t->n; i++) {
		t->s->is_strict = t->at[i].is_strict;
		if (t->at[i].is_asked &&
		    survey_function(t->s, t->at[i].start, t->at[i].end,
				    t->err) < 0)
			return -1;
	}
	if (follow_gaps(t, f) < 0)
		return -1;
	for (size_t i = 0; i < t->n; i++)
		if (t->at[i].is_near)
			survey_padding_in(t->s, t->at[i].start, t->at[i].end);
	return 0;
}

int survey_functions_near(struct survey *s, struct image_file *f,
			  const uint64_t *addr, size_t n, struct hark_err *err)
{
	struct near t = {.s = s, .addr = addr, .n_addr = n, .err = err};
	int rc = -1;

	if (symbols_each_own(f, add_piece, &t, err) < 0 || add_gaps(&t) < 0)
		goto out;
	while (spread(&t))
		;
	if (has_near_label(&t)) {
		rc = survey_functions_own(s, f, err);
		goto out;
	}
	if (draw_map(&t) < 0)
		goto out;
	mark_entries(&t);
	spread_gaps(&t);
	rc = look(&t, f);
out:
	free(t.at);
	free(t.map);
	return rc;
}
