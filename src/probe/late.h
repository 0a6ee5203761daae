/* probe/late.h - probes in libraries that are loaded later.
 *
 * The thread that has loaded one waits (native/collect_loader.c) until hark has
 * looked at the process and put in what the script wants there. What was in a
 * library that is gone is forgotten. If it comes again to the same place, it
 * has its probes again; elsewhere it is another one, with sites of the same
 * names.
 *
 * L1  A thread that waits goes on, whatever fails here.
 *
 * Hosted. */
#ifndef PROBE_LATE_H
#define PROBE_LATE_H

#include "probe/insert.h"

struct late;

/* All borrowed. */
struct late_plan {
	struct image *image;
	pid_t pid;
	pid_t target; /* who $target is */
	int pidfd;
	const struct probe_program *program;
	struct modules *modules; /* that have their probes */
	bool (*has)(const struct insertion *i, const struct module *m);
	/* which of them have; NULL: all */
	struct insertion *insertion;
	uint32_t *next_site; /* the number of the next site: it grows */
	/* Do such probes have numbers already? NULL: they never have. */
	bool (*number)(void *ctx, const struct listing *l, uint32_t *first);
	/* Probes have come: probe k of the listing is number first + k for
	 * insert_site(). The listing stays. */
	void (*came)(void *ctx, const struct listing *l, size_t first);
	/* The list of modules is another one. */
	void (*changed)(void *ctx);
	/* One line for a person. */
	void (*note)(void *ctx, bool is_error, const char *text);
	void *ctx;
};

int late_new(const struct late_plan *p, struct late **out,
	     struct hark_err *err);
void late_free(struct late *l);

/* A thread waits: sees to it. Nothing is held, before and after. */
void late_step(struct late *l);

/* Which module was at an address, the last one; for naming_remember(). */
const struct module *late_past(void *ctx, uint64_t addr);

/* All that came, in that order, whether it is there still or not; but for what
 * had its numbers from others. */
void late_each(const struct late *l,
	       void (*visit)(void *ctx, const struct listing *l, size_t first),
	       void *ctx);

#endif
