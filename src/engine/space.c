/* engine/space.c - guest memory that is code. */
#include "engine/space.h"

#include "engine/block.h"
#include "inside/sys.h"

enum { PAGE = 4096, RANGES_FIRST = 1024, PAGES_FIRST = 2048 };
enum { SHARED_MAX = 256 };

struct range {
	uint64_t start, end;
	uint64_t flags;
};

struct page {
	uint64_t address; /* 0: free */
	uint32_t blocks;  /* 2 * number + which of its pages */
	uint32_t pad;
};

struct space {
	struct range *ranges; /* owned: ascending, apart */
	uint32_t n, size;
	struct page *pages; /* owned: hashed */
	uint32_t n_pages, n_slots;
	struct span shared[SHARED_MAX]; /* more: all counts as shared */
	uint32_t n_shared, pad;
	struct memory *memory; /* borrowed */
	uint64_t forgotten;    /* how often anything was */
};

static uint64_t page_of(uint64_t address)
{
	return address & ~(uint64_t)(PAGE - 1);
}

/* -- Ranges ---------------------------------------------------------------- */

/* The first range that ends behind address. */
static uint32_t first_behind(const struct space *s, uint64_t address)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (s->ranges[mid].end <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const struct range *range_at(const struct space *s, uint64_t address)
{
	uint32_t i = first_behind(s, address);

	return i < s->n && s->ranges[i].start <= address ? &s->ranges[i] : 0;
}

static int make_room(struct space *s)
{
	struct range *more;

	if (s->n + 2 <= s->size)
		return 0;
	more = memory_map(s->memory, 2ull * s->size * sizeof *more);
	if (!more)
		return -1;
	__builtin_memcpy(more, s->ranges, s->n * sizeof *more);
	memory_unmap(s->memory, s->ranges, s->size * sizeof *more);
	s->ranges = more;
	s->size *= 2;
	return 0;
}

static void insert(struct space *s, uint32_t at, struct range r)
{
	for (uint32_t i = s->n; i > at; i--)
		s->ranges[i] = s->ranges[i - 1];
	s->ranges[at] = r;
	s->n++;
}

static void remove_range(struct space *s, uint32_t at)
{
	s->n--;
	for (uint32_t i = at; i < s->n; i++)
		s->ranges[i] = s->ranges[i + 1];
}

static void cut(struct space *s, uint64_t start, uint64_t end)
{
	uint32_t i = first_behind(s, start);

	while (i < s->n && s->ranges[i].start < end) {
		struct range *r = &s->ranges[i];
		struct range rest = {end, r->end, r->flags};

		if (r->start < start) {
			r->end = start;
			if (rest.end > end)
				insert(s, ++i, rest);
			i++;
		} else if (rest.end > end) {
			r->start = end;
			i++;
		} else {
			remove_range(s, i);
		}
	}
}

/* -- Pages ----------------------------------------------------------------- */

static uint32_t slot_of(const struct space *s, uint64_t address)
{
	uint32_t mask = s->n_slots - 1;
	uint32_t i = (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 40) & mask;

	while (s->pages[i].address != 0 && s->pages[i].address != address)
		i = (i + 1) & mask;
	return i;
}

static struct page *find_page(const struct space *s, uint64_t address)
{
	struct page *p = &s->pages[slot_of(s, address)];

	return p->address == address ? p : 0;
}

static int grow_pages(struct space *s)
{
	struct page *old = s->pages;
	uint32_t n = s->n_slots;
	struct page *more = memory_map(s->memory, 2ull * n * sizeof *more);

	if (!more)
		return -1;
	s->pages = more;
	s->n_slots = 2 * n;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].address != 0)
			s->pages[slot_of(s, old[i].address)] = old[i];
	memory_unmap(s->memory, old, n * sizeof *old);
	return 0;
}

static struct page *make_page(struct space *s, uint64_t address)
{
	struct page *p = find_page(s, address);

	if (p)
		return p;
	if (2 * s->n_pages >= s->n_slots && grow_pages(s) < 0)
		return 0;
	p = &s->pages[slot_of(s, address)];
	p->address = address;
	s->n_pages++;
	return p;
}

static void kill_blocks(struct engine *e, struct page *p)
{
	struct cache *c = e->cache;

	for (uint32_t at = p->blocks; at != 0;) {
		struct block *b = cache_block(c, at / 2);

		if (b->state != BLOCK_DEAD && e->run)
			engine_count(&e->run->stats.discarded, 1);
		cache_kill(c, at / 2);
		at = b->page_next[at % 2];
	}
	p->blocks = 0;
}

/* -- What the program maps ------------------------------------------------- */

static void forget_pages(struct engine *e, uint64_t start, uint64_t end)
{
	struct space *s = e->space;

	if ((end - start) / PAGE > s->n_slots) {
		for (uint32_t i = 0; i < s->n_slots; i++)
			if (s->pages[i].address >= start &&
			    s->pages[i].address < end)
				kill_blocks(e, &s->pages[i]);
		return;
	}
	for (uint64_t at = start; at < end; at += PAGE) {
		struct page *p = find_page(s, at);

		if (p)
			kill_blocks(e, p);
	}
}

void space_kill(struct engine *e, uint64_t start, uint64_t end)
{
	if (e->space)
		forget_pages(e, page_of(start), page_of(end + PAGE - 1));
}

void space_forget(struct engine *e, uint64_t start, uint64_t end)
{
	start = page_of(start);
	end = page_of(end + PAGE - 1);
	if (start >= end)
		return;
	engine_lock(&e->lock);
	e->space->forgotten++;
	forget_pages(e, start, end);
	if (make_room(e->space) < 0)
		engine_die("no memory for the program's mappings");
	cut(e->space, start, end);
	engine_unlock(&e->lock);
}

static void add_range(struct space *s, struct range r)
{
	if (make_room(s) < 0)
		engine_die("no memory for the program's mappings");
	cut(s, r.start, r.end);
	insert(s, first_behind(s, r.start), r);
}

void space_add(struct engine *e, uint64_t start, uint64_t end, unsigned flags)
{
	start = page_of(start);
	end = page_of(end + PAGE - 1);
	if (start >= end)
		return;
	engine_lock(&e->lock);
	add_range(e->space, (struct range){start, end, flags});
	engine_unlock(&e->lock);
}

void space_share(struct engine *e, uint64_t start, uint64_t end)
{
	struct space *s = e->space;

	engine_lock(&e->lock);
	if (s->n_shared < SHARED_MAX)
		s->shared[s->n_shared] = (struct span){start, end};
	s->n_shared += s->n_shared <= SHARED_MAX;
	engine_unlock(&e->lock);
}

int space_is_shared(struct engine *e, uint64_t start, uint64_t end)
{
	struct space *s = e->space;
	int yes;

	engine_lock(&e->lock);
	yes = s->n_shared > SHARED_MAX;
	for (uint32_t i = 0; !yes && i < s->n_shared; i++)
		yes = s->shared[i].start < end && start < s->shared[i].end;
	engine_unlock(&e->lock);
	return yes;
}

uint64_t space_now(const struct engine *e)
{
	return __atomic_load_n(&e->space->forgotten, __ATOMIC_ACQUIRE);
}

void space_learn(struct engine *e, uint64_t pc, uint64_t then)
{
	uint64_t page = page_of(pc);

	if (pc >> 47 != 0)
		return; /* the kernel's half: vsyscall */
	engine_lock(&e->lock);
	if (!range_at(e->space, pc) && e->space->forgotten == then)
		add_range(e->space,
			  (struct range){page, page + PAGE, SPACE_SHARED});
	engine_unlock(&e->lock);
}

/* -- Translating ----------------------------------------------------------- */

int space_prepare(struct engine *e, struct translate_how *how)
{
	enum { FAR_APART = 64 << 20 };
	const struct range *r = range_at(e->space, how->pc);

	if (!r)
		return -1;
	how->limit = r->end;
	how->kind = BLOCK_LIVE;
	if (r->flags & (SPACE_SHARED | SPACE_WRITE))
		how->kind = BLOCK_CHECKED;
	if (r->flags & SPACE_WRITE)
		how->block_flags |= BLOCK_ENDS_AT_STORES;
	if (how->sp - how->pc + FAR_APART > 2ULL * FAR_APART)
		how->block_flags |= BLOCK_STACK_APART;
	return 0;
}

int space_cover(struct engine *e, uint32_t number)
{
	struct block *b = cache_block(e->cache, number);
	uint64_t first = page_of(b->pc);
	uint64_t last = page_of(b->pc + (b->seen_len ? b->seen_len - 1 : 0));

	for (unsigned which = 0; which < 2; which++) {
		struct page *p = make_page(e->space, which ? last : first);

		if (!p)
			return -1;
		b->page_next[which] = p->blocks;
		p->blocks = 2 * number + which;
		if (first == last)
			break;
	}
	return 0;
}

void space_uncover(struct engine *e)
{
	for (uint32_t i = 0; i < e->space->n_slots; i++)
		e->space->pages[i].blocks = 0;
}

int space_still(const struct block *b)
{
	uint8_t now[BLOCK_BYTES + X86_MAX_LEN];

	return guest_copy(now, (const void *)b->pc, b->seen_len) == 0 &&
	       __builtin_memcmp(now, b->bytes, b->seen_len) == 0;
}

/* -- Life ------------------------------------------------------------------ */

static void take_some(struct engine *e, const struct wire_map *map, uint32_t n)
{
	enum { STACK_MAY_GROW = 8 << 20 };

	for (uint32_t i = 0; i < n; i++) {
		struct range r = {map[i].start, map[i].end, map[i].flags};

		if (r.flags & WIRE_MAP_SHARED)
			space_share(e, r.start, r.end);
		if (!(r.flags & WIRE_MAP_EXEC))
			continue;
		if (r.flags & WIRE_MAP_STACK)
			r.start -= STACK_MAY_GROW;
		add_range(e->space, r);
	}
}

static void take_maps(struct engine *e)
{
	struct wire_maps *m;
	struct wire_map *more;

	if (!e->channel)
		return;
	m = wire_maps_of(e->channel);
	more = (void *)((uint8_t *)e->channel + m->more_at);
	if (m->incomplete)
		space_share(e, 0, ~0ull);
	take_some(e, m->map, m->n);
	take_some(e, more, m->n_more);
	for (uint32_t i = 0; i < m->n_more; i++)
		more[i] = (struct wire_map){0};
}

int space_start(struct engine *e)
{
	struct space *s = e->space;

	s->memory = e->memory;
	s->size = RANGES_FIRST;
	s->n_slots = PAGES_FIRST;
	s->ranges = memory_map(s->memory, RANGES_FIRST * sizeof *s->ranges);
	s->pages = memory_map(s->memory, PAGES_FIRST * sizeof *s->pages);
	if (!s->ranges || !s->pages)
		return -1;
	take_maps(e);
	return 0;
}

uint64_t space_size(void)
{
	return sizeof(struct space);
}
