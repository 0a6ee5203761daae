/* probe/sampling_priv.h - for sampling.c and sampling_waits.c. */
#ifndef PROBE_SAMPLING_PRIV_H
#define PROBE_SAMPLING_PRIV_H

#include "outside/told.h"
#include "probe/sampling.h"

/* Of a process: what is mapped there. */
struct known {
	pid_t pid;
	struct modules *modules; /* owned; NULL: those of its parent */
	uint64_t began;		 /* in ticks since boot; 0: not known */
	uint64_t plan;		 /* the struct collect_plan in it; or 0 */
	bool is_other;		 /* it has executed something since */
	bool has_found;		 /* code that the process does not know of */
	bool is_inside;		 /* it has numbers of its own (a container) */
};

struct sampling {
	const struct session_samples *p; /* borrowed */
	bool follows;			 /* children of fork, too */
	struct image *image;		 /* borrowed */
	struct known *known; /* owned; the first is what it is all about */
	size_t n_known;
	/* Samples have the numbers that threads see themselves. */
	struct told told;
	struct partial *partial; /* owned: by area */
	size_t n_partial;
	pid_t strange;	   /* code was met there that is not known; 0: none */
	int64_t looked_ns; /* when modules were looked at for an address */
	int64_t found_ns;  /* when something was found */
	unsigned n_found;
	uint64_t differing; /* stacks that were put together wrong */
	unsigned n_deep;    /* samples in a row: sampling_is_deep() */
	/* Of waits; all NULL if they are not asked for. */
	struct switches *switches; /* owned */
	struct waits *waits;	   /* owned */
	struct wait_look *look;	   /* owned */
	const struct board *board; /* borrowed */
	bool is_watched;	   /* the first threads are */
	uint64_t stepped_ns;
};

struct known *sampling_known(const struct sampling *s, pid_t pid);
/* A child of fork has what its parent had. */
int sampling_inherit(struct sampling *s, pid_t pid, struct hark_err *err);

/* 0, too, if they are not asked for. */
int sampling_open_waits(struct sampling *s, struct hark_err *err);
void sampling_close_waits(struct sampling *s);

#endif
