/* record/count.h - how many instructions a recording holds.
 *
 * Recording does not count them; a replay can. What it found is kept beside
 * the recording, as FILE.count, and names the very file that it is about: the
 * count of another one is not believed. Hosted. */
#ifndef RECORD_COUNT_H
#define RECORD_COUNT_H

#include "base/err.h"

#include <stdint.h>

/* 1 and how many, or 0: not known. */
int count_load(const char *path, uint64_t *out);
/* Replaces what was known. */
int count_store(const char *path, uint64_t instructions, struct hark_err *err);

#endif
