/* outside/drain.h - hark's end of a channel: own it, drain it.
 *
 * The memory is a memfd that the target made (outside/door) or that hark made
 * itself (tests, forked children). hark maps it, lays it out, and hands every
 * byte that threads commit to a sink, ring by ring, in the order written.
 * The target may scribble over it: a ring that breaks its rules is reported
 * once and read no further; the others go on. */
#ifndef OUTSIDE_DRAIN_H
#define OUTSIDE_DRAIN_H

#include "base/err.h"
#include "wire/channel.h"

struct drain;

/* Takes fd over (closed by drain_close); sizes, maps and lays it out. */
int drain_open(int fd, const struct wire_geometry *g, uint32_t pid,
	       struct drain **out, struct hark_err *err);
void drain_close(struct drain *d);
/* A descriptor of it, the caller's own; -1 and errno if there is none. */
int drain_descriptor(const struct drain *d);

/* hark's own mapping, and the geometry it believes. */
void *drain_base(const struct drain *d);
const struct wire_geometry *drain_geometry(const struct drain *d);

struct drain_stats {
	uint64_t bytes, lost;
	uint32_t damaged; /* rings given up */
};

/* Called with bytes of one ring; -1 stops the pass. The bytes are hark's own
 * copy: the target cannot change them any more. */
typedef int drain_sink(void *ctx, uint32_t ring, uint32_t tid,
		       const uint8_t *bytes, uint32_t len,
		       struct hark_err *err);

/* Called (with the same ctx) when nothing more comes out of a ring: its thread
 * has closed it, or it breaks its rules. */
typedef void drain_end(void *ctx, uint32_t ring, int damaged);

struct drain_bounds {
	uint32_t rings; /* only the first so many; 0: all */
	uint64_t bytes; /* a pass ends after about so many, and the next goes
			 * on there; 0: no limit */
	drain_end *end; /* or NULL */
};
void drain_bound(struct drain *d, const struct drain_bounds *b);

/* One pass over all rings: whatever is committed goes to sink. Rings that
 * their thread has closed and that are empty become free again. Returns how
 * many bytes were moved, or -1. */
int64_t drain_pass(struct drain *d, drain_sink *sink, void *ctx,
		   struct hark_err *err);

/* The same of one ring, and of all that it holds. */
int64_t drain_one(struct drain *d, uint32_t ring, drain_sink *sink, void *ctx,
		  struct hark_err *err);

/* A ring whose thread is gone without having closed it: what it holds goes to
 * sink, and it is free. */
void drain_reclaim(struct drain *d, uint32_t ring, drain_sink *sink, void *ctx);

/* Sleeps until the target rings the bell or limit_ns has passed. */
void drain_sleep(struct drain *d, int64_t limit_ns);

/* hark's mapping away for a while: to learn whether anybody else has one. What
 * comes back may be shared as before or, once everybody is gone, hark's own.
 * -1: there is none any more, and nothing to be drained. */
void drain_hide(struct drain *d);
int drain_show(struct drain *d, int own);

struct drain_stats drain_stats(const struct drain *d);

#endif
