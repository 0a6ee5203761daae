/* probe/arguments.h - where are the arguments of a probe that the programmer
 * put there, in this process?
 *
 * Some cannot be had: fractions, vector registers, names that the file does not
 * tell. Whoever asks for one is told so before anything is touched. Hosted. */
#ifndef PROBE_ARGUMENTS_H
#define PROBE_ARGUMENTS_H

#include "image/usdt.h"
#include "probe/listing.h"
#include "wire/collect.h"

/* How many; what cannot be had is COLLECT_NOWHERE. */
size_t arguments_of(const struct probe *p, struct collect_arg out[USDT_ARGS]);

/* uses: which of them are asked for, a bit each. One that cannot be had is an
 * error. */
int arguments_check(const struct probe *p, uint32_t uses, struct hark_err *err);

#endif
