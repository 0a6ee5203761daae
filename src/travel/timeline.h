/* travel/timeline.h - one process of a recording, at a moment.
 *
 *	api.c		recordings, errors, positions as text
 *	timeline.c	threads, and where each is at the moment
 *	memory.c	what memory holds then
 *	newest.c	which thread knows best
 *	fresh.c		memory that is not what it was
 *	alias.c		places of the shadow that are of two addresses
 *	fs_reach.c	how far thread-local variables reach
 *	inherit.c	what a forked process has from its parent
 *	scan.c		a stretch of a thread, looked through for something
 *	move.c		steps and runs, forwards and backwards
 *	window.c	a thread's last instructions, for going back
 *	ask.c		the last write
 *	list.c		all accesses, all visits
 *	cursor.c	those of one thread
 *	names.c		what threads are called
 *	serve.c		the process that all of these run in
 *	remote*.c	what programs call
 *
 * The moment is a place of the selected thread. Every other thread has done
 * all its turns (record/order.h) before the one that the selected is in, and
 * none after. Private to this folder. */
#ifndef TRAVEL_TIMELINE_H
#define TRAVEL_TIMELINE_H

#include "travel/inner.h"

#include "record/order.h"
#include "travel/frames.h"
#include "travel/index.h"
#include "travel/maps.h"
#include "travel/past.h"
#include "travel/walker.h"
#include "travel/window.h"

struct travel_file {
	uint8_t *bytes; /* owned; NULL: not read yet */
	size_t len;
	int tried;
};

struct travel_text {
	struct travel_text *next; /* owned */
	char text[];
};

struct hark_recording {
	struct recording *r;		/* owned */
	struct hark_process *processes; /* owned */
	struct hark_module *modules;	/* owned */
	struct travel_file *files;	/* owned: of modules */
	char *path;			/* owned */
	struct index *index;		/* owned; NULL: not asked for */
	uint64_t id;			/* the file's */
	int index_fd; /* owned: FILE.index; -1: there is none */
	int built_fd; /* owned: an index that was made since; -1: none */
	/* Where timelines are replayed: has an index made, into built_fd. */
	int (*build)(void *ctx, unsigned first, unsigned end,
		     struct hark_err *err);
	void *build_ctx;
	struct travel_names *names; /* owned: of threads, by process */
	struct travel_text *texts;  /* owned: names that were told */
	uint64_t fs_reach;	    /* fs_reach.c; 0: not computed yet */
};

/* A thread. Walkers are made when they are needed: one is where the moment is
 * (or was), the scout is anywhere, looking for something, and the ferry goes
 * ahead of it. */
struct lane {
	struct hark_thread about;
	unsigned first, end;	   /* segments of the recording */
	struct walker *walker;	   /* owned */
	struct walker *scout;	   /* owned */
	struct walker *ferry;	   /* owned */
	struct past *past;	   /* owned */
	struct index_known *known; /* owned; NULL: not asked yet */
	struct frames *frames;	   /* owned: left by its walkers */
	uint32_t *turns;	   /* owned: of the order, its own */
	uint32_t n_turns;
	struct timeline *of;		 /* borrowed: whose lane it is */
	const struct fresh_event *fresh; /* borrowed: last asked for */
	unsigned fresh_segment;		 /* that it is in */
	uint64_t fresh_count;		 /* where it forgets */
	int has_last;
	/* Its last record: */
	uint64_t last_count;
	int knows_end; /* it was looked at */
	int has_end;   /* it is an end */
	int has_died;  /* by a signal */
};

struct stop {
	uint32_t id;
	enum hark_stop kind; /* BREAKPOINT, WATCH, CALL, SIGNAL */
	uint32_t thread;     /* HARK_ANY_THREAD */
	unsigned on;	     /* HARK_ON_* */
	uint64_t address, len;
	int64_t number;
	timeline_condition *when;
	void *ctx;
};

/* Who knew best what was in a word, at some moment. */
enum { TRAVEL_NEWEST = 64 };
struct newest {
	uint64_t address;
	unsigned len; /* 8: a word; 1: a byte; 0: the entry is empty */
	unsigned selected;
	uint64_t count, step; /* the moment */
	int lane;	      /* -1: nobody */
	int is_partial;	      /* threads touched parts of it last */
};

/* By which way a thread touched the bytes of a word last, at some moment. */
enum { TRAVEL_ROUTES = 64 };
struct route {
	uint64_t word;
	uint64_t count, step, pc; /* the moment, of that lane */
	unsigned lane;
	uint8_t answered, by_fs; /* a bit for each byte */
};

/* Of the shadow's index, of 4 KiB. */
enum { TRAVEL_PAGES = 1 << 20 };

/* Where the xsave instruction puts a component; size 0: nowhere. */
struct xsave_place {
	uint32_t offset, size;
};
enum { XSAVE_FIRST = 2, XSAVE_COMPONENTS = 63 };

struct timeline {
	struct xsave_place xsave[XSAVE_COMPONENTS];
	struct hark_recording *rec; /* borrowed */
	uint32_t process;
	struct lane *lanes; /* owned */
	unsigned n_lanes;
	unsigned selected;
	struct walker_place here; /* of the selected lane */
	/* Of the selected lane's last instructions, if it goes back; the moment
	 * is one of them then, and its walker is at the last. */
	struct window *window;	       /* owned */
	int in_window;		       /* -1: no */
	unsigned window_of;	       /* lane */
	uint64_t window_counts;	       /* how long it is */
	uint32_t window_number;	       /* so many were opened */
	struct order *order;	       /* owned */
	struct maps *maps;	       /* owned */
	struct fresh *fresh;	       /* owned */
	struct hark_mapping *mappings; /* owned */
	struct hark_mapping *shown;    /* owned: to whoever asked last */
	unsigned n_mappings;
	const struct map *maps_now; /* borrowed: what they are made of */
	struct timeline *parent;    /* owned: at the fork; NULL: none */
	int has_asked_parent;
	int has_indexed;	 /* it was tried, at least */
	uint64_t mean_counts;	 /* of a segment; 0: not asked yet */
	uint64_t looked_through; /* counts, without an index */
	uint64_t near;		 /* counts that are replayed in no time */
	size_t memory_max;  /* of each lane's frames; of each lane's past */
	struct stop *stops; /* owned */
	unsigned n_stops, room_stops;
	uint32_t last_id;
	hark_progress *progress;
	void *progress_ctx;
	int64_t asked_ns; /* when the progress function was last called */
	uint64_t done, total;
	uint64_t *breaks; /* owned: addresses, for a scout */
	struct newest newest[TRAVEL_NEWEST];
	struct route routes[TRAVEL_ROUTES];
	uint8_t *touched; /* owned: bits (known.c); NULL: not asked yet */
};

/* -- api.c -- */

/* Once, for timeline_registers. */
void travel_find_components(struct timeline *t);

/* The turn in which a thread is at a position, nearly: the one that begins
 * there counts only if it is its first. */
int64_t travel_turn_near(const struct timeline *t, const struct lane *l,
			 const struct hark_position *at);

/* Of our own errors one of the public kind; always -1. */
int travel_failed(const struct hark_err *from, struct hark_error *to);
int travel_error(struct hark_error *to, enum hark_error_code code,
		 const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A module's bytes, read once; NULL: they are not there. */
struct travel_file *travel_file(struct hark_recording *r, unsigned i,
				struct hark_err *err);

/* -- timeline.c -- */

/* Reports progress, now and then; not 0: the work is to end. ctx: the
 * timeline. */
int travel_ask(void *ctx);
struct lane *travel_lane(struct timeline *t, uint32_t thread);
const struct recording_process *travel_process(const struct timeline *t);
/* Where what is recorded of it begins: at 0, unless that was dropped. */
uint64_t travel_first_count(const struct timeline *t, const struct lane *l);
/* In which the recording begins. */
struct lane *travel_first_lane(struct timeline *t);
/* Its walkers, made now if need be. NULL: *err. */
struct walker *travel_walker(struct timeline *t, struct lane *l,
			     struct hark_err *err);
struct walker *travel_scout(struct timeline *t, struct lane *l,
			    struct hark_err *err);
struct walker *travel_ferry(struct timeline *t, struct lane *l,
			    struct hark_err *err);
/* The count of the lane's last record. */
int travel_last_count(struct timeline *t, struct lane *l, uint64_t *out,
		      struct hark_err *err);
/* The lane's walker is where it is at the moment: 1. 0: it does not live. */
int travel_bring(struct timeline *t, struct lane *l, struct walker **out,
		 struct hark_err *err);
/* The turn that the moment is in; of the order. -1: none. */
int64_t travel_turn(struct timeline *t, struct hark_err *err);
/* The turn that a walker of the lane is in. */
int64_t travel_turn_of(const struct timeline *t, const struct lane *l,
		       struct walker *w);
/* Where the lane is when turn `turn` is being done by another: its place is
 * where its next turn begins. 0: it is not born. 2: at its end. */
int travel_place_at(const struct timeline *t, const struct lane *l,
		    int64_t turn, uint64_t *count, uint64_t *pc);
/* Only what is needed to know what threads forget on their way; it is at no
 * moment. */
int travel_open_bare(struct hark_recording *r, uint32_t process,
		     struct timeline **out, struct hark_err *err);
/* From here on the moment is this one. */
int travel_set(struct timeline *t, struct lane *l, uint64_t count,
	       uint64_t step, struct hark_err *err);
int travel_last(struct timeline *t, struct lane *l, struct hark_err *err);

/* Questions leave the timeline at its moment. */
struct travel_stay {
	unsigned selected;
	struct walker_place here;
};
static inline struct travel_stay travel_stay(const struct timeline *t)
{
	return (struct travel_stay){t->selected, t->here};
}
static inline void travel_come_back(struct timeline *t,
				    const struct travel_stay *s)
{
	t->selected = s->selected;
	t->here = s->here;
	t->in_window = -1;
}

/* In the program's own process: makes the index of these segments, for all, and
 * keeps it beside the recording. */
int travel_build_index(struct hark_recording *rec, unsigned first, unsigned end,
		       hark_progress *f, void *ctx, struct hark_err *err);

/* -- names.c -- */

void travel_names_free(struct travel_names *n);

/* Which segments touch what; NULL: it is not known, or *err. If it is not
 * there, it is made if so many segments would have to be looked through
 * without it. */
struct index *travel_index(struct timeline *t, unsigned without,
			   struct hark_err *err);

/* -- memory.c -- */

size_t travel_read(struct timeline *t, uint64_t address, size_t len,
		   uint8_t *out, uint8_t *known, struct hark_err *err);
/* Those of the moment: t->mappings. */
int travel_find_mappings(struct timeline *t, struct hark_err *err);
/* Of the mappings that were last looked at, the first that ends behind it. */
unsigned travel_mapping_from(const struct timeline *t, uint64_t address);

/* No thread ever has, of its process. */
enum { TRAVEL_UNTOUCHED = 2 };

/* -- inherit.c -- */

/* At the fork, if it has these bytes from there; NULL: not, or *err. */
/* The process that it was forked from, at that moment; NULL: none is known. */
struct timeline *travel_parent(struct timeline *t, struct hark_err *err);
struct timeline *travel_inherited_from(struct timeline *t, uint64_t address,
				       uint64_t len, struct hark_err *err);
/* Those bytes that are TRAVEL_UNTOUCHED become known or not, if the process has
 * them from its parent; others stay so. */
int travel_inherit(struct timeline *t, uint64_t address, size_t len,
		   uint8_t *out, uint8_t *known, struct hark_err *err);

/* -- fresh.c -- */

/* A system call of a thread after which nothing in [start, end) is what it was:
 * it was mapped, or unmapped, or emptied. */
struct fresh_event {
	uint64_t start, end;
	uint64_t count;
	int64_t turn; /* of the order */
	uint32_t thread;
	uint32_t pc; /* its low half */
};

/* All of them: t->fresh. */
int travel_find_fresh(struct timeline *t, struct hark_err *err);
void travel_fresh_free(struct fresh *f);
/* From here on a walker of the lane forgets on its way. */
void travel_forget_along(struct timeline *t, struct lane *l, struct walker *w);
/* The moment is t->here, in this turn: what is said next is of then. */
void travel_fresh_at(struct timeline *t, int64_t turn);
/* The last that is past and has this byte, or another one with the same place
 * in the shadow; NULL: none. */
const struct fresh_event *travel_fresh_of_index(struct timeline *t,
						uint64_t address);
/* This byte, and no other. */
const struct fresh_event *travel_fresh_of(struct timeline *t, uint64_t address);
int travel_fresh_is_past(const struct timeline *t, const struct fresh_event *e);
static inline int travel_fresh_has(const struct fresh_event *e,
				   uint64_t address)
{
	return e->start <= address && address < e->end;
}
/* One that is past: it is of another thread, and this one, whose walker is at
 * the moment, has not come to where it forgets. */
int travel_fresh_is_unseen(const struct timeline *t, const struct lane *l,
			   const struct walker *at,
			   const struct fresh_event *e);
/* Is the event behind this place of the lane? */
int travel_fresh_is_behind(const struct timeline *t, const struct lane *l,
			   uint64_t count, uint64_t pc,
			   const struct fresh_event *e);
/* The i-th of all, in their order; NULL: there are no more. */
const struct fresh_event *travel_fresh_event(const struct timeline *t,
					     size_t i);
/* Does it come before this place of a lane in that turn? */
int travel_fresh_is_before(const struct fresh_event *e, int64_t turn,
			   uint64_t count, uint64_t pc);
/* The segment in which the lane forgets, and the count; its end: in none. */
unsigned travel_fresh_segment(struct timeline *t, struct lane *l,
			      const struct fresh_event *e, uint64_t *count,
			      struct hark_err *err);

/* -- alias.c -- */

/* At most 64 bytes whose places in the shadow are others' too; known[i] is 1
 * where they are known, and TRAVEL_UNTOUCHED where nobody ever touched them.
 * `at`: each lane's walker, at the moment; NULL: it does not live yet. */
int travel_read_alias(struct timeline *t, struct walker **at, uint64_t address,
		      unsigned len, uint8_t *out, uint8_t *known,
		      struct hark_err *err);

/* -- fs_reach.c -- */

/* No instruction of the recorded program reaches further below the base of fs:
 * WALKER_FS_INDEX to WALKER_FS_REACH. */
uint64_t travel_fs_reach(struct hark_recording *rec);

/* -- newest.c -- */

/* The lane that touched a word last, of those whose walkers are `at` the
 * moment; -1: none, or *err. */
int travel_newest(struct timeline *t, struct walker **at, uint64_t address,
		  struct hark_err *err);

/* -- route.c -- */

/* Did the lane, whose walker is `at` the moment, touch a byte last by way of
 * fs, not by its address? 1, 0; -1: *err. */
int travel_is_by_fs(struct timeline *t, struct lane *l, struct walker *at,
		    uint64_t address, struct hark_err *err);

/* -- scan.c -- */

struct hit {
	const struct stop *stop;
	uint64_t count, pc, step;
	int64_t turn;
	uint64_t address;
	uint64_t index; /* the same, without the base of fs (touch.h) */
	uint32_t size, is_write;
	int64_t call;
	int signal;
};

/* -- alias.c, route.c -- */

/* Watches of those of len bytes, 64 at most, that have no bit in `done`: for
 * travel_scan_last. How many. */
unsigned travel_watches_of(uint64_t address, unsigned len, uint64_t done,
			   struct stop *out);
/* Has the log said after that hit, and not after a place in or before segment
 * `last`, what the kernel stored at the byte or at another one with its index?
 * 1, 0; -1: *err. */
int travel_log_has(struct timeline *t, unsigned last, const struct hit *after,
		   const struct walker_place *until, uint64_t address,
		   struct hark_err *err);

/* -- access.c: what it found and left; the timeline stays where it is -- */

int travel_access(struct timeline *t, struct lane *l, const struct hit *hit,
		  struct hark_access *out, struct hark_err *err);
/* What size bytes at out->address held at a place of the lane, as far as any
 * thread knows: out->before and before_known. The lane's scout is elsewhere
 * then. */
int travel_look_at_all(struct timeline *t, const struct lane *l,
		       const struct walker_place *at, uint32_t size,
		       struct hark_access *out, struct hark_err *err);

/* A stretch of a lane: from a place (inclusive), up to another (exclusive). */
struct stretch {
	uint64_t count, step;	      /* from */
	uint64_t end_count, end_step; /* UINT64_MAX: its end */
	unsigned in; /* for scan.c: only what is in this segment, plus 1 */
};
/* Not 0: enough. */
typedef int scan_each(void *ctx, struct walker *at, const struct hit *hit);
/* Calls each for every hit of stops, in order. 1: it was enough. What the index
 * knows to be empty is left out; it is made first if all shall be looked
 * through, else when that takes long. */
int travel_scan(struct timeline *t, struct lane *l, const struct stretch *range,
		int is_all, const struct stop *stops, unsigned n_stops,
		scan_each *each, void *ctx, struct hark_err *err);
/* The same in pieces, of one segment, without the index. Where the next piece
 * begins: at the start of the stretch in the segment, or where the last piece
 * ended. */
struct scan_place {
	unsigned segment;
	int is_inside; /* where the last one ended: */
	uint64_t count, pc;
};
/* Called after the instruction that met a watch, and perhaps after others. Not
 * 0: enough. */
typedef int scan_done(void *ctx, struct walker *at);
struct scan_calls {
	scan_each *each;
	scan_done *done;
};
/* 1: it was enough. 0: nothing of the stretch is left in this segment. *at is
 * then where it ended; !is_inside: the walker has come to the next segment, or
 * was there already. */
int travel_scan_on(struct timeline *t, struct lane *l,
		   const struct stretch *range, struct scan_place *at,
		   const struct stop *stops, unsigned n_stops,
		   const struct scan_calls *calls, void *ctx,
		   struct hark_err *err);
/* May the segment have what one of the stops looks for, by the index (NULL:
 * none)? */
int travel_may_have(struct index *x, unsigned segment, const struct lane *l,
		    const struct stop *stops, unsigned n_stops);
/* The lane's walker comes to where one is told of the hit (out); the hit's own
 * place may be the one before. */
int travel_come_to(struct timeline *t, struct lane *l, const struct hit *hit,
		   enum hark_direction way, struct walker_place *of_hit,
		   struct walker_place *out, struct hark_err *err);
/* Is the hit's condition true, at that moment? 1, 0. of_hit: only if it has
 * one. */
int travel_is_wanted(struct timeline *t, struct lane *l, const struct hit *hit,
		     enum hark_direction way, struct walker_place *of_hit,
		     struct hark_err *err);
/* The last hit of the stretch that is wanted: 1; 0: none. */
int travel_scan_last(struct timeline *t, struct lane *l,
		     const struct stretch *range, const struct stop *stops,
		     unsigned n_stops, struct hit *out, struct hark_err *err);

#endif
