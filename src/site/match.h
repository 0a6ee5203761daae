/* site/match.h - which probes do the clauses of a script mean?
 *
 * A clause may have several descriptions, each of them may name many probes,
 * and several clauses may want the same one. A clause runs once a hit, however
 * many of its descriptions name the probe; the clauses of one probe run in the
 * order of the script. Hosted. */
#ifndef SITE_MATCH_H
#define SITE_MATCH_H

#include "site/listing.h"
#include "wire/probe.h"

struct match;

/* Adds all probes of the script to a listing that is not made yet; pid is what
 * $target was. Descriptions that belong to no instruction are passed over. */
int match_new(const struct probe_program *p, int pid, struct listing *l,
	      struct match **out, struct hark_err *err);
/* Likewise; a description that names nothing is left out, if `forgives` says
 * so (NULL: none is); why is what is to be said of it. */
int match_some(const struct probe_program *p, int pid, struct listing *l,
	       bool (*forgives)(void *ctx, const struct description *d,
				const struct hark_err *why),
	       void *ctx, struct match **out, struct hark_err *err);
void match_free(struct match *m);

/* For struct insert_plan: ctx is the match. */
size_t match_clauses(void *ctx, size_t probe, uint32_t *out, size_t max);

/* After listing_make(): a description all of whose probes are impossible is an
 * error, with the reason of the first; *refused says how many others are. */
int match_check(const struct match *m, const struct listing *l, size_t *refused,
		struct hark_err *err);

#endif
