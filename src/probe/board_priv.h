/* probe/board_priv.h - what hark knows of a board.
 *
 * B1  Offsets and sizes come from hark's own copy of geometry and program,
 *     never from the board.
 * B2  What is read from the board is copied before it is looked at, so that
 *     what was checked is what is used.
 * B3  No loop is longer than the memory that it walks. */
#ifndef PROBE_BOARD_PRIV_H
#define PROBE_BOARD_PRIV_H

#include "native/collect_board.h"
#include "probe/board.h"

/* Records that were taken at once; owned by a reader. */
struct board_block {
	struct board_block *next; /* owned */
	size_t len;
	uint8_t bytes[];
};

/* Of one ring. */
struct board_reader {
	uint64_t tail; /* bytes ever taken */
	bool is_broken;
	/* Taken, but not yet shown: .from the first is gone on with. */
	struct board_block *first; /* owned */
	struct board_block *last;  /* borrowed */
	size_t from;
	size_t queued; /* bytes of all blocks */
	uint64_t time; /* of the first one, not less than of the one before */
};

/* One key of one aggregation; lives as long as the board. */
struct board_row {
	uint8_t *key; /* all of these are in one block, owned */
	uint64_t *raw, *past, *shown;
	uint32_t key_len, hash;
	bool is_hidden; /* by trunc() */
	bool goes;	/* while it chooses */
	/* How often it was changed; when it was cleared. */
	uint64_t sequence, past_sequence;
};

struct board_aggregation {
	struct board_row *rows; /* owned */
	size_t n, room;
	uint32_t *table; /* owned; number of a row plus 1 */
	size_t table_size;
	uint32_t generation;
	bool is_fresh;
};

struct board {
	struct collect_plan plan;      /* a copy */
	struct probe_program *program; /* a copy, owned */
	struct collect_layout l;
	struct collect_board *base;
	struct collect_area *own;     /* owned; its part is behind it */
	struct board_reader *readers; /* owned: max_threads, and hark's own */
	struct board_aggregation *aggregations; /* owned */
	struct show_row *show;			/* owned: the last answer */
	struct namesake *names;			/* borrowed; or NULL */
	uint8_t *key;	 /* owned: room for one, while rows are read */
	uint64_t *cells; /* likewise */
	unsigned naps;	 /* how often a row is still waited for */
	uint32_t *heap;	 /* owned: readers with records, by time */
	size_t n_heap;
	uint32_t bell;
	uint64_t n_damaged; /* places where the board is not what it should */
};

/* Areas that may have been used, hark's own as the last. */
uint32_t board_areas(const struct board *b);
struct collect_part *board_part(const struct board *b, uint32_t number);
/* The number that stands for it in the order of board_areas(). */
static inline uint32_t board_reader_of(const struct board *b, uint32_t i,
				       uint32_t n)
{
	return i + 1 == n ? b->plan.geometry.max_threads : i;
}

/* What a slot has counted beside its account. */
static inline uint64_t board_counted(const struct collect_slot *slot)
{
	return __atomic_load_n(&slot->how, __ATOMIC_ACQUIRE) == SLOT_COUNT
		   ? __atomic_load_n(&slot->counted, __ATOMIC_RELAXED)
		   : 0;
}

void board_aggregation_free(struct board_aggregation *a);
/* board_drain.c */
void board_reader_free(struct board_reader *r);

#endif
