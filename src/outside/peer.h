/* outside/peer.h - hark's end of a translated program.
 *
 * The first page of the program's channel (wire/run.h) is all that hark needs
 * of it while the program runs: the bell, the ask, the statistics. A peer is
 * that page, mapped, and the file behind it. The program's processes come and
 * go without a word, so a peer can be asked whether anybody still maps the
 * channel: a memfd can be sealed against writing only when nobody does. */
#ifndef OUTSIDE_PEER_H
#define OUTSIDE_PEER_H

#include "base/err.h"
#include "wire/run.h"
#include "wire/stay.h"

#include <stdint.h>
#include <sys/types.h>

struct peer; /* opaque */

/* Where the program sees the channel. */
struct peer_place {
	pid_t pid; /* the process that it was made for */
	uint64_t start, end;
};

/* fd, the channel's, is closed in any case by the time of peer_close. From now
 * on the program sees that hark lives; with `deaf` it is told at once that it
 * does not, and goes on alone. */
int peer_open(int fd, const struct peer_place *place, int deaf,
	      struct peer **out, struct hark_err *err);
/* The program is told that hark lives no longer. */
void peer_close(struct peer *p);

const struct peer_place *peer_place(const struct peer *p);
struct wire_run *peer_run(const struct peer *p);
const struct wire_places *peer_places(const struct peer *p);
/* Is that file the channel? */
int peer_is_file(const struct peer *p, uint64_t dev, uint64_t ino);

/* The bell: where it is, and whether it has been rung since peer_heard. */
uint32_t *peer_bell(const struct peer *p);
uint32_t peer_heard(const struct peer *p);
int peer_rang(struct peer *p);

/* A request (wire/run.h), and which word of the page it is in. */
struct peer_ask {
	uint64_t word; /* 0: none yet */
	uint32_t at;
};
/* The next request without an answer, in the order of words; ask is the one
 * before. 1, or 0: there is none. */
int peer_next_ask(const struct peer *p, struct peer_ask *ask);
/* Answers a request, and wakes the thread that made it. Nothing happens if the
 * word is another request's by now. */
void peer_answer(struct peer *p, const struct peer_ask *ask,
		 enum wire_ask_state answer);
/* The same for a thread that has died: answered or not, the word is free. */
void peer_free_ask(struct peer *p, const struct peer_ask *ask);

/* Is nobody left? Asked only when there is reason to think so: it takes the
 * page away for a moment. 1: nobody, and all that is left to do is peer_count
 * and peer_close. */
int peer_deserted(struct peer *p);

/* Adds what the program has counted. */
void peer_count(const struct peer *p, struct wire_stats *sum);

#endif
