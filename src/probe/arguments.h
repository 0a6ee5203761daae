/* probe/arguments.h - where are the arguments of a probe that the programmer
 * put there, in this process?
 *
 * Some cannot be had: fractions, vector registers, names that the file does not
 * tell. Whoever asks for one is told so before anything is touched. Hosted. */
#ifndef PROBE_ARGUMENTS_H
#define PROBE_ARGUMENTS_H

#include "image/usdt.h"
#include "site/listing.h"
#include "site/match.h"
#include "wire/collect.h"

/* How many; what cannot be had is COLLECT_NOWHERE. */
size_t arguments_of(const struct probe *p, struct collect_arg out[USDT_ARGS]);

/* Is there a clause that asks for one that cannot be had? That is an error. */
int arguments_check(const struct probe_program *program, struct match *match,
		    const struct listing *listing, struct hark_err *err);

#endif
