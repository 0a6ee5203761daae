/* engine/cache.c - regions, blocks, links and the indirect table. */
#include "engine/cache.h"

#include "inside/sys.h"
#include "x86/emit.h"

enum {
	PAGE = 4096,
	REACH = 0x78000000, /* from anywhere in a region to code: < 2 GiB */
	BLOCK_SHIFT = 12,
	EXIT_SHIFT = 13,
	TABLE_BITS_FIRST = 12,
	TABLE_BITS_MAX = 18,
	TABLE_BITS_SMALL = 16, /* also where the table does not grow */
	SLOTS_FIRST = 1 << 12,
	BLOCK_BYTES_MIN = 16, /* no block is shorter: each is aligned */
};

/* No block starts there: the last byte of all. */
static const uint64_t NO_PC = ~0ull;

/* -- Regions --------------------------------------------------------------- */

int cache_contains(const struct cache *c, uint64_t host)
{
	uint32_t n = __atomic_load_n(&c->n_regions, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++)
		if (host - c->regions[i].base < c->regions[i].size)
			return 1;
	return 0;
}

static int reaches(const struct region *r, uint64_t pc)
{
	uint64_t low = r->base, high = r->base + r->size;

	return (pc >= low ? pc - low : high - pc) < REACH;
}

/* Where a region for pc might lie: away from where the kernel puts the
 * program's next mappings and from where its heap grows, if that can be had. */
static uint64_t try_place(uint64_t pc, int number, uint64_t size)
{
	static const int16_t first[] = {-0x400, -0x200, -0x600, 0x6f0,
					0x500,	0x300,	0x200};
	enum { N_FIRST = sizeof first / sizeof first[0], STEP = 32 };
	int64_t mib = number < N_FIRST ? first[number]
				       : (number - N_FIRST) * STEP - 0x760;
	int64_t at = (int64_t)(pc & ~0xfffffull) + mib * (1 << 20);

	if (at < 0x10000 || (uint64_t)at + size >= 0x7ffffffff000ull)
		return 0;
	return (uint64_t)at;
}

/* C4. mremap of no bytes maps the same memory once more, at an address of the
 * kernel's choice. Children must not have it: they would share it. */
static int64_t split_region(uint64_t at, uint64_t size, uint64_t *alias)
{
	enum { MAY_MOVE = 1, DONT_FORK = 10 };
	int64_t twin = sys_call(SYS_NR_MREMAP, at, 0, size, MAY_MOVE, 0, 0);

	if (sys_failed(twin))
		return -1;
	if (sys_call3(SYS_NR_MADVISE, at, size, DONT_FORK) == 0 &&
	    sys_call3(SYS_NR_MADVISE, (uint64_t)twin, size, DONT_FORK) == 0 &&
	    sys_call3(SYS_NR_MPROTECT, at, size,
		      SYS_PROT_READ | SYS_PROT_EXEC) == 0) {
		*alias = (uint64_t)twin - at;
		return 0;
	}
	sys_unmap((uint64_t)twin, size);
	return -1;
}

static int64_t map_at(uint64_t at, uint64_t size, int is_split)
{
	unsigned prot = SYS_PROT_READ | SYS_PROT_WRITE;
	unsigned flags =
	    SYS_MAP_ANONYMOUS | SYS_MAP_FIXED_NOREPLACE | SYS_MAP_NORESERVE;

	return sys_call(SYS_NR_MMAP, at, size,
			is_split ? prot : prot | SYS_PROT_EXEC,
			flags | (is_split ? SYS_MAP_SHARED : SYS_MAP_PRIVATE),
			(uint64_t)-1, 0);
}

static int64_t map_region(uint64_t pc, uint64_t size, int is_split,
			  uint64_t *alias)
{
	enum { TRIES = 7 + 118 };

	for (int i = 0; i < TRIES; i++) {
		uint64_t at = try_place(pc, i, size);
		int64_t got;

		if (at == 0)
			continue;
		got = map_at(at, size, is_split);
		if (got == (int64_t)at &&
		    (!is_split || split_region(at, size, alias) == 0))
			return got;
		if (!sys_failed(got))
			sys_unmap((uint64_t)got, size);
	}
	return -1;
}

/* The few bytes that every block of a region may jump to. */
static void put_stubs(struct region *r)
{
	uint8_t *at = cache_writable(r, r->base);
	struct x86_buf b = {
	    .start = at, .at = at, .end = at + PAGE, .pc = r->base};

	r->miss = emit_pc(&b);
	emit_m(&b, EMIT_JMP, 8, x86_mem_seg(X86_GS, VCPU_MISS));
	r->hot = r->base + 64;
}

static uint64_t limit_of(unsigned what)
{
	enum { NR_GETRLIMIT = 97 };
	uint64_t limit[2] = {~0ull, ~0ull};

	sys_call3(NR_GETRLIMIT, what, (uint64_t)limit, 0);
	return limit[0];
}

/* All of a region counts where address space is limited. */
static uint64_t region_size(void)
{
	enum { LIMIT_DATA = 2, LIMIT_AS = 9, SHARE = 32 };
	uint64_t as = limit_of(LIMIT_AS), data = limit_of(LIMIT_DATA);
	uint64_t most = (as < data ? as : data) / SHARE, size = REGION_SIZE;

	while (size > REGION_SIZE / 64 && size > most)
		size /= 2;
	return size;
}

/* C4; but an emulator of system calls (qemu-user) may not support the second
 * mapping, and then one mapping is both. It supports no system call filter
 * either: where the sandbox has one, that refuses such a mapping. */
static int64_t map_code(const struct engine *e, uint64_t pc, uint64_t size,
			uint64_t *alias)
{
	int64_t at = -1;

	if (e->replays)
		at = map_region(pc, size, 1, alias);
	return at < 0 ? map_region(pc, size, 0, alias) : at;
}

static struct region *new_region(struct engine *e, uint64_t pc)
{
	struct cache *c = e->cache;
	struct region *r = &c->regions[c->n_regions];
	uint64_t size = region_size(), alias = 0;
	int64_t at = -1;

	if (c->n_regions == CACHE_REGIONS)
		return 0;
	while (at < 0 && size >= REGION_SIZE / 64) {
		memory_allow(c->memory, size);
		at = map_code(e, pc, size, &alias);
		size /= at < 0 ? 2 : 1;
	}
	if (at < 0)
		return 0;
	r->order =
	    memory_map(c->memory, size / BLOCK_BYTES_MIN * sizeof *r->order);
	if (!r->order) {
		sys_unmap((uint64_t)at, size);
		if (alias != 0)
			sys_unmap((uint64_t)at + alias, size);
		return 0;
	}
	memory_note(c->memory, (uint64_t)at, size);
	if (alias != 0)
		memory_note(c->memory, (uint64_t)at + alias, size);
	r->base = (uint64_t)at;
	r->alias = alias;
	r->size = size;
	r->cold = r->base + size;
	put_stubs(r);
	__atomic_store_n(&c->n_regions, c->n_regions + 1, __ATOMIC_RELEASE);
	return r;
}

struct region *cache_region(struct engine *e, uint64_t pc, uint64_t room)
{
	struct cache *c = e->cache;

	for (uint32_t i = c->n_regions; i-- > 0;) {
		struct region *r = &c->regions[i];

		if (reaches(r, pc) && r->cold - r->hot >= room)
			return r;
	}
	return new_region(e, pc);
}

/* -- Blocks ---------------------------------------------------------------- */

struct block *cache_block_at(struct cache *c, uint64_t host)
{
	uint32_t n = __atomic_load_n(&c->n_regions, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++) {
		struct region *r = &c->regions[i];
		uint32_t low = 0;
		uint32_t high = __atomic_load_n(&r->n_order, __ATOMIC_ACQUIRE);
		struct block *b;

		if (host - r->base >= r->size)
			continue;
		while (high - low > 1) {
			uint32_t mid = (low + high) / 2;

			if (cache_block(c, r->order[mid])->start <= host)
				low = mid;
			else
				high = mid;
		}
		if (high == 0)
			return 0;
		b = cache_block(c, r->order[low]);
		return host - b->start < b->len ? b : 0;
	}
	return 0;
}

/* Where pc is, or would be put. Slots of removed blocks stay taken until the
 * table grows: nothing that was put behind them gets lost. */
static struct slot *slot_of(const struct cache *c, uint64_t pc)
{
	uint32_t mask = c->n_slots - 1;
	uint32_t i = (uint32_t)((pc * 0x9e3779b97f4a7c15ull) >> 32) & mask;

	while (c->slots[i].pc != pc && c->slots[i].pc != NO_PC)
		i = (i + 1) & mask;
	return &c->slots[i];
}

uint32_t cache_find(struct cache *c, uint64_t pc)
{
	struct slot *s = slot_of(c, pc);

	return s->pc == pc ? s->number : 0;
}

static struct slot *new_slots(struct cache *c, uint32_t n)
{
	struct slot *s = memory_map(c->memory, (uint64_t)n * sizeof *s);

	for (uint32_t i = 0; s && i < n; i++)
		s[i] = (struct slot){NO_PC, 0, 0};
	return s;
}

/* Twice as many slots, or as many if most are of removed blocks. */
static int grow_slots(struct cache *c)
{
	struct slot *old = c->slots;
	uint32_t n = c->n_slots, alive = 0;

	for (uint32_t i = 0; i < n; i++)
		alive += old[i].number != 0;
	c->n_slots = alive > n / 4 ? 2 * n : n;
	c->slots = new_slots(c, c->n_slots);
	if (!c->slots) {
		c->slots = old;
		c->n_slots = n;
		return -1;
	}
	c->n_hashed = alive;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].number != 0)
			*slot_of(c, old[i].pc) = old[i];
	memory_unmap(c->memory, old, (uint64_t)n * sizeof *old);
	return 0;
}

void cache_insert(struct cache *c, uint32_t number)
{
	uint64_t pc = cache_block(c, number)->pc;
	struct slot *s;

	if (2 * c->n_hashed >= c->n_slots && grow_slots(c) < 0)
		engine_die("no memory for the index of blocks");
	s = slot_of(c, pc);
	c->n_hashed += s->pc == NO_PC;
	*s = (struct slot){pc, number, 0};
}

void cache_order(struct cache *c, uint32_t number)
{
	struct region *r = &c->regions[cache_block(c, number)->region];

	r->order[r->n_order] = number;
	__atomic_store_n(&r->n_order, r->n_order + 1, __ATOMIC_RELEASE);
}

/* -- Links ----------------------------------------------------------------- */

static uint8_t *site_of(const struct cache *c, const struct exit *x)
{
	for (uint32_t i = 0; i < c->n_regions; i++)
		if (x->site - c->regions[i].base < c->regions[i].size)
			return cache_writable(&c->regions[i], x->site);
	return (uint8_t *)x->site;
}

static void point(const struct cache *c, const struct exit *x, uint64_t to)
{
	if (emit_patch_rel32(site_of(c, x), x->site, to) < 0)
		engine_die("a link does not reach");
}

int cache_link(struct cache *c, uint32_t exit, uint32_t block)
{
	struct exit *x = cache_exit(c, exit);
	struct block *b = cache_block(c, block);
	uint64_t to = x->counts ? b->entry : b->plain;
	int64_t distance = (int64_t)(to - (x->site + 4));

	if (b->state == BLOCK_DEAD || x->site == 0 || x->lonely ||
	    distance != (int32_t)distance)
		return -1;
	if (x->linked == block)
		return 0;
	point(c, x, to);
	x->linked = block;
	x->next = b->incoming;
	b->incoming = exit;
	return 0;
}

static void unlink_all(struct cache *c, struct block *b)
{
	for (uint32_t at = b->incoming; at != 0;) {
		struct exit *x = cache_exit(c, at);

		at = x->next;
		point(c, x, x->stub);
		x->linked = 0;
		x->next = 0;
	}
	b->incoming = 0;
}

void cache_kill(struct cache *c, uint32_t number)
{
	struct block *b = cache_block(c, number);

	if (b->state == BLOCK_DEAD)
		return;
	slot_of(c, b->pc)->number = 0;
	unlink_all(c, b);
	if (b->indirect != 0)
		for (uint32_t bits = TABLE_BITS_FIRST; bits <= c->table_bits;
		     bits++) {
			uint64_t *at = &c->table[b->pc & ((1ull << bits) - 1)];

			if (*at == b->indirect)
				__atomic_store_n(at, c->miss_entry,
						 __ATOMIC_RELEASE);
		}
	b->state = BLOCK_DEAD;
}

/* -- The indirect table ---------------------------------------------------- */

static void fill(struct cache *c, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		c->table[i] = c->miss_entry;
}

static void put(struct cache *c, const struct block *b)
{
	uint64_t *at = &c->table[b->pc & ((1ull << c->table_bits) - 1)];

	c->table_used += *at == c->miss_entry;
	__atomic_store_n(at, b->indirect, __ATOMIC_RELEASE);
}

/* Threads may go on using the old mask: what they find is then a collision, or
 * a miss. */
static void grow_table(struct cache *c)
{
	uint32_t bits = c->table_bits + 2;

	fill(c, 1ull << c->table_bits, 1ull << bits);
	c->table_bits = bits;
	c->table_displaced = 0;
	for (uint32_t i = 1; i <= c->blocks.n; i++) {
		struct block *b = cache_block(c, i);

		if (b->state != BLOCK_DEAD && b->indirect != 0)
			put(c, b);
	}
	__atomic_store_n(c->table_mask, (1ull << bits) - 1, __ATOMIC_RELEASE);
}

/* A block that was in already has been displaced: the table is too small for
 * what the program does, even if it is not full. */
void cache_publish(struct cache *c, struct block *b)
{
	enum { PATIENCE = 16 };

	c->table_displaced += b->published;
	b->published = 1;
	if (c->by_pext && c->table_bits < c->table_bits_max &&
	    (c->table_used >= 1u << (c->table_bits - 2) ||
	     c->table_displaced >= PATIENCE))
		grow_table(c);
	put(c, b);
}

enum { LOW = 0x10000000, LOW_END = 0x7f000000, LOW_STEP = 0x1000000 };

/* Where 32 bits can address it, whatever code does so: at the end of a step, or
 * below, n places on from `first`. */
static uint64_t map_low(uint64_t len, uint64_t step, uint64_t first)
{
	const uint64_t n = (LOW_END - LOW) / step;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = LOW_END - (1 + (first + i) % n) * step;
		int64_t got =
		    sys_map(at, len, SYS_PROT_READ | SYS_PROT_WRITE,
			    SYS_MAP_FIXED_NOREPLACE | SYS_MAP_NORESERVE);

		if (got == (int64_t)at)
			return at;
		if (!sys_failed(got))
			sys_unmap((uint64_t)got, len);
	}
	return 0;
}

static uint64_t table_len(uint32_t bits)
{
	return PAGE + (8ull << bits);
}

/* A program has one cache, a replay has one for each walker of each thread:
 * after the first hundred the tables are small, between those that are not. */
static uint64_t map_table(struct cache *c)
{
	enum { FINE_STEP = 0x90000, ENGINES_APART = 34 };
	uint64_t at;

	c->table_bits_max = TABLE_BITS_MAX;
	at = map_low(table_len(TABLE_BITS_MAX), LOW_STEP, 0);
	if (at != 0)
		return at;
	c->table_bits_max = TABLE_BITS_SMALL;
	return map_low(table_len(TABLE_BITS_SMALL), FINE_STEP,
		       (uint64_t)c >> ENGINES_APART);
}

struct cpuid {
	uint32_t a, b, c, d;
};

static struct cpuid cpuid(uint32_t leaf)
{
	struct cpuid r = {leaf, 0, 0, 0};

	__asm__("cpuid" : "+a"(r.a), "=b"(r.b), "+c"(r.c), "=d"(r.d));
	return r;
}

/* What is quick on this processor. BMI2's pext indexes the table with any
 * number of bits, but is microcode on AMD's families before 19h; the other way
 * is a move of 16 bits. `loop` is slow everywhere but on AMD's. */
static void choose_ways(struct cache *c)
{
	enum { AUTH = 0x68747541, BMI2 = 1 << 8, ZEN3 = 0x19 };
	struct cpuid zero = cpuid(0), one = cpuid(1);
	uint32_t family = (one.a >> 8 & 15) + (one.a >> 20 & 255);
	int amd = zero.b == AUTH;

	c->by_pext =
	    zero.a >= 7 && cpuid(7).b & BMI2 && (!amd || family >= ZEN3);
	c->by_loop = (uint32_t)amd;
}

static int start_table(struct cache *c)
{
	uint64_t at = map_table(c);

	if (at == 0)
		return -1;
	memory_note(c->memory, at, table_len(c->table_bits_max));
	choose_ways(c);
	c->table_bits = c->by_pext ? TABLE_BITS_FIRST : TABLE_BITS_SMALL;
	c->table_mask = (uint64_t *)(at + PAGE - 64);
	c->table = (uint64_t *)(at + PAGE);
	*c->table_mask = (1ull << c->table_bits) - 1;
	fill(c, 0, 1ull << c->table_bits);
	return 0;
}

/* -- Emptying -------------------------------------------------------------- */

/* No way leads from block to block any more: whoever is in the cache comes out
 * of it soon. */
static void cut_all(struct cache *c)
{
	for (uint32_t i = 1; i <= c->exits.n; i++) {
		struct exit *x = cache_exit(c, i);

		if (x->linked != 0)
			point(c, x, x->stub);
		x->linked = x->next = 0;
	}
	for (uint32_t i = 1; i <= c->blocks.n; i++)
		cache_block(c, i)->incoming = 0;
	fill(c, 0, 1ull << c->table_bits);
	c->table_used = c->table_displaced = 0;
}

static int all_out(struct engine *e, const struct vcpu *self)
{
	int out = 1;

	engine_lock(&e->threads_lock);
	for (const struct vcpu *v = e->vcpus; v && out; v = v->next)
		out = v == self || v->slot_state == 0 ||
		      __atomic_load_n(&v->enter, __ATOMIC_ACQUIRE) == 0;
	engine_unlock(&e->threads_lock);
	return out;
}

static int wait_for_all(struct engine *e, const struct vcpu *self)
{
	enum { TRIES = 200, PAUSE_NS = 500000, SYS_NR_NANOSLEEP = 35 };
	const uint64_t pause[2] = {0, PAUSE_NS};

	for (int i = 0; i < TRIES; i++) {
		if (all_out(e, self))
			return 0;
		sys_call3(SYS_NR_NANOSLEEP, (uint64_t)pause, 0, 0);
	}
	return -1;
}

int cache_flush(struct engine *e, const struct vcpu *self)
{
	struct cache *c = e->cache;

	cut_all(c);
	if (wait_for_all(e, self) < 0)
		return -1;
	for (uint32_t i = 0; i < c->n_slots; i++)
		c->slots[i] = (struct slot){NO_PC, 0, 0};
	c->n_hashed = 0;
	pool_clear(&c->blocks);
	pool_clear(&c->exits);
	pool_clear(&c->sites);
	bytes_clear(&c->side);
	for (uint32_t i = 0; i < c->n_regions; i++) {
		struct region *r = &c->regions[i];

		put_stubs(r);
		r->cold = r->base + r->size;
		r->n_order = 0;
	}
	c->used = 0;
	c->generation++;
	if (e->run)
		engine_count(&e->run->stats.flushes, 1);
	return 0;
}

/* -- Life ------------------------------------------------------------------ */

extern const uint8_t engine_miss[] __attribute__((visibility("hidden")));

int cache_start(struct engine *e)
{
	struct cache *c = e->cache;

	pool_init(&c->blocks, sizeof(struct block), BLOCK_SHIFT, c->memory);
	pool_init(&c->exits, sizeof(struct exit), EXIT_SHIFT, c->memory);
	pool_init(&c->sites, sizeof(struct site), EXIT_SHIFT, c->memory);
	c->side.memory = c->memory;
	c->miss_entry = (uint64_t)engine_miss;
	c->n_slots = SLOTS_FIRST;
	c->slots = new_slots(c, SLOTS_FIRST);
	return c->slots && start_table(c) == 0 ? 0 : -1;
}
