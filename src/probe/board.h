/* probe/board.h - hark reads what the threads of a target have written.
 *
 * Everything is checked before it is used: the target may have damaged it, or
 * be in the middle of writing. Hosted. */
#ifndef PROBE_BOARD_H
#define PROBE_BOARD_H

#include "base/err.h"
#include "script/show.h"
#include "wire/collect.h"
#include "wire/run.h"

#include <stdbool.h>

struct board;

/* plan and base are mapped, borrowed; what is said of geometry and program
 * is copied at once. */
int board_open(const struct collect_plan *plan, void *base, struct board **out,
	       struct hark_err *err);
void board_close(struct board *b);

/* Keys that are shown by name are one if they have one name. Borrowed; before
 * rows are first asked for. */
struct namesake;
void board_name_by(struct board *b, struct namesake *n);
/* hark's own, for collect_run(); not on the board. */
struct collect_area *board_area(struct board *b);
/* Sleeps until a ring has much in it, or that long. */
void board_wait(struct board *b, uint64_t timeout_ns);
/* Has a thread changed the loader's list of libraries? It waits until hark says
 * that it has seen to *asked; with a word that hark is there again. */
bool board_loaded(const struct board *b, uint32_t *asked);
void board_loaded_done(struct board *b, uint32_t asked);
/* Which processes have, as the target numbers them: each is visited once, until
 * limit_ns (tracee_now_ns) or the user wants hark to end; the rest is passed
 * over. 0: one that has not said which it is. */
void board_loaded_by(struct board *b, uint32_t asked, int64_t limit_ns,
		     void (*visit)(void *ctx, uint32_t pid), void *ctx);
/* Nobody waits for hark any more. */
void board_leave(struct board *b);
/* A thread that is in a hooked system call: its struct probe_frame, in the
 * process; 0: it is not. Ids as the target numbers them. */
uint64_t board_hooked(const struct board *b, uint32_t pid, uint32_t tid);
/* A process has ended, as the target numbers them: its areas are free. */
void board_gone(struct board *b, uint32_t pid);
/* How many areas there are, and how many of them have been used so far. */
uint32_t board_most(const struct board *b);
uint32_t board_high(const struct board *b);
/* Those that threads have: whose, and of which process, as it numbers itself.
 * board_free: that owner has ended. */
void board_each_taken(const struct board *b,
		      void (*visit)(void *ctx, uint32_t area, uint32_t owner,
				    uint32_t pid),
		      void *ctx);
void board_free(struct board *b, uint32_t area, uint32_t owner);

/* Threads that are about to execute another program, and wait for hark: request
 * i of WIRE_ASKS (wire/run.h); 0: there is none. */
uint64_t board_exec(const struct board *b, unsigned i);
/* It is answered, unless it has been. */
void board_answer_exec(struct board *b, unsigned i, uint64_t request,
		       enum wire_ask_state answer);
/* How many did not wait any longer, and have gone on without probes. */
uint32_t board_exec_missed(const struct board *b);
/* Probed places that the program has made writable. */
uint32_t board_given(const struct board *b);

/* -- Records -- */

struct board_record {
	uint64_t time_ns;
	uint32_t pid, tid;
	uint32_t site;	 /* its number */
	uint32_t clause; /* of the script */
	uint32_t area;	 /* stands for a CPU in columns */
	int is_fault;	 /* of a clause: ERROR's arguments follow */
	uint64_t fault[5];
	int is_sample;		/* a struct collect_sample is in .entries */
	int is_difference;	/* likewise */
	const uint8_t *entries; /* struct probe_entry and its arguments, ... */
	uint32_t len;
};

/* Takes what is there, by time across all threads; records younger than the
 * moment it began wait for the next call (unless last). With COLLECT_RING there
 * is nothing before the last call. -1 from visit ends it and is returned; what
 * visit makes hark record itself is for the next call. */
int board_drain(struct board *b, int last,
		int (*visit)(void *ctx, const struct board_record *r,
			     struct hark_err *err),
		void *ctx, struct hark_err *err);

/* Has that thread ended, or its process, and has all that it wrote been
 * visited? The owner is as a sample of the area had it. */
bool board_is_left(const struct board *b, uint32_t area, uint32_t owner);

/* -- Aggregations, of all threads together -- */

/* Rows are sorted by key until show_sort. They and what they point to stay
 * until the next call. */
int board_rows(struct board *b, uint32_t aggregation, struct show_row **rows,
	       size_t *n, struct hark_err *err);
/* All values become 0 (clear), or the rows go, but for the first or last
 * `keep` by value (trunc: keep > 0 the largest, < 0 the smallest, 0 none). Only
 * what the last board_rows() of the aggregation showed is cleared, if there was
 * one since the last board_drain() began; else what there is now. So between a
 * printa() and a clear() nothing is lost: it counts for the time after. */
int board_clear(struct board *b, uint32_t aggregation, struct hark_err *err);
int board_trunc(struct board *b, uint32_t aggregation, int64_t keep,
		struct hark_err *err);

/* -- Accounts -- */

void board_account(struct board *b, uint32_t site, struct collect_account *out);
/* The same of samples. */
void board_samples(const struct board *b, struct collect_account *out);
/* Samples that were checked, and how many of them were not right. */
void board_checks(const struct board *b, uint64_t *checked,
		  uint64_t *differing);
/* Hits that found no area, rows that found no room and so on: what else was
 * dropped, already in the accounts; one line for each reason that is not 0. */
void board_explain(struct board *b, void (*line)(void *ctx, const char *text),
		   void *ctx);

#endif
