/* engine/replay.h - a recorded thread runs again.
 *
 * The translator with memory taken away: every operand of the program is in
 * the shadow, code comes from the recording, and no instruction of it reaches
 * the kernel. One replay is one thread of one process at a time; it can be
 * put to any state (a key frame) and run up to any position.
 *
 * Hosted. While the program runs, gs and the extended registers are its own;
 * replay_run gives the caller's back. Not to be shared between host threads;
 * several may exist. */
#ifndef ENGINE_REPLAY_H
#define ENGINE_REPLAY_H

#include "engine/observe.h"
#include "wire/record.h"

#include <stdint.h>

struct replay; /* opaque */

/* Copies up to len bytes of code at pc into to; how many there are. They must
 * stay the same until replay_forget_code. */
typedef unsigned replay_fetch(void *ctx, uint64_t pc, uint8_t *to,
			      unsigned len);

/* version: of the recording (wire/record.h), since it decides which blocks
 * there are. NULL: no memory. */
struct replay *replay_new(replay_fetch *fetch, void *ctx, unsigned version);
void replay_free(struct replay *r);

/* Code in [start, end) has changed. */
void replay_forget_code(struct replay *r, uint64_t start, uint64_t end);

/* All code is forgotten; and what was translated since: each range of it. -1:
 * some of that is forgotten already. */
int replay_forget_all_code(struct replay *r);
typedef void replay_range(void *ctx, uint64_t start, uint64_t end);
int replay_translated(struct replay *r, replay_range *each, void *ctx);

/* Is what was touched by translated code all marked? Gathers and scatters are
 * not. */
int replay_marks_all(const struct replay *r);

/* All registers. The caller reads and writes them between runs. */
struct wire_rec_state *replay_state(struct replay *r);
uint64_t *replay_count(struct replay *r);
/* Extended registers, as recordings hold them (wire/record.h). put: -1 if
 * this machine cannot hold them. get: bytes written. */
int replay_put_xstate(struct replay *r, const uint8_t *bytes, uint32_t len);
uint32_t replay_get_xstate(struct replay *r, uint8_t out[WIRE_XSTATE_MAX]);
/* The two bits of PKRU (an extended register, too) that belong to a protection
 * key: 1: no access, 2: no writes. */
enum { REPLAY_KEYS = 16, REPLAY_KEY_RIGHTS = 3 };
void replay_set_key(struct replay *r, unsigned key, unsigned rights);

/* The shadow: WIRE_SHADOW_SIZE bytes and a little more; by index. */
uint8_t *replay_shadow(struct replay *r);
void replay_clear_shadow(struct replay *r); /* all zero */
/* From here on its memory is not given back when it is cleared. */
int replay_keep_pages(struct replay *r);

enum replay_stop {
	REPLAY_THERE,  /* at the position asked for */
	REPLAY_PAST,   /* it was passed: the count is larger */
	REPLAY_CALL,   /* pc is at a system call */
	REPLAY_RESULT, /* at an instruction that the log has the result of */
	REPLAY_STATE,  /* at one that is not replayed: a STATE must say */
	REPLAY_CODE,   /* no code is known there, or none that is code */
	REPLAY_FAULT,  /* the CPU refused the instruction (it divides by zero,
			* say): the log should have stopped here */
	REPLAY_BREAK,  /* at one of the observer's stops */
	REPLAY_WATCH,  /* pc touches one of the observer's windows, perhaps */
	REPLAY_LACKS,  /* this CPU does not have the instruction */
};

/* Runs to (count, pc). At once, if it is there already. Otherwise stops where
 * the program cannot go on alone. The state is then the program's, before the
 * instruction at pc. */
enum replay_stop replay_run(struct replay *r, uint64_t count, uint64_t pc);
/* The same to each of n positions in turn; then its bytes are put into the
 * shadow at index. How many were; fewer than n: *stop says why. */
struct replay_fill {
	uint64_t count, pc;
	uint32_t index, len;
	const uint8_t *bytes; /* borrowed */
};
unsigned replay_run_fills(struct replay *r, const struct replay_fill *fills,
			  unsigned n, enum replay_stop *stop);
/* Runs until the count is this: to the first instruction of it. */
enum replay_stop replay_arrive(struct replay *r, uint64_t count);
/* One instruction (of a repeated one: a part), whatever the observer wants.
 * REPLAY_THERE: it was done. */
enum replay_stop replay_step(struct replay *r);

/* Who looks on from here on; NULL: nobody. Stops are not met where a run
 * begins. */
int replay_observe(struct replay *r, const struct observe *o);
/* What was touched since the shadow was cleared: one byte each, 0xff, at the
 * shadow's index plus OBSERVE_SKEW (modulo 2^32). NULL: nobody has asked. */
const uint8_t *replay_touched(const struct replay *r);
/* What the log says of memory: into the shadow; it counts as touched. */
void replay_fill(struct replay *r, uint32_t index, const uint8_t *bytes,
		 uint32_t len);
/* What an instruction has touched that was not replayed: marked as if it had
 * been. */
void replay_touch(struct replay *r, uint32_t index, uint32_t len, int is_store);
/* It is not what the shadow says any more, and nobody knows what. */
void replay_forget(struct replay *r, uint32_t index, uint64_t len);

/* Instructions executed since the last call of this, if counted. */
void replay_count_instructions(struct replay *r, int on);
uint64_t replay_instructions(struct replay *r);

#endif
