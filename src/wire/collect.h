/* wire/collect.h - what hark and a probed process share.
 *
 * Probes are planned by hark and run by the program's own threads. Between
 * them is memory of seven kinds, each with one owner:
 *
 *	image	code: handler, machine, signals		read, execute
 *	plan	what hark says: sites, script, tables	read (hark writes)
 *	board	what the threads say: counts, records	shared, written
 *	home	what the process keeps for itself	private, copied by fork
 *	table	who its threads are			private, zero after fork
 *	work	what their stacks were like		likewise; if sampled
 *	own	what its threads go by: struct collect_area	likewise
 *
 * and the trampolines, near the code that they serve. The plan begins with
 * struct collect_plan; all else in it is found through struct collect_index,
 * which is replaced as a whole when a library comes or goes: whoever has read
 * .index sees one state of it. Nothing that an older index refers to is ever
 * overwritten: a child of fork, whose libraries are those of that moment, goes
 * on with the index that its home had then.
 *
 * Any process of a session may write anything to the board. hark believes
 * nothing that it holds, and neither do the threads: whatever they follow as an
 * address, or take for a length, is in own, or is checked at each use
 * (docs/security.md). Pure layouts. */
#ifndef WIRE_COLLECT_H
#define WIRE_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#define COLLECT_MAGIC 0x6e616c70626f7270ull /* "probplan" */

enum { COLLECT_VERSION = 8 };

/* n things at an offset of the plan. */
struct collect_span {
	uint64_t offset, n;
};

/* -- Where a probe's arguments are -- */

enum collect_place {
	COLLECT_NOWHERE, /* 0 */
	COLLECT_CONST,	 /* .value */
	COLLECT_REG,	 /* the low .size bytes of .base, from byte .high on */
	COLLECT_MEM,	 /* at .segment + .base + (.index << .scale) + .value */
};
enum { COLLECT_NOREG = 0xff };		       /* as a base, an index */
enum { COLLECT_FLAT, COLLECT_FS, COLLECT_GS }; /* ORDER usdt_segment */

struct collect_arg {
	uint8_t place; /* enum collect_place */
	uint8_t size;  /* 1, 2, 4, 8 */
	uint8_t is_signed;
	uint8_t base, index, scale, high; /* registers by hardware number */
	uint8_t segment;
	int64_t value;
};

/* -- Sites -- */

enum collect_kind {
	COLLECT_ENTRY,	/* arg0.. as a function gets them */
	COLLECT_RETURN, /* arg0: offset in the function, arg1: rax */
	COLLECT_INSIDE, /* no arguments */
	COLLECT_USDT,	/* .args */
	COLLECT_LOADER, /* its list of libraries has changed: hark is told */
	COLLECT_CLOCK,	/* none: a clock fires it; arg1: the pc */
};

/* One probe: a name, an instruction, the clauses that want it. Several probes
 * of one instruction are chained. A trampoline's cookie is the address of the
 * first one in the target. */
struct collect_site {
	uint64_t plan;	   /* struct collect_plan, in the target */
	uint64_t next;	   /* struct collect_site, in the target; 0: none */
	uint64_t pc;	   /* of the instruction */
	uint64_t function; /* where it begins */
	uint32_t number;   /* of all sites: its accounting */
	uint32_t kind;	   /* enum collect_kind */
	struct collect_span clauses; /* uint32_t: numbers of clauses */
	struct collect_span args;    /* struct collect_arg */
	/* provider, module, function, name: offsets of texts in the plan */
	uint64_t text[4];
};

/* One that a clock fires, which interrupts the thread. The clock ticks as often
 * as the most frequent of them; the others have some of its ticks. */
struct collect_profile {
	uint64_t site; /* offset of a struct collect_site */
	uint64_t period_ns;
};

/* -- For signals -- */

/* One trampoline; they ascend by address. */
struct collect_code {
	uint64_t start;
	uint32_t len, zero;
	uint64_t trampoline; /* offset of a struct trampoline */
};

/* An address at which a byte of ours traps; they ascend. */
struct collect_trap {
	uint64_t pc;
	uint64_t resume; /* where the thread goes on */
};

/* -- For stacks: a module's call-frame rules; they ascend -- */

enum { COLLECT_BLOCK = 128 }; /* bytes of code */

struct collect_frames {
	uint64_t start, end; /* of its code, at run time */
	uint64_t bias;
	uint64_t table;	 /* offset of a struct frame_table; 0: no rules */
	uint64_t blocks; /* offset of uint32_t: for each block from start on,
			  * and for the end, how many rows begin before it */
};

struct collect_index {
	struct collect_span sites;   /* struct collect_site */
	struct collect_span codes;   /* struct collect_code */
	struct collect_span traps;   /* struct collect_trap */
	struct collect_span frames;  /* struct collect_frames */
	struct collect_span changes; /* struct collect_change; they ascend */
	uint64_t generation;	     /* another one: these have changed */
};

/* ns = base_ns + ((tsc - base_tsc) * mult >> 32); mult 0: the kernel is asked
 * for the time. */
struct collect_clock {
	uint64_t base_tsc, base_ns, mult;
	int64_t wall_ns; /* wall clock minus CLOCK_MONOTONIC */
};

/* How the board is divided; hark decides before the target sees it. */
struct collect_geometry {
	uint32_t max_threads; /* areas: threads that live at once */
	uint32_t max_sites;
	uint32_t ring_size; /* bytes of records, of each area */
	uint32_t aggregation_size;
	uint32_t array_size; /* of associative arrays, once */
	uint32_t n_speculations, speculation_size;
	uint32_t policy; /* enum collect_policy */
};

enum collect_policy {
	COLLECT_SWITCH, /* hark empties it all the time; full: dropped */
	COLLECT_FILL,	/* full once, nothing more is recorded */
	COLLECT_RING,	/* the oldest is overwritten */
};

enum {
	COLLECT_FOLLOWS = 1,  /* children of fork collect, too */
	COLLECT_GUARDS = 2,   /* SIGSEGV and SIGBUS are ours: reads may fault */
	COLLECT_EXECS = 4,    /* hark goes along through execve */
	COLLECT_TICKS = 8,    /* a clock interrupts threads: tick.c */
	COLLECT_TIMERS = 16,  /* which is a timer of their own: timer.c */
	COLLECT_SAMPLES = 32, /* so that their stacks are recorded */
	COLLECT_CHECKS = 64,  /* each sample is walked twice: check.c */
	COLLECT_STRICT = 128, /* of stacks nothing is guessed */
	COLLECT_FILTERED = 256, /* a seccomp filter was there before hark */
};

/* Frames; to compare fewer costs less than to ask what was written. */
enum { COLLECT_DEEP = 2500 };

/* -- What leaving needs -- */

enum { COLLECT_BYTES = 20 }; /* that one patch may change */

/* Bytes of the program that are changed, or about to be. */
struct collect_change {
	uint64_t at;
	uint64_t place; /* what is mapped there (probe/insert_place.c) */
	uint8_t len;
	uint8_t is_hook; /* of a system call, not only of probes */
	/* From .at - before to .at + after lies all that must stay as it is
	 * while these bytes are changed: instructions that are moved, padding
	 * that is hopped to. */
	uint8_t before, zero;
	uint8_t bytes[COLLECT_BYTES], old[COLLECT_BYTES];
	uint16_t after, pad;
};

/* Does it depend on one of the bytes [from, to)? */
static inline int collect_depends(const struct collect_change *c, uint64_t from,
				  uint64_t to)
{
	return c->at - c->before < to && c->at + c->after > from;
}

struct collect_range {
	uint64_t at, len;
};

/* A counter of a programmer's probe, which says whether anybody listens. */
struct collect_semaphore {
	uint64_t at; /* 0: its module is gone */
	uint64_t place;
};

/* Written before anything of it is done, so that another hark can undo what
 * one that was killed has left. What of it has been done, the process itself
 * shows: its code, its mappings, its handlers; and home. */
struct collect_removal {
	uint32_t hark; /* its pid */
	uint32_t trampoline_size;
	uint64_t began;	  /* when, in ticks since boot: no other has both */
	uint64_t space;	  /* its pid namespace */
	uint64_t handler; /* of signals */
	uint64_t ours;	  /* signals, as bits */
	struct collect_span ranges;	/* struct collect_range: trampolines */
	struct collect_span changes;	/* struct collect_change */
	struct collect_span semaphores; /* struct collect_semaphore */
};

struct collect_plan {
	uint64_t magic;
	uint32_t version, flags;
	uint64_t size; /* of the plan, as mapped */
	uint64_t used; /* of that */
	/* Addresses in the target. */
	uint64_t image, image_len, board, home, table;
	uint64_t index; /* offset of the newest struct collect_index: atomic */
	struct collect_span program; /* n: bytes of a struct probe_program */
	struct collect_geometry geometry;
	struct collect_clock clock;
	uint32_t pid; /* as the target sees itself; of its first process */
	uint32_t zero;
	int64_t errno_offset; /* of a thread's errno from fs; 0: not known */
	uint64_t execname;    /* offset of a text; 0: none */
	/* All memory but the trampolines is one block in the target: plan,
	 * image, home, table, work, own, board. */
	uint64_t self; /* where the block is; 0: not there yet */
	uint64_t home_len, table_len, board_len;
	uint64_t work, work_len; /* 0: threads are not sampled */
	uint64_t removal; /* offset of a struct collect_removal: atomic */
	/* Where the loader says whether its list is whole: a uint32_t that is
	 * 0 then. 0: it is not asked. */
	uint64_t loader_state;
	uint32_t hark;	    /* its pid, if the target sees it by that; else 0 */
	uint32_t max_depth; /* frames of a sample */
	uint32_t scan;	    /* as struct unwind_space has it */
	uint32_t pad;
	uint64_t period_ns; /* from one tick of a thread's clock to the next */
	struct collect_span profiles; /* struct collect_profile */
	/* Up to where the kernel notes which pages of the first thread's stack
	 * are written; 0: it does not. Atomic */
	uint64_t calm_to;
	uint64_t own, own_len; /* an area for each part of the board */
};

/* What a clock of hark's says of itself: si_perf_data, or the value of a
 * timer's signal. */
#define COLLECT_TICK 0x6b636974u /* "tick" */

static inline const void *collect_at(const struct collect_plan *p,
				     uint64_t offset)
{
	return (const uint8_t *)p + offset;
}

static inline const struct collect_index *
collect_index(const struct collect_plan *p)
{
	return collect_at(p, __atomic_load_n(&p->index, __ATOMIC_ACQUIRE));
}

/* -- The table -- */

/* By the base of fs, which threads usually have for themselves: open
 * addressing, from collect_first() on, and around. A base that several threads
 * have is entered itself, by a key that says so, and these threads are entered
 * by their ids: none is then found by that base. */
#define COLLECT_HASH 0x9e3779b97f4a7c15ull
enum {
	COLLECT_ENTRIES = 4096,
	COLLECT_NOBODY = 1,	   /* as fs: a thread that is no more */
	COLLECT_APART = 0xffffffff /* as pid: a child that is not followed */
};

static inline unsigned collect_first(uint64_t fs)
{
	return (unsigned)((fs >> 6) * COLLECT_HASH >> 52);
}

/* Keys that are no addresses of the program's. */
static inline uint64_t collect_shared_key(uint64_t fs)
{
	return ~fs;
}

static inline uint64_t collect_tid_key(uint32_t tid)
{
	return 1ull << 63 | (uint64_t)tid << 6;
}

struct collect_who {
	uint64_t fs;   /* or another key, or COLLECT_NOBODY */
	uint64_t area; /* address of a struct collect_area; 0: this entry was
			* never used, so nobody is to be found behind it. Of a
			* shared base: anything but 0 */
};

struct collect_table {
	uint32_t pid; /* whose it is; 0: a new process; COLLECT_APART */
	uint32_t lock;
	/* All threads so far have their fs base at fs:0, as the ABI says; or
	 * one had not: then never. */
	uint32_t has_self, has_none;
	uint32_t has_shared; /* there was a base that threads share */
	uint32_t apart;	     /* of COLLECT_APART: its pid */
	/* A thread that ends has the stack of home: 1. A lock. */
	uint32_t leaving;
	uint32_t zero;
	uint64_t stacks; /* of home, that are taken: a bit each. Atomic */
	uint8_t pad[24];
	struct collect_who who[COLLECT_ENTRIES];
};

/* -- The board -- */

/* What became of the hits of one site in one area. */
struct collect_account {
	uint64_t executed;
	uint64_t recorded; /* or turned away by a predicate */
	uint64_t dropped;  /* no room */
	uint64_t recursed; /* hit while the thread was in a probe */
	uint64_t faulted;
};

/* How a site's hits are dealt with in one area: native/collect.c. */
enum collect_how {
	SLOT_NEW,
	SLOT_GENERAL,  /* .uses: what the clauses look at */
	SLOT_COUNT,    /* .counted of the slot is counted up */
	SLOT_KEYED,    /* .cell belongs to .key, which comes from .uses */
	SLOT_QUANTIZE, /* .cell is the first bucket; likewise */
	/* The clauses are decoded (native/collect_lean.c); if there is one, its
	 * number is .uses and its code .cell */
	SLOT_LEAN,
};

/* What hark sees of one site in one part of the board: a line of the cache. */
struct collect_slot {
	struct collect_account account;
	uint32_t how; /* SLOT_COUNT, or SLOT_NEW for all else */
	uint32_t zero;
	uint64_t cell; /* of SLOT_COUNT: offset of the row from the part */
	/* Hits that are neither in .account nor in the row: each was executed,
	 * recorded, and counted there. One instruction adds it, so that a
	 * signal finds all of a hit or nothing. */
	uint64_t counted;
};
_Static_assert(sizeof(struct collect_slot) == 64, "a line of the cache");

/* What a thread goes by at a site: private. */
struct collect_way {
	uint32_t how; /* enum collect_how */
	uint32_t uses;
	uint64_t cell; /* address; 0: none yet */
	uint64_t key;
	uint64_t zero;
};

enum { COLLECT_TOKENS = 4 };

/* A thread, as long as it lives; then another may have it. In memory of the
 * process alone; what hark reads of it is its part of the board. */
struct collect_area {
	uint64_t plan;	 /* in the target */
	uint32_t owner;	 /* as the part had it when the thread took it */
	uint32_t number; /* of the area, and of the part */
	uint32_t pid, tid;
	uint64_t fs;
	/* The thread is in a probe: signals wait (src/native). */
	uint32_t busy;
	uint32_t n_tokens; /* behind .busy: both are looked at at once */
	/* Addresses: of the part, of its slots, of the thread's own ways. */
	uint64_t part, slots, ways;
	/* Instructions whose probe has fired, but which a signal kept from
	 * being executed: they do not fire again. 0: none. */
	struct {
		uint64_t pc;
		uint64_t state; /* of all registers: native_fired() */
	} token[COLLECT_TOKENS];
	uint32_t next_token;
	uint32_t zero;
	uint8_t collector[512]; /* its own state */
	uint64_t native[144];	/* of src/native; 0 for a new thread */
};

/* -- What is public of home; the rest is src/native's -- */

struct collect_action {
	uint64_t handler, flags, restorer, mask; /* as rt_sigaction has it */
};

struct collect_home {
	uint64_t plan; /* first: in the target */
	uint64_t ours; /* signals that are always handled by hark */
	struct collect_action program[65]; /* what the program asked for */
	/* As far as this process has come. It may be a child of fork, and what
	 * hark has done to its parent since was not done to it. */
	uint64_t index;	 /* as .index of the plan; 0: that one. Atomic */
	uint64_t ranges; /* of the record's ranges: how many are mapped */
	uint64_t raised; /* of its semaphores: how many are raised */
};

#endif
