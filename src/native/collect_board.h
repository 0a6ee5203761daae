/* native/collect_board.h - how a board is laid out, and the parts of the
 * collector.
 *
 *	board	head, what is cleared when, accounts of hits without an area,
 *		globals, associative arrays, speculations, parts
 *	part	struct collect_part, slots (accounts), rows (aggregations),
 *		ring (records): what hark reads of a thread
 *	area	struct collect_area, ways, rows without a key, self-> and
 *		this->, work, scratch, side (output of a speculating clause):
 *		what the thread goes by
 *
 * Board and parts are shared, and hold offsets only, so that processes and hark
 * may have them mapped anywhere. Areas are private, one for each part, and hold
 * addresses. A child of fork has none: they are zero there.
 *
 * D1  Any process that has the board may write anything to it, at any time.
 *     What is read there is a number to reckon with, never an address or a
 *     length: those are in areas, or computed from the plan. Where an offset
 *     is read (rows, arrays, speculations), it is read once, and checked
 *     against the memory that it is in before it is used. */
#ifndef NATIVE_COLLECT_BOARD_H
#define NATIVE_COLLECT_BOARD_H

#include "native/collect.h"
#include "unwind/unwind.h"
#include "wire/run.h"

#define COLLECT_BOARD_MAGIC 0x6472616f62627270ull /* "prbboard" */

enum {
	COLLECT_SCRATCH = 128 * 1024,
	COLLECT_PATIENCE = 1 << 16, /* times a lock is tried */
	COLLECT_COMMITS = 4,	    /* of one clause */
	COLLECT_NAME = 16,	    /* of a thread */
	COLLECT_LEAN = 4096,	    /* instructions that are decoded at most */
};

/* Why something was dropped. ORDER collect_reason: board.c has the texts. */
enum collect_reason {
	COLLECT_NO_AREA,	/* more threads than areas */
	COLLECT_NO_RECORD,	/* the ring is full */
	COLLECT_NO_ROW,		/* no room for a new key of an aggregation */
	COLLECT_NO_CELL,	/* no room for a new key of an array */
	COLLECT_LOCKED,		/* a lock could not be had in time */
	COLLECT_BUSY,		/* speculation(): none was free */
	COLLECT_NO_SPECULATION, /* a speculation's buffer is full */
	COLLECT_NO_COMMIT,	/* no room for what was committed */
	COLLECT_NO_FAULT,	/* the record of a fault found no room */
	COLLECT_PASSED,		/* nothing was: ticks of the clock passed */
	COLLECT_MISSED,		/* ticks on which profile-N did not fire */
	COLLECT_REASONS
};

/* -- The board's head -- */

struct collect_lock {
	uint32_t word;	     /* 0, or the number of an area plus 1 */
	uint32_t impatience; /* how much less than COLLECT_PATIENCE */
};

struct collect_arrays; /* collect_array.c */

/* Whoever has changed the loader's list takes a number, and waits until hark
 * has seen to it. Atomic, all. */
struct collect_loader {
	uint32_t asked;
	uint32_t done; /* a futex */
	uint32_t away; /* hark does not answer: nobody waits */
};

/* As many as threads can wait at once. */
enum { COLLECT_LOADING = 1024 };

struct collect_board {
	uint64_t magic;
	uint32_t version;
	uint32_t high; /* areas below may have been used */
	/* A ring has much in it: the bell is a futex; hark sleeps on it. */
	uint32_t bell, sleeping;
	struct collect_lock arrays;
	uint32_t ended; /* how many threads gave their area back */
	struct collect_loader loader;
	uint32_t exec_serial; /* of the last request in .execs: counts up */
	uint32_t exec_missed; /* how many have not waited any longer */
	uint32_t given;	      /* patches that were given up: rewrite.c */
	uint8_t pad[60];
	/* Threads that are about to execute another program, and wait: requests
	 * as in wire/run.h. */
	uint64_t execs[WIRE_ASKS];
	uint64_t reasons[COLLECT_REASONS]; /* of threads without an area */
	struct collect_account samples;	   /* likewise */
	uint64_t ticks;			   /* likewise */
	/* Which process has taken a number of .loader; 0: it has not said. */
	uint32_t loading[COLLECT_LOADING];
};

/* -- Of an area -- */

/* What .uses of a slot says. */
enum {
	/* of SLOT_GENERAL: bit k stands for argument k */
	SLOT_STACK_ARGS = 0x3c0,
	SLOT_ARGS = 0x3ff,
	SLOT_UREGS = 0x400,
	/* of the others: a register of the program, or whatever the clause
	 * says */
	SLOT_REGISTER = 15,
	SLOT_SOURCE = 16,
};

/* An instruction of a clause that needs no machine: collect_lean.c. */
struct collect_lean {
	uint8_t op, d, a, b;
	int32_t imm;
	uint64_t at; /* a number, or where it is */
};

/* The beginning of a part. */
struct collect_part {
	/* Low two bits: 0 free, 1 taken, 2 about to be; above them a number
	 * that grows with each owner. Atomic. */
	uint32_t owner;
	uint32_t pid, tid; /* of the owner, as it numbers itself */
	uint32_t zero;
	uint64_t hook; /* in a hooked system call: its struct probe_frame */
	uint64_t reasons[COLLECT_REASONS];
	struct collect_account samples;
	/* Of COLLECT_CHECKS. */
	uint64_t checked, differing;
};

/* In collect_area.collector. */
struct collect_state {
	uint64_t work; /* offset from the area */
	/* Of the last sample of each map: 0: none; and whose they are. */
	uint32_t depth[UNWIND_MAPS];
	uint32_t sampled; /* as .owner */
	/* The last sample took too long; ticks that are let pass therefore,
	 * and that were since the last sample. */
	uint32_t slow, pause, passed;
	uint64_t ticks;	    /* of its clock, so far: collect_profile.c */
	uint32_t differing; /* samples: of the first, hark gets to know more */
	/* A child of vfork may have the area; or its owner has come back, and
	 * has not been in a probe since: collect_ids(). */
	uint32_t lent;
	uint32_t has_bases; /* it is entered by more than one fs base */
};
_Static_assert(sizeof(struct collect_state) <=
		   sizeof((struct collect_area *)0)->collector,
	       "fits");

/* Rows follow each other in .used bytes behind the buckets; they are never
 * moved nor taken back. min and max have two sets of cells, which take turns:
 * see collect_row.c. */
struct collect_rows {
	uint32_t used; /* bytes: published */
	uint32_t zero[3];
	uint32_t bucket[]; /* offset of a row behind them, plus 1 */
};

struct collect_row {
	uint32_t size; /* with this head, key, cells; a multiple of 8 */
	uint32_t aggregation;
	uint32_t key_len; /* a multiple of 8 */
	uint32_t next;	  /* in its bucket; as .bucket */
	uint32_t hash;
	uint32_t generation[2]; /* of min and max: of each set of cells */
	uint32_t zero;
	uint64_t sequence; /* odd: the cells are being changed */
			   /* key, cells */
};

enum collect_record_kind {
	COLLECT_RECORD = 1,
	COLLECT_FAULT,
	COLLECT_PAD, /* only .size and .kind are there */
	COLLECT_SAMPLE,
	COLLECT_DIFFERENCE,
};

struct collect_record {
	uint32_t size; /* with this head; a multiple of 8 */
	uint32_t kind;
	uint32_t site, clause;
	uint64_t time_ns;
	uint32_t tid, pid;
	/* entries; or five numbers, of a fault */
};
_Static_assert(sizeof(struct collect_record) == 32, "layout");

/* Of a COLLECT_SAMPLE: one part of a stack, or all of it. */
struct collect_sample {
	uint32_t map;	/* which of the thread's stacks: unwind/unwind.h */
	uint32_t kept;	/* frames, from the outermost on, that are as before */
	uint32_t depth; /* frames of the whole stack */
	uint32_t from;	/* the first frame of this part; .kept: the first */
	uint32_t n;	/* frames of this part; up to .depth: the last */
	uint8_t end, zero[3];
	uint32_t ticks; /* that it stands for */
	uint32_t owner; /* as the area has it: another one, another thread */
	uint64_t check; /* .hash of the walk; 0: it was not made, or differs */
			/* frames, as unwind_word() has them */
};
_Static_assert(sizeof(struct collect_sample) == 40, "layout");

/* Of a COLLECT_DIFFERENCE. */
enum { COLLECT_WORDS = 32 };
struct collect_difference {
	struct unwind_check check;
	uint32_t map, kept, depth, end; /* of the sample */
	uint64_t pc, sp, rbp;		/* at its top */
	uint64_t words[COLLECT_WORDS];	/* of the stack, at .check.sp */
};
_Static_assert(sizeof(struct collect_difference) % 8 == 0, "a record");

/* Records of [tail, head) are whole, one behind the other; none goes over the
 * end of a chunk. hark moves tail with COLLECT_SWITCH, the thread with
 * COLLECT_RING, nobody with COLLECT_FILL. Byte p of all that was ever written
 * is at p % chunk in the chunk that .order has for p / chunk. */
enum {
	COLLECT_CHUNKS = 256,	      /* of a ring, at most */
	COLLECT_CHUNK_MIN = 64 << 10, /* bytes, if there are several */
	COLLECT_BELL = 256 << 10,     /* bytes that hark is told of */
};
struct collect_ring {
	uint64_t head; /* bytes ever written: published */
	/* As struct collect_pen has it, for the next owner. */
	uint32_t at, left, n_touched, is_full, tail_at;
	uint8_t pad[36];
	uint64_t tail;
	uint8_t more_pad[56];
	uint16_t order[COLLECT_CHUNKS]; /* of chunk number k: [k % n_chunks] */
					/* bytes */
};
_Static_assert(sizeof(struct collect_ring) ==
		   128 + COLLECT_CHUNKS * sizeof(uint16_t),
	       "two lines, and the order");

/* How a thread goes on writing its ring. */
struct collect_pen {
	uint64_t head, tail; /* tail: not of COLLECT_SWITCH */
	uint64_t rung;	     /* the tail at which the bell was rung, plus 1 */
	uint32_t size, at;   /* at: where the next record goes */
	uint32_t left;	     /* of the chunk, from there on */
	uint32_t chunk;	     /* bytes */
	uint32_t n_chunks;   /* size / chunk */
	uint32_t n_touched;  /* those below have been used */
	uint32_t is_full;    /* COLLECT_FILL; or it is not what it was */
	uint32_t tail_at;    /* COLLECT_RING: tail % size */
	uint16_t order[COLLECT_CHUNKS];
};

enum collect_speculating {
	SPECULATION_IDLE,
	SPECULATION_ACTIVE,
	SPECULATION_COMMITTING,
};

struct collect_speculation {
	struct collect_lock lock;
	uint32_t state; /* enum collect_speculating */
	uint32_t used;	/* bytes of records */
	uint32_t turn;	/* grows when it is free again */
	uint32_t zero;
	/* records */
};

/* -- Where everything is -- */

struct collect_layout {
	/* On the board. */
	uint64_t generations; /* uint32_t of each aggregation */
	uint64_t nobody;      /* struct collect_account of each site */
	uint64_t numbers, texts;
	uint64_t arrays, speculations, speculation_stride;
	uint64_t parts, part_stride;
	uint64_t size;
	/* In a part. */
	uint64_t slots, rows, ring, ring_bytes;
	uint32_t ring_size, n_chunks, n_buckets;
	/* In an area. */
	uint64_t ways, singles, lean;
	uint64_t self_numbers, self_texts, this_numbers, this_texts, this_end;
	uint64_t work, scratch, side;
	uint64_t area_stride;
};

void collect_layout(const struct collect_geometry *g,
		    const struct probe_program *p, struct collect_layout *out);

static inline const struct probe_program *
collect_program(const struct collect_plan *plan)
{
	return collect_at(plan, plan->program.offset);
}

/* The number of one clause at one site: never 0. */
static inline uint64_t collect_epid(const struct probe_program *p,
				    uint32_t site, uint32_t clause)
{
	return (uint64_t)site * p->clauses.n + clause + 1;
}

/* -- A thread at work -- */

struct collect_work {
	struct machine_host h; /* first */
	const struct collect_plan *plan;
	struct collect_board *board;
	struct collect_area *area;
	struct collect_part *part;
	struct collect_state *state;
	struct collect_slot *slots;
	uint32_t *generations;
	uint64_t *singles;
	struct collect_lean *lean; /* by the number of an instruction */
	struct collect_rows *rows;
	uint32_t rows_size, n_buckets; /* a power of two */
	struct collect_ring *ring;
	struct collect_pen pen;
	uint8_t *bytes; /* of the ring */
	uint8_t *side;
	struct collect_arrays *arrays;
	uint32_t arrays_size, n_array_buckets;
	uint8_t *speculations;
	uint64_t speculation_stride;
	struct collect_outside *outside; /* hark's; else NULL */
	uint64_t random;

	/* Of this hit. */
	const struct collect_site *site;
	const struct probe_frame *frame;
	uint64_t timestamp, vtimestamp; /* 0: not yet asked for */
	uint64_t time_ns;		/* what .timestamp begins with */
	enum machine_end worst;
	/* Of this clause. */
	uint32_t clause;
	uint32_t speculating; /* or 0 */
	uint32_t turn;	      /* of what it speculates */
	uint32_t commit[COLLECT_COMMITS], n_commits;
	bool is_lacking; /* something found no room */
	bool has_cell;	 /* the lock of the arrays is held */

	char name[COLLECT_NAME];
	uint64_t args[PROBE_ARGUMENTS], uregs[PROBE_UREGS];
	uint64_t frames[PROBE_FRAMES_MAX];
};

/* Memory of one writer that hark reads. */
// NOLINTNEXTLINE(readability-non-const-parameter): it is stored to
static inline void collect_add(uint64_t *to, uint64_t n)
{
	__atomic_store_n(to, __atomic_load_n(to, __ATOMIC_RELAXED) + n,
			 __ATOMIC_RELAXED);
}

static inline void *collect_in(void *base, uint64_t offset)
{
	return (uint8_t *)base + offset;
}

static inline struct collect_part *collect_part(const struct collect_area *area)
{
	return (struct collect_part *)(uintptr_t)area->part;
}

static inline struct collect_state *collect_state(struct collect_area *area)
{
	return (struct collect_state *)(void *)area->collector;
}

static inline struct collect_work *collect_work(struct collect_area *area)
{
	return collect_in(area, collect_state(area)->work);
}

/* Something found no room: the hit counts as dropped. */
static inline void collect_lack(struct collect_work *w,
				enum collect_reason reason)
{
	w->is_lacking = true;
	collect_add(&w->part->reasons[reason], 1);
}

/* -- Parts -- */

/* collect_enter.S calls these. */
struct collect_area *collect_fire(struct probe_frame *frame,
				  const struct collect_site *site,
				  struct collect_area *area);
struct collect_area *collect_fire_rest(struct probe_frame *frame,
				       const struct collect_site *site,
				       struct collect_area *area);
void collect_recursed(const struct collect_site *site,
		      struct collect_area *area);
struct collect_area *collect_new(const struct collect_site *site, uint64_t fs);
/* The process and thread that are in a probe with this area: its owner's, or
 * those of a child of vfork that has it meanwhile. */
struct collect_ids {
	uint32_t pid, tid;
};
struct collect_ids collect_ids(struct collect_area *area);
/* One site of many that fire together, at that time; .busy is set. */
void collect_fire_at(struct collect_area *area, const struct collect_site *site,
		     const struct probe_frame *frame, uint64_t time_ns);

/* collect_thread.c: area and work are made ready for a new owner. */
void collect_area_init(const struct collect_plan *plan,
		       struct collect_board *board, struct collect_area *area,
		       struct collect_part *part, uint32_t number);

/* A hit of a thread that finds no area. */
void collect_nobody(const struct collect_plan *plan,
		    const struct collect_site *site);

/* collect_clause.c: a machine whose host is the collector. */
void collect_host(struct collect_work *w, const struct collect_layout *l);
/* Before the clauses of a hit. this-> is empty. */
void collect_begin(struct collect_work *w, const struct collect_site *site);
/* One clause, and what it puts out. */
enum machine_end collect_clause(struct collect_work *w, uint32_t number);
/* Which arguments they look at, and whether at uregs[]. */
uint32_t collect_uses(const struct probe_program *p, const uint32_t *clauses,
		      uint64_t n);

/* collect_lean.c: can it do all of w->site's clauses? Then they are decoded,
 * and the way says where. */
bool collect_is_lean(struct collect_work *w, struct collect_way *way,
		     const uint32_t *clauses);
/* A hit of w->site, which is. */
enum machine_end collect_run_lean(struct collect_work *w,
				  const struct collect_way *way);

/* collect_builtin.c */
uint64_t collect_time(const struct collect_clock *c);
uint64_t collect_builtin(struct machine_host *h, enum probe_builtin what);
const char *collect_builtin_text(struct machine_host *h,
				 enum probe_builtin what);
uint64_t collect_argument(const struct collect_area *area,
			  const struct collect_site *site,
			  const struct probe_frame *frame, unsigned k);
static inline uint64_t collect_now(struct collect_work *w)
{
	if (w->timestamp == 0)
		w->timestamp = collect_time(&w->plan->clock);
	return w->timestamp;
}
void collect_uregs(const struct collect_work *w, uint64_t *out);

/* collect_row.c: NULL means that there is no room. */
struct collect_row *collect_row(struct collect_work *w, uint32_t aggregation,
				const uint8_t *key, uint32_t len);
/* Of a row with a key of that length, which the caller knows: D1. */
static inline uint64_t *collect_cells(struct collect_row *row, uint32_t key_len)
{
	return (uint64_t *)(void *)((uint8_t *)(row + 1) + key_len);
}
static inline bool collect_takes_turns(const struct probe_aggregation *a)
{
	return a->how == PROBE_MIN || a->how == PROBE_MAX;
}
void collect_aggregate(struct machine_host *h, uint32_t aggregation,
		       const uint8_t *key, uint32_t len, int64_t value,
		       int64_t weight);

/* collect_array.c */
void *collect_cell(struct machine_host *h, uint32_t variable,
		   const uint8_t *key, uint32_t len, bool create);
void collect_cell_done(struct machine_host *h);
void collect_forget(struct machine_host *h, uint32_t variable,
		    const uint8_t *key, uint32_t len);
uint32_t collect_array_buckets(uint32_t size);

/* collect_lock.c */
bool collect_lock(struct collect_lock *l, uint32_t area);
void collect_unlock(struct collect_lock *l);

/* collect_loader.c: the thread waits, for a while, until hark knows. */
void collect_tell_loaded(struct collect_work *w);
bool collect_hark_is_dead(const struct collect_plan *plan);

/* collect_record.c: goes on where the owner before has left off. */
void collect_pen_init(struct collect_work *w, const struct collect_layout *l);
/* Room for len bytes behind a record's head, or NULL. The
 * head is filled in and the record is there for hark with collect_put(). */
uint8_t *collect_reserve(struct collect_work *w, uint32_t len);
void collect_put(struct collect_work *w, enum collect_record_kind kind,
		 uint32_t len);
/* The record whose head is filled in, of that many bytes in all. */
void collect_publish(struct collect_work *w, uint32_t size);
/* Wakes hark. */
void collect_ring(struct collect_board *b);
void collect_head(struct collect_work *w, struct collect_record *r,
		  enum collect_record_kind kind, uint32_t len);
/* A record that is whole already. */
bool collect_put_copy(struct collect_work *w, const void *record,
		      uint32_t size);

/* collect_sample.c: in a signal handler, with all signals blocked. */
struct unwind_maps *collect_maps(struct collect_area *area);
struct unwind_cache *collect_cache(const struct collect_plan *plan);
enum collect_fate {
	FATE_RECORDED,
	FATE_DROPPED,
	FATE_RECURSED,
	FATE_FAULTED,
};
/* C1 holds for samples, too. NULL: of a thread without an area. */
void collect_sampled(const struct collect_plan *plan, struct collect_area *area,
		     enum collect_fate fate);
enum collect_fate collect_put_sample(struct collect_area *area,
				     uint64_t time_ns,
				     const struct unwind_sample *s,
				     uint64_t check);
/* A sample was checked; NULL: it is right. Of the first few that are not, hark
 * gets to know more. */
void collect_checked(struct collect_area *area, uint64_t time_ns,
		     const struct collect_difference *d);
/* A tick comes: is it let pass? And how long the sample took that was not, by
 * the stopwatch. */
bool collect_passes(struct collect_area *area);
uint64_t collect_stopwatch(struct collect_area *area);
/* So many ticks have passed by themselves. */
void collect_overran(struct collect_area *area, uint32_t n);
void collect_took(struct collect_area *area, uint64_t ns);
/* The next one is whole. */
void collect_forget_sample(struct collect_area *area);

/* collect_profile.c: a tick, likewise. All profile-N that are due fire; or
 * could not, for the thread was in a probe; or for it has no area. */
void collect_profile(struct collect_area *area, const struct probe_frame *frame,
		     uint64_t time_ns);
void collect_profile_recursed(struct collect_area *area);
void collect_profile_nobody(const struct collect_plan *plan);

/* collect_speculation.c */
uint64_t collect_speculation(struct machine_host *h);
bool collect_speculate(struct machine_host *h, uint64_t id, uint32_t need);
void collect_commit(struct machine_host *h, uint64_t id);
void collect_discard(struct machine_host *h, uint64_t id);
/* The clause is done: what it put out is added, what it committed is copied. */
void collect_keep(struct collect_work *w);
void collect_copy_commits(struct collect_work *w);

#endif
