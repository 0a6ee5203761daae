/* engine/replay_code.c - blocks of a replayed thread: made, found, forgotten.
 *
 * Blocks that were found once are found again by (pc, stop), without asking
 * anybody else: what is forgotten is dead, and dead blocks are not found. */
#include "engine/replay_priv.h"

#include "engine/translate.h"

#include <string.h>

/* -- Blocks ---------------------------------------------------------------- */

int replay_empty(struct replay *r)
{
	r->has_emptied = 1;
	memset(r->nears, 0, NEARS * sizeof *r->nears);
	memset(r->starts, 0, STARTS * sizeof *r->starts);
	memset(r->pages, 0, PAGES * sizeof *r->pages);
	return cache_flush(r->e, r->v);
}

static uint32_t *page_at(struct replay *r, uint64_t address)
{
	return &r->pages[(address >> 12) * 0x9e3779b97f4a7c15ull >> 48 &
			 (PAGES - 1)];
}

/* A block lies on one page, or on two. */
static void cover(struct replay *r, uint32_t number)
{
	struct block *b = cache_block(r->e->cache, number);
	uint32_t *first = page_at(r, b->pc);
	uint32_t *last = page_at(r, b->pc + b->seen_len - (b->seen_len != 0));

	b->page_next[0] = *first;
	*first = 2 * number;
	if (last == first)
		return;
	b->page_next[1] = *last;
	*last = 2 * number + 1;
}

/* 0: there is no memory. */
static uint32_t make_block(struct replay *r, uint64_t stop, int indirect,
			   int blind)
{
	struct translate_how how = {.pc = r->v->pc,
				    .limit = ~0ull,
				    .kind = BLOCK_LIVE,
				    .indirect = (uint8_t)indirect,
				    .lonely = stop != 0,
				    .blind = (uint8_t)blind,
				    .stop = stop};
	uint32_t number;

	if (r->e->cache->used >= CACHE_LIMIT && replay_empty(r) < 0)
		return 0;
	number = translate(r->e, &how);
	if (number == 0 && replay_empty(r) == 0)
		number = translate(r->e, &how);
	if (number != 0)
		cover(r, number);
	return number;
}

uint32_t replay_block(struct replay *r, int indirect)
{
	uint32_t number = cache_find(r->e->cache, r->v->pc);

	return number != 0 ? number : make_block(r, 0, indirect, 0);
}

static int is_code(struct replay *r)
{
	uint8_t byte;

	return r->fetch(r->ctx, r->v->pc, &byte, 1) == 1;
}

uint32_t replay_near_block(struct replay *r, uint64_t stop)
{
	struct near *n = near_at(r, r->v->pc, stop);

	if (!near_is(r, n, r->v->pc, stop))
		*n = (struct near){r->v->pc, stop, 0, 0};
	if (n->number == 0 && is_code(r))
		n->number = make_block(r, stop, 0, 0);
	return n->number;
}

/* Found under another name than those that are not blind. */
uint32_t replay_blind_block(struct replay *r, uint64_t stop)
{
	const uint64_t name = stop ^ 1ull << 63;
	struct near *n = near_at(r, r->v->pc, name);

	if (!near_is(r, n, r->v->pc, name))
		*n = (struct near){r->v->pc, name, 0, 0};
	if (n->number == 0 && is_code(r))
		n->number = make_block(r, stop, 0, 1);
	return n->number;
}

uint32_t replay_start_block(struct replay *r)
{
	struct near *n = near_at(r, r->v->pc, 0);

	if (!near_is(r, n, r->v->pc, 0))
		*n = (struct near){r->v->pc, 0, 0, 0};
	if (n->number == 0 && is_code(r))
		n->number = replay_block(r, 0);
	return n->number;
}

static void kill_block(struct cache *c, uint32_t number)
{
	struct block *b = cache_block(c, number);

	if (b->state != BLOCK_DEAD && cache_find(c, b->pc) == number)
		cache_kill(c, number);
	b->state = BLOCK_DEAD;
}

static void forget_page(struct replay *r, uint64_t page, uint64_t start,
			uint64_t end)
{
	struct cache *c = r->e->cache;
	uint32_t *at = page_at(r, page);

	while (*at != 0) {
		struct block *b = cache_block(c, *at / 2);
		uint32_t *next = &b->page_next[*at % 2];

		if (b->pc < end && b->pc + b->seen_len > start)
			kill_block(c, *at / 2);
		if (b->state == BLOCK_DEAD)
			*at = *next;
		else
			at = next;
	}
}

void replay_forget_code(struct replay *r, uint64_t start, uint64_t end)
{
	enum { PAGE = 4096 };

	if ((end - start) / PAGE >= PAGES) {
		replay_empty(r);
		return;
	}
	for (uint64_t at = start & ~(uint64_t)(PAGE - 1); at < end; at += PAGE)
		forget_page(r, at, start, end);
}

int replay_forget_all_code(struct replay *r)
{
	int rc = replay_empty(r);

	r->has_emptied = 0;
	r->e->has_scattered = 0;
	return rc;
}

int replay_translated(struct replay *r, replay_range *each, void *ctx)
{
	struct cache *c = r->e->cache;

	for (uint32_t i = 1; i <= c->blocks.n; i++) {
		const struct block *b = cache_block(c, i);

		each(ctx, b->pc, b->pc + b->guest_len);
	}
	return r->has_emptied ? -1 : 0;
}

int replay_marks_all(const struct replay *r)
{
	return !r->e->has_scattered;
}
