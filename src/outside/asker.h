/* outside/asker.h - which thread asks?
 *
 * A program may have process ids of its own (a pid namespace), and tells those.
 * The thread meant is one that maps the channel where the ask came in, and has
 * that id in the innermost namespace that it lives in. Hosted. */
#ifndef OUTSIDE_ASKER_H
#define OUTSIDE_ASKER_H

#include "outside/peer.h"

struct asker {
	pid_t pid, tid; /* as hark numbers them */
};

/* The thread that made this request in p; -1: there is none. */
int asker_find(const struct peer *p, const struct peer_ask *ask,
	       struct asker *out);

#endif
