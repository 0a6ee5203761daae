/* present/progress.h - how far something is, on a terminal, after a second of
 * silence. One line on standard error, which is taken away in the end. */
#ifndef PRESENT_PROGRESS_H
#define PRESENT_PROGRESS_H

#include <stdint.h>

struct progress {
	double begun; /* seconds */
	int shown;
};

/* It begins now. */
struct progress progress_begin(void);
/* done of total, in any unit. */
void progress_show(struct progress *p, uint64_t done, uint64_t total);
/* Nothing is left of it; the next second of silence begins. */
void progress_end(struct progress *p);

#endif
