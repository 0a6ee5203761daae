/* tests/unit/record_play.h - a program that is recorded, played.
 *
 * Says into a channel what the engine would: streams of records with numbers
 * in them, so that whoever reads the recording can tell what is missing. */
#ifndef UNIT_RECORD_PLAY_H
#define UNIT_RECORD_PLAY_H

#include "wire/channel.h"
#include "wire/record.h"

struct play {
	const struct wire_geometry *geometry; /* borrowed */
	void *channel;			      /* borrowed */
};

struct play_ring {
	const struct play *play; /* borrowed */
	struct ring_view view;
	uint64_t count;	    /* of the last record */
	uint32_t n;	    /* records of data so far */
	uint32_t key_every; /* of those */
};

/* A ring of its own, as wire/record.h says. -1: none is free. */
int play_take(const struct play *p, struct play_ring *out);
void play_bell(const struct play *p);
/* One record, waiting as long as it is wanted; -1: it is over. */
int play_put(struct play_ring *r, unsigned type, const void *bytes,
	     uint32_t len);
int play_process(struct play_ring *r, uint32_t process, uint32_t parent,
		 uint32_t pid);
int play_start(struct play_ring *r, uint32_t process, uint32_t thread,
	       uint32_t pid);
int play_key(struct play_ring *r);
/* BYTES with the number n in it, len bytes long; a KEY before each
 * key_every-th. */
int play_data(struct play_ring *r, uint32_t len);
void play_close(struct play_ring *r);

/* What play_data put into a stream, read back: the next number, or -1. at moves
 * on; KEYs are counted. */
struct play_reading {
	uint64_t next, keys, starts;
	int bad;
};
void play_read(struct play_reading *r, const uint8_t *bytes, size_t len);

#endif
