/* outside/pace.h - how hard shall bytes be pressed?
 *
 * The harder, the smaller the file, and the more CPU time it takes. The level
 * is the hardest that
 *	takes no more than a share of the time that passes (PACE_SHARE), or
 *	costs hardly more than the next easier one,
 * as far as is known: what a level costs depends on the bytes, and is learned
 * while it is in use; a harder one is tried for a moment now and then. When
 * bytes wait in spite of that, all that counts is to be quick: the more wait,
 * the easier they are pressed.
 *
 * Time passes by the clock, so a busy machine makes programs look as if they
 * said little. That is why harder levels than the usual one have to be cheap.
 *
 * No threads, no clocks: the caller has both. Hosted. */
#ifndef OUTSIDE_PACE_H
#define OUTSIDE_PACE_H

#include <stdint.h>

enum {
	PACE_LEVELS = 7,
	PACE_SHARE = 20,      /* one part in so many of the time ... */
	PACE_SHARE_HARD = 50, /* ... and for levels harder than is usual */
};

struct pace {
	unsigned at;	    /* in use: 0 is the hardest */
	int64_t since_ns;   /* beginning of this window */
	uint64_t bytes;	    /* pressed in it, at this level ... */
	int64_t busy_ns;    /* ... in so much time */
	uint64_t came;	    /* bytes in it, at any level */
	unsigned last;	    /* level of the window before */
	uint64_t last_cost; /* what it cost: ps a byte; 0: not known */
	unsigned quiet;	    /* windows since the last change */
	unsigned patience;  /* so many, and the next harder one is tried */
	/* Percent: what level i costs, if i + 1 costs 100. */
	uint32_t factor[PACE_LEVELS - 1];
};

void pace_init(struct pace *p, int64_t now_ns);

/* zstd's level for what is pressed next; and its number here. */
int pace_level(const struct pace *p, uint64_t waiting, unsigned *number);

/* So many bytes were pressed at that level, in so much CPU time. */
void pace_note(struct pace *p, unsigned number, uint64_t bytes, int64_t busy_ns,
	       int64_t now_ns);

#endif
