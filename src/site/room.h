/* site/room.h - where may the code of a probe lie?
 *
 * A jump of five bytes reaches 2 GiB both ways, and some probes can only use
 * some of the addresses in reach: where the jump covers several instructions,
 * bytes of its distance must trap; where it is squeezed before bytes that must
 * stay, they are a part of its distance. A room knows which addresses of a
 * process are free, and finds one for each.
 *
 * Pure but for malloc. */
#ifndef SITE_ROOM_H
#define SITE_ROOM_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct room;

int room_new(struct room **out, struct hark_err *err);
void room_free(struct room *r);

/* Addresses [lo, hi) may be used; in ascending order, apart. */
int room_add(struct room *r, uint64_t lo, uint64_t hi, struct hark_err *err);

/* Some of them are taken already; apart from what else is. */
int room_occupy(struct room *r, uint64_t lo, uint64_t hi, struct hark_err *err);

/* What one byte of a distance may be. */
enum room_byte {
	ROOM_ANY,
	ROOM_TRAP,  /* one that traps where an instruction starts: room_traps */
	ROOM_FIXED, /* .value */
};
struct room_want {
	uint64_t next;	 /* the distance is counted from here */
	unsigned len;	 /* bytes to take */
	uint8_t kind[4]; /* enum room_byte of each, the lowest first */
	uint8_t value[4];
};

/* Takes len bytes at *out; false if there is no such place. */
bool room_take(struct room *r, const struct room_want *want, uint64_t *out,
	       struct hark_err *err);
void room_give(struct room *r, uint64_t addr);

/* Instructions of one byte that trap (SIGTRAP or SIGILL) on every x86-64
 * processor, with nothing read behind them. */
extern const uint8_t room_traps[];
extern const unsigned room_n_traps;

#endif
