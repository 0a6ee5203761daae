/* travel/walker.h - one recorded thread, at a moment that can be chosen.
 *
 * Forwards it runs, from where it is or from a key frame before; there is no
 * other way. Its shadow and what was touched of it are those since the last key
 * frame. Hosted. */
#ifndef TRAVEL_WALKER_H
#define TRAVEL_WALKER_H

#include "engine/observe.h"
#include "engine/replay.h"
#include "record/recording.h"
#include "record/stream.h"

struct walker; /* opaque */

/* So far from the base of fs it is looked for what was touched through it. */
enum { WALKER_FS_REACH = 1 << 16 };
/* So far from a multiple of 4 GiB the index of an address is believed to be of
 * what was reached through fs, and not of the address (memory.c, M1). */
enum { WALKER_FS_INDEX = 4096 };

/* Of threads that are there: segments [first, end) of the recording. */
int walker_new(struct recording *r, unsigned first, unsigned end,
	       struct walker **out, struct hark_err *err);
void walker_free(struct walker *w);

/* Where it is: `step` instructions beyond the first one of its count. */
struct walker_place {
	uint64_t count, step, pc;
};

/* Where long ways leave frames, and start from; NULL: nowhere. Borrowed. */
struct frames;
void walker_use_frames(struct walker *w, struct frames *frames);
/* One can start here again: it is at the first instruction of a count. */
int walker_leave_frame(struct walker *w, struct hark_err *err);
/* Long ways start at the sections of an index, too. NULL: nowhere. Borrowed. */
struct index;
void walker_use_sections(struct walker *w, struct index *x);
/* The section of its segment at which it began to mark what it touched. */
unsigned walker_first_section(const struct walker *w);

/* Asked now and then during long runs. Not 0: it is given up (HARK_ETIME), and
 * the walker is nowhere until it is sent somewhere. */
typedef int walker_ask(void *ctx);
void walker_on_ask(struct walker *w, walker_ask *f, void *ctx);

/* To a moment: 0; 1: its life ends before that, and it is there. */
int walker_goto(struct walker *w, uint64_t count, uint64_t step,
		struct hark_err *err);
/* To the beginning of segment i. */
int walker_goto_segment(struct walker *w, unsigned i, struct hark_err *err);
/* To where the instruction at pc is about to be executed, in this count. */
int walker_goto_pc(struct walker *w, uint64_t count, uint64_t pc,
		   struct hark_err *err);
/* The instruction: 0; 1: there is none, its life (or the file) ends here. */
int walker_step(struct walker *w, struct hark_err *err);
/* Where it is. A run leaves it where only count and pc are known; then it walks
 * there once more to know the step. */
int walker_place(struct walker *w, struct walker_place *out,
		 struct hark_err *err);
/* Somebody else knows: it is at that count and pc, if it has not moved. */
void walker_know_step(struct walker *w, const struct walker_place *place);
uint64_t walker_count(const struct walker *w);
/* Is it at the place where the instruction at pc is about to be executed, in
 * this segment and count? */
int walker_is_at(const struct walker *w, unsigned segment, uint64_t count,
		 uint64_t pc);
uint64_t walker_pc(const struct walker *w);
unsigned walker_segment(const struct walker *w);

/* Was the next instruction left to the CPU? Then what it stores comes with it,
 * but nothing says what it found. */
int walker_is_left(struct walker *w);

/* What the log says of memory, code and order before the next instruction is
 * taken in. */
void walker_settle(struct walker *w);

/* How many turns (record/order.h) it has begun since its segment did. */
uint64_t walker_turns(struct walker *w);

/* The same, without what is here: it may have been taken in, or not. */
uint64_t walker_turns_begun(const struct walker *w);

/* How many records of its segment it has passed. */
uint64_t walker_passed(const struct walker *w);

/* Who looks on (touches are always marked). Only runs stop for it. */
int walker_observe(struct walker *w, const struct observe *o,
		   struct hark_err *err);

/* From here on its marks are an index's: loads and stores apart in one map
 * (engine/observe.h), or one kind of them. Nothing is known of memory. */
enum walker_marks { WALKER_BOTH, WALKER_LOADS, WALKER_STORES };
int walker_mark_for_index(struct walker *w, enum walker_marks which,
			  struct hark_err *err);
/* Code is translated anew; and what was, since. -1: not all of it. */
int walker_forget_code(struct walker *w, struct hark_err *err);
int walker_translated(struct walker *w, replay_range *each, void *ctx);
/* Since: was all that it touched marked? */
int walker_marks_all(const struct walker *w);

enum walker_stop {
	WALKER_THERE, /* at the count, or at the end of the segment */
	WALKER_BREAK, /* at a stop */
	WALKER_WATCH, /* what is next touches a window, perhaps */
	WALKER_CALL,  /* a system call is next, or a signal: if asked for */
	WALKER_SIGNAL,
	WALKER_FS,  /* the base of fs is another than when windows were set */
	WALKER_END, /* its life ends here */
};
/* On to the first instruction of a count, but not beyond the next key frame;
 * unless something else comes first. `calls`: system calls and signals are
 * something. */
int walker_run(struct walker *w, uint64_t count, int calls,
	       enum walker_stop *out, struct hark_err *err);

/* On to the end of the segment: just before the next key frame, or the end. */
int walker_run_segment(struct walker *w, enum walker_stop *out,
		       struct hark_err *err);
/* The same, but at most to the first instruction of a count (WALKER_THERE);
 * WALKER_END: the segment ends before. */
int walker_run_part(struct walker *w, uint64_t count, enum walker_stop *out,
		    struct hark_err *err);
/* Is it at the first instruction of a count, so that a section may begin? */
int walker_is_at_first(const struct walker *w);
/* What it needs to be here again, but for its shadow. */
struct index_state;
void walker_get_state(struct walker *w, struct index_state *out);
/* The marks of what it touched; the caller may take some away. */
uint8_t *walker_marks(struct walker *w);
/* Told when the log has changed the shadow, and before what is known of it is
 * forgotten. */
typedef void walker_memory(void *ctx, uint32_t index, uint64_t len);
void walker_on_memory(struct walker *w, walker_memory *filled,
		      walker_memory *forgotten, void *ctx);

/* Told of each system call and each begin of a turn, when it is passed. */
typedef void walker_pass(void *ctx, struct walker *w,
			 const struct record_event *e);
void walker_on_pass(struct walker *w, walker_pass *f, void *ctx);
/* It knows nothing of these addresses from here on. */
void walker_forget(struct walker *w, uint64_t start, uint64_t end);
/* It is nowhere, until it is sent somewhere. */
void walker_leave(struct walker *w);

/* The count of the key frame that its segment begins with. */
uint64_t walker_key_count(const struct walker *w);
/* Told before the log changes the shadow there, or what is known of it; NULL:
 * nobody. */
typedef void walker_change(void *ctx, uint32_t index, uint64_t len);
void walker_on_change(struct walker *w, walker_change *f, void *ctx);

/* Told of records that are passed and fill nothing in; NULL: nobody. */
typedef void walker_record(void *ctx, const struct record_event *e);
void walker_on_record(struct walker *w, walker_record *f, void *ctx);

/* The state at this moment, by index of the shadow. */
const struct wire_rec_state *walker_state(const struct walker *w);
uint32_t walker_xstate(struct walker *w, uint8_t out[WIRE_XSTATE_MAX]);
/* Of those of these components that xsave puts behind its header, the bytes. */
uint32_t walker_saved_size(const struct walker *w, uint64_t components);
const uint8_t *walker_shadow(const struct walker *w);
const uint8_t *walker_touched(const struct walker *w);
/* Is an address near enough to the base of fs to have been touched by way of
 * it? It then lies at the index of its offset from the base, too. */
int walker_is_near_fs(const struct walker *w, uint64_t address);
/* Of an address, or such an offset: what it holds as far as this thread knows,
 * and whether it does. */
int walker_byte(const struct walker *w, uint64_t address, uint8_t *out);
/* Code at pc, as it was then. */
unsigned walker_code(struct walker *w, uint64_t pc, uint8_t *to, unsigned len);
/* The signal that is about to be delivered, or that it died of; 0: none. */
int walker_signal(struct walker *w, uint8_t siginfo[128]);

#endif
