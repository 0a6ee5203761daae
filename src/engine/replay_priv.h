/* engine/replay_priv.h - what the parts of replay share.
 *
 *	replay.c	life, registers
 *	replay_code.c	blocks: made, found, forgotten
 *	replay_run.c	running to a position
 *	replay_loop.c	the same while nothing new comes up: the hot part
 *	replay_enter.S	into the program, and out of it */
#ifndef ENGINE_REPLAY_PRIV_H
#define ENGINE_REPLAY_PRIV_H

#include "engine/replay.h"

#include "engine/cache.h"

enum {
	NEARS = 1 << 14,  /* blocks that end at a wanted instruction */
	STARTS = 1 << 12, /* blocks that a run has begun with */
	PAGES = 1 << 16,  /* lists of blocks, by their pages */
};

/* A block that ends before `stop`, if it comes that far; 0: at any place. */
struct near {
	uint64_t pc, stop;
	uint32_t number, pad;
};

/* Of the shadow, and of the map: what lies at its end may reach beyond it. */
#define MAP_LEN (WIRE_SHADOW_SIZE + SLOT_SIZE)

struct replay {
	struct engine *e;    /* owned: all that is mapped is in its memory */
	struct vcpu *v;	     /* owned */
	uint8_t *slot;	     /* owned: with the shadow behind it */
	uint64_t mask;	     /* of components that this machine has */
	uint64_t counted;    /* instructions that were done here */
	struct near *nears;  /* owned */
	struct near *starts; /* owned */
	uint32_t *pages;     /* owned: the first block, 2 * number + which */
	struct wire_rec_state state;
	uint64_t count;
	replay_fetch *fetch;
	void *ctx;
	uint32_t size_of[64], at[64]; /* of components, in the xsave area */
	uint32_t has_left;    /* replay_loop: a block was left, and why is not
			       * dealt with */
	uint32_t was_near;    /* it was one of nears */
	uint32_t arrives;     /* any pc of the count will do */
	uint32_t has_emptied; /* since replay_forget_all_code */
	uint32_t steps;	      /* one instruction, whoever looks on */
	int signal;	      /* that it was left by; 0: none */
	uint8_t *map;	      /* owned: what was touched; NULL: not asked for */
	struct observe observe; /* its stops are owned */
	uint8_t
	    *present; /* owned: room for replay_zero(); NULL: none is kept */
};

/* -- replay.c -- */

/* Registers into the vcpu, and back; faults end the run meanwhile. */
void replay_begin(struct replay *r);
void replay_end(struct replay *r);
/* Flags that are the program's, but are not given to the CPU. AC would make
 * hark's own unaligned accesses fault. Where it made the program's fault the
 * log has a STATE, so nothing of the replay depends on it, and no instruction
 * that is replayed changes it. */
static inline uint64_t replay_held_flags(const struct replay *r)
{
	enum { FLAG_AC = 1 << 18 };

	return r->state.rflags & FLAG_AC;
}
/* Where len bytes of the shadow, from an index on, have their marks in the map:
 * in one piece, or in two around its end. They lie in the map, whatever the
 * recording says that len is. */
struct replay_span {
	uint64_t at, len;
};
unsigned replay_spans(uint32_t index, uint64_t len, struct replay_span out[2]);
/* Marks all of that. */
void replay_mark(struct replay *r, uint32_t index, uint64_t len, int mark);

/* -- replay_pages.c -- */

/* A shadow, or a map. */
void replay_zero(struct replay *r, uint8_t *at);

/* -- replay_code.c -- */

static inline struct near *near_at(const struct replay *r, uint64_t pc,
				   uint64_t stop)
{
	uint64_t key =
	    (pc ^ stop * 0x9e3779b97f4a7c15ull) * 0x9e3779b97f4a7c15ull;

	return stop != 0 ? &r->nears[key >> 50 & (NEARS - 1)]
			 : &r->starts[key >> 52 & (STARTS - 1)];
}

static inline int near_is(const struct replay *r, const struct near *n,
			  uint64_t pc, uint64_t stop)
{
	return n->number != 0 && n->pc == pc && n->stop == stop &&
	       cache_block(r->e->cache, n->number)->state != BLOCK_DEAD;
}

/* The block at vcpu.pc: one that ends before stop, or (0) any. 0: there is no
 * code, or no memory. */
uint32_t replay_near_block(struct replay *r, uint64_t stop);
uint32_t replay_blind_block(struct replay *r, uint64_t stop);
uint32_t replay_start_block(struct replay *r);
uint32_t replay_block(struct replay *r, int indirect);
/* Forgets all. */
int replay_empty(struct replay *r);

/* -- replay_loop.c, replay_enter.S -- */

/* Runs to each of n and fills it in, as long as no new block is needed and
 * nothing happens that C must see to: how many. Then .has_left. */
unsigned replay_loop(struct replay *r, const struct replay_fill *fills,
		     unsigned n);
/* The same, with the program's extended registers in the CPU meanwhile. */
unsigned replay_loop_enter(struct replay *r, const struct replay_fill *fills,
			   unsigned n, struct vcpu *v, uint64_t mask);
/* From vcpu.enter until it leaves; extended registers are the program's. */
void replay_cross(struct vcpu *v);
void replay_enter(struct vcpu *v, uint64_t mask);
extern const uint8_t replay_leave[] __attribute__((visibility("hidden")));
extern const uint8_t replay_cross_leave[] __attribute__((visibility("hidden")));
extern const uint8_t engine_miss[] __attribute__((visibility("hidden")));

#endif
