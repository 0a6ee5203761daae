/* script/verify.h - may this program be run?
 *
 * Whatever bytes it is given, the machine runs a verified program without
 * reading or writing outside of what it was lent. Pure. */
#ifndef SCRIPT_VERIFY_H
#define SCRIPT_VERIFY_H

#include "wire/probe.h"

#include <stdbool.h>
#include <stddef.h>

/* What is known before each instruction of a clause. */
struct verify_room {
	uint64_t state[PROBE_CODE_MAX + 1];
};

/* The program must lie at a multiple of 8. NULL: it may; else why not. */
const char *verify_program(const void *program, size_t len,
			   struct verify_room *room);

#endif
