/* travel/races.h - accesses that nothing puts in order.
 *
 *	races.c		the question; which words and bytes matter
 *	races_plain.c	which plain instructions act on such words
 *	races_run.c	all threads together, region by region
 *	races_code.c	which instructions synchronise, by themselves
 *	races_calls.c	which system calls do
 *	races_shared.c	which bytes several threads touch, and one writes
 *	races_poll.c	which of these were touched since the last look
 *	races_clock.c	what comes before what: vector clocks
 *	races_tell.c	which instructions it was
 *	races_values.c	what a word may hold, then
 *
 * WHAT ORDERS. A thread's life is cut in regions by what synchronises it:
 *	a locked instruction takes over what the threads knew that have used
 *	  the same 8 bytes so before, and gives what its own knows;
 *	a plain store of up to 8 bytes to where locked instructions are used,
 *	  too, gives; a plain load takes (that is what atomic variables are
 *	  made of on this machine);
 *	a thread begins with what its maker knew, and gives when it ends to
 *	  whoever looks at the word that the kernel then sets to 0;
 *	a futex wake gives, a wait takes; a call that sends something to others
 *	  (write, kill...) gives to any that receives something (read, poll,
 *	  the begin of a handler...); memory that was given back is taken anew.
 * WHAT DOES NOT. That one thing happened before the other, as clocks tell; that
 * both made some system call; that a load saw what a store had left: it might
 * have seen something else the next time. The order of turns (record/order.h)
 * says in which order all of this is looked at, and is never a reason itself.
 *
 * Addresses are told apart by their low 32 bits, as in the shadow, until it is
 * known which instructions touch them. Private to this folder. */
#ifndef TRAVEL_RACES_H
#define TRAVEL_RACES_H

#include "travel/runner.h"
#include "travel/timeline.h"
#include "travel/touch.h"

enum { GRANULE = 8, GRANULE_BITS = 3 };

/* A set of numbers: open addressing; 0 is none of them. */
struct numbers {
	uint64_t *slots; /* owned */
	size_t n, size;
};
int numbers_add(struct numbers *s, uint64_t number, struct hark_err *err);
int numbers_have(const struct numbers *s, uint64_t number);
/* In ascending order, for the caller to free. */
int numbers_list(const struct numbers *s, uint64_t **out, size_t *n,
		 struct hark_err *err);
void numbers_free(struct numbers *s);

/* -- races_code.c -- */

/* Adds the addresses of all locked instructions of a process. */
int races_locked(struct recording *r, uint32_t process, struct numbers *out,
		 struct hark_err *err);

/* What the instruction that is next does to memory, as far as it may
 * synchronise: of at most 8 bytes. */
struct races_op {
	uint64_t address;
	uint32_t size;
	uint32_t is_locked, loads, stores;
};
/* 0: nothing. */
int races_op_at(struct runner *x, struct races_op *out);

/* -- races_calls.c -- */

/* Things that calls take from and give to, besides addresses of words. */
enum {
	RACES_KERNEL = 1, /* whatever is sent and received */
	RACES_MEMORY = 2, /* mappings */
};
#define RACES_BIRTH (1ull << 63) /* plus the thread's id */
struct races_call {
	uint64_t gives[2], takes[2]; /* 0: nothing */
	uint64_t ends;		     /* the word that tells of an end */
};
/* At a CALL. */
void races_call(const struct runner *x, struct races_call *out);

/* -- races_shared.c -- */

/* One bit a byte, by page of the low 32 bits of addresses. */
struct shared; /* opaque */
struct shared *shared_new(void);
void shared_free(struct shared *s);
/* What the runner has marked belongs to the present thread, and is taken away.
 * how: OBSERVE_LOADS or OBSERVE_STORES. */
int shared_take(struct shared *s, const struct runner *x, unsigned how,
		struct hark_err *err);
/* What it has marked so far is nobody's. */
void shared_forget(const struct runner *x);
/* The present thread is done; another one is next. */
void shared_next(struct shared *s);
/* Granules (addresses / 8, of their low 32 bits) with bytes that one thread has
 * written and another touched, but none of `except` (each plus 1); ascending,
 * for the caller to free. */
int shared_granules(const struct shared *s, const struct numbers *except,
		    uint32_t **out, size_t *n, struct hark_err *err);

/* -- races_poll.c -- */

struct poll; /* opaque */
/* Granules are copied. */
int poll_new(const uint32_t *granules, size_t n, struct poll **out,
	     struct hark_err *err);
void poll_free(struct poll *p);
/* Those that are marked, and which of their bytes; marks are taken away. Not 0
 * from each ends it, and is returned. */
typedef int poll_each(void *ctx, uint32_t granule, uint8_t mask);
int poll_marks(struct poll *p, const struct runner *x, poll_each *each,
	       void *ctx);

/* -- races_clock.c -- */

struct clocks; /* opaque */
struct clocks *clocks_new(unsigned n_threads);
void clocks_free(struct clocks *c);
/* What a thread knows of each; of itself: the present time. */
const uint32_t *clocks_of(const struct clocks *c, unsigned thread);
/* 1: it has learnt something. */
int clocks_take(struct clocks *c, unsigned thread, uint64_t thing);
int clocks_give(struct clocks *c, unsigned thread, uint64_t thing,
		struct hark_err *err);
/* A thread has touched bytes of a granule in one of its regions. `each` hears
 * of every region of others that did so, one of the two by stores, and is not
 * before it. Not 0 from it: -1, and *err is its own matter. */
struct clocks_touch {
	uint32_t region;
	uint8_t loads, stores; /* one bit a byte */
};
typedef int clocks_each(void *ctx, uint32_t granule, uint32_t other_region,
			uint8_t bytes);
int clocks_touch(struct clocks *c, unsigned thread, uint32_t granule,
		 const struct clocks_touch *what, clocks_each *each, void *ctx,
		 struct hark_err *err);

/* -- races_tell.c -- */

struct region {
	uint64_t count, pc;	    /* from */
	uint64_t end_count, end_pc; /* up to */
	uint32_t lane;
};
/* All touches of some granules in a region, in their order. The walker is
 * before the instruction. Not 0 from each ends it; < 0 is an error. */
enum { RACES_AT_ONCE = 3 };
struct range {
	uint32_t granule, n;
};
typedef int races_each_touch(void *ctx, struct walker *w,
			     const struct touch *touch);
int races_scan(struct timeline *t, const struct region *r,
	       const struct range *ranges, unsigned n, races_each_touch *each,
	       void *ctx, struct hark_err *err);

/* Pairs of regions that touch a granule, and nothing puts in order. */
enum { RACES_EXAMPLES = 4 };
struct conflict {
	uint32_t granule;
	uint32_t lanes[2];
	uint32_t n_examples;
	uint32_t examples[RACES_EXAMPLES][2]; /* regions */
	uint64_t times;
};
struct conflicts {
	struct conflict *at; /* owned */
	size_t n, room;
	uint32_t *slots; /* owned: by granule and lanes, plus 1; 0: free */
	size_t n_slots;
	struct region *regions; /* owned */
	size_t n_regions, room_regions;
};
/* 1: there were some. */
int races_tell(struct timeline *t, const struct conflicts *c,
	       hark_each_race *each, void *ctx, struct hark_err *err);

/* -- races.c -- */

/* What a region has touched of the granules in question. */
struct mark {
	uint32_t granule;
	uint8_t bytes[2]; /* loads, stores */
};
/* A region is over, and its thread's clock was this. */
typedef int races_each_region(void *ctx, const struct region *r,
			      const uint32_t *clock, const struct mark *marks,
			      size_t n, struct hark_err *err);

/* Runners that have done with a thread. */
enum { RACES_SPARE = 8 };
struct spare {
	struct runner *runners[RACES_SPARE]; /* owned */
	unsigned n;
};

struct races {
	struct timeline *t;
	struct spare spare[2]; /* by kind */
	struct numbers stops;  /* instructions that may synchronise */
	struct numbers words;  /* they act on: addresses */
	struct numbers spoilt; /* their granules, plus 1 */
	uint64_t *stop_list;   /* owned */
	size_t n_stops;
	uint32_t *granules; /* owned: that are shared */
	size_t n_granules;
	struct region alone; /* its end is where the second thread was made */
	races_each_region *each; /* NULL: conflicts are looked for */
	void *ctx;
};

int races_no_memory(struct hark_err *err); /* always -1 */
/* Which words and instructions synchronise; .granules is made. */
int races_prepare(struct races *r, struct hark_err *err);
void races_finish(struct races *r);
/* What stops are known now, in .stop_list. */
int races_list_stops(struct races *r, struct hark_err *err);
/* With all stops set. kind: OBSERVE_*. */
int races_runner(struct races *r, const struct lane *l, unsigned kind,
		 struct runner **out, struct hark_err *err);
/* It is not needed any more. */
void races_spare(struct races *r, unsigned kind, struct runner *x);
/* Is it the one that all others come from? Then whatever it does before it
 * makes the first of them is before everything that they do. */
int races_begins_alone(const struct timeline *t, const struct lane *l);
/* At a CALL: does it make another thread? */
static inline int races_makes_thread(const struct races_call *c)
{
	return (c->gives[0] & RACES_BIRTH) != 0;
}
/* Stops that only load, and again and again nothing new: how often before
 * they are hushed. It takes as long as so many stops. */
enum { RACES_PATIENCE = 256 };
/* A lane's scout is not needed any more: there may be thousands. */
void races_leave(struct timeline *t, uint32_t lane);
/* The word that an address is in. */
static inline uint64_t races_word(uint64_t address)
{
	return address & ~(uint64_t)(GRANULE - 1);
}

/* -- races_plain.c, races_run.c -- */

int races_plain(struct races *r, struct hark_err *err);
int races_conflicts(struct races *r, struct conflicts *out,
		    struct hark_err *err);

#endif
