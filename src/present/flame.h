/* present/flame.h - call stacks as one page that any browser shows.
 *
 * The page needs nothing but itself: no network, no other file. Its size is
 * bounded, whatever the profile: see flame.c. Hosted. */
#ifndef PRESENT_FLAME_H
#define PRESENT_FLAME_H

#include "present/stacks.h"

int present_flame(const struct stacks *s, FILE *out, struct hark_err *err);

#endif
