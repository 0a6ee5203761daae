/* outside/blob.h - the image that hark carries for others to run. Hosted. */
#ifndef OUTSIDE_BLOB_H
#define OUTSIDE_BLOB_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

extern const uint8_t blob_start[], blob_end[];

size_t blob_len(void);

/* Where functions of native/native.h are in it: offsets. */
struct blob_places {
	uint64_t handler, restorer, hit, hook, leave;
};
extern const struct blob_places blob_places;

/* Writes it into an empty memfd and seals that. */
int blob_fill(int fd, struct hark_err *err);

/* A memfd of hark's own that holds it, made once; -1 if there is none. */
int blob_file(const char *name);

#endif
