/* present/progress.c - how far something is, on a terminal. */
#include "present/progress.h"

#include <stdio.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct progress progress_begin(void)
{
	return (struct progress){.begun = now()};
}

void progress_show(struct progress *p, uint64_t done, uint64_t total)
{
	double spent = now() - p->begun;

	if (spent < 1 || done == 0 || done > total)
		return;
	fprintf(stderr, "\rhark: %3.0f %%, %.0f s left \033[K",
		100.0 * (double)done / (double)total,
		spent / (double)done * (double)(total - done));
	fflush(stderr);
	p->shown = 1;
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	*p = progress_begin();
}
