/* unwind/unwind.h - the callers of a frame, by call-frame rules; and of the
 * next sample only what has changed.
 *
 * A walk is a function of registers, of the words of memory that it reads, and
 * of the rules. So its outer part is the same as last time if (1) every word
 * that part has read is what it was, (2) the walk from the top arrives at it
 * with the same pc, the same CFA and the same value of every register that the
 * part consumes, (3) the rules are the same (.generation). A map keeps those
 * words, where they were, and the state at each step; unwind_sample() compares
 * them, walks from the top until it arrives, and splices. That is exact: what
 * else is on the stack (stale frames, alloca, what longjmp left) does not
 * matter.
 *
 * U1  unwind_sample() gives what unwind_walk() gives, frame by frame.
 * U2  Memory is read by plain loads, and may not be there: whoever calls must
 *     survive the fault (in the target: src/native sends the thread to the
 *     end of the sample; then unwind_maps_forget()). A walk through .read does
 *     not fault.
 * U3  Nothing is allocated, no lock is taken, nothing is written but what the
 *     caller has given: safe in a signal handler.
 * U4  What is no certain frame says so (enum unwind_how).
 *
 * Freestanding, and hosted too. */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include "image/frame_rows.h"
#include "wire/collect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a frame was found; a larger one is less certain. */
enum unwind_how {
	UNWIND_RULE,   /* by a call-frame rule; or the top itself */
	UNWIND_SIGNAL, /* a rule, or a restorer known by its bytes: the frame
			* was interrupted */
	UNWIND_LINK,   /* no rule: rbp led to a word that is behind a call */
	UNWIND_SCAN,   /* the next word on the stack that is behind a call */
	UNWIND_HOWS
};

/* What a guess is worth, if a rule is worth 100: a rank, not a measurement.
 * What rbp leads to is a pair of words that fits; what a scan finds may have
 * been left behind by a call that is over. */
enum { UNWIND_SURE_LINK = 75, UNWIND_SURE_SCAN = 25 };

enum unwind_end {
	UNWIND_OUTERMOST,  /* there is no caller */
	UNWIND_LOST,	   /* no rule, and nothing that could be believed */
	UNWIND_UNREADABLE, /* a rule names memory that is not there */
	UNWIND_DEEP,	   /* more frames than there is room for */
};

/* -- Memory that nobody has written -- */

/* What was read there at the last look is there still. Ascending and apart. */
enum { UNWIND_CALMS = 16 };
struct unwind_calm {
	uint64_t look; /* its number: they follow each other; not 0 */
	uint32_t n;
	struct unwind_range {
		uint64_t from, to;
	} range[UNWIND_CALMS];
};

/* -- What it goes by; shared by all threads -- */

struct unwind_cache; /* of pcs: rules that were found; lock-free */
size_t unwind_cache_size(void);

struct unwind_space {
	const struct collect_frames *code; /* ascending */
	uint64_t n_code;
	const uint8_t *base;	    /* .table and .blocks of them count from */
	uint64_t generation;	    /* another one, never used before: code has
				     * come or gone */
	struct unwind_cache *cache; /* zeroed at first; or NULL */
	/* Of the last resort: how far to scan for a return address, in bytes;
	 * 0: not at all. */
	uint32_t scan;
	bool is_strict; /* where rules end, the walk does: no guesses */
	/* How memory is read; NULL: by plain loads (U2). */
	bool (*read)(void *ctx, uint64_t at, void *out, uint32_t len);
	/* With plain loads: how memory is read that only a guess leads to.
	 * NULL: like all other. */
	bool (*try)(void *ctx, uint64_t at, void *out, uint32_t len);
	void *ctx;
	/* Is told the registers of each frame that was interrupted, all of
	 * them, and may change them: there may be code that only ctx knows.
	 * NULL: they are what they are. */
	void (*interrupted)(void *ctx, struct frame_cpu *cpu);
	/* The rule of a frame counts from rbp, which is not known; pc and sp
	 * are: who reads the code may find it out. NULL: nobody can. */
	bool (*find_rbp)(void *ctx, uint64_t pc, uint64_t sp, uint64_t *out);
	/* NULL: nobody has looked, before this sample. The map of the last
	 * look's sample need not be compared there. */
	const struct unwind_calm *calm;
};

/* -- Without a map -- */

struct unwind_frame {
	uint64_t pc; /* of all but the top and those interrupted: a return
		      * address */
	uint8_t how; /* enum unwind_how */
};

/* At most n frames, the innermost (cpu itself) first; how many. */
uint32_t unwind_walk(const struct unwind_space *s, const struct frame_cpu *cpu,
		     struct unwind_frame *out, uint32_t n,
		     enum unwind_end *end);
/* The same, of the pcs alone. */
uint32_t unwind_pcs(const struct unwind_space *s, const struct frame_cpu *cpu,
		    uint64_t *out, uint32_t n, enum unwind_end *end);

/* -- With one -- */

/* Of one thread: a few maps, each of one stack, the least used one given up
 * for a new stack. In memory of the caller's, zeroed at first. */
struct unwind_maps;
enum { UNWIND_MAPS = 4 };
size_t unwind_maps_size(uint32_t max_depth);
void unwind_maps_init(struct unwind_maps *m, uint32_t max_depth);
uint32_t unwind_maps_depth(const struct unwind_maps *m);
/* All is walked anew next time: a sample was not finished, or not stored. */
void unwind_maps_forget(struct unwind_maps *m);

struct unwind_sample {
	uint32_t map;	/* which of the UNWIND_MAPS */
	uint32_t depth; /* frames */
	/* That many, from the outermost on, are those of the last sample of
	 * the same map: same pcs, same .how. */
	uint32_t kept;
	uint32_t walked;  /* steps that were made: the cost */
	uint32_t trusted; /* frames that were not even compared: .calm */
	uint64_t kept_sp; /* of the innermost of the kept frames; 0: none */
	uint64_t base;	  /* sp of the outermost frame of its stack */
	uint8_t end;	  /* enum unwind_end */
	uint8_t worst;	  /* enum unwind_how: the least certain frame */
};

void unwind_sample(const struct unwind_space *s, struct unwind_maps *m,
		   const struct frame_cpu *cpu, struct unwind_sample *out);
/* Frame i of the sample just taken of that map; 0 is the outermost. */
struct unwind_frame unwind_at(const struct unwind_maps *m, uint32_t map,
			      uint32_t i);

/* -- To hold the one against the other -- */

enum { UNWIND_SHOWN = 8 };
/* Where a walk is not the sample. */
struct unwind_check {
	uint64_t hash;	/* unwind_mix() of the walk's frames, the innermost
			 * first, then of .end */
	uint32_t depth; /* of the walk */
	uint32_t at;	/* the first frame that differs; 0 is the innermost */
	uint8_t end;	/* enum unwind_end: of the walk */
	bool differs;
	/* The frame before that one, and what both have from there on, as
	 * unwind_word() has it. */
	uint64_t pc, sp;
	uint64_t has[UNWIND_SHOWN], walked[UNWIND_SHOWN];
};

enum { UNWIND_HOW = 56 }; /* shift; the address is below */
static inline uint64_t unwind_word(struct unwind_frame f)
{
	return (f.pc & (((uint64_t)1 << UNWIND_HOW) - 1)) | (uint64_t)f.how
								<< UNWIND_HOW;
}

static inline uint64_t unwind_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* Walks once more, plainly, if s has no cache: is that the sample just taken
 * of that map? */
void unwind_check(const struct unwind_space *s, const struct unwind_maps *m,
		  const struct unwind_sample *sample,
		  const struct frame_cpu *cpu, struct unwind_check *out);

#endif
