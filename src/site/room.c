/* site/room.c - free addresses, and the search among them.
 *
 * What is taken is kept as sorted pieces. A distance without conditions is
 * searched forward from where the last one was found, so that pieces lie side
 * by side. One with conditions is searched byte by byte from the highest,
 * nearest first, and a whole branch of that tree is left out when nothing is
 * free in it: neighbours in the code find neighbours in the room. */
#include "site/room.h"

#include "x86/decode.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, PAGE = 4096 };

/* int3, and what was push/pop of segment registers, daa, das, aaa, aas, pusha,
 * popa and into before 64-bit mode. */
const uint8_t room_traps[] = {0x06, 0xcc, 0x07, 0xce, 0x0e, 0x16, 0x17, 0x1e,
			      0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61};
const unsigned room_n_traps = sizeof room_traps;

struct piece {
	uint64_t lo, hi;
};

struct pieces {
	struct piece *at; /* owned, ascending, apart */
	size_t n, room;
};

struct room {
	struct pieces free, taken;
	uint64_t last; /* where the last unconditional one ended */
};

/* -- Pieces -- */

static int insert(struct pieces *p, size_t i, struct piece what,
		  struct hark_err *err)
{
	struct piece *more;

	if (p->n == p->room) {
		p->room = p->room ? p->room * 2 : 64;
		more = realloc(p->at, p->room * sizeof *more);
		if (more == NULL)
			return err_set(err, HARK_ENOMEM, 0, "out of memory");
		p->at = more;
	}
	memmove(p->at + i + 1, p->at + i, (p->n - i) * sizeof *p->at);
	p->at[i] = what;
	p->n++;
	return 0;
}

/* The first that ends behind addr; p->n if none does. */
static size_t ends_behind(const struct pieces *p, uint64_t addr)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->at[mid].hi > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static bool meets(const struct pieces *p, uint64_t lo, uint64_t hi)
{
	size_t i = ends_behind(p, lo);

	return i < p->n && p->at[i].lo < hi;
}

/* -- The room -- */

int room_new(struct room **out, struct hark_err *err)
{
	struct room *r = calloc(1, sizeof *r);

	if (r == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	*out = r;
	return 0;
}

void room_free(struct room *r)
{
	if (r == NULL)
		return;
	free(r->free.at);
	free(r->taken.at);
	free(r);
}

int room_add(struct room *r, uint64_t lo, uint64_t hi, struct hark_err *err)
{
	if (lo >= hi)
		return 0;
	return insert(&r->free, ends_behind(&r->free, lo),
		      (struct piece){lo, hi}, err);
}

int room_occupy(struct room *r, uint64_t lo, uint64_t hi, struct hark_err *err)
{
	return insert(&r->taken, ends_behind(&r->taken, lo),
		      (struct piece){lo, hi}, err);
}

/* The first address from lo on, below hi, where len bytes are free. */
static bool first_free(const struct room *r, uint64_t lo, uint64_t hi,
		       unsigned len)
{
	size_t i = ends_behind(&r->free, lo), k = ends_behind(&r->taken, lo);

	while (lo < hi && i < r->free.n) {
		if (lo < r->free.at[i].lo) {
			lo = r->free.at[i].lo;
		} else if (lo + len > r->free.at[i].hi) {
			i++;
		} else if (k < r->taken.n && r->taken.at[k].lo < lo + len) {
			lo = r->taken.at[k].hi > lo ? r->taken.at[k].hi : lo;
			k++;
		} else {
			return true;
		}
	}
	return false;
}

/* -- Any address in reach -- */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* The jump and what lies there may want to reach each other's surroundings:
 * some of the 2 GiB are left to them. */
static bool in_reach(uint64_t next, uint64_t addr)
{
	return distance(next, addr) < 0x7f000000;
}

static uint64_t aligned(uint64_t addr)
{
	return (addr + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

/* First fit from lo on, within one free piece. */
static bool fit(const struct room *r, struct piece in, unsigned len,
		uint64_t *out)
{
	uint64_t addr = aligned(in.lo);

	while (addr + len <= in.hi && addr + len > addr) {
		size_t i = ends_behind(&r->taken, addr);

		if (i == r->taken.n || r->taken.at[i].lo >= addr + len) {
			*out = addr;
			return true;
		}
		addr = aligned(r->taken.at[i].hi);
	}
	return false;
}

static bool find_any(struct room *r, const struct room_want *w, uint64_t *out)
{
	uint64_t best = UINT64_MAX, addr;

	if (in_reach(w->next, r->last)) {
		size_t i = ends_behind(&r->free, r->last);

		if (i < r->free.n && r->free.at[i].lo <= r->last &&
		    fit(r, (struct piece){r->last, r->free.at[i].hi}, w->len,
			out) &&
		    in_reach(w->next, *out))
			return true;
	}
	for (size_t i = 0; i < r->free.n; i++) {
		struct piece p = r->free.at[i];

		/* The end of a piece that lies below is nearer. */
		if (p.hi <= w->next && p.hi - p.lo > 1 << 24)
			p.lo = p.hi - (1 << 24);
		if (fit(r, p, w->len, &addr) && in_reach(w->next, addr) &&
		    distance(w->next, addr) < distance(w->next, best))
			best = addr;
	}
	if (best == UINT64_MAX)
		return false;
	*out = best;
	return true;
}

/* -- Addresses with conditions -- */

struct search {
	struct room *r;		   /* borrowed */
	const struct room_want *w; /* borrowed */
	uint64_t found;
};

/* The nth value that a byte may have, or -1. The highest byte is signed:
 * 0, -1, 1, -2, ... is nearest first.
 *
 * Processors tell branches apart by few bits of their addresses (Intel's by
 * the lowest 24): code that lies a multiple of 16 MiB from the jump to it is
 * taken for the jump's own surroundings, with their returns, at every hit. So
 * where the distance is that long, its third byte begins in the middle. */
static int value_of(const struct room_want *w, unsigned byte, unsigned nth,
		    uint32_t above)
{
	switch (w->kind[byte]) {
	case ROOM_FIXED:
		return nth == 0 ? w->value[byte] : -1;
	case ROOM_TRAP:
		return nth < room_n_traps ? room_traps[nth] : -1;
	default:
		if (nth > 255)
			return -1;
		if (byte == 2 && above != 0)
			return (int)(nth ^ 0x40);
		if (byte < 3)
			return (int)nth;
		return nth & 1 ? (int)(255 - nth / 2) : (int)(nth / 2);
	}
}

/* Is anything free in the span that a byte leaves open? Of the largest only
 * the free pieces are looked at. */
static bool is_open(const struct search *s, uint64_t lo, uint64_t span)
{
	if (span > 1 << 16)
		return meets(&s->r->free, lo, lo + span);
	return first_free(s->r, lo, lo + span, s->w->len);
}

/* Chooses byte by byte, the highest first: rel[k] has bytes k and above. */
static bool choose(struct search *s)
{
	unsigned nth[4] = {0}, byte = 3;
	uint32_t rel[5] = {0};

	while (byte < 4) {
		int value = value_of(s->w, byte, nth[byte]++, rel[byte + 1]);
		uint64_t lo;

		if (value < 0) {
			byte++;
			continue;
		}
		rel[byte] = rel[byte + 1] | (uint32_t)value << 8 * byte;
		lo = s->w->next + (uint64_t)(int64_t)(int32_t)rel[byte];
		if (!is_open(s, lo, 1ull << 8 * byte))
			continue;
		if (byte == 0) {
			s->found = lo;
			return true;
		}
		nth[--byte] = 0;
	}
	return false;
}

static bool has_conditions(const struct room_want *w)
{
	for (unsigned i = 0; i < 4; i++)
		if (w->kind[i] != ROOM_ANY)
			return true;
	return false;
}

bool room_take(struct room *r, const struct room_want *want, uint64_t *out,
	       struct hark_err *err)
{
	struct search s = {.r = r, .w = want};

	if (has_conditions(want)) {
		if (!choose(&s))
			return false;
	} else if (!find_any(r, want, &s.found)) {
		return false;
	}
	if (insert(&r->taken, ends_behind(&r->taken, s.found),
		   (struct piece){s.found, s.found + want->len}, err) < 0)
		return false;
	if (!has_conditions(want))
		r->last = s.found + want->len;
	*out = s.found;
	return true;
}

void room_give(struct room *r, uint64_t addr)
{
	size_t i = ends_behind(&r->taken, addr);

	if (i == r->taken.n || r->taken.at[i].lo != addr)
		return;
	r->taken.n--;
	memmove(r->taken.at + i, r->taken.at + i + 1,
		(r->taken.n - i) * sizeof *r->taken.at);
}
