/* wire/file.h - the bytes of every file that hark writes.
 *
 * A file is a header and then chunks, all little-endian, each with its own
 * checksum, so that a file cut off anywhere is readable up to its last whole
 * chunk. docs/format.md describes it byte by byte. Pure layouts; released
 * layouts only grow. */
#ifndef WIRE_FILE_H
#define WIRE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* 89 'H' 'A' 'R' 'K' 0d 0a 1a: no text, and damaged by what damages text. */
#define WIRE_FILE_MAGIC 0x1a0a0d4b52414889ull
#define WIRE_CHUNK_MARK 0x6b6e6863u /* "chnk" */

enum { WIRE_FILE_VERSION = 1 };

struct wire_file {
	uint64_t magic;
	uint32_t version;
	uint32_t size;	/* of this header */
	uint64_t id;	/* random: one file from another */
	uint64_t check; /* XXH3-64 of the bytes before */
};
_Static_assert(sizeof(struct wire_file) == 32, "file layout");

enum wire_chunk_type {
	WIRE_CHUNK_META = 1, /* text: what, where, when; `key=value` lines */
	WIRE_CHUNK_DATA = 2, /* bytes of one thread, in its order */
	WIRE_CHUNK_END = 3,  /* text: how it ended; nothing follows */
	/* Of recordings (docs/format.md): */
	WIRE_CHUNK_PROCESS = 4, /* text: one process; a later one adds to it */
	WIRE_CHUNK_MAPS = 5,	/* MAP records: what a program began with */
	WIRE_CHUNK_MODULE = 6,	/* text: one file of code; thread: its number */
	WIRE_CHUNK_BYTES = 7,	/* bytes of that file, in order */
	WIRE_CHUNK_NOTE = 8,	/* text: something for a person to know */
	/* Of profiles, which have MODULE and NOTE, too: */
	WIRE_CHUNK_THREADS = 9, /* varints: threads, and what they are called */
	WIRE_CHUNK_FRAMES = 10, /* varints: modules and addresses */
	WIRE_CHUNK_NODES = 11,	/* varints: frames under their callers */
	WIRE_CHUNK_SAMPLES = 12, /* varints: who was where, and when */
	WIRE_CHUNK_TALLY = 13,	 /* text: what was lost so far */
};
enum { WIRE_PROFILE_VERSION = 1 };

enum {			    /* flags */
       WIRE_CHUNK_ZSTD = 1, /* the payload is one zstd frame */
       WIRE_CHUNK_KEY = 2,  /* struct wire_file_key comes before it */
};

/* Before the payload of a DATA chunk that begins with a key frame, never
 * compressed: opening a file needs no more. It is part of `stored` and of its
 * checksum, and has one of its own; `plain` does not count it. */
struct wire_file_key {
	uint64_t count; /* of the KEY record */
	uint64_t time_ns;
	uint32_t flags; /* WIRE_KEY_FIRST */
	uint32_t reserved;
	uint64_t check; /* XXH3-64 of the bytes before */
};
_Static_assert(sizeof(struct wire_file_key) == 32, "file layout");
enum { WIRE_KEY_FIRST = 1 }; /* of its thread: START comes before KEY */

/* No chunk is larger than this, stored or plain: readers refuse it before
 * they allocate. */
enum { WIRE_CHUNK_MAX = 64 << 20 };

/* Two checksums: a length is believed only once the header's own is right, so
 * that a damaged length is not mistaken for a file that was cut off. Chunks of
 * another file are none of this one: their headers were sealed with its id. */
struct wire_file_chunk {
	uint32_t mark;
	uint16_t type;
	uint16_t flags;
	uint32_t process, thread; /* numbers from 1; 0: of the whole file */
	uint64_t number;	  /* chunks count from 0 */
	uint32_t stored;	  /* bytes of payload that follow */
	uint32_t plain;		  /* bytes once decompressed */
	uint64_t check;		  /* XXH3-64 of the payload as stored */
	uint64_t head_check;	  /* XXH3-64 of the bytes of this before,
				   * seeded with the file's id */
};
_Static_assert(sizeof(struct wire_file_chunk) == 48, "file layout");
_Static_assert(offsetof(struct wire_file_chunk, head_check) == 40,
	       "file layout");

/* Zero bytes follow the payload up to a multiple of this. */
enum { WIRE_CHUNK_ALIGN = 8 };

static inline uint32_t wire_chunk_padding(uint32_t stored)
{
	return -stored & (WIRE_CHUNK_ALIGN - 1);
}

#endif
