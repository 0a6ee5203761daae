/* engine/cache.h - translated code: where it lies, how it is found and linked.
 *
 * A region is memory within reach of the code it translates:
 *
 *	base [stubs] [hot code -->            <-- cold code and constants] end
 *
 * A block is one superblock's translation. Control reaches it by links (direct
 * branches of other blocks, patched), through the indirect table, or from the
 * dispatcher. Each direct way out of a block is an exit: a rel32 that leads
 * either to the exit's own cold stub, which asks the dispatcher, or straight
 * to another block.
 *
 * C1  The table's entries are addresses of indirect entries, or of the miss.
 *     An indirect entry checks that it is the one that was meant, so a stale
 *     or colliding entry costs time, never truth.
 * C2  A link is one aligned 4-byte store; both the old and the new target are
 *     right for any thread that still sees the old one.
 * C3  A dead block can be reached by nobody who is not in it already; its
 *     memory is not used again before a flush, and that waits for everybody.
 * C4  In replay, where code comes from a file, no page is both writable and
 *     executable: a region is mapped twice. In the program that runs it is
 *     mapped once: fork must copy it, and its own filters may forbid more.
 *
 * All of it belongs to the holder of engine.lock. */
#ifndef ENGINE_CACHE_H
#define ENGINE_CACHE_H

#include "engine/engine.h"
#include "engine/pool.h"

enum {
	CACHE_REGIONS = 64,
	REGION_SIZE = 64 << 20,
	CACHE_LIMIT = 256 << 20, /* bytes of code, and then it is flushed */
};

struct region {
	uint64_t base, size;
	/* C4: where a byte of it may be written, less where it is; 0: there */
	uint64_t alias;
	uint64_t hot, cold; /* next hot byte; last cold byte taken */
	uint64_t miss;	    /* jmp *gs:[VCPU_MISS] */
	uint32_t *order;    /* owned: its blocks by address */
	uint32_t n_order, pad;
};

enum block_state {
	BLOCK_DEAD,
	BLOCK_LIVE,
	BLOCK_CHECKED, /* its code may change unseen: compared at each entry */
};

struct block {
	uint64_t pc;	   /* of the program */
	uint64_t start;	   /* first byte of hot code */
	uint64_t entry;	   /* for direct arrival */
	uint64_t plain;	   /* the same, if it is not to be counted */
	uint64_t indirect; /* for indirect arrival; 0: not made yet */
	uint64_t counted;  /* from here on the entry has been counted */
	uint8_t *side;	   /* borrowed: how to get back, see recover.c */
	uint8_t *bytes;	   /* BLOCK_CHECKED: the code as translated */
	uint32_t len;	   /* hot bytes */
	uint16_t guest_len, n_insns;
	uint16_t seen_len, pad2; /* bytes that it depends on */
	uint32_t incoming;	 /* exits linked here */
	uint32_t page_next[2];
	uint8_t state;	     /* enum block_state */
	uint8_t region;	     /* its number */
	uint8_t published;   /* it was put into the table once */
	uint8_t wants_flags; /* recorded: an indirect entry restores them */
};

struct exit {
	uint64_t target; /* guest pc */
	uint64_t site;	 /* its rel32 */
	uint64_t stub;
	uint32_t linked; /* block */
	uint32_t next;	 /* among those linked to the same block */
	uint8_t counts;	 /* the branch goes back: an instrument counts it */
	uint8_t lonely;	 /* never linked */
	uint8_t pad[6];
};

/* A load that is checked (mirror.c): what the engine needs at a miss. */
enum {
	SITE_FS = 1,
	SITE_ADDR32 = 2,
	SITE_GATHER = 8,  /* vcpu.gather says where */
	SITE_SPILLED = 4, /* r10 and rcx */
	SITE_ORDER = 16,  /* a ticket: vcpu.line; no load, unless .value */
};
struct site {
	uint64_t pc;	 /* of the instruction */
	uint64_t resume; /* host address to go on at */
	int64_t disp;	 /* with base X86_RIP: the address */
	uint8_t base, index, scale;
	uint8_t size;
	uint8_t value;	 /* register with what memory held, or X86_NOREG */
	uint8_t flags;	 /* SITE_* */
	uint8_t temp[2]; /* borrowed: in SPILL_ANY, SPILL_MORE */
	uint8_t flags_saved;
	uint8_t pad[7];
};

/* Of the index of blocks; number 0: removed. */
struct slot {
	uint64_t pc;
	uint32_t number, pad;
};

struct cache {
	struct pool blocks, exits, sites;
	struct bytes side;
	struct slot *slots; /* owned: blocks by pc */
	uint32_t n_slots, n_hashed;
	uint64_t *table;      /* owned: indirect branches; below 2 GiB */
	uint64_t *table_mask; /* in front of it: read by emitted code */
	uint64_t miss_entry;  /* what empty entries hold */
	uint32_t table_bits, table_bits_max, table_used, table_displaced;
	uint32_t by_pext; /* how the table is indexed: see translate.c */
	uint32_t by_loop; /* how indirect entries compare: likewise */
	uint32_t n_regions;
	uint32_t generation;   /* counts the flushes */
	uint64_t used;	       /* bytes of code */
	struct memory *memory; /* borrowed */
	struct region regions[CACHE_REGIONS];
};

int cache_start(struct engine *e);

/* Where code at `host`, in that region, may be written. */
static inline uint8_t *cache_writable(const struct region *r, uint64_t host)
{
	return (uint8_t *)(host + r->alias);
}

/* Is host in a region? Lock-free, for handlers. */
int cache_contains(const struct cache *c, uint64_t host);

/* The block whose hot code holds host; NULL. */
struct block *cache_block_at(struct cache *c, uint64_t host);

/* The living block that starts at pc; 0. */
uint32_t cache_find(struct cache *c, uint64_t pc);
/* So that cache_find finds it; cache_order: so that cache_block_at does. */
void cache_insert(struct cache *c, uint32_t number);
void cache_order(struct cache *c, uint32_t number);
void cache_kill(struct cache *c, uint32_t number);

static inline struct block *cache_block(struct cache *c, uint32_t number)
{
	return pool_at(&c->blocks, number);
}

static inline struct exit *cache_exit(struct cache *c, uint32_t number)
{
	return pool_at(&c->exits, number);
}

static inline struct site *cache_site(struct cache *c, uint32_t number)
{
	return pool_at(&c->sites, number);
}

/* A region for code at pc with room for at least `room` bytes; NULL. */
struct region *cache_region(struct engine *e, uint64_t pc, uint64_t room);

/* Points the exit to the block. 0, or -1: out of reach, or not to be linked. */
int cache_link(struct cache *c, uint32_t exit, uint32_t block);

/* Empties the cache once everybody else is out of it; the caller is. -1: they
 * did not come out in time, and all is as it was. C3. */
int cache_flush(struct engine *e, const struct vcpu *self);

/* Puts the block's indirect entry into the table. */
void cache_publish(struct cache *c, struct block *b);

#endif
