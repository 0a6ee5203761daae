/* image/maps_priv.h - read /proc/PID/maps. */
#ifndef IMAGE_MAPS_PRIV_H
#define IMAGE_MAPS_PRIV_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct map {
	uint64_t start, end, offset;
	dev_t dev;
	ino_t ino;
	bool exec;
	const char *path; /* "" if there is none; in the arena */
};

struct maps {
	VEC(struct map);
};

/* Text of the file. Lines that are not understood are passed over. */
int maps_parse(char *text, struct arena *arena, struct maps *out,
	       struct hark_err *err);
/* Of a process. */
int maps_read(int pid, struct arena *arena, struct maps *out,
	      struct hark_err *err);

#endif
